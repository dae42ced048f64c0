"""Weights of edges are ignored, or compared with a threshold, on request."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import torch
from tests.graphs.test_pyg import StandInData
from tests.tiny_generator import make

from graphscore import Repairs, write_graphs
from graphscore.errors import GraphDataError, GraphscoreWarning, SettingsError
from graphscore.graphs import GraphBatch, prepare_graphs, read_graphs

KARATE = nx.karate_club_graph()
ADJ = nx.to_numpy_array(KARATE)
ARCS = torch.from_numpy(np.stack(np.nonzero(ADJ)))
WEIGHTS = torch.from_numpy(ADJ[np.nonzero(ADJ)])
IGNORE, THRESHOLD = Repairs(ignore_weights=True), Repairs(weight_threshold=3)
LIGHT = {"edges below the weight threshold dropped": 1}
IGNORED = {"weights ignored": 1}
FORMS = {
    "networkx": [KARATE],
    "multigraph": [nx.MultiGraph(KARATE)],
    "matrix": ADJ,
    "sparse": scipy.sparse.csr_array(ADJ),
    "batch": GraphBatch(torch.from_numpy(ADJ)[None], torch.ones(1, 34, dtype=torch.bool)),
    "edges": list(KARATE.edges(data="weight")),
    "edge_weight": StandInData(edge_index=ARCS, num_nodes=34, edge_weight=WEIGHTS),
    "weight": StandInData(
        edge_index=ARCS, num_nodes=34, weight=WEIGHTS, edge_attrs=lambda: ["weight"]
    ),
}


def plain(graphs):
    """Numbers of nodes and edges of the only graph, which carries nothing."""
    (graph,) = graphs
    assert not any(data for *_, data in graph.edges(data=True))
    return len(graph), graph.number_of_edges()


@pytest.mark.parametrize("form", FORMS)
def test_weights_are_dropped_in_every_form(form):
    given = FORMS[form]
    with pytest.raises(GraphDataError, match=r"non-binary.*--ignore-weights.*weight_threshold="):
        prepare_graphs(given)
    ignored = prepare_graphs(given, repairs=IGNORE)
    assert plain(ignored) == (34, 78)
    assert ignored.repaired == IGNORED
    heavy = prepare_graphs(given, repairs=THRESHOLD)
    assert plain(heavy) == (34, 48)
    assert heavy.repaired == LIGHT | IGNORED


@pytest.mark.parametrize("name", ["g.json", "g.jsonl", "g.npz", "g.gml", "g.graphml", "g.edges"])
def test_weights_of_files_are_dropped(tmp_path, name):
    path = tmp_path / name
    if name == "g.edges":
        nx.write_weighted_edgelist(KARATE, path)
    else:
        write_graphs(path, KARATE)
    ignored, heavy = read_graphs(path, repairs=IGNORE), read_graphs(path, repairs=THRESHOLD)
    assert plain(ignored) == (34, 78)
    assert plain(heavy) == (34, 48)
    assert (ignored.repaired, heavy.repaired) == (IGNORED, LIGHT | IGNORED)


def test_edges_at_the_threshold_and_without_a_weight_stay():
    graph = nx.Graph([(0, 1, {"weight": 3}), (1, 2, {"weight": -5}), (2, 3), (0, 3)])
    (found,) = prepare_graphs([graph], repairs=THRESHOLD)
    assert sorted(found.edges) == [(0, 1), (0, 3), (2, 3)]
    assert graph.edges[0, 1] == {"weight": 3}


def test_weights_of_1_are_no_repair():
    graph = nx.Graph([(0, 1, {"weight": 1.0})])
    assert prepare_graphs([graph], repairs=Repairs(weight_threshold=1)).repaired == {}


def test_directions_with_different_weights(tmp_path):
    graph = nx.DiGraph([(0, 1, {"weight": 2}), (1, 0, {"weight": 3})])
    undirected = Repairs(undirected=True, ignore_weights=True)
    assert plain(prepare_graphs([graph], repairs=undirected)) == (2, 1)
    nx.write_graphml(graph, tmp_path / "g.graphml")
    assert plain(read_graphs(tmp_path / "g.graphml", repairs=undirected)) == (2, 1)


@pytest.mark.parametrize("weight", ["x", float("nan"), [1]])
def test_what_cannot_be_compared_is_refused(weight):
    graph = nx.Graph([(0, 1, {"weight": weight})])
    with pytest.raises(GraphDataError, match="edge 0 - 1, but a finite number is expected"):
        prepare_graphs([graph], repairs=THRESHOLD)
    assert plain(prepare_graphs([graph], repairs=IGNORE)) == (2, 1)


@pytest.mark.parametrize("threshold", [float("nan"), float("inf"), "2"])
def test_a_threshold_is_a_number(threshold):
    with pytest.raises(SettingsError, match=r"weight-threshold.*finite number"):
        Repairs(weight_threshold=threshold)


@pytest.mark.parametrize("repairs", [IGNORE, THRESHOLD])
def test_weights_are_not_both_kept_and_dropped(tmp_path, repairs):
    with pytest.raises(SettingsError, match="asked for, and weights are to be dropped"):
        prepare_graphs([KARATE], repairs=repairs, edge_attributes=["weight"])
    write_graphs(tmp_path / "g.json", KARATE)
    with pytest.raises(SettingsError, match="asked for, and weights are to be dropped"):
        read_graphs(tmp_path / "g.json", repairs=repairs, edge_attributes=["weight"])


@pytest.mark.parametrize("name", [None, "g.json", "g.npz", "g.gml"])
def test_weights_beside_other_attributes_are_ignored(tmp_path, name):
    graph = nx.Graph([(0, 1, {"weight": 2, "bond": "a"}), (1, 2, {"weight": 1, "bond": "b"})])
    given = [graph]
    if name is not None:
        given = tmp_path / name
        write_graphs(given, graph)
    graphs = prepare_graphs(given, edge_attributes=["bond"])
    assert list(graphs[0].edges(data=True)) == [(0, 1, {"bond": "a"}), (1, 2, {"bond": "b"})]
    assert graphs.ignored == ["weight"]


def test_weights_of_data_in_a_column_and_others():
    fields = {"edge_index": ARCS, "num_nodes": 34}
    given = StandInData(**fields, edge_weight=WEIGHTS[:, None], edge_attr=WEIGHTS)
    (graph,) = prepare_graphs(given, repairs=THRESHOLD, edge_attributes=["edge_attr"])
    assert graph.number_of_edges() == 48
    assert all(value >= 3 for *_, value in graph.edges(data="edge_attr"))
    for wrong in (torch.ones(len(WEIGHTS), 2) * 2, ["heavy"] * len(WEIGHTS)):
        given = StandInData(**fields, edge_weight=wrong)
        with pytest.raises(GraphDataError, match="but one number for each edge is expected"):
            prepare_graphs(given, repairs=THRESHOLD)
        assert plain(prepare_graphs(given, repairs=IGNORE)) == (34, 78)


def test_karate_club_in_two_attempts():
    with pytest.raises(GraphDataError) as caught:
        make().fit(KARATE)
    for words in ("edge_weight='weight'", "Repairs(ignore_weights=True)", "weight_threshold="):
        assert words in str(caught.value)
    with pytest.warns(GraphscoreWarning) as warnings:
        trained = make().fit(KARATE, repairs=Repairs(ignore_weights=True))
    assert "weights ignored in 1 of 1 graphs" in [str(warning.message) for warning in warnings]
    assert len(trained.sample(1)[0]) == 34
