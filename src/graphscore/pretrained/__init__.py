"""Trained models that come with the package: where they are, and what their cards say."""

from graphscore.pretrained.card import ModelCard, read_card
from graphscore.pretrained.shelf import (
    ModelPlace,
    find_model,
    list_pretrained,
    pretrained_folder,
)

__all__ = [
    "ModelCard",
    "ModelPlace",
    "find_model",
    "list_pretrained",
    "pretrained_folder",
    "read_card",
]
