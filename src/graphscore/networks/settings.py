"""Shapes of networks, each with an explicit kind."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from graphscore.settings import LONGEST_WALK, MOST_BLOCKS, MOST_LAYERS, WIDEST, Settings

Channels = Annotated[int, Field(ge=1, le=WIDEST)]


class EDPGNNSettings(Settings):
    """Shape of an EDP-GNN; the defaults are the paper's text and appendix.

    >>> EDPGNNSettings().channels
    (4, 4, 4, 4, 4)
    """

    kind: Literal["edp-gnn"] = "edp-gnn"
    channels: tuple[Channels, ...] = Field(
        default=(4, 4, 4, 4, 4), min_length=1, max_length=MOST_LAYERS
    )
    """Adjacency channels that each layer produces; the length is the number of layers."""
    message_steps: int = Field(default=4, ge=1, le=MOST_LAYERS)
    """Message-passing steps M in every layer."""
    features: int = Field(default=16, ge=1, le=WIDEST)
    """Width F of the node features of one step."""
    edge_width: int = Field(default=16, ge=1, le=WIDEST)
    """Hidden width of the edge and output MLPs."""
    activation: Literal["silu", "elu"] = "silu"
    """Activation inside the MLPs; the text names none, and SiLU is cheaper than ELU on CPUs."""
    node_feat_dim: int = Field(default=0, ge=0, le=WIDEST)
    """Width of node features from the data, joined to the weighted degree."""
    learnable_adjacency: bool = True
    """Pass messages over the previous layer's channels; if off, always over the input's."""
    complement_channel: bool = True
    """Use 1 - A as a second input channel."""
    node_output: Literal["tanh", "linear"] = "tanh"
    """Last activation of the node MLPs; the text leaves it open."""
    condition_nodes: bool = True
    """Give the node MLPs gains and biases per noise level too."""
    node_readout: Literal["concat", "sum"] = "concat"
    """Node features of a layer: its steps side by side, or the sum of a read-out of each."""
    append_degrees: bool = False
    """Join the weighted degrees in every channel to the node features at every layer."""
    edge_norm: Literal["none", "batch"] = "none"
    """Normalisation inside the edge MLPs."""
    initial_gains: Literal["inverse-sigma", "one"] = "inverse-sigma"
    """Where the output MLP's first and last gains start; always one in the model "denoiser"."""

    @property
    def numbers_per_pair(self) -> int:
        """Numbers that a call holds for every entry of the matrix, at least."""
        return 1 + sum(self.channels)

    @classmethod
    def released(cls, **changes: object) -> EDPGNNSettings:
        """The published program where its departures from the text change results."""
        return cls(
            **{
                "channels": (2, 4, 4, 4, 2),
                "condition_nodes": False,
                "node_readout": "sum",
                "append_degrees": True,
                "edge_norm": "batch",
                "activation": "elu",
                "initial_gains": "one",
                **changes,
            }
        )

    @classmethod
    def ablation(
        cls, *, learnable_adjacency: bool, multi_channel: bool, **changes: object
    ) -> EDPGNNSettings:
        """One cell of the paper's Table 3; both off is vanilla GIN."""
        single = {} if multi_channel else {"channels": (1,) * 5, "complement_channel": False}
        return cls(**{"learnable_adjacency": learnable_adjacency, **single, **changes})


class DenoiserSettings(Settings):
    """Shape of a denoiser.

    >>> DenoiserSettings().blocks
    8
    """

    kind: Literal["denoiser"] = "denoiser"
    blocks: int = Field(default=8, ge=1, le=MOST_BLOCKS)
    """Number of blocks."""
    pair_width: int = Field(default=64, ge=2, le=WIDEST)
    """Features C of a pair; hidden layers of pairs have twice as many."""
    node_width: int = Field(default=32, ge=1, le=WIDEST)
    """Features of a node."""
    product_width: int = Field(default=32, ge=0, le=WIDEST)
    """Channels of the triangle product of every block; 0 turns them off."""
    walk_steps: int = Field(default=4, ge=0, le=LONGEST_WALK)
    """Length of the random walks among the input features of pairs; 0 turns them off."""
    conditioning_width: int = Field(default=32, ge=1, le=WIDEST)
    """Width of the MLP that turns sigma into gains and shifts."""
    node_feat_dim: int = Field(default=0, ge=0, le=WIDEST)
    """Width of node features from the data."""
    communities: bool = False
    """Condition on communities: pairs know whether they are within one community."""
    analytic_skip: bool = True
    """Add the analytic posterior of independent edges to the answer; if off, the network has to
    learn that too."""

    @property
    def numbers_per_pair(self) -> int:
        """Numbers that a call holds for every entry of the matrix, at least."""
        return self.pair_width + 2 * self.product_width + self.node_width


NetworkSettings = Annotated[EDPGNNSettings | DenoiserSettings, Field(discriminator="kind")]
"""Shape of any network, distinguished by its kind."""
