"""Adam, with matrices moved by their orthogonalised momentum (Muon; Jordan et al. 2024).

A gradient's matrix has few large singular values and many small ones, and Adam's update follows the
large. With all of them made equal, rare directions are learned as fast as common ones. What is not
a matrix of a layer (shifts, and maps from or to single numbers) keeps Adam's update.

torch has a Muon too, since version 2.9; it takes the learning rate from the host, so that a CUDA
graph would keep that of the first step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Of the polynomial a s + b s^3 + c s^5 that takes every singular value s below 1 to near 1."""
ROUNDS = 5
"""Times that it is applied."""
MOMENTUM = 0.95
SIZE = 0.2
"""Root mean square of an update in learning rates, that of Adam's (Liu et al. 2025, "Muon is
Scalable for LLM Training"), so that one learning rate does for both."""
SMALLEST_SIDE = 8
"""Matrices with fewer rows or columns have hardly any singular values to make equal."""


class Muon(torch.optim.Optimizer):
    """Moves matrices by their orthogonalised momentum and everything else like Adam.

    Args:
        parameters: of a network; matrices are recognised by their shapes.
        rate: learning rate, a tensor that may be changed between steps.
        adam: settings of Adam.

    Example:
        >>> layer = nn.Linear(16, 8)
        >>> optimiser = Muon(layer.parameters(), torch.tensor(0.1))
        >>> before = layer.weight.detach().clone()
        >>> layer(torch.ones(3, 16)).square().sum().backward()
        >>> optimiser.step()
        >>> bool((layer.weight != before).all())
        True
    """

    def __init__(self, parameters: Iterable[nn.Parameter], rate: Tensor, **adam: Any) -> None:
        # With settings of Adam, by which `load_state_dict` knows where its counts of steps belong.
        super().__init__(parameters, {"lr": rate, **adam})
        ((*parameters,),) = (group["params"] for group in self.param_groups)
        by_shape: dict[torch.Size, list[nn.Parameter]] = {}
        for parameter in parameters:
            by_shape.setdefault(parameter.shape, []).append(parameter)
        self._stacks = [stack for shape, stack in by_shape.items() if _is_matrix(shape)]
        others = [parameter for parameter in parameters if not _is_matrix(parameter.shape)]
        self._adam = torch.optim.Adam([{"params": others}], rate, **adam)
        # One state, which is what checkpoints keep.
        self._adam.state = self.state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Put back what `state_dict` returned."""
        super().load_state_dict(state_dict)
        self._adam.state = self.state

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Change the parameters that have a gradient."""
        self._adam.step()
        (group,) = self.param_groups
        for stack in self._stacks:
            moved: list[Tensor] = [p for p in stack if p.grad is not None]
            if not moved:
                continue
            gradients, momenta = zip(*((p.grad, self._momentum(p)) for p in moved))
            torch._foreach_lerp_(momenta, gradients, 1 - MOMENTUM)
            # A step ahead of the momentum (Nesterov).
            ahead = torch._foreach_lerp(gradients, momenta, MOMENTUM)
            updates = orthogonalised(torch.stack(ahead))
            size = SIZE * math.sqrt(max(moved[0].shape))
            torch._foreach_sub_(moved, (updates * (size * group["lr"])).unbind())

    def _momentum(self, parameter: Tensor) -> Tensor:
        state = self.state[parameter]
        if not state:
            state["momentum"] = torch.zeros_like(parameter)
        momentum: Tensor = state["momentum"]
        return momentum


def state_after_a_step(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return what the state of an optimiser is like, by number of the parameter and name.

    >>> weight = nn.Parameter(torch.zeros(3))
    >>> state_after_a_step(torch.optim.Adam([weight])).keys()
    dict_keys(['0.step', '0.exp_avg', '0.exp_avg_sq'])
    """
    (group,) = optimiser.param_groups
    state = {}
    for number, parameter in enumerate(group["params"]):
        if isinstance(optimiser, Muon) and _is_matrix(parameter.shape):
            state[f"{number}.momentum"] = parameter
        else:
            state[f"{number}.step"] = torch.empty((), dtype=torch.float32)
            state |= {f"{number}.{name}": parameter for name in ("exp_avg", "exp_avg_sq")}
    return state


def _is_matrix(shape: torch.Size) -> bool:
    return len(shape) == 2 and min(shape) >= SMALLEST_SIDE


def orthogonalised(matrices: Tensor) -> Tensor:
    """Return matrices (M,R,C) of the same singular vectors whose singular values are near 1.

    By Newton and Schulz's iteration; values end between about 0.7 and 1.2, near enough for an
    update, and those far below the largest stay small.

    >>> matrix = torch.randn(1, 4, 6, generator=torch.Generator().manual_seed(0))
    >>> values = torch.linalg.svdvals(orthogonalised(matrix))
    >>> bool((values > 0.6).all()), bool((values < 1.3).all())
    (True, True)
    """
    a, b, c = COEFFICIENTS
    if matrices.shape[1] > matrices.shape[2]:
        return orthogonalised(matrices.mT).mT
    x: Tensor = matrices / (matrices.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(ROUNDS):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    return x


OPTIMISERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    "muon": Muon,
}
"""Optimisers by name."""
