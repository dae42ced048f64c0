"""What likelihoods of several numbers must satisfy, against Bayes' rule by enumeration.

Real numbers are enumerated on a grid, on which sums of smooth functions are exact. A new kind of
entry joins by one line in `CASES`.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from graphscore.diffusion import (
    BernoulliEdges,
    EdgeDensity,
    JoinedNodes,
    NodeFeatures,
    NodeTypes,
    TypedEdges,
    WeightedEdges,
    symmetric_noise,
)
from graphscore.graphs import NO_CONDITION, node_mask_of_sizes, pair_mask

SIZES = [5, 3, 1, 5]
SIGMA = torch.tensor([0.2, 0.7, 1.0, 3.0], dtype=torch.float64)
NODE_MASK = node_mask_of_sizes(torch.tensor(SIZES))
DENSITY = EdgeDensity(1.0, -1.2)
GRID = torch.linspace(-9, 9, 361, dtype=torch.float64)
NORMAL = (-GRID.square() / 2).softmax(0)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@dataclass(frozen=True)
class Case:
    """A likelihood and what it should be.

    Attributes:
        likelihood: under test.
        values: (V,C) all that a clean entry can be.
        prior: (B,1,1,V) of pairs or (B,1,V) of nodes, probability of each before anything is seen.
        real: numbers of an entry that are real and not 0 or 1.
    """

    likelihood: Any
    values: Tensor
    prior: Tensor
    real: int = 0

    @property
    def mask(self) -> Tensor:
        masks = {4: pair_mask(NODE_MASK), 3: NODE_MASK}
        return masks[self.prior.ndim].unsqueeze(-1)

    def noise(self, seed: int) -> Tensor:
        """Return (B,N,N,C) or (B,N,C), equal for the two directions of a pair."""
        drawn = [
            symmetric_noise(NODE_MASK, generator=generator(seed + k), dtype=torch.float64)
            for k in range(self.values.shape[1])
        ]
        noise = torch.stack(drawn, dim=-1)
        return noise if self.prior.ndim == 4 else noise.sum(2)

    @property
    def index(self) -> Tensor:
        """Which value every entry has, equal for the two directions of a pair."""
        uniform = torch.special.ndtr(self.noise(40)[..., 0])
        return (
            (uniform.unsqueeze(-1) > self.prior.cumsum(-1)).sum(-1).clamp_max(len(self.values) - 1)
        )

    @property
    def clean(self) -> Tensor:
        return self.values[self.index] * self.mask

    @property
    def noisy(self) -> Tensor:
        return self.clean + SIGMA.view(-1, *[1] * (self.prior.ndim - 1)) * self.noise(50)

    def prior_logits(self) -> Tensor:
        return self.likelihood.prior(NODE_MASK, NO_CONDITION, torch.float64)

    def logits(self, noisy: Tensor, sigma: Tensor = SIGMA) -> Tensor:
        return self.likelihood.posterior(noisy, sigma, self.prior_logits())

    def bayes(self, noisy: Tensor) -> Tensor:
        """Return the probability of every value given an entry's noisy value, (...,V)."""
        distance = (noisy.unsqueeze(-2) - self.values).square().sum(-1)
        level = SIGMA.view(-1, *[1] * (distance.ndim - 1))
        return (self.prior.log() - distance / (2 * level**2)).softmax(-1)


def edges(shares, weighted=False):
    """No edge, or one of a type, perhaps with a weight."""
    likelihood: Any = TypedEdges(BernoulliEdges(DENSITY), shares)
    present = torch.tensor([DENSITY.at(n) for n in SIZES], dtype=torch.float64).view(-1, 1, 1, 1)
    of_types = present * torch.tensor(shares, dtype=torch.float64)
    values = torch.cat([torch.zeros(1, len(shares)), torch.eye(len(shares))]).double()
    if weighted:
        likelihood = WeightedEdges(likelihood)
        each = [
            torch.cat(
                [torch.eye(len(shares))[k].double().expand(len(GRID), -1), GRID.view(-1, 1)], 1
            )
            for k in range(len(shares))
        ]
        values = torch.cat([torch.zeros(1, len(shares) + 1).double(), *each])
        of_types = (of_types.unsqueeze(-1) * NORMAL).flatten(-2)
    return Case(likelihood, values, torch.cat([1 - present, of_types], dim=-1), int(weighted))


def types(shares):
    prior = torch.tensor(shares, dtype=torch.float64).view(1, 1, -1).expand(4, -1, -1)
    return Case(NodeTypes(shares), torch.eye(len(shares)).double(), prior)


def joined(shares):
    """A type and a real number of every node."""
    values = [
        torch.cat([torch.eye(len(shares))[k].double().expand(len(GRID), -1), GRID.view(-1, 1)], 1)
        for k in range(len(shares))
    ]
    prior = (torch.tensor(shares, dtype=torch.float64).view(-1, 1) * NORMAL).flatten()
    likelihood = JoinedNodes((NodeTypes(shares), NodeFeatures(1)))
    return Case(likelihood, torch.cat(values), prior.view(1, 1, -1).expand(4, -1, -1), 1)


CASES = {
    "one-edge-type": edges((1.0,)),
    "edge-types": edges((0.6, 0.3, 0.1)),
    "weighted-edges": edges((1.0,), weighted=True),
    "weighted-edge-types": edges((0.7, 0.3), weighted=True),
    "node-types": types((0.5, 0.3, 0.15, 0.05)),
    "node-features": Case(
        NodeFeatures(1), GRID.view(-1, 1), NORMAL.view(1, 1, -1).expand(4, -1, -1), real=1
    ),
    "joined-nodes": joined((0.2, 0.8)),
}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


def assert_same_both_ways(case: Case, entries: Tensor) -> None:
    assert case.prior.ndim == 3 or torch.equal(entries, entries.transpose(-3, -2))


def test_the_analytic_posterior_is_bayes_rule(case):
    found = case.likelihood.mean(case.logits(case.noisy), SIGMA, case.mask)
    expected = case.bayes(case.noisy) @ case.values
    torch.testing.assert_close(found, expected * case.mask, rtol=1e-8, atol=1e-10)
    assert case.likelihood.width == found.shape[-1]


@pytest.mark.parametrize("size", [1e8, math.inf])
def test_noise_that_hides_everything_leaves_the_prior(case, size):
    sigma = torch.full((4,), size, dtype=torch.float64)
    found = case.likelihood.mean(case.logits(case.noisy, sigma), sigma, case.mask)
    expected = (case.prior @ case.values) * case.mask
    torch.testing.assert_close(found, expected, atol=1e-7, rtol=1e-7)


def test_the_mean_is_masked_and_symmetric(case):
    mean = case.likelihood.mean(10 * case.noise(1), SIGMA, case.mask)
    assert_same_both_ways(case, mean)
    assert not (mean * ~case.mask).any()
    shares = mean[..., : case.values.shape[1] - case.real]
    assert ((shares >= 0) & (shares <= 1)).all()


def test_draws_have_the_moments_asked_for(case):
    """Mean and covariance of every entry; clean values only, masked, one draw per pair."""
    sigma = torch.full((4,), 0.7, dtype=torch.float64)
    noisy = case.clean + 0.7 * case.noise(50)
    mean, draws = case.likelihood.mean(case.logits(noisy, sigma), sigma, case.mask), 3000
    source = generator()
    drawn = torch.stack(
        [case.likelihood.draw(mean, sigma, case.mask, generator=source) for _ in range(draws)]
    )
    assert_same_both_ways(case, drawn)
    assert not (drawn * ~case.mask).any()
    if not case.real:
        possible = {tuple(value) for value in case.values.tolist()} | {(0.0,) * drawn.shape[-1]}
        assert set(map(tuple, drawn.flatten(0, -2).unique(dim=0).tolist())) <= possible
    distance = (noisy.unsqueeze(-2) - case.values).square().sum(-1)
    probability = (case.prior.log() - distance / (2 * 0.7**2)).softmax(-1)
    second = torch.einsum("...v,vc,vd->...cd", probability, case.values, case.values)
    covariance = second - mean.unsqueeze(-1) * mean.unsqueeze(-2)
    variance = covariance.diagonal(dim1=-2, dim2=-1) * case.mask
    error = 5 * (variance / draws).sqrt() + 3 / draws
    assert ((drawn.mean(0) - mean).abs() <= error).all()
    deviation = drawn - mean
    found = torch.einsum("n...c,n...d->...cd", deviation, deviation) / draws
    wrong = (found - covariance).abs().flatten(-2).amax(-1, keepdim=True) * case.mask
    assert wrong.max() < 0.2 if case.real else wrong.max() < 0.06


def test_draws_without_having_seen_anything_are_those_of_the_prior(case):
    unseen = torch.full((4,), math.inf, dtype=torch.float64)
    mean = case.likelihood.mean(case.prior_logits(), unseen, case.mask)
    source = generator()
    drawn = torch.stack(
        [case.likelihood.draw(mean, unseen, case.mask, generator=source) for _ in range(2000)]
    )
    first = drawn[:, 0, 0, 1] if drawn.ndim == 5 else drawn[:, 0, 0]
    expected = case.prior[0].flatten() @ torch.cat([case.values, case.values**2], dim=1)
    found = torch.cat([first, first**2], dim=1).mean(0)
    torch.testing.assert_close(found, expected, atol=0.12, rtol=0)


def test_the_loss_is_the_negative_log_likelihood(case):
    """Of real numbers up to a constant: the difference between two clean values is exact."""
    noisy, clean = case.noisy, case.clean
    loss = case.likelihood.loss(case.logits(noisy), SIGMA, clean)
    found = loss if loss.ndim < case.mask.ndim else loss.squeeze(-1)
    expected = -case.bayes(noisy).log().gather(-1, case.index.unsqueeze(-1)).squeeze(-1)
    mask = case.mask.squeeze(-1)
    if case.real:
        # The step of the grid, and the normalisation of the Gaussian of standard deviation s.
        spread = (1 + SIGMA**-2).rsqrt()
        constant = (GRID[1] - GRID[0]).log() - math.log(2 * math.pi) / 2
        constant = constant - spread.log().view(-1, *[1] * (found.ndim - 1))
        is_real = 1.0 if found.ndim == 2 else clean[..., :-1].sum(-1)
        expected = expected + constant * is_real
    torch.testing.assert_close(found[mask], expected[mask], rtol=1e-8, atol=1e-8)


def test_decoding_under_tiny_noise_returns_the_clean_values(case):
    sigma = torch.full((4,), 1e-3, dtype=torch.float64)
    noisy = case.clean + 1e-3 * case.noise(60)
    mean = case.likelihood.mean(case.logits(noisy, sigma), sigma, case.mask)
    decoded = case.likelihood.decode(mean, case.mask, 0.5)
    torch.testing.assert_close(decoded, case.clean, atol=0.01 * case.real, rtol=0)
    assert case.clean.any()


def test_the_threshold_is_that_of_an_edge_of_any_type():
    likelihood = CASES["edge-types"].likelihood
    mean = torch.tensor([0.3, 0.25, 0.0]).expand(1, 2, 2, 3)
    mask = pair_mask(torch.ones(1, 2, dtype=torch.bool)).unsqueeze(-1)
    for threshold, expected in ((0.5, [1.0, 0.0, 0.0]), (0.6, [0.0, 0.0, 0.0])):
        assert likelihood.decode(mean, mask, threshold)[0, 0, 1].tolist() == expected


def test_input_features_are_masked_bounded_and_finite(case):
    channels, connection, sums = case.likelihood.features(
        case.noisy, SIGMA, case.prior_logits(), case.mask.squeeze(-1)
    )
    assert len(channels) == case.likelihood.channels
    assert len(sums) == case.likelihood.sums
    for channel in (*channels, *sums):
        assert channel.shape == case.mask.shape[:-1]
        assert not channel[~case.mask.squeeze(-1)].any()
        assert channel.abs().max() < 15
    if case.prior.ndim == 4:
        mean = case.likelihood.mean(case.logits(case.noisy), SIGMA, case.mask)
        expected = mean[..., : mean.shape[-1] - case.real].sum(-1)
        torch.testing.assert_close(connection, expected, rtol=1e-6, atol=1e-10)


def test_plain_values_say_it_all(case):
    values = json.loads(json.dumps(case.likelihood.to_dict()))
    assert values["kind"]
    assert type(case.likelihood).from_dict(values) == case.likelihood


def test_one_type_is_bernoulli():
    """Edges of one type are edges."""
    typed, plain = CASES["one-edge-type"], BernoulliEdges(DENSITY)
    noisy, mask = typed.noisy, pair_mask(NODE_MASK)
    logits = plain.posterior(
        noisy[..., 0], SIGMA, plain.prior(NODE_MASK, NO_CONDITION, noisy.dtype)
    )
    torch.testing.assert_close(typed.logits(noisy)[..., 0], logits)
    found = typed.likelihood.features(noisy, SIGMA, typed.prior_logits(), mask)
    expected = plain.features(
        noisy[..., 0], SIGMA, plain.prior(NODE_MASK, NO_CONDITION, noisy.dtype), mask
    )
    for one, other in zip(found.channels, expected.channels):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("name", ["edge-types", "node-types"])
def test_permuting_the_types_permutes_the_answer(name):
    case = CASES[name]
    order = torch.randperm(len(case.likelihood.shares), generator=generator(3)).tolist()
    shares = tuple(case.likelihood.shares[k] for k in order)
    other = (
        NodeTypes(shares) if name == "node-types" else TypedEdges(case.likelihood.present, shares)
    )
    prior = other.prior(NODE_MASK, NO_CONDITION, torch.float64)
    found = other.mean(other.posterior(case.noisy[..., order], SIGMA, prior), SIGMA, case.mask)
    expected = case.likelihood.mean(case.logits(case.noisy), SIGMA, case.mask)
    torch.testing.assert_close(found, expected[..., order])


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "bernoulli-edges"},
        {"shares": [0.5, 0.6]},
        {"shares": [1.5, -0.5]},
        {"shares": []},
        {"shares": [True]},
        {"shares": "1"},
        {"more": 1},
    ],
)
def test_what_is_stored_is_checked(change):
    with pytest.raises(ValueError, match=r"shares|kind"):
        NodeTypes.from_dict({**NodeTypes((0.5, 0.5)).to_dict(), **change})


def test_a_stored_number_of_features_is_bounded():
    assert NodeFeatures.from_dict({"kind": "node-features", "width": 1000}).width == 1000
    for width in (0, -1, 1001, True, "1", 1.0, None):
        with pytest.raises(ValueError, match="node features; 1 to 1000 are expected"):
            NodeFeatures.from_dict({"kind": "node-features", "width": width})
