"""Training with each step as one CUDA graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from graphscore.acceleration.capture import captured
from graphscore.acceleration.notices import notify, short
from graphscore.seeding import reseed
from graphscore.training import Trainer
from graphscore.training.memory import free_memory, is_out_of_memory
from graphscore.training.pieces import Piece


class CapturedTrainer(Trainer):
    """A `Trainer` on CUDA that records a step once and replays it.

    The same graphs and the same update as the plain trainer's, and for the same padding the same
    noise. A batch that has to be computed in pieces takes the plain step: with graphs that large,
    launches cost nothing.
    """

    path = "captured"
    # A recorded step has the shape it was recorded with.
    trims_padding = False

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._generator = torch.Generator(self.device)
        self._chosen = torch.zeros(self.settings.batch_size, dtype=torch.int64, device=self.device)
        self._numbers = self.data.adj.new_zeros(3 + self.objective.parts)
        self._replay: Callable[[], None] | None = None
        self._records = True

    def _train_step(self) -> Tensor:
        whole = Piece(slice(0, len(self._chosen) * self.objective.copies), self.data.max_nodes)
        if not self._records or self._pieces.cut([whole]) != [whole]:
            return super()._train_step()
        self._chosen.copy_(self._indices(self.step))
        self._schedule(self.step)
        reseed(self._generator, self.seed, "noise", self.step)
        if self._replay is None:
            self._replay = self._recorded(whole)
        if self._replay is None:
            return super()._train_step()
        self._replay()
        self.step += 1
        return self._numbers.clone()

    def _recorded(self, whole: Piece) -> Callable[[], None] | None:
        """Record a step; None, with a notice, if it does not fit in memory or does not work."""
        try:
            return self._record_step(whole)
        except RuntimeError as error:
            self._records = is_out_of_memory(error)
            if not self._records:
                notify(f"a step cannot be recorded here, so training is slower ({short(error)}).")
        # Behind the handler, because until it ends the error keeps alive what did not fit.
        free_memory(self.device)
        if self._records:
            self._pieces.shrink([whole])
        return None

    def _record_step(self, whole: Piece) -> Callable[[], None]:
        def step() -> None:
            batch = self.data[self._chosen]
            perturbed = self.objective.perturb(batch, generator=self._generator)
            numbers = self._add_up(perturbed, [whole])
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
