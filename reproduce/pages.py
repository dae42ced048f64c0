"""Result pages: Markdown templates under `reproduce/templates`, filled from records."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from reproduce.tables import percent

FOLDER = Path(__file__).parent / "templates"


def fill(template: str, **values: Any) -> str:
    """Fill a template; a missing value is an error, and blank lines are joined.

    >>> fill("readme.md", rows=[]).startswith("| set |")
    True
    """
    text = _ENVIRONMENT.get_template(template).render(**values)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def provenance_line(record: Mapping[str, Any]) -> str:
    """The line under a heading: command, machine, versions, commit, date."""
    made = record["provenance"]

    def words(key: str) -> str:
        value = made[key]
        return ", ".join(map(str, value)) if isinstance(value, list) else str(value)

    scale = "" if record["scale"] == "full" else f" --scale {record['scale']}"
    where = words("device") if words("device") != "CPU" else words("processor")
    missing = record.get("missing", [])
    rest = f" Parts not computed yet: {', '.join(missing)}." if missing else ""
    seconds = f"; {record['seconds']:.0f} s of computing" if "seconds" in record else ""
    return (
        f"`python -m reproduce {record['experiment']}{scale} --seeds {len(record['seeds'])}`, "
        f"{where}, torch {words('torch')}, commit {words('commit')}, {words('date')}"
        f"{seconds}.{rest}"
    )


def over_seeds(record: Mapping[str, Any]) -> str:
    """What the numbers of a record are averaged over.

    >>> over_seeds({"seeds": [0]}), over_seeds({"seeds": [0, 1]})
    ('one seed', 'mean over 2 seeds ± standard deviation')
    """
    count = len(record["seeds"])
    return "one seed" if count == 1 else f"mean over {count} seeds ± standard deviation"


def _fixed(value: float, digits: int) -> str:
    return f"{value:.{digits}f}"


def _general(value: float) -> str:
    return f"{value:g}"


_ENVIRONMENT = Environment(
    loader=FileSystemLoader(FOLDER),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    autoescape=False,
)
_ENVIRONMENT.filters |= {"fixed": _fixed, "general": _general, "percent": percent}
_ENVIRONMENT.globals |= {"provenance_line": provenance_line, "over_seeds": over_seeds}
