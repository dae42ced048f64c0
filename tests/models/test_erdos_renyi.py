"""Erdős–Rényi graphs: sizes and density by size are the training graphs', and nothing else is."""

from __future__ import annotations

import json
import math

import networkx as nx
import pytest

from graphscore import GraphGenerator
from graphscore.cli.main import main
from graphscore.diffusion import EdgeDensity
from graphscore.errors import GraphscoreError, SettingsError
from graphscore.graphs import GraphBatch

SMALL, LARGE = 10, 40


@pytest.fixture(scope="module")
def training():
    """Cycles and paths, whose density falls with their size."""
    return [nx.cycle_graph(SMALL)] * 30 + [nx.path_graph(LARGE)] * 10


@pytest.fixture(scope="module")
def fitted(training):
    return GraphGenerator("erdos-renyi", device="cpu", show_progress=False).fit(training)


@pytest.mark.parametrize(("nodes", "edges"), [(SMALL, 10), (LARGE, 39)])
def test_density_by_size_is_that_of_the_training_graphs(fitted, nodes, edges):
    """With two sizes the regression meets both densities; samples are within 4 standard errors."""
    pairs, number = math.comb(nodes, 2), 400
    density = edges / pairs
    assert fitted._trained().model.density.at(nodes) == pytest.approx(density, rel=0.01)
    samples = fitted.sample(number, sizes=[nodes] * number, seed=1)
    found = sum(graph.number_of_edges() for graph in samples) / (number * pairs)
    error = math.sqrt(density * (1 - density) / (number * pairs))
    assert abs(found - density) < 4 * error + 0.01 * density


def test_edges_are_independent_and_all_pairs_alike(fitted):
    """The number of edges has the binomial's variance, and so has every pair."""
    pairs, number = math.comb(SMALL, 2), 2000
    samples = fitted.sample(number, sizes=[SMALL] * number, seed=2)
    p = 10 / pairs
    counts = [graph.number_of_edges() for graph in samples]
    mean = sum(counts) / number
    variance = sum((count - mean) ** 2 for count in counts) / (number - 1)
    assert variance == pytest.approx(pairs * p * (1 - p), rel=6 * math.sqrt(2 / number))
    for pair in ((0, 1), (3, 7), (SMALL - 2, SMALL - 1)):
        share = sum(graph.has_edge(*pair) for graph in samples) / number
        assert abs(share - p) < 5 * math.sqrt(p * (1 - p) / number)


def test_sizes_are_those_of_the_training_graphs(fitted):
    sizes = [len(graph) for graph in fitted.sample(400, seed=3)]
    assert set(sizes) == {SMALL, LARGE}
    assert abs(sizes.count(SMALL) / 400 - 0.75) < 4 * math.sqrt(0.75 * 0.25 / 400)


def test_other_sizes_follow_the_regression(fitted, training):
    expected = EdgeDensity.of(GraphBatch.from_networkx(training)).at(20)
    samples = fitted.sample(200, sizes=[20] * 200, seed=4)
    found = sum(graph.number_of_edges() for graph in samples) / (200 * 190)
    assert abs(found - expected) < 4 * math.sqrt(expected / (200 * 190))


def test_what_it_learned_is_the_density_alone(fitted, training, tmp_path):
    fitted.save(tmp_path / "model")
    document = json.loads((tmp_path / "model/checkpoint.json").read_text())
    assert document["settings"] == {"model": "erdos-renyi", "seed": 0}
    density = EdgeDensity.of(GraphBatch.from_networkx(training))
    assert document["learned"] == {"density": density.to_dict()}
    assert (document["step"], document["sizes"]) == (0, {"10": 30, "40": 10})


@pytest.mark.parametrize("graph", [nx.empty_graph(1), nx.empty_graph(5), nx.complete_graph(5)])
def test_extreme_graphs(graph):
    model = GraphGenerator("erdos-renyi", device="cpu", show_progress=False).fit([graph] * 50)
    samples = model.sample(50, seed=1)
    pairs = 50 * max(1, math.comb(len(graph), 2))
    difference = sum(s.number_of_edges() for s in samples) - 50 * graph.number_of_edges()
    assert abs(difference) < 0.02 * pairs
    assert {len(s) for s in samples} == {len(graph)}


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda g: g.sample(1, communities=[(3, 3)]), "not conditioned on communities"),
        (lambda g: g.sample(1, sampling={"steps": 3}), "'erdos-renyi' has no settings for samp"),
        (lambda g: g.sample(1, guidance=1.0), "'erdos-renyi' has no settings for guidance"),
        (lambda g: g.sampler_settings({"steps": 3}), "'erdos-renyi' has no settings for samp"),
        (lambda g: g.select_sampling([nx.path_graph(3)]), "no sampling settings to choose from"),
        (lambda g: g.select_guidance([nx.path_graph(3)]), "no settings for guidance"),
        (lambda g: g.guided_by(g), "to denoise at every noise level"),
        (lambda g: g.network, "'erdos-renyi' has no network"),
    ],
)
def test_what_has_no_meaning_is_refused(fitted, use, words):
    with pytest.raises(GraphscoreError, match=words):
        use(fitted)


def test_nothing_but_a_seed_can_be_set():
    for section in ("network", "training", "sampling", "noise"):
        with pytest.raises(SettingsError, match=f"unknown setting '{section}'; known here: model"):
            GraphGenerator("erdos-renyi", **{section: {}})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--sampler", "heun"], "has no settings for sampling"),
        (["--steps", "3"], "has no settings for sampling"),
        (["--threshold", "0.4"], "has no settings for sampling"),
        (["--guidance", "1"], "has no settings for guidance"),
        (["--communities", "3,3"], "not conditioned on communities"),
    ],
)
def test_options_without_meaning_are_refused_on_the_command_line(
    fitted, tmp_path, capsys, options, words
):
    fitted.save(tmp_path / "model")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SystemExit) as stopped:
        main(["sample", str(tmp_path / "model"), *options])
    assert stopped.value.code == 2
    assert words in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before
