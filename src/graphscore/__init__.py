"""graphscore: learn a distribution of graphs from examples and generate new ones.

>>> import graphscore
>>> len(graphscore.load_dataset("ego-small").test)
40
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from graphscore.version import __version__

if TYPE_CHECKING:
    from graphscore import datasets, metrics
    from graphscore.datasets import load_dataset
    from graphscore.generator import GraphGenerator
    from graphscore.graphs import GraphBatch, Repairs, read_graphs, subgraphs, write_graphs
    from graphscore.metrics import evaluate

__all__ = [
    "GraphBatch",
    "GraphGenerator",
    "Repairs",
    "__version__",
    "datasets",
    "evaluate",
    "load_dataset",
    "metrics",
    "read_graphs",
    "subgraphs",
    "write_graphs",
]

# Names are resolved on first use, so that `graphscore --help` does not wait for torch.
_HOME = {
    "GraphBatch": "graphscore.graphs",
    "GraphGenerator": "graphscore.generator",
    "Repairs": "graphscore.graphs",
    "evaluate": "graphscore.metrics",
    "load_dataset": "graphscore.datasets",
    "read_graphs": "graphscore.graphs",
    "subgraphs": "graphscore.graphs",
    "write_graphs": "graphscore.graphs",
}


def __getattr__(name: str) -> Any:
    if name in ("datasets", "metrics"):
        return import_module(f"graphscore.{name}")
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'graphscore' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
