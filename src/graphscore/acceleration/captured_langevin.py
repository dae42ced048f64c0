"""Langevin sampling with each step as one CUDA graph, for any score."""

from __future__ import annotations

import torch
from torch import Tensor

from graphscore.acceleration.capture import captured
from graphscore.noise import symmetric_noise
from graphscore.sampling import LangevinSettings, SamplingResult, folded_normal
from graphscore.sampling.langevin import OnStep, Score, check_finite, levels

STEPS_BETWEEN_REPORTS = 20


@torch.no_grad()
def captured_langevin(
    score: Score,
    node_mask: Tensor,
    sigmas: Tensor,
    settings: LangevinSettings,
    *,
    generator: torch.Generator,
    initial: Tensor | None = None,
    on_step: OnStep | None = None,
) -> SamplingResult:
    """Run `annealed_langevin` with the same noise, recording a step once and replaying it.

    `on_step` is called every few steps and after the last.

    Raises:
        SamplingError: the state is not finite, as happens when the step size is too large.
    """
    dtype = sigmas.dtype
    first = (
        folded_normal(node_mask, generator=generator, dtype=dtype) if initial is None else initial
    )
    adj = first.clone()
    sigma = sigmas[:1].repeat(len(adj))
    half_alpha, noise_size = sigmas.new_zeros(()), sigmas.new_zeros(())

    def step() -> None:
        noise = symmetric_noise(node_mask, generator=generator, dtype=dtype)
        adj.add_(half_alpha * score(adj, node_mask, sigma) + noise_size * noise)

    def undo() -> None:
        adj.copy_(first)

    replay = captured(step, generator=generator, undo=undo)
    done, total = 0, len(sigmas) * settings.steps_per_level
    for level in levels(sigmas, settings):
        sigma.fill_(level.sigma)
        half_alpha.fill_(level.alpha / 2)
        noise_size.fill_(level.noise_size)
        for _ in range(settings.steps_per_level):
            replay()
            done += 1
            if on_step is not None and (done % STEPS_BETWEEN_REPORTS == 0 or done == total):
                on_step(done, adj.clone())
        check_finite(adj, level.sigma, settings)
    return SamplingResult(adj, node_mask, done)
