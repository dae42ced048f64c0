"""EDP-GNN on weighted graphs and with what nodes carry: learned or taken, sampled, stored."""

from __future__ import annotations

import itertools
import random

import networkx as nx
import numpy as np
import pytest
import torch

from graphscore import GraphGenerator
from graphscore.diffusion import log_density_difference
from graphscore.errors import CheckpointError, GraphDataError, SettingsError
from graphscore.graphs import Condition, GraphBatch, GraphState, read_graphs, write_graphs

EDP = {"channels": [2, 2], "message_steps": 1, "features": 6, "edge_width": 8}
NAMES = {"edge_weight": "w", "node_type": "kind", "node_features": ["h"]}
VARIANTS = ("edp-gnn", "edp-gnn-released", "gin")


def signed(seed):
    """Pairs are edges with probability 0.4 and weights of either sign, of size 1 to 2."""
    source = random.Random(seed)
    graph = nx.empty_graph(source.choice((4, 5)))
    for node in graph:
        graph.nodes[node].update(kind="AB"[node % 2], h=source.gauss(3, 1) + len(graph))
    for u, v in itertools.combinations(graph, 2):
        if source.random() < 0.4:
            graph.add_edge(u, v, w=source.choice((-1, 1)) * source.uniform(1, 2))
    return graph


def by_kind(seed):
    """Edges join all nodes of kind A; the kinds are independent."""
    source = random.Random(seed)
    graph = nx.empty_graph(5)
    for node in graph:
        graph.nodes[node]["kind"] = source.choice("AB")
    kinds = nx.get_node_attributes(graph, "kind")
    pairs = itertools.combinations(graph, 2)
    graph.add_edges_from((u, v) for u, v in pairs if kinds[u] == kinds[v] == "A")
    return graph


GRAPHS = [signed(seed) for seed in range(120)]


def make(name="edp-gnn", steps=3, levels=2, **changes):
    return GraphGenerator(
        name,
        network=EDP,
        training={"steps": steps, "batch_size": 16, "log_every": 1},
        sampling={"steps_per_level": levels},
        device="cpu",
        show_progress=False,
        **changes,
    )


def content(graphs):
    return [([*graph.nodes(data=True)], [*graph.edges(data=True)]) for graph in graphs]


def weights(graphs):
    return np.array([data["w"] for graph in graphs for *_, data in graph.edges(data=True)])


def share(graphs):
    pairs = sum(len(graph) * (len(graph) - 1) / 2 for graph in graphs)
    return sum(graph.number_of_edges() for graph in graphs) / pairs


@pytest.fixture(scope="module")
def fitted():
    return make().fit(GRAPHS, **NAMES, holdout=False)


# ------------------------------------------------------------------ what is learned


def test_the_state_is_the_weighted_matrix():
    """In units of the root mean square of the weights, and 0 where there is no edge."""
    generator = make().fit(GRAPHS, edge_weight="w", holdout=False)
    model = generator._artifact.model
    assert model.schema.edge_weight.deviation == pytest.approx(
        np.sqrt((weights(GRAPHS) ** 2).mean())
    )
    data = GraphBatch.from_networkx(GRAPHS, schema=model.schema)
    _, trained_on = type(model).from_graphs(generator.settings, GRAPHS, data)
    unit = model.schema.edge_weight.deviation
    for matrix, graph in zip(trained_on.state.edges, GRAPHS):
        expected = nx.to_numpy_array(graph, weight="w") / unit
        np.testing.assert_allclose(matrix[: len(graph), : len(graph)], expected, rtol=1e-6)
    assert trained_on.state.edges.ndim == 3
    assert trained_on.edge_entries is None


def test_weights_and_their_share_are_learned():
    """Known exactly: edges with probability 0.4, half of them negative, sizes 1 to 2."""
    generator = make(steps=500, levels=60).fit(GRAPHS, edge_weight="w", holdout=False)
    graphs = generator.sample(150, seed=1)
    found = weights(graphs)
    assert share(graphs) == pytest.approx(0.4, abs=0.06)
    assert (found > 0).mean() == pytest.approx(0.5, abs=0.12)
    assert np.abs(found).mean() == pytest.approx(1.5, abs=0.12)
    assert np.abs(found).min() > 0.5
    assert np.abs(found).max() < 3


def test_edges_follow_from_the_nodes_that_are_taken():
    """Without the types a pair is an edge a quarter of the time; with them it is known."""
    graphs = [by_kind(seed) for seed in range(200)]
    generator = make(steps=1000, levels=30).fit(graphs, node_type="kind", holdout=False)
    right = total = 0
    for graph in generator.sample(60, seed=1):
        kinds = nx.get_node_attributes(graph, "kind")
        for u, v in itertools.combinations(graph, 2):
            right += graph.has_edge(u, v) == (kinds[u] == kinds[v] == "A")
            total += 1
    assert right > 0.95 * total


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_takes_all(name):
    graphs = make(name).fit(GRAPHS, **NAMES).sample(6, seed=1)
    known = {tuple(map(str, dict(graph.nodes(data=True)).values())) for graph in GRAPHS}
    for graph in graphs:
        assert tuple(map(str, dict(graph.nodes(data=True)).values())) in known
        assert all(data.keys() == {"w"} and data["w"] != 0 for *_, data in graph.edges(data=True))


@pytest.mark.parametrize("sign", [1, -1])
def test_weights_have_the_signs_and_the_wholeness_of_the_training_graphs(sign):
    graphs = [nx.relabel_nodes(graph, {}) for graph in GRAPHS[:20]]
    for graph in graphs:
        for *_, data in graph.edges(data=True):
            data["w"] = sign * (1 + round(abs(data["w"])))
    generator = make().fit(graphs, edge_weight="w")
    found = weights(generator.sample(40, seed=1, sampling={"threshold": 0.01}))
    assert len(found) > 20
    assert all(type(weight) is int for weight in found.tolist())
    assert (found * sign > 0).all()


def test_nodes_may_be_told(fitted):
    told = [nx.relabel_nodes(GRAPHS[3], str), nx.empty_graph(2)]
    nx.set_node_attributes(told[1], {0: {"kind": "A", "h": 1.25}, 1: {"kind": "B", "h": -7}})
    one, two = fitted.sample(2, nodes_of=told, seed=1)
    assert list(dict(one.nodes(data=True)).values()) == [*dict(told[0].nodes(data=True)).values()]
    assert dict(two.nodes(data=True)) == {0: {"kind": "A", "h": 1.25}, 1: {"kind": "B", "h": -7.0}}
    assert content(fitted.sample(2, nodes_of=told, seed=1)) == content([one, two])
    assert [len(graph) for graph in fitted.sample(2, sizes=[3, 9], seed=1)] == [3, 9]


# ------------------------------------------------------------------ promises of every model


def test_scores_are_equivariant_with_weights_and_features(fitted):
    """Relabelling the nodes relabels the score; and without their features it is another one."""
    data = GraphBatch.from_networkx(GRAPHS[:6], schema=fitted._artifact.model.schema)
    features = data.node_entries.float()
    batch = GraphBatch(data.edge_entries[..., -1], data.node_mask, features)
    sigma = torch.full((6,), 0.4)

    def score(graphs):
        with torch.no_grad():
            return fitted.network(graphs.state, sigma, graphs.condition).edges

    source = torch.Generator().manual_seed(0)
    order = torch.stack([torch.randperm(batch.max_nodes, generator=source) for _ in range(6)])
    expected = GraphBatch(score(batch), batch.node_mask).permuted(order).adj
    torch.testing.assert_close(score(batch.permuted(order)), expected, rtol=1e-4, atol=1e-4)
    other = GraphBatch(batch.adj, batch.node_mask, features.flip(1) * batch.node_mask.unsqueeze(2))
    assert (score(other) - score(batch)).abs().max() > 1e-3


def test_a_stored_model_draws_the_same(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = GraphGenerator.load(tmp_path / "model", device="cpu", show_progress=False)
    assert content(loaded.sample(4, seed=3)) == content(fitted.sample(4, seed=3))
    assert content(loaded.sample(4, seed=4)) != content(fitted.sample(4, seed=3))
    assert loaded.settings == fitted.settings
    assert loaded.log_density(GRAPHS[:3]) == fitted.log_density(GRAPHS[:3])


def test_training_goes_on_bit_for_bit(tmp_path):
    expected = make(steps=6).fit(GRAPHS, **NAMES)
    make(steps=6).fit(GRAPHS, run=tmp_path / "run", stop_at=3, **NAMES)
    resumed = make(steps=6).fit(GRAPHS, run=tmp_path / "run", resume=True, **NAMES)
    weights = expected.network.state_dict()
    assert all(torch.equal(weights[k], v) for k, v in resumed.network.state_dict().items())
    assert content(resumed.sample(3, seed=1)) == content(expected.sample(3, seed=1))
    changed = [graph.copy() for graph in GRAPHS]
    changed[0].nodes[0]["h"] += 1
    with pytest.raises(CheckpointError, match="started on other graphs"):
        make(steps=6).fit(changed, run=tmp_path / "run", resume=True, **NAMES)


# ------------------------------------------------------------------ log-density


def test_the_log_density_is_that_of_the_weighted_matrix(fitted):
    """By brute force: small steps along the line from 0 to A, and nodes in any order."""
    schema = fitted._artifact.model.schema
    data = GraphBatch.from_networkx(GRAPHS[:4], schema=schema)
    adj, condition = data.edge_entries[..., -1], Condition(node_feat=data.node_entries.float())
    network, steps = fitted.network, 400
    total = torch.zeros(4, dtype=torch.float64)
    with torch.no_grad():
        for step in range(steps):
            point = GraphState(adj * ((step + 0.5) / steps), data.node_mask)
            answer = network(point, torch.full((4,), 0.2), condition).edges
            total += (answer * adj).double().sum((1, 2)) / 2 / steps
    found = fitted.log_density(GRAPHS[:4], sigma=0.2)
    assert found == pytest.approx(total.tolist(), rel=1e-3)
    assert np.std(found) > 0.1
    relabelled = []
    for seed, graph in enumerate(GRAPHS[:4]):
        order = random.Random(seed).sample(list(graph), len(graph))
        moved = nx.Graph()
        moved.add_nodes_from((node, graph.nodes[node]) for node in order)
        moved.add_edges_from(graph.edges(data=True))
        relabelled.append(moved)
    assert fitted.log_density(relabelled, sigma=0.2) == pytest.approx(found, rel=1e-3)


def test_the_log_density_of_graphs_without_attributes():
    graphs = [nx.path_graph(4), nx.empty_graph(3), nx.cycle_graph(5)]
    generator = make().fit(graphs)
    batch = GraphBatch.from_networkx(graphs)
    sigma = torch.full((3,), 0.1)
    expected = log_density_difference(generator.network, batch.state, sigma, points=8)
    assert generator.log_density(graphs, points=8) == pytest.approx(expected.tolist(), rel=1e-4)
    assert generator.log_density(graphs)[1] == 0


def test_log_densities_that_make_no_sense_are_refused(fitted):
    for wrong in ({"sigma": 0.01}, {"sigma": 5.0}, {"points": 0}, {"sigma": float("nan")}):
        with pytest.raises(SettingsError, match=r"give a sigma from 0.1 to 1.6"):
            fitted.log_density(GRAPHS[:1], **wrong)
    with pytest.raises(GraphDataError, match="no attribute 'w'"):
        fitted.log_density([nx.path_graph(2)])
    other = GraphGenerator("erdos-renyi", show_progress=False).fit([nx.path_graph(4)])
    with pytest.raises(SettingsError, match="'erdos-renyi' has no log-density"):
        other.log_density([nx.path_graph(4)])


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize("name", VARIANTS)
def test_types_of_edges_are_refused(name):
    with pytest.raises(SettingsError, match=r"edge_type: an entry .* model 'denoiser'"):
        make(name).fit(GRAPHS, edge_type="bond")


def test_weights_of_zero_are_refused(tmp_path):
    several = [graph for graph in GRAPHS if graph.number_of_edges() > 1]
    graphs = [graph.copy() for graph in several[:5]]
    u, v = list(graphs[3].edges)[1]
    graphs[3].edges[u, v]["w"] = 0.0
    with pytest.raises(
        GraphDataError, match=rf"graph 4, edge \({u}, {v}\): .*'w' is 0.0, but in a"
    ):
        make().fit(graphs, edge_weight="w", run=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    graphs[3].edges[u, v]["w"] = 1e-60
    with pytest.raises(GraphDataError, match=r"graph 4, .* beside the other weights as good as 0"):
        make().fit(graphs, edge_weight="w")
    for graph in graphs:
        nx.set_edge_attributes(graph, 0, "w")
    with pytest.raises(GraphDataError, match="'w' is 0, but in a"):
        make().fit(graphs, edge_weight="w")


def test_the_width_of_features_is_not_a_users(tmp_path):
    with pytest.raises(SettingsError, match="sets it itself, from the attributes of nodes"):
        GraphGenerator("edp-gnn", network={"node_feat_dim": 1}, show_progress=False).fit(GRAPHS)
    fitted = make(steps=1).fit(GRAPHS, node_features=["h"])
    assert fitted.network.settings.node_feat_dim == 1
    with pytest.raises(SettingsError, match="takes nothing that nodes carry"):
        make(steps=1).fit(GRAPHS).sample(1, nodes_of=GRAPHS[:1])


# ------------------------------------------------------------------ command line


def test_on_the_command_line(tmp_path, monkeypatch, capsys):
    from graphscore.cli.main import main

    def call(*arguments, code=0):
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        assert stopped.value.code == code, shown.err
        return shown

    monkeypatch.chdir(tmp_path)
    write_graphs("graphs", GRAPHS[:12], format="graphml")
    common = ("train", "graphs", "--model", "edp-gnn", "--steps", 2, "--device", "cpu")
    shown = call(*common, "--out", "run", "--edge-weight", "w", "--node-type", "kind")
    assert "w, root mean square" in shown.out
    assert "taken from 12 training graphs" in shown.out
    call("sample", "run", "-n", 3, "--steps-per-level", 2, "--device", "cpu")
    for graph in read_graphs("run/samples.graphml", edge_attributes=["w"]):
        assert all(data.keys() == {"kind"} for _, data in graph.nodes(data=True))
        assert all(data.keys() == {"w"} for *_, data in graph.edges(data=True))
    shown = call(*common, "--out", "other", "--edge-type", "w", code=2)
    assert "edge_type: an entry of this model's adjacency matrix" in shown.err
    assert not (tmp_path / "other").exists()
