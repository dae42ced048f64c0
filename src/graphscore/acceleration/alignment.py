"""Numbers of nodes with which matrix products are fast."""

from __future__ import annotations

MULTIPLES = (16, 8, 4, 2)
"""Rows of half precision that begin at multiples of 16 bytes are read many entries at a time, those
that begin at multiples of 8 or 4 bytes fewer."""
LARGEST_LOSS = 1.25
"""Times as many pairs as there are that padding may lead to."""


def aligned(nodes: int) -> int:
    """Return the width that graphs of so many nodes are best padded to.

    >>> aligned(187), aligned(64), aligned(38), aligned(27), aligned(9)
    (192, 64, 40, 28, 10)
    """
    wide = (-(-nodes // multiple) * multiple for multiple in MULTIPLES)
    return next((width for width in wide if width**2 <= LARGEST_LOSS * nodes**2), nodes)
