"""What a dataset is: a description, its graphs in order, and the published splits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import networkx as nx

from graphscore.errors import DatasetError

SPLITS = ("train", "val", "test")
NUM_VALIDATION = 32


def check_number(num: int) -> None:
    """Refuse to draw a negative number of graphs.

    >>> check_number(0)
    """
    if num < 0:
        raise DatasetError(f"cannot draw {num} graphs. Give a number of at least 0.")


@dataclass(frozen=True)
class DatasetInfo:
    """Name, size, origin and licence of a dataset.

    Attributes:
        name: what `load_dataset` takes.
        description: one sentence.
        num_graphs: how many graphs it holds; for sets whose count depends on the seed, the count
            at the standard seed (the `info` of a loaded dataset holds the actual count).
        min_nodes: fewest nodes that a graph may have, as published.
        max_nodes: most nodes that a graph may have, as published (ego-small: 18, although its
            largest graph has 17).
        source: where the graphs come from.
        licence: terms of the data, in words.
        needs_download: True when the source files are not part of the package.
        seeded: True when the graphs depend on the seed given to `load_dataset`.
        standard_seed: the draw that `load_dataset` gives when no seed is asked for.
        validation_held_out: True when the validation graphs are not training graphs as well.
    """

    name: str
    description: str
    num_graphs: int
    min_nodes: int
    max_nodes: int
    source: str
    licence: str
    needs_download: bool
    seeded: bool
    standard_seed: int = 0
    validation_held_out: bool = False


@dataclass(frozen=True)
class Dataset:
    """Graphs in a fixed order, with the splits the published results use.

    The first fifth is the test part and the next 32 graphs are the validation part: use it to
    choose settings, never to report quality. Training graphs are all that follow the test part, so
    that the validation graphs are among them ("validation set, which contains 32 samples from the
    training set", Niu et al. 2020, appendix), or, where `info.validation_held_out`, only those
    that follow the validation part.

    Attributes:
        info: name, size, origin and licence.
        graphs: all graphs, nodes 0..n-1, simple and undirected.

    Example:
        >>> from graphscore.datasets import load_dataset
        >>> data = load_dataset("community-small", seed=0)
        >>> len(data.graphs), len(data.train), len(data.val), len(data.test)
        (100, 80, 32, 20)
        >>> data = load_dataset("tree", seed=0)
        >>> len(data.graphs), len(data.train), len(data.val), len(data.test)
        (200, 128, 32, 40)
    """

    info: DatasetInfo
    graphs: list[nx.Graph[Any]]

    def __len__(self) -> int:
        return len(self.graphs)

    def split(self, name: str) -> list[nx.Graph[Any]]:
        """Return the graphs of the split "train", "val" or "test", in order.

        Raises:
            DatasetError: there is no split of that name.

        Example:
            >>> from graphscore.datasets import load_dataset
            >>> data = load_dataset("ego-small")
            >>> data.split("test")[0] is data.graphs[0]
            True
        """
        tested = len(self.graphs) // 5
        validated = tested + NUM_VALIDATION
        match name:
            case "test":
                return self.graphs[:tested]
            case "val":
                return self.graphs[tested:validated]
            case "train":
                return self.graphs[validated if self.info.validation_held_out else tested :]
        raise DatasetError(
            f"dataset {self.info.name!r} has no split {name!r}. Use one of: {', '.join(SPLITS)}."
        )

    @property
    def train(self) -> list[nx.Graph[Any]]:
        """What follows the test part, or the validation part where that is held out."""
        return self.split("train")

    @property
    def val(self) -> list[nx.Graph[Any]]:
        """The 32 graphs after the test part; also in `train` unless `info.validation_held_out`."""
        return self.split("val")

    @property
    def test(self) -> list[nx.Graph[Any]]:
        """The first fifth."""
        return self.split("test")
