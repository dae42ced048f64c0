"""What was asked of new graphs: how many nodes each has, what they carry, and which communities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from numbers import Integral
from typing import Any

import networkx as nx
import torch
from torch import Tensor

from graphscore.errors import SettingsError
from graphscore.graphs import NO_CONDITION, Condition
from graphscore.models.communities import (
    CommunityDistribution,
    CommunitySizes,
    community_tensor,
)
from graphscore.models.nodes import KnownNodes
from graphscore.models.resources import MOST_NODES, MOST_SAMPLES
from graphscore.models.sizes import SizeDistribution
from graphscore.settings import quoted


@dataclass(frozen=True)
class SampleRequest:
    """Graphs to generate.

    Attributes:
        sizes: (number,) int64, nodes of each.
        communities: of each, where the model is conditioned on them.
        nodes: of each with what they carry, where the model takes that.
    """

    sizes: Tensor
    communities: list[CommunitySizes] | None = None
    nodes: KnownNodes | None = None

    def chosen(self, places: Sequence[int]) -> SampleRequest:
        """Return the request for the graphs at these places, which may occur several times.

        >>> SampleRequest(torch.tensor([4, 7])).chosen([1, 1]).sizes.tolist()
        [7, 7]
        """
        communities, nodes = self.communities, self.nodes
        return SampleRequest(
            self.sizes[list(places)],
            None if communities is None else [communities[place] for place in places],
            None if nodes is None else nodes.chosen(places),
        )

    def condition(self, chosen: Tensor, nodes: int) -> Condition:
        """Return the condition of some of the graphs, padded to `nodes` nodes."""
        condition, places = NO_CONDITION, chosen.tolist()
        if self.communities is not None:
            partitions = [self.communities[index] for index in places]
            condition = replace(condition, communities=community_tensor(partitions, nodes))
        if self.nodes is not None:
            condition = replace(condition, node_feat=self.nodes.entries(places, nodes))
        return condition


def resolve_request(
    number: int,
    sizes: int | Sequence[int] | None,
    communities: Sequence[Sequence[int]] | None,
    known_sizes: SizeDistribution,
    known_communities: CommunityDistribution | None,
    nodes_of: Sequence[nx.Graph[Any]] | None = None,
    known_nodes: KnownNodes | None = None,
    *,
    random: Callable[[str], torch.Generator],
) -> SampleRequest:
    """Return what was asked for; the rest is drawn from the distribution of training graphs.

    Args:
        number: how many graphs.
        sizes: nodes of each, if asked for: one number for all, as many as there are graphs, or
            others to draw from, each with the same probability.
        communities: sizes of the communities of each, if asked for.
        known_sizes: of training graphs.
        known_communities: of training graphs, where a model is conditioned on them.
        nodes_of: graphs whose nodes, with what they carry, are asked for.
        known_nodes: of training graphs, where a model takes what nodes carry.
        random: source of what is drawn, by its name.

    Raises:
        SettingsError: what was asked for makes no sense.
        GraphDataError: a node of `nodes_of` lacks an attribute.

    >>> known = SizeDistribution({5: 1}), CommunityDistribution({(3, 2): 1})
    >>> random = lambda _: torch.Generator().manual_seed(0)
    >>> resolve_request(1, None, [(2, 2)], *known, random=random)
    SampleRequest(sizes=tensor([4]), communities=[(2, 2)], nodes=None)
    """
    check_number(number)
    if nodes_of is not None:
        return _told_nodes(number, nodes_of, known_nodes, alone=sizes is None is communities)
    if communities is not None:
        if known_communities is None:
            raise SettingsError(
                "this model is not conditioned on communities, so their sizes have no meaning. "
                "Train one with network.communities, or `graphscore train --communities`."
            )
        if sizes is not None:
            raise SettingsError("communities say how many nodes there are; leave out sizes.")
        given = _listed(communities)
        asked = [tuple(_whole_numbers(of_graph)) for of_graph in given]
        if len(asked) != number or not all(asked):
            wrong = next((of for of, fine in zip(given, asked) if not fine), communities)
            raise SettingsError(
                f"communities must be those of {number} graphs, each as whole numbers of nodes of "
                f"at least 1, such as {[(20, 25)] * min(number, 2)}; got {quoted(wrong)}."
            )
        return SampleRequest(_checked([sum(of_graph) for of_graph in asked]), asked)
    if sizes is None:
        nodes = known_sizes.draw(number, generator=random("sizes"))
    else:
        nodes = _asked_sizes(number, sizes, random)
    request = SampleRequest(nodes)
    if known_communities is not None:
        drawn = known_communities.draw(nodes, generator=random("communities"))
        request = replace(request, communities=drawn)
    if known_nodes is not None:
        request = replace(request, nodes=known_nodes.draw(nodes, generator=random("nodes")))
    return request


def _asked_sizes(number: int, sizes: Any, random: Callable[[str], torch.Generator]) -> Tensor:
    """Return the sizes that are asked for one by one, or draw them from others."""
    given = [sizes] if isinstance(sizes, Integral) else _listed(sizes)
    whole = _whole_numbers(given)
    if not whole or isinstance(sizes, bool):
        raise SettingsError(
            "sizes must be whole numbers of nodes of at least 1, such as 24 or range(20, 31); "
            f"got {quoted(sizes)}."
        )
    known = _checked(whole)
    if len(whole) == number:
        return known
    return known[torch.randint(len(known), (number,), generator=random("sizes"))]


def _told_nodes(
    number: int, graphs: Any, known: KnownNodes | None, *, alone: bool
) -> SampleRequest:
    """Return a request for the nodes of graphs."""
    if known is None:
        raise SettingsError(
            "this model takes nothing that nodes carry, so nodes_of has no meaning. Train the "
            "model 'edp-gnn' with node_type or node_features."
        )
    if not alone:
        raise SettingsError("nodes_of says how many nodes there are; leave out sizes.")
    given = _listed(graphs)
    if len(given) != number or not all(isinstance(graph, nx.Graph) and graph for graph in given):
        raise SettingsError(
            f"nodes_of must be {number} networkx graphs with nodes; got {quoted(graphs)}."
        )
    nodes = KnownNodes.of(given, known.schema)
    return SampleRequest(_checked([*nodes.sizes]), nodes=nodes)


def check_number(number: int, name: str = "number") -> None:
    """Refuse numbers of graphs to sample that make no sense.

    Raises:
        SettingsError: none, or too many to be held in memory; `name` says what gave the number.
    """
    if not 1 <= number <= MOST_SAMPLES:
        raise SettingsError(f"{name} {quoted(number)}: ask for 1 to {MOST_SAMPLES} graphs.")


def check_nodes(nodes: int) -> None:
    """Refuse a number of nodes of which no memory holds all pairs.

    Raises:
        SettingsError: it is more than `MOST_NODES`.
    """
    if nodes > MOST_NODES:
        raise SettingsError(
            f"{nodes} nodes are asked for, but a graph of more than {MOST_NODES} has too many "
            "pairs of nodes. Ask for fewer."
        )


def _checked(nodes: list[int]) -> Tensor:
    check_nodes(max(nodes))
    return torch.tensor(nodes)


def _listed(values: Any) -> list[Any]:
    """Return values once and for all, since some can be gone through only once; none of others."""
    try:
        return list(islice(values, MOST_SAMPLES + 1))  # some never end
    except TypeError:
        return []


def _whole_numbers(values: Any) -> list[int]:
    """Return values that are whole and at least 1; none if one is not."""
    given = _listed(values)
    try:
        whole = [int(value) for value in given]
        fine = all(number == value and number >= 1 for number, value in zip(whole, given))
    except (TypeError, ValueError, OverflowError):  # no numbers, or not finite
        return []
    return whole if fine else []
