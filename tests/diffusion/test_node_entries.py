"""A new kind of entry is one class: Gaussian entries of nodes and pairs pass through everything.

The likelihood, the network and the batch below are all that is needed. Noise, objectives, trainer,
posterior and samplers are those of Bernoulli edges, unchanged. The target is Gaussian, so that the
moments of samples are known exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import pytest
import torch
from torch import Tensor, nn

from graphscore.diffusion import (
    BernoulliEdges,
    Denoising,
    DenoisingSettings,
    EdgeDensity,
    GraphLikelihood,
    GuidanceSettings,
    GuidedPosterior,
    Posterior,
    ScoreMatching,
    SigmaLevels,
    SigmaRange,
    perturb,
)
from graphscore.diffusion.samplers import (
    SAMPLERS,
    AncestralSettings,
    HeunSettings,
    LangevinSettings,
)
from graphscore.diffusion.samplers.langevin import step_sizes
from graphscore.diffusion.sigmas import karras_sigmas
from graphscore.graphs import NO_CONDITION, GraphBatch, GraphState, node_mask_of_sizes
from graphscore.training import Trainer, TrainingSettings

P, MEANS, SPREAD = 0.3, (0.7, -0.4), 0.5
RANGE = SigmaRange(sigma_min=0.1, sigma_max=3.0)
LEVELS = SigmaLevels(sigmas=(1.0, 0.4, 0.2))


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@dataclass(frozen=True)
class Gaussian:
    """Real entries N(means, spread^2), independent; its logits are the natural parameters.

    Of F entries the first F logits are precision times mean, the other F the precision. Both are
    zero where there is no entry, which stands for precision 1.

    Attributes:
        means: of each of the F entries of a node, or of a pair.
        spread: standard deviation.
        places: 1 for entries of nodes (B,N,F), 2 for entries of pairs (B,N,N,F).
    """

    means: tuple[float, ...]
    spread: float
    places: int = 1

    def prior(self, node_mask: Tensor, condition, dtype: torch.dtype) -> Tensor:
        precision = self.spread**-2
        values = [precision * mean for mean in self.means] + [precision] * len(self.means)
        shape = len(node_mask), *[1] * self.places, len(values)
        return torch.tensor(values, dtype=dtype).expand(shape)

    def posterior(self, noisy: Tensor, sigma: Tensor, prior: Tensor) -> Tensor:
        precision = sigma.view(-1, *[1] * (noisy.ndim - 1)) ** -2
        return prior + torch.cat([noisy * precision, torch.ones_like(noisy) * precision], dim=-1)

    def _parameters(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        product, precision = logits.chunk(2, dim=-1)
        precision = torch.where(precision == 0, 1.0, precision)
        return product / precision, precision

    def mean(self, logits: Tensor, sigma: Tensor, mask: Tensor) -> Tensor:
        return self._parameters(logits)[0] * mask

    def loss(self, logits: Tensor, sigma: Tensor, clean: Tensor) -> Tensor:
        mean, precision = self._parameters(logits)
        return (precision * (clean - mean) ** 2 - precision.log() + math.log(2 * math.pi)) / 2

    def draw(self, mean: Tensor, sigma: Tensor, mask: Tensor, *, generator) -> Tensor:
        normal = torch.randn(mean.shape, generator=generator, dtype=mean.dtype)
        if self.places == 2:
            normal = normal.movedim(3, 1).triu(1)
            normal = (normal + normal.mT).movedim(1, 3)
        precision = self.spread**-2 + sigma.view(-1, *[1] * (mean.ndim - 1)) ** -2
        return (mean + normal * precision.rsqrt()) * mask

    def decode(self, mean: Tensor, mask: Tensor, threshold: float) -> Tensor:
        return mean * mask


class Constant(nn.Module):
    """A network that answers the same residual logits for all edges, and for all nodes."""

    def __init__(self) -> None:
        super().__init__()
        self.edges = nn.Parameter(torch.zeros(()))
        self.nodes = nn.Parameter(torch.zeros(2 * len(MEANS)))

    def forward(self, noisy: GraphState, sigma: Tensor, condition) -> GraphState:
        nodes = self.nodes.expand(*noisy.node_mask.shape, -1)
        return GraphState(self.edges.expand_as(noisy.edges), noisy.node_mask, nodes)


class NodeBatch(GraphBatch):
    """Graphs whose node features are learned, not given."""

    @property
    def state(self) -> GraphState:
        return GraphState(self.adj, self.node_mask, self.node_feat)

    @property
    def condition(self):
        return NO_CONDITION


TRUE = GraphLikelihood(BernoulliEdges(EdgeDensity.constant(P)), Gaussian(MEANS, SPREAD))
WRONG = GraphLikelihood(BernoulliEdges(EdgeDensity.constant(0.6)), Gaussian((0.0, 0.0), 1.0))


def exact():
    """The exact posterior: independent entries need no residual."""
    return Posterior(Constant().double(), TRUE)


def graphs(count, seed=0, dtype=torch.float64):
    """Draw graphs with node features from the true distribution."""
    mask = node_mask_of_sizes(torch.tensor([6, 4, 1, 5])[torch.arange(count) % 4])
    prior = TRUE.prior_of(mask, NO_CONDITION, dtype)
    unseen = torch.full((count,), math.inf, dtype=dtype)
    state = TRUE.draw(prior.mean, unseen, generator=generator(seed))
    return NodeBatch(state.edges, mask, state.nodes)


def assert_moments(values, mean, variance, bias=0.0):
    """To 5 standard errors of independent samples from a Gaussian, and the bias of steps."""
    count = len(values)
    assert abs(values.mean().item() - mean) < 5 * (variance / count) ** 0.5
    assert abs(values.var().item() / variance - 1) < 5 * (2 / count) ** 0.5 + bias


def test_draws_of_nodes_have_the_moments_of_the_prior():
    batch = graphs(8000)
    assert not batch.node_feat[~batch.node_mask].any()
    for feature, mean in enumerate(MEANS):
        assert_moments(batch.node_feat[batch.node_mask][:, feature], mean, SPREAD**2)


def test_the_posterior_of_nodes_is_bayes_rule():
    """On a grid of clean values; edges are not changed by nodes, nor nodes by edges."""
    clean, sigma = graphs(4).state, torch.tensor([0.1, 0.5, 1.0, 3.0], dtype=torch.float64)
    noisy = perturb(clean, sigma, generator=generator(1))
    found = exact().denoise(noisy, sigma)
    grid = torch.linspace(-12, 12, 48001, dtype=torch.float64)
    for graph in range(4):
        for node in clean.node_mask[graph].nonzero().flatten().tolist():
            for feature, mean in enumerate(MEANS):
                a = noisy.nodes[graph, node, feature]
                energy = (grid - mean) ** 2 / SPREAD**2 + (a - grid) ** 2 / sigma[graph] ** 2
                weight = (-energy / 2).softmax(0)
                torch.testing.assert_close(found.nodes[graph, node, feature], weight @ grid)
    assert not found.nodes[~clean.node_mask].any()
    alone = Posterior(lambda x, s, c: x * 0.0, GraphLikelihood(TRUE.edges))
    of_edges = alone.denoise(GraphState(noisy.edges, noisy.node_mask), sigma)
    torch.testing.assert_close(found.edges, of_edges.edges)
    score = exact()(noisy, sigma)
    expected = (found.nodes - noisy.nodes) / sigma.view(-1, 1, 1) ** 2
    torch.testing.assert_close(score.nodes, expected)


def test_guidance_serves_every_entry():
    posterior, other = exact(), Posterior(Constant().double(), TRUE)
    nn.init.constant_(other.network.nodes, 0.5)
    noisy, sigma = graphs(4).state, torch.ones(4, dtype=torch.float64)
    guided = GuidedPosterior(posterior, other, GuidanceSettings(weight=2.0))
    own, weaker = (each.logits(noisy, sigma).nodes for each in (posterior, other))
    torch.testing.assert_close(guided.logits(noisy, sigma).nodes, 3 * own - 2 * weaker)


def test_the_loss_adds_the_mean_over_nodes_to_that_over_pairs():
    """Cross-entropy and Gaussian likelihood, entry by entry, padding excluded."""
    objective, batch = Denoising(RANGE), graphs(4)
    items = objective.perturb(batch, generator=generator(2))
    found = objective.per_graph_loss(exact(), items)
    for graph, nodes in enumerate(batch.sizes.tolist()):
        noisy, sigma = items.noisy.part(slice(graph, graph + 1), nodes), items.sigma[graph]
        precision = SPREAD**-2 + sigma**-2
        mean = (torch.tensor(MEANS) / SPREAD**2 + noisy.nodes[0] / sigma**2) / precision
        normal = torch.distributions.Normal(mean, precision**-0.5)
        expected = -normal.log_prob(batch.node_feat[graph, :nodes]).sum() / nodes
        if nodes > 1:
            rows, columns = torch.triu_indices(nodes, nodes, offset=1)
            logits = math.log(P / (1 - P)) + (noisy.edges[0] - 0.5) / sigma**2
            edges = torch.distributions.Bernoulli(logits=logits[rows, columns])
            expected = expected - edges.log_prob(batch.adj[graph, rows, columns]).mean()
        torch.testing.assert_close(found[graph], expected)


@pytest.mark.parametrize(
    "objective",
    [
        Denoising(RANGE),
        Denoising(RANGE, DenoisingSettings(loss="squared")),
        ScoreMatching(LEVELS.sigmas),
    ],
    ids=["likelihood", "squared error", "score matching"],
)
def test_training_finds_the_true_distribution(objective):
    """From a wrong prior of edges and nodes the network learns the residual, known exactly."""
    batch = graphs(400, dtype=torch.float32)
    network = Posterior(Constant(), WRONG)
    settings = TrainingSettings(
        steps=300, batch_size=64, learning_rate=0.1, final_learning_rate=1e-3, ema_decay=0.9
    )
    trainer = Trainer(network, batch, objective, settings, seed=0)
    records = []
    assert trainer.run(on_record=records.append)
    assert records[-1].loss < records[0].loss
    # That of these graphs, whose mean and spread are not exactly those of the distribution.
    nodes = batch.node_feat[batch.node_mask]
    precision = 1 / nodes.var(0)
    expected = torch.cat([precision * nodes.mean(0), precision - 1])
    torch.testing.assert_close(network.network.nodes.detach(), expected, rtol=0.1, atol=0.1)
    density = (batch.adj.sum((1, 2)) / batch.pair_mask.sum((1, 2)).clamp_min(1)).sum() / 300
    logit = (density / (1 - density)).log() - math.log(0.6 / 0.4)
    assert abs(network.network.edges.item() - logit.item()) < 0.15
    noisy, sigma = graphs(40, 1, torch.float32).state, torch.full((40,), 0.5)
    errors = [
        (each.denoise(noisy, sigma) - exact().float().denoise(noisy, sigma)).nodes.abs().max()
        for each in (network, Posterior(Constant(), WRONG))
    ]
    assert errors[0] < errors[1] / 5


def linear_chain(kind, settings):
    """Return by which factors a chain keeps its deviation from the mean, and its new variance.

    Every step of a sampler is linear in a state with a Gaussian target; the last factor is that of
    the posterior mean at the smallest sigma.
    """
    if kind == "langevin":
        for level in step_sizes(LEVELS, settings):
            kept = 1 - level.alpha / (2 * (SPREAD**2 + level.sigma**2))
            yield from [(kept, level.alpha)] * settings.steps_per_level
        return
    sigmas = karras_sigmas(RANGE, settings.steps, settings.rho)
    for sigma, lower in pairwise(sigmas):
        weight = SPREAD**2 / (SPREAD**2 + sigma**2)
        if kind == "heun":
            yield math.sqrt((SPREAD**2 + lower**2) / (SPREAD**2 + sigma**2)), 0.0
        else:
            r = (lower / sigma) ** 2 if settings.noise == "posterior" else 0.0
            drawn = (1 - r) ** 2 * weight * sigma**2
            yield (1 - r) * weight + r, drawn + lower**2 * (1 - r)
    yield SPREAD**2 / (SPREAD**2 + RANGE.sigma_min**2), 0.0


def predicted(kind, settings, mean):
    """Mean and variance of an entry after all steps."""
    if kind == "langevin":
        centre, variance = math.sqrt(2 / math.pi), 1 - 2 / math.pi
    else:
        centre, variance = mean, RANGE.sigma_max**2
    for kept, added in linear_chain(kind, settings):
        centre, variance = mean + kept * (centre - mean), kept**2 * variance + added
    return centre, variance


RUNS = {
    "heun": HeunSettings(steps=64),
    "independent": AncestralSettings(steps=12),
    "posterior": AncestralSettings(steps=12, noise="posterior"),
    "langevin": LangevinSettings(step_size=0.02, steps_per_level=60),
}


@pytest.mark.parametrize("name", RUNS)
def test_samplers_draw_node_entries_from_their_distribution(name):
    """Nodes have the mean and variance of the linear chain, edges their density; padding is 0."""
    settings = RUNS[name]
    sampler = SAMPLERS[settings.kind]
    mask = node_mask_of_sizes(torch.tensor([6, 4, 1, 5]).repeat(1000))
    prior = TRUE.prior_of(mask, NO_CONDITION, torch.float64)
    steps = []

    def watch(step, state):
        steps.append(step)
        assert not state.nodes[~mask].any()
        assert not state.edges[~state.pair_mask].any()

    posterior = exact()
    state = sampler.function(
        posterior.denoise if sampler.needs == "denoise" else posterior,
        prior,
        RANGE if sampler.needs == "denoise" else LEVELS,
        settings,
        generator=generator(),
        on_step=watch,
    ).state
    assert len(steps) == settings.total_steps(LEVELS if name == "langevin" else RANGE)
    decoded = TRUE.decode(state, 0.5)
    for feature, mean in enumerate(MEANS):
        values = decoded.nodes[mask][:, feature]
        assert_moments(values, *predicted(settings.kind, settings, mean), bias=0.01)
    # The chain ends near the target itself.
    assert abs(predicted(settings.kind, settings, MEANS[0])[1] / SPREAD**2 - 1) < 0.2
    if name != "langevin":  # whose step is too large for edges that are 0 or 1
        pairs = state.pair_mask.sum() / 2
        density = decoded.edges.sum() / 2 / pairs
        assert abs(density - P) < 5 * (P * (1 - P) / pairs) ** 0.5 + 0.01


def test_edges_of_several_channels():
    """(B,N,N,C) entries through noise, posterior, loss, Heun's method and ancestral sampling."""
    kind = GraphLikelihood(Gaussian(MEANS, SPREAD, places=2))
    mask = node_mask_of_sizes(torch.tensor([6, 4, 1, 5]).repeat(300))
    prior = kind.prior_of(mask, NO_CONDITION, torch.float64)
    assert prior.mean.edges.shape == (1200, 6, 6, 2)
    pairs = prior.mean.pair_mask & torch.ones(6, 6, dtype=torch.bool).triu()

    def nothing(noisy, sigma, condition):
        return GraphState(torch.zeros(*noisy.edges.shape[:3], 4).double(), noisy.node_mask)

    posterior = Posterior(nothing, kind)
    sigma = torch.full((1200,), 0.8, dtype=torch.float64)
    clean = kind.draw(prior.mean, sigma * math.inf, generator=generator(3))
    noisy = perturb(clean, sigma, generator=generator(4))
    for channel, mean in enumerate(MEANS):
        assert_moments(noisy.edges[pairs][:, channel], mean, SPREAD**2 + 0.8**2)
    error = (posterior.denoise(noisy, sigma) - clean).edges[pairs]
    expected = 1 / (SPREAD**-2 + 0.8**-2)
    for channel in range(2):
        assert_moments(error[:, channel], 0.0, expected)
    for settings in (RUNS["heun"], RUNS["posterior"], RUNS["independent"]):
        sample = SAMPLERS[settings.kind].function
        state = sample(posterior.denoise, prior, RANGE, settings, generator=generator()).state
        assert torch.equal(state.edges, state.edges.transpose(1, 2))
        assert not state.edges[~state.pair_mask].any()
        for channel, mean in enumerate(MEANS):
            values = state.edges[pairs][:, channel]
            assert_moments(values, *predicted(settings.kind, settings, mean), bias=0.01)
