"""Models on disk: checkpoints, run folders, pretrained models and their cards."""

from graphscore.artifacts.artifact import Artifact, check_continues, describe_graphs, model_of
from graphscore.artifacts.card import ModelCard, read_card
from graphscore.artifacts.checkpoint import has_checkpoint, read_checkpoint, read_document
from graphscore.artifacts.registry import (
    ModelPlace,
    find_model,
    list_pretrained,
    pretrained_folder,
)
from graphscore.artifacts.run_folder import KEEP, RunFolder
from graphscore.artifacts.stored import settings_of

__all__ = [
    "KEEP",
    "Artifact",
    "ModelCard",
    "ModelPlace",
    "RunFolder",
    "check_continues",
    "describe_graphs",
    "find_model",
    "has_checkpoint",
    "list_pretrained",
    "model_of",
    "pretrained_folder",
    "read_card",
    "read_checkpoint",
    "read_document",
    "settings_of",
]
