"""The denoiser benchmark at the scale of tests."""

from __future__ import annotations

import copy

import networkx as nx
import pytest

from graphscore.artifacts import read_document
from graphscore.config import merge
from graphscore.datasets import load_dataset
from graphscore.diffusion.samplers import HeunSettings
from graphscore.errors import OutputError, SettingsError
from graphscore.generator import GraphGenerator
from graphscore.models import CommunityDistribution
from reproduce import plans
from reproduce.core import default_samplers, heun_sampler, unseen_communities
from reproduce.experiment import find_experiment
from reproduce.experiments.denoiser_benchmark import keys, settings
from reproduce.experiments.denoiser_plans import (
    NAME,
    candidates,
    intermediate_steps,
    measured,
    set_plan,
)

SETS = ["community-small-released", "tree-spectre"]


@pytest.fixture
def change(monkeypatch):
    """Changes the plan file of the benchmark."""

    def with_changes(changes):
        file = merge(plans._read(NAME), changes)
        read = plans._read
        monkeypatch.setattr(plans, "_read", lambda name: file if name == NAME else read(name))

    return with_changes


def test_every_set_has_its_test_result_and_its_curves(record):
    results = record(NAME)["results"]
    assert [result["dataset"] for result in results] == SETS
    for result in results:
        assert result["test_result"]["mmd"]["sample_count"] == 6
        assert result["value"] == measured(result["test_result"], result["measure"])
        samplers = [point["sampler"] for point in result["by_network_calls"]]
        langevin = result["dataset"] == "community-small-released"
        assert samplers == ["heun", "late", "late-heun"] * 2 + ["langevin"] * langevin
        # The last one is the end, by the sampler that the others are measured with.
        assert [m["step"] for m in result["by_training_time"]] == [1, 2]
        end = heun_sampler(8)
        assert result["by_training_time"][-1]["value"] in [
            point["value"]
            for point in result["by_network_calls"]
            if (point["sampler"], point["calls"]) == ("heun", end.network_calls)
        ]
        for graphs in (result["ground_truth"], result["erdos_renyi"]):
            assert graphs["mmd"]["sample_count"] == 6
    small, trees = results
    # A distance is to be small, a share of good graphs large.
    assert small["reached"] == (small["value"] <= small["target"])
    assert trees["reached"] == (trees["value"] >= trees["target"])
    assert trees["test_result"]["vun"]["training_count"] == 128
    assert trees["test_result"]["vun"]["validity"] == "is_tree"


@pytest.mark.parametrize("calls", [1, 2, 8, 63, 64, 256])
def test_no_default_sampler_takes_more_calls_than_allowed(calls):
    assert heun_sampler(calls).network_calls <= max(1, calls)
    tried = default_samplers(calls, {"sigma_min": 0.15, "sigma_max": 2.0})
    assert all(sampler.network_calls <= max(1, calls) for sampler in tried)
    assert {sampler.sigma_max for sampler in tried} == {None, 1.0, 0.7, 0.5}


def test_candidates_determine_the_test_result_and_no_other_part(context):
    here = context(scale="full")
    tried = [sampler.model_dump(mode="json") for sampler in candidates(set_plan(here, "grid"))]
    # The default ones from two starts, and three with many steps.
    assert len(tried) == 4 * 2 + 3
    for key in (key for key in keys(here) if key.startswith("grid")):
        decided = find_experiment(NAME).part_settings(here, key)
        assert decided.pop("candidates", []) == (tried if key == "grid_test" else [])
        assert "more_samplers" not in decided["plan"]


def test_parts_of_a_set_come_in_the_order_of_its_training(context):
    here = context(scale="full")
    names = [key for key in keys(here) if key.startswith("planar-spectre")]
    steps = set_plan(here, "planar-spectre")["training"]["steps"]
    assert names == [
        *(f"planar-spectre_at{round(steps * share)}" for share in (1 / 16, 1 / 4, 1 / 2)),
        "planar-spectre_test",
        "planar-spectre_calls",
        "planar-spectre_erdos-renyi",
        "planar-spectre_truth",
        "planar-spectre_langevin",
    ]


def test_the_plans_are_those_of_the_record(context, full_record):
    """What the committed numbers were measured with."""
    there = full_record["settings"]["plans"]
    for name, plan in settings(context(scale="full"))["plans"].items():
        for key in ("network", "noise", "training", "samples", "kernel", "measure", "target"):
            assert plan[key] == there[name][key], (name, key)
    trials = {row["dataset"]: row["test_result"]["trials"] for row in full_record["results"]}
    # Words of the record, which was measured before they changed.
    now = {"renoising": "ancestral", "fresh": "independent", "bridge": "posterior"}
    for name in ("tree-spectre", "sbm-spectre-communities", "grid"):
        tried = [
            one.model_dump(mode="json") for one in candidates(set_plan(context(scale="full"), name))
        ]
        assert tried == [
            {key: now.get(value, value) for key, value in trial["sampling"].items()}
            for trial in trials[name]
        ]


def test_the_record_of_finished_parts_says_what_is_missing(context, tmp_path):
    here, experiment = context(), find_experiment(NAME)
    name = "community-small-released"
    with pytest.raises(SettingsError, match=r"not finished: community-small-released_at1,"):
        experiment.run(here, finished=True)
    experiment.run_parts(here, [f"{name}_truth"])
    made = experiment.run(here, finished=True)
    assert made["results"] == experiment.pictures(made, tmp_path) == []
    experiment.run_parts(here, [f"{name}_test"])
    made = experiment.run(here, finished=True)
    (result,) = made["results"]
    assert (result["by_network_calls"], result["by_training_time"]) == ([], [])
    assert made["missing"] == [
        key for key in keys(here) if key not in (f"{name}_truth", f"{name}_test")
    ]
    text = experiment.markdown(made)
    assert f"Parts not computed yet: {', '.join(made['missing'])}." in text
    assert "EDP-GNN is trained" not in text
    assert experiment.pictures(made, tmp_path)


@pytest.mark.parametrize("out_of_reach", [False, True])
def test_targets_that_the_true_generator_misses_are_named(record, out_of_reach):
    experiment, made = find_experiment(NAME), copy.deepcopy(record(NAME))
    made["results"][0]["target"] = 0.0 if out_of_reach else 1.0
    made["results"][1]["target"] = 0.0
    assert ("Fresh graphs are at" in experiment.markdown(made)) == out_of_reach


@pytest.mark.parametrize("reached", [False, True])
def test_targets_that_are_missed_are_named_with_what_was_tried(record, reached):
    experiment, made = find_experiment(NAME), copy.deepcopy(record(NAME))
    for result in made["results"]:
        result |= {"ground_truth": None, "reached": True}
    missed = made["results"][0]
    missed["reached"] = reached
    number = len(missed["test_result"]["trials"])
    text = experiment.markdown(made)
    named = f"{missed['dataset']} does not reach"
    assert (named in text) == (f"the best of {number} on validation" in text) == (not reached)


def test_limits_are_described_where_the_target_is_reached_too(record):
    experiment, made = find_experiment(NAME), copy.deepcopy(record(NAME))
    words = "**On grid.** Only 25.0% of the samples are valid grids"
    assert "**On grid.**" not in experiment.markdown(made)
    made["results"][0] |= {"dataset": "grid", "ground_truth": None, "reached": True}
    made["results"][0]["test_result"]["vun"] = {
        **made["results"][1]["test_result"]["vun"],
        "valid": 0.25,
    }
    assert words in experiment.markdown(made)


def test_an_intermediate_evaluation_after_the_training_is_an_error(context):
    here = context()
    experiment = find_experiment(NAME)
    name = "community-small-released"
    experiment.run_parts(here, [f"{name}_test"])
    with pytest.raises(OutputError, match=r"past step 1 already"):
        experiment.run_parts(here, [f"{name}_at1"])


def test_a_part_depends_on_the_plan_of_its_set_alone(context, change):
    here, experiment = context(), find_experiment(NAME)
    key, early = "tree-spectre_test", "tree-spectre_at1"
    before, moment = experiment.part_settings(here, key), experiment.part_settings(here, early)
    change({"plans": {"small": {"samples": 5}, "tree-spectre": {"target": 0.5}}})
    assert experiment.part_settings(here, key) == before
    change({"plans": {"tree-spectre": {"trial_samples": 1}}})
    assert experiment.part_settings(here, key) != before
    assert experiment.part_settings(here, early) == moment


def test_small_scales_keep_what_is_measured(context):
    for name in SETS:
        tiny, full = (set_plan(context(scale=scale), name) for scale in ("tiny", "full"))
        assert all(tiny[key] == full[key] for key in ("measure", "target", "kernel"))
        assert intermediate_steps(context(), tiny)[-1] < tiny["training"]["steps"]


def test_the_section_and_the_pictures(record, tmp_path):
    experiment, made = find_experiment(NAME), record(NAME)
    text = experiment.markdown(made)
    for words in ("tree-spectre, Erdős–Rényi", "target", "V.U.N.", "DeFoG 96.5 %"):
        assert words in text
    files = experiment.pictures(made, tmp_path)
    names = [f"{NAME}_{which}.png" for which in ("calls", "training", "tree-spectre")]
    assert [file.name for file in files] == names
    assert all(f"images/{file.name}" in text for file in files)
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in files)


def test_a_guided_model_is_compared_with_the_model_alone(context, change, tmp_path):
    guide = plans.load_plan(NAME, "full")["guides"]["sbm-spectre"]
    change({"guides": {"tree-spectre": guide}})
    here, experiment = context(), find_experiment(NAME)
    experiment.run_parts(here, ["tree-spectre_test", "tree-spectre_guided"])
    made = experiment.run(here, finished=True)
    (result,) = made["results"]
    results = [result["test_result"], result["alternative"]]
    alone, guided = sorted(results, key=lambda one: one["guidance"] is not None)
    weights = [trial["guidance"]["weight"] for trial in guided["trials"]]
    assert weights == guide["weights"]
    assert guided["guidance"]["weight"] in weights
    # Both networks are called, and both have parameters.
    assert guided["network_calls"] == 2 * HeunSettings(**guided["sampling"]).network_calls
    assert guided["parameters"] > alone["parameters"]
    assert guided["guide_seconds"] > 0
    assert guided["guide_device"] == "cpu"
    # Validation graphs choose between the two.
    distances = [min(trial["distance"] for trial in one["trials"]) for one in results]
    assert distances == sorted(distances)
    assert result["value"] == measured(result["test_result"], result["measure"])
    text = experiment.markdown(made)
    assert "tree-spectre, samples, guided" in text
    assert "**Guidance on tree-spectre.** A guide model is trained" in text
    assert " s on the CPU)" in text
    assert experiment.pictures(made, tmp_path)


def test_communities_that_training_has_are_not_unseen():
    blocks = [
        nx.disjoint_union(nx.complete_graph(first), nx.complete_graph(second))
        for first, second in ((8, 8), (9, 8), (10, 9))
    ]
    found = unseen_communities(blocks, CommunityDistribution({(9, 8): 1}), 5)
    assert found == [(8, 8), (10, 9), (8, 8), (10, 9), (8, 8)]


def test_a_conditional_model_is_evaluated_on_unseen_communities_too(
    context, change, monkeypatch, tmp_path
):
    change({"scale": {"tiny": {"sets": ["sbm-spectre-communities"]}}})
    here, experiment = context(), find_experiment(NAME)
    asked_for, sample = [], GraphGenerator.sample

    def watched(generator, number, **how):
        if how.get("communities"):
            asked_for.append((how["communities"], generator.communities.counts))
        return sample(generator, number, **how)

    monkeypatch.setattr(GraphGenerator, "sample", watched)
    experiment.run_parts(here, ["sbm-spectre-communities_test"])
    made = experiment.run(here, finished=True)
    ((asked, seen),) = asked_for
    val = load_dataset("sbm-spectre").val
    assert asked == unseen_communities(val, CommunityDistribution(seen), 6)
    document = read_document(here.run_folder("sbm-spectre-communities"))
    assert document.training_graphs.source == "sbm-spectre"
    (result,) = made["results"]
    best = result["test_result"]
    assert best["unseen_communities"]["vun"]["validity"] == "is_block_structured"
    assert best["unseen_communities"]["mmd"]["sample_count"] == 6
    text = experiment.markdown(made)
    assert "samples, unseen communities" in text
    assert "**Communities on sbm-spectre-communities.**" in text
    assert "the sizes are copied, the edges are learned" in text
    plain = {key: value for key, value in best.items() if key != "unseen_communities"}
    beside = {**result, "dataset": "sbm-spectre", "value": 0.5, "test_result": plain}
    assert "compared with 50.0% without" in experiment.markdown(
        {**made, "results": [beside, result]}
    )
    assert any("communities" in file.name for file in experiment.pictures(made, tmp_path))
