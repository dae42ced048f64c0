"""Reading graphs from files and folders and writing them back; the format follows the name."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx

from graphscore import atomic
from graphscore.errors import GraphDataError, OutputError
from graphscore.graphs.batch import GraphBatch
from graphscore.graphs.formats import edge_list, graph6, markup, npz, tu
from graphscore.graphs.validation import (
    Candidate,
    GraphList,
    Repairs,
    prepare_candidates,
    prepare_graphs,
)


@dataclass(frozen=True)
class _ManyPerFile:
    """A format whose single file holds any number of graphs."""

    suffixes: tuple[str, ...]
    decode: Callable[[bytes, str], Iterator[Candidate]]
    encode: Callable[[Sequence[nx.Graph[Any]]], bytes]
    gzips: bool = True


@dataclass(frozen=True)
class _OnePerFile:
    """A format with one graph per file; many graphs make a folder."""

    suffixes: tuple[str, ...]
    decode: Callable[[bytes, str], Candidate]
    encode: Callable[[nx.Graph[Any]], bytes]
    gzips: bool = True


_FORMATS: dict[str, _ManyPerFile | _OnePerFile] = {
    "graph6": _ManyPerFile((".g6",), graph6.decode_lines, graph6.encode_graph6),
    "sparse6": _ManyPerFile((".s6",), graph6.decode_lines, graph6.encode_sparse6),
    "npz": _ManyPerFile((".npz",), npz.decode_npz, npz.encode_npz, gzips=False),
    "graphml": _OnePerFile((".graphml",), markup.decode_graphml, markup.encode_graphml),
    "gml": _OnePerFile((".gml",), markup.decode_gml, markup.encode_gml),
    "edgelist": _OnePerFile(
        (".edges", ".edgelist", ".txt"), edge_list.decode_edge_list, edge_list.encode_edge_list
    ),
}
_TU = "tu"
FORMAT_NAMES = (*_FORMATS, _TU)
"""Names that `format` may take."""

_BY_SUFFIX = {suffix: name for name, form in _FORMATS.items() for suffix in form.suffixes}
_KNOWN = (
    f"Known suffixes are {', '.join(_BY_SUFFIX)} (also with .gz, except .npz), and folders of "
    ".graphml, .gml or edge-list files or in TU format. A format can also be named with --format "
    f"(in Python: format=...): {', '.join(FORMAT_NAMES)}."
)


def read_graphs(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    repairs: Repairs = Repairs(),  # noqa: B008  (frozen, so one shared default is safe)
    max_nodes: int | None = None,
) -> GraphList:
    """Read all graphs of a file or folder as simple graphs on nodes 0..n-1.

    A folder is read in natural order of its file names (`2.gml` before `10.gml`); files of other
    kinds in it are left alone.

    Args:
        path: .g6, .s6, .npz, .graphml, .gml or edge list (.edges, .edgelist, .txt), all but .npz
            optionally with .gz; or a folder of GraphML, GML or edge-list files or in TU format.
        format: one of `FORMAT_NAMES`, where the name does not tell.
        repairs: the defects to mend instead of refusing the file.
        max_nodes: largest number of nodes allowed.

    Raises:
        GraphDataError: the path is missing, unreadable, damaged, of unknown format or holds a
            graph that is refused; the message names the file and line. There is no partial result.

    Example:
        >>> import tempfile
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
        path: the suffix names the format. For GraphML, GML and edge lists it is one file for one
            graph, and a folder of numbered files for several or where the name has no known suffix.
        graphs: whatever `prepare_graphs` accepts without repairs.
        format: one of `FORMAT_NAMES`, where the name does not tell.

    Raises:
        GraphDataError: unknown format, or a graph that is refused.
        OutputError: the target cannot be written; what was there before is then intact.
    """
    path = Path(path)
    clean = prepare_graphs(graphs)
    check_target(path, len(clean), format=format)
    if format == _TU:
        atomic.write_folder(path, tu.encode_tu(path.resolve().name, clean))
        return
    suffix, name, zipped = _format_of_name(path, format)
    form = _FORMATS[name]
    if isinstance(form, _OnePerFile) and _is_folder_target(path, len(clean), format):
        member_suffix = suffix or form.suffixes[0]
        width = len(str(len(clean)))
        files = {
            f"{k:0{width}d}{member_suffix}": _zipped(form.encode(graph), zipped)
            for k, graph in enumerate(clean, start=1)
        }
        atomic.write_folder(path, files)
        return
    data = form.encode(clean[0]) if isinstance(form, _OnePerFile) else form.encode(clean)
    atomic.write_file(path, _zipped(data, zipped))


def check_target(path: str | os.PathLike[str], number: int, *, format: str | None = None) -> None:
    """Refuse a target that `write_graphs` could not write `number` graphs to, before long work.

    Raises:
        GraphDataError: the format is unknown.
        OutputError: something that would not be replaced is in the way, or nothing may be written
            there.
    """
    path = Path(path)
    _check_format(format)
    atomic.check_place(path)
    if _is_folder_target(path, number, format):
        atomic.check_folder_target(path)
    elif path.is_dir():
        raise OutputError(
            f"{path}: a folder of that name exists, but a file is to be written. Give another name."
        )


def _is_folder_target(path: Path, number: int, format: str | None) -> bool:
    if format == _TU:
        return True
    suffix, name, _ = _format_of_name(path, format)
    return isinstance(_FORMATS[name], _OnePerFile) and (number > 1 or not suffix)


def _check_format(format: str | None) -> None:
    if format is not None and format not in FORMAT_NAMES:
        raise GraphDataError(f"unknown format {format!r}. Use one of {', '.join(FORMAT_NAMES)}.")


def _format_of_name(path: Path, format: str | None) -> tuple[str, str, bool]:
    """Return the known suffix (with .gz, or empty), the format's name and whether it is zipped."""
    lower = path.name.lower()
    zipped = lower.endswith(".gz")
    stem = lower.removesuffix(".gz")
    suffix = next((s for s in _BY_SUFFIX if stem.endswith(s) and stem != s), "")
    name = format or _BY_SUFFIX.get(suffix)
    if name is None or name == _TU:
        raise GraphDataError(f"{path}: cannot tell the format from the name. {_KNOWN}")
    if zipped and not _FORMATS[name].gzips:
        raise GraphDataError(f"{path}: .npz is compressed already. Leave out the .gz.")
    # A suffix of another format is just part of the name.
    suffix = suffix if _BY_SUFFIX.get(suffix) == name else ""
    return (path.name[-len(suffix + ".gz" * zipped) :] if suffix else ""), name, zipped


def _zipped(data: bytes, zipped: bool) -> bytes:
    return gzip.compress(data, mtime=0) if zipped else data  # mtime=0: same graphs, same bytes


def _contents(path: Path) -> bytes:
    data = path.read_bytes()
    if path.name.lower().endswith(".gz"):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise GraphDataError(
                f"{path.name}: not a complete gzip file ({error}). Fetch or compress it anew."
            ) from error
    if not data.strip():
        raise GraphDataError(f"{path.name}: the file is empty, no graphs in it.")
    return data


def _read_file(path: Path, format: str | None) -> Iterator[Candidate]:
    if format == _TU:
        raise GraphDataError(f"{path}: TU format is a folder, but this is a file. Give the folder.")
    form = _FORMATS[_format_of_name(path, format)[1]]
    data = _contents(path)
    if isinstance(form, _OnePerFile):
        return iter([form.decode(data, path.name)])
    return form.decode(data, path.name)


def _read_folder(path: Path, format: str | None) -> Iterator[Candidate]:
    members = sorted(
        (p for p in path.iterdir() if p.is_file() and not p.name.startswith(".")),
        key=lambda member: _natural(member.name),
    )
    endings = (tu.ARCS, tu.INDICATOR)
    if format == _TU or (
        format is None and any(member.name.endswith(endings) for member in members)
    ):
        return _read_tu(path, members)
    kinds: dict[str, list[Path]] = {}
    for member in members:
        suffix = Path(member.name.lower().removesuffix(".gz")).suffix
        name = _BY_SUFFIX.get(suffix, "")
        if isinstance(_FORMATS.get(name), _OnePerFile):
            kinds.setdefault(name, []).append(member)
    if format is None and len(kinds) > 1:
        raise GraphDataError(
            f"{path}: files of several formats ({', '.join(sorted(kinds))}). Choose one with "
            "--format (in Python: format=...)."
        )
    name = format or next(iter(kinds), "")
    form = _FORMATS.get(name)
    if name not in kinds or not isinstance(form, _OnePerFile):
        wanted = f"no {name} files" if name else "no graph files"
        raise GraphDataError(f"{path}: {wanted} in this folder. {_KNOWN}")
    return (form.decode(_contents(m), f"{path.name}/{m.name}") for m in kinds[name])


def _read_tu(path: Path, members: Sequence[Path]) -> Iterator[Candidate]:
    names = [m.name.removesuffix(tu.ARCS) for m in members if m.name.endswith(tu.ARCS)]
    if len(names) != 1 or not (path / f"{names[0]}{tu.INDICATOR}").is_file():
        raise GraphDataError(
            f"{path}: a TU folder holds one NAME{tu.ARCS} and its NAME{tu.INDICATOR}, found "
            f"{', '.join(m.name for m in members if m.name.endswith(tu.PARTS)) or 'neither'}. Add "
            "the missing file, or name another format with --format (in Python: format=...)."
        )
    files = {
        ending: (path / f"{names[0]}{ending}").read_bytes()
        for ending in tu.PARTS
        if (path / f"{names[0]}{ending}").is_file()
    }
    return tu.decode_tu(names[0], files, path.name)


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Sort key under which digits compare as numbers."""
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    return [(0, int(p), p) if p.isdecimal() else (1, 0, p) for p in parts]
