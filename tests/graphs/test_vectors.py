"""Attributes that are vectors: learned as types or numbers, as a whole or one of their numbers."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest
import torch

from graphscore.errors import GraphDataError
from graphscore.graphs import AttributeSettings, GraphBatch, Schema, prepare_graphs
from graphscore.graphs.attributes import WIDEST, is_asked, value_of


def carrying(*vectors, edge=(0.5, 2.0)):
    graph = nx.path_graph(len(vectors))
    for node, vector in enumerate(vectors):
        graph.nodes[node]["x"] = vector
    nx.set_edge_attributes(graph, dict.fromkeys(graph.edges, edge), "w")
    return graph


def there_and_back(graph, **names):
    schema = Schema.of([graph], AttributeSettings(**names))
    assert Schema(**json.loads(schema.model_dump_json())) == schema
    assert schema.names == AttributeSettings(**names)
    batch = GraphBatch.from_networkx([graph], schema=schema)
    bare = nx.Graph()
    bare.add_nodes_from(graph)
    bare.add_edges_from(graph.edges())
    edges, nodes = batch.edge_entries, batch.node_entries
    schema.attach(
        bare,
        None if edges is None else edges[0].numpy().astype(float),
        None if nodes is None else nodes[0].numpy().astype(float),
    )
    return bare


@pytest.mark.parametrize("vector", [list, tuple, np.array, torch.tensor])
def test_one_hot_vectors_are_types(vector):
    graph = carrying(vector([1.0, 0.0]), vector([0.0, 1.0]), vector([1.0, 0.0]))
    schema = Schema.of([graph], AttributeSettings(node_type="x"))
    assert schema.node_type.values == ((0.0, 1.0), (1.0, 0.0))
    found = there_and_back(graph, node_type="x")
    assert [x for _, x in found.nodes(data="x")] == [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]


def test_whole_numbers_in_a_column_are_types():
    """As `Data.x` holds them."""
    found = there_and_back(carrying([7], [3], [7]), node_type="x")
    assert [x for _, x in found.nodes(data="x")] == [[7], [3], [7]]


def test_vectors_are_features_with_a_scale_for_each_number():
    graph = carrying([1.5, 4, 7], [2.5, 2, 7], [0.5, 1, 7])
    schema = Schema.of([graph], AttributeSettings(node_features=["x"]))
    assert [(scale.name, scale.column, scale.whole) for scale in schema.node_features] == [
        ("x", 0, False), ("x", 1, True), ("x", 2, True)
    ]  # fmt: skip
    found = there_and_back(graph, node_features=["x"])
    for node, x in found.nodes(data="x"):
        assert x == [pytest.approx(graph.nodes[node]["x"][0]), *graph.nodes[node]["x"][1:]]
    assert "x_1" in dict(schema.in_words())["node features"]


def test_one_number_of_a_vector_is_an_attribute_of_its_own():
    graph = carrying([1.5, 4], [2.5, 2])
    found = there_and_back(graph, node_features=["x_1"])
    assert list(found.nodes(data=True)) == [(0, {"x_1": 4}), (1, {"x_1": 2})]
    asked = prepare_graphs([graph], edge_attributes=["w_1"])
    assert list(asked[0].edges(data=True)) == [(0, 1, {"w_1": 2.0})]
    assert asked.ignored == []
    found = there_and_back(asked[0], edge_weight="w_1")
    assert found.edges[0, 1] == {"w_1": 2}
    graph.nodes[0]["x_1"] = graph.nodes[1]["x_1"] = 9  # an attribute of that name comes first
    found = there_and_back(graph, node_features=["x_1"])
    assert [x for _, x in found.nodes(data="x_1")] == [9, 9]


def test_a_weight_may_be_a_vector_of_one_number():
    graph = carrying([1], [2], edge=[1.25])
    assert there_and_back(graph, edge_weight="w").edges[0, 1] == {"w": [1.25]}


@pytest.mark.parametrize(
    ("vectors", "names", "words"),
    [
        ([[1, 2], [1]], {"node_features": ["x"]}, r"node 1: attribute 'x' is \(1,\), and \(1, 2\)"),
        ([[1, 2], 1], {"node_features": ["x"]}, r"node 1: attribute 'x' is 1, and \(1, 2\) elsewh"),
        ([1, [1]], {"node_features": ["x"]}, r"node 1: attribute 'x' is \(1,\), and 1 elsewhere"),
        ([[], []], {"node_features": ["x"]}, r"node 0: attribute 'x' is \(\)"),
        ([[1, "a"]], {"node_features": ["x"]}, "but a finite number, at most"),
        ([[1, [2]]], {"node_features": ["x"]}, "but a finite number, at most"),
        ([[1, float("nan")]], {"node_features": ["x"]}, "but a finite number, at most"),
        ([[1, 2], [1, 2]], {"node_features": ["x_2"]}, "node 0: no attribute 'x_2'.*here: 'x'"),
        ([[1], [2]], {"edge_weight": "w"}, "'w' has 2 numbers, but 1 is expected.* such as 'w_0'"),
        ([[0] * 1001], {"node_features": ["x"]}, "1001 numbers of each node, but at most 1000"),
        ([[0] * (WIDEST + 1)], {"node_type": "x"}, "or a vector of at most 200 whole numbers"),
        ([[]], {"node_type": "x"}, "or a vector of at most 200 whole numbers"),
        ([[1, "a"]], {"node_type": "x"}, "or a vector of at most 200 whole numbers"),
        ([[[1]]], {"node_type": "x"}, "or a vector of at most 200 whole numbers"),
        ([[1, 0.5]], {"node_type": "x"}, r"real numbers with --node-features x .*=\['x'\]"),
        ([[1], [2]], {"edge_type": "w"}, "real numbers with --edge-weight w_0 .*='w_0'"),
        ([[1], 1], {"node_type": "x"}, r"attribute 'x' is 1, and \(1,\) elsewhere"),
    ],
)
def test_what_is_refused_is_named(vectors, names, words):
    with pytest.raises(GraphDataError, match=words):
        Schema.of([carrying(*vectors)], AttributeSettings(**names))


def test_other_vectors_than_those_learned_are_refused():
    schema = Schema.of([carrying([1, 2], [3, 4])], AttributeSettings(node_features=["x"]))
    with pytest.raises(
        GraphDataError, match="node attribute 'x' has 3 numbers, but 2 are expected"
    ):
        GraphBatch.from_networkx([carrying([1, 2, 3], [1, 2, 3])], schema=schema)


@pytest.mark.parametrize("name", ["x_2", "x_", "x_-1", "x_a", "_0", "t_0", "n_0", "m_0", "x_99999"])
def test_names_of_no_number_of_a_vector(name):
    with pytest.raises(KeyError):
        value_of({"x": [1, 2], "t": "text", "n": 5, "m": {0: 1}, "": [1]}, name)


def test_a_vector_is_asked_for_by_its_name_or_one_of_its_numbers():
    assert is_asked("x", ["y", "x"])
    assert is_asked("x", ["x_0"])
    assert not is_asked("x", ["x_a", "y_0", "xx"])


def test_ignored_attributes_of_edges_are_noted():
    graph = carrying([1], [2])
    graphs = prepare_graphs([graph] * 2, edge_attributes=["v"])
    assert graphs.ignored == ["w"]
    assert prepare_graphs(graphs).ignored == ["w"]


def test_a_weight_of_a_matrix_may_be_a_vector_of_one_number():
    graph = carrying([1], [2], edge=[-2.0])
    schema = Schema.of([graph], AttributeSettings(edge_weight="w"), matrix=True)
    assert (schema.edge_weight.matrix, schema.edge_weight.column) == (True, 0)
    assert schema.edge_weight.in_words() == "w_0, root mean square 2"
    with pytest.raises(GraphDataError, match=r"edge \(0, 1\): attribute 'w' is \[0.0\], but in a"):
        Schema.of([carrying([1], [2], edge=[0.0])], AttributeSettings(edge_weight="w"), matrix=True)
    without = nx.empty_graph(2)
    with pytest.raises(GraphDataError, match="no graph has edges, so their attribute 'w'"):
        Schema.of([without], AttributeSettings(edge_weight="w"), matrix=True)


def test_graphs_without_edges_have_no_weights_to_learn_but_may_be_stacked():
    schema = Schema.of([carrying([1], [2], edge=0.5)], AttributeSettings(edge_weight="w"))
    assert not GraphBatch.from_networkx([nx.empty_graph(2)], schema=schema).edge_entries.any()
