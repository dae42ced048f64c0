"""Networks that answer in log-odds: the probability of every edge given the noisy graph.

Graphs are binary, so the posterior mean D = E[A | A~] of a graph under noise is a matrix of
probabilities, and its score follows by Tweedie's formula, s(A~, sigma) = (D - A~) / sigma^2. What a
network has to learn of D is only what the other pairs of a graph say about a pair; what the pair
says about itself is known in closed form.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from graphscore.graphs.batch import pair_mask
from graphscore.networks.communities import same_community
from graphscore.networks.edge_density import CommunityDensity, Density, EdgeDensity
from graphscore.settings import Settings


def independent_log_odds(adj: Tensor, sigma: Tensor, prior_log_odds: Tensor) -> Tensor:
    """Return the posterior log-odds (B,N,N) of every pair, given its own noisy value alone.

    Bayes' rule for A~ = A + sigma z and an edge with probability p before anything is seen:
    log(p / (1 - p)) + (2 A~ - 1) / (2 sigma^2). It is exact if edges are independent.

    Args:
        adj: (B,N,N) noisy adjacency.
        sigma: (B,).
        prior_log_odds: log(p / (1 - p)), of a shape that broadcasts to (B,N,N).

    >>> adj = torch.full((1, 1, 1), 0.5)
    >>> independent_log_odds(adj, torch.ones(1), torch.tensor(2.0)).item()
    2.0
    """
    return prior_log_odds + (adj - 0.5) / sigma.view(-1, 1, 1).square()


class LogOddsNetwork(nn.Module):
    """What networks that answer in log-odds share; a subclass has the `correction`.

    log-odds = `independent_log_odds` + correction. So at small sigma the sum is right by itself, at
    large sigma the network decides, and nothing is left to be scaled by hand.

    Args:
        density: share of pairs that are edges in the training graphs: `EdgeDensity.of(batch)`,
            `CommunityDensity.of(batch)` where communities are told, or a number for all.
        closed_form: add the closed form; if off, the correction has to say it all.

    Raises:
        SettingsError: `density` is not strictly between 0 and 1.
    """

    prior: Tensor
    """(2,) level and slope of the `EdgeDensity`, or (2,2) of a `CommunityDensity`, apart first;
    stored with the weights."""

    def __init__(self, density: Density, *, closed_form: bool = True) -> None:
        super().__init__()
        if isinstance(density, CommunityDensity):
            prior = [[line.level, line.slope] for line in (density.apart, density.together)]
            self.register_buffer("prior", torch.tensor(prior))
        else:
            if not isinstance(density, EdgeDensity):
                density = EdgeDensity.constant(density)
            self.register_buffer("prior", torch.tensor([density.level, density.slope]))
        self.closed_form = closed_form

    @property
    def blocks_to_compile(self) -> list[nn.Module]:
        """Parts that are alike, so that compiling one compiles all; none if not said otherwise."""
        return []

    def prior_log_odds(self, node_mask: Tensor, node_feat: Tensor | None = None) -> Tensor:
        """Return log(p / (1 - p)) of the density p of each graph's size, (B,1,1).

        Where communities are told, it is that of every pair (B,N,N).
        """
        log_sizes = node_mask.sum(1).clamp_min(1).to(self.prior.dtype).log().view(-1, 1, 1)
        if self.prior.ndim == 1:
            return self.prior[0] + self.prior[1] * log_sizes
        apart, together = (line[0] + line[1] * log_sizes for line in self.prior)
        return torch.where(same_community(node_feat), together, apart)

    def density(self, node_mask: Tensor, node_feat: Tensor | None = None) -> Tensor:
        """Return the share of pairs that are edges in training graphs of each graph's size.

        Of the shape of `prior_log_odds`.
        """
        return torch.sigmoid(self.prior_log_odds(node_mask, node_feat))

    def correction(
        self, adj: Tensor, node_mask: Tensor, sigma: Tensor, node_feat: Tensor | None
    ) -> Tensor:
        """Return what is added to the closed form (B,N,N); symmetric, arbitrary off the pairs.

        `adj` is zero on the diagonal and on padding.
        """
        raise NotImplementedError

    def log_odds(
        self, adj: Tensor, node_mask: Tensor, sigma: Tensor, node_feat: Tensor | None = None
    ) -> Tensor:
        """Return log(D / (1 - D)) of every pair (B,N,N), and zero where there is none.

        Arguments are those of `forward`.
        """
        return self._log_odds(*self._on_pairs(adj, node_mask), node_mask, sigma, node_feat)

    def denoised(
        self, adj: Tensor, node_mask: Tensor, sigma: Tensor, node_feat: Tensor | None = None
    ) -> Tensor:
        """Return D = E[A | A~], the probability of every edge (B,N,N); zero where is no pair.

        Arguments are those of `forward`.
        """
        adj, pairs = self._on_pairs(adj, node_mask)
        return self._denoised(adj, pairs, node_mask, sigma, node_feat)

    def forward(
        self, adj: Tensor, node_mask: Tensor, sigma: Tensor, node_feat: Tensor | None = None
    ) -> Tensor:
        """Return the score (B,N,N), (D - A~) / sigma^2.

        Args:
            adj: (B,N,N) noisy adjacency.
            node_mask: (B,N) bool.
            sigma: (B,) standard deviation of the noise of each graph.
            node_feat: (B,N,F) features from the data, if the network takes them.
        """
        adj, pairs = self._on_pairs(adj, node_mask)
        denoised = self._denoised(adj, pairs, node_mask, sigma, node_feat)
        return (denoised - adj) / sigma.view(-1, 1, 1).square()

    def _on_pairs(self, adj: Tensor, node_mask: Tensor) -> tuple[Tensor, Tensor]:
        pairs = pair_mask(node_mask)
        return torch.where(pairs, adj, 0.0), pairs

    def _log_odds(
        self,
        adj: Tensor,
        pairs: Tensor,
        node_mask: Tensor,
        sigma: Tensor,
        node_feat: Tensor | None,
    ) -> Tensor:
        # Inner layers may run in half precision; log-odds of hundreds and their differences not.
        log_odds = self.correction(adj, node_mask, sigma, node_feat).to(adj.dtype)
        if self.closed_form:
            prior = self.prior_log_odds(node_mask, node_feat)
            log_odds = log_odds + independent_log_odds(adj, sigma, prior)
        return torch.where(pairs, log_odds, 0.0)

    def _denoised(
        self,
        adj: Tensor,
        pairs: Tensor,
        node_mask: Tensor,
        sigma: Tensor,
        node_feat: Tensor | None,
    ) -> Tensor:
        denoised = self._log_odds(adj, pairs, node_mask, sigma, node_feat).sigmoid() * pairs
        # On CPUs the last entries of a tensor may be rounded in another way than the others.
        return (denoised + denoised.mT) / 2


class AsDenoiser(LogOddsNetwork):
    """Any network of the contract as one that answers in log-odds: its output is the correction.

    Args:
        network: `network(adj, node_mask, sigma, node_feat) -> (B,N,N)`, for instance an EDP-GNN.
        density: share of pairs that are edges in the training graphs.
        closed_form: add the closed form.

    Example:
        >>> from graphscore.networks import EDPGNN, EDPGNNSettings
        >>> settings = EDPGNNSettings(initial_gains="one")
        >>> edp_gnn = EDPGNN(settings, (4.0, 0.6, 0.15), generator=torch.Generator())
        >>> network = AsDenoiser(edp_gnn, 0.3)
        >>> mask = torch.ones(2, 5, dtype=torch.bool)
        >>> network.denoised(torch.zeros(2, 5, 5), mask, torch.ones(2)).shape
        torch.Size([2, 5, 5])
    """

    def __init__(self, network: nn.Module, density: Density, *, closed_form: bool = True) -> None:
        super().__init__(density, closed_form=closed_form)
        self.network = network

    @property
    def recompute_layers(self) -> bool:
        """Whether the network inside keeps less for the gradient and computes it again."""
        return bool(getattr(self.network, "recompute_layers", True))

    @recompute_layers.setter
    def recompute_layers(self, value: bool) -> None:
        setattr(self.network, "recompute_layers", value)  # noqa: B010 - unknown to nn.Module

    @property
    def settings(self) -> Settings:
        """Those of the network inside."""
        settings: Settings = self.network.settings  # type: ignore[assignment]
        return settings

    def correction(
        self, adj: Tensor, node_mask: Tensor, sigma: Tensor, node_feat: Tensor | None
    ) -> Tensor:
        correction: Tensor = self.network(adj, node_mask, sigma, node_feat)
        return correction
