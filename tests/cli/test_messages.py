"""Messages: no control characters from outside, bounded length, and reasons of the system."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from graphscore.cli.tables import print_table

ESCAPE = "\x1b]0;owned\x07\x1b[31m\u202e\r"
VISIBLE = r"\x1b]0;owned\x07\x1b[31m\u202e\r"
posix = pytest.mark.skipif(sys.platform == "win32", reason="names and permissions of POSIX systems")


@posix
def test_names_from_outside_are_shown_with_their_control_characters_escaped(place, call):
    """In errors, remarks, tables and reports."""
    shutil.copy("graphs.g6", f"{ESCAPE}.g6")
    shutil.copytree("run", ESCAPE)
    (place / f"{ESCAPE}.edges").write_text("0 0\n0 1\n")
    (place / "bad.gml").write_text(f'graph [ node [ id 0 ] node [ id "{ESCAPE}" ] ]')
    calls = [
        ("evaluate", f"{ESCAPE}.s6", "-r", "graphs.g6"),
        ("evaluate", "bad.gml", "-r", "graphs.g6"),
        ("evaluate", f"{ESCAPE}.edges", "-r", f"{ESCAPE}.g6", "--drop-self-loops"),
        ("train", "graphs.g6", f"--{ESCAPE}", "--out", "x"),
        ("train", "graphs.g6", "--model", ESCAPE, "--out", "x"),
        ("info", ESCAPE),
        ("info", f"{ESCAPE}2"),
        ("sample", ESCAPE, "-n", 1),
        ("datasets", "export", "tree", "-o", f"{ESCAPE}.s6"),
        ("train", f"{ESCAPE}.g6", "--out", "new", "--config", "tiny.toml", "--steps", 1),
        ("info", "new"),
    ]
    for arguments in calls:
        outcome = call(*arguments)
        shown = outcome.out + outcome.err
        assert not set(ESCAPE) - set("]0;owned[31m") & set(shown), arguments
        plain = shown.replace("\n", "").replace("│", "").replace(" ", "")
        assert r"\x1b]0;owned\x07" in plain or arguments[1] == "bad.gml", arguments


@posix
def test_names_that_an_encoding_lacks_are_no_error(place, program, environment):
    """A file name that is not UTF-8, in the report and on a terminal that knows only ASCII."""
    name = os.fsdecode(b"\xff\xc3\xa9.g6")
    done = subprocess.run(
        [*program, "datasets", "export", "tree", "-o", name],
        env={**environment, "PYTHONIOENCODING": "ascii:strict", "LC_ALL": "C"},
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"128 graphs written to \\udcff\\xe9.g6\n"
    assert (place / name).exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["sample", "{}"],
        ["evaluate", "{}", "-r", "graphs.g6"],
        ["train", "graphs.g6", "--out", "x", "--model", "{}"],
        ["train", "graphs.g6", "--out", "x", "--steps", "{}"],
        ["{}"],
    ],
    ids=["run", "graphs", "model", "number", "command"],
)
def test_an_endless_argument_is_quoted_in_part(refused, arguments):
    error = refused([argument.format("y" * 10**6) for argument in arguments], "...")
    assert len(error) < 5000


IMPOSSIBLE = [
    ["train", "graphs.g6", "--out", "{}"],
    ["train", "graphs.g6", "--out", "{}", "--resume"],
    ["train", "graphs.g6", "--out", "new", "--config", "{}"],
    ["train", "{}", "--out", "new"],
    ["train", "protein", "--out", "new", "--data-dir", "{}"],
    ["train", "graphs.g6", "--out", "new", "--validation", "{}"],
    ["sample", "{}"],
    ["sample", "run", "-o", "{}", "--format", "graph6"],
    ["sample", "run", "--picture", "{}.png"],
    ["sample", "run", "--picture", "{}/x.png"],
    ["guide", "run", "run", "--out", "{}"],
    ["guide", "{}", "run", "--out", "new"],
    ["evaluate", "{}", "-r", "graphs.g6"],
    ["evaluate", "graphs.g6", "-r", "{}"],
    ["datasets", "export", "tree", "--out", "{}", "--format", "graph6"],
    ["datasets", "export", "protein", "--out", "new", "--data-dir", "{}", "--format", "graph6"],
    ["demo", "--out", "{}"],
    ["info", "{}"],
    ["bench", "{}"],
]


@posix
@pytest.mark.parametrize("arguments", IMPOSSIBLE, ids=" ".join)
def test_names_that_no_file_can_have(place, refused, arguments):
    """NUL, a lone surrogate, too long, a circle of links, and below a file."""
    (place / "circle").symlink_to("circle")
    (place / "circle.png").symlink_to("circle.png")
    for name in ("a\0b", "a\ud800b", "a" * 300, "b/" * 3000, "circle", "graphs.g6/x/y"):
        refused([argument.format(name) for argument in arguments])


@pytest.fixture
def unprivileged(place):
    """Files whose permissions count, which they do not for root."""
    root = sys.platform != "win32" and os.geteuid() == 0
    if root:
        for path in (place, *place.rglob("*")):
            os.chown(path, 65534, -1)
        os.seteuid(65534)
    yield place
    if root:
        os.seteuid(0)
    place.chmod(0o755)
    for path in place.iterdir():
        path.chmod(0o755)


@posix
def test_what_may_not_be_read_is_said(unprivileged, call, monkeypatch):
    """Files of a run, settings, the folder of data; a log alone is no reason to stop."""
    more = ["train", "graphs.g6", "--out", "run", "--resume", "--steps", 9]
    calls = {
        "run/log.jsonl": [("info", "run")],
        "run/checkpoint.json": [("info", "run"), ("sample", "run"), more],
        "tiny.toml": [("train", "graphs.g6", "--out", "x", "--config", "tiny.toml")],
        "graphs.g6": [("evaluate", "graphs.g6", "-r", "graphs.g6")],
        "run": [("info", "run"), ("sample", "run"), more, ("demo", "--out", "run")],
        "closed": [
            (*use, "closed/run") for use in (["info"], ["sample"], ["evaluate", "-r", "graphs.g6"])
        ],
    }
    Path("closed").mkdir()
    for name, uses in calls.items():
        path = Path(name)  # the folders above may be closed to us
        mode = path.stat().st_mode
        path.chmod(0)
        for arguments in uses:
            outcome = call(*arguments)
            assert outcome.code == (0 if name == "run/log.jsonl" else 2), arguments
            assert name in outcome.err
            assert "Permission denied" in outcome.err
        path.chmod(mode)
    Path("data").mkdir(mode=0)
    monkeypatch.setenv("GRAPHSCORE_DATA", "data")
    outcome = call("datasets", "export", "protein", "-o", "x.g6")
    assert outcome.code == 2
    assert "Permission denied" in outcome.err
    assert "--data-dir" in outcome.err


@posix
def test_a_home_that_nobody_knows(call, monkeypatch, tmp_path):
    """An account without a name and without HOME, as in many containers."""
    for name in ("HOME", "XDG_CACHE_HOME", "GRAPHSCORE_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", lambda number: {}[number])
    outcome = call("datasets", "export", "protein", "-o", tmp_path / "x.g6")
    assert outcome.code == 2
    assert "GRAPHSCORE_DATA" in outcome.err


@posix
def test_a_name_that_is_no_text_is_trained_on(place, call):
    """JSON has no place for it; the model says where its graphs came from all the same."""
    name = os.fsdecode(b"g\xff.g6")
    (place / "graphs.g6").rename(place / name)
    outcome = call("train", name, "--out", "new", "--config", "tiny.toml", "--steps", 1)
    assert outcome.code == 0, outcome.err
    assert json.loads((place / "new/checkpoint.json").read_text())["training_graphs"]["source"] == (
        r"g\udcff.g6"
    )
    assert call("train", name, "--out", "new", "--resume", "--steps", 2).code == 0


def test_tables_show_the_names_of_strangers_as_they_are(capsys):
    """Neither their markup nor what a terminal would obey."""
    print_table("t", ["[/a]", "\x1b[2J[bold]"], [["[/b]", "\x1b[2J"]])
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "[/a]" in shown
    assert r"\x1b[2J[bold]" in shown


def test_how_to_continue_can_be_pasted(place, call):
    (place / "graphs.g6").rename(place / "my graphs.g6")
    options = ["--config", "tiny.toml", "--steps", 9, "--max-seconds", 0]
    error = call("train", "my graphs.g6", "--out", "my run", *options).err
    assert "graphscore train 'my graphs.g6' --out 'my run' --resume" in error
