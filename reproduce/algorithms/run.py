"""One cell of Table 1: a network learns a task and is evaluated on fixed graphs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from graphscore.acceleration.capture import captured
from graphscore.errors import CheckpointError, StoppedError
from graphscore.networks import EDPGNN, EDPGNNSettings
from graphscore.seeding import torch_generator
from graphscore.training.checkpoint import has_checkpoint, read_checkpoint, write_checkpoint
from graphscore.version import __version__
from reproduce.algorithms.evaluation import TEST_SEED, evaluate
from reproduce.algorithms.learning import EdgeLearner, LearningRecord, LearningSettings
from reproduce.algorithms.tasks import find_task


def learn_and_evaluate(
    task: str,
    network: str,
    *,
    shape: Mapping[str, Any],
    learning: Mapping[str, Any],
    test_nodes: tuple[int, ...] = (12, 24, 48),
    test_graphs: int = 10_000,
    seed: int = 0,
    device: torch.device | str = "cpu",
    accelerate: bool = False,
    checkpoint: Path | None = None,
    checkpoint_every: float = 30.0,
    on_record: Callable[[LearningRecord], None] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> dict[str, Any]:
    """Train a network on a task and evaluate it, without retraining, on graphs of several sizes.

    Args:
        task: a key of `TASKS`.
        network: its name in the record.
        shape: settings of the EDP-GNN.
        learning: settings of training, see `LearningSettings`.
        test_nodes: sizes of the test graphs.
        test_graphs: number of test graphs of each size.
        seed: fixes initial weights and training problems, but not the test graphs.
        device: where to compute.
        accelerate: replay the training step as a CUDA graph.
        checkpoint: folder of a checkpoint; training continues from it.
        checkpoint_every: seconds between two checkpoints.
        on_record: called with the averages of every `log_every` steps.
        should_stop: called between steps.

    Returns:
        The record: settings, training curve, and "test" with the metrics by number of nodes.

    Raises:
        SettingsError: a name or a setting is unknown.
        CheckpointError: the checkpoint is damaged or belongs to another run.
        TrainingError: the loss is not finite.
        StoppedError: a stop was requested; a checkpoint was written.

    Example:
        >>> record = learn_and_evaluate(
        ...     "shortest-path", "gin", test_nodes=(6,), test_graphs=10,
        ...     shape={"channels": (2,), "features": 2},
        ...     learning={"steps": 2, "nodes": 6, "batch_size": 4},
        ... )
        >>> record["training"]["steps"], record["test"]["6"]["accuracy"]["graphs"]
        (2, 10)
    """
    problem = find_task(task)
    net_settings = EDPGNNSettings(**{**shape, "node_feat_dim": problem.node_feat_dim})
    settings = LearningSettings(**learning)
    net = EDPGNN(net_settings, (1.0,), generator=torch_generator(seed, "weights"))
    record_step = captured if accelerate else None
    learner = EdgeLearner(net, problem, settings, seed=seed, device=device, record=record_step)
    identity = {
        "task": task,
        "network": network,
        "seed": seed,
        "network_settings": net_settings.model_dump(mode="json"),
        "learning_settings": settings.model_dump(mode="json"),
    }
    curve = _train(learner, identity, checkpoint, checkpoint_every, on_record, should_stop)
    if learner.step < settings.steps:
        raise StoppedError(f"stopped early at step {learner.step} of {task}, {network}.")
    started = time.perf_counter()
    predict = learner.predictor()
    probability = settings.probability
    test = {
        str(nodes): evaluate(
            predict,
            problem,
            nodes=nodes,
            probability=probability,
            graphs=test_graphs,
            device=device,
        )
        for nodes in test_nodes
    }
    return {
        **identity,
        "graphscore": __version__,
        "parameters": sum(parameter.numel() for parameter in net.parameters()),
        "test_seed": TEST_SEED,
        "test": test,
        "training": {
            "steps": learner.step,
            "graphs": learner.step * settings.batch_size,
            "seconds": learner.seconds,
            "curve": curve,
        },
        "test_seconds": time.perf_counter() - started,
    }


def _train(
    learner: EdgeLearner,
    identity: dict[str, Any],
    checkpoint: Path | None,
    checkpoint_every: float,
    on_record: Callable[[LearningRecord], None] | None,
    should_stop: Callable[[], bool],
) -> list[dict[str, Any]]:
    """Train until the end or a stop, from a checkpoint if there is one; return the curve."""
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

    learner.run(on_record=keep, should_stop=should_stop)
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
            f"{folder}: the checkpoint does not belong to the learning of a graph algorithm. "
            "Give another folder."
        )
    differing = [key for key, value in identity.items() if found.get(key) != value]
    if differing:
        raise CheckpointError(
            f"{folder}: the checkpoint belongs to a run with other {', '.join(differing)}. "
            "Continue with the settings it was started with, or give another folder."
        )
    learner.restore(tensors, step=document["step"], seconds=document["seconds"])
    curve: list[dict[str, Any]] = document["curve"]
    return curve
