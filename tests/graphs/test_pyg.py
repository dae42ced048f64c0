"""PyTorch Geometric data, with a stand-in for the package where it is not installed."""

from __future__ import annotations

import sys
import types
from typing import Any

import networkx as nx
import pytest
import torch

from graphscore import GraphGenerator
from graphscore.errors import GraphDataError, MissingExtraError
from graphscore.graphs import GraphBatch, prepare_graphs, to_pyg


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


def test_one_data_object_is_one_graph():
    """One of the package can be iterated over, which gives its fields."""

    class Iterable(StandInData):
        def __iter__(self):
            return iter(["x", "edge_index"])

    (graph,) = prepare_graphs(Iterable(edge_index=torch.zeros(2, 0).long(), num_nodes=3))
    assert len(graph) == 3


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


ARCS = torch.tensor([[0, 1, 2, 1], [1, 0, 1, 2]])


def path_of(**fields):
    """A path of three nodes; edges 0-1, 1-0, 2-1 and 1-2."""
    return StandInData(edge_index=ARCS, num_nodes=3, **fields)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (torch.tensor([5, 5, 6, 6]), [5, 6]),
        (torch.tensor([0.5, 0.5, 2, 2]), [0.5, 2.0]),
        (torch.tensor([0.5, 0.5, 2, 2]).bfloat16(), [0.5, 2.0]),
        (torch.tensor([[1], [1], [0], [0]]), [[1], [0]]),
        (torch.tensor([[1, 0.0], [1, 0], [0, 1], [0, 1]]), [[1.0, 0.0], [0.0, 1.0]]),
        (["single", "single", "double", "double"], ["single", "double"]),
    ],
)
def test_fields_of_edges_are_kept_if_they_are_asked_for(values, expected):
    data = path_of(edge_attr=values)
    (graph,) = prepare_graphs([data], edge_attributes=["edge_attr"])
    assert [value for *_, value in graph.edges(data="edge_attr")] == expected
    (graph,) = prepare_graphs([data], edge_attributes=None)
    assert [value for *_, value in graph.edges(data="edge_attr")] == expected
    bare = prepare_graphs([data])
    assert list(bare[0].edges(data=True)) == [(0, 1, {}), (1, 2, {})]
    assert bare.ignored == ["edge_attr"]


def test_edges_may_come_in_any_order():
    arcs = torch.tensor([[2, 1, 0, 1], [1, 0, 1, 2]])
    data = StandInData(edge_index=arcs, num_nodes=3, edge_attr=torch.tensor([7, 5, 5, 7]))
    (graph,) = prepare_graphs([data], edge_attributes=["edge_attr"])
    assert list(graph.edges(data="edge_attr")) == [(0, 1, 5), (1, 2, 7)]


def test_one_column_of_a_field_is_an_attribute_of_its_own():
    data = path_of(edge_attr=torch.tensor([[1, 0.5], [1, 0.5], [0, 2], [0, 2]]))
    graphs = prepare_graphs([data], edge_attributes=["edge_attr_1"])
    assert list(graphs[0].edges(data=True)) == [
        (0, 1, {"edge_attr_1": 0.5}), (1, 2, {"edge_attr_1": 2.0})
    ]  # fmt: skip
    assert graphs.ignored == []
    alone = prepare_graphs([path_of(edge_attr=torch.ones(4))], edge_attributes=["edge_attr_1"])
    assert list(alone[0].edges(data=True)) == [(0, 1, {}), (1, 2, {})]


def test_weights_of_edges_may_be_asked_for():
    data = path_of(edge_weight=torch.tensor([1.0, 1.0, 2.0, 2.0]))
    with pytest.raises(GraphDataError, match=r"non-binary weights.*edge_weight='edge_weight'"):
        prepare_graphs([data])
    for asked in ("edge_weight", None):
        (graph,) = prepare_graphs([data], edge_attributes=asked)
        assert [w for *_, w in graph.edges(data="edge_weight")] == [1.0, 2.0]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            torch.tensor([1, 2, 3, 3]),
            "graph 1: the edge between nodes 0 and 1 has other attributes",
        ),
        (
            torch.tensor([[1, 1], [1, 1], [2, 2], [2, 3]]),
            "the edge between nodes 1 and 2 has other",
        ),
        (torch.ones(3), r"edge_attr of shape \(3,\), but \(4,\) or \(4, D\) is expected"),
        (torch.ones(4, 1, 1), r"edge_attr of shape \(4, 1, 1\), but"),
        (torch.tensor(1.0), r"edge_attr of shape \(\), but"),
        (torch.full((4,), torch.nan), "attribute 'edge_attr' holds NaN or infinity"),
    ],
)
def test_fields_of_edges_that_do_not_fit(values, words):
    with pytest.raises(GraphDataError, match=words):
        prepare_graphs([path_of(edge_attr=values)], edge_attributes=["edge_attr"])


def test_other_fields_of_nodes_are_attributes_too():
    """Those that the package calls so; what has more than two axes is left out."""
    data = path_of(
        x=torch.ones(3, 2),
        z=torch.tensor([6, 7, 8]),
        pos=torch.zeros(3, 3),
        cube=torch.ones(3, 1, 1),
    )
    data.node_attrs = lambda: ["x", "z", "pos", "cube"]
    data.edge_attrs = lambda: ["edge_index"]
    (graph,) = prepare_graphs([data], edge_attributes=None)
    assert graph.nodes[1] == {"x": [1.0, 1.0], "z": 7, "pos": [0.0, 0.0, 0.0]}


def test_generated_graphs_become_data(data_class):
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: [1, 0], 1: [0, 1], 2: [1, 0]}, "x")
    nx.set_node_attributes(graph, {0: "C", 1: "N", 2: "O"}, "element")
    nx.set_node_attributes(graph, 7, "label")
    nx.set_edge_attributes(graph, {(0, 1): 0.5, (1, 2): 2.0}, "edge_attr")
    nx.set_edge_attributes(graph, {(0, 1): True, (1, 2): False}, "label")
    single = nx.empty_graph(1)
    single.nodes[0].update(graph.nodes[0])
    first, second = to_pyg([graph, single])
    assert first.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert (first.x.tolist(), first.x.dtype) == ([[1, 0], [0, 1], [1, 0]], torch.int64)
    assert (first.element, second.element) == (["C", "N", "O"], ["C"])
    assert (first.label.tolist(), second.label.tolist()) == ([7, 7, 7], [7])
    assert (first.edge_attr.tolist(), first.edge_attr.dtype) == ([0.5, 0.5, 2, 2], torch.float32)
    assert first.edge_label.tolist() == [True, True, False, False]
    assert (second.edge_attr.shape, second.edge_attr.dtype) == ((0,), torch.float32)
    assert [data.num_nodes for data in (first, second)] == [3, 1]
    back = prepare_graphs([first, second], edge_attributes=["edge_attr"])
    assert list(back[0].edges(data=True)) == [(0, 1, {"edge_attr": 0.5}), (1, 2, {"edge_attr": 2})]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1], "some nodes have an attribute 'a' and some have none"),
        ([1, "a"], "attribute 'a' of nodes makes no tensor"),
        ([[1], [1, 2]], "attribute 'a' of nodes makes no tensor"),
        ([None, None], "attribute 'a' of nodes makes no tensor"),
    ],
)
def test_what_makes_no_tensor_is_refused(data_class, values, words):
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, dict(enumerate(values)), "a")
    with pytest.raises(GraphDataError, match=words):
        to_pyg([graph])
    with pytest.raises(GraphDataError, match="the field 'num_nodes' of Data"):
        to_pyg([nx.Graph([(0, 1, {"num_nodes": 1})])])


def test_data_is_learned_and_generated(data_class):
    data = [
        path_of(
            x=torch.tensor([[1.0, 0], [0, 1], [1, 0]]),
            edge_attr=torch.tensor([[1], [1], [0], [0]]),
            edge_weight=torch.tensor([1.5, 1.5, 2.5, 2.5]),
        )
    ] * 3
    generator = GraphGenerator(
        network={"blocks": 1, "pair_width": 4, "node_width": 4, "product_width": 4},
        training={"steps": 1, "batch_size": 2},
        sampling={"steps": 2},
        device="cpu",
        show_progress=False,
    )
    generator.fit(data, node_type="x", edge_type="edge_attr", edge_weight="edge_weight")
    found = to_pyg(generator.sample(4, seed=1))
    assert {tuple(row) for each in found for row in each.x.tolist()} <= {(1.0, 0.0), (0.0, 1.0)}
    for each in found:
        assert each.edge_attr.shape == (each.edge_index.shape[1], 1)
        assert each.edge_weight.shape == (each.edge_index.shape[1],)
