"""The table of datasets, and loading by name.

To add a dataset, write a module with its `DatasetInfo` and a function that returns its graphs, and
add one line to `_DATASETS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import networkx as nx

from graphscore.datasets import (
    community,
    ego,
    enzymes,
    grid,
    lobster,
    molecules,
    planar,
    protein,
    sbm,
    spectre,
    tree,
    weighted_community,
)
from graphscore.datasets.dataset import Dataset, DatasetInfo
from graphscore.errors import DatasetError, did_you_mean

if TYPE_CHECKING:  # networkx graphs take type arguments only in its stubs
    _Loader = Callable[[int, str | PathLike[str] | None], Dataset | list[nx.Graph[Any]]]

# Each loader takes (seed, data_dir).
_DATASETS: dict[str, tuple[DatasetInfo, _Loader]] = {
    info.name: (info, loader)
    for info, loader in (
        (community.INFO, lambda seed, _: community.load(seed, released=False)),
        (community.INFO_RELEASED, lambda seed, _: community.load(seed, released=True)),
        (ego.INFO, lambda _seed, _: ego.load()),
        (enzymes.INFO, lambda _seed, data_dir: enzymes.load(data_dir)),
        (grid.INFO, lambda seed, _: grid.load(seed)),
        (lobster.INFO, lambda seed, _: lobster.load(seed)),
        (molecules.MOSES.info, lambda _seed, data_dir: molecules.load(molecules.MOSES, data_dir)),
        (planar.INFO, lambda seed, _: planar.load(seed)),
        (spectre.PLANAR.info, lambda _seed, data_dir: spectre.load(spectre.PLANAR, data_dir)),
        (protein.INFO, lambda _seed, data_dir: protein.load(data_dir)),
        (molecules.QM9.info, lambda _seed, data_dir: molecules.load(molecules.QM9, data_dir)),
        (sbm.INFO, lambda seed, _: sbm.load(seed)),
        (spectre.SBM.info, lambda _seed, data_dir: spectre.load(spectre.SBM, data_dir)),
        (tree.INFO, lambda seed, _: tree.load(seed)),
        (spectre.TREE.info, lambda _seed, data_dir: spectre.load(spectre.TREE, data_dir)),
        (weighted_community.INFO, lambda seed, _: weighted_community.load(seed)),
        (
            molecules.ZINC250K.info,
            lambda _seed, data_dir: molecules.load(molecules.ZINC250K, data_dir),
        ),
    )
}


def list_datasets() -> list[DatasetInfo]:
    """Return the descriptions of all datasets, sorted by name.

    Example:
        >>> [info.name for info in list_datasets() if info.needs_download]
        ['enzymes', 'moses', 'protein', 'qm9', 'zinc250k']
    """
    return [info for info, _ in _DATASETS.values()]


def load_dataset(
    name: str, *, seed: int | None = None, data_dir: str | PathLike[str] | None = None
) -> Dataset:
    """Load a dataset by name; every call returns new graphs that the caller may change.

    Args:
        name: one of the names of `list_datasets`.
        seed: seed of generated sets (`info.seeded`), by default `info.standard_seed`; fixed sets
            ignore it.
        data_dir: folder of the source files of sets with `info.needs_download`, and optionally of
            the published files of `planar-spectre`, `sbm-spectre` and `tree-spectre`; by default
            the environment variable GRAPHSCORE_DATA, and without it the cache folder
            (`$XDG_CACHE_HOME/graphscore` or `~/.cache/graphscore`).

    Raises:
        DatasetError: the name is unknown, or source files are missing, damaged or unreadable.

    Example:
        >>> data = load_dataset("ego-small")
        >>> data.info.num_graphs, len(data.graphs[0])
        (200, 6)
    """
    if name not in _DATASETS:
        hint = did_you_mean(name, _DATASETS)
        raise DatasetError(f"unknown dataset {name!r}.{hint} Known: {', '.join(_DATASETS)}.")
    info, loader = _DATASETS[name]
    try:
        graphs = loader(info.standard_seed if seed is None else seed, data_dir)
    except OSError as error:
        raise DatasetError(
            f"{name}: {error.filename} cannot be read ({error.strerror}). Make it readable, or "
            "choose another folder with the environment variable GRAPHSCORE_DATA, --data-dir or "
            "the argument data_dir."
        ) from error
    if isinstance(graphs, Dataset):
        return graphs
    return Dataset(replace(info, num_graphs=len(graphs)), graphs)
