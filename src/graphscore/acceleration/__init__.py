"""Faster paths to the same results: which one runs where, chosen by one switch."""

from graphscore.acceleration.choice import (
    Accelerate,
    SamplerPath,
    choose_sampler,
    choose_trainer,
    resolve_accelerate,
)

__all__ = ["Accelerate", "SamplerPath", "choose_sampler", "choose_trainer", "resolve_accelerate"]
