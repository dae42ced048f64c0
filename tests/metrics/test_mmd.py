"""Kernels and the discrepancy against independent computations."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import wasserstein_distance

from graphscore.errors import GraphDataError
from graphscore.metrics import cumulative, gaussian, gaussian_emd, gaussian_tv, mmd, normalised
from graphscore.metrics.mmd import _ROWS

HISTOGRAM = arrays(np.int64, 8, elements=st.integers(0, 20)).filter(lambda row: row.sum() > 0)


@given(HISTOGRAM, HISTOGRAM, st.sampled_from([1.0, 0.01]))
def test_emd_equals_scipy(p, q, spacing):
    place = np.arange(8) * spacing
    distance = wasserstein_distance(place, place, p, q)
    value = gaussian_emd(cumulative([p]), cumulative([q]), sigma=0.5, spacing=spacing)[0, 0]
    assert value == pytest.approx(np.exp(-(distance**2) / (2 * 0.5**2)), abs=1e-12)


@given(HISTOGRAM, HISTOGRAM, st.integers(0, 5))
def test_padding_histograms_changes_nothing(p, q, extra):
    kernel = partial(gaussian_emd, sigma=1.0, spacing=1.0)
    wide = kernel(cumulative([p], 8 + extra), cumulative([q], 8 + extra))
    assert wide == pytest.approx(kernel(cumulative([p]), cumulative([q])), abs=1e-12)


@given(HISTOGRAM, HISTOGRAM, st.integers(0, 5))
def test_tv_is_the_largest_difference_of_probabilities(p, q, extra):
    x, y = normalised([p], 8 + extra), normalised([q], 8 + extra)
    # The set where p exceeds q shows the difference best.
    distance = (p / p.sum() - q / q.sum()).clip(0).sum()
    value = gaussian_tv(x, y, sigma=0.7)[0, 0]
    assert value == pytest.approx(np.exp(-(distance**2) / (2 * 0.7**2)), abs=1e-12)


def test_gaussian_against_loops():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))
    expected = [[np.exp(-sum((a - b) ** 2) / (2 * 1.7**2)) for b in y] for a in x]
    np.testing.assert_allclose(gaussian(x, y, sigma=1.7), expected, atol=1e-14)


def test_mmd_against_loops_over_all_pairs():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(6, 2)), rng.normal(size=(3, 2))
    kernel = partial(gaussian, sigma=0.8)

    def mean(a, b):
        return np.mean([kernel(one[None], two[None])[0, 0] for one in a for two in b])

    expected = mean(x, x) + mean(y, y) - 2 * mean(x, y)
    assert mmd(x, y, kernel) == pytest.approx(expected, abs=1e-14)


def test_rows_in_pieces_give_the_same_mean():
    x = np.random.default_rng(2).normal(size=(_ROWS + 7, 2))
    kernel = partial(gaussian, sigma=1.0)
    whole = kernel(x, x).mean() + 1 - 2 * kernel(x, x[:1]).mean()
    assert mmd(x, x[:1], kernel) == pytest.approx(whole, abs=1e-12)


def test_equal_descriptors_are_compared_once():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(40, 2))[rng.integers(0, 40, 3000)]
    seen = []

    def kernel(a, b):
        seen.append(len(a) * len(b))
        return gaussian(a, b, sigma=1.0)

    whole = gaussian(x, x, sigma=1.0).mean() + 1 - 2 * gaussian(x, x[:1], sigma=1.0).mean()
    assert mmd(x, x[:1], kernel) == pytest.approx(whole, abs=1e-12)
    assert sum(seen) <= 41 * 41


def test_errors_say_what_to_do():
    with pytest.raises(GraphDataError, match="histogram 1 is empty"):
        cumulative([[1, 0], [0, 0]])
    with pytest.raises(GraphDataError, match="larger width"):
        cumulative([[1, 0]], width=1)
    with pytest.raises(GraphDataError, match="at least one of each"):
        mmd(np.zeros((0, 2)), np.zeros((1, 2)), partial(gaussian, sigma=1.0))


def test_without_a_width_nothing_is_padded():
    assert normalised([[1, 3], [2, 2]]).tolist() == [[0.25, 0.75], [0.5, 0.5]]
    assert cumulative([[1, 3], [2, 2]]).tolist() == [[0.25, 1.0], [0.5, 1.0]]
    assert normalised([[1, 3]], 2).tolist() == [[0.25, 0.75]]


def test_every_row_is_divided_by_its_own_sum():
    assert normalised([[1, 3], [4, 4], [5, 0]]).tolist() == [[0.25, 0.75], [0.5, 0.5], [1, 0]]
    assert normalised([[1, 1, 2]] * 2, 4).tolist() == [[0.25, 0.25, 0.5, 0]] * 2
