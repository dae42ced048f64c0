"""Attributes that are not learned or compared are named once, in one line."""

from __future__ import annotations

import networkx as nx
import numpy as np

from graphscore.graphs import AttributeSettings, PackedGraphs, prepare_graphs
from graphscore.graphs.attributes import NOTHING
from graphscore.graphs.packed import Coded
from graphscore.graphs.unnamed import FEW_VALUES, unnamed_attributes


def carrying(**of_nodes):
    graph = nx.path_graph(2)
    nx.set_edge_attributes(graph, 1.5, "w")
    for name, value in of_nodes.items():
        nx.set_node_attributes(graph, value, name)
    return graph


def test_what_is_ignored_is_named_in_one_line():
    graphs = prepare_graphs([carrying(kind="a", x=[1.0])] * 2)
    assert unnamed_attributes([graphs], AttributeSettings(node_features=["x_0"])) == (
        "ignored: node attribute 'kind' (1 value; to learn it, --node-type kind, in Python "
        "node_type='kind'); edge attribute 'w' (to learn one, --edge-type or --edge-weight, in "
        "Python edge_type= or edge_weight=)"
    )
    every = AttributeSettings(node_type="kind", node_features=["x"], edge_weight="w_0")
    assert unnamed_attributes([graphs], every) == ""


def test_attributes_of_several_lists_are_named_once():
    lists = [prepare_graphs([carrying(kind=kind, h=0.5)]) for kind in "ab"]
    assert unnamed_attributes([*lists, []], NOTHING, "compared") == (
        "not compared: node attributes 'kind' (2 values; to compare it, --node-type kind), "
        "'h' (1 value); edge attribute 'w' (to compare one, --edge-type or --edge-weight)"
    )


def test_many_values_are_no_type():
    graphs = [carrying(number=k) for k in range(FEW_VALUES + 1)]
    assert "'number' (more than 20 values)" in unnamed_attributes([graphs], NOTHING)
    assert "'number' (20 values; to learn" in unnamed_attributes([graphs[1:]], NOTHING)


class NeverMade(PackedGraphs):
    """Packed graphs that must stay so."""

    def _graph(self, number):
        raise AssertionError(f"graph {number} was made")


def test_packed_graphs_say_the_same_and_stay_packed():
    graphs = [carrying(element=element, bond_of="x") for element in "CNC"]
    nx.set_edge_attributes(graphs[0], 1, "bond")
    nx.set_edge_attributes(graphs[1], 1, "bond")
    nx.set_edge_attributes(graphs[2], 2, "bond")
    packed = NeverMade.of(graphs, ["element", "bond_of"], ["w", "bond"])
    for names in (NOTHING, AttributeSettings(node_type="element", edge_type="bond")):
        kept = names.of_edges
        clean = prepare_graphs(packed, edge_attributes=kept)
        assert isinstance(clean, NeverMade)
        words = unnamed_attributes([clean], names)
        plain = [nx.Graph(graph) for graph in graphs]
        assert words == unnamed_attributes([prepare_graphs(plain, edge_attributes=kept)], names)
    assert words == (
        "ignored: node attribute 'bond_of' (1 value; to learn it, --node-type bond_of, in "
        "Python node_type='bond_of'); edge attribute 'w' (to learn one, --edge-type or "
        "--edge-weight, in Python edge_type= or edge_weight=)"
    )


def test_packed_values_that_no_node_has_are_not_counted():
    coded = Coded(np.zeros(2, dtype=np.uint8), ("C", "N"))
    sizes = np.array([2]), np.array([0]), np.empty((0, 2), dtype=np.int32)
    packed = PackedGraphs(*sizes, node_types={"element": coded})
    assert "'element' (1 value;" in unnamed_attributes([packed], NOTHING)
