"""Faster paths to the same results: which one runs where, chosen by one switch."""

from graphscore.acceleration.choice import (
    Accelerate,
    Sampler,
    choose_sampler,
    choose_trainer,
    resolve_accelerate,
)

__all__ = ["Accelerate", "Sampler", "choose_sampler", "choose_trainer", "resolve_accelerate"]
