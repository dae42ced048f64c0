"""Graphs as networkx objects, as padded tensors and as files, and the checks between them."""

from graphscore.graphs.attributes import NOTHING, AttributeSettings, given_names
from graphscore.graphs.batch import GraphBatch
from graphscore.graphs.condition import NO_CONDITION, Condition
from graphscore.graphs.cutting import subgraphs
from graphscore.graphs.files import read_graphs, write_graphs
from graphscore.graphs.given import prepare_graphs
from graphscore.graphs.packed import PackedGraphs, sizes_of
from graphscore.graphs.pyg import to_pyg
from graphscore.graphs.repairs import Repairs
from graphscore.graphs.schema import Schema
from graphscore.graphs.state import GraphState, node_mask_of_sizes, pair_mask
from graphscore.graphs.validation import COMMUNITY, GraphList

__all__ = [
    "COMMUNITY",
    "NOTHING",
    "NO_CONDITION",
    "AttributeSettings",
    "Condition",
    "GraphBatch",
    "GraphList",
    "GraphState",
    "PackedGraphs",
    "Repairs",
    "Schema",
    "given_names",
    "node_mask_of_sizes",
    "pair_mask",
    "prepare_graphs",
    "read_graphs",
    "sizes_of",
    "subgraphs",
    "to_pyg",
    "write_graphs",
]
