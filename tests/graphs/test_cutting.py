"""Connected subgraphs of one large network."""

from __future__ import annotations

import itertools
import warnings
from collections import Counter

import networkx as nx
import numpy as np
import pytest

from graphscore import GraphGenerator, subgraphs
from graphscore.errors import GraphDataError, GraphscoreWarning, SettingsError
from graphscore.graphs.cutting import default_number

NETWORK = nx.powerlaw_cluster_graph(2000, 3, 0.5, seed=0)


def nodes_of(cut):
    """Return the names that nodes had in the network, where they carry them."""
    return [[data["name"] for _, data in graph.nodes(data=True)] for graph in cut]


def named(network):
    network = network.copy()
    nx.set_node_attributes(network, {node: node for node in network}, "name")
    return network


def edges_of(cut):
    return [(len(graph), sorted(graph.edges)) for graph in cut]


def test_they_are_connected_and_of_the_sizes_asked_for():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cut = subgraphs(NETWORK, range(20, 41), number=300)
    assert len(cut) == 300
    assert all(map(nx.is_connected, cut))
    assert {len(graph) for graph in cut} == set(range(20, 41))
    assert {len(graph) for graph in subgraphs(NETWORK, 40, number=9)} == {40}
    assert all(list(graph) == list(range(len(graph))) for graph in cut)


def test_all_edges_inside_are_kept_with_what_nodes_and_edges_carry():
    network = named(NETWORK)
    for one, other, data in network.edges(data=True):
        data["tie"] = f"{one}-{other}"
    for graph, nodes in zip(cut := subgraphs(network, 30, number=20), nodes_of(cut)):
        part = network.subgraph(nodes)
        assert graph.number_of_edges() == part.number_of_edges()
        for one, other, data in graph.edges(data=True):
            assert data == part.edges[nodes[one], nodes[other]]


def test_the_seed_decides_and_nothing_else():
    one, again, other = (edges_of(subgraphs(NETWORK, 20, number=9, seed=s)) for s in (1, 1, 2))
    assert one == again != other


def test_each_begins_at_a_node_of_its_own():
    """So that as many subgraphs as nodes hold every node, also where few links lead to it."""
    hub = named(nx.star_graph(400))
    cut = nodes_of(subgraphs(hub, 2, number=401))
    assert set().union(*cut) == set(hub)


def test_links_that_lead_out_are_chosen_alike():
    """From the centre of a star, one of whose ends has no other link than that, to 5 errors."""
    network = nx.Graph([(0, 1), (0, 2), (1, 2), (2, 3)])  # from {0, 1}, two of two links lead to 2
    seen = Counter(tuple(nodes) for nodes in nodes_of(subgraphs(named(network), 2, number=8000)))
    # Of 0: 1 or 2; of 1: 0 or 2; of 2: 0, 1 or 3; of 3: 2.
    expected = {(0, 1): 1 / 4, (0, 2): 5 / 24, (1, 2): 5 / 24, (2, 3): 1 / 3}
    for pair, share in expected.items():
        error = (share * (1 - share) / 8000) ** 0.5
        assert abs(seen[pair] / 8000 - share) < 5 * error


def _breadth_first(network, start):
    return [start, *itertools.islice((node for _, node in nx.bfs_edges(network, start)), 39)]


@pytest.mark.parametrize(
    "network",
    [
        NETWORK,
        nx.watts_strogatz_graph(2000, 6, 0.1, seed=0),
        nx.random_geometric_graph(2000, 0.035, seed=0),
    ],
    ids=["power law", "small world", "geometric"],
)
@pytest.mark.filterwarnings("ignore::graphscore.errors.GraphscoreWarning")
def test_what_they_keep_of_the_network_and_what_not(network):
    """As the docs have it."""
    cut = subgraphs(named(network), 40, number=100)
    clustering = np.mean([nx.average_clustering(graph) for graph in cut])
    degrees = np.mean([degree for graph in cut for _, degree in graph.degree()])
    of_nodes = np.mean([network.degree(node) for nodes in nodes_of(cut) for node in nodes])
    connected = [degree for _, degree in network.degree() if degree]
    exact = nx.average_clustering(network)
    nearest = [network.subgraph(_breadth_first(network, start)) for start in range(0, 2000, 20)]
    of_nearest = np.mean([nx.average_clustering(graph) for graph in nearest])
    assert abs(clustering - exact) < 0.7 * abs(of_nearest - exact)
    assert degrees < np.mean(connected) < of_nodes


@pytest.mark.parametrize(
    ("nodes", "sizes", "number"),
    [(2000, [40], 500), (2000, [20, 60], 500), (100, [40], 200), (10**5, [40], 2000)],
)
def test_how_many_there_are_if_nobody_says_it(nodes, sizes, number):
    assert default_number(nodes, sizes) == number


def test_by_default_each_node_is_in_about_ten():
    cut = subgraphs(named(NETWORK), 40)
    assert len(cut) == 500
    assert len(set().union(*nodes_of(cut))) > 0.99 * len(NETWORK)


def test_nodes_that_are_in_no_subgraph_are_said():
    network = nx.disjoint_union(nx.cycle_graph(60), nx.path_graph(10))
    words = r"10 of 70 nodes .* fewer than 12 nodes"
    with pytest.warns(GraphscoreWarning, match=words) as told:
        cut = nodes_of(subgraphs(named(network), 12, number=30))
    assert told[0].filename == __file__
    assert max(max(nodes) for nodes in cut) < 60
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        both = subgraphs(named(network), [5, 30], number=12)
    assert {len(nodes) for nodes in nodes_of(both) if max(nodes) >= 60} <= {5}


def test_subgraphs_that_are_the_same_are_said():
    """A few are not."""
    with pytest.warns(GraphscoreWarning, match=r"^3 of 4 subgraphs have the same nodes"):
        subgraphs(nx.path_graph(5), 5, number=4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cut = nodes_of(subgraphs(named(nx.path_graph(4000)), 3, number=400))
    assert 360 < len(set(map(tuple, cut))) < 400


@pytest.mark.parametrize(
    "sizes", [0, 1, -3, 2.5, True, [], [3, 1], [3, 2.5], "40", None, float("inf"), [float("nan")]]
)
def test_sizes_that_make_no_sense(sizes):
    with pytest.raises(SettingsError, match=r"give whole numbers of at least 2, such as 40"):
        subgraphs(NETWORK, sizes)


@pytest.mark.parametrize("number", [0, -1, 2.5, 10**30, "9"])
def test_numbers_that_make_no_sense(number):
    with pytest.raises(SettingsError, match=r"ask for 1 to 1000000"):
        subgraphs(NETWORK, 5, number=number)


def test_networks_that_do_not_fit():
    with pytest.raises(GraphDataError, match=r"of 9 nodes .* part .* has 6 of its 8 .* at most 6"):
        subgraphs(nx.disjoint_union(nx.path_graph(6), nx.path_graph(2)), 9)
    with pytest.raises(GraphDataError, match="network, graph 1: directed"):
        subgraphs(nx.DiGraph([(0, 1)]), 2)


def test_a_generator_learns_from_them():
    generator = GraphGenerator("erdos-renyi", show_progress=False)
    generator.fit(subgraphs(NETWORK, range(10, 13), number=20))
    assert generator.sizes.range == (10, 12)
