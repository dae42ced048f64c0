"""Weighted adjacency matrices: entries become the edge attribute that is asked for."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import torch

from graphscore import GraphGenerator
from graphscore.errors import GraphDataError
from graphscore.graphs import (
    AttributeSettings,
    GraphBatch,
    Repairs,
    Schema,
    prepare_graphs,
    read_graphs,
    write_graphs,
)

WEIGHTED = np.array([[0, 0.5, 0], [0.5, 0, -2], [0, -2, 0]])
KINDS = [
    WEIGHTED,
    WEIGHTED.astype(np.float32),
    torch.from_numpy(WEIGHTED),
    torch.from_numpy(WEIGHTED).bfloat16(),
    torch.from_numpy(WEIGHTED).to_sparse(),
    scipy.sparse.csr_matrix(WEIGHTED),
    scipy.sparse.coo_array(WEIGHTED),
]


@pytest.mark.parametrize("matrix", KINDS)
@pytest.mark.parametrize("asked", ["w", ["w"], ["bond", "weight"], None])
def test_entries_are_weights_where_these_are_asked_for(matrix, asked):
    (graph,) = prepare_graphs([matrix], edge_attributes=asked)
    name = "w" if asked in ("w", ["w"]) else "weight"
    assert list(graph.edges(data=True)) == [(0, 1, {name: 0.5}), (1, 2, {name: -2.0})]


@pytest.mark.parametrize("matrix", KINDS)
@pytest.mark.parametrize("asked", [(), ["a", "b"]])
def test_and_refused_elsewhere(matrix, asked):
    words = r"graph 1: non-binary weight 0.5 at row 0, column 1.*edge_weight='weight'.*threshold"
    with pytest.raises(GraphDataError, match=words):
        prepare_graphs([matrix], edge_attributes=asked)


def test_whole_entries_may_be_types():
    kinds = np.array([[0, 1, 2], [1, 0, 0], [2, 0, 0]])
    (graph,) = prepare_graphs([kinds], edge_attributes="bond")
    assert [type(bond) for *_, bond in graph.edges(data="bond")] == [int, int]
    assert [bond for *_, bond in graph.edges(data="bond")] == [1, 2]


def test_entries_of_ones_weigh_1_if_that_is_asked_for_only():
    ones = (WEIGHTED != 0).astype(int)
    assert prepare_graphs([ones], edge_attributes="w")[0].edges[0, 1] == {"w": 1}
    assert prepare_graphs([ones], edge_attributes=None)[0].edges[0, 1] == {}
    assert prepare_graphs([ones])[0].edges[0, 1] == {}


@pytest.mark.parametrize("kind", [np.array, scipy.sparse.csr_array])
def test_what_is_refused(kind):
    changes = {
        (0, 2, np.nan): "graph 1: nan at row 0, column 2, but finite weights",
        (2, 0, np.inf): "graph 1: inf at row 2, column 0, but finite weights",
        (0, 2, 1.0): "graph 1: directed .asymmetric: edge 0 -> 2",
        (0, 1, 0.6): "graph 1: the edge between nodes 0 and 1 has other attributes in the other",
        (2, 2, 1.0): "graph 1: 1 self-loop",
    }
    for (row, column, value), words in changes.items():
        changed = WEIGHTED.copy()
        changed[row, column] = value
        with pytest.raises(GraphDataError, match=words):
            prepare_graphs([kind(changed)], edge_attributes="w")
    with pytest.raises(GraphDataError, match=r"shape \(2, 3\), but a square"):
        prepare_graphs([kind(WEIGHTED[:2])], edge_attributes="w")
    with pytest.raises(GraphDataError, match="of type complex128, but numbers"):
        prepare_graphs([kind(WEIGHTED.astype(complex))], edge_attributes="w")


def test_repairs():
    """Of an edge in one direction only, the value is that of this direction."""
    for half in (np.triu, np.tril):
        changed = half(WEIGHTED)
        changed[0, 0] = 7
        (graph,) = prepare_graphs([changed], repairs=Repairs(True, True), edge_attributes="w")
        assert list(graph.edges(data="w")) == [(0, 1, 0.5), (1, 2, -2.0)]
    star = np.zeros((3, 3))
    star[1, 0], star[2, 0] = 5, 6
    (graph,) = prepare_graphs([star], repairs=Repairs(undirected=True), edge_attributes="w")
    assert list(graph.edges(data="w")) == [(0, 1, 5.0), (0, 2, 6.0)]


def test_entries_of_a_sparse_matrix_that_are_given_twice_are_added_and_zeros_are_none():
    twice = scipy.sparse.coo_matrix(
        ([1, 1, 2, 0, 0], ([0, 0, 1, 1, 2], [1, 1, 0, 2, 1])), shape=(3, 3)
    )
    (graph,) = prepare_graphs([twice], edge_attributes="w")
    assert list(graph.edges(data="w")) == [(0, 1, 2)]
    assert twice.nnz == 5


@pytest.mark.parametrize("number", [255, 256, 600])
def test_large_matrices(number):
    graph = nx.cycle_graph(number)
    nx.set_edge_attributes(graph, {edge: k + 0.5 for k, edge in enumerate(graph.edges)}, "weight")
    (found,) = prepare_graphs([nx.to_numpy_array(graph)], edge_attributes=["weight"])
    assert nx.utils.graphs_equal(found, graph)


def test_a_batch_has_no_weights():
    batch = GraphBatch(torch.from_numpy(WEIGHTED)[None], torch.ones(1, 3, dtype=torch.bool))
    with pytest.raises(GraphDataError, match="non-binary weight"):
        prepare_graphs(batch, edge_attributes=["weight"])


def test_they_are_written(tmp_path):
    write_graphs(tmp_path / "g.json", [WEIGHTED])
    assert read_graphs(tmp_path / "g.json", edge_attributes="weight")[0].size("weight") == -1.5
    with pytest.raises(GraphDataError, match="non-binary weight"):
        write_graphs(tmp_path / "g.g6", [WEIGHTED])


def test_they_are_learned():
    generator = GraphGenerator(
        network={"blocks": 1, "pair_width": 4, "node_width": 4, "product_width": 4},
        training={"steps": 1, "batch_size": 2},
        sampling={"steps": 2},
        device="cpu",
        show_progress=False,
    )
    graphs = generator.fit([WEIGHTED] * 3, edge_weight="weight").sample(3, seed=1)
    weights = [data for graph in graphs for *_, data in graph.edges(data=True)]
    assert weights
    assert all(data.keys() == {"weight"} for data in weights)
    assert generator.evaluate([WEIGHTED], number=2, seed=1).sample_count == 2


def test_whole_entries_of_a_real_matrix_are_types():
    matrix = np.array([[0, 1.0, 2.0], [1.0, 0, 0], [2.0, 0, 0]])
    (graph,) = prepare_graphs([matrix], edge_attributes=["bond"])
    schema = Schema.of([graph], AttributeSettings(edge_type="bond"))
    assert schema.edge_type.values == (1, 2)


def test_sums_of_small_numbers_do_not_overflow():
    places = ([0, 0, 1, 1], [1, 1, 0, 0])
    matrix = scipy.sparse.coo_array(
        (np.array([200, 100, 200, 100], dtype=np.uint8), places), shape=(2, 2)
    )
    (graph,) = prepare_graphs([matrix], edge_attributes=["weight"])
    assert graph.edges[0, 1]["weight"] == 300
