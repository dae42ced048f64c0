"""How much a model may take: parameters, nodes, memory; checked before anything is allocated.

Settings come from a user, and a model perhaps from a stranger. Networks are first built on torch's
device "meta", where tensors have shapes and no memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import torch
from torch import nn

from graphscore.errors import SamplingError, SettingsError
from graphscore.training.memory import available_memory, is_out_of_memory

MOST_PARAMETERS = 100_000_000
"""Of a network: 400 MB, and four times that while it is trained. Those that come with graphscore
have less than a million."""
MOST_NODES = 20_000
"""Of a graph: one number for each pair of its nodes takes 1.6 GB."""
MOST_SAMPLES = 10_000_000
"""Graphs sampled at once: as objects, even tiny ones take 20 GB."""

BYTES_PER_EDGE = 300
"""That a networkx graph takes for an edge."""
_REMEDY = (
    "Ask for fewer graphs, or for smaller ones with --nodes or --communities (sizes or communities "
    "in Python)."
)

Network = TypeVar("Network", bound=nn.Module)


def build_network(make: Callable[[], Network], *, blank: bool) -> Network:
    """Return the network that `make` returns, unless it is too large.

    Args:
        make: called twice; has to return the same each time.
        blank: without memory, to learn the shapes of its weights, or to load them later.

    Raises:
        SettingsError: it has more than `MOST_PARAMETERS`; nothing was allocated.
    """
    with torch.device("meta"):
        network = make()
    parameters = sum(parameter.numel() for parameter in network.parameters())
    if parameters > MOST_PARAMETERS:
        raise SettingsError(
            f"a network of these settings has {parameters} parameters, but at most "
            f"{MOST_PARAMETERS} are allowed. Make it narrower or less deep."
        )
    return network if blank else make()


@contextmanager
def fits_memory(
    nodes: int, bytes_per_pair: float, edges: float, device: torch.device
) -> Iterator[None]:
    """Refuse to sample graphs that do not fit in memory, before or when it turns out.

    Args:
        nodes: of the largest graph.
        bytes_per_pair: that sampling takes at least for one entry of its matrix.
        edges: that are expected in all graphs together, which the host's memory holds in the end.
        device: where they are sampled.

    Raises:
        SamplingError: they do not fit.
    """
    needs = {torch.device("cpu"): edges * BYTES_PER_EDGE}
    needs[device] = needs.get(device, 0.0) + nodes**2 * bytes_per_pair
    for place, needed in needs.items():
        available = available_memory(place)
        if available is not None and needed > available:
            raise SamplingError(
                f"out of memory: graphs of up to {nodes} nodes take {needed / 1e9:.3g} GB at "
                f"least, but {available / 1e9:.3g} GB are available on {place}. {_REMEDY}"
            )
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise SamplingError(
            f"out of memory on {device} while graphs of up to {nodes} nodes were sampled. {_REMEDY}"
        ) from None
