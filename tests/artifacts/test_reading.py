"""JSON from outside: strict, and small in all its parts."""

from __future__ import annotations

import json

import pytest

from graphscore.artifacts.reading import parse_json, read_json
from graphscore.errors import CheckpointError


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b" " * 1001, "1001 bytes; at most 1000"),
        (b"[1, NaN]", "not finite"),
        (b"[-Infinity]", "not finite"),
        (b"[1e999]", "not finite"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b'["\\ud800"]', "not readable as JSON"),
        (b"9" * 900 + b"x", "not readable as JSON"),
        (b"\xff", "not readable as JSON"),
    ],
)
def test_json_is_strict(tmp_path, text, words):
    (tmp_path / "x.json").write_bytes(text)
    with pytest.raises(CheckpointError, match=words):
        read_json(tmp_path / "x.json", 1000)


def test_objects_of_json_are_small_but_those_that_are_named():
    """Whoever checks types keeps an error for each entry, of thousands of bytes."""
    many = {f"k{index}": index for index in range(1001)}
    few = dict(list(many.items())[:1000])
    for value in (few, {"a": [few] * 3}, {"x" * 200: list(range(1000))}):
        assert parse_json(json.dumps(value).encode()) == value
    refused = {
        "the whole has 1001 entries; at most 1000": many,
        "^a.0 has 1001 entries": {"a": [list(range(1001))]},
        "^a has 1001 entries": {"a": many},
        "a name of 201 characters; at most 200": {"x" * 201: 1},
    }
    for words, value in refused.items():
        with pytest.raises(ValueError, match=words):
            parse_json(json.dumps(value).encode())
    longer = {("a",): 1001, ("b", "c"): 2}
    for value in ({"a": many}, {"b": {"c": [1, 2]}}, {"c": [1, 2, 3]}):
        assert parse_json(json.dumps(value).encode(), longer) == value
    for value in ({"a": {**many, "more": 1}}, {"b": {"c": [1, 2, 3]}}):
        with pytest.raises(ValueError, match="entries; at most"):
            parse_json(json.dumps(value).encode(), longer)


def test_json_has_250000_values_at_most():
    value = [[0] * 999] * 250
    assert parse_json(json.dumps(value).encode()) == value
    with pytest.raises(ValueError, match="more than 250000 values"):
        parse_json(json.dumps([*value, [0]]).encode())


@pytest.mark.parametrize("text", [b"[" * 100_000, b"9" * 100_000, b"[" + b"0," * 600_000 + b"0]"])
def test_json_that_is_deep_or_long_is_refused(tmp_path, text):
    (tmp_path / "x.json").write_bytes(text)
    with pytest.raises(CheckpointError, match=r"not readable as JSON|values"):
        read_json(tmp_path / "x.json", 10**7)


def test_objects_and_lists_lie_fifty_deep_at_most():
    """Programs that go through what was read have less room than the parser."""
    for begin, end in (("[", "]"), ('{"a":', "}")):
        assert parse_json((begin * 50 + "1" + end * 50).encode())
        with pytest.raises(ValueError, match="more than 50 objects and lists within each other"):
            parse_json((begin * 51 + "1" + end * 51).encode())
