"""Score networks behind one contract: forward(adj, node_mask, sigma, node_feat=None) -> (B,N,N)."""

from graphscore.networks.denoiser import DenoiserSettings, LogOddsDenoiser
from graphscore.networks.edge_density import CommunityDensity, Density, EdgeDensity
from graphscore.networks.edp_gnn import EDPGNN, EDPGNNSettings
from graphscore.networks.guided import GuidanceSettings, GuidedNetwork
from graphscore.networks.log_odds import AsDenoiser, LogOddsNetwork
from graphscore.networks.told import ToldNetwork

__all__ = [
    "EDPGNN",
    "AsDenoiser",
    "CommunityDensity",
    "DenoiserSettings",
    "Density",
    "EDPGNNSettings",
    "EdgeDensity",
    "GuidanceSettings",
    "GuidedNetwork",
    "LogOddsDenoiser",
    "LogOddsNetwork",
    "ToldNetwork",
]
