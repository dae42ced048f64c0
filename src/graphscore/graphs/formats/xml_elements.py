"""What GraphML and GEXF have in common: XML, parsed by expat without building a tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol
from xml.parsers import expat

from graphscore.errors import GraphDataError
from graphscore.graphs.formats.markup import reason
from graphscore.graphs.formats.text import MAX_LINE, MAX_NAME
from graphscore.graphs.limits import Bytes, Reading

MAX_NAMES = 10_000
"""Different names of elements and attributes of one file."""
_PIECE = 2**18  # bytes that are given to expat at once
_MAX_TAG = 2 * MAX_LINE  # expat may look at a tag again only when it has twice the bytes

_MAX_DIGITS = 4300


def _whole_number(text: str) -> int:
    if len(text.strip().lstrip("+-")) > _MAX_DIGITS:  # the time to read it grows with the square
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)


def truth_value(text: str) -> bool:
    """Return what a text such as "true" says; a ValueError says that it is none."""
    known = {"true": True, "1": True, "false": False, "0": False}
    if (said := text.strip().lower()) not in known:
        raise ValueError(f"{text!r:.40} where true or false is expected")
    return known[said]


def _real_number(text: str) -> float:
    return float.fromhex(text) if "0x" in text[:4].lower() else float(text)


TYPES: dict[str, Callable[[str], Any]] = {
    "boolean": truth_value,
    "int": _whole_number,
    "integer": _whole_number,
    "short": _whole_number,
    "long": _whole_number,
    "float": _real_number,
    "double": _real_number,
}
"""Types of values by name; a value of any other is text."""


class Elements(Protocol):
    """What is told of the elements of a file."""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Meet the start of an element; its name is without a prefix."""

    def text(self, text: str) -> None:
        """Meet text; expat may cut it into pieces."""

    def end(self, name: str) -> None:
        """Meet the end of an element."""


def parse_xml(form: str, data: Bytes, source: str, reading: Reading, elements: Elements) -> None:
    """Tell the elements of a file one after the other.

    Raises:
        GraphDataError: XML that is not well-formed, a document type declaration (it could define
            entities that expand without limit), too many or too long names or tags, or a
            ValueError or LookupError of `elements`.
    """
    parser = expat.ParserCreate()
    parser.buffer_text = True

    def start(name: str, attributes: dict[str, str]) -> None:
        if len(parser.intern) > MAX_NAMES:
            raise ValueError(f"more than {MAX_NAMES} different names of elements and attributes")
        if max(map(len, (name, *attributes))) > MAX_NAME:  # expat keeps every name
            raise ValueError(f"a name of an element or attribute of more than {MAX_NAME} letters")
        elements.start(name.rpartition(":")[2], attributes)

    def refuse(*_: object) -> None:
        raise GraphDataError(
            f"{source}: a document type declaration (<!DOCTYPE), which {form} does not need and "
            "which can be used to exhaust memory. Remove it."
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = elements.end
    parser.CharacterDataHandler = elements.text
    parser.StartDoctypeDeclHandler = refuse  # entities can be declared nowhere else
    try:
        _feed(parser, data, source, reading)
    except expat.ExpatError as error:
        raise GraphDataError(
            f"{source} line {parser.CurrentLineNumber}: not well-formed XML ({reason(error)}). "
            "The file may be truncated or of another format."
        ) from error
    except (ValueError, LookupError) as error:
        raise GraphDataError(
            f"{source} line {parser.CurrentLineNumber}: not valid {form} ({reason(error)}). Write "
            "it again with the program it came from."
        ) from error


def _feed(parser: expat.XMLParserType, data: Bytes, source: str, reading: Reading) -> None:
    """Parse piece by piece; what expat has to hold until its end comes is bounded."""
    done = 0
    for start in range(0, len(data), _PIECE):
        reading.tick(source)
        piece = data[start : start + _PIECE]
        parser.Parse(piece, False)
        done = max(done, parser.CurrentByteIndex)  # where an unfinished tag or comment begins
        if start + len(piece) - done > _MAX_TAG:
            raise ValueError(f"a tag or a comment of more than {_MAX_TAG} bytes")
    parser.Parse(b"", True)


def converted(text: str, convert: Callable[[str], Any]) -> Any:
    """Return a value of the type of its key, or its text where that is of no such type."""
    try:
        return convert(text) if text else ""
    except ValueError:
        return text
