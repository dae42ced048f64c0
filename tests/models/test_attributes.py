"""Attributes of nodes and edges: learned, generated, stored, refused where they make no sense."""

from __future__ import annotations

import random

import networkx as nx
import pytest

from graphscore import GraphGenerator
from graphscore.errors import CheckpointError, GraphDataError, GraphscoreWarning, SettingsError
from graphscore.graphs import read_graphs, write_graphs
from graphscore.metrics import evaluate

SMALL = {"blocks": 2, "pair_width": 12, "node_width": 8, "product_width": 4}
EVERY = {"node_type": "kind", "edge_type": "bond", "edge_weight": "w", "node_features": ["h"]}


def ring(seed):
    """A ring of A and B by turns; bonds say whether ends differ, and h follows from the kind."""
    source = random.Random(seed)
    graph = nx.cycle_graph(source.randint(3, 6))
    for node in graph:
        graph.nodes[node].update(kind="AB"[node % 2], h=source.gauss(5 * (node % 2), 0.2))
    for u, v in graph.edges:
        same = (u - v) % 2 == 0
        graph.edges[u, v].update(bond="same" if same else "other", w=source.lognormvariate(0, 0.2))
    return graph


GRAPHS = [ring(seed) for seed in range(60)]


def make(steps=5, **changes):
    return GraphGenerator(
        network=SMALL,
        training={"steps": steps, "batch_size": 16, "log_every": 5},
        sampling={"steps": 12},
        device="cpu",
        show_progress=False,
        **changes,
    )


@pytest.fixture(scope="module")
def fitted():
    return make(250).fit(GRAPHS, **EVERY, holdout=False)


def content(graphs):
    return [([*graph.nodes(data=True)], [*graph.edges(data=True)]) for graph in graphs]


def test_graphs_have_the_attributes_that_were_learned(fitted):
    for graph in fitted.sample(20, seed=1):
        for _, data in graph.nodes(data=True):
            assert data.keys() == {"kind", "h"}
            assert data["kind"] in {"A", "B"}
        for *_, data in graph.edges(data=True):
            assert data.keys() == {"bond", "w"}
            assert data["bond"] in {"same", "other"}
            assert data["w"] > 0


def test_what_nodes_and_edges_carry_fits_together(fitted):
    """A few hundred steps learn that h follows from the kind, and mostly the kind of bond."""
    graphs = fitted.sample(100, seed=2)
    nodes = [data for graph in graphs for _, data in graph.nodes(data=True)]
    assert sum((data["h"] > 2.5) == (data["kind"] == "B") for data in nodes) > 0.95 * len(nodes)
    kinds = [
        (data["bond"] == "same") == (graph.nodes[u]["kind"] == graph.nodes[v]["kind"])
        for graph in graphs
        for u, v, data in graph.edges(data=True)
    ]
    assert sum(kinds) > 0.7 * len(kinds)


@pytest.mark.parametrize("name", EVERY)
def test_each_alone(name):
    """Also a mixture of what is there: no attribute has to be learned."""
    generator = make().fit(GRAPHS, **{name: EVERY[name]})
    asked = EVERY[name] if isinstance(EVERY[name], list) else [EVERY[name]]
    graphs = generator.sample(3, seed=1)
    carried = {key for graph in graphs for _, data in graph.nodes(data=True) for key in data}
    carried |= {key for graph in graphs for *_, data in graph.edges(data=True) for key in data}
    assert carried <= set(asked)
    assert generator.settings.attributes.model_dump(exclude_defaults=True).keys() == {name}


def test_a_stored_model_draws_the_same(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = GraphGenerator.load(tmp_path / "model", device="cpu", show_progress=False)
    assert content(loaded.sample(4, seed=3)) == content(fitted.sample(4, seed=3))
    assert loaded.settings == fitted.settings


def test_training_goes_on_bit_for_bit(tmp_path):
    expected = make(8).fit(GRAPHS, **EVERY).sample(3, seed=1)
    make(8).fit(GRAPHS, run=tmp_path / "run", stop_at=4, **EVERY)
    resumed = make(8).fit(GRAPHS, run=tmp_path / "run", resume=True, **EVERY)
    assert content(resumed.sample(3, seed=1)) == content(expected)


def test_other_attributes_are_other_graphs(tmp_path):
    make(8).fit(GRAPHS, run=tmp_path / "run", stop_at=4, **EVERY)
    changed = [graph.copy() for graph in GRAPHS]
    changed[7].nodes[0]["kind"] = "B"
    with pytest.raises(CheckpointError, match="started on other graphs"):
        make(8).fit(changed, run=tmp_path / "run", resume=True, **EVERY)
    renamed = [graph.copy() for graph in GRAPHS]
    for graph in renamed:
        for _, data in graph.nodes(data=True):
            data["kind"] = data["kind"].lower()
    with pytest.raises(CheckpointError, match="started on other graphs"):
        make(8).fit(renamed, run=tmp_path / "run", resume=True, **EVERY)
    with pytest.raises(CheckpointError, match=r"other settings \(attributes"):
        make(8).fit(GRAPHS, run=tmp_path / "run", resume=True, node_type="kind")


def test_what_makes_no_sense_is_refused(tmp_path):
    with pytest.raises(GraphDataError, match="graph 1, node 0: no attribute 'element'"):
        make().fit(GRAPHS, run=tmp_path / "run", node_type="element")
    assert not (tmp_path / "run").exists()
    with pytest.raises(SettingsError, match="learns edges only"):
        GraphGenerator(network={"kind": "edp-gnn"}, training={"steps": 1}, show_progress=False).fit(
            GRAPHS, node_type="kind"
        )
    with pytest.raises(SettingsError, match="node_type: the model 'erdos-renyi' learns edges only"):
        GraphGenerator("erdos-renyi", show_progress=False).fit(GRAPHS, node_type="kind")


def test_communities_have_their_own_attribute():
    graphs = [nx.relabel_nodes(graph, {}) for graph in GRAPHS[:4]]
    for graph in graphs:
        nx.set_node_attributes(graph, "x", "community")
    generator = GraphGenerator(
        network={**SMALL, "communities": True}, training={"steps": 1}, show_progress=False
    )
    with pytest.raises(SettingsError, match="node attribute 'community': new graphs have"):
        generator.fit(graphs, node_type="community")


def test_the_best_sampler_is_chosen_by_structure(fitted):
    selection = fitted.select_sampling(GRAPHS[:8], number=4, candidates=[{"churn": 1.0}])
    assert selection.best == {"churn": 1.0}
    assert fitted.evaluate(GRAPHS[:8], number=8, seed=1).sample_count == 8


def test_a_generator_compares_what_it_learned(fitted):
    result = fitted.evaluate(GRAPHS[:8], number=8, seed=1)
    direct = evaluate(fitted.sample(8, seed=1), GRAPHS[:8], training=GRAPHS, **EVERY)
    assert {**result.to_dict(), "seconds": 0} == {**direct.to_dict(), "seconds": 0}
    assert list(result.attribute_distances)[-2:] == ["edge_weights", "node_feature_h"]
    far = fitted.evaluate([swapped(graph) for graph in GRAPHS[:8]], number=8, seed=1)
    assert far.distances == result.distances
    assert far.attribute_distances["edge_types"] > result.attribute_distances["edge_types"] + 0.1


def swapped(graph):
    """The graph with another kind of bonds."""
    copy = graph.copy()
    nx.set_edge_attributes(copy, "third", "bond")
    return copy


def test_reference_graphs_without_what_was_learned_are_refused_before_sampling(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    one, other = (
        GraphGenerator.load(tmp_path / "model", device="cpu", show_progress=False) for _ in range(2)
    )
    with pytest.raises(GraphDataError, match="reference, graph 1, node 0: no attribute 'kind'"):
        one.evaluate([nx.path_graph(3)])
    assert content(one.sample(2)) == content(other.sample(2))  # none was drawn


def test_on_the_command_line(tmp_path, monkeypatch, capsys):
    from graphscore.cli.main import main

    def call(*arguments):
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        assert stopped.value.code == 0, shown.err
        return shown

    monkeypatch.chdir(tmp_path)
    write_graphs("rings", GRAPHS[:12], format="graphml")
    (tmp_path / "tiny.toml").write_text("[network]\nblocks = 1\npair_width = 8\nnode_width = 4\n")
    shown = call(
        *("train", "rings", "--out", "run", "--config", "tiny.toml", "--steps", 3),
        *("--node-type", "kind", "--edge-type", "bond", "--edge-weight", "w", "--device", "cpu"),
    )
    assert "ignored: node attribute 'h' (" in shown.err
    assert "node types" in shown.out
    assert "kind: A, B" in shown.out
    call("train", "rings", "--out", "run", "--resume", "--steps", 4, "--device", "cpu")
    call("sample", "run", "-n", 3, "--device", "cpu")
    for graph in read_graphs("run/samples.graphml", edge_attributes=["bond", "w"]):
        assert all(data.keys() == {"kind"} for _, data in graph.nodes(data=True))
        assert all(data.keys() == {"bond", "w"} for *_, data in graph.edges(data=True))
    call("sample", "run", "-n", 2, "--device", "cpu")
    assert len(read_graphs("run/samples2.graphml")) == 2
    shown = call("sample", "run", "-n", 3, "-o", "new.g6", "--device", "cpu")
    assert "new.g6: its format has no attributes of nodes and edges" in shown.err
    assert len(read_graphs("new.g6")) == 3
    weighted = [graph.copy() for graph in GRAPHS[:6]]
    for graph in weighted:
        nx.set_edge_attributes(graph, 2.5, "weight")
        nx.set_node_attributes(graph, 0.5, "real")
    write_graphs("weighted", weighted, format="graphml")
    shown = call("evaluate", "weighted", "-r", "rings")
    assert "weighted: weights of edges are not compared" in shown.err
    shown = call(
        *("train", "weighted", "--out", "run3", "--config", "tiny.toml", "--steps", 1),
        *("--edge-weight", "weight", "--device", "cpu"),
    )
    (line,) = [line for line in shown.err.splitlines() if "ignored" in line]
    assert line == (
        "graphscore: ignored: node attributes 'kind' (2 values; to learn it, --node-type kind, "
        "in Python node_type='kind'), 'h' (more than 20 values), 'real' (1 value); edge attributes "
        "'bond', 'w' (to learn one, --edge-type or --edge-weight, in Python edge_type= or "
        "edge_weight=)"
    )


@pytest.mark.parametrize("form", ["json", "jsonl", "npz", "gml", "graphml"])
def test_samples_are_written_with_what_they_carry(fitted, tmp_path, form):
    graphs = fitted.sample(3, seed=4)
    write_graphs(tmp_path / "new", graphs, format=form)
    found = read_graphs(tmp_path / "new", format=form, edge_attributes=["bond", "w"])
    assert content(found) == content(graphs)


def test_samples_in_files_of_tu(tmp_path, capsys, monkeypatch):
    """They hold labels that are numbers and vectors; other names and texts are refused."""
    from graphscore.cli.main import main

    def call(*arguments):
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        return stopped.value.code, capsys.readouterr().err

    monkeypatch.chdir(tmp_path)
    numbered = [nx.Graph(graph) for graph in GRAPHS[:6]]
    for graph in numbered:
        for _, data in graph.nodes(data=True):
            data.update(label=int(data["kind"] == "B"), x=[data["h"], 1.0])
        for *_, data in graph.edges(data=True):
            data.update(label=int(data["bond"] == "same"), edge_attr=data["w"])
    names = {"node_type": "label", "edge_type": "label"}
    numbers = {"node_features": ["x"], "edge_weight": "edge_attr"}
    write_graphs("set", numbered, format="tu")
    asked = ["label", "edge_attr"]
    make().fit(read_graphs("set", edge_attributes=asked), **names, **numbers).save("run")
    options = ("--device", "cpu", "-n", 3)
    assert call("sample", "run", "-o", "new", "--format", "tu", *options)[0] == 0
    for graph in read_graphs("new", edge_attributes=asked):
        assert all(data.keys() == {"label", "x"} for _, data in graph.nodes(data=True))
        assert all(data.keys() == {"label", "edge_attr"} for *_, data in graph.edges(data=True))
        assert all(x[1] == 1.0 for _, x in graph.nodes(data="x"))
    make().fit(GRAPHS[:6], node_type="kind").save("texts")
    code, shown = call("sample", "texts", "-o", "more", "--format", "tu", *options)
    assert code == 2
    assert "more: its format has no place for the values of an attribute named 'kind'" in shown
    assert not (tmp_path / "more").exists()


def test_fit_names_what_it_ignores_in_one_line(tmp_path):
    write_graphs(tmp_path / "g.json", GRAPHS[:3])
    for graphs in (GRAPHS[:3], read_graphs(tmp_path / "g.json", edge_attributes=["w"])):
        with pytest.warns(GraphscoreWarning) as caught:
            make(1).fit(graphs, edge_weight="w")
        (warning,) = caught
        assert str(warning.message) == (
            "ignored: node attributes 'kind' (2 values; to learn it, --node-type kind, in Python "
            "node_type='kind'), 'h' (13 values); edge attribute 'bond' (to learn one, --edge-type "
            "or --edge-weight, in Python edge_type= or edge_weight=)"
        )
        assert warning.filename == __file__
