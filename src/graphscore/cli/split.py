"""`graphscore split`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from graphscore.cli.data import READING, ReadingOptions, load
from graphscore.cli.option_types import Flag, WholeNumber
from graphscore.cli.tables import print_json, print_table

if TYPE_CHECKING:
    from collections.abc import Mapping


def split(
    file: Path,
    *,
    test: float = 0.2,
    validation: float = 0.0,
    out: Annotated[str | None, Parameter(name=("--out", "-o"))] = None,
    seed: WholeNumber = 0,
    force: Flag = False,
    json: Flag = False,
    reading: ReadingOptions = READING,
) -> int:
    """Split the graphs of FILE at random into training, validation and test files.

    They have the format of FILE and keep what nodes and edges carry. Their graphs are in the order
    of FILE, and nodes are numbered from 0.

    Parameters
    ----------
    file
        File or folder of graphs.
    test
        Share of the graphs for the test file, below 1; 0 for none.
    validation
        Share of the graphs for the validation file, below 1; 0 for none.
    out
        Existing folder, or a name ending in /, for the files train, validation and test in it; or
        what their names begin with: NAME-train and so on. If not given, the name of FILE without
        its suffix.
    seed
        Same seed, same parts.
    force
        Replace files that exist. Folders are never replaced.
    json
        Print the result as JSON.
    """
    from graphscore.errors import GraphDataError
    from graphscore.graphs import write_graphs

    shares = {"validation": validation, "test": test}
    _check_shares(shares)
    _check_is_no_dataset(file)
    graphs = load(str(file), reading, split="", edge_attributes=["weight"], all_attributes=True)
    if len(graphs) == 1:
        raise GraphDataError(
            f"{file}: one graph, but at least two are needed to split them. To learn from parts of "
            "one large network, use train --subgraphs 40."
        )
    places = _places(len(graphs), shares, seed)
    format = reading.format or (_format_of(file) if file.is_dir() else None)
    targets = _targets(file, out, format, places)
    for part, target in targets.items():
        _check_target(target, file, len(places[part]), format, force)
    for part, target in targets.items():
        write_graphs(target, [graphs[place] for place in places[part]], format=format)
    if json:
        parts = {
            part: {"file": str(target), "graphs": len(places[part])}
            for part, target in targets.items()
        }
        print_json({"source": str(file), "graphs": len(graphs), "seed": seed, "parts": parts})
    else:
        rows = [[part, str(target), f"{len(places[part])}"] for part, target in targets.items()]
        title = f"{file}: {len(graphs)} graphs (seed {seed})"
        print_table(title, ["part", "file", "graphs"], rows, text=2)
    return 0


def _check_shares(shares: Mapping[str, float]) -> None:
    """Refuse shares that leave nothing to split off, or no training graphs."""
    from graphscore.errors import SettingsError

    if not all(share >= 0 for share in shares.values()) or not 0 < sum(shares.values()) < 1:
        given = " and ".join(f"--{part} {share:g}" for part, share in shares.items())
        raise SettingsError(
            f"{given}: give shares of at least 0 that are more than 0 and less than 1 together, "
            "such as --test 0.2."
        )


def _check_is_no_dataset(file: Path) -> None:
    """Refuse the names of datasets, which are split already."""
    from graphscore.datasets import list_datasets
    from graphscore.errors import DatasetError

    name = str(file).partition(":")[0]
    if name in [info.name for info in list_datasets()]:
        raise DatasetError(
            f"{name} is a dataset with splits of its own. Write them with: graphscore datasets "
            f"export {name} --split test --out FILE. For a file of that name, give ./{name}."
        )


def _places(number: int, shares: Mapping[str, float], seed: int) -> dict[str, list[int]]:
    """Return the places of the graphs of each part; every part has at least one."""
    from graphscore.errors import GraphDataError
    from graphscore.seeding import numpy_generator

    counts = {part: max(1, round(number * share)) for part, share in shares.items() if share}
    counts = {"train": number - sum(counts.values()), **counts}
    if counts["train"] < 1:
        raise GraphDataError(
            f"{number} graphs: with these shares none of them is left to train on. Ask for smaller "
            "shares."
        )
    order = numpy_generator(seed, "split").permutation(number).tolist()
    return {part: sorted(order.pop() for _ in range(count)) for part, count in counts.items()}


def _targets(
    file: Path, out: str | None, format: str | None, parts: Mapping[str, object]
) -> dict[str, Path]:
    """Return the file or folder of each part."""
    plain = file.resolve() if file.name in ("", "..") else file
    zipped = 2 if plain.suffix.lower() == ".gz" else 1
    suffix = "".join(plain.suffixes[-zipped:])
    ending = "" if file.is_dir() else suffix
    if file.is_dir() and not _belongs(suffix, format):
        suffix = ""
    if out is None:
        begin = f"{plain.with_name(plain.name.removesuffix(suffix))}-"
    elif out.endswith("/") or Path(out).is_dir():
        begin = os.path.join(out, "")
    else:
        begin = f"{out.removesuffix(suffix) or out}-"
    return {part: Path(f"{begin}{part}{ending}") for part in parts}


def _belongs(suffix: str, format: str | None) -> bool:
    """Return whether a suffix is one of a format, and not part of the name of a folder."""
    from graphscore.graphs.formats import FORMATS, WholeFolder

    form = FORMATS.get(format or "")
    return form is not None and not isinstance(form, WholeFolder) and suffix in form.suffixes


def _format_of(folder: Path) -> str | None:
    """Return the format of the files of a folder that was read."""
    from graphscore.graphs.formats import FORMATS, OnePerFile, WholeFolder

    names = [path.name.lower().removesuffix(".gz") for path in folder.iterdir()]
    endings = {n: form.required for n, form in FORMATS.items() if isinstance(form, WholeFolder)}
    endings |= {n: form.suffixes for n, form in FORMATS.items() if isinstance(form, OnePerFile)}
    return next((n for n, of in endings.items() if any(name.endswith(of) for name in names)), None)


def _check_target(target: Path, source: Path, number: int, format: str | None, force: bool) -> None:
    """Refuse to replace what nobody asked to replace, before anything is written."""
    from graphscore.errors import OutputError
    from graphscore.graphs.files import check_target

    if os.path.lexists(target):
        if target.resolve() == source.resolve():
            raise OutputError(f"{target}: is the file that is split. Give another name with -o.")
        if not force:
            raise OutputError(
                f"{target}: exists already. Give --force to replace it, or another name with -o."
            )
    check_target(target, number, format=format)
