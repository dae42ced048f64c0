"""The runs behind Table 1: the record and its checkpoints."""

from __future__ import annotations

from itertools import count

import networkx as nx
import pytest
import torch

from graphscore.errors import CheckpointError, SettingsError, StoppedError
from graphscore.generator import GraphGenerator
from graphscore.training import Trainer
from reproduce.algorithms.run import learn_and_evaluate
from reproduce.algorithms.tasks import TASKS
from reproduce.plans import load_plan

SMALL = {
    "shape": {"channels": (2,), "message_steps": 1, "features": 2, "edge_width": 2},
    "learning": {"nodes": 5, "batch_size": 4, "batches_at_once": 2, "log_every": 2},
    "test_nodes": (5, 7),
    "test_graphs": 20,
}


NETWORKS = load_plan("table1", "tiny")["networks"]


@pytest.fixture
def run(tmp_path):
    """Learns and evaluates in a new folder, unless one is named."""
    number = count()

    def learn(*arguments, folder=None, **more):
        return run_in(tmp_path / (folder or f"run{next(number)}"), *arguments, **more)

    return learn


def run_in(folder, task, network, *, steps=1, shape=None, learning=None, **more):
    given = {**SMALL["shape"], **NETWORKS[network]["settings"], **(shape or {})}
    sizes = {key: SMALL[key] for key in ("test_nodes", "test_graphs")}
    trained = {**SMALL["learning"], "steps": steps, **(learning or {})}
    more = {"shape": given, "learning": trained, **sizes, **more}
    return learn_and_evaluate(task, network, folder, **more)


def without_times(record):
    training = record["training"]
    curve = [{**row, "seconds": 0} for row in training["curve"]]
    record = {key: value for key, value in record.items() if key != "test_seconds"}
    return {**record, "training": {**training, "curve": curve, "seconds": 0}}


@pytest.mark.parametrize(("task", "network"), [*zip(TASKS, ["edp-gnn", "gin", "edp-gnn"])])
def test_the_record_says_what_was_done(run, task, network):
    record = run(task, network, steps=3)
    assert record["training"]["steps"] == 3
    assert record["training"]["graphs"] == 12
    assert [row["step"] for row in record["training"]["curve"]] == [2, 3]
    assert record["test"].keys() == {"5", "7"}
    for metrics in record["test"].values():
        assert metrics["accuracy"]["graphs"] == 20
    assert record["learning_settings"]["steps"] == 3
    assert record["network_settings"]["learnable_adjacency"] == (network == "edp-gnn")


def test_a_run_is_reproducible_and_evaluated_on_the_same_graphs(run):
    one, two = (run("shortest-path", "gin", steps=2) for _ in range(2))
    assert without_times(one) == without_times(two)
    other = run("shortest-path", "gin", steps=2, seed=1)
    assert other["training"]["curve"][0]["loss"] != one["training"]["curve"][0]["loss"]
    for nodes in ("5", "7"):
        assert other["test"][nodes]["best_possible"] == one["test"][nodes]["best_possible"]


def test_the_seed_decides_both_weights_and_problems(run, monkeypatch):
    made = []

    class Observed(Trainer):
        def __init__(self, network, batches, *arguments, **named):
            super().__init__(network, batches, *arguments, **named)
            weights = torch.cat([p.detach().flatten() for p in network.parameters()])
            made.append((weights, batches.batch(0).adj))

    monkeypatch.setattr("reproduce.algorithms.run.Trainer", Observed)
    for seed in (0, 0, 1):
        run("weighted-shortest-path", "gin", steps=1, seed=seed)
    for first, second, other in zip(*made):
        assert torch.equal(first, second)
        assert not torch.equal(first, other)


def test_an_interrupted_run_ends_like_a_whole_one(run):
    whole = run("maximum-spanning-tree", "edp-gnn", steps=9)

    def interrupt(record):
        if record["step"] == 4:
            raise KeyboardInterrupt

    settings = {"steps": 9, "folder": "interrupted", "checkpoint_seconds": 0.0}
    with pytest.raises(KeyboardInterrupt):
        run("maximum-spanning-tree", "edp-gnn", on_record=interrupt, **settings)
    seen = []
    resumed = run("maximum-spanning-tree", "edp-gnn", on_record=seen.append, **settings)
    assert [record["step"] for record in seen] == [4, 6, 8, 9]
    assert without_times(resumed) == without_times(whole)
    # Once more from the finished checkpoint: nothing is left to train.
    again = run("maximum-spanning-tree", "edp-gnn", **settings)
    assert without_times(again) == without_times(whole)


def test_a_stop_writes_a_checkpoint(run):
    whole = run("shortest-path", "gin", steps=6)
    answers = iter([False] * 3 + [True])
    with pytest.raises(StoppedError, match="step 3 of shortest-path, gin"):
        run("shortest-path", "gin", steps=6, folder="one", should_stop=lambda: next(answers))
    resumed = run("shortest-path", "gin", steps=6, folder="one")
    assert resumed["test"] == whole["test"]
    assert resumed["training"]["steps"] == 6


def test_a_checkpoint_of_something_else_is_refused(run, tmp_path):
    generator = GraphGenerator("edp-gnn", training={"steps": 1}, show_progress=False, device="cpu")
    generator.fit([nx.path_graph(4)], run=tmp_path / "one")
    with pytest.raises(CheckpointError, match="other task, network"):
        run("shortest-path", "gin", steps=2, folder="one")


def test_a_checkpoint_of_another_run_is_refused(run):
    run("shortest-path", "gin", steps=2, folder="one")
    with pytest.raises(CheckpointError, match="other network"):
        run("shortest-path", "edp-gnn", steps=2, folder="one")
    with pytest.raises(CheckpointError, match="other seed"):
        run("shortest-path", "gin", steps=2, seed=1, folder="one")
    with pytest.raises(CheckpointError, match="other learning_settings"):
        run("shortest-path", "gin", steps=3, folder="one")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task": "longest-path"}, "unknown task 'longest-path'"),
        ({"steps": 0}, "steps"),
        ({"shape": {"feature": 3}}, "did you mean 'features'"),
    ],
)
def test_wrong_use_is_refused(run, changes, message):
    arguments = {"task": "shortest-path", "network": "gin", **changes}
    with pytest.raises(SettingsError, match=message):
        run(arguments.pop("task"), arguments.pop("network"), **arguments)
