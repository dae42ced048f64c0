"""docs/api.md is what the docstrings say."""

from __future__ import annotations

import graphscore
from scripts.api_page import PAGE, _text, page


def test_the_page_is_up_to_date():
    """If not: python -m scripts.api_page."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_what_users_import_is_on_the_page():
    text = page()
    for name in set(graphscore.__all__) - {"__version__", "datasets", "metrics"}:
        assert f"\n### {name}\n" in text
    for name in ("fit", "sample", "evaluate", "save", "load", "plot_samples", "set_params"):
        assert f"\n#### GraphGenerator.{name}\n" in text


def test_docstrings_become_lists_and_code():
    docstring = """Return one.

Args:
    a, b: first
        line.
    c: second.

Example:
    >>> 1
    1
"""
    assert _text(docstring) == (
        "Return one.\n\n**Args**\n\n- `a, b`: first line.\n- `c`: second.\n\n"
        "**Example**\n\n```python\n>>> 1\n1\n```\n"
    )
