"""Read graphs from files and folders and write them; the format follows from the name."""

from __future__ import annotations

import itertools
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx

from graphscore import atomic
from graphscore.errors import GraphDataError, OutputError
from graphscore.graphs.attributes import NOTHING, AttributeSettings, is_asked
from graphscore.graphs.contents import contents, members
from graphscore.graphs.file_names import (
    BY_SUFFIX,
    Named,
    check_format,
    known_formats,
    suffix_of,
)
from graphscore.graphs.file_names import (
    FORMAT_NAMES as FORMAT_NAMES,
)
from graphscore.graphs.formats import FORMATS, Format, ManyPerFile, OnePerFile, WholeFolder, digress
from graphscore.graphs.given import Graphs, prepare_graphs
from graphscore.graphs.limits import (
    MAX_BYTES,
    MAX_NODES,
    MAX_SECONDS,
    MAX_TOTAL_EDGES,
    MAX_TOTAL_NODES,
    Bytes,
    Limits,
    Reading,
)
from graphscore.graphs.repairs import Repairs
from graphscore.graphs.schema import Schema
from graphscore.graphs.validation import Candidate, GraphList, prepare_candidates

_MAY_BE_ANYTHING = ".txt"  # such as a README; files of other suffixes are graphs


def read_graphs(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    repairs: Repairs = Repairs(),  # noqa: B008  (frozen, so one shared default is safe)
    max_nodes: int | None = None,
    max_total_nodes: int = MAX_TOTAL_NODES,
    max_total_edges: int = MAX_TOTAL_EDGES,
    max_bytes: int = MAX_BYTES,
    max_seconds: float = MAX_SECONDS,
    edge_attributes: Collection[str] = (),
) -> GraphList:
    """Read all graphs of a file or folder as simple graphs on nodes 0..n-1.

    A folder is read in natural order of its file names (`2.gml` before `10.gml`); files of other
    kinds in it are ignored. All graphs are checked, and compared with the limits, before the
    first one is built.

    Args:
        path: .g6, .s6, .json, .jsonl, .cyjs, .npz, .npy, .mtx, table (.csv, .tsv), .graphml, .gml,
            edge list (.edges, .edgelist, .txt), .adjlist, .gexf, Pajek (.net, .paj), SMILES (.smi,
            .smiles) or SDF (.sdf, .mol), all but .npz optionally with .gz; or a folder in TU format
            or of files in a format with one graph in each.
        format: one of `FORMAT_NAMES`; by default it follows from the name.
        repairs: the defects to repair instead of refusing the file.
        max_nodes: largest number of nodes allowed, counted after repairs; by default
            `limits.MAX_NODES`.
        max_total_nodes: of all graphs together, before `largest_component`.
        max_total_edges: of all graphs together, before `largest_component`.
        max_bytes: of all files together, after decompression.
        max_seconds: for the whole call.
        edge_attributes: names of those that are kept, where a format has them. If there are none,
            weights have to be 1. SMILES and SDF always have "bond".

    Raises:
        MissingExtraError: SMILES or SDF without RDKit.
        GraphDataError: the path is missing, unreadable, no regular file, damaged, of unknown
            format, over a limit or holds a graph that is refused; the message names the file and
            line. There is no partial result.
        SettingsError: a limit that is not a positive number, or `repairs` that drop the weights
            that are asked for.

    Example:
        >>> import tempfile, networkx as nx
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_graphs(f"{folder}/two.g6", [nx.path_graph(3), nx.empty_graph(1)])
        ...     [g.number_of_nodes() for g in read_graphs(f"{folder}/two.g6")]
        [3, 1]
    """
    if not os.fspath(path):
        raise GraphDataError("the path is empty. Give the path of a file or folder.")
    path = Path(path)
    check_format(format)
    asked = MAX_NODES if max_nodes is None else max_nodes
    limits = Limits(asked, max_total_nodes, max_total_edges, max_bytes, max_seconds)
    if repairs.largest_component:  # a larger graph may be reduced
        limits = replace(limits, max_nodes=max(asked, MAX_NODES))
    reading = Reading(limits, repairs, edge_attributes)
    repairs.check_names(reading.edge_attributes)
    always = always_carried(path, format=format).of_edges
    asked_for = reading.edge_attributes
    try:
        if not path.exists():
            raise GraphDataError(f"{path}: no such file or folder. Check the path.")
        read = _read_folder if path.is_dir() else _read_file
        result = prepare_candidates(
            reading.timed(read(path, format, reading), path.name),
            repairs=repairs,
            max_nodes=asked,
            source=path.name,
            edge_attributes=(*asked_for, *always),
        )
        result.ignored = list(reading.ignored) + [n for n in always if n not in asked_for]
        return result
    except OSError as error:
        where = error.filename or path
        raise GraphDataError(f"{where}: cannot read ({error.strerror or error}).") from error
    except MemoryError as error:
        raise GraphDataError(
            f"{path}: not enough memory to read it. Split the data, or use a larger machine."
        ) from error


def write_graphs(
    path: str | os.PathLike[str],
    graphs: Graphs,
    *,
    format: str | None = None,
) -> None:
    """Write graphs to a file or folder, as a whole or not at all.

    An existing file is replaced; a folder is written only where none, or an empty one, exists.
    JSON, npz, GraphML and GML keep attributes of nodes and edges that are numbers, truth values or
    texts, JSON and npz also vectors of numbers, CSV and TSV those of edges. TU keeps whole "label"s
    and the numbers "x" of nodes and "edge_attr" of edges; SMILES and SDF hold molecules, also those
    that are not valid; the other formats keep the structure only, and some are only read.

    Args:
        path: the suffix gives the format. For GraphML, GML and edge lists it is one file for one
            graph, and a folder of numbered files for several or where the name has no known suffix.
        graphs: whatever `prepare_graphs` accepts without repairs.
        format: one of `FORMAT_NAMES`; by default it follows from the name.

    Raises:
        GraphDataError: unknown format, or a graph that is refused.
        MissingExtraError: SMILES or SDF without RDKit.
        OutputError: the target cannot be written; what was there before is then intact.
    """
    if not isinstance(path, str | os.PathLike):
        raise GraphDataError(
            f"write_graphs got {type(path).__name__} as the path. The path comes first: "
            "write_graphs(path, graphs)."
        )
    path = Path(path)
    check_format(format)
    target = Named.of(path, format)
    target.check_written(path)
    clean = prepare_graphs(graphs, edge_attributes=None if target.form.keeps_attributes else ())
    check_target(path, len(clean), format=format)
    if isinstance(target.form, WholeFolder):
        atomic.write_folder(path, target.form.encode(path.resolve().name, clean))
    elif not target.is_folder(path, len(clean)):
        atomic.write_file(path, target.zipped(_encoded(target.form, clean)))
    else:
        suffix = target.suffix or target.form.suffixes[0]
        width = len(str(len(clean)))
        files = {
            f"{k:0{width}d}{suffix}": target.zipped(_encoded(target.form, [graph]))
            for k, graph in enumerate(clean, start=1)
        }
        atomic.write_folder(path, files)


def _encoded(form: ManyPerFile | OnePerFile, graphs: Sequence[nx.Graph[Any]]) -> bytes:
    """Return the contents of one file."""
    assert form.encode is not None  # see Named.check_written
    return form.encode(graphs[0]) if isinstance(form, OnePerFile) else form.encode(graphs)


def keeps_attributes(path: str | os.PathLike[str], format: str | None = None) -> bool:
    """Return whether numbers and texts of nodes and edges survive in files of this name.

    >>> keeps_attributes("graphs.g6"), keeps_attributes("graphs.gml")
    (False, True)
    """
    return Named.of(Path(path), format).form.keeps_attributes


def lost_attributes(
    path: str | os.PathLike[str], schema: Schema, *, format: str | None = None
) -> list[str]:
    """Return the attributes that are lost in files of this name, found by writing and reading some.

    >>> from graphscore.graphs.attributes import Types
    >>> lost_attributes("new.gml", Schema(node_type=Types(name="label", values=("C", "N"))))
    ['label']
    """
    target, names = Named.of(Path(path), format), schema.names
    target.check_written(Path(path))
    form = target.form
    always = always_carried(path, format=format)
    if not form.keeps_attributes or always != NOTHING:
        kept = (*always.of_nodes, *always.of_edges)
        return [name for name in (*names.of_nodes, *names.of_edges) if name not in kept]
    return [name for kind, name, values in schema.examples() if _is_lost(form, kind, name, values)]


def _is_lost(form: Format, kind: str, name: str, values: Sequence[Any]) -> bool:
    """Return whether values of an attribute are not what is read when they are written."""
    probe: nx.Graph[Any] = nx.path_graph(len(values) + 1)
    given = {"node": [*values, values[-1]], "edge": values}[kind]
    view: Any = probe.nodes if kind == "node" else probe.edges
    for place, value in zip(view, given):
        view[place][name] = value
    reading = Reading(edge_attributes=[name])
    data: Any
    try:
        if isinstance(form, WholeFolder):
            data = form.encode("probe", [probe])
        else:
            data = _encoded(form, [probe])
        (found,) = form.decode(data, "probe", reading)
    except GraphDataError:
        return True
    kept: Any = found.graph.nodes if kind == "node" else found.graph.edges
    read = [kept[place].get(name) for place in view]
    is_number = not any(isinstance(value, bool) for value in given)  # which may become real
    return read != given or not (is_number or all(isinstance(value, bool) for value in read))


def always_carried(path: str | os.PathLike[str], *, format: str | None = None) -> AttributeSettings:
    """Return the attributes that graphs always have in files of this name, such as molecules.

    >>> always_carried("new.smi").node_type, always_carried("new.g6").node_type
    ('element', None)
    """
    name = format or BY_SUFFIX.get(suffix_of(Path(path).name))
    form = FORMATS.get(name or "")
    return form.always if isinstance(form, ManyPerFile) else NOTHING


def check_target(path: str | os.PathLike[str], number: int, *, format: str | None = None) -> bool:
    """Refuse a target that `write_graphs` could not write `number` graphs to, before long work.

    Returns whether it will be a folder.

    Raises:
        GraphDataError: the format is unknown, or only read.
        OutputError: something that would not be replaced has that name, or the place is not
            writable.
    """
    path = Path(path)
    check_format(format)
    target = Named.of(path, format)
    target.check_written(path)
    atomic.check_place(path)
    if folder := target.is_folder(path, number):
        atomic.check_folder_target(path)
    elif path.is_dir():
        raise OutputError(
            f"{path}: a folder of that name exists, but a file is to be written. Give another name."
        )
    return folder


def _contents(path: Path, source: str, reading: Reading) -> Bytes:
    data = contents(path, source, reading)
    if not data or data.isspace():
        raise GraphDataError(f"{source}: the file is empty, no graphs in it.")
    return data


def _read_file(path: Path, format: str | None, reading: Reading) -> Iterator[Candidate]:
    form = Named.of(path, format).form
    if isinstance(form, WholeFolder):
        raise GraphDataError(
            f"{path}: {format} format is a folder, but this is a file. Give the folder."
        )
    if format is None and form is FORMATS["edgelist"]:
        data = _contents(path, path.name, reading)
        if digress.is_samples(data):  # which end in .txt
            return digress.decode_digress(data, path.name, reading)
        return form.decode(data, path.name, reading)
    # The decoder holds the only reference, so that it can free the bytes.
    return form.decode(_contents(path, path.name, reading), path.name, reading)


def _read_folder(path: Path, format: str | None, reading: Reading) -> Iterator[Candidate]:
    names = members(path, reading)
    by_format: dict[str, tuple[OnePerFile, list[str]]] = {}
    for name, form in FORMATS.items():
        if isinstance(form, WholeFolder):
            recognised = any(m.removesuffix(".gz").endswith(form.required) for m in names)
            if format == name or (format is None and recognised):
                files = _parts(path, names, form, reading)
                return form.decode(files, path.name, reading)
        elif isinstance(form, OnePerFile):
            found = [m for m in names if suffix_of(m) in form.suffixes and not (path / m).is_dir()]
            if found:
                by_format[name] = form, found
    if format is None and len(by_format) > 1:
        raise GraphDataError(
            f"{path}: files of several formats ({', '.join(sorted(by_format))}). Choose one with "
            "--format (in Python: format=...)."
        )
    name = format or next(iter(by_format), "graph")
    if name not in by_format:
        packed = [s for s, n in BY_SUFFIX.items() if isinstance(FORMATS[n], ManyPerFile)]
        others = [m for m in names if (path / m).is_dir() or suffix_of(m) in packed]
        hint = f"It holds {', '.join(others[:3])}: give one of them. " if others else ""
        raise GraphDataError(f"{path}: no {name} files in this folder. {hint}{known_formats()}")
    form, found = by_format[name]
    suffixes = {suffix_of(member) for member in found}
    if format is None and len(suffixes) > 1 and _MAY_BE_ANYTHING in suffixes:
        raise GraphDataError(
            f"{path}: files ending in {' and in '.join(sorted(suffixes))}, which may not all be "
            f"graphs. If they are, give --format {name} (in Python: format={name!r}); otherwise "
            "remove the others."
        )
    parts: list[Iterator[Candidate]] = []  # all sizes are known before the first graph is built
    for member in found:
        source = f"{path.name}/{member}"
        parts.append(form.decode(_contents(path / member, source, reading), source, reading))
    return itertools.chain.from_iterable(parts)


def _parts(path: Path, names: list[str], form: WholeFolder, reading: Reading) -> dict[str, Bytes]:
    """Read the files of one data set, decompressed, by their names without .gz."""
    endings = form.required + form.optional
    for ending, attribute in form.of_edges.items():
        if is_asked(attribute, reading.edge_attributes):
            endings += (ending,)
        elif any(name.removesuffix(".gz").endswith(ending) for name in names):
            reading.ignore(attribute)
    files: dict[str, Bytes] = {}
    for member in names:
        name = member.removesuffix(".gz")
        if name in files:
            raise GraphDataError(f"{path}: both {name} and {name}.gz. Remove one of them.")
        if name.endswith(endings):
            files[name] = contents(path / member, f"{path.name}/{member}", reading)
    return files
