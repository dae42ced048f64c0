"""JSON, read token by token within limits, without building a tree."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from graphscore.graphs.formats.text import BYTE_ORDER_MARK, MAX_LINE, MAX_NAME, is_text
from graphscore.graphs.limits import Bytes, Reading
from graphscore.settings import quoted

_SPACE = rb"[ \t\r\n]*+"
_SCALAR = (
    rb"(?P<whole>-?(?:0|[1-9][0-9]*+))(?P<real>(?:\.[0-9]++)?(?:[Ee][+-]?[0-9]++)?)"
    rb"|(?P<word>true|false|null)"
)
_TOKEN = re.compile(
    _SPACE
    + rb'(?:(?P<mark>[\[\]{},:])|(?P<text>"(?:[^"\\\x00-\x1f]++|\\.)*+")|'
    + _SCALAR
    + rb"|(?P<no_number>-?(?:NaN|Infinity))|(?P<end>\Z))"
)
_PLAIN = rb'"(?P<%b>[^"\\\x00-\x1f]{0,200}+)"'
_MEMBER = re.compile(  # most members of objects, at once
    _SPACE
    + _PLAIN % b"name"
    + _SPACE
    + b":"
    + _SPACE
    + rb"(?:"
    + _PLAIN % b"text"
    + rb"|"
    + _SCALAR
    + rb")"
    + _SPACE
    + rb"(?P<mark>[,}])"
)
_WORDS = {b"true": True, b"false": False, b"null": None}
_LONGEST_CHARACTER = len(r"\ud83d\ude00")
_MAX_DEPTH = 100
_MAX_DIGITS = 4300
_MAX_NAMES = 10_000  # different names of attributes
LATER = object()
"""A value that has not been taken."""
_Value = Any


class Tokens:
    """The tokens of JSON text: marks as they are, values converted."""

    def __init__(self, data: Bytes, source: str, reading: Reading) -> None:
        self._data = data
        self._source = source
        self._reading = reading
        self._ahead: tuple[str, _Value] | None = None
        self._names: dict[str, str] = {}
        self.position = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0

    def next(self, *kinds: str) -> tuple[str, _Value]:
        """Return the next token, a mark, "value" or "end", which is of one of these kinds."""
        kind, value = self._ahead or self._read()
        self._ahead = None
        if kind not in kinds:
            found = quoted(value) if kind == "value" else kind
            raise ValueError(f"{found[:40]} where {' or '.join(kinds)} is expected")
        return kind, value

    def _read(self) -> tuple[str, _Value]:
        self._reading.tick(self._source)
        match = _TOKEN.match(self._data, self.position)
        if match is None:
            raise ValueError(
                f"unexpected {bytes(self._data[self.position : self.position + 20])!r}"
            )
        self.position = match.end()
        group = str(match.lastgroup)
        if group == "mark":
            return match[group].decode(), None
        return ("end", None) if group == "end" else ("value", _converted(match, group))

    def items(self, end: str) -> Iterator[None]:
        """Stop before every item of a list or object that has begun."""
        self._ahead = self._read()
        kind = "," if self._ahead[0] != end else self.next(end)[0]
        while kind == ",":
            yield
            kind, _ = self.next(",", end)

    def members(self) -> Iterator[tuple[str, _Value]]:
        """Yield the members of an object that has begun; `LATER` is a value still to be taken."""
        ends: tuple[str, ...] = ("value", "}")
        while True:
            if match := _MEMBER.match(self._data, self.position):
                self._reading.tick(self._source)
                self.position = match.end()
                name, text, _, _, word, mark = match.groups()
                group = "whole" if text is None and word is None else "word"
                value = _converted(match, group) if text is None else text.decode()
                yield self._known(name.decode()), value
                if mark == b"}":
                    return
            else:
                kind, found = self.next(*ends)
                if kind == "}":
                    return
                if not isinstance(found, str):
                    raise ValueError(f"{quoted(found):.40} where a name is expected")
                self.next(":")
                yield self._known(found), LATER
                if self.next(",", "}")[0] == "}":
                    return
            ends = ("value",)

    def _known(self, name: str) -> str:
        """Return a name, of which the file has not too many."""
        if name not in self._names:
            if len(name) > MAX_NAME:
                raise ValueError(f"a name of more than {MAX_NAME} characters")
            if len(self._names) >= _MAX_NAMES:
                raise ValueError(f"more than {_MAX_NAMES} different names")
            self._names[name] = name
        return self._names[name]

    def value(self, count: Callable[[], None]) -> _Value:
        """Return a value, or a list of some, each of which is counted."""
        kind, value = self.next("value", "[", "{")
        if kind == "value":
            return value
        if kind == "{":
            self.skip(kind)
            return None
        items, is_nested = [], False
        for _ in self.items("]"):
            kind, item = self.next("value", "[", "{")
            if kind != "value":
                self.skip(kind)
            is_nested = is_nested or item is None
            if not is_nested:
                count()
                items.append(item)
        return None if is_nested else items

    def skip(self, kind: str | None = None, depth: int = 1) -> None:
        """Pass over a value; of a list or an object its mark may have been taken."""
        kind = kind or self.next("value", "[", "{")[0]
        if depth > _MAX_DEPTH:
            raise ValueError(f"more than {_MAX_DEPTH} lists within each other")
        if kind == "value":
            return
        if kind == "[":
            for _ in self.items("]"):
                self.skip(depth=depth + 1)
            return
        for _, value in self.members():
            if value is LATER:
                self.skip(depth=depth + 1)


def _converted(match: re.Match[bytes], group: str) -> _Value:
    if group == "word":
        return _WORDS[match[group]]
    start, end = match.span(group)
    if group == "text":
        if end - start > _LONGEST_CHARACTER * MAX_LINE:
            raise ValueError(f"a text of more than {MAX_LINE} characters")
        text = match[group].decode()
        text = json.loads(text) if "\\" in text else text[1:-1]
        if len(text) > MAX_LINE or not is_text(text):
            raise ValueError(f"a text of more than {MAX_LINE} characters, or half a character")
        return text
    if group == "no_number":
        raise ValueError(f"{match[group].decode()}, which is no number of JSON; leave it out")
    if match.end("real") - match.start("whole") > _MAX_DIGITS:
        raise ValueError(f"a number of more than {_MAX_DIGITS} digits")
    if not match["real"]:
        return int(match["whole"])
    number = float(match["whole"] + match["real"])
    if math.isinf(number):
        raise ValueError("a number that is too large")
    return number
