"""Isomorphism that keeps types of nodes and edges: against brute force, networkx and copies."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphscore.errors import GraphDataError, GraphscoreWarning, SettingsError
from graphscore.graphs import AttributeSettings
from graphscore.metrics import evaluate, is_tree, isomorphism_classes, novelty, uniqueness, vun
from graphscore.metrics.attributes import unions_of
from graphscore.metrics.isomorphism import classes_of_unions

BOTH = {"node_type": "element", "edge_type": "bond"}
NAMES = [{}, {"node_type": "element"}, {"edge_type": "bond"}, BOTH]


def relabelled(graph, rng):
    """A copy whose nodes and edges are in another order, with what they carry."""
    place = dict(zip(graph, rng.permutation(len(graph)).tolist()))
    copy = nx.Graph()
    copy.add_nodes_from(sorted((place[node], data) for node, data in graph.nodes(data=True)))
    edges = [(place[u], place[v], data) for u, v, data in graph.edges(data=True)]
    copy.add_edges_from(edges[k] for k in rng.permutation(len(edges)))
    return copy


def typed(graph, rng, elements="CN", bonds=(1, 2)):
    graph = nx.convert_node_labels_to_integers(graph)
    for node in graph:
        graph.nodes[node]["element"] = str(rng.choice(list(elements)))
    for edge in graph.edges:
        graph.edges[edge].update(bond=int(rng.choice(bonds)), length=rng.random())
    return graph


def is_isomorphic(one, other, node_type=None, edge_type=None):
    """By trying all permutations."""
    if (len(one), one.number_of_edges()) != (len(other), other.number_of_edges()):
        return False

    def matches(place):
        same_nodes = node_type is None or all(
            one.nodes[node][node_type] == other.nodes[place[node]][node_type] for node in one
        )
        return same_nodes and all(
            other.has_edge(place[u], place[v])
            and (edge_type is None or other[place[u]][place[v]][edge_type] == data[edge_type])
            for u, v, data in one.edges(data=True)
        )

    return any(matches(dict(zip(one, order))) for order in itertools.permutations(other, len(one)))


@pytest.fixture(params=["as usual", "search only"])
def way(request, monkeypatch):
    """With hashes and quick comparisons, and without anything that avoids the search."""
    if request.param == "search only":
        monkeypatch.setattr("graphscore.metrics.isomorphism._mixed", np.zeros_like)
        monkeypatch.setattr("graphscore.metrics.isomorphism._QUICK_CALLS", 0)


@st.composite
def tiny_graphs(draw):
    """Graphs of few nodes on nearly the same edges, so that types make the difference."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    size, density = draw(st.integers(1, 5)), draw(st.sampled_from([0.4, 0.7, 1.0]))
    base = nx.gnp_random_graph(size, density, seed=int(rng.integers(10**6)))
    bonds = draw(st.sampled_from([(1, 2), (1, 1, 2, 3)]))
    graphs = [typed(base, rng, "CCN", bonds) for _ in range(3)]
    return [relabelled(graph, rng) for graph in graphs for _ in range(2)]


@pytest.mark.parametrize("search_only", [False, True])
@settings(max_examples=60, deadline=None)
@given(graphs=tiny_graphs(), names=st.sampled_from(NAMES))
def test_all_permutations_of_tiny_graphs_agree(graphs, names, search_only):
    with pytest.MonkeyPatch.context() as patch:
        if search_only:
            patch.setattr("graphscore.metrics.isomorphism._mixed", np.zeros_like)
            patch.setattr("graphscore.metrics.isomorphism._QUICK_CALLS", 0)
        classes = isomorphism_classes(graphs, **names)
    for (one, a), (other, b) in itertools.combinations(zip(graphs, classes), 2):
        assert (a == b) == is_isomorphic(one, other, **names)


BASES = [
    nx.petersen_graph(),
    nx.cycle_graph(9),
    nx.complete_graph(6),
    nx.hypercube_graph(3),
    nx.disjoint_union(nx.cycle_graph(4), nx.cycle_graph(4)),
    nx.complete_bipartite_graph(3, 4),
    nx.balanced_tree(2, 3),
    nx.empty_graph(5),
]


@pytest.mark.parametrize("names", NAMES, ids=["structure", "nodes", "edges", "both"])
def test_symmetric_graphs_agree_with_networkx(names, way):
    rng = np.random.default_rng(3)
    graphs = [typed(base, rng, "CCCN", (1, 1, 1, 2)) for base in BASES for _ in range(3)]
    graphs += [relabelled(graph, rng) for graph in graphs]
    same_node = nx.isomorphism.categorical_node_match("element", None)
    same_edge = nx.isomorphism.categorical_edge_match("bond", None)
    matches = {
        "node_match": same_node if "node_type" in names else None,
        "edge_match": same_edge if "edge_type" in names else None,
    }
    classes = isomorphism_classes(graphs, **names)
    for (one, a), (other, b) in itertools.combinations(zip(graphs, classes), 2):
        assert (a == b) == nx.is_isomorphic(one, other, **matches)


def test_copies_of_larger_graphs_are_recognised_and_one_other_type_is_seen(way):
    rng = np.random.default_rng(0)
    graphs = []
    for seed in range(6):
        graph = typed(nx.random_regular_graph(3, 26, seed=seed), rng, "CCCCN", (1, 1, 2))
        other = graph.copy()
        edge = next(iter(other.edges))
        other.edges[edge]["bond"] = 3  # nowhere else
        node = graph.copy()
        node.nodes[0]["element"] = "P"
        graphs += [graph, other, node]
    copies = [relabelled(graph, rng) for graph in graphs]
    assert isomorphism_classes(graphs + copies, **BOTH) == [*range(18), *range(18)]
    assert isomorphism_classes(graphs) == [k // 3 for k in range(18)]


@settings(max_examples=30, deadline=None)
@given(tiny_graphs(), st.sampled_from(NAMES[1:]), st.sampled_from([0, 20, 100, 10**6]))
def test_no_limit_makes_an_answer_wrong(graphs, names, max_steps):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("graphscore.metrics.isomorphism._mixed", np.zeros_like)
        patch.setattr("graphscore.metrics.isomorphism._QUICK_CALLS", 0)
        (union,) = unions_of({"samples": graphs}, AttributeSettings(**names))
        classes = classes_of_unions(union, max_steps=max_steps)
    pairs = itertools.combinations(zip(graphs, classes.labels), 2)
    for (one, a), (other, b) in pairs:
        if a == b:
            assert is_isomorphic(one, other, **names)
        elif is_isomorphic(one, other, **names):
            assert classes.alike[a] == classes.alike[b]
            assert {a, b} & classes.undecided


@pytest.mark.parametrize("names", NAMES[1:], ids=["nodes", "edges", "both"])
def test_only_which_types_are_equal_matters(names):
    rng = np.random.default_rng(1)
    graphs = [typed(nx.cycle_graph(5), rng) for _ in range(30)]
    renamed = [graph.copy() for graph in graphs]
    for graph in renamed:
        for node in graph:
            graph.nodes[node]["element"] = {"C": "zinc", "N": "argon"}[graph.nodes[node]["element"]]
        for edge in graph.edges:
            graph.edges[edge]["bond"] = graph.edges[edge]["bond"] == 1
    classes = isomorphism_classes(graphs, **names)
    assert 1 < max(classes) < 29
    assert isomorphism_classes(renamed, **names) == classes


def test_a_type_of_an_edge_is_none_of_a_node(way):
    """An edge with a node in its middle would look like two edges."""
    one = nx.path_graph(3)
    nx.set_node_attributes(one, 1, "element")
    nx.set_edge_attributes(one, 1, "bond")
    other = nx.path_graph(2)
    nx.set_node_attributes(other, 1, "element")
    nx.set_edge_attributes(other, 2, "bond")
    triangle = nx.cycle_graph(3)
    nx.set_node_attributes(triangle, 1, "element")
    nx.set_edge_attributes(triangle, 1, "bond")
    mixed = triangle.copy()
    mixed.edges[0, 1]["bond"] = 2
    assert isomorphism_classes([one, other, triangle, mixed], **BOTH) == [0, 1, 2, 3]


def test_any_names_of_nodes_and_order_of_edges():
    one = nx.Graph([("b", "a", {"bond": 1}), ("a", "c", {"bond": 2}), ("c", "d", {"bond": 3})])
    other = nx.Graph([(7, 3, {"bond": 3}), ((1, 2), 7, {"bond": 2}), (-1, (1, 2), {"bond": 1})])
    third = nx.Graph([(0, 1, {"bond": 2}), (1, 2, {"bond": 1}), (2, 3, {"bond": 3})])
    assert isomorphism_classes([one, other, third], edge_type="bond") == [0, 0, 1]
    part = nx.path_graph(5)
    nx.set_edge_attributes(part, {(0, 1): 1, (1, 2): 2, (2, 3): 3, (3, 4): 4}, "bond")
    assert isomorphism_classes([one, part.subgraph([3, 2, 1, 0])], edge_type="bond") == [0, 0]


def test_uniqueness_and_novelty():
    rng = np.random.default_rng(0)
    graphs = [typed(nx.path_graph(3), rng, "C", (1, k)) for k in (1, 2, 2, 3)]
    graphs[1].edges[0, 1]["bond"], graphs[1].edges[1, 2]["bond"] = 1, 2
    graphs[2].edges[0, 1]["bond"], graphs[2].edges[1, 2]["bond"] = 2, 1
    graphs[3].edges[0, 1]["bond"], graphs[3].edges[1, 2]["bond"] = 3, 3
    assert uniqueness(graphs) == 0.25
    assert uniqueness(graphs, **BOTH) == 0.75
    assert novelty(graphs, graphs[:1]) == 0
    assert novelty(graphs, graphs[:1], edge_type="bond") == 0.75
    assert novelty(graphs, graphs[:1], node_type="element") == 0  # and lengths do not matter
    result = evaluate(graphs, graphs, training=graphs[:1], edge_type="bond", edge_weight="length")
    assert (result.uniqueness, result.novelty) == (0.75, 0.75)
    shares = vun(graphs, graphs[:1], is_tree, edge_type="bond")
    assert (shares.unique, shares.novel, shares.vun) == (0.75, 0.75, 0.5)
    assert vun(graphs, graphs[:1], is_tree).vun == 0


def test_isolated_nodes_have_types_too():
    pair = [nx.Graph([(0, 1)]) for _ in range(2)]
    for graph, element in zip(pair, "CN"):
        graph.add_node(2)
        nx.set_node_attributes(graph, {0: "C", 1: "C", 2: element}, "element")
    assert uniqueness(pair, node_type="element") == 1.0
    assert uniqueness(pair, node_type="element", drop_isolated=True) == 0.5
    single = [nx.empty_graph(1) for _ in range(2)]
    for graph, element in zip(single, "CN"):
        graph.nodes[0]["element"] = element
    assert uniqueness(single, node_type="element") == 1.0
    assert uniqueness(single, node_type="element", drop_isolated=True) == 0.5
    assert uniqueness(single, edge_type="bond") == 0.5  # there are no edges


def test_what_is_not_decided_is_said():
    rng = np.random.default_rng(0)
    graph = typed(nx.random_regular_graph(3, 16, seed=1), rng, "C", (1,))
    graphs = [graph, relabelled(graph, rng)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("graphscore.metrics.isomorphism._QUICK_CALLS", 0)
        with pytest.warns(GraphscoreWarning, match="not decided within 1 steps"):
            assert isomorphism_classes(graphs, max_steps=1, **BOTH) == [0, 1]


def test_graphs_without_types_are_refused_by_list_and_number():
    rng = np.random.default_rng(0)
    good = [typed(nx.path_graph(3), rng) for _ in range(3)]
    bad = [*good[:2], nx.path_graph(3)]
    no_element = r"graph 3, node 0: no attribute 'element', which is to be compared \(attributes"
    with pytest.raises(GraphDataError, match=f"^samples, {no_element}"):
        uniqueness(bad, **BOTH)
    with pytest.raises(GraphDataError, match=f"^training, {no_element}"):
        novelty(good, bad, **BOTH)
    with pytest.raises(GraphDataError, match=r"^training, graph 3, edge \(0, 1\): no attribute"):
        vun(good, bad, is_tree, edge_type="bond")
    with pytest.raises(GraphDataError, match=r"^samples, graph 1, edge \(0, 1\):.*Compare real"):
        uniqueness(good, edge_type="length")
    with pytest.raises(GraphDataError, match=r"^samples, graph 0: .*undirected"):
        uniqueness([nx.DiGraph([(0, 1)])], **BOTH)
    with pytest.raises(SettingsError, match="node_type"):
        uniqueness(good, node_type=3)


def test_texts_and_numbers_are_not_mixed_up_between_lists():
    """Else everything would be novel without a word."""
    one, other = (nx.Graph([(0, 1, {"bond": bond})]) for bond in (1, "1"))
    with pytest.raises(GraphDataError, match=r"^training, graph 1, .* is '1', and 1 elsewhere"):
        novelty([one], [other], edge_type="bond")
    with pytest.raises(GraphDataError, match="is True, and 1 elsewhere"):
        novelty([one], [nx.Graph([(0, 1, {"bond": True})])], edge_type="bond")


@pytest.mark.parametrize("names", NAMES[1:3], ids=["nodes", "edges"])
def test_types_are_seen_by_hashes_so_that_nothing_is_left_to_search(names, monkeypatch):
    """Else thousands of molecules of one skeleton would be compared one by one."""
    monkeypatch.setattr("graphscore.metrics.isomorphism._QUICK_CALLS", 0)
    graphs = []
    for place in range(4):
        graph = typed(nx.path_graph(9), np.random.default_rng(0), "C", (1,))
        graph.nodes[place]["element"] = "N"
        graph.edges[place, place + 1]["bond"] = 2
        graphs.append(graph)
    (union,) = unions_of({"samples": graphs}, AttributeSettings(**names))
    classes = classes_of_unions(union, max_steps=0)
    assert (classes.labels, classes.alike) == ([0, 1, 2, 3], {})
