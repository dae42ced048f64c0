"""Networks that answer with the posterior of clean entries given a noisy state.

What a network has to learn of the posterior is only what the other entries of a graph say about an
entry; what an entry's own noisy value says is known in closed form (the analytic skip):

    logits = analytic posterior + residual logits of the network.

So at small sigma the sum is right by itself, at large sigma the network decides, and nothing has to
be scaled by hand. The posterior mean D and the score (D - A~) / sigma^2 follow from the logits.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from graphscore.diffusion.likelihood import GraphLikelihood
from graphscore.diffusion.noise import score_of_mean
from graphscore.graphs.condition import NO_CONDITION, Condition
from graphscore.graphs.state import GraphState

Denoise = Callable[[GraphState, Tensor], GraphState]
"""denoise(noisy, sigma (B,)) -> the posterior mean of every entry, zero where there is none"""
Score = Callable[[GraphState, Tensor], GraphState]
"""score(noisy, sigma (B,)) -> the score of every entry, zero where there is none"""


class Posterior(nn.Module):
    """A network whose answer is the residual of the logits of a likelihood.

    Args:
        network: `network(noisy, sigma, condition)` answers with a value for every entry: a
            `Denoiser`, an `EDPGNN`, or any other network of the contract.
        likelihood: of the entries.
        analytic_skip: add the analytic posterior; if off, the network has to learn it too.

    Example:
        >>> from graphscore.diffusion import BernoulliEdges, EdgeDensity
        >>> likelihood = GraphLikelihood(BernoulliEdges(EdgeDensity.constant(0.3)))
        >>> posterior = Posterior(lambda noisy, sigma, condition: noisy * 0.0, likelihood)
        >>> noisy = GraphState(torch.zeros(1, 2, 2), torch.ones(1, 2, dtype=torch.bool))
        >>> mean = posterior.denoise(noisy, torch.tensor([100.0]))
        >>> round(mean.edges[0, 0, 1].item(), 4)
        0.3
    """

    def __init__(
        self,
        network: Callable[..., GraphState],
        likelihood: GraphLikelihood,
        *,
        analytic_skip: bool = True,
    ) -> None:
        super().__init__()
        self.network = network
        self.likelihood = likelihood
        self.analytic_skip = analytic_skip

    @property
    def blocks_to_compile(self) -> list[nn.Module]:
        """Parts of the network that are alike, so that compiling one compiles all."""
        blocks: list[nn.Module] = getattr(self.network, "blocks_to_compile", [])
        return blocks

    @property
    def checkpoint_activations(self) -> bool:
        """Whether the network trades time for memory in training; True if it cannot."""
        return bool(getattr(self.network, "checkpoint_activations", True))

    @checkpoint_activations.setter
    def checkpoint_activations(self, value: bool) -> None:
        setattr(self.network, "checkpoint_activations", value)  # noqa: B010 - unknown to nn.Module

    def logits(
        self, noisy: GraphState, sigma: Tensor, condition: Condition = NO_CONDITION
    ) -> GraphState:
        """Return the logits of every entry, zero where there is none."""
        masks = noisy.masks
        noisy = noisy.map(_where, masks)
        # Inner layers may run in half precision; logits of hundreds and their differences not.
        logits = self.network(noisy, sigma, condition).map(_in_precision_of, noisy)
        if self.analytic_skip:
            prior = self.likelihood.prior(noisy.node_mask, condition, noisy.edges.dtype)
            logits = logits + self.likelihood.posterior(noisy, sigma, prior)
        return logits.map(_where, masks)

    def denoise(
        self, noisy: GraphState, sigma: Tensor, condition: Condition = NO_CONDITION
    ) -> GraphState:
        """Return the posterior mean D of every entry, zero where there is none."""
        return self.likelihood.mean(self.logits(noisy, sigma, condition), sigma)

    def forward(
        self, noisy: GraphState, sigma: Tensor, condition: Condition = NO_CONDITION
    ) -> GraphState:
        """Return the score (D - A~) / sigma^2 of every entry."""
        mean = self.denoise(noisy, sigma, condition)
        return score_of_mean(mean, noisy.map(_where, noisy.masks), sigma)


def _where(entries: Tensor, mask: Tensor) -> Tensor:
    return torch.where(mask, entries, 0.0)


def _in_precision_of(entries: Tensor, others: Tensor) -> Tensor:
    return entries.to(others.dtype)
