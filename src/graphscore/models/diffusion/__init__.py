"""Diffusion models of graphs: the denoiser and EDP-GNN."""

from graphscore.models.diffusion.denoiser import DenoiserModel
from graphscore.models.diffusion.edp_gnn import EDPGNNModel
from graphscore.models.diffusion.guide import guided_model
from graphscore.models.diffusion.model import DiffusionModel
from graphscore.models.diffusion.settings import DenoiserModelSettings, EDPGNNModelSettings

__all__ = [
    "DenoiserModel",
    "DenoiserModelSettings",
    "DiffusionModel",
    "EDPGNNModel",
    "EDPGNNModelSettings",
    "guided_model",
]
