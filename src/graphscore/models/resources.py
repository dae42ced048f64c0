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

BYTES_PER_EDGE = 300
"""That a networkx graph takes for an edge."""
_REMEDY = "Ask for smaller graphs with --nodes or --communities (sizes or communities in Python)."

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


def weight_bytes(network: nn.Module) -> int:
    """Return what the weights of a network take, which may be a blank one."""
    return sum(tensor.nbytes for tensor in network.state_dict().values())


@contextmanager
def fits_memory(nodes: int, bytes_per_pair: float, device: torch.device) -> Iterator[None]:
    """Refuse to sample a graph that does not fit in memory, before or when it turns out.

    Args:
        nodes: of the largest graph.
        bytes_per_pair: that sampling takes at least for one entry of its matrix.
        device: where.

    Raises:
        SamplingError: it does not fit.
    """
    needed, available = nodes**2 * bytes_per_pair, available_memory(device)
    if available is not None and needed > available:
        raise SamplingError(
            f"out of memory: a graph of {nodes} nodes takes {needed / 1e9:.3g} GB at least, but "
            f"{available / 1e9:.3g} GB are available on {device}. {_REMEDY}"
        )
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise SamplingError(
            f"out of memory on {device} while graphs of up to {nodes} nodes were sampled. {_REMEDY}"
        ) from None
