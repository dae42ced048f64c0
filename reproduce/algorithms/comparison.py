"""The paper's Table 1: a network learns a task within a budget and is judged on fixed graphs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from graphscore.algorithms.evaluation import TEST_SEED, evaluate
from graphscore.algorithms.learning import EdgeLearner, LearningRecord, LearningSettings, Recorder
from graphscore.algorithms.tasks import Task, find_task
from graphscore.atomic import write_file
from graphscore.errors import CheckpointError, SettingsError
from graphscore.networks import EDPGNN, EDPGNNSettings
from graphscore.seeding import torch_generator
from graphscore.training.checkpoint import has_checkpoint, read_checkpoint, write_checkpoint
from graphscore.version import __version__

NETWORKS: dict[str, dict[str, Any]] = {
    "edp-gnn": {},
    # Messages over the given graph only. What `channels` counts are then the numbers per pair that
    # its layers hand to the output, in which it is no narrower than EDP-GNN.
    "gin": {"learnable_adjacency": False, "complement_channel": False},
}
"""What sets each network apart from the others, in terms of `EDPGNNSettings`."""

SHAPE: dict[str, Any] = {
    "channels": (16,) * 6,
    "message_steps": 3,
    "features": 32,
    "edge_width": 64,
    # As in the released program. Without it learning takes several times as many steps.
    "edge_norm": "batch",
}
"""Depth, widths and normalisation of all networks compared."""

PUBLISHED = {
    "shortest-path": {"edp-gnn": 0.60, "gin": 0.57},
    "weighted-shortest-path": {"edp-gnn": 0.92, "gin": 0.12},
    "maximum-spanning-tree": {"edp-gnn": 0.84, "gin": 0.20},
}
"""The paper's Table 1."""


def network_settings(name: str, task: Task, **changes: Any) -> EDPGNNSettings:
    """Return the settings of a named network for a task.

    Args:
        name: a key of `NETWORKS`.
        task: its node features are what the network is made for.
        changes: settings to use instead, of the shape for instance.

    Raises:
        SettingsError: the name or a setting is unknown.

    Example:
        >>> network_settings("gin", find_task("shortest-path"), features=8).learnable_adjacency
        False
    """
    if name not in NETWORKS:
        raise SettingsError(f"unknown network {name!r}; known are {', '.join(NETWORKS)}.")
    given = {"node_feat_dim": task.node_feat_dim}
    return EDPGNNSettings(**{**SHAPE, **NETWORKS[name], **given, **changes})


def run(
    task: str,
    network: str,
    *,
    steps: int | None = None,
    seconds: float | None = None,
    device: torch.device | str = "cpu",
    seed: int = 0,
    out: Path | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: float = 60.0,
    test_nodes: tuple[int, ...] = (12, 24, 48),
    test_graphs: int = 10_000,
    shape: Mapping[str, Any] | None = None,
    learning: Mapping[str, Any] | None = None,
    about: Mapping[str, Any] | None = None,
    record_step: Recorder | None = None,
    on_record: Callable[[LearningRecord], None] | None = None,
) -> dict[str, Any]:
    """Train a network on a task and judge it, without retraining, on graphs of several sizes.

    Args:
        task: a key of `TASKS`.
        network: a key of `NETWORKS`.
        steps, seconds: the budget; one of them.
        device: where to compute.
        seed: fixes initial weights and training problems, but not the test graphs.
        out: file to write the record to, as JSON.
        checkpoint: folder of a checkpoint; training continues from what is there.
        checkpoint_every: seconds between two checkpoints.
        test_nodes: sizes of the test graphs.
        test_graphs: number of test graphs of each size.
        shape: changes to the network's settings.
        learning: changes to the settings of training.
        about: what else to keep in the record, its provenance for instance.
        record_step: how a step is recorded to be replayed, which is several times faster on a GPU;
            `graphscore.acceleration.capture.captured` does.
        on_record: called with the averages of every `log_every` steps.

    Returns:
        The record: settings, training curve, and "test" with the figures by number of nodes.

    Raises:
        SettingsError: a name or a setting is unknown, or not exactly one budget is given.
        CheckpointError: the checkpoint is damaged or is one of another run.
        TrainingError: the loss is not finite.

    Example:
        >>> record = run(
        ...     "shortest-path", "gin", steps=2, test_nodes=(6,), test_graphs=10,
        ...     shape={"channels": (2,), "features": 2}, learning={"nodes": 6, "batch_size": 4},
        ... )
        >>> record["training"]["steps"], record["test"]["6"]["accuracy"]["graphs"]
        (2, 10)
    """
    problem = find_task(task)
    net_settings = network_settings(network, problem, **(shape or {}))
    settings = LearningSettings(**{**(learning or {}), "steps": steps, "seconds": seconds})
    net = EDPGNN(net_settings, (1.0,), generator=torch_generator(seed, "weights"))
    learner = EdgeLearner(net, problem, settings, seed=seed, device=device, record=record_step)
    identity = {
        "task": task,
        "network": network,
        "seed": seed,
        "network_settings": net_settings.model_dump(mode="json"),
        "learning_settings": settings.model_dump(mode="json"),
    }
    curve = _train(learner, identity, checkpoint, checkpoint_every, on_record)
    started = time.perf_counter()
    predict = learner.predictor()
    test = {
        str(nodes): evaluate(
            predict,
            problem,
            nodes=nodes,
            probability=settings.probability,
            graphs=test_graphs,
            device=device,
        )
        for nodes in test_nodes
    }
    record = {
        **identity,
        "graphscore": __version__,
        "parameters": sum(parameter.numel() for parameter in net.parameters()),
        "published": PUBLISHED[task].get(network),
        "test_seed": TEST_SEED,
        "test": test,
        "training": {
            "steps": learner.step,
            "graphs": learner.step * settings.batch_size,
            "seconds": learner.seconds,
            "curve": curve,
        },
        "test_seconds": time.perf_counter() - started,
        **(about or {}),
    }
    if out is not None:
        write_file(out, (json.dumps(record, indent=1) + "\n").encode())
    return record


def _train(
    learner: EdgeLearner,
    identity: dict[str, Any],
    checkpoint: Path | None,
    checkpoint_every: float,
    on_record: Callable[[LearningRecord], None] | None,
) -> list[dict[str, Any]]:
    """Train to the end of the budget, from a checkpoint if there is one; return the curve."""
    curve: list[dict[str, Any]] = []
    if checkpoint is not None and has_checkpoint(checkpoint):
        curve = _continue(learner, checkpoint, identity)
    saved = learner.seconds

    def keep(record: LearningRecord) -> None:
        nonlocal saved
        curve.append(record.to_dict())
        if on_record is not None:
            on_record(record)
        if checkpoint is not None and record.seconds - saved >= checkpoint_every:
            saved = record.seconds
            _save(learner, checkpoint, identity, curve)

    learner.run(on_record=keep)
    if checkpoint is not None:
        _save(learner, checkpoint, identity, curve)
    return curve


def _save(
    learner: EdgeLearner, folder: Path, identity: dict[str, Any], curve: list[dict[str, Any]]
) -> None:
    document = {"run": identity, "seconds": learner.seconds, "curve": curve}
    write_checkpoint(folder, learner.step, document, learner.state())


def _continue(learner: EdgeLearner, folder: Path, identity: dict[str, Any]) -> list[dict[str, Any]]:
    """Restore a learner and return the training curve so far."""
    document, tensors = read_checkpoint(folder)
    found = document.get("run")
    if not isinstance(found, dict):
        raise CheckpointError(
            f"{folder}: the checkpoint is not one of learning a graph algorithm. "
            "Give another folder."
        )
    differing = [key for key, value in identity.items() if found.get(key) != value]
    if differing:
        raise CheckpointError(
            f"{folder}: the checkpoint is of a run with other {', '.join(differing)}. "
            "Continue with the settings it was started with, or give another folder."
        )
    learner.restore(tensors, step=document["step"], seconds=document["seconds"])
    curve: list[dict[str, Any]] = document["curve"]
    return curve
