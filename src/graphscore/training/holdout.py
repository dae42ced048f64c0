"""Graphs held out from training: which they are, and the loss of averaged weights on them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from graphscore.errors import warn
from graphscore.graphs.batch import GraphBatch
from graphscore.seeding import numpy_generator, torch_generator
from graphscore.training.memory import is_out_of_memory
from graphscore.training.objective import Objective

if TYPE_CHECKING:
    from graphscore.training.trainer import Trainer, TrainingRecord

FEWEST = 50
"""Graphs from which on some are held out."""
MOST = 500
"""Held-out graphs; more would not make the loss more certain than it needs to be."""
COST = 0.03
"""Share of the training time that the held-out loss takes."""
ANSWERS_PER_STEP = 3
"""What a step takes for each of its items, in network answers without a gradient."""
MOMENTS = 20
"""How often the loss is computed, at most."""
ITEMS = 64
"""Noisy graphs that the loss is a mean of, at least; few graphs have noise several times."""
MOST_PAIRS = 2**22
"""Pairs of nodes of all noisy graphs together, at most, which are kept during the training."""
PAIRS_AT_A_TIME = {"cpu": 2**17, "cuda": 2**22, "mps": 2**20}
"""Pairs of nodes that are computed at a time."""


def held_out_numbers(count: int, seed: int) -> list[int]:
    """Return which of `count` graphs are held out: a tenth; none where there are few.

    The draw is a random stream of its own, so that nothing else changes with it.

    >>> len(held_out_numbers(200, seed=0)), held_out_numbers(49, seed=0)
    (20, [])
    """
    if count < FEWEST:
        return []
    order = numpy_generator(seed, "held out").permutation(count)
    return sorted(order[: min(MOST, count // 10)].tolist())


def at_small_noise(objective: Objective, per_level: Sequence[float]) -> float:
    """Return the mean loss where structure is decided: over the noise levels that it names."""
    chosen = per_level[getattr(objective, "structure", slice(None))]
    return sum(chosen) / len(chosen)


class HeldOutLoss:
    """The loss of the averaged weights on held-out graphs, with the same noise each time.

    It is computed at a few steps, more of them early, where it falls fast. They follow from the
    settings alone, and the number of noisy graphs too, such that all of it takes about 3 % of the
    training. Nothing that training uses is changed, so it is the same with and without.

    Args:
        graphs: what is held out, as the trainer's own batch.
        trainer: whose averaged weights they are.
    """

    def __init__(self, graphs: GraphBatch, trainer: Trainer) -> None:
        self._trainer, self._objective = trainer, trainer.objective
        copies, steps = self._objective.noise_copies, trainer.settings.steps
        affordable = COST * ANSWERS_PER_STEP * steps * trainer.settings.batch_size * copies
        number = max(ITEMS, min(len(graphs) * copies, affordable / 8)) / copies
        number = max(1, min(round(number), MOST_PAIRS // max(1, graphs.max_nodes) ** 2 // copies))
        chosen = [i * len(graphs) // number for i in range(number)]
        chosen.sort(key=lambda graph: int(graphs.sizes[graph]))
        batch = graphs[chosen].trimmed().to(trainer.device)
        generator = torch_generator(trainer.seed, "held-out noise", device=trainer.device)
        self._items = self._objective.perturb(batch, generator=generator)
        self._widths = [int(n) for n in batch.sizes for _ in range(copies)]
        moments = int(max(1, min(MOMENTS, affordable // len(self._items))))
        self._moments = [-(-steps * i**2 // moments**2) for i in range(1, moments + 1)]
        # A copy, because an answer may depend on the mode and change statistics.
        self._network = copy.deepcopy(trainer.network).eval()
        self._done = trainer.step

    def added_to(self, record: TrainingRecord) -> TrainingRecord:
        """Return the record, with the loss if a step of these was passed since the last time."""
        small = at_small_noise(self._objective, record.per_level)
        record = replace(record, at_small_noise=small)
        passed = any(self._done < moment <= record.step for moment in self._moments)
        found = self._try() if passed else None
        if found is None:
            return record
        self._done = record.step
        per_pair, *per_level = found
        return replace(
            record,
            held_out=per_pair,
            held_out_per_level=per_level,
            held_out_at_small_noise=at_small_noise(self._objective, per_level),
        )

    def _try(self) -> list[float] | None:
        """Compute the loss; where memory is short, never again."""
        try:
            return self._compute()
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
        self._moments = []
        warn("There is no memory for the loss on held-out graphs. Training goes on without it.")
        return None

    def _compute(self) -> list[float]:
        """The loss per pair, and those of the noise levels."""
        self._network.load_state_dict(self._trainer.average.state_dict())
        with torch.no_grad():
            losses = [self._losses(items, width) for items, width in self._parts()]
        found: list[float] = self._objective.metrics(self._items, torch.cat(losses)).tolist()
        return found[1:]

    def _losses(self, items: slice, width: int) -> Tensor:
        return self._objective.per_graph_loss(self._network, self._items.part(items, width))

    def _parts(self) -> list[tuple[slice, int]]:
        """Items that are computed together, and the width they need; widths rise."""
        pairs, parts, start = PAIRS_AT_A_TIME.get(self._trainer.device.type, 2**17), [], 0
        while start < len(self._widths):
            end = start + 1
            while end < len(self._widths) and (end + 1 - start) * self._widths[end] ** 2 <= pairs:
                end += 1
            parts.append((slice(start, end), max(1, self._widths[end - 1])))
            start = end
        return parts
