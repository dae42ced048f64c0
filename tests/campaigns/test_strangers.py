"""Crafted models end in a message or a model; and the campaign notices when they do not."""

from __future__ import annotations

import argparse
import os
import time

import pytest

if not hasattr(os, "fork"):
    pytest.skip("needs fork", allow_module_level=True)

from campaigns import strangers
from campaigns.crafted_files import tensor_attacks
from campaigns.crafted_models import Attack
from campaigns.process import in_a_process
from graphscore.errors import CheckpointError


def test_a_short_campaign_finds_nothing():
    outcome = strangers.run(argparse.Namespace(values=1, every=40))
    assert outcome.failures == []
    assert {row.split(":")[0] for row in outcome.rows} == set(strangers.KINDS)
    assert outcome.tried == sum(row["tried"] for row in outcome.rows.values()) > 20


def test_there_are_at_least_300_attacks_with_a_single_value(tmp_path):
    strangers._make("erdos-renyi", tmp_path / "erdos-renyi")
    found = list(strangers._attacks(tmp_path / "erdos-renyi", 1))
    assert len(found) * len(strangers.KINDS) > 300
    assert len({(attack.group, attack.name) for attack in found}) == len(found)


def refuse():
    raise CheckpointError("no")


def leave(code):
    raise SystemExit(code)


@pytest.mark.parametrize(
    ("work", "seconds", "words"),
    [
        (lambda: [][0], 60, "IndexError"),
        (lambda: time.sleep(600), 1, "hung for 1 s"),
        (lambda: os.kill(os.getpid(), 9), 60, "died of SIGKILL"),
        (lambda: strangers._accepted(lambda: leave(1)), 60, "exit code 1"),
    ],
)
def test_what_goes_wrong_in_an_attempt_is_named(work, seconds, words):
    attack = Attack("files", "x", lambda model: None)
    assert words in strangers._wrong(attack, in_a_process(work, seconds))


@pytest.mark.parametrize(
    "write",
    [
        lambda outside: (outside / "file").write_text("other"),
        lambda outside: (outside / "new").touch(),
        lambda outside: (outside / "file").unlink(),
    ],
)
def test_what_is_written_outside_of_the_folder_is_noticed(tmp_path, monkeypatch, write):
    """Also where it is accepted."""
    strangers._make("erdos-renyi", tmp_path / "erdos-renyi")
    outside = tmp_path / "place" / "outside"

    def prepare(model):
        outside.mkdir()
        (outside / "file").write_text("mine")

    attack = Attack("files", "x", prepare)
    for use, wrong in [(write, "written outside of its folder"), (lambda outside: None, "")]:
        monkeypatch.setattr(strangers, "_use", lambda *a, use=use, **b: (use(outside), {})[1])
        folder = tmp_path / "place" / "1"
        result = strangers._try(attack, tmp_path / "erdos-renyi", folder, resumes=False)
        assert strangers._wrong(attack, result) == wrong


def test_refusals_and_acceptances_are_told_apart():
    assert strangers._accepted(refuse) == strangers._accepted(lambda: leave(2)) == "refused"
    assert strangers._accepted(lambda: 0) == "accepted"
    attack = Attack("files", "x", lambda model: None, refused_by="load")
    assert strangers._wrong(attack, {"load": "accepted", "peak": 0}) == "accepted by load"
    assert strangers._wrong(attack, {"load": "refused", "peak": 0}) == ""
    assert "300 MB" in strangers._wrong(attack, {"load": "refused", "peak": 300_000_000})


def test_memory_is_measured():
    result = in_a_process(lambda: {"size": len(bytearray(b"x" * 150_000_000))}, seconds=60)
    assert result["peak"] > 100_000_000


def test_weights_that_do_not_fit_take_no_memory(tmp_path):
    """Although the settings allow a file of their size."""
    strangers._make("denoiser", tmp_path / "denoiser")
    (large,) = (attack for attack in tensor_attacks() if "300 MB" in attack.name)
    place = tmp_path / "place" / "1"
    result = strangers._try(large, tmp_path / "denoiser", place, resumes=True)
    assert strangers._wrong(large, result) == ""
    assert result["peak"] < 200_000_000
