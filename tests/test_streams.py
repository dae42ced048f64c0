"""Messages: visible, of bounded length, and never a reason to fail."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from graphscore.progress import progress
from graphscore.streams import LONGEST_MESSAGE, Unfailing, say, shortened, visible

_SAY_AND_END = """
import sys
from graphscore.streams import say
for _ in range(3):
    say("lost")
print("done")
"""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("over\rwritten\x08\x7f", r"over\rwritten\x08\x7f"),
        ("\x9b31m\x85", r"\x9b31m\x85"),
        ("a\u202eb\u2066c\u200f\u2028", r"a\u202eb\u2066c\u200f\u2028"),
        ("\udc80\ud800", r"\udc80\ud800"),
        ("Grüße, 図 🙂\n\tsecond line", "Grüße, 図 🙂\n\tsecond line"),
    ],
)
def test_control_characters_are_shown_and_not_sent(text, shown):
    assert visible(text) == shown


def test_long_messages_lose_their_middle():
    assert shortened("x" * LONGEST_MESSAGE) == "x" * LONGEST_MESSAGE
    short = shortened("begin" + "x" * 10**6 + "end")
    assert short.startswith("begin")
    assert short.endswith("end")
    assert f"{10**6 + 8 - LONGEST_MESSAGE} characters" in short
    assert len(short) < LONGEST_MESSAGE + 100


def test_say_prints_one_visible_line_on_standard_error(capsys):
    say("a\x1bb")
    assert capsys.readouterr() == ("", "a\\x1bb\n")


@pytest.mark.parametrize("closed", [False, True], ids=["none", "closed"])
def test_say_without_a_standard_error(monkeypatch, closed):
    """As Python leaves it where the descriptor is closed, and as a caller may close it."""
    stream = io.StringIO() if closed else None
    if stream is not None:
        stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    say("nobody hears this")
    assert not Unfailing(sys.stderr).isatty()


def test_what_an_encoding_lacks_is_escaped():
    raw = io.BytesIO()
    stream = Unfailing(io.TextIOWrapper(raw, encoding="ascii", errors="strict"))
    stream.write("é \udcff ok\n")
    stream.flush()
    assert raw.getvalue() == b"\\xe9 \\udcff ok\n"
    assert stream.failure is None


class Tee:
    """What people put in place of standard error."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text


@pytest.mark.parametrize("attributes", [{}, {"encoding": None}, {"encoding": "no-such-code"}])
def test_something_with_nothing_but_write_takes_the_place_of_a_stream(monkeypatch, attributes):
    tee = Tee()
    vars(tee).update(attributes)
    monkeypatch.setattr(sys, "stderr", tee)
    say("hello")
    with progress("work", 1) as update:
        update(1, "")
    assert tee.text.startswith("hello\nwork 1/1")
    assert Unfailing(tee).failure is None


def test_the_first_failure_is_kept_and_later_text_arrives(tmp_path):
    """A pipe without a reader loses text; the same stream works again when its file does."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as broken:
        stream = Unfailing(broken)
        stream.write("lost\n")
        stream.flush()
        assert isinstance(stream.failure, BrokenPipeError)
        with (tmp_path / "file").open("wb") as file:
            os.dup2(file.fileno(), writer)
        stream.write("kept\n")
        stream.flush()
    assert (tmp_path / "file").read_text() == "kept\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_program_that_says_things_on_a_full_standard_error_ends_well():
    """Not with Python's own code 120 either, for what is left in the buffer at the end."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", _SAY_AND_END],
            env={**os.environ, "PYTHONUNBUFFERED": ""},
            stdout=subprocess.PIPE,
            stderr=full,
        )
    assert (done.returncode, done.stdout) == (0, b"done\n")
