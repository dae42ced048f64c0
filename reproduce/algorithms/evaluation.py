"""How often a network's answers are right, on a fixed test set, for graphs of any size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from graphscore.errors import SettingsError
from graphscore.graphs import Condition, GraphState
from graphscore.metrics import wilson_interval
from graphscore.seeding import torch_generator
from reproduce.algorithms.tasks import Problems, Task

TEST_SEED = 20200108
"""Seed of the test set, whatever seed a network was trained with."""
_PAIRS_AT_ONCE = 300_000


def edge_logits(network: nn.Module, adj: Tensor, node_feat: Tensor) -> Tensor:
    """Return a network's logits (B,N,N) that an edge belongs to the answer.

    Score networks ask for a noise level; here all graphs have the same, 1.

    Args:
        network: `network(noisy, sigma, condition)`, see `graphscore.networks`.
        adj: (B,N,N), as `Problems` holds it.
        node_feat: (B,N,F) likewise.
    """
    node_mask = torch.ones(adj.shape[:2], dtype=torch.bool, device=adj.device)
    sigma = torch.ones(len(adj), dtype=adj.dtype, device=adj.device)
    answer: GraphState = network(GraphState(adj, node_mask), sigma, Condition(node_feat))
    return answer.edges


def predictor(network: nn.Module) -> Callable[[Problems], Tensor]:
    """Return a function of problems: the edges (B,N,N) bool that belong to the answer."""

    @torch.no_grad()
    def predict(problems: Problems) -> Tensor:
        return edge_logits(network, problems.adj, problems.node_feat) > 0

    return predict


def evaluate(
    predict: Callable[[Problems], Tensor],
    task: Task,
    *,
    nodes: int = 12,
    probability: float = 0.3,
    graphs: int = 10_000,
    seed: int = TEST_SEED,
    device: torch.device | str = "cpu",
) -> dict[str, dict[str, Any]]:
    """Evaluate predictions on a fixed test set.

    The set depends on the task, the numbers and the seed only: it is drawn on the CPU and solved on
    the device.

    Args:
        predict: returns (B,N,N) bool, symmetric, for problems on `device`.
        task: what is to be predicted.
        nodes, probability: of the Erdős–Rényi graphs.
        graphs: size of the test set.
        seed: fixes the test set.
        device: where to compute.

    Returns:
        For each metric of `Task.metrics` its mean "value", the number of "graphs" that it applies
        to, and "low" and "high", the 95% interval, if it counts graphs.

    Raises:
        SettingsError: `graphs` or `nodes` is below 1.

    Example:
        >>> from reproduce.algorithms.tasks import find_task
        >>> task = find_task("shortest-path")
        >>> result = evaluate(lambda problems: problems.answer, task, graphs=500)
        >>> result["accuracy"]["value"], round(result["best_possible"]["value"], 1)
        (1.0, 0.8)
    """
    if graphs < 1 or nodes < 1:
        raise SettingsError(
            f"a test set of {graphs} graphs of {nodes} nodes was asked for; give at least 1."
        )
    generator = torch_generator(seed, "test", task.name, nodes)
    # Fixed, because the random numbers of a chunk follow those of the chunk before.
    at_once = max(1, _PAIRS_AT_ONCE // nodes**2)
    chunks: dict[str, list[Tensor]] = {}
    for start in range(0, graphs, at_once):
        count = min(at_once, graphs - start)
        problems = task.draw(count, nodes, probability, generator=generator, device=device)
        for name, values in task.metrics(problems, predict(problems)).items():
            chunks.setdefault(name, []).append(values)
    return {name: _summary(torch.cat(values).cpu()) for name, values in chunks.items()}


def _summary(values: Tensor) -> dict[str, Any]:
    values = values[~values.isnan()]
    count = len(values)
    if not count:
        return {"value": None, "graphs": 0}
    mean = values.mean().item()
    summary: dict[str, Any] = {"value": mean, "graphs": count}
    if bool(((values == 0) | (values == 1)).all()):
        summary["low"], summary["high"] = wilson_interval(round(mean * count), count)
    return summary
