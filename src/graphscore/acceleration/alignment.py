"""Numbers of nodes with which matrix products are fast."""

from __future__ import annotations

MULTIPLE = 16
"""Rows of half precision that begin at multiples of 16 bytes are read many entries at a time, both
those of N nodes and those of N (N - 1) / 2 pairs."""
LARGEST_LOSS = 1.25
"""Times as many pairs as there are that padding may lead to."""


def aligned(nodes: int) -> int:
    """Return the width that graphs of so many nodes are best padded to.

    >>> aligned(187), aligned(64), aligned(20)
    (192, 64, 20)
    """
    wide = -(-nodes // MULTIPLE) * MULTIPLE
    return wide if wide**2 <= LARGEST_LOSS * nodes**2 else nodes
