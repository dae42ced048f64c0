"""Protein: the graphs of the TU collection PROTEINS_full that have 20 to 30 nodes."""

from __future__ import annotations

from os import PathLike
from typing import Any

import networkx as nx

from graphscore.datasets.dataset import DatasetInfo
from graphscore.datasets.download import Archive, fetch

MIN_NODES, MAX_NODES = 20, 30

ARCHIVE = Archive(
    folder="PROTEINS_full",
    url="https://www.chrsmrrs.com/graphkerneldatasets/PROTEINS_full.zip",
    sha256={
        "PROTEINS_full_A.txt": "4c4b33e272fc95cac6d27ed6d5d12b9a852c8610e91fff59f8f0dbdd5a20df67",
        "PROTEINS_full_graph_indicator.txt": (
            "8d4ff1e852a5c28561e9bffb44cf9490bc552b13a3b6156dd12dc7f44e9afc4a"
        ),
    },
)

INFO = DatasetInfo(
    name="protein",
    description="Protein structure graphs with 20 to 30 nodes (secondary structure elements).",
    num_graphs=269,
    min_nodes=MIN_NODES,
    max_nodes=MAX_NODES,
    source="PROTEINS_full of the TU collection (Morris et al. 2020; Borgwardt et al. 2005; "
    f"Dobson and Doig 2003), {ARCHIVE.url}",
    licence="not stated by the TU collection; the files are downloaded, not redistributed",
    needs_download=True,
)


def load(data_dir: str | PathLike[str] | None = None) -> list[nx.Graph[Any]]:
    """Return the graphs with 20 to 30 nodes, in the order of the collection, structure only.

    Args:
        data_dir: folder that holds (or will hold) `PROTEINS_full/`; see `data_folder`.

    Raises:
        DatasetError: the source files are damaged, or are absent and cannot be downloaded.

    Example:
        >>> load("/path/to/data")  # doctest: +SKIP
        [<networkx.classes.graph.Graph object at ...>, ...]
        >>> INFO.num_graphs
        269
    """
    folder = fetch(ARCHIVE, data_dir)
    # Imported here because it imports torch, which listing datasets does not need.
    from graphscore.graphs import read_graphs

    graphs = read_graphs(folder, format="tu")
    return [_plain(graph) for graph in graphs if MIN_NODES <= len(graph) <= MAX_NODES]


def _plain(graph: nx.Graph[Any]) -> nx.Graph[Any]:
    """Drop attributes, so that optional label files in the folder do not change the dataset."""
    plain: nx.Graph[Any] = nx.empty_graph(len(graph))
    plain.add_edges_from(graph.edges())
    return plain
