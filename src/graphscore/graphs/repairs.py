"""Repairs: what to mend in graphs that would be refused, and how weights of edges are dropped."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
import torch

from graphscore.errors import GraphDataError, SettingsError
from graphscore.graphs.attributes import is_asked

IGNORED_WEIGHTS, LIGHT = "weights ignored", "edges below the weight threshold dropped"
WEIGHTS = ("weight", "edge_weight")
"""Edge attributes that have to be 1 if none is asked for; PyTorch Geometric has the second."""
WEIGHT_ADVICE = (
    "Learn weights with --edge-weight {name} (in Python: edge_weight={name!r}), ignore them with "
    "--ignore-weights (repairs=Repairs(ignore_weights=True)), or drop edges below a threshold with "
    "--weight-threshold (repairs=Repairs(weight_threshold=...)). Repairs is in graphscore."
)


@dataclass(frozen=True)
class Repairs:
    """Which defects to repair instead of refusing the graph.

    Attributes:
        drop_self_loops: drop edges from a node to itself (`--drop-self-loops`).
        undirected: read a directed edge as an undirected one (`--undirected`).
        largest_component: keep only the largest connected component (`--largest-component`);
            of several equally large, the one with the earliest node.
        ignore_weights: drop the weights of edges (`--ignore-weights`).
        weight_threshold: drop edges with a weight below this, and then all weights
            (`--weight-threshold`). An edge without a weight stays.

    Raises:
        SettingsError: the threshold is no finite number.
    """

    drop_self_loops: bool = False
    undirected: bool = False
    largest_component: bool = False
    ignore_weights: bool = False
    weight_threshold: float | None = None

    def __post_init__(self) -> None:
        if self.weight_threshold is not None and _real(self.weight_threshold) is None:
            raise SettingsError(
                f"--weight-threshold {self.weight_threshold!r}: give a finite number "
                "(weight_threshold=...)."
            )

    @property
    def drops_weights(self) -> bool:
        """Whether weights of edges are dropped."""
        return self.ignore_weights or self.weight_threshold is not None

    def check_names(self, edge_attributes: Collection[str] | None) -> None:
        """Refuse to drop weights that are asked for.

        Raises:
            SettingsError: they are.
        """
        if self.drops_weights and is_asked("weight", edge_attributes or ()):
            raise SettingsError(
                "the edge attribute 'weight' is asked for, and weights are to be dropped. Leave "
                "out --edge-weight (edge_weight=), or --ignore-weights and --weight-threshold "
                "(ignore_weights=, weight_threshold=)."
            )


def without_weights(
    where: str, graph: nx.Graph[Any], repairs: Repairs
) -> tuple[nx.Graph[Any], list[str]]:
    """Copy a graph as `repairs` ask for it, and return the repairs that changed something.

    Raises:
        GraphDataError: as `weight_change`.
    """
    copied = graph.copy()
    changes: dict[str, None] = {}
    keys = {"keys": True} if graph.is_multigraph() else {}
    edges: Iterable[Any] = graph.edges(data=True, **keys)  # type: ignore[call-overload]
    for *edge, data in edges:
        if data.get("weight") is None:
            continue
        change = weight_change(where, edge[0], edge[1], data["weight"], repairs)
        if change:
            changes[change] = None
        if change == LIGHT:
            copied.remove_edge(*edge)
        else:
            del copied.edges[tuple(edge)]["weight"]
    return copied, list(changes)


def weight_change(
    where: str, tail: object, head: object, weight: object, repairs: Repairs
) -> str | None:
    """Return the repair that an edge needs for a weight that is not asked for; LIGHT: it goes.

    Raises:
        GraphDataError: another weight than 1 that is not to be dropped, or no number where one is
            compared with the threshold.

    >>> weight_change("g", 0, 1, 0.5, Repairs(weight_threshold=2))
    'edges below the weight threshold dropped'
    """
    if not repairs.drops_weights:
        check_weight(where, tail, head, weight)
    elif repairs.weight_threshold is not None:
        number = _real(weight)
        if number is None:
            raise GraphDataError(
                f"{where}: weight {weight!r:.40} on edge {tail!r} - {head!r}, but a finite number "
                "is expected for a threshold. Correct it, or remove it."
            )
        if number < repairs.weight_threshold:
            return LIGHT
    return None if is_one(weight) else IGNORED_WEIGHTS


def check_weight(where: str, tail: object, head: object, weight: object) -> None:
    """Refuse any weight but 1.

    Raises:
        GraphDataError: another number, NaN, or no number.
    """
    if not is_one(weight):
        is_nan = isinstance(weight, float | np.floating) and math.isnan(weight)
        kind = "NaN weight" if is_nan else f"non-binary weight {weight!r:.40}"
        raise GraphDataError(
            f"{where}: {kind} on edge {tail!r} - {head!r}, but only weight 1 is expected. "
            f"{WEIGHT_ADVICE.format(name='weight')}"
        )


def is_one(weight: object) -> bool:
    """Return whether a weight is the number 1."""
    return _real(weight) == 1


def _real(weight: object) -> float | None:
    """Return a finite real number, also of numpy or torch; None for anything else."""
    if isinstance(weight, torch.Tensor | np.ndarray):
        return _real(weight.item()) if weight.ndim == 0 else None
    if isinstance(weight, bool | int | float | np.integer | np.floating | np.bool_):
        with contextlib.suppress(OverflowError):
            number = float(weight)
            return number if math.isfinite(number) else None
    return None
