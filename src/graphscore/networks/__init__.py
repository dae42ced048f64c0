"""Networks behind one contract: network(state, sigma, condition) -> a value for every entry."""

from graphscore.networks.denoiser import Denoiser
from graphscore.networks.edp_gnn import EDPGNN
from graphscore.networks.settings import DenoiserSettings, EDPGNNSettings, NetworkSettings

__all__ = ["EDPGNN", "Denoiser", "DenoiserSettings", "EDPGNNSettings", "NetworkSettings"]
