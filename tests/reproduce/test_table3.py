"""Table 3 at the scale of tests."""

from __future__ import annotations

import copy

import pytest

from reproduce.experiment import find_experiment
from reproduce.experiments.table3 import _order, network
from reproduce.plans import load_plan

PLAN = load_plan("table3", "tiny")


def test_every_cell_has_losses_of_every_seed(record):
    results = record("table3")["results"]
    assert [result["dataset"] for result in results] == PLAN["datasets"]
    for result in results:
        assert [cell["variant"] for cell in result["variants"]] == list(PLAN["variants"])
        for cell in result["variants"]:
            for split in ("train", "test"):
                values = [seed[split]["summed"] for seed in cell["per_seed"]]
                assert len(values) == 1
                assert cell[split]["summed"]["mean"] == pytest.approx(values[0])
                # Hardly trained: about the loss of a network that answers zero.
                assert 0.5 < cell[split]["per_pair"]["mean"] < 1.5


def test_networks_differ_in_nothing_else():
    assert network(PLAN, "both").channels == tuple(PLAN["network"]["channels"])
    for variant, chosen in PLAN["variants"].items():
        settings = network(PLAN, variant)
        assert settings.learnable_adjacency == chosen["learnable_adjacency"]
        assert settings.complement_channel == chosen["multi_channel"]
        assert (max(settings.channels) > 1) == chosen["multi_channel"]
        assert settings.features == network(PLAN, "both").features


def test_the_section_has_both_sets_and_the_published_losses(record):
    text = find_experiment("table3").markdown(record("table3"))
    assert text.startswith("## Table 3: ablation\n")
    for words in (
        *PLAN["datasets"],
        "train loss",
        "| 140 |",
        "| 96 |",
        "comparisons of the published table",
    ):
        assert words in text


def cells(**losses):
    return [
        {
            "variant": variant,
            "per_seed": [{"train": {"summed": v}, "test": {"summed": v}} for v in values],
            "train": {"summed": {"mean": sum(values) / len(values)}},
            "test": {"summed": {"mean": sum(values) / len(values)}},
        }
        for variant, values in losses.items()
    ]


def test_the_order_of_the_paper_is_checked(record):
    right = _order(cells(none=[4, 4], learnable=[3, 3], channels=[2, 3], both=[1, 1]))
    assert all(one["holds"] and one["seeds_that_agree"] == 2 for one in right)
    wrong = _order(cells(none=[4, 4], learnable=[3, 5], channels=[5, 5], both=[1, 1]))
    failed = {(one["split"], one["better"], one["worse"]) for one in wrong if not one["holds"]}
    pairs = {("learnable", "none"), ("channels", "none")}
    assert failed == {(split, *pair) for split in ("train", "test") for pair in pairs}


def test_a_wrong_order_is_reported(record):
    changed = copy.deepcopy(record("table3"))
    for result in changed["results"]:
        for one in result["order"]:
            one["holds"] = one["better"] == "both"
            one |= {"gap": -0.1, "gap_spread": 0.2 if one["split"] == "train" else 0.05}
    text = find_experiment("table3").markdown(changed)
    assert "4 of 8 comparisons" in text
    assert "train: learnable not below none" in text
    assert text.count("not significant") == 2 * len(changed["results"])
