"""What each part of the denoiser brings, at the size of a test."""

from __future__ import annotations

from graphscore.experiments import find_experiment
from graphscore.experiments.denoiser import NO_NOISE, VARIANTS, changed
from graphscore.experiments.frontier_plans import plan_of


def test_every_variant_is_trained_and_measured(record):
    (result,) = record("denoiser")["results"]
    assert [part["variant"] for part in result["variants"]] == list(VARIANTS)
    by_name = {part["variant"]: part for part in result["variants"]}
    assert by_name["no-products"]["parameters"] < by_name["all"]["parameters"]
    assert by_name["no-walks"]["parameters"] < by_name["all"]["parameters"]
    averages = {part["mmd"]["average"] for part in result["variants"]}
    assert len(averages) > 3


def test_a_variant_differs_in_one_thing(context):
    here = context()
    name = "community-small-released"
    everything = changed(here, name, "all")
    assert everything.network == plan_of(here, name).network
    assert changed(here, name, "squared").network == everything.network
    assert changed(here, name, "squared").denoising == {"loss": "squared"}
    assert changed(here, name, "no-average").training == everything.training | {"ema_decay": 0.0}
    assert changed(here, name, "edp-gnn").network["kind"] == "edp-gnn"
    assert changed(here, name, "edp-gnn").training == everything.training


def test_the_section_has_all_rows(record):
    text = find_experiment("denoiser").markdown(record("denoiser"))
    for title, _ in VARIANTS.values():
        assert f"| {title} |" in text
    assert f"| {NO_NOISE} |" in text
