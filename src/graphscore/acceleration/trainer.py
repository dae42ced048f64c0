"""Training with each step as one CUDA graph."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import torch
from torch import Tensor, nn

from graphscore.acceleration.alignment import aligned
from graphscore.acceleration.compilation import compiled
from graphscore.acceleration.cuda_graph import cuda_graph, short
from graphscore.errors import warn
from graphscore.graphs.batch import GraphBatch
from graphscore.seeding import reseed
from graphscore.training import Objective, Trainer, TrainingSettings
from graphscore.training.batching import (
    Batches,
    BatchSampler,
    MicroBatch,
    SizeStratifiedSampler,
    buckets_of_similar_width,
)
from graphscore.training.memory import free_memory, is_out_of_memory
from graphscore.training.objective import Items

OVERHEAD = 50_000
"""Pairs of nodes whose computation takes about as long as one more bucket in a CUDA graph; an
estimate."""
WORTH_COMPILING = 1e9
"""Pairs of nodes, over all steps of a training, from which compiling about saves the time that it
takes, which is half a minute."""


class CudaGraphTrainer(Trainer):
    """A `Trainer` on CUDA that captures a step once and replays it.

    The same update as the plain trainer's, and for the same padding the same noise. A batch that
    needs micro-batches takes the plain step: with graphs that large, launches cost nothing.

    A CUDA graph has the shapes it was captured with. So all graphs are padded to the largest; or,
    where that would cost much, all batches have the same sizes (`SizeStratifiedSampler`), in
    buckets that are padded to their own largest.
    """

    path = "cuda-graph"

    def __init__(
        self,
        network: nn.Module,
        data: GraphBatch | Batches,
        objective: Objective,
        settings: TrainingSettings,
        *,
        seed: int,
        device: torch.device | str = "cuda",
        bucketing: bool = True,
    ) -> None:
        blocks: list[nn.Module] = getattr(network, "blocks_to_compile", [])
        # Networks without blocks compute in single precision, where alignment brings nothing.
        width = aligned if blocks else int
        strata = None
        if isinstance(data, GraphBatch):
            data, size = data.padded(width(data.max_nodes)).to(device), settings.batch_size
            strata = SizeStratifiedSampler(data, size, seed=seed, trim=False)
            data = BatchSampler(data, size, seed=seed, sort=bucketing, trim=False)
        super().__init__(
            network, data, objective, settings, seed=seed, device=device, bucketing=bucketing
        )
        copies = objective.noise_copies
        self._generator = torch.Generator(self.device)
        self._metrics = self._parameters[0].new_zeros(3 + objective.sigma_bins)
        self._replay: Callable[[], None] | None = None
        self._captures = True
        # As wide as what a capture reads, which may be wider than the batch of a plain step.
        self.batches.load(self.step)
        items = slice(0, self.batches.batch_size * copies)
        self._shape = [MicroBatch(items, self.batches.loaded().max_nodes)]
        if strata is not None and bucketing and not self._micro.uses_batch_statistics:
            widths = [width(max(1, needed)) for needed in strata.widths() for _ in range(copies)]
            buckets = buckets_of_similar_width(widths, OVERHEAD, fewest=2)
            if len(buckets) > 1:
                self.batches, self._shape = strata, buckets
        pairs = sum(len(bucket) * bucket.nodes**2 for bucket in self._shape)
        worth = pairs * settings.steps >= WORTH_COMPILING
        # Compiled gradients of a single graph are wrong on torch 2.11.
        several = all(len(bucket) > 1 for bucket in self._shape)
        self._to_compile = blocks if worth and several else []

    def train_step(self) -> Tensor:
        """Take one optimiser step, by replaying it where that works."""
        if not self._captures or self._micro.split(self._shape) != self._shape:
            return super().train_step()
        self.batches.load(self.step)
        self._schedule()
        reseed(self._generator, self.seed, "noise", self.step)
        if self._replay is None:
            self._replay = self._capture()
        if self._replay is None:
            return super().train_step()
        self._replay()
        self.step += 1
        return self._metrics.clone()

    def _buckets(self, items: Items) -> list[MicroBatch]:
        return self._shape

    def _capture(self) -> Callable[[], None] | None:
        """Capture a step; None, with a warning, if it does not fit in memory or does not work.

        What was compiled is in the capture, so nothing stays compiled.
        """
        error: Exception
        try:
            with compiled(self._to_compile, dynamic=False) if self._to_compile else nullcontext():
                return self._capture_step()
        # Compilers and drivers raise exceptions of many kinds, none of them the user's concern.
        except Exception as raised:
            error = raised.with_traceback(None)
        # Behind the handler, because until it ends the error keeps alive what did not fit.
        free_memory(self.device)
        if is_out_of_memory(error):
            self._micro.shrink(self._shape)
        elif self._to_compile:
            self._to_compile = []
            warn(f"blocks cannot be compiled here, so training is slower ({short(error)}).")
            return self._capture()
        else:
            self._captures = False
            warn(f"no CUDA graph of a step works here, so training is slower ({short(error)}).")
        return None

    def _capture_step(self) -> Callable[[], None]:
        def step() -> None:
            items = self.objective.perturb(self.batches.loaded(), generator=self._generator)
            metrics = self._sum_gradients(items, self._shape)
            norm = self._clip_gradient()
            self._optimiser.step()
            self.average.update()
            self._metrics.copy_(torch.cat([norm.view(1), metrics]))

        before = [(tensor, tensor.clone()) for tensor in self._changing()]
        had_state = bool(self._optimiser.state)

        def undo() -> None:
            with torch.no_grad():
                for tensor, value in before:
                    tensor.copy_(value)
                if not had_state:
                    for state in self._optimiser.state.values():
                        for tensor in state.values():
                            tensor.zero_()

        return cuda_graph(step, generator=self._generator, undo=undo)

    def _changing(self) -> list[Tensor]:
        """Everything that a step changes."""
        states = [tensor for state in self._optimiser.state.values() for tensor in state.values()]
        return [*self.network.state_dict().values(), *self.average.state_dict().values(), *states]

    def restore(self, tensors: dict[str, Tensor], *, step: int, seconds: float) -> None:
        """Continue from what `state` returned at `step`."""
        super().restore(tensors, step=step, seconds=seconds)
        # The optimiser's state has moved to new tensors.
        self._replay = None
