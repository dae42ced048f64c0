"""Ratios to the floor: arithmetic, zero floors, and results that cannot be compared."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import pytest

from graphscore.errors import SettingsError
from graphscore.metrics import DESCRIPTORS, evaluate, ratio_to_floor

TEST = [nx.path_graph(5), nx.cycle_graph(4)]


def with_distances(result, *values):
    return replace(result, distances=dict(zip(DESCRIPTORS, values, strict=True)))


@pytest.fixture
def floor():
    found = evaluate([nx.complete_graph(4)], TEST, kernel="gaussian-tv")
    return with_distances(found, 0.02, 0.1, 0.5, 0.25)


def test_ratios(floor):
    ratio = ratio_to_floor(with_distances(floor, 0.03, 0.1, 0.25, 0.5), floor)
    expected = {"degree": 1.5, "clustering": 1.0, "orbit": 0.5, "spectrum": 2.0, "average": 1.25}
    assert ratio == pytest.approx(expected)


def test_a_floor_of_zero_gives_no_ratio(floor):
    flat = with_distances(floor, 0.02, 1e-5, -1e-9, 0.25)
    ratio = ratio_to_floor(with_distances(floor, 0.06, 1e-5, -1e-9, 0.25), flat)
    assert (ratio["clustering"], ratio["orbit"]) == (None, None)
    assert ratio["average"] == pytest.approx((3 + 1) / 2)
    assert ratio_to_floor(floor, with_distances(floor, 0.0, 0.0, 0.0, 0.0))["average"] is None


def test_a_floor_is_zero_where_a_table_shows_zero(floor):
    small = with_distances(floor, 4.9e-5, 5.1e-5, 1.0, 1.0)
    ratio = ratio_to_floor(with_distances(floor, 1.0, 1.0, 1.0, 1.0), small)
    assert ratio["degree"] is None
    assert ratio["clustering"] == pytest.approx(1 / 5.1e-5)


def test_without_a_spectrum_there_are_three():
    one, other = evaluate([nx.star_graph(3)], TEST), evaluate([nx.path_graph(3)], TEST)
    ratio = ratio_to_floor(one, other)
    assert ratio["spectrum"] is None
    assert ratio["degree"] == pytest.approx(one.distances["degree"] / other.distances["degree"])


@pytest.mark.parametrize(
    "other",
    [{"kernel": "gaussian-emd"}, {"drop_isolated": True}, {"descriptors": ["degree"]}],
)
def test_results_measured_in_different_ways_are_refused(other):
    samples = [nx.path_graph(4)]
    result = evaluate(samples, TEST, kernel="gaussian-tv")
    floor = evaluate(samples, TEST, **{"kernel": "gaussian-tv", **other})
    with pytest.raises(SettingsError, match=r"differ in .* same settings"):
        ratio_to_floor(result, floor)
    with pytest.raises(SettingsError, match=r"reference_count \(2 and 1\)"):
        ratio_to_floor(result, evaluate(samples, TEST[:1], kernel="gaussian-tv"))
