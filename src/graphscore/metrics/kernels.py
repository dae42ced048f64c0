"""Kernels between descriptors of graphs.

Each takes (n,D) and (m,D) descriptors and a width sigma, and returns the (n,m) kernel matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt

from graphscore.errors import GraphDataError
from graphscore.metrics.disjoint_union import FloatArray

Kernel = Callable[[FloatArray, FloatArray], FloatArray]
"""A function of (n,D) and (m,D) descriptors that returns the (n,m) kernel matrix."""


def gaussian(x: FloatArray, y: FloatArray, *, sigma: float) -> FloatArray:
    """Return the Gaussian kernel k(x,y) = exp(-|x - y|^2 / (2 sigma^2)).

    Example:
        >>> gaussian(np.array([[0.0]]), np.array([[0.0], [2.0]]), sigma=1.0).round(4).tolist()
        [[1.0, 0.1353]]
    """
    return np.exp(-_distances(x, y, "sqeuclidean") / (2 * sigma**2))


def gaussian_emd(x: FloatArray, y: FloatArray, *, sigma: float, spacing: float) -> FloatArray:
    """Return k(x,y) = exp(-EMD(x,y)^2 / (2 sigma^2)) between cumulative histograms.

    On a line with equally spaced bins the earth mover's distance is the L1 distance of the
    cumulative distributions times the spacing, EMD(p,q) = spacing * sum_k |P_k - Q_k|.

    Rows of x and y are those of `cumulative`; `spacing` is the distance of neighbouring bins.

    Example:
        >>> x, y = cumulative(np.array([[1, 0, 0]])), cumulative(np.array([[0, 0, 1]]))
        >>> gaussian_emd(x, y, sigma=1.0, spacing=1.0).round(4).tolist()
        [[0.1353]]
    """
    return np.exp(-((spacing * _distances(x, y, "cityblock")) ** 2) / (2 * sigma**2))


def gaussian_tv(x: FloatArray, y: FloatArray, *, sigma: float) -> FloatArray:
    """Return k(x,y) = exp(-TV(x,y)^2 / (2 sigma^2)) with TV(x,y) = sum_k |x_k - y_k| / 2.

    Between distributions TV is the total variation distance. As published, the same formula is
    used for descriptors that do not sum to one.

    Example:
        >>> x, y = normalised([[1, 0, 0]]), normalised([[0, 0, 1]])
        >>> gaussian_tv(x, y, sigma=1.0).round(4).tolist()
        [[0.6065]]
    """
    return np.exp(-((_distances(x, y, "cityblock") / 2) ** 2) / (2 * sigma**2))


def cumulative(histograms: npt.ArrayLike, width: int | None = None) -> FloatArray:
    """Normalise each row of (n,D) histograms, pad to `width` bins, and return cumulative sums.

    Raises:
        GraphDataError: a histogram is empty, or has more than `width` bins.

    Example:
        >>> cumulative([[1, 1]], width=3).tolist()
        [[0.5, 1.0, 1.0]]
    """
    return np.cumsum(normalised(histograms, width), axis=1)


def normalised(histograms: npt.ArrayLike, width: int | None = None) -> FloatArray:
    """Divide each row of (n,D) histograms by its sum and pad it with zeros to `width` bins.

    Raises:
        GraphDataError: a histogram is empty, or has more than `width` bins.

    Example:
        >>> normalised([[1, 3]], width=3).tolist()
        [[0.25, 0.75, 0.0]]
    """
    counts = np.asarray(histograms, dtype=np.float64)
    total = counts.sum(1, keepdims=True)
    if np.any(total == 0):
        raise GraphDataError(
            f"histogram {int(np.flatnonzero(total == 0)[0])} is empty and cannot be normalised. "
            "Leave out graphs without nodes."
        )
    extra = 0 if width is None else width - counts.shape[1]
    if extra < 0:
        raise GraphDataError(
            f"cannot pad histograms of {counts.shape[1]} bins to {width}; give a larger width."
        )
    return np.pad(counts / total, ((0, 0), (0, extra)))


def _distances(
    x: FloatArray, y: FloatArray, metric: Literal["cityblock", "sqeuclidean"]
) -> FloatArray:
    from scipy.spatial.distance import cdist  # slow to import, so not before it is needed

    return cdist(x, y, metric)
