"""Read graphs from files and folders and write them; the format follows from the name."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from graphscore import atomic
from graphscore.errors import GraphDataError, OutputError
from graphscore.graphs.batch import GraphBatch
from graphscore.graphs.formats import FORMATS, Format, ManyPerFile, OnePerFile, WholeFolder
from graphscore.graphs.validation import (
    Candidate,
    GraphList,
    Repairs,
    prepare_candidates,
    prepare_graphs,
)

FORMAT_NAMES = tuple(FORMATS)
"""Names that `format` may take."""

_BY_SUFFIX = {suffix: name for name, form in FORMATS.items() for suffix in form.suffixes}


def read_graphs(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    repairs: Repairs = Repairs(),  # noqa: B008  (frozen, so one shared default is safe)
    max_nodes: int | None = None,
) -> GraphList:
    """Read all graphs of a file or folder as simple graphs on nodes 0..n-1.

    A folder is read in natural order of its file names (`2.gml` before `10.gml`); files of other
    kinds in it are ignored.

    Args:
        path: .g6, .s6, .npz, .graphml, .gml or edge list (.edges, .edgelist, .txt), all but .npz
            optionally with .gz; or a folder of GraphML, GML or edge-list files or in TU format.
        format: one of `FORMAT_NAMES`; by default it follows from the name.
        repairs: the defects to repair instead of refusing the file.
        max_nodes: largest number of nodes allowed.

    Raises:
        GraphDataError: the path is missing, unreadable, damaged, of unknown format or holds a
            graph that is refused; the message names the file and line. There is no partial result.

    Example:
        >>> import tempfile, networkx as nx
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_graphs(f"{folder}/two.g6", [nx.path_graph(3), nx.empty_graph(1)])
        ...     [g.number_of_nodes() for g in read_graphs(f"{folder}/two.g6")]
        [3, 1]
    """
    path = Path(path)
    _check_format(format)
    try:
        if not path.exists():
            raise GraphDataError(f"{path}: no such file or folder. Check the path.")
        candidates = _read_folder(path, format) if path.is_dir() else _read_file(path, format)
        return prepare_candidates(
            candidates, repairs=repairs, max_nodes=max_nodes, source=path.name
        )
    except OSError as error:
        raise GraphDataError(f"{path}: cannot read ({error.strerror or error}).") from error


def write_graphs(
    path: str | os.PathLike[str],
    graphs: Iterable[object] | GraphBatch,
    *,
    format: str | None = None,
) -> None:
    """Write graphs to a file or folder, as a whole or not at all.

    An existing file is replaced; a folder is written only where none, or an empty one, exists.
    .npz and TU keep the node attribute "x" (TU also integer "label"s), GraphML and GML keep number
    and text attributes, the other formats keep the structure only.

    Args:
        path: the suffix gives the format. For GraphML, GML and edge lists it is one file for one
            graph, and a folder of numbered files for several or where the name has no known suffix.
        graphs: whatever `prepare_graphs` accepts without repairs.
        format: one of `FORMAT_NAMES`; by default it follows from the name.

    Raises:
        GraphDataError: unknown format, or a graph that is refused.
        OutputError: the target cannot be written; what was there before is then intact.
    """
    if not isinstance(path, str | os.PathLike):
        raise GraphDataError(
            f"write_graphs got {type(path).__name__} as the path. The path comes first: "
            "write_graphs(path, graphs)."
        )
    path = Path(path)
    clean = prepare_graphs(graphs)
    check_target(path, len(clean), format=format)
    target = _Named.of(path, format)
    if isinstance(target.form, WholeFolder):
        atomic.write_folder(path, target.form.encode(path.resolve().name, clean))
    elif isinstance(target.form, ManyPerFile):
        atomic.write_file(path, target.zipped(target.form.encode(clean)))
    elif not target.is_folder(len(clean)):
        atomic.write_file(path, target.zipped(target.form.encode(clean[0])))
    else:
        suffix = target.suffix or target.form.suffixes[0]
        width = len(str(len(clean)))
        files = {
            f"{k:0{width}d}{suffix}": target.zipped(target.form.encode(graph))
            for k, graph in enumerate(clean, start=1)
        }
        atomic.write_folder(path, files)


def check_target(path: str | os.PathLike[str], number: int, *, format: str | None = None) -> None:
    """Refuse a target that `write_graphs` could not write `number` graphs to, before long work.

    Raises:
        GraphDataError: the format is unknown.
        OutputError: something that would not be replaced has that name, or the place is not
            writable.
    """
    path = Path(path)
    _check_format(format)
    atomic.check_place(path)
    if _Named.of(path, format).is_folder(number):
        atomic.check_folder_target(path)
    elif path.is_dir():
        raise OutputError(
            f"{path}: a folder of that name exists, but a file is to be written. Give another name."
        )


def _check_format(format: str | None) -> None:
    if format is not None and format not in FORMATS:
        raise GraphDataError(f"unknown format {format!r}. Use one of {', '.join(FORMAT_NAMES)}.")


def _known_formats() -> str:
    """Say which names and formats are known, for errors."""
    packed = [suffix for suffix, name in _BY_SUFFIX.items() if _is_compressed(FORMATS[name])]
    single = [name for name, form in FORMATS.items() if isinstance(form, OnePerFile)]
    folders = [name for name, form in FORMATS.items() if isinstance(form, WholeFolder)]
    return (
        f"Known suffixes are {', '.join(_BY_SUFFIX)} (also with .gz, except {', '.join(packed)}), "
        f"and folders of files in {', '.join(single)} format or in {', '.join(folders)} format. A "
        "format can also be given with --format (in Python: format=...): "
        f"{', '.join(FORMAT_NAMES)}."
    )


def _is_compressed(form: Format) -> bool:
    return isinstance(form, ManyPerFile) and form.compressed


@dataclass(frozen=True)
class _Named:
    """The format of a path.

    Attributes:
        form: the format.
        suffix: the path's suffix with .gz if it belongs to the format, otherwise empty.
        gzipped: whether the path ends in .gz.
    """

    form: Format
    suffix: str
    gzipped: bool

    @classmethod
    def of(cls, path: Path, format: str | None) -> _Named:
        """Find the format by its name, or else by the path's suffix."""
        lower = path.name.lower()
        gzipped = lower.endswith(".gz")
        stem = lower.removesuffix(".gz")
        suffix = next((s for s in _BY_SUFFIX if stem.endswith(s) and stem != s), "")
        name = format or _BY_SUFFIX.get(suffix)
        if name is None:
            raise GraphDataError(
                f"{path}: the format does not follow from the name. {_known_formats()}"
            )
        if gzipped and _is_compressed(FORMATS[name]):
            raise GraphDataError(f"{path}: .{name} is compressed already. Leave out the .gz.")
        # A suffix of another format is part of the name.
        length = len(suffix + ".gz" * gzipped) if _BY_SUFFIX.get(suffix) == name else 0
        return cls(FORMATS[name], path.name[len(path.name) - length :], gzipped)

    def is_folder(self, number: int) -> bool:
        """Whether `number` graphs are written as a folder."""
        if isinstance(self.form, OnePerFile):
            return number > 1 or not self.suffix
        return isinstance(self.form, WholeFolder)

    def zipped(self, data: bytes) -> bytes:
        """Compress the contents of a file if its name ends in .gz."""
        return gzip.compress(data, mtime=0) if self.gzipped else data  # mtime=0: reproducible bytes


def _contents(path: Path) -> bytes:
    data = path.read_bytes()
    if path.name.lower().endswith(".gz"):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise GraphDataError(
                f"{path.name}: not a complete gzip file ({error}). Download or compress it again."
            ) from error
    if not data.strip():
        raise GraphDataError(f"{path.name}: the file is empty, no graphs in it.")
    return data


def _read_file(path: Path, format: str | None) -> Iterator[Candidate]:
    form = _Named.of(path, format).form
    if isinstance(form, WholeFolder):
        raise GraphDataError(
            f"{path}: {format} format is a folder, but this is a file. Give the folder."
        )
    data = _contents(path)
    if isinstance(form, OnePerFile):
        return iter([form.decode(data, path.name)])
    return form.decode(data, path.name)


def _read_folder(path: Path, format: str | None) -> Iterator[Candidate]:
    members = sorted(
        (p for p in path.iterdir() if p.is_file() and not p.name.startswith(".")),
        key=lambda member: _natural(member.name),
    )
    by_format: dict[str, list[Path]] = {}
    for name, form in FORMATS.items():
        if isinstance(form, WholeFolder):
            recognised = any(member.name.endswith(form.required) for member in members)
            if format == name or (format is None and recognised):
                parts = form.required + form.optional
                files = {m.name: m.read_bytes() for m in members if m.name.endswith(parts)}
                return form.decode(files, path.name)
        elif isinstance(form, OnePerFile):
            found = [m for m in members if _suffix(m) in form.suffixes]
            if found:
                by_format[name] = found
    if format is None and len(by_format) > 1:
        raise GraphDataError(
            f"{path}: files of several formats ({', '.join(sorted(by_format))}). Choose one with "
            "--format (in Python: format=...)."
        )
    name = format or next(iter(by_format), "graph")
    chosen = FORMATS.get(name)
    if name not in by_format or not isinstance(chosen, OnePerFile):
        raise GraphDataError(f"{path}: no {name} files in this folder. {_known_formats()}")
    return (chosen.decode(_contents(m), f"{path.name}/{m.name}") for m in by_format[name])


def _suffix(path: Path) -> str:
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Sort key under which digits compare as numbers."""
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    return [(0, int(p), p) if p.isdecimal() else (1, 0, p) for p in parts]
