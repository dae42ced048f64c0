"""The log-odds denoiser: pairs of nodes that look at all third nodes, at every noise level.

A graph's state are features of its pairs and of its nodes. A block updates a pair from itself, from
all paths over a third node, from its end points and from the whole graph. Every operation is
pairwise, nodewise or a sum over nodes, so permutations of the nodes pass through.

Inside, the features of unordered pairs are rows `x (B,P,C)`; products over the third node are one
matrix per channel, `(B,C,N,N)`. See `unordered_pairs` for the way between the two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from graphscore.errors import GraphDataError
from graphscore.networks.communities import same_community
from graphscore.networks.conditioning import ACTIVATIONS
from graphscore.networks.denoiser_features import (
    NODE_FEATURES,
    PAIR_FEATURES,
    first_features,
)
from graphscore.networks.edge_density import CommunityDensity, Density, EdgeDensity
from graphscore.networks.log_odds import LogOddsNetwork
from graphscore.networks.recomputation import recomputed
from graphscore.networks.unordered_pairs import Present
from graphscore.settings import Settings

silu = ACTIVATIONS["silu"]

FREQUENCIES = (0.5, 1.0, 2.0, 4.0)
"""Of the waves in log sigma; the fastest has two periods between sigma 0.15 and 4."""


class DenoiserSettings(Settings):
    """Shape of a log-odds denoiser.

    >>> DenoiserSettings().blocks
    8
    """

    kind: Literal["denoiser"] = "denoiser"
    """Tells the settings of one network from those of another."""
    blocks: int = Field(default=8, ge=1)
    """Number of blocks."""
    pair_width: int = Field(default=64, ge=2)
    """Features C of a pair; hidden layers of pairs have twice as many."""
    node_width: int = Field(default=32, ge=1)
    """Features of a node."""
    product_width: int = Field(default=32, ge=0)
    """Channels whose matrices are multiplied in every block; 0 turns products off."""
    walk_steps: int = Field(default=4, ge=0)
    """Lengths of the random walks that pairs are told about at the start; 0 turns them off."""
    conditioning_width: int = Field(default=32, ge=1)
    """Width of the MLP that turns sigma into gains and shifts."""
    node_feat_dim: int = Field(default=0, ge=0)
    """Width of node features from the data."""
    communities: bool = False
    """Pairs are told whether they are in the same community: the last node feature is the number
    of a node's."""
    closed_form: bool = True
    """Start from the posterior of independent edges; if off, the network has to learn that too."""

    @property
    def given_width(self) -> int:
        """Node features that the network is given, the community included."""
        return self.node_feat_dim + self.communities


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
        nn.Linear, width_in, width_out, bias=bias
    )
    nn.init.normal_(layer.weight, std=gain / math.sqrt(width_in), generator=generator)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


class Film(NamedTuple):
    """Gain and shift of every output of a linear map in each graph, both (B,1,width)."""

    gain: Tensor
    shift: Tensor


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

    Gains are folded into the weights of each graph, of which there are fewer than outputs.
    """

    def __init__(self, width_in: int, width_out: int, *, generator: torch.Generator) -> None:
        super().__init__()
        weight = torch.empty(width_in, width_out)
        nn.init.normal_(weight, std=1 / math.sqrt(width_in), generator=generator)
        self.weight = nn.Parameter(weight)

    def forward(self, film: Film) -> Tensor:
        """Return the weights (B,in,out) of each graph."""
        return self.weight * film.gain


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


def product(first: Tensor, second: Tensor, present: Present) -> Tensor:
    """Return what all third nodes k say about pairs: sum_k E1_ik E2_kj, symmetrised, bounded.

    The rows of E1 are taken relative to their means, so that the sum is a covariance over k: it
    does not change with what all pairs have in common, which in large graphs would outgrow the few
    k that matter.

    Args:
        first, second: (B,C,N,N), symmetric, zero off the pairs.

    Returns:
        (B,C,P).
    """
    means = first.sum(3, keepdim=True) / present.others.unsqueeze(1)
    relative = (first - means) * present.sizes.rsqrt().unsqueeze(1)
    relative = (relative * present.exists).to(second.dtype)
    return bounded(present.pairs_of(relative @ second), dim=1)


class NodeUpdate(nn.Module):
    """New features of a node from those of its pairs: their mean, their largest, the graph's mean.

    The mean is taken relative to the graph's and in units of its random spread, 1 / sqrt(n); the
    largest is at least 0, which is what stands where there is no pair.
    """

    def __init__(self, width: int, *, gain: float, generator: torch.Generator) -> None:
        super().__init__()
        self.first = FilmLinear(4 * width, width, generator=generator)
        self.out = linear(width, width, generator=generator, gain=gain)

    def forward(self, z: Tensor, of_pairs: Tensor, film: Film, present: Present) -> Tensor:
        """Return (B,N,width) from z (B,N,width) and of_pairs (B,width,N,N), zero off the pairs."""
        mean = of_pairs.sum(3).mT / present.others
        of_graph = mean.sum(1, keepdim=True) / present.sizes
        spread = bounded((mean - of_graph) * present.others.sqrt(), dim=2)
        largest = of_pairs.amax(3).mT
        parts = [normalised(z), spread, largest, of_graph.expand_as(mean)]
        known = torch.cat([part.to(z.dtype) for part in parts], dim=2)
        update: Tensor = self.out(silu(known @ self.first(film) + film.shift))
        return z + update


class Block(nn.Module):
    """One round: nodes look at their pairs, then pairs at third nodes, ends and themselves."""

    def __init__(self, settings: DenoiserSettings, *, generator: torch.Generator) -> None:
        super().__init__()
        width, node_width, channels = (
            settings.pair_width,
            settings.node_width,
            settings.product_width,
        )
        looked_at, hidden = self.widths(settings)[::2]
        self.parts = [channels, node_width, channels]
        # What all blocks together add has the size of what they start from.
        gain = 1 / math.sqrt(settings.blocks)
        self.look = FilmLinear(width, looked_at, generator=generator)
        self.nodes = NodeUpdate(node_width, gain=gain, generator=generator)
        self.inner = FilmLinear(width + node_width + channels, hidden, generator=generator)
        self.out = linear(hidden, width, generator=generator, gain=gain, bias=False)

    @staticmethod
    def widths(settings: DenoiserSettings) -> list[int]:
        """Outputs of the layers that depend on sigma."""
        looked_at = 2 * settings.product_width + settings.node_width
        return [looked_at, settings.node_width, 2 * settings.pair_width]

    def forward(
        self, x: Tensor, z: Tensor, films: Sequence[Film], present: Present
    ) -> tuple[Tensor, Tensor]:
        """Return new features of pairs x (B,P,C) and of nodes z (B,N,node_width)."""
        of_look, of_nodes, of_hidden = films
        y = normalised(x)
        # Rows in, matrices out, which would otherwise be one more pass over memory. The sum is part
        # of the product, so that a compiler cannot join it to what follows and leave it unrounded:
        # the gradient of a maximum asks which entry is equal to it.
        look = torch.baddbmm(of_look.shift.mT, self.look(of_look).mT, y.mT)
        first, seen, second = torch.split(present.matrices_of(look), self.parts, dim=1)
        z = self.nodes(z, seen, of_nodes, present)
        rows = torch.cat([y, present.ends(normalised(z))], dim=2)
        paths = product(first, second, present).mT
        # Two products, because what paths say lies in memory the other way round.
        of_rows, of_paths = torch.split(self.inner(of_hidden), [rows.shape[2], paths.shape[2]], 1)
        hidden = silu(rows @ of_rows + paths @ of_paths + of_hidden.shift)
        out = torch.addmm(x.flatten(0, 1), hidden.flatten(0, 1), self.out.weight.mT)
        return out.view_as(x), z


class LogOddsDenoiser(LogOddsNetwork):
    """The log-odds of every edge of a noisy graph, and by them its posterior mean and its score.

    `network(adj, node_mask, sigma)` is the score, `network.denoised` the posterior mean and
    `network.log_odds` what is trained. At the start the answer is that of independent edges.
    Equivariant to permutations of the nodes, defined for any number of nodes and any sigma,
    symmetric with zero diagonal and zero on padding, and without state between calls.

    Args:
        settings: shape of the network.
        density: of edges in the training graphs, see `LogOddsNetwork`.
        generator: source of the initial parameters.

    Example:
        >>> generator = torch.Generator().manual_seed(0)
        >>> settings = DenoiserSettings(blocks=2, pair_width=8)
        >>> network = LogOddsDenoiser(settings, 0.3, generator=generator)
        >>> mask = torch.ones(2, 5, dtype=torch.bool)
        >>> network.denoised(torch.zeros(2, 5, 5), mask, torch.tensor([1.0, 0.1])).shape
        torch.Size([2, 5, 5])
    """

    recompute_layers: bool = False
    """Keep only what enters each block for the gradient and compute the rest again: less memory,
    more time, the same gradient. A plain attribute to set at any time, not part of the settings."""

    def __init__(
        self,
        settings: DenoiserSettings,
        density: Density,
        *,
        generator: torch.Generator,
    ) -> None:
        if settings.communities and not isinstance(density, CommunityDensity):
            same = density if isinstance(density, EdgeDensity) else EdgeDensity.constant(density)
            density = CommunityDensity(same, same)
        super().__init__(density, closed_form=settings.closed_form)
        self.settings = settings
        width, node_width = settings.pair_width, settings.node_width
        films = [w for _ in range(settings.blocks) for w in Block.widths(settings)]
        self.conditioning = SigmaConditioning(
            [*films, width], settings.conditioning_width, generator=generator
        )
        walks = settings.walk_steps
        # One more of each where communities are told.
        of_pairs = PAIR_FEATURES + walks + settings.communities
        self.pairs_in = linear(of_pairs, width, generator=generator)
        given = NODE_FEATURES + max(0, walks - 1) + settings.given_width
        self.nodes_in = linear(given, node_width, generator=generator)
        self.blocks = nn.ModuleList(
            Block(settings, generator=generator) for _ in range(settings.blocks)
        )
        self.out = linear(width, 1, generator=generator, gain=0)

    @property
    def blocks_to_compile(self) -> list[nn.Module]:
        """All blocks."""
        return [*self.blocks]

    def correction(
        self, adj: Tensor, node_mask: Tensor, sigma: Tensor, node_feat: Tensor | None
    ) -> Tensor:
        """Return what the other pairs say (B,N,N).

        Raises:
            GraphDataError: `node_feat` is not as wide as the settings say.
        """
        given = 0 if node_feat is None else node_feat.shape[-1]
        if given != self.settings.given_width:
            remedy = (
                "The last is the number of the node's community; give it, or wrap the network in "
                "a ToldNetwork."
                if self.settings.communities
                else "Set node_feat_dim to the width of the data's."
            )
            raise GraphDataError(
                f"got {given} node features, but the network was made for "
                f"{self.settings.given_width}. {remedy}"
            )
        present = Present.of(node_mask, adj.dtype)
        prior = self.prior_log_odds(node_mask, node_feat)
        together = None
        if self.settings.communities:
            together = same_community(node_feat)
            assert node_feat is not None
            node_feat = node_feat[..., :-1]
        of_pairs, of_nodes = first_features(
            adj, present, sigma, prior, self.settings.walk_steps, node_feat, together
        )
        x, z = self.pairs_in(of_pairs), self.nodes_in(of_nodes)
        films = self.conditioning(sigma)
        for number, block in enumerate(self.blocks):
            x, z = self._run(block, x, z, films[3 * number : 3 * number + 3], present)
        gain, shift = films[-1]
        correction = self.out(normalised(x) * gain + shift)
        return present.matrices_of(correction.mT).squeeze(1)

    def _run(self, part: Callable[..., Any], *arguments: Any) -> Any:
        if self.recompute_layers and torch.is_grad_enabled():
            return recomputed(part, *arguments)
        return part(*arguments)
