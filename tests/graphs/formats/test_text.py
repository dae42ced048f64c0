"""Lines of text files: their numbers and places, and what is too long or no text."""

from __future__ import annotations

import pytest

from graphscore.errors import GraphDataError
from graphscore.graphs.formats.text import check_name, lines_of
from graphscore.graphs.limits import Reading

LONGEST = 1_048_576
TEXTS = {
    "plain": [f"{k} {k + 1}" for k in range(20_000)],
    "accents": [f"{k} {'é' * (k % 50)}" for k in range(5_000)],
    "mixed": ["a" * 50] * 3_000 + ["", "ü€𝄞", ""] * 5 + ["b" * 50] * 3_000,
    "empty lines": ["", "", "a", "", ""],
    "one line": ["a"],
    "long lines": ["a" * 100_000, "b", "é" * 50_000, "", "c" * LONGEST, "d"],
}


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("name", TEXTS)
def test_every_line_comes_with_its_number_and_place(name, mark, end):
    """A byte order mark is skipped and counts as place."""
    content = "\n".join(TEXTS[name]) + end
    data = (mark + content).encode()
    found = list(lines_of(data, "g", Reading()))
    assert [(number, text) for number, _, text in found] == [
        *enumerate(content.splitlines(), start=1)
    ]
    for _, start, text in found:
        assert data[start : start + len(text.encode())] == text.encode()
        assert start == len(mark.encode()) or data[start - 1] == ord("\n")


@pytest.mark.parametrize("end", [b"", b"\n", b"\nmore"])
@pytest.mark.parametrize("before", [b"", b"\n", b"a\n" * 40_000])
def test_a_line_has_1048576_bytes_at_most(before, end):
    """Also the last one, with or without a line end."""
    (*_, last) = lines_of(before + b"a" * LONGEST + end.removesuffix(b"more"), "g", Reading())
    number = before.count(b"\n") + 1
    assert last == (number, len(before), "a" * LONGEST)
    with pytest.raises(GraphDataError, match=f"g line {number}: longer than {LONGEST} characters"):
        list(lines_of(before + b"a" * (LONGEST + 1) + end, "g", Reading()))


@pytest.mark.parametrize(
    ("data", "line"),
    [(b"\xff", 1), (b"\n\xff\n", 2), (b"a\n\n\xff\nb", 3), (b"a\n" * 40_000 + b"\n\xff", 40_002)],
)
def test_bytes_that_are_no_text_are_named(data, line):
    """With the number of their line."""
    with pytest.raises(GraphDataError, match=f"g line {line}: byte 0xff is not UTF-8 text"):
        list(lines_of(data, "g", Reading()))


def test_a_name_has_200_characters_at_most():
    """A longer one is refused with its beginning."""
    assert check_name("g", "a" * 200) == "a" * 200
    with pytest.raises(GraphDataError, match=r"g: the name of a node has 201 .* at most 200"):
        check_name("g", "a" * 201)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf_16_is_named(encoding):
    data = ("\ufeff" * (encoding != "utf-16") + "0 1\n").encode(encoding)
    with pytest.raises(GraphDataError, match="g: UTF-16 text, but UTF-8 is expected"):
        list(lines_of(data, "g", Reading()))
