"""Which experiments there are, and how one is run."""

from __future__ import annotations

import difflib
import fnmatch
import importlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphscore.atomic import write_file
from graphscore.errors import OutputError, SettingsError
from graphscore.experiments.tables import Table

if TYPE_CHECKING:
    from graphscore.experiments.context import Context

Record = dict[str, Any]

TITLES = {
    "training": "How long and how wide to train, chosen on validation graphs",
    "generation": "Table 2: MMD of samples, beside published rows and floors",
    "ablation": "Table 3: learnable adjacency and several channels, train and test loss",
    "algorithms": "Table 1: learning graph algorithms edge by edge",
    "samples": "Sample figures, valid lobsters, a Langevin trajectory",
    "channels": "Figure 2: what the intermediate channels hold",
    "frontier": "Past the paper: the denoiser on seven sets, quality against calls and time",
    "denoiser": "Past the paper: what each part of the denoiser brings",
    "faults": "Past the paper: why invalid samples of shipped models are not valid",
    "permutation": "Theorem 1: likelihoods do not depend on the order of the nodes",
}
"""Name and title of each experiment; `graphscore.experiments.NAME` holds it as EXPERIMENT."""


@dataclass(frozen=True)
class Experiment:
    """One table or figure of the paper.

    Attributes:
        name: what the command line takes.
        keys: the keys of its parts, in order; they may depend on scale and seeds.
        settings: what decides the outcome, as plain values; stored with parts and record.
        compute: gives one part, by its key, as plain values.
        assemble: makes the record's "results" from all parts.
        tables: what the command line prints of a record.
        markdown: the section of docs/results.md about a record, from its heading on; a pure
            function.
        pictures: draws a record's pictures into a folder and returns their files.
        seeded: False for one that runs a single seed, 0, however many are asked for.
        part_settings: what decides one part, by its key, if that is less than `settings`; so that
            other parts need not be computed again when it changes.
        needs_all: whether `assemble` needs every part; if not, it gives one row for each "dataset",
            which the keys of its parts begin with, and leaves out what is missing.
    """

    name: str
    keys: Callable[[Context], Sequence[str]]
    settings: Callable[[Context], Mapping[str, Any]]
    compute: Callable[[Context, str], Record]
    assemble: Callable[[Context, Mapping[str, Record]], Any]
    tables: Callable[[Record], Sequence[Table]]
    markdown: Callable[[Record], str]
    pictures: Callable[[Record, Path], Sequence[Path]] = lambda record, out: []
    seeded: bool = True
    part_settings: Callable[[Context, str], Mapping[str, Any]] | None = None
    needs_all: bool = True

    @property
    def title(self) -> str:
        """One line on what it shows."""
        return TITLES[self.name]

    def run(
        self, context: Context, *, finished: bool = False, earlier: Record | None = None
    ) -> Record:
        """Compute the parts that are not there yet and return the record.

        Args:
            finished: compute nothing and make the record of what is there; "missing" in it names
                the other parts.
            earlier: a record of the same experiment and scale. With `finished`, sets without a
                row of their own keep that of the earlier record, where not all parts are needed.

        Raises:
            StoppedError: it was asked to stop; finished parts are kept.
            SettingsError: too little is finished for a record.
        """
        keys = self.keys(context)
        there = [key for key in keys if context.has_part(key)] if finished else list(keys)
        missing = [key for key in keys if key not in there]
        if not there or (missing and self.needs_all):
            raise SettingsError(
                f"the record of {self.name} needs parts that are not finished: "
                f"{', '.join(missing)}. Compute them first, without --finished."
            )
        parts = self.run_parts(context, there)
        record = {
            "experiment": self.name,
            "title": self.title,
            "scale": context.sizes.name,
            "seeds": list(range(context.seeds if self.seeded else 1)),
            "settings": dict(self.settings(context)),
            **({"missing": missing} if missing else {}),
            "provenance": _common([part["provenance"] for part in parts.values()]),
            "seconds": sum(part["seconds"] for part in parts.values()),
            "results": self.assemble(context, parts),
        }
        if earlier is not None and finished and not self.needs_all:
            return _joined(record, earlier, keys)
        return record

    def run_parts(self, context: Context, keys: Sequence[str]) -> dict[str, Record]:
        """Compute the given parts, or read those that are there."""
        of_part = self.part_settings or (lambda context, _: self.settings(context))
        return {
            key: context.part(key, partial(self.compute, context, key), of_part(context, key))
            for key in keys
        }

    def matching(self, context: Context, patterns: Sequence[str]) -> list[str]:
        """Return the keys that match at least one of the patterns, such as "ego-small*".

        Raises:
            SettingsError: a pattern matches none.
        """
        keys = self.keys(context)
        for pattern in patterns:
            if not fnmatch.filter(keys, pattern):
                raise SettingsError(
                    f"{self.name} has no part {pattern!r}. Its parts are: {', '.join(keys)}."
                )
        return [key for key in keys if any(fnmatch.fnmatchcase(key, p) for p in patterns)]


def find_experiment(name: str) -> Experiment:
    """Return an experiment by name.

    Raises:
        SettingsError: there is none of that name.
    """
    if name not in TITLES:
        near = difflib.get_close_matches(name.lower(), TITLES, n=1, cutoff=0.4)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise SettingsError(f"unknown experiment {name!r}.{hint} Known: {', '.join(TITLES)}.")
    experiment: Experiment = importlib.import_module(f"graphscore.experiments.{name}").EXPERIMENT
    return experiment


def stem(name: str, scale: str) -> str:
    """Name of the record and the folder of an experiment; only full ones have its plain name.

    >>> stem("generation", "full"), stem("generation", "quick")
    ('generation', 'generation_quick')
    """
    return name if scale == "full" else f"{name}_{scale}"


def work_folder(out: Path, name: str, scale: str) -> Path:
    """Where the parts and run folders of an experiment lie below the folder of the results."""
    return out / "work" / stem(name, scale)


def record_file(out: Path, name: str, scale: str) -> Path:
    """Where the record of an experiment lies in the folder of the results."""
    return out / f"{stem(name, scale)}.json"


def read_record(out: Path, name: str, scale: str) -> Record | None:
    """Read the record of an experiment from the folder of the results, None if there is none.

    Raises:
        OutputError: the file there is not a record of this experiment.
    """
    file = record_file(out, name, scale)
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
    """Write a record into the folder of the results and return its file."""
    file = record_file(out, record["experiment"], record["scale"])
    write_file(file, (json.dumps(record, indent=1) + "\n").encode())
    return file


def _joined(record: Record, earlier: Record, keys: Sequence[str]) -> Record:
    """Return a record that has the rows of an earlier one for the sets it has no row for.

    Settings and missing parts of a set are those of its row. Provenance is that of both records, so
    that nothing is left out that a row may come from; how long they took together is not known.
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
        "provenance": _common([earlier["provenance"], record["provenance"]]),
        "results": [rows[name] for name in dict.fromkeys(map(_set_of, keys)) if name in rows],
    }


def _set_of(key: str) -> str:
    return key.partition("_")[0]


def _common(made: Sequence[Record]) -> Record:
    """One provenance of several: where they differ, all values in order of appearance."""
    common: Record = {}
    for key in made[0]:
        given = (part.get(key) for part in made)
        values = list(dict.fromkeys(v for g in given for v in (g if isinstance(g, list) else [g])))
        common[key] = values[0] if len(values) == 1 else values
    return common
