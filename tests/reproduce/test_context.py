"""Parts are computed once, kept whole, and never mixed."""

from __future__ import annotations

import fcntl
import json

import networkx as nx
import pytest
import torch

from graphscore.artifacts import read_document
from graphscore.errors import OutputError, SettingsError, StoppedError

GRAPHS = [nx.path_graph(4), nx.cycle_graph(5), nx.star_graph(4)]


def never():
    raise AssertionError("computed again")


def test_keys_of_seeds_stay_what_stored_parts_are_called(context):
    here = context(seeds=2)
    assert here.seed_keys("ego-small", "both") == ["ego-small_both_seed0", "ego-small_both_seed1"]
    assert here.seed_keys() == ["seed0", "seed1"]


def test_a_part_is_computed_once(context):
    first = context().part("one", lambda: {"value": (1, 2)}, {"size": (3,)})
    again = context().part("one", never, {"size": [3]})
    assert first == again
    assert again["value"] == [1, 2]
    assert again["seconds"] >= 0
    assert again["provenance"]["device"] == "CPU"


def test_a_part_that_fails_leaves_nothing(context):
    def fail():
        raise RuntimeError

    with pytest.raises(RuntimeError):
        context().part("one", fail)
    assert not context().has_part("one")
    assert context().part("one", lambda: {"value": 1})["value"] == 1


def test_a_skipped_part_is_tried_again(context):
    assert context().part("one", lambda: {"skipped": "why"})["skipped"] == "why"
    assert context().part("one", lambda: {"value": 1})["value"] == 1


def test_other_settings_are_refused(context):
    context().part("one", dict, {"steps": 1, "size": 2})
    with pytest.raises(OutputError, match=r"one.json: .*other settings \(steps\)"):
        context().part("one", never, {"steps": 2, "size": 2})


@pytest.mark.parametrize("content", ["", "{", "[]", '{"settings": {}}', "3"])
def test_a_damaged_part_is_named(context, content):
    context().part("one", dict)
    context().part_file("one").write_text(content)
    with pytest.raises(OutputError, match=r"one\.json"):
        context().part("one", never)


def test_two_processes_do_not_compute_the_same_part(context):
    here = context()
    (here.folder / "locks").mkdir(parents=True)
    with (here.folder / "locks" / "one").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(OutputError, match="another process"):
            here.part("one", never)
        assert here.part("two", lambda: {"value": 2})["value"] == 2
    assert here.part("one", lambda: {"value": 1})["value"] == 1


def test_stopping_keeps_what_is_there(context):
    context().part("one", lambda: {"value": 1})
    late = context(should_stop=lambda: True)
    assert late.part("one", never)["value"] == 1
    with pytest.raises(StoppedError, match="kept in"):
        late.part("two", never)


def test_training_goes_on_from_its_checkpoint(context):
    answers = iter([False, False, True])
    fit = {"source": "graphs", "seed": 1, "training": {"steps": 5, "batch_size": 2, "log_every": 1}}
    with pytest.raises(StoppedError, match="step 2 of one"):
        context(should_stop=lambda: next(answers)).fit("one", GRAPHS, **fit)
    assert read_document(context().run_folder("one")).step == 2
    resumed = context().fit("one", GRAPHS, **fit)
    whole = context("other").fit("one", GRAPHS, **fit)
    for a, b in zip(resumed.network.state_dict().values(), whole.network.state_dict().values()):
        assert torch.equal(a, b)


def test_training_has_the_size_of_the_scale(context):
    settings = context().fit("one", GRAPHS, source="graphs", seed=0).settings
    assert settings.training.steps == 2
    assert settings.network.channels == (2,)
    assert settings.sampling.steps_per_level == 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"seeds": 0}, "seeds 0"),
        ({"scale": "huge"}, "'huge'.*full, quick"),
        ({"device": "warp"}, "'warp'"),
    ],
)
def test_wrong_values_are_refused(context, changes, words):
    with pytest.raises(SettingsError, match=words):
        context(**changes)


def test_parts_are_plain_json(context):
    context().part("one", lambda: {"value": 1})
    document = json.loads(context().part_file("one").read_text())
    assert document["key"] == "one"
