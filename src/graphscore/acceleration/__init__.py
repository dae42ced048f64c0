"""Faster paths to the same results: which one runs where, chosen by one switch."""

from graphscore.acceleration.choice import (
    Accelerate,
    Sampler,
    choose_sampler,
    choose_trainer,
    resolve_accelerate,
)
from graphscore.acceleration.denoising import sample_denoiser

__all__ = [
    "Accelerate",
    "Sampler",
    "choose_sampler",
    "choose_trainer",
    "resolve_accelerate",
    "sample_denoiser",
]
