"""Objectives, trainer, moving average of weights, checkpoints and run folders."""

from graphscore.training.cross_entropy import (
    Denoising,
    DenoisingLoss,
    DenoisingSettings,
    denoising_loss,
)
from graphscore.training.objective import LossValues, Objective, ScoreMatching, score_matching_loss
from graphscore.training.trainer import Trainer, TrainingRecord, TrainingSettings

__all__ = [
    "Denoising",
    "DenoisingLoss",
    "DenoisingSettings",
    "LossValues",
    "Objective",
    "ScoreMatching",
    "Trainer",
    "TrainingRecord",
    "TrainingSettings",
    "denoising_loss",
    "score_matching_loss",
]
