"""How many steps a comparison takes, and what is known of graphs that were not decided."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from graphscore.metrics.canonical import CanonicalClasses
from graphscore.metrics.disjoint_union import GraphUnion
from graphscore.metrics.isomorphism import Group, IsomorphismClasses, classes_of_unions, not_decided
from graphscore.metrics.novelty import Shares
from graphscore.metrics.refinement import ColouredGraph, Partition


@pytest.fixture(autouse=True)
def search_only(monkeypatch):
    """Put all graphs into one group, in which only the search compares them."""
    monkeypatch.setattr("graphscore.metrics.isomorphism._mixed", np.zeros_like)
    monkeypatch.setattr("graphscore.metrics.isomorphism._QUICK_CALLS", 0)


def classes(*graphs, max_steps):
    return classes_of_unions(GraphUnion.of(graphs), max_steps=max_steps)


SHRIKHANDE = nx.Graph(
    ((a, b), ((a + x) % 4, (b + y) % 4))
    for a in range(4)
    for b in range(4)
    for x, y in ((0, 1), (1, 0), (1, 1))
)
GRAPHS = {
    "cycle": nx.cycle_graph(6),
    "petersen": nx.petersen_graph(),
    "prism": nx.circular_ladder_graph(5),
    "cube": nx.hypercube_graph(3),
    "path": nx.path_graph(9),
    "rook": nx.line_graph(nx.complete_bipartite_graph(4, 4)),
    "shrikhande": SHRIKHANDE,
}
FEWEST = {
    ("cycle", "cycle"): 98,
    ("cube", "cube"): 174,
    ("petersen", "petersen"): 410,
    ("petersen", "prism"): 1065,
    ("prism", "petersen"): 1861,
    ("rook", "rook"): 1442,
    ("shrikhande", "rook"): 12372,
}


@pytest.mark.parametrize(("pair", "fewest"), FEWEST.items())
def test_the_fewest_steps_that_decide_a_pair(pair, fewest, shuffled):
    """The same whatever the order of the nodes, and one step less does not do."""
    rng = np.random.default_rng(0)
    for _ in range(2):
        graphs = [shuffled(GRAPHS[name], rng) for name in pair]
        whole = classes(*graphs, max_steps=fewest)
        assert whole == IsomorphismClasses([0, int(pair[0] != pair[1])], {}, frozenset())
        less = classes(*graphs, max_steps=fewest - 1)
        assert less == IsomorphismClasses([0, 1], {0: 0, 1: 0}, frozenset({1}))


def test_the_first_of_a_group_may_be_undecided_too(shuffled):
    rng = np.random.default_rng(0)
    paths = [shuffled(GRAPHS["path"], rng) for _ in range(2)]
    assert classes(*paths, max_steps=73).labels == [0, 0]
    # Half of the steps are left for the second.
    found = classes(*paths, max_steps=72)
    assert found == IsomorphismClasses([0, 1], {0: 0, 1: 0}, frozenset({0, 1}))


def test_graphs_that_the_steps_did_not_divide_into_cells_may_be_alike():
    """Those of as many nodes and edges, even where cells of others tell them apart."""
    graphs = [nx.star_graph(8), nx.star_graph(7), nx.path_graph(9)]
    found = classes(*graphs, max_steps=50)
    assert found == IsomorphismClasses([0, 1, 2], {0: 0, 2: 0}, frozenset({2}))
    found = classes(*graphs, max_steps=0)
    assert found == IsomorphismClasses([0, 1, 2], {0: 0, 2: 0, 1: 1}, frozenset({0, 1, 2}))


@pytest.mark.parametrize("size", [100, 1000])
def test_dividing_into_cells_takes_steps(size):
    """Of a path: n + 2m to look at it, 2m for its nodes, then what pairs of them are joined to."""
    made = CanonicalClasses()
    made.steps_left = 10**6
    path = nx.path_graph(size)
    graph = ColouredGraph([list(path[node]) for node in path], [0] * size)
    assert len(made.refined(graph).cells) == size // 2
    assert 10**6 - made.steps_left == size + 4 * (size - 1) + 2 * size - 6


def twisted(twist):
    """Cai, Fuerer and Immerman's graph of four towns, some 10^5 steps from its twist."""
    base, graph = nx.complete_graph(4), nx.Graph()
    for node in base:
        others = [other for other in base if other != node]
        for chosen in [(), *((a, b) for a in others for b in others if a < b)]:
            for other in others:
                graph.add_edge((node, chosen), (node, other, other in chosen))
    for a, b in base.edges:
        for bit in (False, True):
            graph.add_edge((a, b, bit), (b, a, bit != (twist and (a, b) == (0, 1))))
    return graph


PLAIN, TWIST = twisted(False), twisted(True)


def joined(*graphs):
    return nx.disjoint_union_all(graphs)


def test_an_undecided_graph_halves_the_steps_of_the_next(shuffled):
    rng = np.random.default_rng(0)
    pair = [shuffled(GRAPHS["rook"], rng) for _ in range(2)]
    fewest = FEWEST["rook", "rook"]
    one, two = [PLAIN, TWIST, *pair], [PLAIN, TWIST, shuffled(TWIST, rng), *pair]
    for graphs, enough in ((one, 2 * fewest), (two, 4 * fewest)):
        hard = frozenset(range(1, len(graphs) - 2))
        assert classes(*graphs, max_steps=enough).undecided == hard
        last = len(graphs) - 1
        assert classes(*graphs, max_steps=enough - 1).undecided == hard | {last}


def test_what_may_be_alike_has_equal_rests():
    """Where a component is not decided, the others and the isolated nodes still tell apart."""
    five, path = nx.cycle_graph(5), nx.path_graph(5)
    graphs = [PLAIN, TWIST, joined(PLAIN, five), joined(TWIST, five), joined(TWIST, path)]
    graphs += [joined(PLAIN, nx.empty_graph(1)), joined(TWIST, nx.empty_graph(1))]
    graphs += [joined(PLAIN, TWIST), five, path]
    found = classes(*graphs, max_steps=20_000)
    assert found.labels == list(range(10))
    assert found.undecided == {1, 3, 4, 6, 7}
    groups = {}
    for label, group in found.alike.items():
        groups.setdefault(group, []).append(label)
    assert list(groups.values()) == [[0, 1], [2, 3], [4], [5, 6], [7]]
    assert found.undecided_pairs() == 3


def test_decided_components_tell_apart_what_has_an_undecided_one():
    """Also where their partitions are equal, and the first of all classes is one of them."""
    petersen, prism = GRAPHS["petersen"], GRAPHS["prism"]
    found = classes(joined(petersen, PLAIN), joined(prism, TWIST), max_steps=20_000)
    assert found == IsomorphismClasses([0, 1], {1: 0}, frozenset({1}))
    found = classes(joined(prism, PLAIN), joined(prism, TWIST), max_steps=20_000)
    assert found == IsomorphismClasses([0, 1], {0: 0, 1: 0}, frozenset({1}))


def test_undecided_components_may_be_like_decided_ones_of_as_many():
    graphs = [joined(PLAIN, PLAIN), joined(PLAIN, TWIST), joined(PLAIN, PLAIN, PLAIN)]
    found = classes(*graphs, max_steps=20_000)
    assert found == IsomorphismClasses([0, 1, 2], {0: 0, 1: 0}, frozenset({1}))


# Classes 0 to 2 and 3 to 5 may be the same; of each three the last two, or all, are undecided.
MADE = IsomorphismClasses(
    [0, 1, 1, 2, 3, 4, 5, 6], {0: 0, 1: 0, 2: 0, 3: 1, 4: 1, 5: 1}, frozenset({1, 2, 3, 4, 5})
)


def test_pairs_and_groups_of_undecided_classes():
    assert MADE.groups(range(7)) == {0: Group(2, 1), 1: Group(3, 0)}
    assert MADE.groups([0, 6]) == {0: Group(0, 1)}
    assert MADE.groups([6]) == {}
    assert MADE.undecided_pairs() == 3 + 3
    # With a sample: those of the first group (3) and 0 of the second, and so on.
    assert [MADE.undecided_pairs(count) for count in range(9)] == [0, 2, 3, 3, 3, 5, 6, 6, 6]


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        (1, Shares(1.0, 1.0, 1.0, 0.0, 2)),
        (2, Shares(1.0, 0.5, 0.5, 0.0, 3)),
        (3, Shares(2 / 3, 1 / 3, 1.0, 0.0, 3)),
        (4, Shares(3 / 4, 1 / 4, 1.0, 1.0, 3)),
        (5, Shares(4 / 5, 2 / 5, 1.0, 4 / 5, 5)),
        (8, Shares(7 / 8, 3 / 8, 1.0, 1.0, 6)),
    ],
)
def test_shares_may_be_as_small_as_undecided_pairs_allow(samples, expected):
    assert Shares.of(MADE, samples) == expected


def test_a_decided_sample_like_decided_known_graphs_is_novel():
    """Two decided classes differ, even in a group with an undecided one."""
    made = IsomorphismClasses([0, 1, 2], {0: 0, 1: 0, 2: 0}, frozenset({1}))
    assert Shares.of(made, 2).novel_low == 0.5
    assert Shares.of(made, 1).novel_low == 0.0


def test_only_shares_that_may_be_smaller_are_said():
    said = Shares(1.0, 1.0, 1.0, 0.5, undecided=1).not_decided(10)
    assert said == f"{not_decided(1, 10)}: novelty is between 50.0% and 100.0%"
    assert Shares(1.0, 1.0, 1.0, 1.0, undecided=3).not_decided(10) == not_decided(3, 10)
    assert not_decided(2000, 10) == (
        "2,000 pairs of graphs not decided within 10 steps; counted as different"
    )


def test_colours_are_part_of_a_class():
    """Labels of coloured cycles agree exactly when a rotation or reflection joins them."""
    made = CanonicalClasses()
    made.steps_left = 10**6
    rows = [[(node + 1) % 6, (node - 1) % 6] for node in range(6)]

    def label(colours):
        graph = ColouredGraph(rows, colours)
        return made.label(graph, Partition.of(graph))

    same = [[0, 0, 1, 0, 1, 1], [1, 0, 1, 1, 0, 0], [1, 1, 0, 1, 0, 0]]
    assert len({label(colours) for colours in same}) == 1
    others = [[0, 0, 0, 1, 1, 1], [0, 1, 0, 1, 0, 1], [2, 2, 1, 2, 1, 1], [0] * 6, [1] * 6]
    assert len({label(colours) for colours in [same[0], *others]}) == 6


def test_graphs_that_look_different_share_no_group_and_need_no_steps(monkeypatch):
    monkeypatch.undo()  # hashes tell them apart
    alone = classes(nx.path_graph(9), nx.cycle_graph(5), max_steps=0)
    assert alone == IsomorphismClasses([0, 1], {}, frozenset())
    larger = [joined(graph, nx.empty_graph(1)) for graph in (PLAIN, TWIST)]
    found = classes(PLAIN, TWIST, *larger, max_steps=1000)
    assert found == IsomorphismClasses([0, 1, 2, 3], {0: 0, 1: 0, 2: 1, 3: 1}, frozenset({1, 3}))
