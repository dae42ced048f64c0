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
        ({"edge_index": [[0, 1], [1, 0]], "edge_weight": [0.5, 0.5]}, "edge_weight"),
        ({"edge_index": [[0, 1], [1, 0]], "x": torch.zeros(5, 1)}, "x of shape"),
    ],
)
def test_refusals(fields, message):
    fields = {k: torch.as_tensor(v) for k, v in fields.items()}
    with pytest.raises(GraphDataError, match=message):
        GraphBatch.from_pyg([StandInData(num_nodes=2, **fields)])


def test_some_with_features_some_without():
    arcs = torch.tensor([[0, 1], [1, 0]])
    both = [StandInData(torch.ones(2, 1), arcs), StandInData(edge_index=arcs, num_nodes=2)]
    with pytest.raises(GraphDataError, match="all or none"):
        GraphBatch.from_pyg(both)
    with pytest.raises(GraphDataError, match="without num_nodes"):
        GraphBatch.from_pyg([StandInData(edge_index=arcs)])


def test_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    monkeypatch.setitem(sys.modules, "torch_geometric.data", None)
    with pytest.raises(MissingExtraError, match=r"graphscore\[pyg\]"):
        GraphBatch.from_networkx([nx.path_graph(2)]).to_pyg()
