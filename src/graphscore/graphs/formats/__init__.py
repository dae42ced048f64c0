"""File formats: one module per format, and `FORMATS`, the table of all of them.

A format decodes bytes into graphs and encodes clean graphs into bytes. `decode` checks all graphs
and tells their sizes to a `Reading` at once; it returns an iterator that builds them. So nothing
that is refused has taken more memory than its bytes. `graphscore.graphs.files` reads and writes the
files. To add a format, write its module and add one entry to `FORMATS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx

from graphscore.graphs.attributes import NOTHING, AttributeSettings
from graphscore.graphs.formats import (
    adjacency_list,
    digress,
    edge_list,
    gexf,
    gml,
    graph6,
    graphml,
    matrix_files,
    matrix_market,
    node_link,
    npz,
    pajek,
    sdf,
    smiles,
    table,
    tu,
)
from graphscore.graphs.limits import Bytes, Reading
from graphscore.graphs.molecules import MOLECULES
from graphscore.graphs.validation import Candidate

Decode = Callable[[Bytes, str, Reading], Iterator[Candidate]]


@dataclass(frozen=True)
class ManyPerFile:
    """A format whose single file holds any number of graphs.

    Attributes:
        suffixes: endings of file names, in lower case.
        decode: function of the bytes, the file's name (for errors) and the limits.
        encode: function of graphs on nodes 0..n-1; None for formats that are only read.
        compressed: whether the format is compressed already, so that .gz is refused.
        keeps_attributes: whether it has those of nodes and edges that are numbers or texts.
        always: attributes that all graphs have in it, and no others.
    """

    suffixes: tuple[str, ...]
    decode: Decode
    encode: Callable[[Sequence[nx.Graph[Any]]], bytes] | None = None
    compressed: bool = False
    keeps_attributes: bool = False
    always: AttributeSettings = NOTHING


@dataclass(frozen=True)
class OnePerFile:
    """A format with one graph per file; several graphs are a folder of files.

    Attributes:
        encode: function of a graph on nodes 0..n-1; None for formats that are only read.
        keeps_attributes: whether it has those of nodes and edges that are numbers or texts.
    """

    suffixes: tuple[str, ...]
    decode: Decode
    encode: Callable[[nx.Graph[Any]], bytes] | None = None
    keeps_attributes: bool = False


@dataclass(frozen=True)
class WholeFolder:
    """A format whose graphs are spread over the files of a folder.

    Attributes:
        required: endings of the file names by which such a folder is recognised.
        optional: endings of further files that are read.
        decode: function of the contents by file name, the folder's name (for errors) and the
            limits.
        encode: function of the folder's name and graphs; returns contents by file name.
        of_edges: the edge attribute that a further file holds, by the ending of its name; it is
            read if that is asked for.
        keeps_attributes: whether it has some of nodes and edges.
    """

    required: tuple[str, ...]
    optional: tuple[str, ...]
    decode: Callable[[Mapping[str, Bytes], str, Reading], Iterator[Candidate]]
    encode: Callable[[str, Sequence[nx.Graph[Any]]], dict[str, bytes]]
    of_edges: Mapping[str, str]
    keeps_attributes: bool = False
    suffixes: tuple[str, ...] = ()


Format = ManyPerFile | OnePerFile | WholeFolder

FORMATS: dict[str, Format] = {
    "graph6": ManyPerFile((".g6",), graph6.decode_lines, graph6.encode_graph6),
    "sparse6": ManyPerFile((".s6",), graph6.decode_lines, graph6.encode_sparse6),
    "json": ManyPerFile(
        (".json",), node_link.decode_json, node_link.encode_json, keeps_attributes=True
    ),
    "jsonl": ManyPerFile(
        (".jsonl",), node_link.decode_json, node_link.encode_lines, keeps_attributes=True
    ),
    "cytoscape": ManyPerFile((".cyjs",), node_link.decode_json),
    "npz": ManyPerFile(
        (".npz",), npz.decode_npz, npz.encode_npz, compressed=True, keeps_attributes=True
    ),
    "npy": ManyPerFile((".npy",), matrix_files.decode_npy),
    "matrixmarket": OnePerFile((".mtx",), matrix_market.decode_matrix_market),
    "csv": ManyPerFile((".csv",), table.decode_table, table.encode_csv, keeps_attributes=True),
    "tsv": ManyPerFile((".tsv",), table.decode_table, table.encode_tsv, keeps_attributes=True),
    "graphml": OnePerFile((".graphml",), graphml.decode_graphml, graphml.encode_graphml, True),
    "gml": OnePerFile((".gml",), gml.decode_gml, gml.encode_gml, True),
    "edgelist": OnePerFile(
        (".edges", ".edgelist", ".txt"), edge_list.decode_edge_list, edge_list.encode_edge_list
    ),
    "adjlist": OnePerFile((".adjlist",), adjacency_list.decode_adjacency_list),
    "gexf": OnePerFile((".gexf",), gexf.decode_gexf),
    "pajek": OnePerFile((".net", ".paj"), pajek.decode_pajek),
    "digress": ManyPerFile((), digress.decode_digress),
    "smiles": ManyPerFile(
        (".smi", ".smiles"),
        smiles.decode_smiles,
        smiles.encode_smiles,
        keeps_attributes=True,
        always=MOLECULES,
    ),
    "sdf": ManyPerFile(
        (".sdf", ".mol"), sdf.decode_sdf, sdf.encode_sdf, keeps_attributes=True, always=MOLECULES
    ),
    "tu": WholeFolder(
        (tu.ARCS, tu.INDICATOR),
        (tu.LABELS, tu.ATTRIBUTES),
        tu.decode_tu,
        tu.encode_tu,
        tu.OF_EDGES,
        keeps_attributes=True,
    ),
}
"""Formats by the name that `format` takes."""
