"""Which format the name of a file or folder stands for."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

from graphscore import atomic
from graphscore.errors import GraphDataError
from graphscore.graphs.formats import FORMATS, Format, ManyPerFile, OnePerFile, WholeFolder

FORMAT_NAMES = tuple(FORMATS)
"""Names that `format` may take."""
BY_SUFFIX = {suffix: name for name, form in FORMATS.items() for suffix in form.suffixes}
"""Names of formats by suffix."""
_ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".7z", ".rar", ".bz2", ".xz")
_CONVERT = (
    "Convert what networkx reads in Python, for instance: graphscore.graphs.write_graphs("
    "'graphs.json', [networkx.nx_pydot.read_dot('graph.dot')])."
)


def check_format(format: str | None) -> None:
    """Refuse the name of an unknown format.

    Raises:
        GraphDataError: it is one.
    """
    if format is not None and format not in FORMATS:
        raise GraphDataError(f"unknown format {format!r}. Use one of {', '.join(FORMAT_NAMES)}.")


def known_formats() -> str:
    """Say which names and formats are known, for errors."""
    packed = [suffix for suffix, name in BY_SUFFIX.items() if _is_compressed(FORMATS[name])]
    single = [name for name, form in FORMATS.items() if isinstance(form, OnePerFile)]
    folders = [name for name, form in FORMATS.items() if isinstance(form, WholeFolder)]
    return (
        f"Known suffixes are {', '.join(BY_SUFFIX)} (also with .gz, except {', '.join(packed)}), "
        f"and folders of files in {', '.join(single)} format or in {', '.join(folders)} format. A "
        "format can also be given with --format (in Python: format=...): "
        f"{', '.join(FORMAT_NAMES)}."
    )


def _is_compressed(form: Format) -> bool:
    return isinstance(form, ManyPerFile) and form.compressed


@dataclass(frozen=True)
class Named:
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
    def of(cls, path: Path, format: str | None) -> Named:
        """Find the format by its name, or else by the path's suffix."""
        lower = path.name.lower()
        gzipped = lower.endswith(".gz")
        stem = lower.removesuffix(".gz")
        suffix = next((s for s in BY_SUFFIX if stem.endswith(s) and stem != s), "")
        name = format or BY_SUFFIX.get(suffix)
        if name is None:
            advice = "Unpack the archive first." if lower.endswith(_ARCHIVES) else _CONVERT
            raise GraphDataError(
                f"{path}: the format does not follow from the name. {known_formats()} {advice}"
            )
        if gzipped and _is_compressed(FORMATS[name]):
            raise GraphDataError(f"{path}: .{name} is compressed already. Leave out the .gz.")
        # A suffix of another format is part of the name.
        length = len(suffix + ".gz" * gzipped) if BY_SUFFIX.get(suffix) == name else 0
        return cls(FORMATS[name], path.name[len(path.name) - length :], gzipped)

    def check_written(self, path: Path) -> None:
        """Refuse a target in a format that is only read.

        Raises:
            GraphDataError: it is one.
        """
        if not isinstance(self.form, WholeFolder) and self.form.encode is None:
            raise GraphDataError(
                f"{path}: files of this format are only read. Write another one, such as .json, "
                ".graphml, .npz or .csv."
            )

    def is_folder(self, path: Path, number: int) -> bool:
        """Whether `number` graphs are written to `path` as a folder."""
        if isinstance(self.form, OnePerFile):
            return number > 1 or not (self.suffix or atomic.is_stream(path))
        return isinstance(self.form, WholeFolder)

    def zipped(self, data: bytes) -> bytes:
        """Compress the contents of a file if its name ends in .gz."""
        return gzip.compress(data, mtime=0) if self.gzipped else data  # mtime=0: reproducible bytes


def suffix_of(name: str) -> str:
    """Return the last suffix of a name, without .gz and in lower case.

    >>> suffix_of("a.b.G6.gz")
    '.g6'
    """
    return Path(name.lower().removesuffix(".gz")).suffix
