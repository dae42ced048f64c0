"""How objects show themselves: as one line of text, and as a table and a picture in notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from graphscore.streams import visible

Rows = Sequence[tuple[str, str]]
"""Pairs of a heading and a text."""

_CELL = "text-align:left;padding:2px 12px 2px 0;vertical-align:top"


class Shown:
    """Shows itself by `_rows`, and in notebooks by `_picture` too."""

    def _rows(self) -> Rows:
        """Return what there is to know, as pairs of a heading and a text."""
        raise NotImplementedError

    def _picture(self) -> str:
        """Return a picture as HTML; nothing if there is none."""
        return ""

    def __repr__(self) -> str:
        about = "; ".join(f"{heading}: {text}" for heading, text in self._rows())
        return visible(f"{type(self).__name__}({about})")

    def _repr_html_(self) -> str:
        return (
            f"<div><strong>{escape(type(self).__name__)}</strong>{html_table(self._rows())}"
            f"{self._picture()}</div>"
        )


def html_table(rows: Rows) -> str:
    """Return a table in HTML.

    >>> html_table([("loss", "<1")]).count("&lt;1")
    1
    """
    lines = (
        f'<tr><th style="{_CELL}">{escape(visible(heading))}</th>'
        f'<td style="{_CELL}">{escape(visible(text))}</td></tr>'
        for heading, text in rows
    )
    return f"<table>{''.join(lines)}</table>"
