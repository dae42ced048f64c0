"""GraphBatch: shapes, selection, padding, relabelling, conversion."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch

from graphscore.errors import GraphDataError
from graphscore.graphs import NO_CONDITION, GraphBatch


def edge_sets(graphs):
    return [(len(g), {frozenset(edge) for edge in g.edges}) for g in graphs]


@pytest.fixture
def featured():
    graphs = [nx.path_graph(3), nx.cycle_graph(5), nx.empty_graph(1)]
    for graph in graphs:
        for node in graph:
            graph.nodes[node]["x"] = [float(node), float(graph.degree[node])]
    batch = GraphBatch.from_networkx(graphs, node_feat="x")
    numbers = torch.tensor([[0, 0, 1, 0, 0], [2, 1, 2, 1, 2], [4, 0, 0, 0, 0]])
    return replace(batch, communities=numbers)


def test_shapes_symmetry_and_padding(featured):
    assert featured.adj.shape == (3, 5, 5)
    assert featured.node_feat.shape == (3, 5, 2)
    assert featured.sizes.tolist() == [3, 5, 1]
    assert torch.equal(featured.adj, featured.adj.mT)
    assert not featured.adj[~featured.pair_mask].any()
    assert not featured.node_feat[~featured.node_mask].any()


def test_state_and_condition_are_its_tensors(featured):
    state, condition = featured.state, featured.condition
    assert state.edges is featured.adj
    assert state.node_mask is featured.node_mask
    assert state.nodes is None
    assert condition.node_feat is featured.node_feat
    assert condition.communities is featured.communities
    bare = GraphBatch(featured.adj, featured.node_mask).condition
    assert bare == NO_CONDITION


def test_a_subclass_stays_one():
    """So that it may have another state, with entries of nodes for instance."""

    class Other(GraphBatch):
        pass

    batch = Other(torch.zeros(2, 3, 3), torch.ones(2, 3, dtype=torch.bool))
    for made in (
        batch[:1],
        batch.padded(5),
        batch.narrowed(2),
        batch.to(dtype=torch.float64),
        batch.permuted(torch.tensor([2, 0, 1])),
    ):
        assert type(made) is Other


@pytest.mark.parametrize(
    ("index", "sizes"),
    [
        (slice(1, None), [5, 1]),
        ([2, 0], [1, 3]),
        ([], []),
        (torch.tensor([1, 1]), [5, 5]),
        (torch.tensor([True, False, True]), [3, 1]),
    ],
)
def test_selection_keeps_padding(featured, index, sizes):
    part = featured[index]
    assert part.sizes.tolist() == sizes
    assert part.max_nodes == 5
    assert part.node_feat.shape == (len(sizes), 5, 2)
    assert part.communities.shape == (len(sizes), 5)


def test_trim_undoes_pad(featured):
    wide = featured.padded(9)
    assert wide.max_nodes == 9
    assert wide.sizes.tolist() == featured.sizes.tolist()
    back = wide.trimmed()
    assert torch.equal(back.adj, featured.adj)
    assert torch.equal(back.node_feat, featured.node_feat)
    assert torch.equal(back.communities, featured.communities)
    narrow = featured[[0, 2]].narrowed(3)
    assert narrow.max_nodes == 3
    assert narrow.communities.tolist() == [[0, 0, 1], [4, 0, 0]]
    with pytest.raises(GraphDataError, match="cannot pad to 2 nodes: the batch already has 5"):
        featured.padded(2)


def test_trim_keeps_isolated_last_node():
    graph = nx.empty_graph(4)
    assert GraphBatch.from_networkx([graph]).padded(6).trimmed().max_nodes == 4


def test_a_batch_without_nodes_is_trimmed_to_no_width():
    """There is nothing to keep."""
    batch = GraphBatch(torch.zeros(2, 3, 3), torch.zeros(2, 3, dtype=torch.bool))
    assert batch.trimmed().adj.shape == (2, 0, 0)


def test_a_batch_may_be_padded_to_the_width_it_has(featured):
    """One place less would cut a graph off."""
    assert torch.equal(featured.padded(5).adj, featured.adj)
    with pytest.raises(GraphDataError, match="cannot pad to 4 nodes"):
        featured.padded(4)


@pytest.mark.parametrize("per_graph", [False, True])
def test_permutation_is_an_isomorphism(featured, per_graph):
    generator = torch.Generator().manual_seed(0)
    shape = (3,) if per_graph else ()
    perm = torch.rand(*shape, 5, generator=generator).argsort(-1)
    moved = featured.permuted(perm)
    rows = perm.expand(3, 5)
    for b in range(3):
        for i in range(5):
            assert torch.equal(moved.node_feat[b, i], featured.node_feat[b, rows[b, i]])
            assert moved.communities[b, i] == featured.communities[b, rows[b, i]]
            for j in range(5):
                assert moved.adj[b, i, j] == featured.adj[b, rows[b, i], rows[b, j]]
    undone = moved.permuted(perm.argsort(-1))
    assert torch.equal(undone.adj, featured.adj)
    assert torch.equal(undone.node_mask, featured.node_mask)


def test_to_networkx_takes_nodes_anywhere_in_the_row(featured):
    graph = featured[[0]].permuted(torch.tensor([3, 4, 0, 1, 2])).to_networkx()[0]
    assert edge_sets([graph]) == [(3, {frozenset({0, 1}), frozenset({1, 2})})]
    assert graph.nodes[2]["x"] == [2.0, 1.0]


def test_concatenate(featured):
    both = GraphBatch.concatenate([featured[[2]].trimmed(), featured])
    assert both.sizes.tolist() == [1, 3, 5, 1]
    assert both.communities[:, 0].tolist() == [4, 0, 2, 4]
    with pytest.raises(GraphDataError, match="at least one"):
        GraphBatch.concatenate([])
    bare = GraphBatch(featured.adj, featured.node_mask)
    twice = GraphBatch.concatenate([bare, bare])
    assert torch.equal(twice.adj, torch.cat([featured.adj] * 2))
    assert twice.node_feat is twice.communities is None
    for other in (bare, replace(featured, communities=None), replace(featured, node_feat=None)):
        for batches in ([other, featured], [featured, other]):
            with pytest.raises(GraphDataError, match="all or none"):
                GraphBatch.concatenate(batches)


def test_device_and_type(featured):
    double = featured.to("cpu", torch.float64)
    assert double.adj.dtype == double.node_feat.dtype == torch.float64
    assert double.node_mask.dtype == torch.bool
    assert double.communities.dtype == torch.int64
    assert featured.to("meta").adj.device.type == "meta"
    wanted = GraphBatch.from_networkx([nx.path_graph(2)], dtype=torch.float64)
    assert wanted.adj.dtype == torch.float64


@pytest.mark.parametrize(
    ("adj", "mask", "feat", "message"),
    [
        (torch.zeros(2, 3), torch.ones(2, 3).bool(), None, r"\(B,N,N\)"),
        (torch.zeros(1, 3, 2), torch.ones(1, 3).bool(), None, r"\(B,N,N\)"),
        (torch.zeros(1, 3, 3), torch.ones(1, 3), None, "boolean"),
        (torch.zeros(1, 3, 3), torch.ones(1, 2).bool(), None, "node_mask"),
        (torch.zeros(1, 3, 3), torch.ones(1, 3).bool(), torch.zeros(1, 2, 1), "node_feat"),
        (torch.zeros(1, 3, 3), torch.ones(1, 3).bool(), torch.zeros(1, 3), "node_feat"),
        (torch.zeros(1, 3, 3), torch.ones(1, 3).bool(), torch.zeros(1, 3, 1, 1), "node_feat"),
        (torch.zeros(1, 3, 3), torch.ones(2, 3).bool(), None, "node_mask"),
    ],
)
def test_shapes_that_do_not_fit(adj, mask, feat, message):
    with pytest.raises(GraphDataError, match=message):
        GraphBatch(adj, mask, feat)


def test_communities_that_do_not_fit():
    with pytest.raises(GraphDataError, match=r"communities must have shape \(1, 3\)"):
        GraphBatch(torch.zeros(1, 3, 3), torch.ones(1, 3).bool(), communities=torch.zeros(1, 4))


def test_networkx_round_trip(assorted):
    batch = GraphBatch.from_networkx(assorted, max_nodes=80)
    assert batch.max_nodes == 80
    assert edge_sets(batch.to_networkx()) == edge_sets(assorted)


def test_from_networkx_follows_node_order():
    graph = nx.Graph()
    graph.add_nodes_from(["c", "a", "b"])
    graph.add_edge("a", "b")
    assert GraphBatch.from_networkx([graph]).adj[0].tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0]]


def test_from_networkx_refusals():
    with pytest.raises(GraphDataError, match="no graphs"):
        GraphBatch.from_networkx([])
    with pytest.raises(GraphDataError, match=r"graph 2: 5 nodes, but the batch is 4 wide.*5"):
        GraphBatch.from_networkx([nx.path_graph(4), nx.path_graph(5)], max_nodes=4)
    with pytest.raises(GraphDataError, match="graph 1: directed"):
        GraphBatch.from_networkx([nx.DiGraph([(0, 1)])])
    with pytest.raises(GraphDataError, match="graph 1: 1 self-loop"):
        GraphBatch.from_networkx([nx.Graph([(0, 0)])])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1.0], None], "node 1: no attribute 'x'"),
        ([[1.0], [1.0, 2.0]], "node 1: attribute 'x' has shape \\(2,\\), but length 1"),
        ([[[1.0]], [[1.0]]], "node 0: attribute 'x' has shape \\(1, 1\\), but a vector"),
        (["a", "b"], "no vector of numbers"),
        ([[1.0], 10**400], "node 1: attribute 'x' is no vector of numbers"),
        ([[1.0], [torch.ones(1, requires_grad=True)] * 2], "node 1: attribute 'x' is no vector"),
        ([[1.0], "nan"], "node 1: attribute 'x' holds NaN or infinity"),
        ([[1.0], [float("nan")]], "node 1: attribute 'x' holds NaN or infinity"),
        ([[1.0, float("inf")], [1.0, 1.0]], "node 0: attribute 'x' holds NaN or infinity"),
        ([[1.0, 2.0], [1.0]], "node 1: attribute 'x' has shape \\(1,\\), but length 2"),
    ],
)
def test_bad_features(values, message):
    graph = nx.path_graph(2)
    for node, value in enumerate(values):
        if value is not None:
            graph.nodes[node]["x"] = value
    with pytest.raises(GraphDataError, match=message):
        GraphBatch.from_networkx([graph], node_feat="x")


def test_features_may_be_tensors():
    graph = nx.empty_graph(2)
    graph.nodes[0]["x"] = torch.tensor([1.0, 2.0], requires_grad=True)
    graph.nodes[1]["x"] = torch.tensor([3.0, 4.0], dtype=torch.bfloat16)
    batch = GraphBatch.from_networkx([graph], node_feat="x")
    assert batch.node_feat.tolist() == [[[1.0, 2.0], [3.0, 4.0]]]


def test_a_feature_that_is_none_is_no_number():
    graph = nx.empty_graph(1)
    graph.nodes[0]["x"] = None
    with pytest.raises(GraphDataError, match=r"attribute 'x' is no vector of numbers \(None\)"):
        GraphBatch.from_networkx([graph], node_feat="x")


def test_scalar_features_count_as_length_one():
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, {0: 3, 1: np.int64(4)}, "label")
    batch = GraphBatch.from_networkx([graph], node_feat="label")
    assert batch.node_feat.tolist() == [[[3.0], [4.0]]]


def test_features_of_graphs_without_nodes_have_no_width():
    """No node says how long its vector is."""
    batch = GraphBatch.from_networkx([nx.empty_graph(0)], max_nodes=2, node_feat="x")
    assert batch.node_feat.shape == (1, 2, 0)


@pytest.mark.parametrize(
    ("value", "message"),
    [(0.5, "(?i)quantise"), (float("nan"), "(?i)quantise"), (-1.0, "(?i)quantise")],
)
def test_to_networkx_refuses_values_between(featured, value, message):
    adj = featured.adj.clone()
    adj[1, 0, 2] = adj[1, 2, 0] = value
    with pytest.raises(GraphDataError, match=message) as caught:
        GraphBatch(adj, featured.node_mask).to_networkx()
    assert "graph 2" in str(caught.value)


def test_to_networkx_refuses_padding_edges_and_asymmetry(featured):
    adj = featured.adj.clone()
    adj[0, 0, 4] = adj[0, 4, 0] = 1
    with pytest.raises(GraphDataError, match=r"graph 1.*absent"):
        GraphBatch(adj, featured.node_mask).to_networkx()
    adj = featured.adj.clone()
    adj[1, 0, 2] = 1
    with pytest.raises(GraphDataError, match=r"graph 2.*asymmetric"):
        GraphBatch(adj, featured.node_mask).to_networkx()


def test_a_single_index_is_refused_with_the_way_out():
    batch = GraphBatch(torch.zeros(2, 3, 3), torch.ones(2, 3, dtype=torch.bool))
    with pytest.raises(GraphDataError, match=r"batch\[1:2\]"):
        batch[1]
