"""prepare_graphs: what it accepts, what it refuses and in which words, what it repairs."""

from __future__ import annotations

import gc
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
import torch

from graphscore.errors import GraphDataError
from graphscore.graphs import GraphBatch, GraphList, Repairs, prepare_graphs
from graphscore.graphs.given import batch_candidates, candidate_of
from graphscore.graphs.validation import prepare_candidates


def weighted(weight):
    graph = nx.path_graph(3)
    graph.edges[0, 1]["weight"] = weight
    return graph


def matrix(*edges, n=3, value=1.0):
    result = np.zeros((n, n))
    for u, v in edges:
        result[u, v] = value
    return result


def test_labels_order_attributes_and_isolated_nodes_are_kept():
    graph = nx.Graph()
    graph.add_nodes_from([("z", {"x": [1.0]}), ("a", {"x": [2.0]}), (7, {"colour": "red"})])
    graph.add_edge("z", 7, weight=1.0, note="edge data goes")
    (clean,) = prepare_graphs([graph])
    assert list(clean.nodes(data=True)) == [
        (0, {"x": [1.0]}),
        (1, {"x": [2.0]}),
        (2, {"colour": "red"}),
    ]
    assert list(clean.edges(data=True)) == [(0, 2, {})]
    assert type(clean) is nx.Graph


def test_the_input_is_not_touched():
    graph = nx.Graph([(0, 0), (0, 1)])
    (clean,) = prepare_graphs([graph], repairs=Repairs(drop_self_loops=True))
    clean.add_edge(0, 5)
    clean.nodes[0]["new"] = 1
    assert sorted(graph.edges) == [(0, 0), (0, 1)]
    assert graph.nodes[0] == {}


@pytest.mark.parametrize(
    "graph",
    [
        nx.MultiGraph([("a", "b"), ("b", "c")]),
        matrix((0, 1), (1, 0), (1, 2), (2, 1)),
        matrix((0, 1), (1, 0), (1, 2), (2, 1)).astype(bool),
        matrix((0, 1), (1, 0), (1, 2), (2, 1)).astype(np.int8),
        torch.from_numpy(matrix((0, 1), (1, 0), (1, 2), (2, 1))).bfloat16(),
        torch.from_numpy(matrix((0, 1), (1, 0), (1, 2), (2, 1))).bool(),
        weighted(1),
        weighted(1.0),
        weighted(True),
        weighted(np.float32(1)),
        weighted(torch.tensor(1.0)),
        weighted(None),
    ],
)
def test_accepted_kinds(graph):
    result = prepare_graphs([graph])
    assert isinstance(result, GraphList)
    assert sorted(result[0].edges) == [(0, 1), (1, 2)]
    assert result.repaired == {}


def test_accepts_batches_stacks_and_iterators():
    graphs = [nx.path_graph(2), nx.path_graph(3)]
    batch = GraphBatch.from_networkx(graphs)
    batch = GraphBatch(batch.adj, batch.node_mask, batch.node_mask[..., None].float())
    for source in (batch, iter(graphs), batch.adj[1:], batch.adj[1:].numpy()):
        assert prepare_graphs(source)[-1].number_of_edges() == 2
    assert prepare_graphs(batch)[0].nodes[0]["x"] == [1.0]


UNDIRECTED = ["--undirected", "Repairs(undirected=True)"]
LOOPS = ["--drop-self-loops", "Repairs(drop_self_loops=True)"]


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        (nx.DiGraph([(0, 1)]), ["directed", "0 -> 1", *UNDIRECTED]),
        (nx.DiGraph([(0, 1), (1, 0)]), ["directed", *UNDIRECTED]),
        (nx.MultiGraph([("a", "b"), ("b", "a")]), ["parallel", "nx.Graph(g)"]),
        (nx.MultiDiGraph([(0, 1), (0, 1)]), ["parallel", "nx.Graph(g)"]),
        (nx.Graph([("a", "a")]), ["1 self-loop,", "node 'a'", *LOOPS]),
        (nx.Graph([(0, 0), (1, 1)]), ["2 self-loops", *LOOPS]),
        (nx.MultiGraph([(0, 0), (0, 0)]), ["2 self-loops", *LOOPS]),
        (nx.empty_graph(0), ["no nodes", "Remove"]),
        (weighted(0.5), ["non-binary weight 0.5", "0 - 1", "threshold"]),
        (weighted(0), ["non-binary weight 0"]),
        (weighted("1"), ["non-binary weight '1'"]),
        (weighted(np.ones(2)), ["non-binary weight"]),
        (weighted(float("nan")), ["NaN weight"]),
        (matrix((0, 1)), ["asymmetric", "0 -> 1", *UNDIRECTED]),
        (matrix((1, 1)), ["self-loop", "node 1", *LOOPS]),
        (
            matrix((0, 2), (2, 0), value=2),
            ["non-binary weight 2.0", "row 0, column 2", "threshold"],
        ),
        (matrix((0, 2), value=-1), ["non-binary weight -1.0"]),
        (matrix((1, 2), value=np.nan), ["NaN at row 1, column 2"]),
        (matrix((1, 2), value=np.inf), ["non-binary weight inf"]),
        (np.zeros((2, 3)), ["shape (2, 3)", "square"]),
        (np.zeros(3), ["shape (3,)", "square"]),
        (np.zeros((0, 0)), ["no nodes"]),
        (np.array([["0", "1"], ["1", "0"]]), ["type <U1", "astype"]),
        (torch.zeros(2, 2, dtype=torch.complex64), ["complex64"]),
        ("Bw", ["cannot read a str", "read_graphs"]),
    ],
)
def test_refusals_say_where_what_and_what_to_do(graph, words):
    with pytest.raises(GraphDataError) as caught:
        prepare_graphs([nx.path_graph(2), graph], source="train")
    message = str(caught.value)
    assert message.startswith("train, graph 2: ")
    for word in words:
        assert word in message


def test_too_many_nodes():
    with pytest.raises(GraphDataError) as caught:
        prepare_graphs([nx.path_graph(3), nx.path_graph(41)], max_nodes=20)
    for word in ("graph 2: 41 nodes", "at most 20", "--max-nodes 41", "max_nodes=41"):
        assert word in str(caught.value)
    assert len(prepare_graphs([nx.path_graph(20)], max_nodes=20)) == 1


@pytest.mark.parametrize("empty", [[], iter(()), np.zeros((0, 3, 3))])
def test_no_graphs(empty):
    with pytest.raises(GraphDataError, match="validation: no graphs"):
        prepare_graphs(empty, source="validation")


@pytest.mark.parametrize("wrong", [5, None, b"graph"])
def test_what_cannot_be_iterated_over_is_refused(wrong):
    with pytest.raises(GraphDataError, match=r"cannot read an object of type .* as graphs"):
        prepare_graphs(wrong)


@pytest.mark.parametrize("absent", [[(0, 2), (2, 0)], [(0, 2)], [(2, 0)], [(2, 2)]])
def test_a_batch_with_edges_at_absent_nodes_is_refused(absent):
    adj = torch.from_numpy(matrix((0, 1), (1, 0), *absent))[None]
    with pytest.raises(GraphDataError, match="graphs, graph 1: an edge at a node"):
        prepare_graphs(GraphBatch(adj, torch.tensor([[True, True, False]])))


def test_nodes_of_a_batch_are_numbered_without_the_absent_ones():
    """Their features stay with them."""
    adj = torch.from_numpy(matrix((1, 3), (3, 1), (3, 4), (4, 3), n=5))[None]
    mask = torch.tensor([[False, True, False, True, True]])
    (graph,) = prepare_graphs(GraphBatch(adj, mask, torch.arange(10.0).view(1, 5, 2)))
    assert list(graph.nodes(data="x")) == [(0, [2.0, 3.0]), (1, [6.0, 7.0]), (2, [8.0, 9.0])]
    assert list(graph.edges) == [(0, 1), (1, 2)]


@pytest.mark.parametrize("number", [1, 255, 256, 257, 600])
def test_large_matrices_are_read_like_small_ones(number):
    """They are looked at in blocks of rows."""
    graph = nx.cycle_graph(number) if number > 2 else nx.empty_graph(number)
    adj = nx.to_numpy_array(graph)
    (read,) = prepare_graphs([adj])
    assert nx.utils.graphs_equal(read, graph)
    adj[-1, 0] = 0.5
    with pytest.raises(GraphDataError, match=rf"weight 0\.5 at row {number - 1}, column 0"):
        prepare_graphs([adj])


@pytest.mark.parametrize("form", ["adj", "batch", "data"])
def test_a_graph_that_was_built_here_is_not_copied_again(form):
    """Only graphs of others are."""
    adj = matrix((0, 1), (1, 0), n=2)
    if form == "batch":
        batch = GraphBatch(torch.from_numpy(adj)[None], torch.ones(1, 2, dtype=torch.bool))
        (candidate,) = batch_candidates(batch, "g", Repairs())
    else:
        arcs = torch.tensor([[0, 1], [1, 0]])
        graph = adj if form == "adj" else SimpleNamespace(edge_index=arcs, num_nodes=2)
        candidate = candidate_of(graph, "g", Repairs())
    result = prepare_candidates([candidate], repairs=Repairs(), max_nodes=None, source="g")
    assert result[0] is candidate.graph
    foreign = candidate_of(candidate.graph, "g", Repairs())
    assert prepare_graphs([foreign.graph])[0] is not candidate.graph


def test_a_list_of_graphs_is_made_like_any_list():
    """It counts no repairs unless it is told some."""
    graphs = [nx.path_graph(2), nx.path_graph(3)]
    assert list(GraphList(iter(graphs))) == graphs
    assert GraphList(graphs).repaired == {}
    assert GraphList(graphs, {"made undirected": 2}).repaired == {"made undirected": 2}
    assert list(GraphList()) == []


def test_every_repair_counts_the_graphs_it_changed():
    graphs = [
        nx.path_graph(3),
        nx.DiGraph([(0, 1), (1, 0), (1, 2), (2, 2)]),
        nx.Graph([(0, 0), (0, 1)]),
        matrix((0, 1), n=2),
        nx.Graph([("a", "b"), ("c", "d"), ("d", "e")]),
    ]
    every = Repairs(drop_self_loops=True, undirected=True, largest_component=True)
    result = prepare_graphs(graphs, repairs=every)
    assert [sorted(g.edges) for g in result] == [
        [(0, 1), (1, 2)],
        [(0, 1), (1, 2)],
        [(0, 1)],
        [(0, 1)],
        [(0, 1), (1, 2)],
    ]
    assert result.repaired == {
        "made undirected": 2,
        "self-loops dropped": 2,
        "reduced to largest component": 1,
    }


def test_largest_component_keeps_attributes_and_takes_the_earliest_of_equals():
    graph = nx.Graph()
    graph.add_nodes_from((node, {"name": node}) for node in "abcde")
    graph.add_edges_from([("d", "b"), ("e", "c")])
    repaired = prepare_graphs([nx.path_graph(1), graph], repairs=Repairs(largest_component=True))
    assert repaired.repaired == {"reduced to largest component": 1}
    clean = repaired[1]
    assert [name for _, name in clean.nodes(data="name")] == ["b", "d"]


def test_size_is_judged_after_repair():
    graph = nx.disjoint_union(nx.path_graph(3), nx.path_graph(2))
    repairs = Repairs(largest_component=True)
    assert len(prepare_graphs([graph], repairs=repairs, max_nodes=3)[0]) == 3


def test_a_repair_does_not_mend_other_defects():
    with pytest.raises(GraphDataError, match="self-loop"):
        prepare_graphs([nx.DiGraph([(0, 0)])], repairs=Repairs(undirected=True))
    with pytest.raises(GraphDataError, match="parallel"):
        prepare_graphs([nx.MultiDiGraph([(0, 1), (0, 1)])], repairs=Repairs(undirected=True))


def test_garbage_collection_pauses_while_graphs_are_made():
    """It would visit all of them again and again."""
    enabled = []
    prepare_graphs(enabled.append(gc.isenabled()) or nx.path_graph(2) for _ in range(2))
    assert enabled == [False, False]


def test_garbage_collection_is_left_as_it_was():
    assert gc.isenabled()
    with pytest.raises(GraphDataError):
        prepare_graphs([nx.DiGraph([(0, 1)])])
    assert gc.isenabled()
    gc.disable()
    try:
        prepare_graphs([nx.path_graph(2)])
        assert not gc.isenabled()
    finally:
        gc.enable()
