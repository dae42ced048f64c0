"""Which datasets exist, and how to load one by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import networkx as nx

from graphscore.datasets import (
    community,
    ego,
    grid,
    lobster,
    planar,
    protein,
    sbm,
    spectre,
    tree,
)
from graphscore.datasets.dataset import Dataset, DatasetInfo
from graphscore.errors import DatasetError

if TYPE_CHECKING:  # networkx graphs take type arguments only in its stubs
    _Loader = Callable[[int, str | PathLike[str] | None], list[nx.Graph[Any]]]

# Loaders take (seed, data_dir); each ignores what does not concern it.
_DATASETS: dict[str, tuple[DatasetInfo, _Loader]] = {
    info.name: (info, loader)
    for info, loader in (
        (community.INFO, lambda seed, _: community.load(seed, released=False)),
        (community.INFO_RELEASED, lambda seed, _: community.load(seed, released=True)),
        (ego.INFO, lambda _seed, _: ego.load()),
        (grid.INFO, lambda seed, _: grid.load(seed)),
        (lobster.INFO, lambda seed, _: lobster.load(seed)),
        (planar.INFO, lambda seed, _: planar.load(seed)),
        (spectre.PLANAR.info, lambda _seed, data_dir: spectre.load(spectre.PLANAR, data_dir)),
        (protein.INFO, lambda _seed, data_dir: protein.load(data_dir)),
        (sbm.INFO, lambda seed, _: sbm.load(seed)),
        (spectre.SBM.info, lambda _seed, data_dir: spectre.load(spectre.SBM, data_dir)),
        (tree.INFO, lambda seed, _: tree.load(seed)),
        (spectre.TREE.info, lambda _seed, data_dir: spectre.load(spectre.TREE, data_dir)),
    )
}


def list_datasets() -> list[DatasetInfo]:
    """Return the description of every dataset, by name.

    Example:
        >>> [info.name for info in list_datasets() if info.needs_download]
        ['protein']
    """
    return [info for info, _ in _DATASETS.values()]


def load_dataset(
    name: str, *, seed: int | None = None, data_dir: str | PathLike[str] | None = None
) -> Dataset:
    """Load a dataset by name; every call builds fresh graphs that the caller may change.

    Args:
        name: one of the names that `list_datasets` gives.
        seed: chooses the graphs of generated sets (`info.seeded`), by default
            `info.standard_seed`; the others are fixed and do not depend on it.
        data_dir: folder of source files for sets with `info.needs_download`, and of the published
            files that `planar-spectre`, `sbm-spectre` and `tree-spectre` are read from where they
            are there; by default the environment variable GRAPHSCORE_DATA, and without it the
            cache folder (`$XDG_CACHE_HOME/graphscore` or `~/.cache/graphscore`).

    Raises:
        DatasetError: the name is unknown, or source files are missing or damaged.

    Example:
        >>> data = load_dataset("ego-small")
        >>> data.info.num_graphs, len(data.graphs[0])
        (200, 6)
    """
    if name not in _DATASETS:
        close = difflib.get_close_matches(name.lower(), _DATASETS, n=1, cutoff=0.4)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise DatasetError(f"unknown dataset {name!r}.{hint} Known: {', '.join(_DATASETS)}.")
    info, loader = _DATASETS[name]
    graphs = loader(info.standard_seed if seed is None else seed, data_dir)
    return Dataset(replace(info, num_graphs=len(graphs)), graphs)
