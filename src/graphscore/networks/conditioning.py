"""How a network learns the noise level: a gain and a bias per level in every MLP layer.

The paper (section 3.4.4) writes a conditional layer as f_i(x) = activate((W x + b) a_i + b_i) for
the level with index i. Here a network is told the standard deviation `sigma` of each graph; between
two levels of its ladder gains and biases are interpolated linearly in log sigma, outside of it the
nearest level is used. On the ladder this is the paper's look-up table.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Literal, cast

import torch
from torch import Tensor, nn


def _silu(x: Tensor) -> Tensor:
    # Without gradients nobody needs the input again, and in place is faster.
    return nn.functional.silu(x, inplace=not x.requires_grad)


def _elu(x: Tensor) -> Tensor:
    return nn.functional.elu(x, inplace=not x.requires_grad)


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"silu": _silu, "elu": _elu}
"""Activations by name; they may overwrite their argument, so give them fresh tensors."""


class LevelWeights:
    """Map sigma (B,) to weights (B,L) over the ladder's levels: one-hot on the ladder.

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


class ConditionalLinear(nn.Module):
    """(W x + b) * gain(sigma) + shift(sigma), a linear map with a gain and bias per noise level.

    With `levels=0` it is a plain linear map. Parameters are drawn from `generator`, so that making
    a network leaves the global random state alone.
    """

    gain: nn.Parameter | None
    shift: nn.Parameter | None

    def __init__(
        self, in_features: int, out_features: int, levels: int, *, generator: torch.Generator
    ) -> None:
        super().__init__()
        bound = 1 / math.sqrt(in_features)
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        self.bias = nn.Parameter(torch.empty(out_features))
        for parameter in (self.weight, self.bias):
            nn.init.uniform_(parameter, -bound, bound, generator=generator)
        self.gain = nn.Parameter(torch.ones(levels, out_features)) if levels else None
        self.shift = nn.Parameter(torch.zeros(levels, out_features)) if levels else None
        self.slot = 0
        """Place in the network's `Conditioning`; set by `conditional_layers`."""

    def gain_and_shift(self, conditioning: Conditioning) -> tuple[Tensor, Tensor]:
        """Return what each graph's W x is multiplied by and then shifted by, both (B,1,out)."""
        if self.gain is None:
            return torch.ones_like(self.bias).view(1, 1, -1), self.bias.view(1, 1, -1)
        return conditioning.gains[self.slot], conditioning.shifts[self.slot]

    def forward(self, x: Tensor, conditioning: Conditioning) -> Tensor:
        """Map x (B,P,in) to (B,P,out) with the noise level of each graph."""
        if self.gain is None:
            return (x @ self.weight).add_(self.bias)
        if x.shape[1] > 4 * x.shape[2]:
            # Many rows: scaling the weights of each graph is cheaper than scaling every output.
            weight, shift = self.of_each_graph(conditioning)
            return torch.baddbmm(shift, x, weight)
        gain, shift = self.gain_and_shift(conditioning)
        return torch.addcmul(shift, x @ self.weight, gain)

    def of_each_graph(self, conditioning: Conditioning) -> tuple[Tensor, Tensor]:
        """Return weights (B,in,out) and shifts (B,1,out) that already contain the noise level."""
        gain, shift = self.gain_and_shift(conditioning)
        return self.weight * gain, shift


def conditional_layers(network: nn.Module) -> list[ConditionalLinear]:
    """Return the layers of a network that depend on the noise level, and number their slots."""
    layers = [
        module
        for module in network.modules()
        if isinstance(module, ConditionalLinear) and module.gain is not None
    ]
    for slot, layer in enumerate(layers):
        layer.slot = slot
    return layers


class Conditioning:
    """The gain and the shift of every conditional layer for each graph of a batch.

    (W x + b) a + c = (W x) a + (b a + c), so what a layer needs of its graph's noise level is `a`
    and `b a + c`. Both are linear in the weights of the levels: one product serves all layers of
    the network, where one of each kind per layer would cost more in starting than in computing.

    Args:
        layers: what `conditional_layers` returned.
        level_weights: (B,L), see `LevelWeights`.

    Attributes:
        gains: (B,1,out) of each layer, by slot.
        shifts: likewise; the layer's bias is part of it.
    """

    gains: tuple[Tensor, ...] = ()
    shifts: tuple[Tensor, ...] = ()

    def __init__(self, layers: list[ConditionalLinear], level_weights: Tensor) -> None:
        if not layers:
            return
        tables = [cast("Tensor", layer.gain) for layer in layers]
        tables += [cast("Tensor", layer.shift) for layer in layers]
        bias = torch.cat([layer.bias for layer in layers])
        gain, shift = (level_weights @ torch.cat(tables, dim=1)).unsqueeze(1).chunk(2, dim=2)
        shift = torch.addcmul(shift, gain, bias)
        widths = [len(layer.bias) for layer in layers]
        # One split, and not a slice per layer: the gradient of each slice is as large as the whole.
        self.gains, self.shifts = (torch.split(part, widths, dim=2) for part in (gain, shift))


class ConditionalMLP(nn.Module):
    """Two or more conditional linear layers with an activation between them."""

    def __init__(
        self,
        widths: list[int],
        levels: int,
        activation: Literal["silu", "elu"],
        *,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[activation]
        layers = [
            ConditionalLinear(width_in, width_out, levels, generator=generator)
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
