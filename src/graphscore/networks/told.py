"""A network that knows the features of the nodes, for samplers that do not."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from graphscore.errors import GraphDataError
from graphscore.networks.log_odds import LogOddsNetwork
from graphscore.settings import Settings


class ToldNetwork(LogOddsNetwork):
    """A network and the node features of the graphs it will be asked about.

    Args:
        network: takes node features.
        node_feat: (B,N,F) of the graphs of every call, which may be padded to more nodes. They
            stand for any that a call gives.

    Example:
        >>> import torch
        >>> from graphscore.networks import DenoiserSettings, LogOddsDenoiser
        >>> settings = DenoiserSettings(blocks=1, pair_width=8, communities=True)
        >>> network = LogOddsDenoiser(settings, 0.3, generator=torch.Generator().manual_seed(0))
        >>> told = ToldNetwork(network, torch.tensor([[[0.0], [0.0], [1.0]]]))
        >>> mask = torch.ones(1, 3, dtype=torch.bool)
        >>> told.denoised(torch.zeros(1, 3, 3), mask, torch.ones(1)).shape
        torch.Size([1, 3, 3])
    """

    node_feat: Tensor

    def __init__(self, network: LogOddsNetwork, node_feat: Tensor) -> None:
        # Not that of the base class, which stores a density of edges: the network has one.
        nn.Module.__init__(self)
        self.network = network
        self.register_buffer("node_feat", node_feat, persistent=False)

    @property
    def settings(self) -> Settings:
        """Those of the network."""
        settings: Settings = self.network.settings  # type: ignore[assignment]
        return settings

    @property
    def blocks_to_compile(self) -> list[nn.Module]:
        """Those of the network."""
        return self.network.blocks_to_compile

    def prior_log_odds(self, node_mask: Tensor, node_feat: Tensor | None = None) -> Tensor:
        """Return those of the network."""
        return self.network.prior_log_odds(node_mask, self._padded(node_mask))

    def _log_odds(
        self,
        adj: Tensor,
        pairs: Tensor,
        node_mask: Tensor,
        sigma: Tensor,
        node_feat: Tensor | None,
    ) -> Tensor:
        return self.network._log_odds(adj, pairs, node_mask, sigma, self._padded(node_mask))

    def _padded(self, node_mask: Tensor) -> Tensor:
        extra = node_mask.shape[1] - self.node_feat.shape[1]
        if extra < 0:
            raise GraphDataError(
                f"told of {self.node_feat.shape[1]} nodes, but asked about "
                f"{node_mask.shape[1]}. Tell of the graphs that will be asked about."
            )
        return functional.pad(self.node_feat, (0, 0, 0, extra))
