"""The limits of reading are options of every command that reads graphs."""

from __future__ import annotations

import pytest

TRAIN = ["train", "graphs.g6", "--out", "new"]


@pytest.mark.parametrize(
    "option",
    [
        ("--max-total-nodes", "5"),
        ("--max-total-edges", "1"),
        ("--max-bytes", "3"),
        ("--max-read-seconds", "1e-9"),
    ],
)
def test_a_limit_that_is_passed_names_its_option(place, refused, option):
    for command in (
        TRAIN,
        ["evaluate", "graphs.g6", "--reference", "graphs.g6"],
        ["bench", "graphs.g6"],
    ):
        refused([*command, *option], "graphs.g6", option[0])
    refused([*TRAIN, option[0], "0"], option[0], "more than 0")
