"""Whether a graph has the property that all graphs of a family have by construction, or why not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

from graphscore.metrics.blocks import block_counts, dense_adjacency, find_blocks
from graphscore.metrics.disjoint_union import GraphUnion

if TYPE_CHECKING:  # networkx graphs take type arguments only in its stubs
    Validity = Callable[[nx.Graph[Any]], bool]
    Fault = Callable[[nx.Graph[Any]], str | None]

BLOCKS = (2, 5)
BLOCK_SIZES = (20, 40)
P_INSIDE, P_BETWEEN = 0.3, 0.005
"""The stochastic block models of the benchmark: number and sizes of blocks, edge probabilities."""

PUBLISHED_THRESHOLD = 0.9
SIGNIFICANCE = 0.01


@dataclass(frozen=True)
class Rule:
    """Tells valid graphs of a family, as a function, and what is wrong with the others.

    Attributes:
        name: of the function that says the same, for instance "is_tree".
        fault: the first thing wrong with a graph, in words that all graphs with that fault share;
            None for valid graphs.
    """

    name: str
    fault: Fault

    def __call__(self, graph: nx.Graph[Any]) -> bool:
        return self.fault(graph) is None


def validity_of(name: str) -> Rule | None:
    """Return the rule that tells valid graphs of a dataset's family; None if it has none.

    Example:
        >>> rule = validity_of("planar-spectre")
        >>> rule(nx.cycle_graph(4)), rule.fault(nx.complete_graph(5)), validity_of("ego-small")
        (True, 'not planar', None)
    """
    return _RULES.get(name.removesuffix("-spectre"))


def is_planar(graph: nx.Graph[Any]) -> bool:
    """Return whether a graph is connected and can be drawn without crossing edges.

    Raises:
        GraphDataError: the graph is directed, a multigraph or has self-loops.

    Example:
        >>> is_planar(nx.complete_graph(4)), is_planar(nx.complete_graph(5))
        (True, False)
    """
    return _fault_of_planar(graph) is None


def _fault_of_planar(graph: nx.Graph[Any]) -> str | None:
    if fault := _not_connected(graph):
        return fault
    return None if nx.check_planarity(graph)[0] else "not planar"


def is_tree(graph: nx.Graph[Any]) -> bool:
    """Return whether a graph is connected and has no cycle; a single node is a tree.

    Raises:
        GraphDataError: the graph is directed, a multigraph or has self-loops.

    Example:
        >>> is_tree(nx.path_graph(5)), is_tree(nx.cycle_graph(5))
        (True, False)
    """
    return _fault_of_tree(graph) is None


def _fault_of_tree(graph: nx.Graph[Any]) -> str | None:
    if fault := _not_connected(graph):
        return fault
    return None if graph.number_of_edges() < len(graph) else "with a cycle"


def is_lobster(graph: nx.Graph[Any]) -> bool:
    """Return whether a graph is a tree that becomes a path, or nothing, by removing leaves twice.

    Raises:
        GraphDataError: the graph is directed, a multigraph or has self-loops.

    Example:
        >>> is_lobster(nx.path_graph(5)), is_lobster(nx.balanced_tree(3, 3))
        (True, False)
    """
    return _fault_of_lobster(graph) is None


def _fault_of_lobster(graph: nx.Graph[Any]) -> str | None:
    if fault := _fault_of_tree(graph):
        return fault
    for _ in range(2):
        graph = graph.subgraph([node for node, degree in graph.degree if degree > 1])
    return None if all(degree <= 2 for _, degree in graph.degree) else "a tree, but no lobster"


def is_grid(graph: nx.Graph[Any], *, sides: tuple[int, int] | None = None) -> bool:
    """Return whether a graph is a two-dimensional grid of a by b nodes, a and b at least 2.

    Numbers of nodes and edges leave one a and b; distances to two neighbouring corners then give
    every node the only place it can have.

    Args:
        graph: the graph.
        sides: least and most nodes that a side may have, for instance (10, 19) for the grids of
            the dataset `grid`; any number of at least 2 if not given.

    Raises:
        GraphDataError: the graph is directed, a multigraph or has self-loops.

    Example:
        >>> grid = nx.grid_2d_graph(3, 4)
        >>> is_grid(grid), is_grid(grid, sides=(10, 19)), is_grid(nx.path_graph(4))
        (True, False, False)
    """
    return _fault_of_grid(graph, sides) is None


def _fault_of_grid(graph: nx.Graph[Any], sides: tuple[int, int] | None = None) -> str | None:
    if fault := _not_connected(graph):
        return fault
    # A grid has n = a b nodes and m = 2 a b - a - b edges, so a and b solve x^2 - (a + b) x + n.
    around = 2 * len(graph) - graph.number_of_edges()
    square = around**2 - 4 * len(graph)
    if square < 0 or isqrt(square) ** 2 != square:
        return "no grid has its numbers of nodes and edges"
    short, long = (around - isqrt(square)) // 2, (around + isqrt(square)) // 2
    least, most = (2, long) if sides is None else sides
    if short * long != len(graph):
        return "no grid has its numbers of nodes and edges"
    if not (max(2, least) <= short and long <= most):
        return "a side too short or too long"
    corners = [node for node, degree in graph.degree if degree == 2]
    if len(corners) != 4:  # said early, so that there are never more than four searches
        return "not four corners"
    distances = [nx.single_source_shortest_path_length(graph, corner) for corner in corners]
    placed = any(_is_placed(graph, distances[0], other, short, long) for other in distances[1:])
    return None if placed else "edges that no grid has"


def _is_placed(
    graph: nx.Graph[Any], first: dict[Any, int], second: dict[Any, int], short: int, long: int
) -> bool:
    """Whether distances to two corners at the ends of a long side put every node into the grid."""
    # From corners (0, 0) and (0, long - 1), node (x, y) is x + y and x + long - 1 - y away.
    places = {
        (first[node] + second[node] - (long - 1), first[node] - second[node] + (long - 1))
        for node in graph
    }
    # Edges need not be looked at: their ends differ by at most 1 in each distance, and if all these
    # sums are even then by 1 in both, so edges join neighbours in the grid, and their number is
    # right.
    return places == {(2 * x, 2 * y) for x in range(short) for y in range(long)}


@dataclass(frozen=True)
class BlockFit:
    """How well a graph agrees with the stochastic block models of the benchmark.

    Attributes:
        sizes: nodes of each block found, largest first.
        published: mean p-value of the published statistic; see `is_block_structured`.
        p_value: probability that a true graph has edge counts at least as unusual.
    """

    sizes: tuple[int, ...]
    published: float
    p_value: float


def fit_blocks(graph: nx.Graph[Any]) -> BlockFit:
    """Find the blocks of a graph and test its edge probabilities against 0.3 and 0.005.

    With p the share of pairs joined inside a block or between two, and p0 = 0.3 or 0.005, the
    published statistic is W = (p - p0)^2 / (p (1 - p) + 10^-6), read as chi-square with one degree
    of freedom; `published` is the mean of its p-values over the B x B matrix of blocks. It is meant
    as Wald's, but Wald's has the number of pairs as a factor: without it, W does not grow with the
    evidence, and what is compared is the relative size of the deviation. So true graphs have
    p-values near 1, a sixfold p between blocks still passes, and a pair of blocks without any edge
    has W = 25 and p-value 0, though one true pair in seven of 20 nodes each is like that.

    `p_value` is what the counts themselves say: with E_in of N_in pairs joined inside blocks and
    E_out of N_out between them, sum over both of (E - N p0)^2 / (N p0 (1 - p0)) is about chi-square
    with two degrees of freedom, whose tail is exp(-x/2).

    Raises:
        GraphDataError: the graph is directed, a multigraph or has self-loops.

    Example:
        >>> blocks = [nx.gnp_random_graph(30, 0.3, seed=seed) for seed in range(2)]
        >>> graph = nx.disjoint_union_all(blocks)
        >>> graph.add_edges_from([(0, 30), (7, 41), (11, 33), (20, 59)])
        >>> fit = fit_blocks(graph)
        >>> fit.sizes, fit.published > 0.9, fit.p_value > 0.01
        ((30, 30), True, True)
    """
    from scipy.special import erfc  # slow to import, so not before it is needed

    adj = dense_adjacency(graph)
    if not len(adj):
        return BlockFit((), 0.0, 0.0)
    sizes, edges = block_counts(adj, find_blocks(graph))
    # Both count every pair twice, which cancels in shares and is undone below.
    pairs = np.outer(sizes, sizes) - np.diag(sizes)
    inside = np.eye(len(sizes), dtype=bool)
    expected = np.where(inside, P_INSIDE, P_BETWEEN)
    share = edges / np.maximum(pairs, 1)
    statistic = (share - expected) ** 2 / (share * (1 - share) + 1e-6)
    deviation = 0.0
    for cells in (inside, ~inside):
        number, p = pairs[cells].sum() / 2, expected[cells].max(initial=0.0)
        if number:
            deviation += (edges[cells].sum() / 2 - number * p) ** 2 / (number * p * (1 - p))
    return BlockFit(
        sizes=tuple(sorted((int(size) for size in sizes), reverse=True)),
        published=float(erfc(np.sqrt(statistic / 2)).mean()),
        p_value=float(np.exp(-deviation / 2)),
    )


def is_block_structured(graph: nx.Graph[Any], *, calibrated: bool = False) -> bool:
    """Return whether a graph looks like a stochastic block model of the benchmark.

    It does if it falls into 2 to 5 blocks of 20 to 40 nodes each and the mean p-value of the
    published statistic is above 0.9, as in SPECTRE (Martinkus et al. 2022). The blocks are those
    of `find_blocks`; the published program takes them from the library graph-tool, by the same
    principle of least description length.

    Nine in ten true graphs pass; the others have a pair of blocks with hardly any edge between
    them, see `fit_blocks`. Published validities of this family are therefore not out of 100 %.

    Args:
        graph: the graph.
        calibrated: ask instead that the edge counts be ones that 99 in 100 true graphs have.

    Raises:
        GraphDataError: the graph is directed, a multigraph or has self-loops.

    Example:
        >>> is_block_structured(nx.gnp_random_graph(90, 0.1, seed=0))
        False
    """
    return _fault_of_blocks(graph, calibrated) is None


def _fault_of_blocks(graph: nx.Graph[Any], calibrated: bool = False) -> str | None:
    nodes = GraphUnion.of([graph]).node_count
    # A graph that cannot be split into blocks of such sizes need not be searched for them.
    if not BLOCKS[0] * BLOCK_SIZES[0] <= nodes <= BLOCKS[1] * BLOCK_SIZES[1]:
        return "too few or too many nodes"
    fit = fit_blocks(graph)
    if not BLOCKS[0] <= len(fit.sizes) <= BLOCKS[1]:
        return "too few or too many blocks"
    if max(fit.sizes) > BLOCK_SIZES[1]:
        return "a block too large"
    if min(fit.sizes) < BLOCK_SIZES[0]:
        return "a block too small"
    usual = fit.p_value > SIGNIFICANCE if calibrated else fit.published > PUBLISHED_THRESHOLD
    return None if usual else "edge probabilities"


def _not_connected(graph: nx.Graph[Any]) -> str | None:
    """What is wrong if not in one piece; anything but a simple graph is refused."""
    if not GraphUnion.of([graph]).node_count:
        return "no nodes"
    return None if nx.is_connected(graph) else "not connected"


_RULES = {
    "grid": Rule("is_grid", _fault_of_grid),
    "lobster": Rule("is_lobster", _fault_of_lobster),
    "planar": Rule("is_planar", _fault_of_planar),
    "sbm": Rule("is_block_structured", _fault_of_blocks),
    "tree": Rule("is_tree", _fault_of_tree),
}
