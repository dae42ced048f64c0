"""Trainings that are disturbed by failing operations, power cuts and kills, some of each."""

from __future__ import annotations

import argparse
import os

import pytest

from campaigns import faults, kills


# At least 300 points in all; `python -m campaigns faults` tries every one.
@pytest.mark.parametrize(
    ("part", "every"),
    [
        ("file operations of a training", 7),
        ("file operations of resuming", 6),
        ("allocations of a training", 18),
        ("states after a power cut", 9),
    ],
)
def test_a_training_goes_on_after_whatever_failed(part, every):
    """And arrives at the same weights, bit for bit."""
    found = faults.PARTS[part](every)
    assert len(found) >= 75
    assert [wrong for wrong in found if wrong is not None] == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_training_goes_on_after_kills():
    """At random moments, at file operations, and with two processes that resume it."""
    outcome = kills.run(argparse.Namespace(number=6, seed=0))
    assert outcome.failures == []
    assert outcome.tried >= 18
    assert [row["failed"] for row in outcome.rows.values()] == [0, 0, 0]


def test_the_disk_that_loses_what_was_not_synced(tmp_path):
    """It finds a file that was renamed before its content, or its name, was sure."""
    from campaigns.power import Disk
    from campaigns.watched import Watch

    disk = Disk()
    with Watch(tmp_path, after=disk.do):
        (tmp_path / "new").write_bytes(b"content")
        (tmp_path / "new").rename(tmp_path / "name")
    states = [dict(state) for state in disk.after_cut()]
    assert {} in states
    assert {"name": b""} in states
    assert {"name": b"con"} in states
    assert {"name": b"content"} in states
    with Watch(tmp_path, after=disk.do):
        for path, flags in ((tmp_path / "name", os.O_RDWR), (tmp_path, os.O_RDONLY)):
            descriptor = os.open(path, flags)
            os.fsync(descriptor)
            os.close(descriptor)
    assert [dict(state) for state in disk.after_cut()] == [{"name": b"content"}] * 2
