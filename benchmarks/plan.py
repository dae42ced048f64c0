"""Sizes and repeats of the EDP-GNN benchmark."""

from __future__ import annotations

import torch
from pydantic import Field

from graphscore.diffusion import SigmaLevels
from graphscore.networks import EDPGNNSettings
from graphscore.settings import Settings


class Plan(Settings):
    """Sizes and repeats; the defaults are for two CPU cores."""

    network: EDPGNNSettings = EDPGNNSettings()
    noise: SigmaLevels = SigmaLevels()
    repeats: int = Field(default=7, ge=1)
    """Timings of which the median is taken."""
    timing_seconds: float = Field(default=15.0, gt=0)
    """After this long, no further repeat begins."""
    matrix_size: int = Field(default=2048, ge=2)
    """Rows and columns of the matrices whose product measures the arithmetic ceiling."""
    copy_bytes: int = Field(default=2**28, ge=4)
    """Size of the tensor whose copy measures the bandwidth; larger than any cache."""
    training_graphs: int = Field(default=32, ge=1)
    training_nodes: int = Field(default=20, ge=2)
    training_calls: int = Field(default=2, ge=1)
    """Training steps in one timing."""
    sampling_graphs: tuple[int, ...] = (192,)
    """Graphs sampled at once, one row of the record each; the last is used for the schedule."""
    sampling_sizes: tuple[int, ...] = (12, 14, 16, 18, 20)
    """Numbers of nodes, equally often: those of Community-small."""
    plain_lengths: tuple[int, int] = (1, 3)
    """Two numbers of steps per level; the difference in time excludes the fixed cost."""
    accelerated_lengths: tuple[int, int] = (1, 3)
    schedule_graphs: int = Field(default=1024, ge=1)
    """Graphs of the whole sampling whose seconds are reported."""
    schedule_steps_per_level: int = Field(default=1000, ge=1)
    schedule_runs: int = Field(default=0, ge=0)
    """Whole samplings that are timed on the accelerated path; with 0 they are extrapolated."""
    growth_nodes: tuple[int, ...] = (20, 50, 100, 200, 500)
    growth_pairs: int = Field(default=300_000, ge=1)
    """Pairs of nodes in a batch, all levels together: about the same at every size."""
    growth_repeats: int = Field(default=3, ge=1)
    case_seconds: float = Field(default=60.0, gt=0)
    """After this long, no further whole sampling begins."""
    profile_training_steps: int = Field(default=3, ge=1)
    """Training steps that the profile covers."""
    profile_sampling_steps: int = Field(default=1, ge=1)
    """Langevin steps per level that the profile covers."""


def plan_for(device: torch.device) -> Plan:
    """Return the plan for a device, which takes a few minutes."""
    if device.type != "cuda":
        return Plan()
    return Plan(
        matrix_size=8192,
        copy_bytes=2**31,
        repeats=10,
        training_calls=20,
        sampling_graphs=(192, 1024),
        plain_lengths=(5, 15),
        accelerated_lengths=(50, 150),
        schedule_runs=3,
        growth_pairs=1_500_000,
        growth_repeats=5,
        profile_training_steps=10,
        profile_sampling_steps=50,
    )
