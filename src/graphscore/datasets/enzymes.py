"""Enzymes: the graphs of the TU collection ENZYMES that published results use, with node labels."""

from __future__ import annotations

from os import PathLike
from typing import Any

import networkx as nx

from graphscore.datasets.dataset import DatasetInfo
from graphscore.datasets.download import Archive, fetch

MIN_NODES, MAX_NODES = 10, 125
LABEL = "label"
"""Node attribute: 1, 2 or 3, the kind of secondary structure element."""

ARCHIVE = Archive(
    folder="ENZYMES",
    url="https://www.chrsmrrs.com/graphkerneldatasets/ENZYMES.zip",
    sha256={
        "ENZYMES_A.txt": "5553c84f8f562f3e199dfd27192174f485e85c44c1357661098668937a739cbf",
        "ENZYMES_graph_indicator.txt": (
            "95ba0fa47eba6f02e6b754a215dc66d5b49de3f45f57a128514301a8d7ed5f46"
        ),
        "ENZYMES_node_labels.txt": (
            "8263eb9b64efa231a5886343483ccfc0342f2407014763a8f738fd51c32ce770"
        ),
    },
)

INFO = DatasetInfo(
    name="enzymes",
    description="Protein structure graphs: the 587 of the 600 in ENZYMES that have 10 to 125 nodes "
    "when nodes without edges are dropped, in the order of the collection, as in Jo et al. 2022; "
    "as there, the first 117 are the test part. Nodes are secondary structure elements of three "
    "kinds, with attribute 'label'.",
    num_graphs=587,
    min_nodes=MIN_NODES,
    max_nodes=MAX_NODES,
    source="ENZYMES of the TU collection (Morris et al. 2020; Borgwardt et al. 2005; Schomburg et "
    f"al. 2004), {ARCHIVE.url}",
    licence="not stated by the TU collection; the files are downloaded, not redistributed",
    needs_download=True,
    node_type=LABEL,
)


def load(data_dir: str | PathLike[str] | None = None) -> list[nx.Graph[Any]]:
    """Return the graphs in the order of the collection.

    The files hold both directions of every edge once, and no self-loops.

    Args:
        data_dir: folder that holds (or will hold) `ENZYMES/`; see `data_folder`.

    Raises:
        DatasetError: the source files are damaged, or are absent and cannot be downloaded.

    Example:
        >>> load("/path/to/data")  # doctest: +SKIP
        [<networkx.classes.graph.Graph object at ...>, ...]
        >>> INFO.attributes
        {'node_type': 'label'}
    """
    folder = fetch(ARCHIVE, data_dir)
    # Imported here because it imports torch, which listing datasets does not need.
    from graphscore.graphs import read_graphs

    graphs = map(_without_isolated_nodes, read_graphs(folder, format="tu"))
    return [graph for graph in graphs if MIN_NODES <= len(graph) <= MAX_NODES]


def _without_isolated_nodes(graph: nx.Graph[Any]) -> nx.Graph[Any]:
    """Return nodes with edges and their labels; other files of the collection add nothing."""
    number = {node: k for k, node in enumerate(v for v, degree in graph.degree() if degree)}
    kept: nx.Graph[Any] = nx.Graph()
    for node, k in number.items():
        kept.add_node(k, **{LABEL: graph.nodes[node][LABEL]})
    kept.add_edges_from((number[u], number[v]) for u, v in graph.edges())
    return kept
