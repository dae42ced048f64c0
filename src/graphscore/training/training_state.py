"""Everything that continues a training, as tensors by name."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from graphscore.errors import CheckpointError
from graphscore.training.moving_average import MovingAverage

AVERAGE = "average."
"""What the names of averaged weights begin with."""
OPTIMISER = "optimiser."
"""What the names of the optimiser's state begin with."""


def training_state(
    network: nn.Module, average: MovingAverage, optimiser: torch.optim.Optimizer
) -> dict[str, Tensor]:
    """Return weights, averaged weights and the optimiser's state."""
    tensors = {f"network.{k}": v for k, v in network.state_dict().items()}
    tensors |= {f"{AVERAGE}{k}": v for k, v in average.state_dict().items()}
    for index, values in optimiser.state_dict()["state"].items():
        tensors |= {f"{OPTIMISER}{index}.{k}": torch.as_tensor(v) for k, v in values.items()}
    return tensors


def restore_training_state(
    tensors: dict[str, Tensor],
    network: nn.Module,
    average: MovingAverage,
    optimiser: torch.optim.Optimizer,
    *,
    step: int,
) -> None:
    """Put back what `training_state` returned at `step`; the optimiser keeps its learning rate.

    Raises:
        CheckpointError: the tensors are not those of this network.
    """
    parts: dict[str, dict[str, Tensor]] = {"network": {}, "average": {}, "optimiser": {}}
    for name, tensor in tensors.items():
        part, _, rest = name.partition(".")
        parts.setdefault(part, {})[rest] = tensor
    optimiser_state: dict[int, dict[str, Tensor]] = {}
    rates = [group["lr"] for group in optimiser.param_groups]
    try:
        for name, tensor in parts["optimiser"].items():
            index, _, key = name.partition(".")
            optimiser_state.setdefault(int(index), {})[key] = tensor
        if step and not optimiser_state:
            raise KeyError("the optimiser's state is missing")
        network.load_state_dict(parts["network"])
        average.load_state_dict(parts["average"])
        groups = optimiser.state_dict()["param_groups"]
        # Optimisers keep what they are given, and the caller's tensors must not change with it.
        optimiser.load_state_dict(copy.deepcopy({"state": optimiser_state, "param_groups": groups}))
    except (KeyError, RuntimeError, ValueError) as error:
        raise CheckpointError(
            f"the checkpoint does not fit this network: {error}. "
            "Continue with the settings it was started with."
        ) from None
    # The tensors that the trainer sets, and not the copies that loading made.
    for group, rate in zip(optimiser.param_groups, rates):
        group["lr"] = rate
