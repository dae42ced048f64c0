"""Everything that continues a training, as tensors by name."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from graphscore.errors import CheckpointError
from graphscore.training.moving_average import MovingAverage
from graphscore.training.optimisers import state_after_a_step

AVERAGE = "average."
"""What the names of averaged weights begin with."""
NETWORK = "network."
"""What the names of the weights themselves begin with."""
OPTIMISER = "optimiser."
"""What the names of the optimiser's state begin with."""


def training_state(
    network: nn.Module, average: MovingAverage, optimiser: torch.optim.Optimizer
) -> dict[str, Tensor]:
    """Return weights, averaged weights and the optimiser's state."""
    tensors = {f"{NETWORK}{k}": v for k, v in network.state_dict().items()}
    tensors |= {f"{AVERAGE}{k}": v for k, v in average.state_dict().items()}
    for index, values in optimiser.state_dict()["state"].items():
        tensors |= {f"{OPTIMISER}{index}.{k}": torch.as_tensor(v) for k, v in values.items()}
    return tensors


def mismatch(found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> str:
    """Return in what tensors differ from the expected ones by name, shape or type; "" if they fit.

    >>> mismatch({"a": torch.zeros(2)}, {"a": torch.zeros(3)})
    'a is (2,) float32 in place of (3,) float32'
    """
    for verb, names in (
        ("without", expected.keys() - found.keys()),
        ("with unknown", found.keys() - expected.keys()),
    ):
        if names:
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            return f"{verb} {min(names):.100}{more}"
    for name, tensor in expected.items():
        if _kind(found[name]) != _kind(tensor):
            return f"{name} is {_kind(found[name])} in place of {_kind(tensor)}"
    return ""


def _kind(tensor: Tensor) -> str:
    return f"{tuple(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}"


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
    weights, state = network.state_dict(), state_after_a_step(optimiser)
    moved = {name.partition(".")[0] for name in parts["optimiser"]}
    wrong = (
        mismatch(parts["network"], weights)
        or mismatch(parts["average"], weights)
        # Parameters that have no gradient have no state.
        or mismatch(
            parts["optimiser"], {n: t for n, t in state.items() if n.split(".")[0] in moved}
        )
        or ("unknown tensors" if len(parts) > 3 else "")
        or ("the optimiser's state is missing" if step and not moved else "")
    )
    if wrong:
        raise CheckpointError(
            f"the checkpoint does not fit this network: {wrong}. "
            "Continue with the settings it was started with."
        )
    optimiser_state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in parts["optimiser"].items():
        index, _, key = name.partition(".")
        optimiser_state.setdefault(int(index), {})[key] = tensor
    rates = [group["lr"] for group in optimiser.param_groups]
    network.load_state_dict(parts["network"])
    average.load_state_dict(parts["average"])
    groups = optimiser.state_dict()["param_groups"]
    # Optimisers keep what they are given, and the caller's tensors must not change with it.
    optimiser.load_state_dict(copy.deepcopy({"state": optimiser_state, "param_groups": groups}))
    # The tensors that the trainer sets, and not the copies that loading made.
    for group, rate in zip(optimiser.param_groups, rates):
        group["lr"] = rate
