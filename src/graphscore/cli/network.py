"""Graphs to train on: as they are read, or cut out of one large network."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cyclopts import Group, Parameter

from graphscore.cli.data import ReadingOptions, load
from graphscore.cli.option_types import WholeNumber
from graphscore.cli.sizes import parsed_sizes
from graphscore.streams import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    import networkx as nx


@Parameter(name="*", group=Group("One large network", sort_key=3))
@dataclass(frozen=True)
class NetworkOptions:
    """How one large network is cut up."""

    subgraphs: str | None = None
    """Learn from connected subgraphs of so many nodes, such as 40 or 20-40, cut out of the one
    network that is read. --max-nodes then limits these."""
    subgraph_count: WholeNumber | None = None
    """How many subgraphs. [default: each node is in about 10, but from 200 to 2000 subgraphs]"""


NO_NETWORK = NetworkOptions()
"""Graphs stay as they are."""


def load_to_train(
    data: str, reading: ReadingOptions, network: NetworkOptions, *, seed: int, **options: Any
) -> Sequence[nx.Graph[Any]]:
    """Read the training part of a dataset or a path, and cut it up if that is asked for.

    Args:
        seed: same seed, same subgraphs.
        options: those of `load`.
    """
    from graphscore.errors import GraphDataError, SettingsError
    from graphscore.graphs import limits
    from graphscore.graphs.cutting import subgraphs

    if network.subgraphs is None:
        if network.subgraph_count is not None:
            raise SettingsError("--subgraph-count has no meaning without --subgraphs.")
        return load(data, reading, split="train", **options)
    sizes = parsed_sizes("--subgraphs", network.subgraphs)
    most = reading.max_nodes
    if most is not None and max(sizes) > most:
        raise SettingsError(
            f"--subgraphs {network.subgraphs}: at most {most} nodes are allowed. Ask for smaller "
            f"ones, or raise the limit with --max-nodes {max(sizes)}."
        )
    whole = replace(reading, max_nodes=max(most or 0, limits.MAX_NODES))
    graphs = load(data, whole, split="train", **options)
    if len(graphs) > 1:
        raise GraphDataError(
            f"{data}: {len(graphs)} graphs, but --subgraphs cuts up one network. Leave it out to "
            "learn from these graphs, or give a file with one."
        )
    cut = subgraphs(graphs[0], sizes, number=network.subgraph_count, seed=seed)
    cut.ignored = list(getattr(graphs, "ignored", ()))
    _say(data, graphs[0], cut)
    return cut


def _say(data: str, network: nx.Graph[Any], cut: Sequence[nx.Graph[Any]]) -> None:
    """Say what is learned from in place of a network."""
    sizes = sorted(map(len, cut))
    kind = f"{sizes[0]}" if sizes[0] == sizes[-1] else f"{sizes[0]} to {sizes[-1]}"
    edges = sum(graph.number_of_edges() for graph in cut)
    say(
        f"{data}: {len(cut)} connected subgraphs of {kind} nodes, grown link by link, in place of "
        f"one network of {len(network)} nodes; mean degree {2 * edges / sum(sizes):.2f}, in the "
        f"network {2 * network.number_of_edges() / len(network):.2f}"
    )
