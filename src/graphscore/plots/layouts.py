"""Where nodes are drawn: by graph distances, and planar graphs without crossings."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
from networkx.algorithms import planar_drawing
from numpy.typing import NDArray

Points = NDArray[np.float64]
Pairs = NDArray[np.int64]

MOST_PLANAR_NODES, MOST_SPREAD_NODES = 500, 150
"""Nodes of a graph up to which a drawing without crossings is looked for, and up to which one is
made that is not by distances."""
SWEEPS = 100
"""How often all nodes of a planar drawing are moved."""
STEP, SPEED = 0.2, 0.1
"""Largest move in lengths of an edge, and the move that a force of one makes."""
NEAR = 0.4
"""Distance of a node from an edge, in lengths of an edge, at which it is pushed away."""
ADDED_PULL = 0.3
"""Pull of an edge that is not in the graph, where one of the graph has 1."""


def layout(graph: nx.Graph[Any]) -> dict[Any, Points]:
    """Return node positions by graph distances (Kamada and Kawai), components side by side.

    Planar graphs, trees among them, are drawn without crossings.
    """
    if graph.number_of_nodes() < 2:
        return {node: np.zeros(2) for node in graph}
    nodes = {node: number for number, node in enumerate(graph)}
    distances = _distances(graph)
    edges = np.array([(nodes[u], nodes[v]) for u, v in graph.edges], dtype=np.int64).reshape(-1, 2)
    points = _kamada_kawai(graph, distances)
    planar, embedding = nx.check_planarity(graph)
    if planar and len(graph) <= MOST_PLANAR_NODES and crossings(points, edges):
        start = _barycentric(graph, embedding)
        loose = _kamada_kawai(graph, distances, start)
        if not crossings(loose, edges):
            points = loose
        elif len(graph) <= MOST_SPREAD_NODES:
            points = _spread(start, edges)
    return dict(zip(graph, points))


def _distances(graph: nx.Graph[Any]) -> Points:
    """Return distances between all nodes, those of other components slightly above the largest."""
    found = np.array(nx.floyd_warshall_numpy(graph, weight=None), dtype=np.float64)
    finite = np.isfinite(found)
    return np.where(finite, found, found[finite].max() + 1.5)


def _kamada_kawai(graph: nx.Graph[Any], distances: Points, start: Points | None = None) -> Points:
    full = {u: dict(zip(graph, row)) for u, row in zip(graph, distances.tolist())}
    given = None if start is None else dict(zip(graph, start))
    where = nx.kamada_kawai_layout(graph, dist=full, pos=given)
    return np.array([where[node] for node in graph])


def _barycentric(graph: nx.Graph[Any], embedding: Any) -> Points:
    """Return Tutte's drawing: the largest face is a circle, other nodes amid their neighbours.

    Faces are cut into triangles first, by edges that pull less, so that nothing falls together.
    """
    triangles, face = planar_drawing.triangulate_embedding(embedding, False)
    number = {node: k for k, node in enumerate(graph)}
    pull = np.zeros((len(graph), len(graph)))
    for u, v in triangles.edges:
        pull[number[u], number[v]] = 1.0 if graph.has_edge(u, v) else ADDED_PULL
    outer = np.array([number[node] for node in face])
    inner = np.setdiff1d(np.arange(len(graph)), outer)
    angles = 2 * np.pi * np.arange(len(outer)) / len(outer)
    points = np.zeros((len(graph), 2))
    points[outer] = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    laplacian = np.diag(pull.sum(1)) - pull
    points[inner] = np.linalg.solve(
        laplacian[np.ix_(inner, inner)], pull[np.ix_(inner, outer)] @ points[outer]
    )
    return points


def _spread(points: Points, edges: Pairs) -> Points:
    """Move nodes apart and edges to equal lengths, and make no crossing (Bertault 2000).

    A node moves by at most a third of its distance to each edge, and so do the ends of the edge.
    """
    length = float(np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1).mean())
    ends = np.zeros((len(points), len(edges)), dtype=bool)
    for side in (0, 1):
        ends[edges[:, side], np.arange(len(edges))] = True
    for _ in range(SWEEPS):
        gaps = _gaps(points, edges)
        distances = np.where(ends, np.inf, np.linalg.norm(gaps, axis=2))
        room = distances.min(1)
        for side in (0, 1):
            np.minimum.at(room, edges[:, side], distances.min(0))
        force = _force(points, edges, length)
        away = gaps * ((NEAR * length / np.maximum(distances, 1e-6 * length)) ** 4)[:, :, None]
        force -= away.sum(1)
        for side in (0, 1):
            np.add.at(force, edges[:, side], away.sum(0) / 2)
        size = np.linalg.norm(force, axis=1)
        allowed = np.minimum(room / 3, STEP * length)
        points = points + force * np.minimum(SPEED, allowed / np.maximum(size, 1e-12))[:, None]
    return points


def _force(points: Points, edges: Pairs, length: float) -> Points:
    """Return what pulls each node: long edges, and away from other nodes."""
    between = points[:, None] - points[None]
    squared = (between**2).sum(2) + 1e-9
    force: Points = (between * (length**4 / squared**2)[:, :, None]).sum(1)
    along = points[edges[:, 0]] - points[edges[:, 1]]
    pull = along * (np.linalg.norm(along, axis=1) / length)[:, None]
    np.add.at(force, edges[:, 0], -pull)
    np.add.at(force, edges[:, 1], pull)
    return force


def _gaps(points: Points, edges: Pairs) -> Points:
    """Return (N,M,2) vectors from each node to the nearest point of each edge."""
    start, end = points[edges[:, 0]], points[edges[:, 1]]
    along = end - start
    square = np.maximum((along**2).sum(1), 1e-18)
    share = ((points[:, None] - start[None]) * along[None]).sum(2) / square
    nearest: Points = start[None] + np.clip(share, 0, 1)[:, :, None] * along[None]
    return nearest - points[:, None]


def crossings(points: Points, edges: Pairs) -> int:
    """Return how many pairs of edges cross or touch beside their common nodes.

    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> crossings(square, np.array([[0, 2], [1, 3]])), crossings(square, np.array([[0, 1], [2, 3]]))
    (1, 0)
    """
    one, other = np.triu_indices(len(edges), 1)
    return int(_cross(points, edges[one], edges[other]).sum())


def _cross(points: Points, one: Pairs, other: Pairs) -> NDArray[np.bool_]:
    """Whether edges cross, pair by pair."""
    a, b, c, d = points[one[:, 0]], points[one[:, 1]], points[other[:, 0]], points[other[:, 1]]
    apart = _side(a, b, c) * _side(a, b, d) > 0
    apart |= _side(c, d, a) * _side(c, d, b) > 0
    common = (one[:, :, None] == other[:, None, :]).any((1, 2))
    crossing: NDArray[np.bool_] = ~apart & ~common
    return crossing


def _side(a: Points, b: Points, c: Points) -> Points:
    """On which side of the line from a to b there is c."""
    return (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
