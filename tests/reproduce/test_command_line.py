"""`graphscore reproduce`: records, continuation, parts, refusals."""

from __future__ import annotations

import json
import signal

import pytest

from graphscore.experiments import TITLES, ablation


@pytest.fixture(autouse=True)
def _tiny(monkeypatch, tmp_path):
    """Offer the scale of tests; no Protein, and few graphs to draw."""

    def refuse(*arguments, **options):
        raise OSError("no network in tests")

    monkeypatch.setattr("graphscore.experiments.scale.OFFERED", ("full", "quick", "tiny"))
    monkeypatch.setenv("GRAPHSCORE_DATA", str(tmp_path / "nothing"))
    monkeypatch.setattr("urllib.request.urlopen", refuse)
    monkeypatch.setattr("graphscore.experiments.samples.SHOWN", 1)


def tiny(name, *more):
    return ["reproduce", name, "--scale", "tiny", "--seeds", "1", "--device", "cpu", *more]


def timeless(record):
    """A record without times."""
    if isinstance(record, dict):
        return {k: timeless(v) for k, v in record.items() if "seconds" not in k}
    return [timeless(item) for item in record] if isinstance(record, list) else record


@pytest.mark.parametrize("name", TITLES)
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
    assert call(*tiny("denoiser", "--out", "here", "--parts", key)).code == 0
    outcome = call(*tiny("denoiser", "--out", "here", "--finished"))
    assert outcome.code == 0, outcome.err
    assert "without random walks" in outcome.out
    assert "not finished yet: community-small-released_all" in outcome.out
    assert "computing" not in outcome.err
    record = json.loads((place / "here" / "denoiser_tiny.json").read_text())
    assert key not in record["missing"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--finished"], "not finished: community-small-released_none_seed0"),
        (["--finished", "--parts", "ego-small*"], "--parts has no meaning"),
    ],
)
def test_a_record_of_too_little_is_refused(place, call, more, words):
    outcome = call(*tiny("ablation", "--out", "here", *more))
    assert outcome.code == 2
    assert words in outcome.err
    assert not (place / "here").exists()


def test_parts_apart_give_the_same_record(place, call):
    first = call(*tiny("ablation", "--out", "apart", "--parts", "ego-small*", "--json"))
    assert first.code == 0
    told = json.loads(first.out)
    assert len(told["finished"]) == len(told["missing"]) == 4
    assert not (place / "apart" / "ablation_tiny.json").exists()
    parts = "community-small-released_*,ego-small_none_seed0"
    second = call(*tiny("ablation", "--out", "apart", "--parts", parts))
    assert "not finished yet: nothing" in second.out
    assert "computing ego-small" not in second.err
    record = call(*tiny("ablation", "--out", "apart", "--json"))
    assert "computing" not in record.err
    whole = call(*tiny("ablation", "--out", "whole", "--json"))
    assert timeless(json.loads(record.out)) == timeless(json.loads(whole.out))


def test_a_run_out_of_time_goes_on(place, call):
    outcome = call(*tiny("ablation", "--out", "here", "--max-seconds", "0"))
    assert outcome.code == 0
    assert outcome.out == ""
    assert "stopped early" in outcome.err
    assert not (place / "here" / "ablation_tiny.json").exists()


def test_ctrl_c_keeps_finished_parts(place, call, monkeypatch):
    original, done = ablation._loss, []

    def interrupted(*arguments):
        done.append(1)
        if len(done) == 3:
            signal.raise_signal(signal.SIGINT)
        return original(*arguments)

    monkeypatch.setattr(ablation, "_loss", interrupted)
    stopped = call(*tiny("ablation", "--out", "here"))
    assert stopped.code == 130
    assert "kept in here/work/ablation_tiny" in stopped.err
    parts = place / "here/work/ablation_tiny/parts"
    found = sorted(file.stem for file in parts.iterdir())
    # The loss of the second part was underway: it is finished, and the third is not begun.
    assert found == [f"community-small-released_{name}_seed0" for name in ("learnable", "none")]
    outcome = call(*tiny("ablation", "--out", "here"))
    assert outcome.code == 0
    assert "computing community-small-released_none" not in outcome.err


def test_the_list(place, call):
    outcome = call("reproduce", "--list")
    assert outcome.code == 0
    assert all(name in outcome.out for name in TITLES)
    assert json.loads(call("reproduce", "--list", "--json").out) == TITLES
    parts = call(*tiny("generation", "--list"))
    assert "ego-small_floor" in parts.out
    assert set(json.loads(call(*tiny("samples", "--list", "--json")).out).values()) == {False}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["--list"]),
        (["generaton"], ["'generaton'", "Did you mean 'generation'"]),
        (["xyz"], ["'xyz'", "Known: training, generation"]),
        (["generation", "--seeds", "0"], ["--seeds 0", "at least 1"]),
        (["generation", "--seeds", "many"], ["--seeds", "many"]),
        (["generation", "--scale", "huge"], ["--scale", "'huge'", "full", "quick"]),
        (["generation", "--max-seconds", "-1"], ["--max-seconds -1"]),
        (["generation", "--device", "warp"], ["'warp'", "cpu"]),
        (["generation", "--parts", "mars*"], ["'mars*'", "ego-small_seed0"]),
        (["generation", "--parts", ","], ["--parts"]),
        (["generation", "--out", "graphs.g6"], ["graphs.g6"]),
    ],
)
def test_wrong_use(refused, arguments, words):
    refused(["reproduce", *arguments], *words)
