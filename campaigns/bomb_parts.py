"""What the modules of crafted files share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

MB = 2**20
MANY = 3_990_000
"""Edges in both directions that the limits just allow."""
Content = Callable[[], bytes | Iterable[bytes]]


@dataclass(frozen=True)
class Bomb:
    """A crafted file.

    Attributes:
        form: the format it is read as; one row of the record.
        name: what is special about it.
        make: writes it into an empty folder and returns the path to read.
        asked: edge attributes that the reader asks for.
    """

    form: str
    name: str
    make: Callable[[Path], Path]
    asked: tuple[str, ...] = ()


def files(
    form: str, file: str, contents: dict[str, Content], asked: tuple[str, ...] = ()
) -> list[Bomb]:
    """Return one crafted file per content, all of one name."""

    def make(content: Content) -> Callable[[Path], Path]:
        def write(folder: Path) -> Path:
            data = content()
            with open(folder / file, "wb") as handle:
                handle.writelines([data] if isinstance(data, bytes) else data)
            return folder / file

        return write

    return [Bomb(form, name, make(content), asked) for name, content in contents.items()]


def numbers(pattern: str, number: int) -> bytes:
    """Return a pattern filled in with 0, 1, 2, ..."""
    return "".join(map(pattern.format, range(number))).encode()


def wide_names(pattern: str) -> bytes:
    """Return a pattern filled in with almost 100,000 names, of which each takes 800 bytes."""
    names = (f"\U0001f600{k:0195d}" for k in range(99_990))
    return "".join(map(pattern.format, names)).encode()
