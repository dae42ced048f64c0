"""The posterior mean in half precision and as a CUDA graph, for any sampler that calls it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from graphscore.acceleration.alignment import aligned
from graphscore.acceleration.compilation import compiled
from graphscore.acceleration.cuda_graph import cuda_graph, short
from graphscore.diffusion.posterior import Posterior
from graphscore.errors import warn
from graphscore.graphs.condition import Condition
from graphscore.graphs.state import GraphState
from graphscore.training.memory import is_out_of_memory


class CudaGraphDenoise:
    """`network.denoise` on CUDA with products in bfloat16, captured at its first call.

    It is for states of the shape of the first one, which are padded to an aligned width.

    Args:
        condition: of the graphs of every call.
        compile_blocks: compile blocks for the capture, if the network has any.
    """

    def __init__(self, network: Posterior, condition: Condition, *, compile_blocks: bool) -> None:
        self._network = network
        self._condition = condition
        self._blocks = network.blocks_to_compile if compile_blocks else []
        self._replay: Callable[[], None] | None = None
        self._inputs: tuple[GraphState, Tensor] | None = None
        self._output: GraphState | None = None

    def __call__(self, noisy: GraphState, sigma: Tensor) -> GraphState:
        nodes = noisy.max_nodes
        extra = aligned(nodes) - nodes
        if self._replay is None:
            self._condition = self._condition.extended(extra)
            self._replay = self._first_replay(noisy.extended(extra), sigma)
        if self._inputs is None or self._output is None:
            answer = self._denoise(noisy.extended(extra), sigma)
            return answer.part(slice(None), nodes)
        place, of_sigma = self._inputs
        for inside, entries in zip(place.part(slice(None), nodes).entries, noisy.entries):
            inside.copy_(entries)
        of_sigma.copy_(sigma)
        self._replay()
        return self._output.part(slice(None), nodes).map(torch.clone)

    def _denoise(self, noisy: GraphState, sigma: Tensor) -> GraphState:
        with torch.autocast(sigma.device.type, torch.bfloat16):
            return self._network.denoise(noisy, sigma, self._condition)

    def _capture(self, noisy: GraphState, sigma: Tensor) -> Callable[[], None]:
        place, of_sigma = noisy.map(torch.clone), sigma.clone()
        answer = noisy.map(torch.zeros_like)

        def step() -> None:
            for target, entries in zip(answer.entries, self._denoise(place, of_sigma).entries):
                target.copy_(entries)

        # A network draws nothing, but a capture has to know from where it would.
        replay = cuda_graph(step, generator=torch.Generator(sigma.device), undo=lambda: None)
        self._inputs, self._output = (place, of_sigma), answer
        return replay

    def _first_replay(self, noisy: GraphState, sigma: Tensor) -> Callable[[], None]:
        if self._blocks:
            try:
                with compiled(self._blocks):
                    return self._capture(noisy, sigma)
            # Compilers raise exceptions of many kinds, none of them the user's concern.
            except Exception as error:
                if is_out_of_memory(error):
                    raise
                warn(f"blocks cannot be compiled here, so sampling is slower ({short(error)}).")
        try:
            return self._capture(noisy, sigma)
        except RuntimeError as error:
            if is_out_of_memory(error):
                raise  # The plain path needs as much.
            warn(
                f"no CUDA graph of the network works here, so sampling is slower ({short(error)})."
            )
            return lambda: None
