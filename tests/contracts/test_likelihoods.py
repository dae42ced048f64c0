"""What every likelihood must satisfy, against Bayes' rule by enumeration of the clean values.

A new kind of entry with finitely many values joins by one line in `CASES`.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from graphscore.diffusion import BernoulliEdges, EdgeDensity
from graphscore.diffusion.noise import symmetric_noise
from graphscore.graphs import NO_CONDITION, Condition, node_mask_of_sizes, pair_mask

SIZES = [6, 4, 1, 6]
SIGMA = torch.tensor([0.2, 0.7, 1.0, 3.0], dtype=torch.float64)
NODE_MASK = node_mask_of_sizes(torch.tensor(SIZES))
COMMUNITIES = Condition(communities=torch.tensor([[0, 0, 1, 1, 2, 2]] * 3 + [[5, 1] * 3]))


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def edges_of(probability):
    """Draw edges, (B,N,N), from their probabilities by normal noise, one per pair."""
    normal = symmetric_noise(NODE_MASK, generator=generator(4), dtype=torch.float64)
    return ((torch.special.ndtr(normal) < probability) & pair_mask(NODE_MASK)).double()


@dataclass(frozen=True)
class Case:
    """A likelihood and what it should be.

    Attributes:
        likelihood: under test.
        condition: of the graphs.
        values: all that a clean entry can be.
        prior: (B,N,N,values) probability of each before anything is seen.
    """

    likelihood: Any
    condition: Condition
    values: tuple[float, ...]
    prior: Tensor

    mask = pair_mask(NODE_MASK)

    @property
    def clean(self) -> Tensor:
        return edges_of(self.prior[..., 1])

    @property
    def noisy(self) -> Tensor:
        noise = symmetric_noise(NODE_MASK, generator=generator(5), dtype=torch.float64)
        return self.clean + SIGMA.view(-1, 1, 1) * noise

    def logits(self, noisy: Tensor, sigma: Tensor = SIGMA) -> Tensor:
        """Return the logits of the analytic posterior."""
        prior = self.likelihood.prior(NODE_MASK, self.condition, noisy.dtype)
        return self.likelihood.posterior(noisy, sigma, prior)

    def bayes(self, noisy: Tensor) -> Tensor:
        """Return the probability of every value given an entry's noisy value, (B,N,N,values)."""
        distance = (noisy.unsqueeze(-1) - torch.tensor(self.values)).square()
        return (self.prior.log() - distance / (2 * SIGMA.view(-1, 1, 1, 1) ** 2)).softmax(-1)


def bernoulli(density, within=None):
    """Edges by the density of the graph's size, within communities by another."""
    p = torch.tensor([density.at(n) for n in SIZES], dtype=torch.float64).view(-1, 1, 1)
    p = p.expand(-1, 6, 6)
    condition = NO_CONDITION
    if within is not None:
        condition = COMMUNITIES
        inside = torch.tensor([within.at(n) for n in SIZES], dtype=torch.float64).view(-1, 1, 1)
        p = torch.where(condition.same_community(), inside, p)
    return Case(
        BernoulliEdges(density, within), condition, (0.0, 1.0), torch.stack([1 - p, p], dim=-1)
    )


CASES = {
    "bernoulli-sparse": bernoulli(EdgeDensity.constant(0.02)),
    "bernoulli-dense": bernoulli(EdgeDensity.constant(0.9)),
    "bernoulli-by-size": bernoulli(EdgeDensity(2.0, -1.5)),
    "bernoulli-communities": bernoulli(EdgeDensity(0.5, -1.0), EdgeDensity(0.2, 0.3)),
}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


def test_the_analytic_posterior_is_bayes_rule(case):
    noisy = case.noisy
    found = case.likelihood.mean(case.logits(noisy), SIGMA, case.mask)
    expected = case.bayes(noisy) @ torch.tensor(case.values, dtype=torch.float64)
    torch.testing.assert_close(found, expected * case.mask, rtol=1e-10, atol=1e-12)


def test_noise_that_hides_everything_leaves_the_prior(case):
    sigma = 1e8 * torch.ones(4).double()
    found = case.likelihood.mean(case.logits(case.noisy, sigma), sigma, case.mask)
    expected = case.prior @ torch.tensor(case.values, dtype=torch.float64)
    torch.testing.assert_close(found, expected * case.mask)


@pytest.mark.parametrize("scale", [1.0, 10.0, 1000.0])
def test_the_mean_is_in_range_masked_and_symmetric(case, scale):
    logits = scale * symmetric_noise(NODE_MASK, generator=generator(), dtype=torch.float64)
    mean = case.likelihood.mean(logits + 1.0, SIGMA, case.mask)
    assert torch.equal(mean, mean.mT)
    assert not mean[~case.mask].any()
    assert min(case.values) <= mean.min() < mean.max() <= max(case.values)


def test_draws_have_the_mean_asked_for(case):
    """To 5 standard errors of every entry; clean values only, masked, one draw per pair."""
    mean, draws = case.likelihood.mean(case.logits(case.noisy), SIGMA, case.mask), 4000
    source = generator()
    drawn = torch.stack(
        [case.likelihood.draw(mean, SIGMA, case.mask, generator=source) for _ in range(draws)]
    )
    assert set(drawn.unique().tolist()) <= {0.0, *case.values}
    assert torch.equal(drawn, drawn.mT)
    assert not drawn[:, ~case.mask].any()
    probability = case.bayes(case.noisy)
    values = torch.tensor(case.values, dtype=torch.float64)
    variance = probability @ values**2 - (probability @ values) ** 2
    # One rare draw among thousands is no error.
    error = 5 * (variance / draws).sqrt() + 2 / draws
    assert ((drawn.mean(0) - mean).abs() <= error).all()
    # Independent of each other: the sum over a graph's entries varies as their sum does.
    # At the largest sigma, where no entry is nearly certain.
    total = drawn[:, -1].triu(1).sum((1, 2))
    expected = (variance * case.mask)[-1].triu(1).sum()
    fourth = ((total - total.mean()) ** 4).mean() / expected**2
    assert (total.var() / expected - 1).abs() < 5 * (fourth / draws) ** 0.5


def test_draws_are_reproducible_and_only_from_the_generator(case):
    mean = case.mask * (min(case.values) + max(case.values)) / 2
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].copy()  # noqa: NPY002
    first, again, other = (
        case.likelihood.draw(mean, SIGMA, case.mask, generator=generator(s)) for s in (0, 0, 1)
    )
    assert torch.equal(torch.get_rng_state(), states[0])
    assert random.getstate() == states[1]
    assert np.array_equal(np.random.get_state()[1], states[2])  # noqa: NPY002
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_the_loss_is_the_negative_log_likelihood_of_the_clean_value(case):
    noisy, clean = case.noisy, case.clean
    loss = case.likelihood.loss(case.logits(noisy), SIGMA, clean)
    index = (clean.unsqueeze(-1) == torch.tensor(case.values)).long().argmax(-1, keepdim=True)
    expected = -case.bayes(noisy).log().gather(-1, index).squeeze(-1)
    torch.testing.assert_close(loss[case.mask], expected[case.mask], rtol=1e-8, atol=1e-10)


def test_decoding_under_tiny_noise_returns_the_clean_values(case):
    sigma = torch.full((4,), 1e-3, dtype=torch.float64)
    noise = symmetric_noise(NODE_MASK, generator=generator(6), dtype=torch.float64)
    mean = case.likelihood.mean(case.logits(case.clean + 1e-3 * noise, sigma), sigma, case.mask)
    assert torch.equal(case.likelihood.decode(mean, case.mask, 0.5), case.clean)
    assert case.clean.any()


def test_input_features_are_masked_bounded_and_finite(case):
    """Also where sigma is small and values are far off."""
    prior = case.likelihood.prior(NODE_MASK, case.condition, torch.float64)
    channels, connection, _ = case.likelihood.features(case.noisy, SIGMA, prior, case.mask)
    for channel in (*channels, connection):
        assert not channel[~case.mask].any()
        assert channel.abs().max() < 10
    torch.testing.assert_close(
        connection,
        case.likelihood.mean(case.logits(case.noisy), SIGMA, case.mask),
        rtol=1e-6,
        atol=1e-12,
    )


def test_plain_values_say_it_all(case):
    """Through JSON, as in a stored model."""
    values = json.loads(json.dumps(case.likelihood.to_dict()))
    assert values["kind"]
    assert type(case.likelihood).from_dict(values) == case.likelihood
