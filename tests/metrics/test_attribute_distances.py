"""Distances in what nodes and edges carry: against loops, invariances, provenance, refusals."""

from __future__ import annotations

import json
import random
from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphscore.errors import GraphDataError, SettingsError
from graphscore.graphs import AttributeSettings
from graphscore.metrics import evaluate, ratio_to_floor
from graphscore.metrics.attributes import places, unions_of

ALL = {
    "node_type": "element",
    "edge_type": "bond",
    "edge_weight": "length",
    "node_features": ["charge", "mass"],
}
TYPES = {"node_type": "element", "edge_type": "bond"}
ROWS = [
    *("node_types", "edge_types", "typed_degree", "edge_weights"),
    *("node_feature_charge", "node_feature_mass"),
]


def molecule(source, elements="CNO", bonds=(1, 2), shift=0.0):
    graph = nx.gnp_random_graph(source.randint(1, 7), 0.4, seed=source.randint(0, 10**6))
    for node in graph:
        values = {"charge": source.gauss(shift, 1), "mass": source.choice([1, 2, 2])}
        graph.nodes[node].update(element=source.choice(elements), **values)
    for edge in graph.edges:
        values = {"bond": source.choice(bonds), "length": source.lognormvariate(shift, 0.5)}
        graph.edges[edge].update(values)
    return graph


def molecules(seed, count, **options):
    source = random.Random(seed)
    return [molecule(source, **options) for _ in range(count)]


def by_loops(samples, reference):
    """All rows as the docs describe them, one pair of graphs at a time; isolated nodes kept."""

    def place(x, numbers):
        low, high = min(numbers), max(numbers)
        margin = max((high - low) / 100, 1e-6 * max(map(abs, numbers)))
        if x < low - margin or x > high + margin:
            return 0 if x < low else 101
        nearest = min(numbers, key=lambda y: (abs(x - y), y))
        below = sum(y < nearest for y in numbers) + sum(y == nearest for y in numbers) / 2
        return 1 + min(99, int(100 * below / len(numbers)))

    def number_rows(values_of):
        numbers = [x for graph in reference for x in values_of(graph)]
        return lambda graph: [place(x, numbers) for x in values_of(graph)] or [0]

    def typed_degrees(graph):
        found = []
        for node, data in graph.nodes(data=True):
            bonds = Counter(graph[node][other]["bond"] for other in graph[node])
            found += [(data["element"], bond, n) for bond, n in bonds.items()]
            found += [] if bonds else [(data["element"], None, 0)]
        return found

    def mean_kernel(xs, ys, kernel):
        return sum(kernel(x, y) for x in xs for y in ys) / (len(xs) * len(ys))

    def total_variation(x, y):
        one, other = Counter(x), Counter(y)
        distance = sum(abs(one[v] / len(x) - other[v] / len(y)) for v in {*x, *y}) / 2
        return np.exp(-(distance**2) / 2)

    def earth_mover(x, y):
        steps = range(102)
        shares = [[sum(v <= step for v in values) / len(values) for step in steps]
                  for values in (x, y)]  # fmt: skip
        distance = np.abs(np.subtract(*shares)).sum() / 100
        return np.exp(-(distance**2) / (2 * 0.3**2))

    def edges(name):
        return lambda graph: [data[name] for *_, data in graph.edges(data=True)]

    def nodes(name):
        return lambda graph: [data[name] for _, data in graph.nodes(data=True)]

    rows = {
        "node_types": (nodes("element"), total_variation),
        "edge_types": (lambda graph: edges("bond")(graph) or [None], total_variation),
        "typed_degree": (typed_degrees, total_variation),
        "edge_weights": (number_rows(edges("length")), earth_mover),
        "node_feature_charge": (number_rows(nodes("charge")), earth_mover),
        "node_feature_mass": (number_rows(nodes("mass")), earth_mover),
    }
    found = {}
    for name, (describe, kernel) in rows.items():
        x, y = list(map(describe, samples)), list(map(describe, reference))
        found[name] = (
            mean_kernel(x, x, kernel) + mean_kernel(y, y, kernel) - 2 * mean_kernel(x, y, kernel)
        )
    return found


def compare(samples, reference, **options):
    return evaluate(samples, reference, **{"drop_isolated": False, **ALL, **options})


def renamed(graph, rng):
    """A copy with nodes and edges in another order."""
    place = dict(zip(graph, rng.permutation(len(graph)).tolist()))
    copy = nx.Graph()
    copy.add_nodes_from(sorted((place[node], data) for node, data in graph.nodes(data=True)))
    copy.add_edges_from((place[v], place[u], data) for u, v, data in graph.edges(data=True))
    return copy


@pytest.mark.parametrize("seed", range(3))
def test_rows_equal_loops_over_pairs(seed):
    samples = molecules(seed, 7, elements="CNP", bonds=(1, 3), shift=0.4)
    reference = molecules(seed + 10, 5)
    result = compare(samples, reference)
    assert list(result.attribute_distances) == ROWS
    assert result.attribute_distances == pytest.approx(by_loops(samples, reference), abs=1e-12)


SETS = st.builds(molecules, st.integers(0, 10**6), st.integers(1, 5))
KERNELS = st.sampled_from(["gaussian-emd", "gaussian-tv"])


@settings(max_examples=30, deadline=None)
@given(SETS, SETS, st.integers(0, 1000), st.booleans())
def test_order_of_nodes_and_graphs_and_names_of_types_do_not_matter(samples, reference, seed, drop):
    rng = np.random.default_rng(seed)
    one = compare(samples, reference, training=reference, drop_isolated=drop)
    other = [renamed(samples[k], rng) for k in rng.permutation(len(samples))]
    again = compare(other, reference, training=reference, drop_isolated=drop)
    for graph in {*samples, *reference}:
        for node in graph:
            element = graph.nodes[node]["element"]
            graph.nodes[node]["element"] = {"C": "Z", "N": "A", "O": "B"}[element]
        for edge in graph.edges:
            graph.edges[edge]["bond"] = -graph.edges[edge]["bond"]
    types = compare(samples, reference, training=reference, drop_isolated=drop)
    for result in (again, types):
        assert result.measured == pytest.approx(one.measured, abs=1e-12)
        assert (result.uniqueness, result.novelty) == (one.uniqueness, one.novelty)


@settings(max_examples=30, deadline=None)
@given(SETS, SETS, KERNELS, st.booleans())
def test_zero_against_itself_and_symmetric_in_types(one, other, kernel, drop):
    options = {"kernel": kernel, "drop_isolated": drop}
    assert set(compare(one, one, **options).measured.values()) == {0.0}
    forth = evaluate(one, other, **TYPES, **options).attribute_distances
    back = evaluate(other, one, **TYPES, **options).attribute_distances
    assert forth == pytest.approx(back, abs=1e-12)


@settings(max_examples=20, deadline=None)
@given(SETS, SETS, KERNELS)
def test_structures_are_compared_as_without_attributes(samples, reference, kernel):
    plain = evaluate(samples, reference, kernel=kernel)
    result = evaluate(samples, reference, kernel=kernel, **ALL)
    assert (result.distances, result.average) == (plain.distances, plain.average)
    other = evaluate(samples, reference, kernel="gaussian-emd", **ALL)
    if result.drop_isolated == other.drop_isolated:
        assert result.attribute_distances == other.attribute_distances
    every = [*result.distances.values(), *result.attribute_distances.values()]
    assert result.average_of_all == pytest.approx(np.mean(every))
    assert plain.average_of_all == plain.average


def test_known_numbers():
    """Half of the bonds differ in type; TV is 1/2, and the kernel exp(-1/8)."""
    one, other = nx.path_graph(3), nx.path_graph(3)
    nx.set_edge_attributes(one, "single", "bond")
    nx.set_edge_attributes(other, {(0, 1): "single", (1, 2): "double"}, "bond")
    found = evaluate([one], [other], edge_type="bond").attribute_distances
    assert found["edge_types"] == pytest.approx(2 - 2 * np.exp(-1 / 8))
    # Ends (single, 1) twice, middle (single, 2); and two of (single, 1), two of (double, 1).
    distance = (abs(2 / 3 - 1 / 2) + 1 / 3 + 1 / 2) / 2
    assert found["typed_degree"] == pytest.approx(2 - 2 * np.exp(-(distance**2) / 2))


def test_a_typed_degree_sees_what_types_alone_do_not():
    """The same bonds and elements, arranged in another way."""
    one, other = nx.path_graph(4), nx.path_graph(4)
    nx.set_node_attributes(one, dict(enumerate("CNNC")), "element")
    nx.set_node_attributes(other, dict(enumerate("NCCN")), "element")
    found = evaluate([one], [other], node_type="element").attribute_distances
    assert found["node_types"] == 0
    assert found["typed_degree"] > 0.1


@pytest.mark.parametrize("change", [1e-9, 1e6, -3.0])
def test_units_of_numbers_do_not_matter(change):
    samples, reference = molecules(0, 20, shift=0.5), molecules(1, 20)
    before = compare(samples, reference).attribute_distances
    for graph in samples + reference:
        for *_, data in graph.edges(data=True):
            data["length"] *= abs(change)
        for _, data in graph.nodes(data=True):
            data["mass"] *= abs(change)
    assert compare(samples, reference).attribute_distances == pytest.approx(before, abs=1e-9)


@pytest.mark.parametrize(
    ("numbers", "reference", "expected"),
    [
        ([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], [13, 38, 63, 88]),
        ([2.0, 2.0 + 1e-9, 2.1, 1.9], [2.0, 2.0], [51, 51, 101, 0]),  # all equal: no others
        ([0.98, 1.4, 1.6, 2.01, 2.5], [1.0, 2.0, 2.0, 2.0], [0, 13, 63, 63, 101]),
        ([0.0, 1.0, -1.0], [0.0], [51, 101, 0]),
        ([1e100, -1e100], [-1e100, 1e100], [76, 26]),
        ([5.0], [], [101]),
        ([], [1.0], []),
    ],
)
def test_places(numbers, reference, expected):
    assert places(np.array(numbers), np.array(reference)).tolist() == expected


def test_every_place_holds_the_same_share_of_the_reference():
    numbers = np.random.default_rng(0).lognormal(0, 2, 5000)
    assert np.bincount(places(numbers, numbers)).tolist() == [0] + [50] * 100
    assert (np.diff(places(np.sort(numbers), numbers)) >= 0).all()


def test_places_are_fixed_by_the_reference_only():
    """So that samples and their floor are measured alike."""
    names = AttributeSettings(**ALL)
    training, reference = molecules(0, 6), molecules(1, 6)
    shifted = molecules(2, 6, shift=9.0)
    _, alone = unions_of({"samples": training, "reference": reference}, names)
    _, known, _ = unions_of(
        {"samples": shifted, "reference": reference, "training": training}, names
    )
    for name in ROWS[4:]:
        assert (alone.of_nodes[name] == known.of_nodes[name]).all()
    assert (alone.of_edges["edge_weights"] == known.of_edges["edge_weights"]).all()


def test_kernels_do_not_saturate():
    """Distances grow with the difference, for graphs of few edges and for those of many."""
    for size in (2, 30):
        source = random.Random(0)

        def graphs(shift, count=300, size=size, source=source):
            made = [nx.path_graph(size) for _ in range(count)]
            for graph in made:
                for edge in graph.edges:
                    kind = "ab"[source.random() < 0.2 + shift / 4]
                    graph.edges[edge].update(bond=kind, length=source.gauss(shift, 1))
            return made

        reference = graphs(0.0)
        found = [
            evaluate(graphs(shift), reference, edge_type="bond", edge_weight="length")
            for shift in (0.0, 0.5, 1.0, 1.5, 2.0)
        ]
        for row in ("edge_types", "edge_weights"):
            values = [result.attribute_distances[row] for result in found]
            assert values == sorted(values)
            assert values[-1] > 1.15 * values[-2] > 5 * values[0]


def test_graphs_without_edges_or_nodes_are_compared_too():
    carbon, nitrogen = nx.empty_graph(3), nx.empty_graph(3)
    for graph, element in ((carbon, "C"), (nitrogen, "N")):
        for _, data in graph.nodes(data=True):
            data.update(element=element, charge=0.5, mass=2)
    result = compare([carbon], [carbon])
    assert set(result.measured.values()) == {0.0}
    assert list(result.attribute_distances) == ROWS
    kept = compare([carbon], [nitrogen]).attribute_distances
    far = pytest.approx(2 - 2 * np.exp(-0.5))
    assert (kept["node_types"], kept["edge_types"], kept["typed_degree"]) == (far, 0, far)
    dropped = compare([carbon], [nitrogen], drop_isolated=True)
    assert dropped.empty_samples == dropped.empty_references == 1
    assert set(dropped.attribute_distances.values()) == {0.0}
    bonded = nx.Graph([(0, 1, {"bond": 1, "length": 1.0})])
    bonded.add_nodes_from((node, carbon.nodes[node]) for node in bonded)
    for drop in (False, True):
        found = compare([carbon], [bonded], drop_isolated=drop).attribute_distances
        assert found["edge_types"] == far  # no edge is a type of its own
        assert found["edge_weights"] > 1


def test_unknown_types_of_samples_are_types_of_their_own():
    reference, samples = molecules(0, 8, elements="C"), molecules(0, 8, elements="P")
    options = {"node_type": "element", "drop_isolated": False}
    result = evaluate(samples, reference, training=reference, **options)
    assert result.attribute_distances["node_types"] == pytest.approx(2 - 2 * np.exp(-0.5))
    assert result.novelty == 1.0
    assert result.average == 0


def test_results_say_what_was_compared():
    graphs = molecules(0, 3)
    result = evaluate(graphs, graphs, kernel="gaussian-tv", **ALL)
    assert result.attributes == ALL
    stored = json.loads(json.dumps(result.to_dict()))
    assert stored["attributes"] == ALL
    assert [*stored][:10] == ["degree", "clustering", "orbit", "spectrum", *ROWS]
    assert (stored["average"], stored["average_of_all"]) == (0, 0)
    assert result.kernel.endswith(
        "spectrum 200 bins, sigma 1; node_types sigma 1; edge_types sigma 1; typed_degree sigma 1),"
        " gaussian-emd (edge_weights 100 places, sigma 0.3; node_features 100 places, sigma 0.3)"
    )
    assert "average 0.0000, node_types 0.0000, " in str(result)
    assert "node_feature_mass 0.0000, average_of_all 0.0000 (3 against 3" in str(result)
    one = evaluate(graphs, graphs, node_features="charge")
    assert list(one.attribute_distances) == ["node_feature_charge"]
    assert list(one.measured)[3:] == ["average", "node_feature_charge", "average_of_all"]
    plain = evaluate(graphs, graphs)
    assert (plain.attributes, plain.attribute_distances) == ({}, {})
    assert not {"attributes", "average_of_all"} & plain.to_dict().keys()


def test_ratios_to_the_floor():
    training, reference = molecules(0, 30), molecules(1, 30)
    floor = compare(training, reference)
    samples = compare(molecules(2, 30, bonds=(1, 1, 1, 2), shift=1.0), reference)
    ratios = ratio_to_floor(samples, floor)
    for name in ROWS:
        expected = samples.attribute_distances[name] / floor.attribute_distances[name]
        assert ratios[name] == pytest.approx(expected)
    structures = [ratios[name] for name in ("degree", "clustering", "orbit")]
    assert ratios["average"] == pytest.approx(np.mean(structures))
    every = [*structures, *(ratios[name] for name in ROWS)]
    assert ratios["average_of_all"] == pytest.approx(np.mean(every))
    assert ratios["edge_weights"] > 3
    with pytest.raises(SettingsError, match="differ in kernel"):
        ratio_to_floor(samples, evaluate(training, reference, drop_isolated=False))
    other = [graph.copy() for graph in training]
    for graph in other + reference:
        nx.set_node_attributes(graph, nx.get_node_attributes(graph, "mass"), "element2")
    with pytest.raises(SettingsError, match="differ in attributes"):
        ratio_to_floor(samples, compare(other, reference, node_type="element2"))


def test_the_global_random_state_is_untouched():
    graphs = molecules(0, 5)
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    compare(graphs, graphs, training=graphs)
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


@pytest.mark.parametrize("name", ["samples", "reference", "training"])
def test_graphs_without_an_attribute_are_refused_by_list_and_number(name):
    good = molecules(0, 4)
    bad = [graph.copy() for graph in good]
    del bad[2].nodes[0]["charge"]
    lists = {"samples": good, "reference": good, "training": good, name: bad}
    message = f"^{name}, graph 3, node 0: no attribute 'charge', which is to be compared"
    with pytest.raises(GraphDataError, match=message):
        evaluate(**lists, **ALL)
    bad[2].nodes[0]["charge"] = "plus"
    message = f"^{name}, graph 3, node 0: .* finite number.* or compare it with --node-type"
    with pytest.raises(GraphDataError, match=message):
        evaluate(**lists, **ALL)
    with pytest.raises(GraphDataError, match=f"^{name} holds no graph"):
        evaluate(**{**lists, name: []}, **ALL)


def test_an_attribute_is_compared_in_one_way():
    graphs = molecules(0, 2)
    with pytest.raises(SettingsError, match="named twice"):
        evaluate(graphs, graphs, edge_type="bond", edge_weight="bond")


def test_each_number_of_a_vector_is_compared():
    def carrying(*vectors):
        graph = nx.path_graph(len(vectors))
        nx.set_node_attributes(graph, dict(enumerate(vectors)), "x")
        return graph

    samples, reference = [carrying([1.0, 5], [2.0, 6])], [carrying([1.0, 7], [2.0, 9])]
    found = evaluate(samples, reference, node_features="x").attribute_distances
    assert found["node_feature_x_0"] == 0 < found["node_feature_x_1"]
    one = evaluate(samples, reference, node_features="x_1").attribute_distances
    assert one == {"node_feature_x_1": found["node_feature_x_1"]}
    with pytest.raises(GraphDataError, match=r"reference, graph 1, node 0: attribute 'x' is \(1,"):
        evaluate(samples, [carrying([1], [2])], node_features="x")
