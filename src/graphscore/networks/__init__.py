"""Score networks behind one contract: forward(adj, node_mask, sigma, node_feat=None) -> (B,N,N)."""

from graphscore.networks.edp_gnn import EDPGNN, EDPGNNSettings

__all__ = ["EDPGNN", "EDPGNNSettings"]
