"""`python -m reproduce`: records, continuation, parts, refusals."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from reproduce.__main__ import main
from reproduce.experiments import table3
from reproduce.titles import TITLES


@dataclass(frozen=True)
class Outcome:
    """Exit code and output of one call."""

    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def _tiny(monkeypatch, _offline):
    """Offer the scale of tests."""
    monkeypatch.setattr("reproduce.plans.OFFERED", ("full", "quick", "tiny"))


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def call(capsys):
    """Run the program in this process."""

    def run(*arguments):
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main(list(arguments))
        shown = capsys.readouterr()
        return Outcome(stopped.value.code, shown.out, shown.err)

    return run


def tiny(name, *more):
    return [name, "--scale", "tiny", "--seeds", "1", "--device", "cpu", *more]


def timeless(record):
    """A record without times."""
    if isinstance(record, dict):
        return {k: timeless(v) for k, v in record.items() if "seconds" not in k}
    return [timeless(item) for item in record] if isinstance(record, list) else record


OF_DOWNLOADS = {"molecules"}
"""Experiments on data that are not at hand; `test_molecules.py` runs it where they are."""


@pytest.mark.parametrize("name", [name for name in TITLES if name not in OF_DOWNLOADS])
def test_every_experiment_runs(place, call, name):
    outcome = call(*tiny(name, "--out", "here"))
    assert outcome.code == 0, outcome.err
    record = json.loads((place / "here" / f"{name}_tiny.json").read_text())
    assert record["experiment"] == name
    assert record["provenance"]["device"] == "CPU"
    assert f"here/{name}_tiny.json" in outcome.out
    assert "computing" in outcome.err
    times = {file: file.stat().st_mtime_ns for file in (place / "here/work").rglob("*.json")}
    again = call(*tiny(name, "--out", "here", "--json"))
    assert again.code == 0
    assert timeless(json.loads(again.out)) == timeless(record)
    assert times == {file: file.stat().st_mtime_ns for file in times}


def test_finished_parts_have_a_record_of_their_own(place, call):
    key = "community-small-released_no-walks"
    assert call(*tiny("denoiser-ablation", "--out", "here", "--parts", key)).code == 0
    outcome = call(*tiny("denoiser-ablation", "--out", "here", "--finished"))
    assert outcome.code == 0, outcome.err
    assert "without random-walk features" in outcome.out
    assert "not finished yet: community-small-released_all" in outcome.out
    assert "computing" not in outcome.err
    record = json.loads((place / "here" / "denoiser-ablation_tiny.json").read_text())
    assert key not in record["missing"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--finished"], "not finished: community-small-released_none_seed0"),
        (["--finished", "--parts", "ego-small*"], "cannot be used with --parts"),
    ],
)
def test_a_record_of_too_little_is_refused(place, call, more, words):
    outcome = call(*tiny("table3", "--out", "here", *more))
    assert outcome.code == 2
    assert words in outcome.err
    assert not (place / "here").exists()


def test_parts_apart_give_the_same_record(place, call):
    first = call(*tiny("table3", "--out", "apart", "--parts", "ego-small*", "--json"))
    assert first.code == 0
    shown = json.loads(first.out)
    assert len(shown["finished"]) == len(shown["missing"]) == 4
    assert not (place / "apart" / "table3_tiny.json").exists()
    parts = "community-small-released_*,ego-small_none_seed0"
    second = call(*tiny("table3", "--out", "apart", "--parts", parts))
    assert "not finished yet: nothing" in second.out
    assert "computing ego-small" not in second.err
    record = call(*tiny("table3", "--out", "apart", "--json"))
    assert "computing" not in record.err
    whole = call(*tiny("table3", "--out", "whole", "--json"))
    assert timeless(json.loads(record.out)) == timeless(json.loads(whole.out))


def test_a_run_out_of_time_goes_on(place, call):
    outcome = call(*tiny("table3", "--out", "here", "--max-seconds", "0"))
    assert outcome.code == 0
    assert outcome.out == ""
    assert "stopped early" in outcome.err
    assert not (place / "here" / "table3_tiny.json").exists()


def test_ctrl_c_keeps_finished_parts(place, call, monkeypatch):
    original, done = table3.mean_loss, []

    def interrupted(*arguments):
        done.append(1)
        if len(done) == 3:
            signal.raise_signal(signal.SIGINT)
        return original(*arguments)

    monkeypatch.setattr(table3, "mean_loss", interrupted)
    stopped = call(*tiny("table3", "--out", "here"))
    assert stopped.code == 130
    assert "kept in here/work/table3_tiny" in stopped.err
    parts = place / "here/work/table3_tiny/parts"
    found = sorted(file.stem for file in parts.iterdir())
    # The loss of the second part was underway: it is finished, and the third is not begun.
    assert found == [f"community-small-released_{name}_seed0" for name in ("learnable", "none")]
    outcome = call(*tiny("table3", "--out", "here"))
    assert outcome.code == 0
    assert "computing community-small-released_none" not in outcome.err


def test_the_list(place, call):
    outcome = call("--list")
    assert outcome.code == 0
    assert all(name in outcome.out for name in TITLES)
    assert json.loads(call("--list", "--json").out) == TITLES
    parts = call(*tiny("table2", "--list"))
    assert "ego-small_floor" in parts.out
    assert set(json.loads(call(*tiny("figure3", "--list", "--json")).out).values()) == {False}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["--list"]),
        (["tabel2"], ["'tabel2'", "Did you mean 'table2'"]),
        (["xyz"], ["'xyz'", "Known: table1, table2"]),
        (["all", "--parts", "x"], ["all", "--parts"]),
        (["table2", "--seeds", "0"], ["--seeds 0", "at least 1"]),
        (["table2", "--seeds", "many"], ["--seeds", "many"]),
        (["table2", "--seeds", "1.5"], ["--seeds", "a whole number"]),
        (["table2", "--sedes", "1"], ["--sedes", "--seeds"]),
        (["table2", "--scale", "huge"], ["--scale", "'huge'", "full", "quick"]),
        (["table2", "--max-seconds", "-1"], ["--max-seconds -1"]),
        (["table2", "--device", "warp"], ["'warp'", "cpu"]),
        (["table2", "--parts", "mars*"], ["'mars*'", "ego-small_seed0"]),
        (["table2", "--parts", ","], ["--parts"]),
        (["table2", "--out", "file"], ["file"]),
    ],
)
def test_wrong_use(place, call, arguments, words):
    (place / "file").write_text("")
    outcome = call(*arguments)
    assert outcome.code == 2
    assert outcome.err.startswith("reproduce: ")
    assert all(word in outcome.err for word in words)
    assert [path.name for path in place.iterdir()] == ["file"]


def test_the_program_runs_from_the_root_of_the_repository():
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "reproduce", "--list"], cwd=root, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "table2" in done.stdout
