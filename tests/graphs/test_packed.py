"""PackedGraphs are the networkx graphs that they were packed from, in every way of reading them."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphscore.errors import GraphDataError
from graphscore.graphs import (
    AttributeSettings,
    GraphBatch,
    GraphList,
    PackedGraphs,
    Repairs,
    Schema,
    prepare_graphs,
    sizes_of,
)

NAMES = AttributeSettings(node_type="element", edge_type="bond")
ELEMENTS, BONDS = ("C", "N+", "ä"), (1, 2, 3)


@st.composite
def typed_graphs(draw: st.DrawFn) -> list[nx.Graph[Any]]:
    graphs = []
    for size in draw(st.lists(st.integers(1, 6), min_size=1, max_size=6)):
        graph: nx.Graph[Any] = nx.Graph()
        for node in range(size):
            graph.add_node(node, element=draw(st.sampled_from(ELEMENTS)))
        pairs = [(i, j) for j in range(size) for i in range(j)]
        for pair in draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []:
            graph.add_edge(*pair, bond=draw(st.sampled_from(BONDS)))
        graphs.append(graph)
    return graphs


def packed(graphs: list[nx.Graph[Any]]) -> PackedGraphs:
    return PackedGraphs.of(graphs, ["element"], ["bond"])


def contents(graphs: Any) -> list[Any]:
    return [
        (
            list(graph.nodes(data=True)),
            sorted((min(u, v), max(u, v), data) for u, v, data in graph.edges(data=True)),
        )
        for graph in graphs
    ]


@given(typed_graphs(), st.data())
def test_indexing_slices_arrays_and_iteration(graphs: list[nx.Graph[Any]], data: Any) -> None:
    small = packed(graphs)
    assert len(small) == len(graphs)
    assert contents(small) == contents(graphs)
    assert sizes_of(small) == sizes_of(graphs)
    number = data.draw(st.integers(-len(graphs), len(graphs) - 1))
    assert contents([small[number]]) == contents([graphs[number]])
    assert contents([small[np.int64(number)]]) == contents([graphs[number]])
    part = data.draw(st.slices(len(graphs)))
    assert isinstance(small[part], PackedGraphs)
    assert contents(small[part]) == contents(graphs[part])
    rows = data.draw(st.lists(st.integers(0, len(graphs) - 1)))
    chosen = small[np.array(rows, dtype=np.int64)]
    assert contents(chosen) == contents([graphs[row] for row in rows])
    # Of a selection, another one.
    assert contents(chosen[::-1]) == contents([graphs[row] for row in rows[::-1]])


@given(typed_graphs())
def test_arrays_make_the_same_graphs(graphs: list[nx.Graph[Any]]) -> None:
    again = PackedGraphs.of_arrays(packed(graphs).arrays())
    assert contents(again) == contents(graphs)


@given(typed_graphs(), st.data())
def test_schema_and_batch_are_those_of_the_graphs(graphs: list[nx.Graph[Any]], data: Any) -> None:
    # A part of them, whose values may be fewer than those that were packed.
    part = data.draw(st.slices(len(graphs)).filter(lambda part: graphs[part]))
    plain, small = graphs[part], packed(graphs)[part]
    edges = any(graph.number_of_edges() for graph in plain)
    names = NAMES if edges else AttributeSettings(node_type="element")
    schema = Schema.of(plain, names)
    assert Schema.of(small, names) == schema
    expected = GraphBatch.from_networkx(plain, schema=schema)
    found = GraphBatch.from_networkx(small, schema=schema)
    for name, values in vars(expected).items():
        other = getattr(found, name)
        assert (values is None) == (other is None), name
        assert values is None or (torch.equal(values, other) and values.dtype == other.dtype)


@pytest.fixture
def two() -> list[nx.Graph[Any]]:
    graphs = [nx.path_graph(3), nx.path_graph(2)]
    for graph in graphs:
        nx.set_node_attributes(graph, "C", "element")
        nx.set_edge_attributes(graph, 1, "bond")
    return graphs


def test_an_index_out_of_range(two: list[nx.Graph[Any]]) -> None:
    with pytest.raises(IndexError):
        packed(two)[2]


def test_graphs_are_new_at_every_call(two: list[nx.Graph[Any]]) -> None:
    small = packed(two)
    small[0].clear()
    assert len(small[0]) == 3


def test_prepare_leaves_them_packed(two: list[nx.Graph[Any]]) -> None:
    small = packed(two)
    clean = prepare_graphs(small)
    assert isinstance(clean, PackedGraphs)
    assert clean.ignored == ["bond"]
    assert contents(clean)[1] == ([(0, {"element": "C"}), (1, {"element": "C"})], [(0, 1, {})])
    assert prepare_graphs(small, edge_attributes=["bond"]).ignored == []
    with pytest.raises(Exception, match="3 nodes, but at most 2"):
        prepare_graphs(small, max_nodes=2)


def test_a_repair_that_changes_graphs_unpacks(two: list[nx.Graph[Any]]) -> None:
    two[0].remove_edge(0, 1)
    clean = prepare_graphs(packed(two), repairs=Repairs(largest_component=True))
    assert isinstance(clean, GraphList)
    assert [len(graph) for graph in clean] == [2, 2]


def test_no_packed_graphs_are_refused():
    packed = PackedGraphs.of([nx.path_graph(2)], [], [])
    with pytest.raises(GraphDataError, match="graphs: no graphs"):
        prepare_graphs(packed[:0])
    with pytest.raises(GraphDataError, match="graphs, graph 1: 2 nodes"):
        prepare_graphs(packed, max_nodes=1)


def test_packed_graphs_are_compared_by_identity():
    packed = PackedGraphs.of([nx.path_graph(2)], [], [])
    assert packed == packed
    assert packed != PackedGraphs.of([nx.path_graph(2)], [], [])
    assert len({packed}) == 1
