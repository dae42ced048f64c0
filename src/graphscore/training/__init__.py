"""Trainer, batches, micro-batches, optimisers, moving average of weights."""

from graphscore.training.objective import Objective
from graphscore.training.trainer import Trainer, TrainingRecord, TrainingSettings

__all__ = ["Objective", "Trainer", "TrainingRecord", "TrainingSettings"]
