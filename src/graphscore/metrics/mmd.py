"""Maximum mean discrepancy (MMD) between two sets of descriptors."""

from __future__ import annotations

import numpy as np

from graphscore.errors import GraphDataError
from graphscore.metrics.disjoint_union import FloatArray
from graphscore.metrics.kernels import Kernel

_ROWS = 512  # rows of a kernel matrix held at a time; bounds memory for large sample sets


def mmd(x: FloatArray, y: FloatArray, kernel: Kernel) -> float:
    """Return the biased estimate mean k(x,x') + mean k(y,y') - 2 mean k(x,y) (a squared distance).

    The diagonal is included, as in published evaluations, so the estimate depends on the number of
    descriptors: compare only values of equal counts. It is not clipped: rounding, or a kernel that
    is not positive definite, may give a value slightly below zero.

    Args:
        x: (n,D) descriptors.
        y: (m,D) descriptors.
        kernel: function of (n,D) and (m,D) that returns (n,m).

    Raises:
        GraphDataError: one of the sets is empty.

    Example:
        >>> from functools import partial
        >>> from graphscore.metrics.kernels import gaussian
        >>> x, y = np.array([[0.0]]), np.array([[2.0]])
        >>> round(mmd(x, y, partial(gaussian, sigma=1.0)), 4)
        1.7293
    """
    if not len(x) or not len(y):
        raise GraphDataError(
            f"cannot compare {len(x)} with {len(y)} descriptors; give at least one of each."
        )
    ones, others = _distinct(x), _distinct(y)
    return (
        _mean(ones, ones, kernel) + _mean(others, others, kernel) - 2 * _mean(ones, others, kernel)
    )


def _distinct(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the distinct rows and their shares; many tiny graphs have few distinct descriptors."""
    rows, counts = np.unique(x, axis=0, return_counts=True)
    return rows, counts / len(x)


def _mean(
    x: tuple[FloatArray, FloatArray], y: tuple[FloatArray, FloatArray], kernel: Kernel
) -> float:
    (rows, shares), (others, other_shares) = x, y
    return sum(
        float(
            shares[start : start + _ROWS]
            @ kernel(rows[start : start + _ROWS], others)
            @ other_shares
        )
        for start in range(0, len(rows), _ROWS)
    )
