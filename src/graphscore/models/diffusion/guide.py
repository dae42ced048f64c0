"""Put a trained model and its guide model together (autoguidance)."""

from __future__ import annotations

from copy import copy, deepcopy

import torch
from torch import nn

from graphscore.diffusion import GuidanceSettings, GuidedPosterior
from graphscore.errors import SettingsError
from graphscore.models.base import Model
from graphscore.models.diffusion.denoiser import DenoiserModel
from graphscore.models.diffusion.settings import GuideSettings


def guided_model(model: Model, guide: Model, guidance: GuidanceSettings) -> DenoiserModel:
    """Return a model guided by another one.

    Raises:
        SettingsError: one of them cannot denoise or is guided already, only one is conditioned on
            communities, both are the same, or the guide model was not trained at all noise levels
            at which it is to guide.
    """
    if not isinstance(model, DenoiserModel) or not isinstance(guide, DenoiserModel):
        raise SettingsError(
            "guidance needs two models that were trained to denoise at every noise level; train "
            "both with the model 'denoiser'."
        )
    if model.settings.guide is not None or guide.settings.guide is not None:
        raise SettingsError(
            "guidance needs two models without a guide; give those that this one was made from."
        )
    if (model.communities is None) != (guide.communities is None):
        raise SettingsError(
            "one of the two models is conditioned on communities and the other is not. Train both "
            "with network.communities, or both without."
        )
    same_shape = model.settings.network == guide.settings.network
    if same_shape and _same_weights(model.network, guide.network):
        raise SettingsError(
            "the model and its guide are the same, so that guidance would change nothing. Give a "
            "guide that is smaller, or was trained for a shorter time."
        )
    trained, known = model.settings.noise, guide.settings.noise
    low, high = guidance.limits
    low, high = max(low, trained.sigma_min), min(high, trained.sigma_max)
    if not known.sigma_min <= low < high <= known.sigma_max:
        raise SettingsError(
            f"guidance from sigma {low:g} to {high:g}, but the guide was trained from "
            f"{known.sigma_min:g} to {known.sigma_max:g} and the model from {trained.sigma_min:g} "
            f"to {trained.sigma_max:g}. Give sigma_min and sigma_max within both."
        )
    values = guidance.model_dump(include=set(GuidanceSettings.model_fields))
    described = GuideSettings(
        network=guide.settings.network.model_dump(), noise=known.model_dump(), **values
    )
    made = copy(model)
    made.settings = model.settings.replaced(guide=described.model_dump())
    # A copy of the guide, because it may be on another device and is to stay there.
    made.network = GuidedPosterior(model.network, deepcopy(guide.network), described)
    return made


def _same_weights(first: nn.Module, second: nn.Module) -> bool:
    weights = second.state_dict()
    return all(torch.equal(t.cpu(), weights[n].cpu()) for n, t in first.state_dict().items())
