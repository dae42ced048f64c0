"""Schema: what nodes and edges carry, as numbers and back, and what is refused."""

from __future__ import annotations

import enum
import json
import random

import networkx as nx
import numpy as np
import pytest
import torch

from graphscore.errors import GraphDataError, SettingsError
from graphscore.graphs import (
    AttributeSettings,
    GraphBatch,
    Repairs,
    Schema,
    prepare_graphs,
    read_graphs,
    write_graphs,
)
from graphscore.graphs.attributes import MOST_VALUES, Scale, Types
from graphscore.graphs.files import lost_attributes

ALL = AttributeSettings(
    node_type="element", edge_type="bond", edge_weight="weight", node_features=("charge", "mass")
)


def molecule(seed, nodes=5):
    """A graph whose nodes and edges carry everything."""
    source = random.Random(seed)
    graph = nx.gnp_random_graph(nodes, 0.6, seed=seed)
    graph.add_edge(0, 1)
    for node in graph:
        values = {"element": source.choice("CNO"), "charge": source.gauss(0, 1), "mass": 12}
        graph.nodes[node].update(values)
    for edge in graph.edges:
        graph.edges[edge].update(bond=source.choice([1, 2]), weight=source.lognormvariate(0, 1))
    return graph


GRAPHS = [molecule(seed, nodes) for seed, nodes in enumerate((5, 3, 6, 4))]


def kept(graph):
    """What is compared: every number to the precision of float32."""

    def rounded(data):
        return {k: pytest.approx(v, rel=1e-4, abs=1e-4) if isinstance(v, float) else v
                for k, v in data.items()}  # fmt: skip

    return (
        [(node, rounded(data)) for node, data in graph.nodes(data=True)],
        [(*sorted((u, v)), rounded(data)) for u, v, data in sorted(graph.edges(data=True))],
    )


def plain(graph):
    edges = [(*sorted((u, v)), data) for u, v, data in sorted(graph.edges(data=True))]
    return [*graph.nodes(data=True)], edges


def test_what_is_found():
    schema = Schema.of(GRAPHS, ALL)
    assert schema.node_type.values == ("C", "N", "O")
    assert schema.edge_type.values == (1, 2)
    assert (schema.edge_weight.log, schema.edge_weight.whole) == (True, False)
    charge, mass = schema.node_features
    assert (charge.log, charge.whole, mass.whole) == (False, False, True)
    assert (mass.mean, mass.deviation) == (12.0, 0.0)
    assert (schema.edge_width, schema.node_width) == (3, 5)
    assert schema.names == ALL
    assert Schema(**json.loads(schema.model_dump_json())) == schema


def test_numbers_and_back():
    """Through the batch that is trained on, padding included."""
    schema = Schema.of(GRAPHS, ALL)
    batch = GraphBatch.from_networkx(GRAPHS, schema=schema)
    assert batch.edge_entries.shape == (4, 6, 6, 3)
    assert batch.node_entries.shape == (4, 6, 5)
    assert (batch.edge_entries[..., :2].sum(-1) == batch.adj).all()
    assert (batch.node_entries[..., :3].sum(-1) == batch.node_mask).all()
    assert not (batch.edge_entries * (batch.adj == 0).unsqueeze(-1)).any()
    assert (batch.edge_entries == batch.edge_entries.transpose(1, 2)).all()
    numbers = batch.edge_entries[..., 2][batch.adj == 1]
    assert abs(numbers.mean()) < 1e-5
    assert abs(numbers.std(correction=0) - 1) < 1e-5
    for b, graph in enumerate(GRAPHS):
        bare = nx.Graph()
        bare.add_nodes_from(graph)
        bare.add_edges_from(graph.edges())
        nodes = batch.node_entries[b, : len(graph)].numpy()
        schema.attach(bare, batch.edge_entries[b].numpy(), nodes)
        assert plain(bare) == kept(graph)


@pytest.mark.parametrize(
    ("names", "edges", "nodes"),
    [
        ({}, None, None),
        ({"edge_type": "bond"}, (2, "uint8"), None),
        ({"edge_weight": "weight"}, (2, "float32"), None),
        ({"node_type": "element"}, None, (3, "uint8")),
        ({"node_features": ("mass",)}, None, (1, "float32")),
    ],
)
def test_only_what_is_named_takes_memory(names, edges, nodes):
    schema = Schema.of(GRAPHS, AttributeSettings(**names))
    batch = GraphBatch.from_networkx(GRAPHS, schema=schema)
    for entries, expected in ((batch.edge_entries, edges), (batch.node_entries, nodes)):
        found = None if entries is None else (entries.shape[-1], str(entries.dtype)[6:])
        assert found == expected
    state = batch.state
    assert all(entries.dtype == batch.adj.dtype for entries in state.entries)
    assert state.edges.ndim == (3 if edges is None else 4)


@pytest.mark.parametrize(
    ("values", "log", "whole"),
    [
        ([1.0, 2.0, 4.0, 8.0], True, True),
        ([0.0, 1.0, 2.0], False, True),
        ([-1.0, 2.0, 4.5], False, False),
        ([3.5, 3.5], False, False),
        ([0.1, 0.11, 5.0], True, False),
    ],
)
def test_units_of_numbers(values, log, whole):
    numbers = np.array(values)
    scale = Scale.of("w", numbers)
    assert (scale.log, scale.whole) == (log, whole)
    np.testing.assert_allclose(scale.original(scale.standard(numbers)), numbers)


@pytest.mark.parametrize("log", [False, True])
def test_numbers_that_would_be_infinite_are_large(log):
    scale = Scale(name="w", mean=1e300, deviation=1e300, log=log, whole=True)
    with np.errstate(all="raise"):
        found = scale.original(np.array([1e10, 0.0, -1e10]))
    assert found.tolist() == [1e100, 1e100, 1.0 if log else -1e100]


@pytest.mark.parametrize(
    "values",
    [
        [1e-12, 1.5e-12, 4e-12],
        [1e12, 1e12 + 100, 1e12 - 50],
        [1e6, 1e6 + 0.001, 1e6 - 0.0005],
        [1e-300, 5e-300, 3e-300],
        [-1e90, 1e90, 0.0],
        [0.0, 0.0],
        [3.7, 3.7, 3.7],
    ],
)
def test_numbers_of_any_size_keep_their_spread(values):
    numbers = np.array(values)
    scale = Scale.of("w", numbers)
    units = scale.standard(numbers)
    assert abs(units).max() < 3
    same = len(set(values)) == 1
    assert (scale.deviation == 0) == same
    spread = np.ptp(numbers)
    np.testing.assert_allclose(scale.original(units), numbers, rtol=1e-6, atol=1e-6 * spread)
    if same:  # whatever a network answers
        assert scale.original(np.array([-2.0, 5.0])).tolist() == values[:2]


def test_whole_numbers_above_zero_stay_above_zero():
    scale = Scale.of("w", np.array([1.0, 1, 1, 1, 2, 3, 200]))
    assert (scale.log, scale.whole) == (True, True)
    assert scale.original(np.array([-9.0])).tolist() == [1.0]


def changed(**changes):
    """A node's, or the first edge's, values changed; None removes one."""
    graph = molecule(0)
    for name, value in changes.items():
        data = graph.nodes[1] if name in ("element", "charge") else graph.edges[0, 1]
        if value is None:
            del data[name]
        else:
            data[name] = value
    return [molecule(1), graph]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"element": None}, "graph 2, node 1: no attribute 'element'.*here: 'charge', 'mass'"),
        (
            {"bond": None},
            r"graph 2, edge \(0, 1\): no attribute 'bond', which is to be learned\.",
        ),
        ({"element": 7}, "graph 2, node 1: attribute 'element' is 7, and '[CNO]' elsewhere"),
        ({"element": 1.5}, "attribute 'element' is 1.5, but a type is a text.*--node-features"),
        ({"element": "x" * 201}, "but a type is a text of at most 200 characters"),
        ({"element": "\ud800"}, "but a type is a text"),
        ({"bond": 2**63}, "but a type is a text.* a whole number"),
        ({"bond": True}, r"attribute 'bond' is True, and [12] elsewhere"),
        ({"element": None, "charge": 1}, "no attribute 'element'"),
        (
            {"charge": "much"},
            "'charge' is 'much', but a finite number, at most.*--node-type",
        ),
        ({"charge": float("nan")}, "attribute 'charge' is nan, but a finite number"),
        ({"weight": float("inf")}, r"edge \(0, 1\): attribute 'weight' is inf, but a finite"),
        ({"weight": 1e101}, "is 1e.101, but a finite number, at most 1e.100"),
        ({"weight": [1, 2]}, r"attribute 'weight' is \(1, 2\), and .* elsewhere. Give every edge"),
        ({"weight": {"a": 1}}, r"attribute 'weight' is \{'a': 1\}, but a finite number"),
    ],
)
def test_what_is_refused_is_named(changes, message):
    with pytest.raises(GraphDataError, match=message):
        Schema.of(changed(**changes), ALL)


def test_too_many_types_and_none():
    graph = nx.empty_graph(MOST_VALUES + 1)
    nx.set_node_attributes(graph, {node: node for node in graph}, "id")
    with pytest.raises(GraphDataError, match=f"more than {MOST_VALUES} different values"):
        Schema.of([graph], AttributeSettings(node_type="id"))
    few = graph.subgraph(range(MOST_VALUES))
    assert Schema.of([few], AttributeSettings(node_type="id")).node_types == MOST_VALUES
    with pytest.raises(GraphDataError, match=r"no graph has edges.*'bond'.*--node-type"):
        Schema.of([graph], AttributeSettings(edge_type="bond"))


def test_a_type_that_was_not_learned_is_refused():
    schema = Schema.of(GRAPHS, AttributeSettings(node_type="element"))
    other = molecule(5)
    other.nodes[2]["element"] = "Xe"
    with pytest.raises(GraphDataError, match="node 2: attribute 'element' is 'Xe', which is none"):
        GraphBatch.from_networkx([other], schema=schema)


def test_names_are_typed_and_bounded():
    twice = {"node_type": "a", "node_features": ["a"]}, {"edge_type": "a", "edge_weight": "a"}
    for wrong in ({"node_type": 1}, {"node_type": "x" * 201}, {"nodetype": "x"}, *twice):
        with pytest.raises(SettingsError):
            AttributeSettings(**wrong)


def test_a_batch_carries_entries_through_everything():
    batch = GraphBatch.from_networkx(GRAPHS, schema=Schema.of(GRAPHS, ALL))
    order = [4, 2, 0, 1, 3, 5]
    moved = batch.permuted(torch.tensor(order))
    for name in ("edge_entries", "node_entries"):
        entries, after = getattr(batch, name), getattr(moved, name)
        assert (after[:, 0] == entries[:, 4]).all() or name == "edge_entries"
        assert getattr(batch.padded(9), name).shape[1] == 9
        assert getattr(batch[1:3], name).shape[0] == 2
        assert getattr(batch.padded(9).trimmed(), name).equal(entries)
        assert getattr(GraphBatch.concatenate([batch, batch.padded(8)]), name).shape[:2] == (8, 8)
    assert moved.edge_entries[0, 0, 1].equal(batch.edge_entries[0, 4, 2])


@pytest.mark.parametrize("name", ["set.graphml", "set.gml"])
def test_attributes_survive_files(tmp_path, name):
    write_graphs(tmp_path / name, GRAPHS, format=name.split(".")[1])
    found = read_graphs(tmp_path / name, edge_attributes=["bond", "weight"])
    assert [plain(graph) for graph in found] == [kept(graph) for graph in GRAPHS]
    assert found.ignored == []
    some = read_graphs(tmp_path / name, edge_attributes=["weight"])
    assert some.ignored == ["bond"]
    assert {name for graph in some for *_, data in graph.edges(data=True) for name in data} == {
        "weight"
    }
    with pytest.raises(GraphDataError, match=r"non-binary weight.*--edge-weight weight"):
        read_graphs(tmp_path / name)


def test_edges_keep_what_is_named_only():
    found = prepare_graphs(GRAPHS, edge_attributes="weight")
    assert {name for graph in found for *_, data in graph.edges(data=True) for name in data} == {
        "weight"
    }
    (bare,) = prepare_graphs([nx.Graph([(0, 1, {"bond": 1})])])
    assert list(bare.edges(data=True)) == [(0, 1, {})]
    with pytest.raises(GraphDataError, match="non-binary weight"):
        prepare_graphs(GRAPHS)
    (all_of_them,) = prepare_graphs(GRAPHS[:1], edge_attributes=None)
    assert plain(all_of_them) == plain(GRAPHS[0])


def test_types_may_be_truth_values_and_members_of_an_enumeration():
    class Kind(enum.Enum):
        A = "a"
        B = "b"

    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, {0: Kind.A, 1: Kind.B}, "kind")
    nx.set_edge_attributes(graph, np.bool_(True), "ring")
    schema = Schema.of([graph], AttributeSettings(node_type="kind", edge_type="ring"))
    assert schema.node_type.values == ("a", "b")
    assert schema.edge_type.values == (True,)
    assert type(Schema(**json.loads(schema.model_dump_json())).edge_type.values[0]) is bool
    assert GraphBatch.from_networkx([graph], schema=schema).node_entries.sum() == 2


def test_stored_types_are_different_and_of_one_kind():
    for values in (["C", "C"], ["C", 1], [1, True], []):
        with pytest.raises(SettingsError):
            Schema(node_type={"name": "e", "values": values})


def test_two_directions_of_an_edge_say_the_same(tmp_path):
    graph = nx.DiGraph([(0, 1, {"weight": 1.0}), (1, 0, {"weight": 5.0})])
    repairs = Repairs(undirected=True)
    with pytest.raises(GraphDataError, match="other attributes in the other direction"):
        prepare_graphs([graph], repairs=repairs, edge_attributes=["weight"])
    nx.write_graphml(graph, tmp_path / "g.graphml")
    with pytest.raises(GraphDataError, match="other attributes in the other direction"):
        read_graphs(tmp_path / "g.graphml", repairs=repairs, edge_attributes="weight")
    graph.edges[1, 0]["weight"] = 1.0
    (found,) = prepare_graphs([graph], repairs=repairs, edge_attributes=["weight"])
    assert found.edges[0, 1] == {"weight": 1.0}


def test_edges_hold_no_text_that_graphml_cannot(tmp_path):
    graph = nx.Graph([(0, 1, {"bond": "a\x07"})])
    with pytest.raises(GraphDataError, match="edge 0 - 1: attribute 'bond' holds a character"):
        write_graphs(tmp_path / "g.graphml", [graph])
    assert not (tmp_path / "g.graphml").exists()


@pytest.mark.parametrize(
    ("name", "lost"),
    [("g.g6", ["id", "label", "e", "source", "b b"]), ("g.gml", ["id", "label", "source", "b b"]),
     ("g.graphml", []), ("g.json", ["id", "source"]), ("g.jsonl", ["id", "source"]), ("g.npz", [])],
)  # fmt: skip
def test_which_attributes_a_format_loses(name, lost):
    schema = Schema(
        node_features=[{"name": each} for each in ("id", "label", "e")],
        edge_type={"name": "source", "values": [1]},
        edge_weight={"name": "b b"},
    )
    assert sorted(lost_attributes(name, schema)) == sorted(lost)


@pytest.mark.parametrize("values", [(1, "a"), ("a", "a")])
def test_types_are_different_values_of_one_kind(values):
    with pytest.raises(SettingsError, match="different values of one kind"):
        Types(name="t", values=values)
