"""Isomorphism: all small graphs, hard families, and what is said when a search gives up."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphscore.cli.tables import print_evaluations
from graphscore.errors import GraphscoreWarning
from graphscore.metrics import (
    evaluate,
    is_planar,
    isomorphism_classes,
    novelty,
    uniqueness,
    vun,
)
from graphscore.metrics.canonical import CanonicalClasses
from graphscore.metrics.disjoint_union import GraphUnion
from graphscore.metrics.isomorphism import classes_of_unions
from graphscore.metrics.novelty import Shares


@pytest.fixture
def search_only(monkeypatch):
    """Leave out everything that avoids the search: hashes, quick comparison, orders by colour."""
    monkeypatch.setattr("graphscore.metrics.isomorphism._mixed", np.zeros_like)
    monkeypatch.setattr("graphscore.metrics.isomorphism._QUICK_CALLS", 0)


def cycles(*lengths):
    return nx.disjoint_union_all([nx.cycle_graph(length) for length in lengths])


def cayley(sizes, steps):
    """Sums of the numbers below `sizes`, each joined to itself plus each step."""
    graph = nx.Graph()
    for node in itertools.product(*map(range, sizes)):
        for step in steps:
            graph.add_edge(node, tuple((a + b) % n for a, b, n in zip(node, step, sizes)))
    return graph


def rook(rows, columns):
    return nx.cartesian_product(nx.complete_graph(rows), nx.complete_graph(columns))


def triangular():
    return nx.line_graph(nx.complete_graph(8))


def chang():
    """Strongly regular (28,12,6,4), like the line graph of K8: switched at a perfect matching."""
    graph, matching = triangular(), {(0, 4), (1, 5), (2, 6), (3, 7)}
    pairs = itertools.combinations(graph, 2)
    return nx.Graph(
        (a, b) for a, b in pairs if graph.has_edge(a, b) != ((a in matching) != (b in matching))
    )


def latin(table):
    """Cells of a Latin square, joined in a row, in a column and by symbol."""
    cells = list(itertools.product(range(len(table)), repeat=2))
    return nx.Graph(
        (a, b)
        for a, b in itertools.combinations(cells, 2)
        if a[0] == b[0] or a[1] == b[1] or table[a[0]][a[1]] == table[b[0]][b[1]]
    )


def cyclic_group(n):
    return latin([[(i + j) % n for j in range(n)] for i in range(n)])


def symmetric_group():
    elements = list(itertools.permutations(range(3)))
    return latin([[elements.index(tuple(a[i] for i in b)) for b in elements] for a in elements])


def polar_space(form, width, equation=lambda point: True):
    """Points over the field of three elements, joined where the form is zero; (40,12,2,4)."""
    points = [
        point
        for point in itertools.product(range(3), repeat=width)
        if next((value for value in point if value), 0) == 1 and equation(point)
    ]
    return nx.Graph((a, b) for a, b in itertools.combinations(points, 2) if form(a, b) % 3 == 0)


def symplectic():
    return polar_space(lambda a, b: a[0] * b[1] - a[1] * b[0] + a[2] * b[3] - a[3] * b[2], 4)


def quadric():
    def form(a, b):
        return 2 * a[0] * b[0] + a[1] * b[2] + a[2] * b[1] + a[3] * b[4] + a[4] * b[3]

    def on_it(p):
        return (p[0] * p[0] + p[1] * p[2] + p[3] * p[4]) % 3 == 0

    return polar_space(form, 5, on_it)


def plane(order):
    """Points and lines of a projective plane."""
    points = [
        point
        for point in itertools.product(range(order), repeat=3)
        if next((value for value in point if value), 0) == 1
    ]
    return nx.Graph(
        ((0, a), (1, b))
        for a, b in itertools.product(points, repeat=2)
        if sum(x * y for x, y in zip(a, b)) % order == 0
    )


def paley(prime):
    squares = {x * x % prime for x in range(1, prime)}
    return nx.circulant_graph(prime, squares)


def kneser(n, k):
    sets = itertools.combinations(map(frozenset, itertools.combinations(range(n), k)), 2)
    return nx.Graph((a, b) for a, b in sets if not a & b)


def cfi(base, twisted):
    """Cai, Fürer and Immerman: what no refinement of few nodes at a time tells from its twist."""
    graph, twist = nx.Graph(), twisted
    for node in base:
        around = [frozenset(edge) for edge in base.edges(node)]
        for count in range(0, len(around) + 1, 2):
            for chosen in itertools.combinations(around, count):
                ends = [(node, edge, edge in chosen) for edge in around]
                graph.add_edges_from(((node, chosen), end) for end in ends)
    for a, b in base.edges:
        for bit in (False, True):
            edge = frozenset((a, b))
            graph.add_edge((a, edge, bit), (b, edge, bit != twist))
        twist = False
    return graph


def two_petersens_and(other):
    return nx.disjoint_union_all([nx.petersen_graph(), nx.petersen_graph(), other])


K4, CUBIC = nx.complete_graph(4), nx.random_regular_graph(3, 12, seed=1)
HARD = {
    "six hexagons": [cycles(*[6] * 6), cycles(6, 6, 6, 6, 5, 7)],
    "hundred hexagons": [cycles(*[6] * 100), cycles(*[6] * 98, 5, 7)],
    "cycles of a size": [cycles(30), cycles(15, 15), cycles(10, 20), cycles(10, 10, 10)],
    "16 nodes": [rook(4, 4), cayley((4, 4), [(0, 1), (1, 0), (1, 1)]), nx.hypercube_graph(4)],
    "28 nodes": [triangular(), chang(), nx.complement(chang())],
    "25, 29, 37 nodes": [cyclic_group(5), paley(29), paley(37), rook(5, 5)],
    "36 nodes": [cyclic_group(6), symmetric_group(), nx.complement(symmetric_group())],
    "40 nodes": [symplectic(), quadric()],
    "planes": [plane(3), plane(5), plane(7)],
    "CFI": [cfi(K4, False), cfi(K4, True), cfi(CUBIC, False), cfi(CUBIC, True)],
    "Kneser": [kneser(5, 2), kneser(7, 3), nx.circular_ladder_graph(5)],
    "grids": [nx.grid_2d_graph(9, 4), nx.grid_2d_graph(6, 6), nx.grid_2d_graph(12, 3)],
    "tori": [
        cayley((8, 8), [(0, 1), (1, 0)]),
        cayley((4, 16), [(0, 1), (1, 0)]),
        cayley((4, 4, 4), [(0, 0, 1), (0, 1, 0), (1, 0, 0)]),
    ],
    "hypercubes": [nx.hypercube_graph(6), nx.hypercube_graph(7)],
    "multipartite": [
        nx.complete_multipartite_graph(*[5] * 8),
        nx.complete_multipartite_graph(*[4] * 10),
        nx.complete_multipartite_graph(5, 5, 5, 5, 5, 5, 6, 4),
    ],
    "stars and trees": [nx.star_graph(60), nx.balanced_tree(3, 4), nx.binomial_tree(6)],
    "circulants": [nx.circulant_graph(24, [1, step]) for step in (2, 3, 4, 6, 8, 12)],
    "unions": [
        two_petersens_and(nx.circular_ladder_graph(5)),
        two_petersens_and(nx.petersen_graph()),
        nx.disjoint_union_all([symplectic(), chang(), triangular(), cycles(6, 6)]),
        nx.disjoint_union_all([quadric(), chang(), triangular(), cycles(6, 6)]),
        nx.disjoint_union_all([quadric(), chang(), chang(), cycles(6, 6)]),
        nx.disjoint_union_all([quadric(), chang(), triangular(), cycles(5, 7)]),
    ],
}


@pytest.mark.parametrize("name", HARD)
def test_hard_families_are_told_apart_and_recognised(name, shuffled, recwarn):
    rng = np.random.default_rng(0)
    graphs = [shuffled(graph, rng) for _ in range(3) for graph in HARD[name]]
    assert isomorphism_classes(graphs) == list(range(len(HARD[name]))) * 3
    assert not recwarn


def test_the_search_alone_decides_hard_families(shuffled, search_only):
    rng = np.random.default_rng(1)
    # Grid, rook's graph, hypercube and torus of a size occur in one family only.
    graphs = [graph for family in HARD.values() for graph in family if len(graph) < 70]
    graphs.remove(HARD["hypercubes"][0])  # also a torus
    copies = [shuffled(graph, rng) for _ in range(2) for graph in graphs]
    assert isomorphism_classes(copies) == list(range(len(graphs))) * 2


def test_all_graphs_with_up_to_seven_nodes(shuffled, search_only):
    rng = np.random.default_rng(0)
    graphs = nx.graph_atlas_g()
    copies = [shuffled(graph, rng) for graph in graphs]
    assert isomorphism_classes(graphs + copies) == [*range(1253), *range(1253)]


def test_all_graphs_with_up_to_seven_nodes_by_the_usual_way(shuffled):
    rng = np.random.default_rng(2)
    graphs = nx.graph_atlas_g()
    copies = [shuffled(graph, rng) for graph in graphs]
    assert isomorphism_classes(graphs + copies) == [*range(1253), *range(1253)]


@st.composite
def graphs_that_look_alike(draw):
    """Regular graphs, their unions and complements, some with two edges switched, in any order."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    size, degree = draw(st.sampled_from([(5, 2), (6, 2), (6, 3), (8, 2), (8, 3)]))
    graphs = [nx.random_regular_graph(degree, size, seed=rng) for _ in range(3)]
    switched = [graph.copy() for graph in graphs]
    for graph in switched:
        nx.double_edge_swap(graph, 1, max_tries=1000, seed=rng)
    graphs += switched
    # Neither a common part nor the complement changes which of them are isomorphic.
    truth = [
        next(place for place, old in enumerate(graphs) if nx.is_isomorphic(graph, old))
        for graph in graphs
    ]
    if size < 7 and draw(st.booleans()):
        graphs = [nx.disjoint_union(graph, graphs[0]) for graph in graphs]
    if draw(st.booleans()):
        graphs = [nx.complement(graph) for graph in graphs]
    chosen = rng.integers(0, len(graphs), 8).tolist()
    return [graphs[index] for index in chosen], [truth[index] for index in chosen], rng


@settings(max_examples=40, deadline=None)
@given(graphs_that_look_alike(), st.sampled_from([0, 30, 100, 300, 1000, 10**6]))
def test_no_limit_makes_an_answer_wrong(shuffled, drawn, max_steps):
    """Graphs of one class are isomorphic; of isomorphic ones, one class is called undecided."""
    graphs, truth, rng = drawn
    graphs = [shuffled(graph, rng) for graph in graphs]
    with pytest.MonkeyPatch.context() as patch:
        if rng.random() < 0.7:
            patch.setattr("graphscore.metrics.isomorphism._mixed", np.zeros_like)
            patch.setattr("graphscore.metrics.isomorphism._QUICK_CALLS", 0)
        classes = classes_of_unions(GraphUnion.of(graphs), max_steps=max_steps)
    for (one, a), (other, b) in itertools.combinations(zip(classes.labels, truth), 2):
        if one == other:
            assert a == b
        elif a == b:
            assert classes.alike[one] == classes.alike[other]
            assert {one, other} & classes.undecided
    if max_steps == 10**6:
        assert not classes.undecided
    for count in range(1, len(graphs) + 1):
        shares, known = Shares.of(classes, count), set(truth[count:])
        assert shares.unique_low <= len(set(truth[:count])) / count <= shares.unique
        assert shares.novel_low <= sum(t not in known for t in truth[:count]) / count
        assert sum(t not in known for t in truth[:count]) / count <= shares.novel


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_random_graphs_copies_and_switched_edges_agree_with_networkx(shuffled, seed):
    rng = np.random.default_rng(seed)
    graphs = []
    for _ in range(4):
        graph = nx.gnp_random_graph(int(rng.integers(4, 12)), rng.uniform(0.1, 0.9), seed=rng)
        switched = graph.copy()
        switched.remove_edges_from(list(graph.edges)[:1])
        switched.add_edges_from(list(nx.non_edges(graph))[:1])
        graphs += [graph, shuffled(graph, rng), switched, nx.disjoint_union(graph, switched)]
    for (one, a), (other, b) in itertools.combinations(zip(graphs, isomorphism_classes(graphs)), 2):
        assert (a == b) == nx.is_isomorphic(one, other)


HARD_PAIR = [nx.convert_node_labels_to_integers(graph) for graph in HARD["CFI"][2:]]


def test_what_is_not_decided_is_counted_and_said(shuffled):
    rng = np.random.default_rng(0)
    samples = [*HARD_PAIR, nx.path_graph(4), shuffled(HARD_PAIR[0], rng)]
    said = r"within 1,000 steps; counted as different"
    with pytest.warns(GraphscoreWarning, match=f"3 pairs of graphs not decided {said}$"):
        assert isomorphism_classes(samples, max_steps=1000) == [0, 1, 2, 3]
    with pytest.warns(GraphscoreWarning, match=f"{said}: uniqueness is between 50.0% and 100.0%$"):
        assert uniqueness(samples, max_steps=1000) == 1.0
    with pytest.warns(GraphscoreWarning, match=f"1 pair .*{said}: novelty is between 0.0% and 100"):
        assert novelty(samples[:1], samples[3:], max_steps=1000) == 1.0
    with pytest.warns(GraphscoreWarning, match="uniqueness is between 50.0% and 100.0%, novelty"):
        result = evaluate(samples, samples[2:3], training=samples[:1], max_steps=1000)
    record = json.loads(json.dumps(result.to_dict()))
    assert (record["undecided"], record["uniqueness"], record["uniqueness_low"]) == (3, 1.0, 0.5)
    assert (record["novelty"], record["novelty_low"]) == (0.75, 0.25)
    with pytest.warns(GraphscoreWarning, match=r"V\.U\.N\.: 3 pairs"):
        shares = vun(samples, samples[2:3], is_planar, max_steps=1000)
    assert (shares.unique, shares.to_dict()["undecided"]) == (1.0, 3)


def test_results_without_undecided_pairs_say_nothing(recwarn):
    result = evaluate([nx.path_graph(3)], [nx.path_graph(3)])
    assert (result.undecided, result.uniqueness_low, result.novelty_low) == (0, None, None)
    assert not recwarn


def test_many_hard_graphs_take_the_steps_of_two(shuffled, monkeypatch):
    rng = np.random.default_rng(0)
    taken = []
    count = CanonicalClasses._count
    monkeypatch.setattr(
        CanonicalClasses, "_count", lambda self, steps: (taken.append(steps), count(self, steps))
    )
    copies = [shuffled(graph, rng) for graph in HARD_PAIR for _ in range(6)]
    monkeypatch.setattr("graphscore.metrics.isomorphism._QUICK_CALLS", 0)
    classes = classes_of_unions(GraphUnion.of(copies), max_steps=20_000)
    assert len(set(classes.labels)) == 12
    assert sum(taken) < 2.5 * 20_000


INTERRUPTED = """
import os, signal, threading
from graphscore import metrics
from graphscore.cli.main import main
from graphscore.metrics.canonical import CanonicalClasses

metrics.evaluate.__kwdefaults__["max_steps"] = 10**15
search = CanonicalClasses._search
timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))

def begun(*arguments):
    if timer.ident is None:
        timer.start()
    return search(*arguments)

CanonicalClasses._search = begun
main(["evaluate", "hard.g6", "--reference", "hard.g6"])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot send itself Ctrl-C there")
def test_ctrl_c_stops_a_comparison(tmp_path, shuffled):
    rng = np.random.default_rng(0)
    base = nx.random_regular_graph(3, 80, seed=1)
    graphs = [cfi(base, False), cfi(base, True)]
    with (tmp_path / "hard.g6").open("wb") as file:
        for graph in graphs:
            file.write(nx.to_graph6_bytes(shuffled(graph, rng), header=False))
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], cwd=tmp_path, capture_output=True, timeout=300
    )
    assert (done.returncode, b"Traceback" in done.stderr) == (130, False), done.stderr


def test_the_table_shows_what_shares_may_be(capsys):
    with pytest.warns(GraphscoreWarning, match="not decided"):
        result = evaluate(HARD_PAIR, HARD_PAIR[:1], max_steps=1000)
    print_evaluations("title", {"samples": result})
    assert "50% to 100%" in capsys.readouterr().out
