"""Langevin sampling with each step as one CUDA graph, for any score."""

from __future__ import annotations

import torch

from graphscore.acceleration.cuda_graph import cuda_graph
from graphscore.diffusion.likelihood import Prior
from graphscore.diffusion.noise import noise_like
from graphscore.diffusion.posterior import Score
from graphscore.diffusion.samplers import LangevinSettings, OnStep, SamplingResult, folded_normal
from graphscore.diffusion.samplers.langevin import check_finite, step_sizes
from graphscore.diffusion.sigmas import SigmaLevels
from graphscore.graphs.state import GraphState

STEPS_BETWEEN_REPORTS = 20


@torch.no_grad()
def cuda_graph_langevin(
    score: Score,
    prior: Prior,
    levels: SigmaLevels,
    settings: LangevinSettings,
    *,
    generator: torch.Generator,
    initial: GraphState | None = None,
    on_step: OnStep | None = None,
) -> SamplingResult:
    """Run `annealed_langevin` with the same noise, capturing a step once and replaying it.

    `on_step` is called every few steps and after the last.

    Raises:
        SamplingError: the state is not finite, as happens when the step size is too large.
    """
    first = folded_normal(prior.mean, generator=generator) if initial is None else initial
    state = first.map(torch.clone)
    sigma = state.edges.new_full((len(state),), levels.sigmas[0])
    half_alpha, noise_size = state.edges.new_zeros(()), state.edges.new_zeros(())

    def step() -> None:
        noise = noise_like(state, generator=generator)
        change = score(state, sigma) * half_alpha + noise * noise_size
        for entries, added in zip(state.entries, change.entries):
            entries.add_(added)

    def undo() -> None:
        for entries, before in zip(state.entries, first.entries):
            entries.copy_(before)

    replay = cuda_graph(step, generator=generator, undo=undo)
    done, total = 0, settings.total_steps(levels)
    for level in step_sizes(levels, settings):
        sigma.fill_(level.sigma)
        half_alpha.fill_(level.alpha / 2)
        noise_size.fill_(level.noise_size)
        for _ in range(settings.steps_per_level):
            replay()
            done += 1
            if on_step is not None and (done % STEPS_BETWEEN_REPORTS == 0 or done == total):
                on_step(done, state.map(torch.clone))
        check_finite(state, level.sigma, settings)
    return SamplingResult(state, done)
