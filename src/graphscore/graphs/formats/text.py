"""Shared by text formats: lines, without holding all of them, and names of bounded length."""

from __future__ import annotations

from collections.abc import Iterator

from graphscore.errors import GraphDataError
from graphscore.graphs.limits import Bytes, Reading

MAX_LINE = 2**20
"""Bytes of one line; also characters of one text of GraphML or GML."""
MAX_NAME = 200
"""Characters of the name of a node."""
_BLOCK = 2**16
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def lines_of(data: Bytes, source: str, reading: Reading) -> Iterator[tuple[int, int, str]]:
    """Yield number, position and text of every line, without a byte order mark and line ends.

    Raises:
        GraphDataError: bytes that are not UTF-8, or a line longer than `MAX_LINE`.
    """
    if bytes(data[:2]) in (b"\xff\xfe", b"\xfe\xff"):
        raise GraphDataError(f"{source}: UTF-16 text, but UTF-8 is expected. Save it as UTF-8.")
    number, start = 1, len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
    while start < len(data):
        reading.tick(source)
        stop = data.rfind(b"\n", start, start + _BLOCK) + 1
        if stop == 0:
            stop = data.find(b"\n", start, start + MAX_LINE + 1) + 1
        if stop == 0:
            stop = len(data)
            if stop - start > MAX_LINE:
                raise GraphDataError(
                    f"{source} line {number}: longer than {MAX_LINE} characters. "
                    "Check that this is a text file of the named format."
                )
        block = data[start:stop]
        try:
            lines = block.decode().split("\n")
        except UnicodeDecodeError as error:
            line = number + block.count(b"\n", 0, error.start)
            raise GraphDataError(
                f"{source} line {line}: byte {block[error.start]:#04x} is not UTF-8 text. "
                "Check that this is a text file of the named format."
            ) from error
        if lines[-1] == "":
            lines.pop()
        plain = block.isascii()
        for text in lines:
            if "\r" in text.strip():
                raise GraphDataError(
                    f"{source} line {number}: a carriage return within a line. End lines with a "
                    "new line."
                )
            yield number, start, text
            number += 1
            start += (len(text) if plain else len(text.encode())) + 1
        start = stop


def check_name(where: str, name: str) -> str:
    """Return the name of a node.

    Raises:
        GraphDataError: it is longer than `MAX_NAME`.
    """
    if len(name) > MAX_NAME:
        raise GraphDataError(
            f"{where}: the name of a node has {len(name)} characters, but at most {MAX_NAME} are "
            f"expected ({name[:20]!r}...). Number the nodes."
        )
    return name


def is_text(text: str) -> bool:
    """Return whether a text can be written: it has no half of a pair of surrogates.

    >>> is_text("a"), is_text(chr(0xD83D))
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
