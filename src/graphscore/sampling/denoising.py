"""What samplers that work with the posterior mean share.

Annealed Langevin dynamics asks for the score s; Heun's method and re-noising ask for the posterior
mean D = E[A | A~]. Tweedie's formula makes each of the other, s = (D - A~) / sigma^2, so that every
network serves every sampler.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from graphscore.errors import SamplingError, SettingsError
from graphscore.graphs.batch import pair_mask
from graphscore.noise import SigmaRange, symmetric_noise
from graphscore.sampling.langevin import Score

Denoise = Callable[[Tensor, Tensor, Tensor], Tensor]
"""denoise(adj (B,N,N), node_mask (B,N), sigma (B,)) -> E[A | A~] (B,N,N), zero off the pairs"""


def denoise_by_score(score: Score) -> Denoise:
    """Return the posterior mean that belongs to a score: D = A~ + sigma^2 s (Tweedie's formula).

    Example:
        Without a graph under the noise the score is -A~ / sigma^2, and nothing is left.

        >>> empty = lambda adj, mask, sigma: -adj / sigma.view(-1, 1, 1) ** 2
        >>> adj, mask = torch.tensor([[[0.0, 3.0], [3.0, 0.0]]]), torch.ones(1, 2, dtype=torch.bool)
        >>> denoise_by_score(empty)(adj, mask, torch.ones(1)).abs().max().item()
        0.0
    """

    def denoise(adj: Tensor, node_mask: Tensor, sigma: Tensor) -> Tensor:
        return adj + sigma.view(-1, 1, 1).square() * score(adj, node_mask, sigma)

    return denoise


def started_at(trained: SigmaRange, sigma_max: float | None) -> SigmaRange:
    """Return the noise levels that sampling goes through.

    Args:
        trained: those that the network was trained on.
        sigma_max: where to start, the largest of them if None.

    Raises:
        SettingsError: it is not among them.

    >>> started_at(SigmaRange(), 0.7).sigma_max, started_at(SigmaRange(), None).sigma_max
    (0.7, 4.0)
    """
    if sigma_max is None:
        return trained
    if not trained.sigma_min < sigma_max <= trained.sigma_max:
        raise SettingsError(
            f"sampling cannot start at sigma_max {sigma_max:g}: the network was trained on noise "
            f"from {trained.sigma_min:g} to {trained.sigma_max:g}. Give a number within."
        )
    return SigmaRange(sigma_min=trained.sigma_min, sigma_max=sigma_max)


def noisy_start(
    node_mask: Tensor,
    sigma: float,
    prior_mean: Tensor | float,
    *,
    generator: torch.Generator,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Draw where sampling starts: the mean graph under noise of the largest sigma.

    The right start is A + sigma z with A a graph of the data, which is what sampling is to find.
    With A's mean in its place every pair is right on average, and its variance too small by
    p (1 - p) against sigma^2, which sigma 4 makes 1 in 64 at most. Leaving out the mean as well
    would matter: a graph's number of edges, summed over its pairs, is off by p sqrt(pairs) / sigma
    standard deviations, 1 for graphs of 64 nodes with a tenth of the edges.

    Args:
        node_mask: (B,N) bool.
        prior_mean: share of pairs that are edges: a number, one for each graph (B,), or of a shape
            that broadcasts to (B,N,N).

    Returns:
        (B,N,N), symmetric, zero on the diagonal and on padding.
    """
    mean = torch.as_tensor(prior_mean, dtype=dtype, device=node_mask.device)
    if mean.ndim == 1:
        mean = mean.view(-1, 1, 1)
    noise = symmetric_noise(node_mask, generator=generator, dtype=dtype)
    return mean * pair_mask(node_mask) + sigma * noise


class FiniteCheck:
    """Notices states that are not finite without making the device wait at every step."""

    def __init__(self, steps: int, device: torch.device) -> None:
        self._finite = torch.ones(steps, dtype=torch.bool, device=device)

    def note(self, step: int, state: Tensor) -> None:
        """Remember whether the state of step number `step` (from 0) is finite."""
        self._finite[step] = state.isfinite().all()

    def conclude(self, sigmas: tuple[float, ...]) -> None:
        """Wait for the device and refuse states that were not finite.

        Raises:
            SamplingError: names the first sigma at which one was not.
        """
        finite = self._finite.tolist()
        if not all(finite):
            raise SamplingError(
                f"sampling left the finite numbers at sigma {sigmas[finite.index(False)]:g}: the "
                "network's answer there is not finite. Train it longer or with a lower learning "
                "rate, or sample within the noise levels it was trained on."
            )
