"""Training with each step as one CUDA graph."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from graphscore.acceleration.alignment import aligned
from graphscore.acceleration.capture import captured
from graphscore.acceleration.compilation import compiled
from graphscore.acceleration.notices import notify, short
from graphscore.graphs import GraphBatch
from graphscore.networks import LogOddsDenoiser
from graphscore.seeding import reseed
from graphscore.training import Trainer
from graphscore.training.batches import SizeStrata
from graphscore.training.grouping import groups_of_similar_width
from graphscore.training.memory import free_memory, is_out_of_memory
from graphscore.training.pieces import Piece

OVERHEAD = 50_000
"""Pairs of nodes whose computation takes about as long as one more group of graphs in a recording;
an estimate."""
WORTHWHILE = 1e9
"""Pairs of nodes, over all steps of a training, from which compiling about saves the time that it
takes, which is half a minute."""


class CapturedTrainer(Trainer):
    """A `Trainer` on CUDA that records a step once and replays it.

    The same update as the plain trainer's, and for the same padding the same noise. A batch that
    has to be computed in pieces takes the plain step: with graphs that large, launches cost
    nothing.

    A recorded step has the shape it was recorded with. So all graphs are padded to the largest;
    or, where that would cost much, all batches have the same sizes (`SizeStrata`), in groups that
    are padded to their own largest.
    """

    path = "captured"
    trims_padding = False

    def __init__(
        self, network: nn.Module, data: GraphBatch, *arguments: Any, **settings: Any
    ) -> None:
        # Others compute in single precision, in which products are not that particular.
        width = aligned if isinstance(network, LogOddsDenoiser) else int
        super().__init__(network, data.padded(width(data.max_nodes)), *arguments, **settings)
        self._generator = torch.Generator(self.device)
        batch_size, copies = self.settings.batch_size, self.objective.copies
        self._chosen = torch.zeros(batch_size, dtype=torch.int64, device=self.device)
        self._numbers = self.data.adj.new_zeros(3 + self.objective.parts)
        self._replay: Callable[[], None] | None = None
        self._records = True
        self._shape = [Piece(slice(0, batch_size * copies), self.data.max_nodes)]
        strata = SizeStrata(self.data.node_mask, batch_size, seed=self.seed, device=self.device)
        widths = [width(max(1, needed)) for needed in strata.widths() for _ in range(copies)]
        groups = groups_of_similar_width(widths, OVERHEAD, fewest=2)
        if len(groups) > 1 and self._bucketing and not self._pieces.couples_graphs:
            self._order, self._shape = strata, groups
        pairs = sum(len(group) * group.nodes**2 for group in self._shape)
        self._to_compile: list[nn.Module] = []
        long = pairs * self.settings.steps >= WORTHWHILE
        # Compiled gradients of a single graph are wrong on torch 2.11.
        several = all(len(group) > 1 for group in self._shape)
        if isinstance(self.network, LogOddsDenoiser) and long and several:
            self._to_compile = self.network.blocks_to_compile

    def _train_step(self) -> Tensor:
        if not self._records or self._pieces.cut(self._shape) != self._shape:
            return super()._train_step()
        self._chosen.copy_(self._indices(self.step))
        self._schedule(self.step)
        reseed(self._generator, self.seed, "noise", self.step)
        if self._replay is None:
            self._replay = self._recorded()
        if self._replay is None:
            return super()._train_step()
        self._replay()
        self.step += 1
        return self._numbers.clone()

    def _groups(self, _: Any) -> list[Piece]:
        return self._shape

    def _recorded(self) -> Callable[[], None] | None:
        """Record a step; None, with a notice, if it does not fit in memory or does not work.

        What was compiled is in the recording, so nothing stays compiled.
        """
        error: Exception
        try:
            with compiled(self._to_compile, dynamic=False) if self._to_compile else nullcontext():
                return self._record_step()
        # Compilers and drivers raise exceptions of many kinds, none of them the user's concern.
        except Exception as raised:
            error = raised.with_traceback(None)
        # Behind the handler, because until it ends the error keeps alive what did not fit.
        free_memory(self.device)
        if is_out_of_memory(error):
            self._pieces.shrink(self._shape)
        elif self._to_compile:
            self._to_compile = []
            notify(f"blocks cannot be compiled here, so training is slower ({short(error)}).")
            return self._recorded()
        else:
            self._records = False
            notify(f"a step cannot be recorded here, so training is slower ({short(error)}).")
        return None

    def _record_step(self) -> Callable[[], None]:
        def step() -> None:
            batch = self.data[self._chosen]
            perturbed = self.objective.perturb(batch, generator=self._generator)
            numbers = self._add_up(perturbed, self._shape)
            norm = self._apply()
            self._numbers.copy_(torch.cat([norm.view(1), numbers]))

        before = [(tensor, tensor.clone()) for tensor in self._changing()]

        def undo() -> None:
            with torch.no_grad():
                for tensor, value in before:
                    tensor.copy_(value)
                if not had_state:
                    for state in self._optimiser.state.values():
                        for tensor in state.values():
                            tensor.zero_()

        had_state = bool(self._optimiser.state)
        return captured(step, generator=self._generator, undo=undo)

    def _changing(self) -> list[Tensor]:
        """Everything that a step changes."""
        adam = [tensor for state in self._optimiser.state.values() for tensor in state.values()]
        return [*self.network.state_dict().values(), *self.average.state_dict().values(), *adam]

    def restore(self, tensors: dict[str, Tensor], *, step: int, seconds: float) -> None:
        super().restore(tensors, step=step, seconds=seconds)
        # The optimiser's state has moved to new tensors.
        self._replay = None
