"""Which entries of a final matrix are edges: thresholds, signs, and a sampler that is exact."""

from __future__ import annotations

import math

import pytest
import torch

from graphscore.diffusion import (
    BernoulliEdges,
    EdgeDensity,
    GraphLikelihood,
    SigmaLevels,
    symmetric_noise,
)
from graphscore.diffusion.samplers import LangevinSettings, annealed_langevin
from graphscore.diffusion.sigmas import PAPER_SIGMAS
from graphscore.errors import SettingsError
from graphscore.graphs import NO_CONDITION, GraphBatch, GraphState, pair_mask
from graphscore.models.diffusion.weight_matrix import WeightMatrix


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def matrices(number, nodes, share, weights, seed=0):
    """Symmetric matrices whose pairs are edges with a probability, weights drawn from a list."""
    mask = torch.ones(number, nodes, dtype=torch.bool)
    source = generator(seed)
    present = torch.rand(number, nodes, nodes, generator=source) < share
    drawn = torch.tensor(weights)[torch.randint(len(weights), present.shape, generator=source)]
    upper = (present * drawn).triu(1)
    return GraphBatch(upper + upper.mT, mask)


def edges_of(batch, threshold=0.5, weakest=1.0, signs="both"):
    decoded = WeightMatrix(weakest=weakest, signs=signs).decode(batch.state, threshold)
    assert torch.equal(decoded.edges[..., 1] != 0, decoded.edges[..., 0] == 1)
    return decoded.edges[..., 1]


def test_binary_weights_have_the_threshold_of_the_paper():
    """With as many edges as missing ones, an entry above 1/2 is an edge (equation 4)."""
    batch = matrices(200, 20, 0.5, [1.0])
    made = WeightMatrix.of(batch, 0.1)
    assert made.weakest == pytest.approx(1, abs=0.01)
    assert made.signs == "positive"


@pytest.mark.parametrize(
    ("weights", "signs"),
    [([0.3, 2.0], "positive"), ([-0.3, -2.0], "negative"), ([0.3, -2.0], "both")],
)
def test_little_noise_takes_half_of_the_smallest_weight(weights, signs):
    made = WeightMatrix.of(matrices(50, 8, 0.4, weights), 1e-3)
    assert made.weakest == pytest.approx(0.3, rel=0.02)
    assert made.signs == signs


@pytest.mark.parametrize("sign", [1.0, -1.0, None])
@pytest.mark.parametrize("share", [0.05, 0.4, 0.95])
def test_noise_gives_as_many_edges_as_it_takes(share, sign):
    """Weights down to zero, so that both kinds of mistakes happen often."""
    values = torch.linspace(0.01, 2, 100)
    weights = (values * (sign or 1)).tolist() + ([] if sign else (-values).tolist())
    batch = matrices(400, 20, share, weights)
    made = WeightMatrix.of(batch, 0.1)
    noise = symmetric_noise(batch.node_mask, generator=generator(5))
    noisy = GraphState(batch.adj + 0.1 * noise, batch.node_mask)
    found = made.decode(noisy, 0.5).edges[..., 0]
    mistakes = (found != (batch.adj != 0)).triu().sum().item()
    surplus = (found - (batch.adj != 0).float()).triu().sum().item()
    assert mistakes > 500
    assert abs(surplus) < 4 * math.sqrt(mistakes)


def test_signs_and_the_share_of_the_threshold():
    batch = GraphBatch(
        torch.tensor([[[0.0, 0.6, -0.6], [0.6, 0.0, 0.2], [-0.6, 0.2, 0.0]]]),
        torch.ones(1, 3, dtype=torch.bool),
    )
    both, above, below = (edges_of(batch, signs=s) for s in ("both", "positive", "negative"))
    assert torch.equal(both, torch.where(batch.adj.abs() > 0.5, batch.adj, 0.0))
    assert torch.equal(above, torch.where(batch.adj > 0.5, batch.adj, 0.0))
    assert torch.equal(below, torch.where(batch.adj < -0.5, batch.adj, 0.0))
    assert torch.equal(edges_of(batch, threshold=0.1), batch.adj)
    assert not edges_of(batch, weakest=2.0).any()


def test_neither_padding_nor_diagonal_becomes_an_edge():
    mask = torch.tensor([[True, True, False]])
    state = GraphState(torch.full((1, 3, 3), 9.0), mask)
    decoded = WeightMatrix(weakest=1.0, signs="both").decode(state, 0.5)
    assert torch.equal(decoded.edges[..., 0] == 1, pair_mask(mask))


def test_complete_graphs_and_bounds():
    complete = matrices(3, 4, 1.1, [1.0, 2.0])
    assert 0 < WeightMatrix.of(complete, 0.1).weakest < 1.2
    for weakest in (0.0, -1.0, 1e10, math.nan, True):
        with pytest.raises(SettingsError):
            WeightMatrix(weakest=weakest, signs="both")


def test_an_exact_sampler_gives_the_distribution_of_the_weights():
    """Pairs are edges with probability 0.3 and weights N(1, 0.2^2) or N(-1, 0.2^2), by halves.

    The score of that under noise is known. The weights that are drawn have the noise of the
    smallest sigma besides their own.
    """
    share, spread, last = 0.3, 0.2, PAPER_SIGMAS[-1]
    weighted = torch.tensor([(1 - share, 0.0, 0.0), *((share / 2, m, spread) for m in (1.0, -1.0))])
    portions, means, deviations = weighted.T

    def score(state, sigma):
        variance = deviations**2 + sigma[0] ** 2
        away = state.edges.unsqueeze(3) - means
        logits = portions.log() - variance.log() / 2 - away.square() / (2 * variance)
        edges = -(logits.softmax(3) * away / variance).sum(3) * state.pair_mask
        return GraphState(edges, state.node_mask)

    mask = torch.ones(40, 12, dtype=torch.bool)
    prior = GraphLikelihood(BernoulliEdges(EdgeDensity(0.0))).prior_of(mask, NO_CONDITION)
    # With the paper's six levels annealing itself would give some edges too many.
    levels = SigmaLevels(sigmas=tuple(1.6 * (last / 1.6) ** (step / 19) for step in range(20)))
    settings = LangevinSettings(steps_per_level=60)
    final = annealed_langevin(score, prior, levels, settings, generator=generator(1)).state
    batch = matrices(400, 12, share, [0.0])
    present = torch.rand(batch.adj.shape, generator=generator(2)).triu(1)
    present = ((present > 0) & (present < share)).float()
    drawn = present * (torch.randn(present.shape, generator=generator(3)) * spread + 1)
    signed = drawn * torch.where(torch.rand(drawn.shape, generator=generator(4)) < 0.5, 1, -1)
    made = WeightMatrix.of(GraphBatch(signed + signed.mT, batch.node_mask), last)
    found = made.decode(final, 0.5).edges[..., 1].triu()
    weights = found[found != 0]
    pairs = 40 * 66
    assert len(weights) / pairs == pytest.approx(share, abs=4 * math.sqrt(0.21 / pairs))
    assert weights.sign().mean().item() == pytest.approx(0, abs=0.15)
    assert weights.abs().mean().item() == pytest.approx(1, abs=0.03)
    expected = math.sqrt(spread**2 + last**2)
    assert weights.abs().std().item() == pytest.approx(expected, rel=0.1)
