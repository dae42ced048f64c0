"""The denoiser past the paper, at the size of a test."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphscore.errors import OutputError
from graphscore.experiments import find_experiment
from graphscore.experiments.frontier import candidates, keys, measured, usual_sampler
from graphscore.experiments.frontier_plans import PLANS, SETS, marks, plan_of


def test_every_set_has_its_verdict_and_its_curves(record):
    results = record("frontier")["results"]
    assert tuple(result["dataset"] for result in results) == SETS["tiny"]
    for result in results:
        assert result["verdict"]["mmd"]["sample_count"] == 6
        assert result["value"] == measured(result["verdict"], result["measure"])
        samplers = [point["sampler"] for point in result["against_calls"]]
        langevin = result["dataset"] == "community-small-released"
        assert samplers == ["heun", "renoising"] * 2 + ["langevin"] * langevin
        assert [m["step"] for m in result["against_training"]] == [1]
    small, trees = results
    # A distance is to be small, a share of good graphs large.
    assert small["reached"] == (small["value"] <= small["target"])
    assert trees["reached"] == (trees["value"] >= trees["target"])
    assert trees["verdict"]["vun"]["training_count"] == 128
    assert trees["verdict"]["vun"]["validity"] == "is_tree"


@pytest.mark.parametrize("calls", [1, 2, 8, 63, 64, 256])
def test_no_sampler_takes_more_calls_than_allowed(calls):
    assert usual_sampler(calls).network_calls <= max(1, calls)
    assert all(sampler.network_calls <= max(1, calls) for sampler in candidates(calls))


def test_parts_of_a_set_come_in_the_order_of_its_training(context):
    names = [key for key in keys(context(scale="full")) if key.startswith("planar-spectre")]
    steps = PLANS["planar-spectre"].training["steps"]
    assert names == [
        *(f"planar-spectre_at{round(steps * share)}" for share in (1 / 16, 1 / 4, 1 / 2)),
        "planar-spectre_verdict",
        "planar-spectre_calls",
        "planar-spectre_langevin",
    ]


def test_a_moment_that_has_passed_is_an_error(context):
    here = context()
    experiment = find_experiment("frontier")
    name = "community-small-released"
    experiment.run_parts(here, [f"{name}_verdict"])
    with pytest.raises(OutputError, match=r"past step 1 already"):
        experiment.run_parts(here, [f"{name}_at1"])


def test_a_part_depends_on_the_plan_of_its_set_alone(context, monkeypatch):
    here, experiment = context(), find_experiment("frontier")
    key = "tree-spectre_verdict"
    before = experiment.part_settings(here, key)
    other = replace(PLANS["community-small-released"], target=0.5)
    monkeypatch.setitem(PLANS, "community-small-released", other)
    assert experiment.part_settings(here, key) == before
    monkeypatch.setitem(PLANS, "tree-spectre", replace(PLANS["tree-spectre"], target=0.5))
    assert experiment.part_settings(here, key) != before


def test_small_scales_keep_what_is_measured(context):
    for name in SETS["tiny"]:
        tiny, full = plan_of(context(), name), PLANS[name]
        assert (tiny.measure, tiny.target, tiny.kernel) == (full.measure, full.target, full.kernel)
        assert marks(tiny)[-1] < tiny.training["steps"]


def test_the_section_and_the_pictures(record, tmp_path):
    experiment, made = find_experiment("frontier"), record("frontier")
    text = experiment.markdown(made)
    for words in ("tree-spectre", "to reach", "V.U.N.", "DeFoG 96.5 %"):
        assert words in text
    files = experiment.pictures(made, tmp_path)
    names = ["frontier_calls.png", "frontier_training.png", "frontier_tree-spectre.png"]
    assert [file.name for file in files] == names
    assert all(f"images/{file.name}" in text for file in files)
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in files)
