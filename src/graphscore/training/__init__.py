"""Objective, trainer, moving average of weights, checkpoints and run folders."""

from graphscore.training.objective import LossValues, score_matching_loss
from graphscore.training.trainer import Trainer, TrainingRecord, TrainingSettings

__all__ = [
    "LossValues",
    "Trainer",
    "TrainingRecord",
    "TrainingSettings",
    "score_matching_loss",
]
