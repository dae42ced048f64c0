"""One cell of Table 1: a network learns a task and is evaluated on fixed graphs."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from graphscore.acceleration import choose_trainer
from graphscore.artifacts import RunFolder, has_checkpoint
from graphscore.artifacts.document import MadeWith, ModelDocument, TrainingGraphs
from graphscore.diffusion import SigmaLevels
from graphscore.errors import CheckpointError, StoppedError
from graphscore.models.diffusion.settings import EDPGNNModelSettings
from graphscore.networks import EDPGNN, EDPGNNSettings
from graphscore.seeding import torch_generator
from graphscore.training import Trainer, TrainingRecord
from graphscore.version import __version__
from reproduce.algorithms.evaluation import TEST_SEED, evaluate, predictor
from reproduce.algorithms.learning import EdgeClassification, LearningSettings, ProblemBatches
from reproduce.algorithms.tasks import find_task

Record = dict[str, Any]
SIGMAS = (1.0,)
"""Nothing is noisy here; the network is conditioned on noise levels and needs one."""


def learn_and_evaluate(
    task: str,
    network: str,
    run: Path,
    *,
    shape: Mapping[str, Any],
    learning: Mapping[str, Any],
    test_nodes: tuple[int, ...] = (12, 24, 48),
    test_graphs: int = 10_000,
    seed: int = 0,
    device: torch.device | str = "cpu",
    checkpoint_seconds: float = 30.0,
    on_record: Callable[[Record], None] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Record:
    """Train a network on a task and evaluate it, without retraining, on graphs of several sizes.

    Args:
        task: a key of `TASKS`.
        network: its name in the record.
        run: folder of the training run, which is continued if there is one.
        shape: settings of the EDP-GNN.
        learning: settings of training, see `LearningSettings`.
        test_nodes: sizes of the test graphs.
        test_graphs: number of test graphs of each size.
        seed: fixes initial weights and training problems, but not the test graphs.
        device: where to compute.
        checkpoint_seconds: time between checkpoints.
        on_record: called with the averages of every `log_every` steps.
        should_stop: called between steps.

    Returns:
        The record: settings, training curve, and "test" with the metrics by number of nodes.

    Raises:
        SettingsError: a name or a setting is unknown.
        CheckpointError: the checkpoint is damaged or belongs to another run.
        TrainingError: the loss is not finite.
        StoppedError: a stop was requested; a checkpoint was written.
    """
    problem = find_task(task)
    net_settings = EDPGNNSettings(**{**shape, "node_feat_dim": problem.node_feat_dim})
    settings = LearningSettings(**learning)
    net = EDPGNN(net_settings, SIGMAS, generator=torch_generator(seed, "weights"))
    batches = ProblemBatches(problem, settings, seed=seed, device=device)
    trainer = choose_trainer(net, batches, EdgeClassification(), settings, seed=seed, device=device)
    identity = {
        "task": task,
        "network": network,
        "seed": seed,
        "network_settings": net_settings.model_dump(mode="json"),
        "learning_settings": settings.model_dump(mode="json"),
    }
    with (folder := RunFolder(run)).locked():
        _train(trainer, folder, identity, checkpoint_seconds, on_record, should_stop)
    if not trainer.finished:
        raise StoppedError(f"stopped early at step {trainer.step} of {task}, {network}.")
    started = time.perf_counter()
    net.load_state_dict(trainer.average.state_dict())
    predict = predictor(net.eval())
    sizes: dict[str, Any] = {"probability": settings.probability, "graphs": test_graphs}
    test = {
        str(nodes): evaluate(predict, problem, nodes=nodes, device=device, **sizes)
        for nodes in test_nodes
    }
    return {
        **identity,
        "graphscore": __version__,
        "parameters": sum(parameter.numel() for parameter in net.parameters()),
        "test_seed": TEST_SEED,
        "test": test,
        "training": {
            "steps": trainer.step,
            "graphs": trainer.step * settings.batch_size,
            "seconds": trainer.seconds,
            "curve": RunFolder(run).log.records(),
        },
        "test_seconds": time.perf_counter() - started,
    }


def _train(
    trainer: Trainer,
    folder: RunFolder,
    identity: Record,
    checkpoint_seconds: float,
    on_record: Callable[[Record], None] | None,
    should_stop: Callable[[], bool],
) -> None:
    """Train until the end or a stop, from the folder's checkpoint if there is one."""
    if has_checkpoint(folder.path):
        _continue(trainer, folder, identity)
    else:
        folder.start(identity)
    saved = trainer.seconds

    def save() -> None:
        folder.checkpoint(_document(trainer, identity), trainer.state())

    def keep(record: TrainingRecord) -> None:
        nonlocal saved
        row = _row(record)
        folder.log.append(row)
        if on_record is not None:
            on_record(row)
        if record.seconds - saved >= checkpoint_seconds:
            saved = record.seconds
            save()

    trainer.run(on_record=keep, should_stop=should_stop)
    save()


def _row(record: TrainingRecord) -> Record:
    """One line of the log."""
    (accuracy,) = record.per_level
    return {
        "step": record.step,
        "loss": record.loss,
        "accuracy": accuracy,
        "gradient_norm": record.gradient_norm,
        "learning_rate": record.learning_rate,
        "seconds": record.seconds,
    }


def _document(trainer: Trainer, identity: Record) -> ModelDocument:
    """What the checkpoint holds besides tensors; the problems are a function of the settings."""
    learning = identity["learning_settings"]
    problems = TrainingGraphs(
        source=identity["task"],
        graphs=learning["steps"] * learning["batch_size"],
        sha256=hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest(),
    )
    model = EDPGNNModelSettings(
        seed=identity["seed"],
        network=identity["network_settings"],
        noise=SigmaLevels(sigmas=SIGMAS),
    )
    return ModelDocument(
        settings=model.model_dump(mode="json"),
        sizes={learning["nodes"]: problems.graphs},
        learned=identity,
        training_graphs=problems,
        step=trainer.step,
        seconds=trainer.seconds,
        made_with=MadeWith.here(trainer.device),
    )


def _continue(trainer: Trainer, folder: RunFolder, identity: Record) -> None:
    """Restore a trainer from the checkpoint of its run."""
    document, tensors = folder.read()
    differing = [key for key, value in identity.items() if document.learned.get(key) != value]
    if differing:
        raise CheckpointError(
            f"{folder.path}: the checkpoint belongs to a run with other {', '.join(differing)}. "
            "Continue with the settings it was started with, or give another folder."
        )
    trainer.restore(tensors, step=document.step, seconds=document.seconds)
    folder.resume(document.step, identity)
