"""Ratios of distances: arithmetic, zero floors, and results that cannot be compared."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import pytest

from graphscore.errors import SettingsError
from graphscore.metrics import evaluate, ratio_to_floor

TEST = [nx.path_graph(5), nx.cycle_graph(4)]


@pytest.fixture
def floor():
    found = evaluate([nx.complete_graph(4)], TEST, kernel="gaussian-tv")
    return replace(found, degree=0.02, clustering=0.1, orbit=0.5, spectrum=0.25)


def test_ratios(floor):
    result = replace(floor, degree=0.03, clustering=0.1, orbit=0.25, spectrum=0.5)
    ratio = ratio_to_floor(result, floor)
    assert (ratio.degree, ratio.clustering, ratio.orbit, ratio.spectrum) == pytest.approx(
        (1.5, 1.0, 0.5, 2.0)
    )
    assert ratio.average == pytest.approx(5 / 4)
    assert ratio.to_dict()["average"] == ratio.average


def test_a_floor_of_zero_gives_no_ratio(floor):
    flat = replace(floor, clustering=1e-5, orbit=-1e-9)
    ratio = ratio_to_floor(replace(flat, degree=0.06), flat)
    assert (ratio.clustering, ratio.orbit) == (None, None)
    assert ratio.average == pytest.approx((3 + 1) / 2)
    none = replace(floor, degree=0.0, clustering=0.0, orbit=0.0, spectrum=0.0)
    assert ratio_to_floor(floor, none).average is None


def test_without_a_spectrum_there_are_three():
    one, other = evaluate([nx.star_graph(3)], TEST), evaluate([nx.path_graph(3)], TEST)
    ratio = ratio_to_floor(one, other)
    assert ratio.spectrum is None
    assert ratio.degree == pytest.approx(one.degree / other.degree)


@pytest.mark.parametrize(
    "other",
    [{"kernel": "gaussian-emd"}, {"drop_isolated": True}, {"spectrum": False}],
)
def test_results_measured_in_different_ways_are_refused(other):
    samples = [nx.path_graph(4)]
    result = evaluate(samples, TEST, kernel="gaussian-tv")
    floor = evaluate(samples, TEST, **{"kernel": "gaussian-tv", **other})
    with pytest.raises(SettingsError, match=r"differ in .* same settings"):
        ratio_to_floor(result, floor)
    with pytest.raises(SettingsError, match=r"reference_count \(2 and 1\)"):
        ratio_to_floor(result, evaluate(samples, TEST[:1], kernel="gaussian-tv"))
