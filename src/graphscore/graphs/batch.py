"""GraphBatch: many graphs of different sizes as one padded, masked stack of adjacency matrices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import Tensor

from graphscore.errors import GraphDataError
from graphscore.graphs.condition import Condition
from graphscore.graphs.state import GraphState, pair_mask

if TYPE_CHECKING:
    import networkx as nx

    from graphscore.graphs.schema import Schema


@dataclass(frozen=True)
class GraphBatch:
    """A stack of B graphs padded to N nodes.

    Attributes:
        adj: (B,N,N) float, symmetric, zero on the diagonal and on padding.
        node_mask: (B,N) bool, True where a node exists. It is carried, never guessed from edges:
            a node without edges is a node.
        node_feat: (B,N,F) float or None, zero on padding.
        communities: (B,N) int64 or None, number of every node's community.
        edge_entries: (B,N,N,C) or None, what a model learns of edges if that is more than `adj`.
        node_entries: (B,N,C) or None, what a model learns of nodes. A `Schema` makes both.

    Raises:
        GraphDataError: shapes or types do not fit together.

    Example:
        >>> adj = torch.zeros(1, 3, 3)
        >>> adj[0, 0, 1] = adj[0, 1, 0] = 1
        >>> batch = GraphBatch(adj, torch.tensor([[True, True, True]]))
        >>> len(batch), batch.max_nodes, batch.sizes.tolist()
        (1, 3, [3])
    """

    adj: Tensor
    node_mask: Tensor
    node_feat: Tensor | None = None
    communities: Tensor | None = None
    edge_entries: Tensor | None = None
    node_entries: Tensor | None = None

    def __post_init__(self) -> None:
        if self.adj.ndim != 3 or self.adj.shape[1] != self.adj.shape[2]:
            raise GraphDataError(
                f"adj must have shape (B,N,N), got {tuple(self.adj.shape)}. "
                "Stack square adjacency matrices along the first axis."
            )
        if self.node_mask.dtype != torch.bool or self.node_mask.shape != self.adj.shape[:2]:
            raise GraphDataError(
                f"node_mask must be boolean of shape {tuple(self.adj.shape[:2])}, "
                f"got {self.node_mask.dtype} of shape {tuple(self.node_mask.shape)}."
            )
        if self.node_feat is not None and (
            self.node_feat.ndim != 3 or self.node_feat.shape[:2] != self.adj.shape[:2]
        ):
            raise GraphDataError(
                f"node_feat must have shape {tuple(self.adj.shape[:2])} + (F,), "
                f"got {tuple(self.node_feat.shape)}."
            )
        if self.communities is not None and self.communities.shape != self.adj.shape[:2]:
            raise GraphDataError(
                f"communities must have shape {tuple(self.adj.shape[:2])}, "
                f"got {tuple(self.communities.shape)}."
            )

    def __len__(self) -> int:
        return self.adj.shape[0]

    @property
    def max_nodes(self) -> int:
        """Width N that the graphs are padded to."""
        return self.node_mask.shape[1]

    @property
    def sizes(self) -> Tensor:
        """Number of nodes of each graph, (B,)."""
        return self.node_mask.sum(1)

    @property
    def pair_mask(self) -> Tensor:
        """(B,N,N) mask of pairs of different, existing nodes."""
        return pair_mask(self.node_mask)

    @property
    def state(self) -> GraphState:
        """The entries that a model learns: edges 0 or 1, or what they and nodes carry."""
        edges, nodes = (
            None if entries is None else entries.to(self.adj.dtype)
            for entries in (self.edge_entries, self.node_entries)
        )
        return GraphState(self.adj if edges is None else edges, self.node_mask, nodes)

    @property
    def condition(self) -> Condition:
        """What a model is conditioned on: node features and communities, where there are any."""
        return Condition(self.node_feat, self.communities)

    def _map(self, of_pairs: Any, of_nodes: Any) -> Self:
        """Apply one function to what there is of pairs and another to what there is of nodes."""
        pairs = ("adj", "edge_entries")
        return replace(
            self,
            **{
                name: (of_pairs if name in pairs else of_nodes)(values)
                for name, values in vars(self).items()
                if values is not None
            },
        )

    def __getitem__(self, index: slice | Tensor | Sequence[int]) -> Self:
        """Select graphs by slice, index list, index tensor or boolean mask; padding is kept."""
        if isinstance(index, int):
            raise GraphDataError(
                f"a batch has no single graphs; use batch[{index}:{index + 1}] for a batch of one."
            )
        if isinstance(index, slice | Tensor):
            key = index
        else:
            # torch would read an empty list as floats, which cannot index
            key = torch.as_tensor(list(index), dtype=None if len(index) else torch.long)
        return self._map(lambda tensor: tensor[key], lambda tensor: tensor[key])

    def narrowed(self, width: int) -> Self:
        """Keep the first `width` places for nodes; the others must be empty."""
        return self._map(lambda adj: adj[:, :width, :width], lambda values: values[:, :width])

    def trimmed(self) -> Self:
        """Drop trailing columns in which no graph has a node."""
        occupied = self.node_mask.any(0).nonzero()
        return self.narrowed(int(occupied.max()) + 1 if len(occupied) else 0)

    def padded(self, max_nodes: int) -> Self:
        """Pad every graph to `max_nodes` nodes.

        Raises:
            GraphDataError: the batch is already wider; nothing is cut off in silence.
        """
        extra = max_nodes - self.max_nodes
        if extra < 0:
            raise GraphDataError(
                f"cannot pad to {max_nodes} nodes: the batch already has {self.max_nodes}. "
                "Use trimmed() first, or a larger max_nodes."
            )
        pad = torch.nn.functional.pad
        return self._map(
            lambda values: pad(values, (*(0, 0) * (values.ndim - 3), 0, extra, 0, extra)),
            lambda values: pad(values, (*(0, 0) * (values.ndim - 2), 0, extra)),
        )

    def permuted(self, permutation: Tensor) -> Self:
        """Relabel nodes: new node i is old node `permutation[..., i]`.

        Args:
            permutation: (N,) for all graphs alike, or (B,N).
        """
        perm = permutation.expand(len(self), -1)

        def of_nodes(values: Tensor) -> Tensor:
            rows = perm.view(*perm.shape, *[1] * (values.ndim - 2))
            return values.gather(1, rows.expand_as(values))

        def of_pairs(values: Tensor) -> Tensor:
            return of_nodes(of_nodes(values).transpose(1, 2)).transpose(1, 2)

        return self._map(of_pairs, of_nodes)

    def to(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> Self:
        """Move to a device and/or change the floating type (masks and numbers keep theirs)."""

        def moved(values: Tensor) -> Tensor:
            return values.to(device=device, dtype=dtype if values.is_floating_point() else None)

        return self._map(moved, moved)

    @staticmethod
    def concatenate(batches: Sequence[GraphBatch]) -> GraphBatch:
        """Stack batches one after the other, padded to the widest.

        Raises:
            GraphDataError: no batch was given, or only some have node features or communities.
        """
        if not batches:
            raise GraphDataError("cannot concatenate zero batches; give at least one.")
        width = max(batch.max_nodes for batch in batches)
        wide = [batch.padded(width) for batch in batches]

        def column(name: str) -> Any:
            parts = [getattr(batch, name) for batch in wide]
            given = [part for part in parts if part is not None]
            if not given:
                return None
            if len(given) < len(parts):
                raise GraphDataError(
                    f"some batches have {name} and some have none; give them to all or none."
                )
            return torch.cat(given)

        return GraphBatch(*map(column, (field.name for field in fields(GraphBatch))))

    @staticmethod
    def from_networkx(
        graphs: Sequence[nx.Graph[Any]],
        *,
        max_nodes: int | None = None,
        node_feat: str | None = None,
        schema: Schema | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> GraphBatch:
        """Stack simple undirected networkx graphs, nodes in their own order.

        Args:
            graphs: B graphs; pass foreign ones through `prepare_graphs` first.
            max_nodes: width N to pad to; the largest graph if None.
            node_feat: name of the node attribute that holds a vector of length F.
            schema: what nodes and edges carry that is learned; nodes are 0..n-1 then.
            dtype: floating type of `adj` (B,N,N) and `node_feat` (B,N,F).

        Raises:
            GraphDataError: no graphs, a graph larger than `max_nodes`, one that is not simple,
                or a node without the named feature.

        Example:
            >>> import networkx as nx
            >>> GraphBatch.from_networkx([nx.path_graph(2), nx.path_graph(3)]).sizes.tolist()
            [2, 3]
        """
        from graphscore.graphs.conversion import batch_of_networkx

        return batch_of_networkx(
            graphs, max_nodes=max_nodes, node_feat=node_feat, schema=schema, dtype=dtype
        )

    def to_networkx(self) -> list[nx.Graph[Any]]:
        """Return the graphs on nodes 0..n-1; rows of `node_feat` become node attribute "x".

        Raises:
            GraphDataError: `adj` is not binary (quantise it first), not symmetric, or not zero on
                the diagonal and on padding.

        Example:
            >>> import networkx as nx
            >>> GraphBatch.from_networkx([nx.path_graph(3)]).to_networkx()[0].edges
            EdgeView([(0, 1), (1, 2)])
        """
        from graphscore.graphs.conversion import networkx_of_batch

        return networkx_of_batch(self)

    @staticmethod
    def from_pyg(
        data: Iterable[Any], *, max_nodes: int | None = None, dtype: torch.dtype = torch.float32
    ) -> GraphBatch:
        """Stack PyTorch Geometric `Data` objects; `x` becomes `node_feat`, `edge_attr` is not kept.

        Raises:
            GraphDataError: `edge_index` lacks a reverse edge, holds an edge twice or a self-loop,
                a graph is larger than `max_nodes`, or only some objects have `x`.
        """
        from graphscore.graphs.conversion import batch_of_pyg

        return batch_of_pyg(data, max_nodes=max_nodes, dtype=dtype)

    def to_pyg(self) -> list[Any]:
        """Return PyTorch Geometric `Data` objects with both directions of every edge.

        Raises:
            MissingExtraError: torch_geometric is not installed.
            GraphDataError: as `to_networkx`.
        """
        from graphscore.graphs.conversion import pyg_of_batch

        return pyg_of_batch(self)
