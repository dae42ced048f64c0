"""PyTorch Geometric data, with a stand-in for the package where it is not installed."""

from __future__ import annotations

import sys
import types
from typing import Any

import networkx as nx
import pytest
import torch

from graphscore.errors import GraphDataError, MissingExtraError
from graphscore.graphs import GraphBatch, prepare_graphs


class StandInData:
    """The few fields of torch_geometric.data.Data that the library touches."""

    def __init__(self, x: Any = None, edge_index: Any = None, **fields: Any) -> None:
        self.x, self.edge_index = x, edge_index
        self.num_nodes = None if x is None else len(x)
        self.__dict__.update(fields)


@pytest.fixture
def data_class(monkeypatch):
    try:
        from torch_geometric.data import Data

        return Data
    except ImportError:
        package, module = types.ModuleType("torch_geometric"), types.ModuleType("data")
        module.Data = StandInData
        package.data = module
        monkeypatch.setitem(sys.modules, "torch_geometric", package)
        monkeypatch.setitem(sys.modules, "torch_geometric.data", module)
        return StandInData


def test_round_trip(data_class):
    graphs = [nx.path_graph(3), nx.empty_graph(2), nx.complete_graph(4)]
    batch = GraphBatch.from_networkx(graphs)
    batch = GraphBatch(batch.adj, batch.node_mask, batch.node_mask[..., None] * 2.5)
    data = batch.to_pyg()
    assert [d.num_nodes for d in data] == [3, 2, 4]
    assert [tuple(d.edge_index.shape) for d in data] == [(2, 4), (2, 0), (2, 12)]
    back = GraphBatch.from_pyg(data, max_nodes=6)
    assert torch.equal(back.trimmed().adj, batch.adj)
    assert torch.equal(back.trimmed().node_feat, batch.node_feat)


def test_without_features(data_class):
    data = [data_class(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=3)]
    batch = GraphBatch.from_pyg(data)
    assert batch.node_feat is None
    assert batch.sizes.tolist() == [3]
    assert prepare_graphs(data)[0].number_of_nodes() == 3


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"edge_index": [[0], [1]]}, "graph 1: directed.*no reverse"),
        ({"edge_index": [[0, 1, 0, 1], [1, 0, 1, 0]]}, "parallel"),
        ({"edge_index": [[0, 0, 1], [0, 1, 0]]}, "self-loop"),
        ({"edge_index": [[0, 7], [7, 0]]}, "nodes 0 and 7.*2 nodes"),
        ({"edge_index": [[0.0], [1.0]]}, "integers of shape"),
        ({"edge_index": [0, 1]}, r"shape \(2,\), but integers of shape"),
        ({"edge_index": [[0, 1]] * 3}, r"shape \(3, 2\), but integers of shape"),
        ({"edge_index": [[True], [False]]}, "type bool .* but integers of shape"),
        ({"edge_index": [[0, 1], [1, 0]], "edge_weight": [0.5, 0.5]}, "edge_weight"),
        ({"edge_index": [[0, 1], [1, 0]], "edge_weight": [1, 2]}, "edge_weight"),
        ({"edge_index": [[0, 1], [1, 0]], "x": torch.zeros(5, 1)}, r"x of shape \(5, 1\)"),
        ({"edge_index": [[0, 1], [1, 0]], "x": torch.zeros(1)}, r"x of shape \(1, 1\)"),
        ({"edge_index": [[0, 1], [1, 0]], "x": torch.zeros(2, 1, 1)}, r"x of shape \(2, 1, 1\)"),
    ],
)
def test_refusals(fields, message):
    fields = {k: torch.as_tensor(v) for k, v in fields.items()}
    with pytest.raises(GraphDataError, match=message):
        GraphBatch.from_pyg([StandInData(num_nodes=2, **fields)])


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8])
def test_edges_are_integers_of_any_width_and_weigh_1(dtype):
    """The weights of the reader are all 1, which says no more than the edges."""
    arcs = torch.tensor([[0, 2, 1, 2], [2, 0, 2, 1]], dtype=dtype)
    (graph,) = prepare_graphs([StandInData(edge_index=arcs, num_nodes=3, edge_weight=[1.0] * 4)])
    assert list(graph.edges) == [(0, 2), (1, 2)]


def test_a_feature_per_node_may_be_a_plain_number():
    """A vector of N numbers is N vectors of one."""
    arcs = torch.tensor([[0, 1], [1, 0]])
    (graph,) = prepare_graphs([StandInData(torch.tensor([0.5, 2.0]), arcs)])
    assert [x for _, x in graph.nodes(data="x")] == [[0.5], [2.0]]


def test_one_data_object_is_no_list_of_graphs():
    """One of the package can be iterated over, which gives its fields."""

    class Iterable(StandInData):
        def __iter__(self):
            return iter(["x", "edge_index"])

    with pytest.raises(GraphDataError, match=r"got one Iterable. Put .* in a list: \[graph\]"):
        prepare_graphs(Iterable(edge_index=torch.zeros(2, 0), num_nodes=1))


@pytest.mark.parametrize("fields", [{"edge_index": torch.zeros(2, 0)}, {"num_nodes": 3}])
def test_an_object_with_one_of_the_fields_is_no_graph(fields):
    """Another library may use either name."""
    with pytest.raises(GraphDataError, match="graph 1: cannot read a SimpleNamespace as a graph"):
        prepare_graphs([types.SimpleNamespace(**fields)])


def test_some_with_features_some_without():
    arcs = torch.tensor([[0, 1], [1, 0]])
    both = [StandInData(torch.ones(2, 1), arcs), StandInData(edge_index=arcs, num_nodes=2)]
    with pytest.raises(GraphDataError, match="all or none"):
        GraphBatch.from_pyg(both)
    for incomplete in (StandInData(edge_index=arcs), StandInData(num_nodes=2)):
        with pytest.raises(GraphDataError, match="without num_nodes or edge_index"):
            GraphBatch.from_pyg([incomplete])


def test_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    monkeypatch.setitem(sys.modules, "torch_geometric.data", None)
    with pytest.raises(MissingExtraError, match=r"graphscore\[pyg\]"):
        GraphBatch.from_networkx([nx.path_graph(2)]).to_pyg()
