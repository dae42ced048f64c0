"""Which experiments there are, and how one runs."""

from __future__ import annotations

import difflib
import fnmatch
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from graphscore.errors import SettingsError
from reproduce.context import Context, Record
from reproduce.pages import fill
from reproduce.records import common_provenance, joined
from reproduce.tables import Table
from reproduce.titles import TITLES


@dataclass(frozen=True)
class Experiment:
    """One table or figure.

    Attributes:
        name: what the command line takes; also the name of its plan, template and record.
        keys: keys of its parts, in order.
        settings: what determines the results, as plain values; stored with parts and record.
        compute: computes one part by its key, as plain values.
        assemble: makes the record's "results" from all parts.
        tables: tables of a record, for the command line and the template.
        facts: further values for the template.
        pictures: draws a record's figures into a folder and returns their files.
        seeded: False for an experiment that always runs seed 0 only.
        part_settings: what determines one part, if that is less than `settings`.
        needs_all: whether `assemble` needs every part; if not, it returns one row for each
            "dataset", which the keys of its parts begin with, and leaves out what is missing.
    """

    name: str
    keys: Callable[[Context], Sequence[str]]
    settings: Callable[[Context], Mapping[str, Any]]
    compute: Callable[[Context, str], Record]
    assemble: Callable[[Context, Mapping[str, Record]], Any]
    tables: Callable[[Record], Sequence[Table]]
    facts: Callable[[Record], Mapping[str, Any]] = lambda record: {}
    pictures: Callable[[Record, Path], Sequence[Path]] = lambda record, out: []
    seeded: bool = True
    part_settings: Callable[[Context, str], Mapping[str, Any]] | None = None
    needs_all: bool = True

    @property
    def title(self) -> str:
        """One line on what it shows."""
        return TITLES[self.name]

    def markdown(self, record: Record) -> str:
        """The section of docs/results.md about a record, from its heading on."""
        values = {"record": record, "tables": self.tables(record), **self.facts(record)}
        return fill(f"{self.name}.md", **values)

    def run(
        self, context: Context, *, finished: bool = False, earlier: Record | None = None
    ) -> Record:
        """Compute the missing parts and return the record.

        Args:
            finished: compute nothing and make the record of the finished parts; its "missing"
                names the others.
            earlier: a record of the same experiment and scale. With `finished`, sets without a
                finished part keep their rows of the earlier record, unless all parts are needed.

        Raises:
            StoppedError: a stop was requested; finished parts are kept.
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
            "scale": context.scale,
            "seeds": list(range(context.seeds if self.seeded else 1)),
            "settings": dict(self.settings(context)),
            **({"missing": missing} if missing else {}),
            "provenance": common_provenance([part["provenance"] for part in parts.values()]),
            "seconds": sum(part["seconds"] for part in parts.values()),
            "results": self.assemble(context, parts),
        }
        if earlier is not None and finished and not self.needs_all:
            return joined(record, earlier, keys)
        return record

    def run_parts(self, context: Context, keys: Sequence[str]) -> dict[str, Record]:
        """Compute the given parts, or read those that are finished."""
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
    module = importlib.import_module(f"reproduce.experiments.{name.replace('-', '_')}")
    experiment: Experiment = module.EXPERIMENT
    return experiment
