"""Generative models of graphs: the protocol, and the registry by which they are named.

To add a model, write a subclass of `Model` and add a line to `MODELS`.
"""

from graphscore.models.base import Model, SamplingRun, TrainedSettings
from graphscore.models.communities import CommunityDistribution
from graphscore.models.registry import DEFAULT_MODEL, MODELS, resolve_settings, stored_settings
from graphscore.models.request import SampleRequest, resolve_request
from graphscore.models.sizes import SizeDistribution

__all__ = [
    "DEFAULT_MODEL",
    "MODELS",
    "CommunityDistribution",
    "Model",
    "SampleRequest",
    "SamplingRun",
    "SizeDistribution",
    "TrainedSettings",
    "resolve_request",
    "resolve_settings",
    "stored_settings",
]
