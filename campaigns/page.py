"""Write docs/reliability.md from the records of the campaigns in results/.

    python -m campaigns page

The text is in `reliability.md.j2`; every number comes from a record.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from graphscore.atomic import write_file

TEMPLATE = "reliability.md.j2"
PREFIX = "campaign_"


def cell(value: Any) -> str:
    """Return one number or text of a table.

    >>> cell(0.12345), cell(1234567), cell("a|b"), cell(None)
    ('0.123', '1,234,567', 'a\\\\|b', '')
    """
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value).replace("|", "\\|")


def columns(rows: dict[str, dict[str, Any]]) -> list[str]:
    """Return the keys that occur in the rows, in order of appearance.

    >>> columns({"a": {"tried": 1}, "b": {"tried": 2, "failed": 0}})
    ['tried', 'failed']
    """
    return list(dict.fromkeys(key for row in rows.values() for key in row))


def render(results: Path, docs: Path) -> None:
    """Write reliability.md into `docs` from the records in `results`."""
    files = sorted(results.glob(f"{PREFIX}*.json"))
    records = {
        file.stem.removeprefix(PREFIX): json.loads(file.read_text(encoding="utf-8"))
        for file in files
    }
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {"cell": cell, "columns": columns}
    page = environment.get_template(TEMPLATE).render(records=records)
    write_file(docs / "reliability.md", (page.rstrip() + "\n").encode())
