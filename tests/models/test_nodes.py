"""What nodes carry, taken from training graphs: drawn, kept within bounds, stored, told."""

from __future__ import annotations

import networkx as nx
import pytest
import torch

from graphscore.errors import GraphDataError, GraphscoreWarning, SettingsError
from graphscore.graphs import AttributeSettings, Schema
from graphscore.models import nodes as nodes_module
from graphscore.models.nodes import KnownNodes
from graphscore.models.request import resolve_request
from graphscore.models.sizes import SizeDistribution

NAMES = AttributeSettings(node_type="kind", node_features=("h", "charge"))


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def path(nodes, start=0.1):
    graph = nx.path_graph(nodes)
    for node in graph:
        graph.nodes[node].update(kind="AB"[node % 2], h=start + node / 3, charge=node - 1, more=0)
    return graph


GRAPHS = [path(2), path(3, 0.7), path(3, 1.9), path(5)]
SCHEMA = Schema.of(GRAPHS, NAMES)
KNOWN = KnownNodes.of(GRAPHS, SCHEMA)


def content(known):
    return [known.attributes(index) for index in range(len(known.sizes))]


def test_they_are_exactly_those_of_the_graphs():
    expected = [
        [{k: d[k] for k in ("kind", "h", "charge")} for _, d in g.nodes(data=True)] for g in GRAPHS
    ]
    assert content(KNOWN) == expected
    assert all(type(data["charge"]) is int for graph in content(KNOWN) for data in graph)


def test_a_network_sees_what_it_was_trained_on():
    expected = torch.from_numpy(SCHEMA.node_entries(GRAPHS, 6))
    assert torch.equal(KNOWN.entries(range(4), 6), expected)
    assert torch.equal(KNOWN.entries([3, 0], 6), expected[[3, 0]])


def test_graphs_of_a_size_are_drawn_alike_and_whole():
    drawn = KNOWN.draw(torch.tensor([3] * 400 + [2]), generator=generator())
    known = content(KNOWN)
    found = content(drawn)
    assert found[-1] == known[0]
    first = sum(graph == known[1] for graph in found[:400])
    assert first + sum(graph == known[2] for graph in found[:400]) == 400
    assert 150 < first < 250


def test_other_sizes_are_of_the_nearest():
    known = content(KNOWN)
    fewer, more, far = content(KNOWN.draw(torch.tensor([1, 9, 12]), generator=generator()))
    assert fewer[0] in known[0]
    assert [more.count(node) for node in known[3]].count(2) == 4
    assert len(more) == 9
    assert {far.count(node) for node in known[3]} == {2, 3}


def test_the_same_numbers_draw_the_same_graphs():
    sizes = torch.tensor([3, 4, 8, 3])
    one, two, other = (content(KNOWN.draw(sizes, generator=generator(s))) for s in (1, 1, 2))
    assert one == two != other


def test_a_model_keeps_as_many_as_fit(monkeypatch):
    """Of every size, since each is drawn from those of its own."""
    monkeypatch.setattr(nodes_module, "MOST_KEPT", 60)
    many = KnownNodes.of([path(3, seed / 7) for seed in range(50)] + GRAPHS, SCHEMA)
    with pytest.warns(GraphscoreWarning, match=r"kept of \d of 54 training graphs"):
        kept = many.kept(generator=generator())
    assert set(kept.sizes) == {2, 3, 5}
    assert sum(1 + 3 * size for size in kept.sizes) <= 60
    assert all(graph in content(many) for graph in content(kept))
    assert KNOWN.kept(generator=generator()) is KNOWN
    monkeypatch.setattr(nodes_module, "MOST_KEPT", 9)
    with pytest.raises(GraphDataError, match="a model keeps 9 such numbers at most"):
        KnownNodes.of([path(3)], SCHEMA).kept(generator=generator())


def test_stored_and_read():
    sizes = {2: 1, 3: 2, 5: 1}
    again = KnownNodes.from_dict(KNOWN.to_dict(), SCHEMA, sizes)
    assert content(again) == content(KNOWN)
    assert again.sizes == KNOWN.sizes


WRONG = {
    "missing": lambda v: v.pop("types"),
    "unknown": lambda v: v.update(x=1),
    "no list": lambda v: v.update(sizes={"2": 1}),
    "no graphs": lambda v: v.update(sizes=[], types=[], features=[]),
    "sizes of others": lambda v: v["sizes"].reverse() or v["sizes"].__setitem__(0, 13),
    "more than there were": lambda v: v.update(sizes=[2, 2, 3, 3, 3]),
    "size is true": lambda v: v.update(sizes=[True] * 13),
    "size is huge": lambda v: v["sizes"].__setitem__(0, 10**30),
    "fewer types": lambda v: v["types"].pop(),
    "type is negative": lambda v: v["types"].__setitem__(0, -1),
    "type is unknown": lambda v: v["types"].__setitem__(0, 2),
    "type is huge": lambda v: v["types"].__setitem__(0, 10**30),
    "type is no whole number": lambda v: v["types"].__setitem__(0, 0.5),
    "more features": lambda v: v["features"].append(1.0),
    "feature is a text": lambda v: v["features"].__setitem__(0, "1"),
    "feature beyond single precision": lambda v: v["features"].__setitem__(0, 1e300),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_a_stranger_stores_is_checked(kind):
    values = KNOWN.to_dict()
    WRONG[kind](values)
    with pytest.raises(ValueError, match=r"."):
        KnownNodes.from_dict(values, SCHEMA, {2: 1, 3: 2, 5: 1})


def test_a_feature_without_a_logarithm_is_refused():
    graphs = [path(n) for n in (2, 3)]
    for graph in graphs:
        for node in graph:
            graph.nodes[node]["h"] = 10.0 ** (3 * node)
    schema = Schema.of(graphs, AttributeSettings(node_features=("h",)))
    assert schema.node_features[0].log
    values = KnownNodes.of(graphs, schema).to_dict()
    values["features"][0] = -1.0
    with pytest.raises(ValueError, match="units do not fit"):
        KnownNodes.from_dict(values, schema, {2: 1, 3: 1})
    graphs[1].nodes[2]["h"] = -1
    with pytest.raises(GraphDataError, match=r"graph 2: a node has a feature .*log h"):
        KnownNodes.of(graphs, schema)


def ask(number, *, sizes=None, nodes_of=None, known=KNOWN):
    sources = SizeDistribution({3: 2}), None, nodes_of, known
    return resolve_request(number, sizes, None, *sources, random=lambda _: generator())


def test_nodes_may_be_told():
    told = [path(4, 2.5), path(1)]
    request = ask(2, nodes_of=told)
    assert request.sizes.tolist() == [4, 1]
    assert content(request.nodes) == content(KnownNodes.of(told, SCHEMA))
    condition = request.condition(torch.tensor([1, 0]), 4)
    assert condition.node_feat.shape == (2, 4, 4)
    assert not condition.node_feat[0, 1:].any()
    letters = nx.relabel_nodes(path(2), {0: "a", 1: "b"})
    assert content(ask(1, nodes_of=[letters]).nodes) == content(ask(1, nodes_of=[path(2)]).nodes)


def test_nodes_that_make_no_sense_are_refused():
    with pytest.raises(SettingsError, match="takes nothing that nodes carry"):
        ask(1, nodes_of=[path(2)], known=None)
    with pytest.raises(SettingsError, match="leave out sizes"):
        ask(1, nodes_of=[path(2)], sizes=[2])
    for wrong in ([], [path(2)] * 2, [nx.Graph()], 3, [3]):
        with pytest.raises(SettingsError, match="nodes_of must be 1 networkx graphs"):
            ask(1, nodes_of=wrong)
    with pytest.raises(GraphDataError, match="graph 1, node 0: no attribute 'kind'"):
        ask(1, nodes_of=[nx.path_graph(2)])
    odd = path(2)
    odd.nodes[1]["kind"] = "C"
    with pytest.raises(GraphDataError, match="none of the types known: 'A', 'B'"):
        ask(1, nodes_of=[odd])


def test_vectors_are_kept_as_vectors():
    graph = nx.path_graph(2)
    for node, x in enumerate(([0.5, 3], [1.5, 4])):
        graph.nodes[node].update(x=x, kind=[node, 1])
    schema = Schema.of([graph], AttributeSettings(node_type="kind", node_features=("x",)))
    expected = [{"kind": [0, 1], "x": [0.5, 3]}, {"kind": [1, 1], "x": [1.5, 4]}]
    assert KnownNodes.of([graph], schema).attributes(0) == expected
    graph.nodes[0]["x"], graph.nodes[1]["x"] = [1], [2]
    with pytest.raises(GraphDataError, match="'x' has a number, but 2 are expected"):
        KnownNodes.of([graph], schema)
