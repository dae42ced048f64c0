"""Graphs in every form in which Python users have them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import torch
from tests.graphs.test_pyg import StandInData
from tests.tiny_generator import make

from graphscore import GraphGenerator, evaluate, load_dataset, write_graphs
from graphscore.errors import GraphDataError, GraphscoreWarning
from graphscore.graphs import prepare_graphs, read_graphs

PATH = nx.path_graph(3)
ADJ = nx.to_numpy_array(PATH)
ARCS = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


def data(**fields: Any) -> StandInData:
    return StandInData(edge_index=ARCS, num_nodes=3, **fields)


class StandInBatch(StandInData):
    """Like a Batch of PyTorch Geometric: one graph of all nodes, which can be taken apart."""

    def __init__(self, *parts: StandInData) -> None:
        super().__init__(edge_index=torch.zeros(2, 0).long(), num_nodes=3 * len(parts))
        self.parts = parts

    def to_data_list(self) -> list[StandInData]:
        return list(self.parts)


class StandInDataset:
    """Like an InMemoryDataset: it has the fields of Data, for all its graphs."""

    edge_index, num_nodes = torch.zeros(2, 0).long(), 9

    def __init__(self, number: int) -> None:
        self.number = number

    def __len__(self) -> int:
        return self.number

    len = __len__

    def get(self, index: int) -> StandInData:
        return data()

    def __getitem__(self, index: int) -> StandInData:
        return self.get(index)  # without IndexError at the end


class Table:
    """The little of a DataFrame that is needed."""

    def __init__(self, **columns: list[Any]) -> None:
        self.cells, self.columns = columns, list(columns)
        self.shape = len(next(iter(columns.values()))), len(columns)

    def __getitem__(self, name: str) -> list[Any]:
        return self.cells[name]


def table(source="source", target="target", **more: list[Any]) -> Table:
    return Table(**{source: [0, 1], target: [1, 2], **more})


FORMS = {
    "one graph": (PATH, 1),
    "a generator": ((PATH for _ in range(2)), 2),
    "an array of objects": (np.array([PATH, PATH, None], dtype=object)[:2], 2),
    "a matrix": (ADJ, 1),
    "matrices": (np.stack([ADJ] * 3), 3),
    "a list of stacks": ([ADJ, np.stack([ADJ] * 2)], 3),
    "a tensor": (torch.from_numpy(ADJ), 1),
    "tensors": (torch.from_numpy(np.stack([ADJ] * 2)), 2),
    "a sparse matrix": (scipy.sparse.csr_matrix(ADJ), 1),
    "sparse arrays": ([scipy.sparse.coo_array(ADJ)] * 2, 2),
    "data": (data(), 1),
    "a batch": (StandInBatch(data(), data()), 2),
    "a loader": (iter([StandInBatch(data(), data()), StandInBatch(data())]), 3),
    "a data set in memory": (StandInDataset(4), 4),
    "a list of edges": ([(0, 1), (1, 2)], 1),
    "both directions": ([(0, 1), (1, 2), (2, 1), (1, 0)], 1),
    "a view of edges": (nx.path_graph("abc").edges, 1),
    "a set of edges": ({(0, 1), (1, 2)}, 1),
    "numbers that are sorted": ([(9, 7), (5, 7)], 1),
    "lists of edges": ([[(0, 1), (1, 2)], [("a", "b"), ("b", "c")]], 2),
    "weights of 1": ([(0, 1, 1), (1, 2, 1.0)], 1),
    "a table": (table(), 1),
    "a table with other names": (table("From Node", "to_node"), 1),
    "a table of several": (table(graph=["a", "a"]), 1),
    "tables": ([table(), table()], 2),
    "different forms": ([PATH, ADJ, data(), [(0, 1), (1, 2)]], 4),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_graphs(form):
    given, number = FORMS[form]
    graphs = prepare_graphs(given)
    assert [sorted(graph.edges) for graph in graphs] == [[(0, 1), (1, 2)]] * number


REFUSED = {
    "nothing": ([], "no graphs"),
    "a dictionary": ({0: PATH}, r"type dict.*list\(graphs.values\(\)\).*networkx.Graph\(graphs\)"),
    "rows of numbers": ([[0, 1], [1, 0]], r"graph 1: cannot read a list.*tuples.*numpy.array"),
    "a list of tuples of tuples": ([((0, 0), (0, 1))], "graph 1: cannot read a tuple.*whole numbe"),
    "edges one by one": (iter([(0, 1)]), "looks like one edge.*as a list"),
    "real numbers as nodes": ([(0.0, 1.0)], "nodes are whole numbers or texts"),
    "an edge of four": ([(0, 1), (0, 1, 2, 3)], r"graph 1: \(0, 1, 2, 3\) as edge 2"),
    "an edge with a text": ([(0, 1, "x")], r"as edge 1.*with a weight"),
    "an edge twice": ([(0, 1), (1, 0), (1, 2)], "parallel edges between nodes 0 and 1"),
    "other attributes back": ([(0, 1, {"w": 1}), (1, 0, {"w": 2})], "in the other direction"),
    "no edges": ([[]], "graph 1: no nodes"),
    "edge_index": (torch.zeros(2, 5), r"shape \(2, 5\).*list of tuples"),
    "paths": (["a.g6", "b.g6"], "cannot read a str.*one path by itself"),
    "a missing file": ("absent.g6", "absent.g6: no such file"),
    "a batch in one object": ([data(batch=torch.tensor([0, 0, 1]))], "graph 1.*several graphs"),
    "a heterogeneous graph": (SimpleNamespace(to_homogeneous=print), r"to_homogeneous\(\)"),
    "no ends": (Table(a=[0], target=[1]), "columns 'a', 'target'.*rename"),
    "two pairs of ends": (table(u=[0, 1], v=[1, 2]), "one pair of columns"),
    "a missing cell": (Table(source=[0, float("nan")], target=[1, 2]), "row 2: nan where"),
    "a wrong second graph": ([ADJ, np.stack([ADJ, ADJ * 2])], "graph 3: non-binary weight"),
}


@pytest.mark.parametrize("form", REFUSED)
def test_what_is_ambiguous_or_wrong_is_refused(form):
    given, words = REFUSED[form]
    with pytest.raises(GraphDataError, match=words):
        prepare_graphs(given)


def test_a_batch_that_cannot_be_taken_apart():
    class ByHand(StandInBatch):
        def to_data_list(self):
            raise RuntimeError("not created via from_data_list")

    with pytest.raises(GraphDataError, match="not created via"):
        prepare_graphs(ByHand())


def test_attributes_of_edges_and_columns():
    (graph,) = prepare_graphs([(0, 1, {"bond": "a", "w": 2})], edge_attributes=["bond"])
    assert list(graph.edges(data=True)) == [(0, 1, {"bond": "a"})]
    (graph,) = prepare_graphs([(0, 1, 2.5)], edge_attributes=["weight"])
    assert graph.edges[0, 1] == {"weight": 2.5}
    given = table(graph=[7, 3], bond=["NaT", None], w=[0.5, float("nan")])
    graphs = prepare_graphs(given, edge_attributes=["bond", "w"])
    assert [dict(graph.edges[0, 1]) for graph in graphs] == [{"bond": "NaT", "w": 0.5}, {}]
    assert prepare_graphs(given).ignored == ["bond", "w"]


def test_a_path_is_read_with_what_is_asked_for(tmp_path):
    path = tmp_path / "g.json"
    graph = nx.Graph([(0, 1, {"weight": 2, "bond": "a", "w": [1, 2]})])
    write_graphs(path, [graph, graph])
    for given in (path, str(path)):
        (first, _) = prepare_graphs(given, edge_attributes=["bond"])
        assert first.edges[0, 1] == {"bond": "a"}
    with pytest.raises(GraphDataError, match="non-binary weight 2"):
        prepare_graphs(path)
    write_graphs(tmp_path / "again.json", path)  # nothing is lost
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


def test_splits_of_a_data_set():
    data_set = load_dataset("community-small")
    for split, number in ((None, 100), ("train", 80), ("test", 20)):
        assert len(prepare_graphs(data_set, split=split)) == number


def test_evaluate_takes_the_same(tmp_path):
    graphs = [nx.path_graph(4), nx.cycle_graph(5)]
    write_graphs(tmp_path / "g.g6", graphs)
    expected = evaluate(graphs, graphs, training=graphs)
    batch = [nx.to_numpy_array(graph) for graph in graphs]
    found = evaluate(iter(batch), tmp_path / "g.g6", training=(sorted(g.edges) for g in graphs))
    assert found.distances == expected.distances
    assert (found.uniqueness, found.novelty) == (expected.uniqueness, expected.novelty)
    weighted = [nx.Graph([(0, 1, {"weight": 3})])]
    assert evaluate(iter(weighted), weighted).average == 0  # weights that are not compared
    data_set = load_dataset("community-small")
    result = evaluate(data_set.val, data_set, training=data_set)
    assert (result.reference_count, result.training_count) == (20, 80)


def test_written_from_any_form(tmp_path):
    write_graphs(tmp_path / "g.g6", np.stack([ADJ] * 2))
    assert len(read_graphs(tmp_path / "g.g6")) == 2


def test_pandas_and_pytorch_geometric():
    """The packages themselves, where they are installed."""
    geometric = pytest.importorskip("torch_geometric")
    loader = pytest.importorskip("torch_geometric.loader")
    pandas = pytest.importorskip("pandas")
    graphs = [geometric.data.Data(edge_index=ARCS, num_nodes=3) for _ in range(5)]
    assert len(prepare_graphs(loader.DataLoader(graphs, batch_size=2))) == 5
    assert len(prepare_graphs(geometric.data.Batch.from_data_list(graphs))) == 5
    assert len(prepare_graphs(pandas.DataFrame({"source": [0, 1], "target": [1, 2]}))) == 1


def test_a_data_set_is_trained_on_and_evaluated_by_its_splits():
    data_set = load_dataset("community-small")
    with pytest.warns(GraphscoreWarning, match="learns from the 80 training graphs"):
        generator = GraphGenerator("erdos-renyi", show_progress=False).fit(data_set)
    assert sum(generator.sizes.counts.values()) == 80
    assert generator.evaluate(data_set, number=2).reference_count == 20


def test_evaluate_of_a_generator_takes_matrices_with_the_learned_name():
    weighted = np.where(ADJ > 0, 2.5, 0)
    generator = make().fit([weighted] * 4, edge_weight="w")
    assert "edge_weights" in generator.evaluate([weighted] * 2, number=2).attribute_distances
