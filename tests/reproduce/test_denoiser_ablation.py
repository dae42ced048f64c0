"""The ablation of the denoiser at the scale of tests."""

from __future__ import annotations

from reproduce.experiment import find_experiment
from reproduce.experiments.denoiser_ablation import NO_NOISE, changed
from reproduce.experiments.denoiser_plans import set_plan
from reproduce.plans import load_plan

VARIANTS = load_plan("denoiser-ablation", "tiny")["variants"]


def test_every_variant_is_trained_and_measured(record):
    (result,) = record("denoiser-ablation")["results"]
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
    assert everything["network"] == set_plan(here, name)["network"]
    assert changed(here, name, "squared")["network"] == everything["network"]
    assert changed(here, name, "squared")["objective"] == {"loss": "squared"}
    assert changed(here, name, "squared")["noise"] == everything["noise"]
    without = everything["network"] | {"analytic_skip": False}
    assert changed(here, name, "no-closed-form")["network"] == without
    assert changed(here, name, "no-average")["training"] == everything["training"] | {
        "ema_decay": 0.0
    }
    assert changed(here, name, "edp-gnn")["network"]["kind"] == "edp-gnn"
    assert changed(here, name, "edp-gnn")["training"] == everything["training"]


def test_the_section_has_all_rows(record):
    text = find_experiment("denoiser-ablation").markdown(record("denoiser-ablation"))
    for variant in VARIANTS.values():
        assert f"| {variant['label']} |" in text
    assert f"| {NO_NOISE} |" in text
