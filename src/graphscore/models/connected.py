"""New graphs that are connected: the others are drawn again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

import networkx as nx

from graphscore.errors import SamplingError
from graphscore.models.request import SampleRequest
from graphscore.models.sizes import in_words

MOST_DRAWS = 100
"""Graphs that are drawn in all for each connected one, before sampling gives up."""


class SampledGraphs(list["nx.Graph[Any]"]):
    """A list of new graphs with the number that was drawn in all (`drawn`).

    That is more than there are if only connected ones were kept.
    """

    def __init__(self, graphs: Iterable[nx.Graph[Any]] = (), drawn: int | None = None) -> None:
        super().__init__(graphs)
        self.drawn = len(self) if drawn is None else drawn


def connected_only(
    graphs: Sequence[nx.Graph[Any]],
    request: SampleRequest,
    draw: Callable[[SampleRequest, int], Sequence[nx.Graph[Any]]],
) -> SampledGraphs:
    """Draw graphs that are not connected again, with the sizes that they had, until all are.

    So the sizes are those asked for, and do not lean towards those that are connected more often.
    Each round draws about as many graphs as the first.

    Args:
        graphs: those drawn first.
        request: what was asked of them.
        draw: samples a request; also given the number of the round, from 1.

    Raises:
        SamplingError: some are still not connected after `MOST_DRAWS` draws for each graph.
    """
    kept = {place: graph for place, graph in enumerate(graphs) if nx.is_connected(graph)}
    number = drawn = len(graphs)
    for attempt in count(1):
        missing = [place for place in range(number) if place not in kept]
        if not missing:
            break
        places = missing * (number // len(missing))
        if drawn + len(places) > MOST_DRAWS * number:
            raise SamplingError(
                f"{drawn} graphs were drawn for {number} connected ones, and {len(missing)} of "
                f"these are still missing, of {in_words(request.sizes[missing])}. "
                "Leave out --connected (connected=True in Python), ask for sizes that the training "
                "graphs had, or train for longer."
            )
        for place, graph in zip(places, draw(request.chosen(places), attempt)):
            if place not in kept and nx.is_connected(graph):
                kept[place] = graph
        drawn += len(places)
    return SampledGraphs((kept[place] for place in range(number)), drawn)
