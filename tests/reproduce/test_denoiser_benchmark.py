"""The denoiser past the paper, at the size of a test."""

from __future__ import annotations

import copy
from dataclasses import replace

import networkx as nx
import pytest

from graphscore.datasets import load_dataset
from graphscore.errors import OutputError, SettingsError
from reproduce.experiment import find_experiment
from graphscore.experiments.frontier import keys, unseen_communities
from graphscore.experiments.frontier_plans import (
    GUIDES,
    PLANS,
    SETS,
    marks,
    measured,
    plan_of,
    usual_sampler,
)
from graphscore.generator import GraphGenerator
from graphscore.sampling import CommunityDistribution, HeunSettings
from graphscore.training.checkpoint import read_document


def test_every_set_has_its_verdict_and_its_curves(record):
    results = record("frontier")["results"]
    assert tuple(result["dataset"] for result in results) == SETS["tiny"]
    for result in results:
        assert result["verdict"]["mmd"]["sample_count"] == 6
        assert result["value"] == measured(result["verdict"], result["measure"])
        samplers = [point["sampler"] for point in result["against_calls"]]
        langevin = result["dataset"] == "community-small-released"
        assert samplers == ["heun", "late", "late-heun"] * 2 + ["langevin"] * langevin
        # The last one is the end, by the sampler that the others are measured with.
        assert [m["step"] for m in result["against_training"]] == [1, 2]
        end = usual_sampler(8)
        assert result["against_training"][-1]["value"] in [
            point["value"]
            for point in result["against_calls"]
            if (point["sampler"], point["calls"]) == ("heun", end.network_calls)
        ]
        assert result["truth"]["mmd"]["sample_count"] == 6
    small, trees = results
    # A distance is to be small, a share of good graphs large.
    assert small["reached"] == (small["value"] <= small["target"])
    assert trees["reached"] == (trees["value"] >= trees["target"])
    assert trees["verdict"]["vun"]["training_count"] == 128
    assert trees["verdict"]["vun"]["validity"] == "is_tree"


@pytest.mark.parametrize("calls", [1, 2, 8, 63, 64, 256])
def test_no_sampler_takes_more_calls_than_allowed(calls):
    assert usual_sampler(calls).network_calls <= max(1, calls)
    tried = replace(PLANS["planar-spectre"], calls=calls).candidates
    assert all(sampler.network_calls <= max(1, calls) for sampler in tried)
    assert {sampler.sigma_max for sampler in tried} == {None, 1.0, 0.7, 0.5}


def test_samplers_of_a_plan_are_tried_by_the_verdict_and_decide_nothing_else(context):
    here, grid = context(scale="full"), PLANS["grid"]
    listed = [sampler.model_dump(mode="json") for sampler in grid.samplers]
    assert listed
    for key in (key for key in keys(here) if key.startswith("grid")):
        decided = find_experiment("frontier").part_settings(here, key)
        assert decided.pop("candidates", []) == (listed if key == "grid_verdict" else [])
        assert "samplers" not in decided["plan"]


def test_parts_of_a_set_come_in_the_order_of_its_training(context):
    names = [key for key in keys(context(scale="full")) if key.startswith("planar-spectre")]
    steps = PLANS["planar-spectre"].training["steps"]
    assert names == [
        *(f"planar-spectre_at{round(steps * share)}" for share in (1 / 16, 1 / 4, 1 / 2)),
        "planar-spectre_verdict",
        "planar-spectre_calls",
        "planar-spectre_truth",
        "planar-spectre_langevin",
    ]


def test_the_record_of_finished_parts_says_what_is_missing(context, tmp_path):
    here, experiment = context(), find_experiment("frontier")
    name = "community-small-released"
    with pytest.raises(SettingsError, match=r"not finished: community-small-released_at1,"):
        experiment.run(here, finished=True)
    experiment.run_parts(here, [f"{name}_truth"])
    made = experiment.run(here, finished=True)
    assert made["results"] == experiment.pictures(made, tmp_path) == []
    experiment.run_parts(here, [f"{name}_verdict"])
    made = experiment.run(here, finished=True)
    (result,) = made["results"]
    assert (result["against_calls"], result["against_training"]) == ([], [])
    assert made["missing"] == [
        key for key in keys(here) if key not in (f"{name}_truth", f"{name}_verdict")
    ]
    text = experiment.markdown(made)
    assert f"Parts not computed yet: {', '.join(made['missing'])}." in text
    assert "EDP-GNN is trained" not in text
    assert experiment.pictures(made, tmp_path)


@pytest.mark.parametrize("out_of_reach", [False, True])
def test_targets_that_the_true_generator_misses_are_told(record, out_of_reach):
    experiment, made = find_experiment("frontier"), copy.deepcopy(record("frontier"))
    made["results"][0]["target"] = 0.0 if out_of_reach else 1.0
    made["results"][1]["target"] = 0.0
    assert ("Fresh graphs are at" in experiment.markdown(made)) == out_of_reach


@pytest.mark.parametrize("reached", [False, True])
def test_targets_that_are_missed_are_told_with_what_was_tried(record, reached):
    experiment, made = find_experiment("frontier"), copy.deepcopy(record("frontier"))
    for result in made["results"]:
        result |= {"truth": None, "reached": True}
    missed = made["results"][0]
    missed["reached"] = reached
    number = len(missed["verdict"]["trials"])
    text = experiment.markdown(made)
    told = f"{missed['dataset']} does not reach"
    assert (told in text) == (f"the best of {number} on validation" in text) == (not reached)


def test_limits_are_told_of_sets_that_reach_their_target_too(record):
    experiment, made = find_experiment("frontier"), copy.deepcopy(record("frontier"))
    told = "**On grid.** Nearly all"
    assert told not in experiment.markdown(made)
    made["results"][0] |= {"dataset": "grid", "truth": None, "reached": True}
    assert told in experiment.markdown(made)


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
    moment = experiment.part_settings(here, "tree-spectre_at1")
    more = replace(PLANS["tree-spectre"], trial_samples=1)
    monkeypatch.setitem(PLANS, "tree-spectre", more)
    assert experiment.part_settings(here, key) != before
    assert experiment.part_settings(here, "tree-spectre_at1") == moment


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


def test_a_guide_is_judged_beside_the_model_alone(context, monkeypatch, tmp_path):
    monkeypatch.setitem(GUIDES, "tree-spectre", GUIDES["sbm-spectre"])
    here, experiment = context(), find_experiment("frontier")
    experiment.run_parts(here, ["tree-spectre_verdict", "tree-spectre_guided"])
    made = experiment.run(here, finished=True)
    (result,) = made["results"]
    verdicts = [result["verdict"], result["other"]]
    alone, guided = sorted(verdicts, key=lambda verdict: verdict["guidance"] is not None)
    weights = [trial["guidance"]["weight"] for trial in guided["trials"]]
    assert weights == [*GUIDES["sbm-spectre"].weights]
    assert guided["guidance"]["weight"] in weights
    # Both networks are called, and both have parameters.
    assert guided["network_calls"] == 2 * HeunSettings(**guided["sampling"]).network_calls
    assert guided["parameters"] > alone["parameters"]
    assert guided["guide_seconds"] > 0
    assert guided["guide_device"] == "cpu"
    # Validation graphs say which of the two counts.
    distances = [min(trial["distance"] for trial in one["trials"]) for one in verdicts]
    assert distances == sorted(distances)
    assert result["value"] == measured(result["verdict"], result["measure"])
    text = experiment.markdown(made)
    assert "tree-spectre, samples, guided" in text
    assert "On tree-spectre a weaker model is trained too" in text
    assert " s on the CPU)" in text
    assert experiment.pictures(made, tmp_path)


def test_communities_that_training_has_are_not_unseen():
    blocks = [
        nx.disjoint_union(nx.complete_graph(first), nx.complete_graph(second))
        for first, second in ((8, 8), (9, 8), (10, 9))
    ]
    found = unseen_communities(blocks, CommunityDistribution({(9, 8): 1}), 5)
    assert found == [(8, 8), (10, 9), (8, 8), (10, 9), (8, 8)]


def test_told_communities_are_judged_with_unseen_ones_too(context, monkeypatch, tmp_path):
    monkeypatch.setitem(SETS, "tiny", ("sbm-spectre-communities",))
    here, experiment = context(), find_experiment("frontier")
    told, sample = [], GraphGenerator.sample

    def watched(generator, number, **how):
        if how.get("communities"):
            told.append((how["communities"], generator.communities.counts))
        return sample(generator, number, **how)

    monkeypatch.setattr(GraphGenerator, "sample", watched)
    experiment.run_parts(here, ["sbm-spectre-communities_verdict"])
    made = experiment.run(here, finished=True)
    ((asked, seen),) = told
    val = load_dataset("sbm-spectre").val
    assert asked == unseen_communities(val, CommunityDistribution(seen), 6)
    document = read_document(here.run_folder("sbm-spectre-communities"))
    assert document["training_graphs"]["source"] == "sbm-spectre"
    (result,) = made["results"]
    verdict = result["verdict"]
    assert verdict["unseen"]["vun"]["validity"] == "is_block_structured"
    assert verdict["unseen"]["mmd"]["sample_count"] == 6
    text = experiment.markdown(made)
    assert "samples, unseen communities" in text
    assert "On sbm-spectre-communities the network is told which nodes of sbm-spectre" in text
    assert "sizes are copied and not learned" in text
    plain = {key: value for key, value in verdict.items() if key != "unseen"}
    beside = {**result, "dataset": "sbm-spectre", "value": 0.5, "verdict": plain}
    assert " instead of 50.0%" in experiment.markdown({**made, "results": [beside, result]})
    assert any("communities" in file.name for file in experiment.pictures(made, tmp_path))
