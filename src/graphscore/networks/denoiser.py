"""The denoiser: features of pairs updated by triangle products over third nodes, at every sigma.

A block updates a pair from itself, from all paths over a third node, from its end points and from
the whole graph. Every operation is pairwise, nodewise or a sum over nodes, so the network is
equivariant to permutations of the nodes.

Inside, the features of unordered pairs are rows `x (B,P,C)`; triangle products are one matrix per
channel, `(B,C,N,N)`. `PairIndex` converts between the two.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from graphscore.diffusion.likelihood import GraphLikelihood
from graphscore.graphs.condition import NO_CONDITION, Condition, check_feature_width
from graphscore.graphs.state import GraphState
from graphscore.networks.checkpointing import checkpointed
from graphscore.networks.conditioning import ACTIVATIONS
from graphscore.networks.denoiser_features import input_features, input_widths
from graphscore.networks.initial import fill_normal
from graphscore.networks.pair_index import PairIndex
from graphscore.networks.settings import DenoiserSettings

silu = ACTIVATIONS["silu"]

FREQUENCIES = (0.5, 1.0, 2.0, 4.0)
"""Of the waves in log sigma; the fastest has two periods between sigma 0.15 and 4."""


def linear(
    width_in: int,
    width_out: int,
    *,
    generator: torch.Generator,
    gain: float = 1.0,
    bias: bool = True,
) -> nn.Linear:
    """Return a linear map that keeps the size of its input times `gain`, drawn from `generator`."""
    layer: nn.Linear = nn.utils.skip_init(  # type: ignore[no-untyped-call]
        nn.Linear, width_in, width_out, bias=bias, device=torch.get_default_device()
    )
    fill_normal(layer.weight, gain / math.sqrt(width_in), generator=generator)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


class Film(NamedTuple):
    """Gain and shift of every output of a linear map in each graph, both (B,1,width)."""

    gain: Tensor
    shift: Tensor


FEW = 4
"""Rows for each input up to which weights of every graph are more to move on CUDA than outputs."""


class SigmaConditioning(nn.Module):
    """Gains and shifts of all layers as smooth functions of log sigma, in one product.

    The counterpart of the paper's gain and bias per noise level (section 3.4.4). Gains start at
    one and shifts at zero.
    """

    def __init__(self, widths: Sequence[int], hidden: int, *, generator: torch.Generator) -> None:
        super().__init__()
        self.widths = [width for width in widths for _ in range(2)]
        self.first = linear(1 + 2 * len(FREQUENCIES), hidden, generator=generator)
        self.second = linear(hidden, hidden, generator=generator)
        self.out = linear(hidden, sum(self.widths), generator=generator, gain=0)

    def forward(self, sigma: Tensor) -> list[Film]:
        """Return one `Film` per width from sigma (B,)."""
        log_sigma = sigma.log().unsqueeze(-1)
        waves = [log_sigma * frequency for frequency in FREQUENCIES]
        x = torch.cat([log_sigma, *(w.sin() for w in waves), *(w.cos() for w in waves)], dim=-1)
        x = functional.silu(self.first(x))
        x = self.out(functional.silu(self.second(x))).unsqueeze(1)
        # One split, and not a slice per layer: the gradient of each slice is as large as the whole.
        parts = torch.split(x, self.widths, dim=2)
        return [Film(1 + gain, shift) for gain, shift in zip(parts[::2], parts[1::2])]


class FilmLinear(nn.Module):
    """W x * gain(sigma), to which a shift(sigma) is to be added.

    Gains are folded into the weights of each graph where there are fewer of these than outputs.
    """

    def __init__(self, width_in: int, width_out: int, *, generator: torch.Generator) -> None:
        super().__init__()
        weight = torch.empty(width_in, width_out)
        fill_normal(weight, 1 / math.sqrt(width_in), generator=generator)
        self.weight = nn.Parameter(weight)

    def forward(self, film: Film) -> Tensor:
        """Return the weights (B,in,out) of each graph."""
        return self.weight * film.gain

    def scaled(self, parts: Sequence[Tensor], film: Film) -> Tensor:
        """Return the sum of the products of inputs (B,rows,in) side by side, times the gain."""
        few = parts[0].is_cuda and parts[0].shape[1] < FEW * self.weight.shape[0]
        weights = torch.split(self.weight if few else self(film), [p.shape[2] for p in parts], -2)
        total = functools.reduce(torch.add, map(_product, parts, weights))
        return total * film.gain if few else total


def _product(rows: Tensor, weight: Tensor) -> Tensor:
    """Return the product of rows (B,rows,in) with weights, shared or (B,in,out)."""
    if weight.ndim == 2 and not rows.is_contiguous():
        # One product over all graphs would copy the rows, which lie the other way round, first.
        weight = weight.expand(len(rows), -1, -1)
    return rows @ weight


def normalised(x: Tensor) -> Tensor:
    """Give every row of features mean 0 and variance 1."""
    # Under autocast the answer would be in single precision, twice as much to move.
    return functional.layer_norm(x, x.shape[-1:]).to(x.dtype)


def bounded(x: Tensor, dim: int) -> Tensor:
    """Return x / sqrt(1 + mean of x^2 over `dim`): small values as they are, large ones of size 1.

    Sums over nodes are divided by the square root of their number, which keeps what is random at
    size 1; what all nodes agree on still grows with the graph, up to 20 at 400 nodes.
    """
    return x * (1 + x.square().mean(dim, keepdim=True)).rsqrt()


def triangle_product(first: Tensor, second: Tensor, pairs: PairIndex) -> Tensor:
    """Return the triangle product of pairs over third nodes k: sum_k E1_ik E2_kj, symmetrised.

    The rows of E1 are taken relative to their means, so that the sum is a covariance over k: it
    does not change with what all pairs have in common, which in large graphs would outgrow the few
    k that matter.

    Args:
        first, second: (B,C,N,N), symmetric, zero off the pairs.

    Returns:
        (B,C,P).
    """
    means = first.sum(3, keepdim=True) / pairs.others.unsqueeze(1)
    relative = (first - means) * pairs.sizes.rsqrt().unsqueeze(1)
    relative = (relative * pairs.exists).to(second.dtype)
    return bounded(pairs.pairs_of(relative @ second), dim=1)


class NodeUpdate(nn.Module):
    """New features of a node from those of its pairs: their mean, their largest, the graph's mean.

    The mean is taken relative to the graph's and in units of its random spread, 1 / sqrt(n); the
    largest is at least 0, which is what stands where there is no pair.
    """

    def __init__(self, width: int, *, gain: float, generator: torch.Generator) -> None:
        super().__init__()
        self.first = FilmLinear(4 * width, width, generator=generator)
        self.out = linear(width, width, generator=generator, gain=gain)

    def forward(self, z: Tensor, of_pairs: Tensor, film: Film, pairs: PairIndex) -> Tensor:
        """Return (B,N,width) from z (B,N,width) and of_pairs (B,width,N,N), zero off the pairs."""
        mean = of_pairs.sum(3).mT / pairs.others
        of_graph = mean.sum(1, keepdim=True) / pairs.sizes
        spread = bounded((mean - of_graph) * pairs.others.sqrt(), dim=2)
        largest = of_pairs.amax(3).mT
        parts = [normalised(z), spread, largest, of_graph.expand_as(mean)]
        known = torch.cat([part.to(z.dtype) for part in parts], dim=2)
        update: Tensor = self.out(silu(self.first.scaled([known], film) + film.shift))
        return z + update


class Block(nn.Module):
    """One round: nodes aggregate their pairs, then pairs see third nodes, ends and themselves."""

    def __init__(self, settings: DenoiserSettings, *, generator: torch.Generator) -> None:
        super().__init__()
        width, node_width, channels = (
            settings.pair_width,
            settings.node_width,
            settings.product_width,
        )
        projected, hidden = self.widths(settings)[::2]
        self.parts = [channels, node_width, channels]
        # What all blocks together add has the size of what they start from.
        gain = 1 / math.sqrt(settings.blocks)
        self.projection = FilmLinear(width, projected, generator=generator)
        self.nodes = NodeUpdate(node_width, gain=gain, generator=generator)
        self.inner = FilmLinear(width + node_width + channels, hidden, generator=generator)
        self.out = linear(hidden, width, generator=generator, gain=gain, bias=False)

    @staticmethod
    def widths(settings: DenoiserSettings) -> list[int]:
        """Outputs of the layers that depend on sigma."""
        projected = 2 * settings.product_width + settings.node_width
        return [projected, settings.node_width, 2 * settings.pair_width]

    def forward(
        self, x: Tensor, z: Tensor, films: Sequence[Film], pairs: PairIndex
    ) -> tuple[Tensor, Tensor]:
        """Return new features of pairs x (B,P,C) and of nodes z (B,N,node_width)."""
        of_projection, of_nodes, of_hidden = films
        y = normalised(x)
        # Rows in, matrices out, which would otherwise be one more pass over memory. The sum is part
        # of the product, so that a compiler cannot join it to what follows and leave it unrounded:
        # the gradient of a maximum goes to the entry that is equal to it.
        projected = torch.baddbmm(of_projection.shift.mT, self.projection(of_projection).mT, y.mT)
        first, seen, second = torch.split(pairs.matrices_of(projected), self.parts, dim=1)
        z = self.nodes(z, seen, of_nodes, pairs)
        rows = torch.cat([y, pairs.ends(normalised(z))], dim=2)
        paths = triangle_product(first, second, pairs).mT
        # Two products, because what paths say lies in memory the other way round.
        hidden = silu(self.inner.scaled([rows, paths], of_hidden) + of_hidden.shift)
        out = torch.addmm(x.flatten(0, 1), hidden.flatten(0, 1), self.out.weight.mT)
        return out.view_as(x), z


class Denoiser(nn.Module):
    """Residual logits of every entry of a noisy graph, see `diffusion.Posterior`.

    At the start of training the answer is zero: the analytic posterior of independent edges.
    Equivariant to permutations of the nodes, defined for any number of nodes and any sigma,
    symmetric with zero diagonal and zero on padding, and without state between calls.

    Args:
        settings: shape of the network.
        likelihood: of the entries; what the network sees of a noisy entry at first.
        generator: source of the initial parameters.

    Example:
        >>> from graphscore.diffusion import BernoulliEdges, EdgeDensity, Posterior
        >>> likelihood = GraphLikelihood(BernoulliEdges(EdgeDensity.constant(0.3)))
        >>> generator = torch.Generator().manual_seed(0)
        >>> settings = DenoiserSettings(blocks=2, pair_width=8)
        >>> network = Denoiser(settings, likelihood, generator=generator)
        >>> noisy = GraphState(torch.zeros(2, 5, 5), torch.ones(2, 5, dtype=torch.bool))
        >>> Posterior(network, likelihood).denoise(noisy, torch.tensor([1.0, 0.1])).edges.shape
        torch.Size([2, 5, 5])
    """

    checkpoint_activations: bool = False
    """Activation checkpointing: keep only what enters each block for the gradient and compute the
    rest again. A plain attribute to set at any time, not part of the settings."""

    def __init__(
        self,
        settings: DenoiserSettings,
        likelihood: GraphLikelihood,
        *,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.settings = settings
        self.likelihood = likelihood
        width, node_width = settings.pair_width, settings.node_width
        films = [w for _ in range(settings.blocks) for w in Block.widths(settings)]
        answers = [width] if likelihood.nodes is None else [width, node_width]
        self.conditioning = SigmaConditioning(
            [*films, *answers], settings.conditioning_width, generator=generator
        )
        of_pairs, of_nodes = input_widths(likelihood, settings)
        self.pairs_in = linear(of_pairs, width, generator=generator)
        self.nodes_in = linear(of_nodes, node_width, generator=generator)
        self.blocks = nn.ModuleList(
            Block(settings, generator=generator) for _ in range(settings.blocks)
        )
        self.out = linear(width, likelihood.edges.width, generator=generator, gain=0)
        self.nodes_out: nn.Linear | None = None
        if likelihood.nodes is not None:
            self.nodes_out = linear(node_width, likelihood.nodes.width, generator=generator, gain=0)

    @property
    def blocks_to_compile(self) -> list[nn.Module]:
        """All blocks; they are alike, so that compiling one compiles all."""
        return [*self.blocks]

    def forward(
        self, noisy: GraphState, sigma: Tensor, condition: Condition = NO_CONDITION
    ) -> GraphState:
        """Return the residual logits of every edge, and of every node where nodes carry something.

        Raises:
            GraphDataError: node features are not as wide as the settings say, or communities are
                missing.
        """
        check_feature_width(condition, self.settings.node_feat_dim)
        pairs = PairIndex.of(noisy.node_mask, noisy.edges.dtype)
        of_pairs, of_nodes = input_features(
            noisy, pairs, sigma, condition, self.likelihood, self.settings
        )
        x, z = self.pairs_in(of_pairs), self.nodes_in(of_nodes)
        films = self.conditioning(sigma)
        for number, block in enumerate(self.blocks):
            x, z = self._run(block, x, z, films[3 * number : 3 * number + 3], pairs)
        films = films[3 * len(self.blocks) :]
        gain, shift = films[0]
        matrices = pairs.matrices_of(self.out(normalised(x) * gain + shift).mT)
        edges = matrices.squeeze(1) if noisy.edges.ndim == 3 else matrices.movedim(1, 3)
        nodes = None
        if self.nodes_out is not None:
            gain, shift = films[1]
            nodes = self.nodes_out(normalised(z) * gain + shift) * noisy.node_mask.unsqueeze(2)
        return GraphState(edges, noisy.node_mask, nodes)

    def _run(self, part: Callable[..., Any], *arguments: Any) -> Any:
        if self.checkpoint_activations and torch.is_grad_enabled():
            return checkpointed(part, *arguments)
        return part(*arguments)
