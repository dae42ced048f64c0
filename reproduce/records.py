"""Records of experiments: JSON files in the results folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphscore.atomic import write_file
from graphscore.errors import OutputError

Record = dict[str, Any]


def stem(name: str, scale: str) -> str:
    """Name of an experiment's record and working folder; other scales than full are appended.

    >>> stem("table2", "full"), stem("table2", "quick")
    ('table2', 'table2_quick')
    """
    return name if scale == "full" else f"{name}_{scale}"


def work_folder(out: Path, name: str, scale: str) -> Path:
    """Folder of the parts and runs of an experiment, below the results folder."""
    return out / "work" / stem(name, scale)


def read_record(out: Path, name: str, scale: str) -> Record | None:
    """Read the record of an experiment from the results folder, None if there is none.

    Raises:
        OutputError: the file is not a record of this experiment.
    """
    file = out / f"{stem(name, scale)}.json"
    if not file.exists():
        return None
    try:
        record: Record = json.loads(file.read_bytes())
        if (record["experiment"], record["scale"]) == (name, scale):
            return record
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise OutputError(
        f"{file}: is not a record of {name}. Move it away, or give another folder with --out."
    )


def write_record(record: Record, out: Path) -> Path:
    """Write a record into the results folder and return its file."""
    file = out / f"{stem(record['experiment'], record['scale'])}.json"
    write_file(file, (json.dumps(record, indent=1) + "\n").encode())
    return file


def joined(record: Record, earlier: Record, keys: Sequence[str]) -> Record:
    """Return a record with the rows of an earlier one for the sets it has no row for.

    Settings and missing parts of a set are those of its row. The provenance is that of both
    records; "seconds" is left out, because the total is unknown.
    """
    new = {row["dataset"]: row for row in record["results"]}
    rows = {row["dataset"]: row for row in earlier["results"]} | new
    kept = rows.keys() - new.keys()
    if not kept:
        return record

    def of_sets(now: Any, before: Any) -> Any:
        if not isinstance(now, Mapping):
            return now
        own = {name: value for name, value in now.items() if name not in kept}
        return own | {name: value for name, value in (before or {}).items() if name in kept}

    missing = [
        *(key for key in record.get("missing", []) if _set_of(key) not in kept),
        *(key for key in earlier.get("missing", []) if _set_of(key) in kept),
    ]
    settings = record["settings"].items()
    return {
        **{name: record[name] for name in record if name not in ("missing", "seconds")},
        "settings": {n: of_sets(value, earlier["settings"].get(n)) for n, value in settings},
        **({"missing": missing} if missing else {}),
        "provenance": common_provenance([earlier["provenance"], record["provenance"]]),
        "results": [rows[name] for name in dict.fromkeys(map(_set_of, keys)) if name in rows],
    }


def _set_of(key: str) -> str:
    return key.partition("_")[0]


def common_provenance(made: Sequence[Record]) -> Record:
    """One provenance of several: where they differ, all values in order of appearance."""
    common: Record = {}
    for key in made[0]:
        given = (part.get(key) for part in made)
        values = list(dict.fromkeys(v for g in given for v in (g if isinstance(g, list) else [g])))
        common[key] = values[0] if len(values) == 1 else values
    return common
