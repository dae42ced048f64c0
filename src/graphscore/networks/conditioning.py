"""How EDP-GNN is conditioned on the noise level: a gain and a bias per level in every MLP layer.

The paper (section 3.4.4) writes a conditional layer as f_i(x) = activate((W x + b) a_i + b_i) for
the level with index i. Here a network is given the standard deviation `sigma` of each graph;
between two of its levels gains and biases are interpolated linearly in log sigma, outside of them
the nearest level is used. At the levels this is the paper's look-up table.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, cast

import torch
from torch import Tensor, nn

from graphscore.networks.initial import fill_uniform


def _silu(x: Tensor) -> Tensor:
    # Without gradients the input is not needed again, and in place is faster.
    return nn.functional.silu(x, inplace=not x.requires_grad)


def _elu(x: Tensor) -> Tensor:
    return nn.functional.elu(x, inplace=not x.requires_grad)


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"silu": _silu, "elu": _elu}
"""Activations by name; they may overwrite their argument, so give them fresh tensors."""


class LevelWeights:
    """Map sigma (B,) to weights (B,L) over the noise levels: one-hot at a level.

    Level 0 is the smallest sigma.
    """

    def __init__(self, sigmas: tuple[float, ...]) -> None:
        self._log_sigmas = [math.log(sigma) for sigma in sorted(sigmas)]
        # Kept per device and type instead of as a module's buffer: casting a network to another
        # precision must not round the levels, and some devices have no float64.
        self._knots: dict[tuple[torch.device, torch.dtype], Tensor] = {}

    def __call__(self, sigma: Tensor, dtype: torch.dtype) -> Tensor:
        knots = self._knots.get((sigma.device, dtype))
        if knots is None:
            knots = torch.tensor(self._log_sigmas, device=sigma.device, dtype=dtype)
            self._knots[sigma.device, dtype] = knots
        if len(knots) == 1:
            return torch.ones(len(sigma), 1, dtype=dtype, device=sigma.device)
        position = sigma.to(dtype).log().clamp(knots[0], knots[-1]).unsqueeze(-1)
        # Hat functions: each level's weight falls linearly to zero at its neighbours.
        gaps = knots[1:] - knots[:-1]
        rise = nn.functional.pad((position - knots[:-1]) / gaps, (1, 0), value=1.0)
        fall = nn.functional.pad((knots[1:] - position) / gaps, (0, 1), value=1.0)
        return torch.minimum(rise, fall).clamp_min(0)


@dataclass(frozen=True)
class Conditioning:
    """What every conditional layer needs of the noise level of each graph of a batch.

    Attributes:
        gains: (B,1,out) of each layer, by its place in the table.
        shifts: likewise; the layer's bias is part of it.
    """

    gains: tuple[Tensor, ...]
    shifts: tuple[Tensor, ...]


class LevelTable(nn.Module):
    """Biases, and gains and shifts per noise level, of all conditional layers of a network.

    They lie side by side, because a network has many layers with few values each: one product then
    serves all of them, in the gradient too, where one per layer would cost more in starting than in
    computing; and the optimiser has three tensors instead of three per layer.

    Args:
        levels: how many noise levels there are.
    """

    def __init__(self, levels: int) -> None:
        super().__init__()
        self.widths: list[int] = []
        self.bias = nn.Parameter(torch.zeros(0))
        self.gain = nn.Parameter(torch.ones(levels, 0))
        self.shift = nn.Parameter(torch.zeros(levels, 0))

    def add(self, bias: Tensor) -> LevelColumns:
        """Add columns for a layer with this bias (out,); gains start at one, shifts at zero.

        To be called while the network is made: it replaces the parameters by longer ones.
        """
        columns = LevelColumns(self, len(self.widths), sum(self.widths), len(bias))
        self.widths.append(len(bias))
        levels = len(self.gain)
        self.bias = _longer(self.bias, bias)
        self.gain = _longer(self.gain, bias.new_ones(levels, len(bias)))
        self.shift = _longer(self.shift, bias.new_zeros(levels, len(bias)))
        return columns

    def forward(self, level_weights: Tensor) -> Conditioning:
        """Return every layer's gains and shifts at level_weights (B,L), see `LevelWeights`.

        (W x + b) a + c = (W x) a + (b a + c), so what a layer needs is `a` and `b a + c`. Both are
        linear in the weights of the levels, so they are made once per level and not per graph.
        """
        values = self.gain, torch.addcmul(self.shift, self.gain, self.bias)
        # One split, and not a slice per layer: the gradient of each slice is as large as the whole.
        gains, shifts = (
            torch.split((level_weights @ value).unsqueeze(1), self.widths, dim=2)
            for value in values
        )
        return Conditioning(gains, shifts)


@dataclass(frozen=True)
class LevelColumns:
    """The columns of a `LevelTable` that belong to one layer, as views of its parameters.

    Attributes:
        table: shared by all layers of the network; it is the network's module, not the layer's.
        place: the layer's place in a `Conditioning`.
        start: number of the layer's first column.
        width: how many columns it has.
    """

    table: LevelTable
    place: int
    start: int
    width: int

    @property
    def bias(self) -> Tensor:
        """(out,)."""
        return self.table.bias.narrow(0, self.start, self.width)

    @property
    def gain(self) -> Tensor:
        """(L,out)."""
        return self.table.gain.narrow(1, self.start, self.width)

    @property
    def shift(self) -> Tensor:
        """(L,out)."""
        return self.table.shift.narrow(1, self.start, self.width)


def _longer(parameter: nn.Parameter, more: Tensor) -> nn.Parameter:
    """Join columns to a parameter; not with `torch.cat`, for the reason given in `initial`."""
    before = parameter.shape[-1]
    joined = more.new_empty(*more.shape[:-1], before + more.shape[-1])
    joined[..., :before].copy_(parameter.detach())
    joined[..., before:].copy_(more)
    return nn.Parameter(joined)


def scaled(x: Tensor, gain: Tensor, shift: Tensor) -> Tensor:
    """x * gain + shift."""
    if torch.is_grad_enabled():
        # The gradient of addcmul multiplies by its scalar factor too, although that is one.
        return (x * gain).add_(shift)
    return torch.addcmul(shift, x, gain)


class ConditionalLinear(nn.Module):
    """(W x + b) * gain(sigma) + shift(sigma), a linear map with a gain and bias per noise level.

    All but W is in the network's `table`; without one it is a plain linear map. Parameters are
    drawn from `generator`, so that making a network leaves the global random state alone.
    """

    bias: nn.Parameter | None
    """(out,) of a plain linear map; a conditional one has it in its columns."""
    columns: LevelColumns | None
    """Its part of the table, if it is conditional."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        table: LevelTable | None,
        *,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        bound = 1 / math.sqrt(in_features)
        weight, bias = torch.empty(in_features, out_features), torch.empty(out_features)
        for values in (weight, bias):
            fill_uniform(values, bound, generator=generator)
        self.weight = nn.Parameter(weight)
        self.bias = nn.Parameter(bias) if table is None else None
        self.columns = None if table is None else table.add(bias)

    def gain_and_shift(self, conditioning: Conditioning) -> tuple[Tensor, Tensor]:
        """Return what each graph's W x is multiplied by and then shifted by, both (B,1,out)."""
        if self.columns is None:
            bias = cast("Tensor", self.bias).view(1, 1, -1)
            return torch.ones_like(bias), bias
        return conditioning.gains[self.columns.place], conditioning.shifts[self.columns.place]

    def forward(self, x: Tensor, conditioning: Conditioning) -> Tensor:
        """Map x (B,P,in) to (B,P,out) with the noise level of each graph."""
        if self.columns is None:
            return (x @ self.weight).add_(cast("Tensor", self.bias))
        if x.shape[1] > 4 * x.shape[2]:
            # Many rows: scaling the weights of each graph is cheaper than scaling every output.
            weight, shift = self.of_each_graph(conditioning)
            return torch.baddbmm(shift, x, weight)
        gain, shift = self.gain_and_shift(conditioning)
        return scaled(x @ self.weight, gain, shift)

    def of_each_graph(self, conditioning: Conditioning) -> tuple[Tensor, Tensor]:
        """Return weights (B,in,out) and shifts (B,1,out) that already contain the noise level."""
        gain, shift = self.gain_and_shift(conditioning)
        return self.weight * gain, shift


class ConditionalMLP(nn.Module):
    """Two or more conditional linear layers with an activation between them."""

    def __init__(
        self,
        widths: list[int],
        table: LevelTable | None,
        activation: Literal["silu", "elu"],
        *,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[activation]
        layers = [
            ConditionalLinear(width_in, width_out, table, generator=generator)
            for width_in, width_out in pairwise(widths)
        ]
        self.first, self.last = layers[0], layers[-1]
        self.between = nn.ModuleList(layers[1:-1])

    def forward(self, x: Tensor, conditioning: Conditioning) -> Tensor:
        x = self.activation(self.first(x, conditioning))
        for layer in self.between:
            x = self.activation(layer(x, conditioning))
        out: Tensor = self.last(x, conditioning)
        return out
