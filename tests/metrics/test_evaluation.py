"""The whole evaluation: golden values, invariances, isolated nodes, errors."""

from __future__ import annotations

import json
import time

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphscore.datasets import load_dataset
from graphscore.errors import GraphDataError, GraphscoreWarning, SettingsError
from graphscore.metrics import DESCRIPTORS, EvaluationResult, evaluate, orbit_counts

MEASURES = ("degree", "clustering", "orbit")
ALL = tuple(DESCRIPTORS)
KERNELS = st.sampled_from(["gaussian-emd", "gaussian-tv"])


@st.composite
def graph_lists(draw):
    graphs = []
    for _ in range(draw(st.integers(1, 4))):
        size = draw(st.integers(0, 8))
        density, seed = draw(st.floats(0, 1)), draw(st.integers(0, 1000))
        graphs.append(nx.gnp_random_graph(size, density, seed=seed))
    return graphs


def measures(result: EvaluationResult) -> list[float]:
    return list(result.distances.values())


def tv_by_loops(samples, reference):
    """The four distances as SPECTRE's evaluation describes them, one pair of graphs at a time."""

    def mean_kernel(xs, ys, sigma):
        total = 0.0
        for x in xs:
            for y in ys:
                width = max(len(x), len(y))
                x, y = (np.pad(row, (0, width - len(row))) for row in (x, y))
                total += np.exp(-((np.abs(x - y).sum() / 2) ** 2) / (2 * sigma**2))
        return total / (len(xs) * len(ys))

    def share(counts):
        return np.asarray(counts) / np.sum(counts)

    def clustering(graph):
        values = list(nx.clustering(graph).values())
        return share(np.histogram(values, bins=100, range=(0.0, 1.0))[0])

    def spectrum(graph):
        values = np.linalg.eigvalsh(nx.normalized_laplacian_matrix(graph).toarray()).clip(0, 2)
        return share(np.histogram(values, bins=200, range=(-1e-5, 2))[0])

    descriptors = {
        "degree": (lambda graph: share(nx.degree_histogram(graph)), 1.0),
        "clustering": (clustering, 0.1),
        "orbit": (lambda graph: orbit_counts([graph])[0].mean(0), 30.0),
        "spectrum": (spectrum, 1.0),
    }
    found = {}
    for name, (describe, sigma) in descriptors.items():
        x, y = [describe(graph) for graph in samples], [describe(graph) for graph in reference]
        found[name] = (
            mean_kernel(x, x, sigma) + mean_kernel(y, y, sigma) - 2 * mean_kernel(x, y, sigma)
        )
    return found


@pytest.mark.parametrize("drop_isolated", [True, False])
@pytest.mark.parametrize("pair", ["a vs b", "b vs c", "a vs c", "a vs a"])
def test_golden_values(golden, pair, drop_isolated):
    """The golden graphs have no isolated nodes, so both settings must give the same numbers."""
    expected = json.loads((golden / "expected.json").read_text())[pair]
    one, other = (nx.read_graph6(golden / f"{name}.g6") for name in pair.split(" vs "))
    result = evaluate(one, other, drop_isolated=drop_isolated)
    assert result.distances == pytest.approx(expected, rel=0, abs=1e-9)
    assert result.average == pytest.approx(np.mean(list(expected.values())), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(graph_lists(), graph_lists(), st.integers(0, 1000), st.booleans(), KERNELS)
def test_names_and_order_of_nodes_and_graphs_do_not_matter(samples, reference, seed, drop, kernel):
    rng = np.random.default_rng(seed)
    renamed = [
        nx.relabel_nodes(graph, dict(enumerate(rng.permutation(len(graph)).tolist())))
        for graph in samples
    ]
    shuffled = [renamed[index] for index in rng.permutation(len(renamed))]
    settings = {"training": reference, "drop_isolated": drop, "kernel": kernel, "descriptors": ALL}
    one = evaluate(samples, reference, **settings)
    other = evaluate(shuffled, reference, **settings)
    assert measures(other) == pytest.approx(measures(one), abs=1e-12)
    assert (other.uniqueness, other.novelty) == (one.uniqueness, one.novelty)
    assert other.empty_samples == one.empty_samples


@settings(max_examples=40, deadline=None)
@given(graph_lists(), graph_lists(), KERNELS)
def test_zero_against_itself_and_symmetric(one, other, kernel):
    assert measures(evaluate(one, one, kernel=kernel, descriptors=ALL)) == [0.0] * 4
    forth = evaluate(one, other, kernel=kernel, descriptors=ALL)
    back = evaluate(other, one, kernel=kernel, descriptors=ALL)
    assert measures(forth) == pytest.approx(measures(back), abs=1e-12)
    assert all(np.isfinite(measures(forth)))


def test_tv_equals_loops_over_pairs(random_graphs):
    samples = [*random_graphs(6, 2, 12, seed=1), nx.star_graph(5)]
    isolated = nx.cycle_graph(5)
    isolated.add_node(5)
    reference = [*random_graphs(4, 3, 9, seed=2), isolated]
    result = evaluate(samples, reference, kernel="gaussian-tv")
    assert result.distances == pytest.approx(tv_by_loops(samples, reference), abs=1e-12)
    assert not result.drop_isolated  # the tables of this kernel keep them
    assert result.average == pytest.approx(np.mean(list(result.distances.values())))


def test_spectrum_by_earth_movers_distance_in_bins():
    """Eigenvalues of K2 are 0 and 2, of K3 0, 1.5 and 1.5: the distance by bins is known."""
    result = evaluate([nx.complete_graph(2)], [nx.complete_graph(3)], descriptors=["spectrum"])
    width = (2 + 1e-5) / 200
    middle = int((1.5 + 1e-5) / width)
    # Cumulative sums differ by 1/6 up to the bin of 1.5 and by 1/2 from there to the last.
    distance = (middle * (1 / 6)) + (199 - middle) * (1 / 2)
    assert result.distances["spectrum"] == pytest.approx(
        2 - 2 * np.exp(-(distance**2) / 2), abs=1e-9
    )


def test_defaults_follow_the_tables_of_the_kernel(random_graphs):
    graphs = random_graphs(3, 4, 8)
    plain = evaluate(graphs, graphs)
    assert plain.drop_isolated
    assert tuple(plain.distances) == MEASURES
    assert "spectrum" not in plain.kernel + str(plain)
    assert list(plain.to_dict()) == [
        *("degree", "clustering", "orbit", "sample_count", "reference_count", "uniqueness"),
        *("novelty", "training_count", "drop_isolated", "empty_samples", "empty_references"),
        *("kernel", "estimator", "seconds", "undecided", "uniqueness_low", "novelty_low"),
        "average",
    ]
    asked = evaluate(graphs, graphs, descriptors=["spectrum", "orbit", "degree", "clustering"])
    assert tuple(asked.distances) == ALL
    assert asked.to_dict()["spectrum"] == 0.0
    assert "spectrum 0.0000, average 0.0000 (3 against 3; " in str(asked)
    less = evaluate(graphs, graphs, kernel="gaussian-tv", descriptors=MEASURES, drop_isolated=True)
    assert less.drop_isolated
    assert tuple(less.distances) == MEASURES


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {},
            "gaussian-emd (degree sigma 1; clustering 100 bins, sigma 0.1), "
            "gaussian (orbit sigma 30)",
        ),
        (
            {"descriptors": ALL},
            "gaussian-emd (degree sigma 1; clustering 100 bins, sigma 0.1; spectrum 200 bins, "
            "sigma 1), gaussian (orbit sigma 30)",
        ),
        (
            {"kernel": "gaussian-tv"},
            "gaussian-tv (degree sigma 1; clustering 100 bins, sigma 0.1; orbit sigma 30; "
            "spectrum 200 bins, sigma 1)",
        ),
    ],
)
def test_results_name_kernels_bins_and_widths(options, words):
    assert evaluate([nx.path_graph(3)], [nx.path_graph(3)], **options).kernel == words


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "tv"}, r"unknown kernel 'tv'.*gaussian-emd, gaussian-tv"),
        ({"descriptors": ["degree", "wavelet"]}, r"descriptor 'wavelet'.*degree, clustering"),
        ({"descriptors": []}, r"no descriptor given.*at least one of: degree"),
    ],
)
def test_unknown_kernels_and_descriptors(options, message):
    graphs = [nx.path_graph(3)]
    with pytest.raises(SettingsError, match=message):
        evaluate(graphs, graphs, **options)


@pytest.mark.parametrize(
    ("family", "published"),
    [("planar", [0.0002, 0.0310, 0.0005]), ("sbm", [0.0008, 0.0332, 0.0255])],
)
def test_published_training_rows(family, published):
    """Training against test graphs as in Table 1 of SPECTRE (Martinkus et al. 2022)."""
    data = load_dataset(f"{family}-spectre")
    result = evaluate(data.train, data.test, kernel="gaussian-tv", descriptors=MEASURES)
    assert [round(value, 4) for value in measures(result)] == published


def test_isolated_nodes_are_dropped_on_request():
    padded = nx.path_graph(4)
    padded.add_nodes_from([4, 5])
    dropped = evaluate([padded], [nx.path_graph(4)])
    assert measures(dropped) == [0.0, 0.0, 0.0]
    assert dropped.drop_isolated
    kept = evaluate([padded], [nx.path_graph(4)], drop_isolated=False)
    assert kept.distances["degree"] > 0
    assert kept.distances["orbit"] > 0
    assert not kept.drop_isolated
    assert padded.number_of_nodes() == 6  # the caller's graph is untouched


def test_graphs_without_edges_stay_in_the_metric_and_are_counted():
    samples = [nx.empty_graph(5), nx.empty_graph(0), nx.path_graph(3)]
    result = evaluate(samples, [nx.empty_graph(1)])
    assert (result.empty_samples, result.empty_references) == (2, 1)
    assert measures(result) == measures(
        evaluate([nx.empty_graph(1), nx.empty_graph(1), nx.path_graph(3)], [nx.empty_graph(2)])
    )
    # Kept nodes leave only the graph that has none.
    assert evaluate(samples, samples, drop_isolated=False).empty_samples == 1
    assert measures(evaluate([nx.empty_graph(4)], [nx.empty_graph(1)])) == [0.0, 0.0, 0.0]


def test_uniqueness_and_novelty_see_the_graphs_that_are_compared():
    padded = nx.path_graph(3)
    padded.add_node(3)
    pair = [padded, nx.path_graph(3)]
    dropped = evaluate(pair, pair, training=[nx.path_graph(3)])
    assert (dropped.uniqueness, dropped.novelty, dropped.training_count) == (0.5, 0.0, 1)
    kept = evaluate(pair, pair, training=[nx.path_graph(3)], drop_isolated=False)
    assert (kept.uniqueness, kept.novelty) == (1.0, 0.5)
    assert evaluate(pair, pair).novelty is None


def test_result_carries_its_provenance():
    start = time.perf_counter()
    result = evaluate([nx.path_graph(3)] * 2, [nx.cycle_graph(3)], training=[nx.path_graph(3)])
    assert 0 < result.seconds <= time.perf_counter() - start
    stored = json.loads(json.dumps(result.to_dict()))
    assert stored["average"] == pytest.approx(np.mean([stored[name] for name in MEASURES]))
    assert (stored["sample_count"], stored["reference_count"]) == (2, 1)
    assert "gaussian-emd" in stored["kernel"]
    assert "biased" in stored["estimator"]
    assert stored["seconds"] == result.seconds
    assert "2 against 1; unique 50.0%, novel 0.0%" in str(result)
    with pytest.raises(AttributeError):
        result.kernel = ""


@pytest.mark.parametrize(("training", "novelty_low"), [(None, None), ([nx.cubical_graph()], 0.0)])
def test_lower_bounds_are_given_where_graphs_were_not_decided(
    training, novelty_low, shuffled, monkeypatch, recwarn
):
    monkeypatch.setattr("graphscore.metrics.isomorphism._QUICK_CALLS", 0)  # only the search
    rng = np.random.default_rng(0)
    pair = [shuffled(nx.cubical_graph(), rng) for _ in range(2)]
    decided = evaluate(pair, pair, training=training)
    assert (decided.undecided, decided.uniqueness) == (0, 0.5)
    assert (decided.uniqueness_low, decided.novelty_low) == (None, None)
    assert not recwarn
    with pytest.warns(GraphscoreWarning, match="not decided within 1 steps"):
        result = evaluate(pair, pair, training=training, max_steps=1)
    assert (result.uniqueness, result.uniqueness_low) == (1.0, 0.5)
    assert result.novelty_low == novelty_low


def test_the_global_random_state_is_untouched(random_graphs):
    graphs = random_graphs(5, 3, 8)
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    evaluate(graphs, graphs, training=graphs)
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


@pytest.mark.parametrize("name", ["samples", "reference", "training"])
def test_empty_lists_and_bad_graphs_name_the_argument(name):
    path = [nx.path_graph(2)]
    good = {"samples": path, "reference": path, "training": path}
    with pytest.raises(GraphDataError, match=f"^{name} holds no graph.*at least one"):
        evaluate(**{**good, name: []})
    with pytest.raises(GraphDataError, match=f"^{name}, graph 0: .*undirected"):
        evaluate(**{**good, name: [nx.DiGraph([(0, 1)])]})
