"""The argument DATA: a dataset, with or without a split, or a path to graphs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from graphscore.cli.option_types import Flag, WholeNumber
from graphscore.streams import say

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import networkx as nx

    from graphscore.graphs import AttributeSettings, GraphList, PackedGraphs

FORMATS = (
    "graph6, sparse6, json, jsonl, cytoscape, npz, npy, matrixmarket, csv, tsv, graphml, gml, "
    "edgelist, adjlist, gexf, pajek, digress, smiles, sdf, tu"
)
"""Names of file formats for help; a test compares them with `graphscore.graphs.formats`, which
is not imported here because it imports torch."""
MAX_TOTAL_NODES, MAX_TOTAL_EDGES, MAX_BYTES = 1_000_000, 2_000_000, 64 * 2**20
MAX_READ_SECONDS = 60.0
"""Limits; a test compares them with `graphscore.graphs.limits`, for the same reason."""
FormatName = Annotated[
    str | None, Parameter(help=f"File format ({FORMATS}); by default it follows from the name.")
]


@Parameter(name="*", group=Group("Reading graphs", sort_key=2))
@dataclass(frozen=True)
class ReadingOptions:
    """How graphs are read and repaired."""

    format: FormatName = None
    max_nodes: WholeNumber | None = None
    """Refuse graphs with more nodes than this. [default: 200 in train and bench, else 100000]"""
    max_total_nodes: WholeNumber = MAX_TOTAL_NODES
    """Refuse files whose graphs have more nodes than this together."""
    max_total_edges: WholeNumber = MAX_TOTAL_EDGES
    """Refuse files whose graphs have more edges than this together."""
    max_bytes: WholeNumber = MAX_BYTES
    """Refuse files of more bytes than this after decompression, all files of a folder together."""
    max_read_seconds: float = MAX_READ_SECONDS
    """Refuse files that take longer to read than this; checking them has a third of the time."""
    drop_self_loops: Flag = False
    """Drop self-loops instead of refusing the graph."""
    undirected: Flag = False
    """Read directed graphs as undirected ones."""
    largest_component: Flag = False
    """Keep only the largest connected component of each graph."""
    data_dir: Path | None = None
    """Folder of the source files of datasets that need a download (or set GRAPHSCORE_DATA)."""


READING = ReadingOptions()
"""Nothing but the defaults."""
MAX_NODES = 200
"""Memory and time grow with the square of the nodes; larger graphs need a deliberate choice."""


def load(
    data: str,
    options: ReadingOptions,
    *,
    split: str,
    max_nodes: int | None = None,
    edge_attributes: Collection[str] = (),
    structure_only: bool = False,
) -> Sequence[nx.Graph[Any]]:
    """Read graphs from a dataset (`NAME` or `NAME:SPLIT`) or a path.

    Args:
        split: split of a dataset that is given without one.
        max_nodes: of a graph, where the options do not say it.
        edge_attributes: names of those that are kept. Other weights are left out of a dataset, and
            refused in files.
        structure_only: leave weights out of files too.
    """
    from graphscore.datasets import list_datasets, load_dataset
    from graphscore.errors import DatasetError, did_you_mean
    from graphscore.graphs import Repairs, prepare_graphs, read_graphs

    if options.max_nodes is not None:
        max_nodes = options.max_nodes
    repairs = Repairs(
        drop_self_loops=options.drop_self_loops,
        undirected=options.undirected,
        largest_component=options.largest_component,
    )
    name, _, chosen = data.partition(":")
    names = [info.name for info in list_datasets()]
    left_out = structure_only or name in names
    read = {*edge_attributes, "weight"} if left_out else edge_attributes
    if name in names:
        graphs = load_dataset(name, data_dir=options.data_dir).split(chosen or split)
        clean = prepare_graphs(
            graphs,
            repairs=repairs,
            max_nodes=max_nodes,
            source=data,
            edge_attributes=read,
        )
    elif not _looks_like_a_path(data):
        raise DatasetError(
            f"{data!r} is neither a file, a folder nor a dataset.{did_you_mean(name, names)} "
            f"Datasets: {', '.join(names)} (each with :train, :val or :test)."
        )
    else:
        clean = read_graphs(
            data,
            format=options.format,
            repairs=repairs,
            max_nodes=max_nodes,
            max_total_nodes=options.max_total_nodes,
            max_total_edges=options.max_total_edges,
            max_bytes=options.max_bytes,
            max_seconds=options.max_read_seconds,
            edge_attributes=read,
        )
    if left_out:
        clean = _keeping(clean, edge_attributes)
    for repair, count in clean.repaired.items():
        say(f"{data}: {repair} in {count} of {len(clean)} graphs")
    return clean


def load_to_compare(
    data: str, options: ReadingOptions, *, split: str, names: AttributeSettings
) -> Sequence[nx.Graph[Any]]:
    """Read graphs to be compared; that they have weights that are not compared is said.

    Args:
        split: split of a dataset that is given without one.
        names: attributes that are compared.
    """
    graphs = load(data, options, split=split, edge_attributes=("weight", *names.of_edges))
    if "weight" not in names.of_edges and _is_weighted(graphs):
        say(f"{data}: weights of edges are not compared")
    return graphs


def _keeping(
    graphs: GraphList | PackedGraphs, edge_attributes: Collection[str]
) -> GraphList | PackedGraphs:
    """Return new graphs, of whose edges no other attributes are left than these."""
    from graphscore.graphs import PackedGraphs

    if isinstance(graphs, PackedGraphs):
        return graphs.keeping(edge_attributes)
    of_edges = [data for graph in graphs for *_, data in graph.edges(data=True)]
    names = dict.fromkeys(name for data in of_edges for name in data)
    others = [name for name in names if name not in edge_attributes]
    for name in others:
        for data in of_edges:
            data.pop(name, None)
    graphs.ignored += others
    return graphs


def _is_weighted(graphs: Sequence[nx.Graph[Any]]) -> bool:
    from graphscore.graphs import PackedGraphs

    if isinstance(graphs, PackedGraphs):  # whose attributes are types
        return "weight" in graphs.edge_types
    weights = (weight for graph in graphs for *_, weight in graph.edges(data="weight", default=1))
    return any(weight != 1 for weight in weights)


def carried_by(data: str, options: ReadingOptions) -> dict[str, str]:
    """Return what a dataset, or any file of this format, carries, as arguments of `fit`."""
    from graphscore.datasets import list_datasets
    from graphscore.graphs.files import always_carried

    of_datasets = {info.name: info.attributes for info in list_datasets()}
    carried = of_datasets.get(data.partition(":")[0])
    if carried is not None:
        return carried
    return always_carried(data, format=options.format).model_dump(exclude_defaults=True)


def _looks_like_a_path(data: str) -> bool:
    try:
        exists = Path(data).exists()
    except PermissionError:  # reading it says so
        return True
    except OSError:  # not a possible file name
        return False
    return exists or bool(Path(data).suffix) or "/" in data
