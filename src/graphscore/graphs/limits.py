"""Limits on what one call of `read_graphs` may take, and the count of what it has taken."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from numbers import Real
from typing import TypeVar

from graphscore.errors import GraphDataError, SettingsError
from graphscore.graphs.attributes import MOST_IGNORED, is_asked
from graphscore.graphs.repairs import Repairs, is_one, weight_change

MAX_NODES = 100_000
"""Nodes of one graph."""
MAX_TOTAL_NODES = 1_000_000
"""Nodes of all graphs; a node takes about 600 bytes, a graph with one node about 950."""
MAX_TOTAL_EDGES = 2_000_000
"""Edges of all graphs; an edge takes about 200 to 270 bytes."""
MAX_BYTES = 64 * 2**20
"""Bytes after decompression. They are held while they are checked, which takes up to three times
as much memory."""
MAX_SECONDS = 60.0
"""Time for one file or folder, until its graphs are built."""
CHECKING = 1 / 3
"""Share of the time in which all graphs have to be checked; building them can take twice as long,
and takes memory, so it does not begin when it could not end."""
BYTES_PER_FILE = 1024
"""What a file of a folder counts besides its contents: its name and its place in lists."""
BYTES_PER_VALUE = 16
"""What a number or text attribute of a node counts besides its place in the file."""
BYTES_PER_NAME = 100
"""Of memory; a name of a node that takes more of it counts besides its place in the file."""

Bytes = bytes | bytearray
"""The contents of a file."""
_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Limits:
    """What one call may take before it refuses the file.

    Attributes:
        max_nodes: nodes of one graph.
        max_total_nodes: nodes of all graphs.
        max_total_edges: edges of all graphs.
        max_bytes: bytes of all files after decompression.
        max_seconds: time.
    """

    max_nodes: int = MAX_NODES
    max_total_nodes: int = MAX_TOTAL_NODES
    max_total_edges: int = MAX_TOTAL_EDGES
    max_bytes: int = MAX_BYTES
    max_seconds: float = MAX_SECONDS

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            number = isinstance(value, Real) and not isinstance(value, bool)
            if not (number and value > 0):
                raise SettingsError(
                    f"{_option(name)} {value!r}: give a number of more than 0 ({name}=...)."
                )


def check_size(where: str, num_nodes: int, max_nodes: int | None) -> None:
    """Refuse a graph with more than `max_nodes` nodes.

    Raises:
        GraphDataError: it has more.
    """
    if max_nodes is not None and num_nodes > max_nodes:
        raise GraphDataError(
            f"{where}: {num_nodes} nodes, but at most {max_nodes} are allowed. If it is one large "
            "network, train on subgraphs cut out of it with --subgraphs 40 (in Python: "
            "graphscore.subgraphs(graph, 40)). Otherwise raise the limit with "
            f"--max-nodes {num_nodes} (in Python: max_nodes={num_nodes}), or remove the graph."
        )


class Reading:
    """One call of `read_graphs`: how it repairs, and what it has taken of its limits.

    Decoders tell it the size of every graph before the first one is built.

    Args:
        edge_attributes: names of those that are kept, where a format has them.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        repairs: Repairs | None = None,
        edge_attributes: Collection[str] = (),
    ) -> None:
        self.limits = limits = limits or Limits()
        self.repairs = repairs or Repairs()
        self.edge_attributes: Collection[str] = (
            (edge_attributes,) if isinstance(edge_attributes, str) else edge_attributes
        )
        self.ignored: dict[str, None] = {}  # names of edge attributes, in order
        self.bytes_left = limits.max_bytes
        self.nodes_left = limits.max_total_nodes
        self.edges_left = limits.max_total_edges
        self._end = time.monotonic() + limits.max_seconds * CHECKING
        self._late = "checking took more than a third of the"

    def tick(self, where: str) -> None:
        """Refuse to go on when the time is over; called within every loop over a file.

        Raises:
            GraphDataError: reading took more than `max_seconds`, or checking a third of it.
        """
        if time.monotonic() > self._end:
            raise GraphDataError(
                f"{where}: {self._late} {self.limits.max_seconds:g} seconds allowed. "
                f"{_remedy('max_seconds')}"
            )

    def timed(self, items: Iterable[_Item], where: str) -> Iterator[_Item]:
        """Yield the graphs that are being built, while there is time."""
        self._end += self.limits.max_seconds * (1 - CHECKING)
        self._late = "reading took more than the"
        for item in items:
            self.tick(where)
            yield item

    def add_bytes(self, where: str, number: int) -> None:
        """Count bytes that are read.

        Raises:
            GraphDataError: more than `max_bytes` in all.
        """
        self.bytes_left -= number
        if self.bytes_left < 0:
            raise self.too_many_bytes(where)

    def ignore(self, name: str) -> None:
        """Note that edges have an attribute which is not kept; the first ones are enough."""
        if len(self.ignored) < MOST_IGNORED and not is_asked(name, self.edge_attributes):
            self.ignored[name] = None

    def weigh(self, where: str, tail: object, head: object, weight: object) -> str | None:
        """Return the repair that an edge needs for its weight, as `weight_change` does.

        A weight that is not asked for is ignored if other attributes of edges are asked for.

        Raises:
            GraphDataError: as `weight_change`.
        """
        if is_asked("weight", self.edge_attributes):
            return None
        if self.edge_attributes and not self.repairs.drops_weights:
            if not is_one(weight):
                self.ignore("weight")
            return None
        return weight_change(where, tail, head, weight, self.repairs)

    def add_name(self, where: str, name: str) -> None:
        """Count the name of a node, which is held until its graph is built, if it is a long one.

        Raises:
            GraphDataError: more than `max_bytes` in all.
        """
        if (taken := sys.getsizeof(name)) > BYTES_PER_NAME:
            self.add_bytes(where, taken)

    def too_many_bytes(self, where: str) -> GraphDataError:
        """Return the error for more than `max_bytes`."""
        return GraphDataError(
            f"{where}: more than {self.limits.max_bytes} bytes (after decompression, all files of "
            f"a folder together). {_remedy('max_bytes')}"
        )

    def add_graph(self, where: str, num_nodes: int, num_edges: int) -> None:
        """Count a graph, before it is built.

        Raises:
            GraphDataError: the graph is too large, or all graphs together are.
        """
        self.check_nodes(where, num_nodes)
        self.nodes_left -= num_nodes
        self.check_edges(where, num_edges)
        self.edges_left -= num_edges

    def check_nodes(self, where: str, num_nodes: int) -> None:
        """Refuse a graph by its nodes alone, before memory is taken for them.

        Raises:
            GraphDataError: the graph is too large, or all graphs together are.
        """
        check_size(where, num_nodes, self.limits.max_nodes)
        self.check_total_nodes(where, num_nodes)

    def check_growing(self, where: str, num_nodes: int) -> None:
        """Refuse a graph whose nodes are still being counted.

        Raises:
            GraphDataError: it is too large for any limit; otherwise the whole number is told
                later, so that the message can name it.
        """
        if num_nodes > MAX_NODES:
            self.check_nodes(where, num_nodes)

    def check_total_nodes(self, where: str, num_nodes: int) -> None:
        """Refuse nodes of any number of graphs, before memory is taken for them.

        Raises:
            GraphDataError: all graphs together are too large.
        """
        if num_nodes > self.nodes_left:
            raise _too_many(where, "nodes", self.limits.max_total_nodes)

    def check_edges(self, where: str, num_edges: int) -> None:
        """Refuse a graph by its edges alone, before memory is taken for them.

        Raises:
            GraphDataError: all graphs together have too many.
        """
        if num_edges > self.edges_left:
            raise _too_many(where, "edges", self.limits.max_total_edges)


def _too_many(where: str, what: str, limit: int) -> GraphDataError:
    return GraphDataError(
        f"{where}: more than {limit} {what} in all graphs up to this one. "
        f"{_remedy(f'max_total_{what}')}"
    )


def _option(name: str) -> str:
    return "--max-read-seconds" if name == "max_seconds" else "--" + name.replace("_", "-")


def _remedy(name: str) -> str:
    return f"Raise the limit with {_option(name)} (in Python: {name}=...), or split the data."
