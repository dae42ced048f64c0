"""Planar, tree and SBM as published: the graphs and splits that published tables rest on.

The planar and SBM graphs are those of SPECTRE (Martinkus et al. 2022), the trees those of
Bergmeister et al. 2024, in the splits that both papers use: 128 training, 32 validation and 40 test
graphs. Each part is a file of graph6 lines, told by its sha256. Where the data folder has no such
file, the published recipe is followed again with its seeds, which gives the same lines; the digest
proves it. A change of the libraries' random streams would therefore be noticed, not suffered.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

from graphscore.datasets import planar, sbm, tree
from graphscore.datasets.dataset import DatasetInfo
from graphscore.datasets.download import DATA_VARIABLE, check_file, data_folder
from graphscore.errors import DatasetError

if TYPE_CHECKING:  # networkx graphs take type arguments only in its stubs
    _Parts = dict[str, list[nx.Graph[Any]]]

FOLDER = "spectre"
URL = "https://github.com/AndreasBergmeister/graph-generation/tree/main/data"
NUM_GRAPHS, NUM_TRAIN, NUM_VAL = 200, 128, 32
SEED = 1234
"""Seed of the published planar and SBM graphs, and of their split."""

_DRAWN_AGAIN = "drawn again by the published recipe and checked by sha256; no third-party data"


@dataclass(frozen=True)
class Published:
    """One published set.

    Attributes:
        info: name, size, origin and licence.
        draw: the published recipe: a function without arguments that returns the graphs by part.
        sha256: part ("train", "val", "test") -> hex digest of its graph6 lines.
    """

    info: DatasetInfo
    draw: Callable[[], _Parts]
    sha256: dict[str, str]


def load(published: Published, data_dir: str | PathLike[str] | None = None) -> list[nx.Graph[Any]]:
    """Return the graphs of a published set: test, validation and training part in this order.

    Args:
        published: `PLANAR`, `TREE` or `SBM`.
        data_dir: folder that may hold `spectre/planar_train.g6` and so on; see `data_folder`.

    Raises:
        DatasetError: a file is damaged, or is absent and cannot be drawn again.

    Example:
        >>> len(load(TREE, "/nowhere"))
        200
    """
    # Deferred because the graphs' room brings in the tensor library, which listing does not need.
    from graphscore.graphs.formats.graph6 import decode_lines

    folder = data_folder(data_dir) / FOLDER
    drawn: dict[str, bytes] = {}
    graphs: list[nx.Graph[Any]] = []
    for part in ("test", "val", "train"):
        path = folder / f"{published.info.name.removesuffix('-spectre')}_{part}.g6"
        if path.is_file():
            check_file(path, published.sha256[part], URL)
            lines = path.read_bytes()
        else:
            drawn = drawn or _lines(published.draw())
            lines = drawn[part]
            _check_drawn(lines, published, part, str(path))
        graphs.extend(candidate.graph for candidate in decode_lines(lines, str(path)))
    return graphs


def _lines(parts: _Parts) -> dict[str, bytes]:
    from graphscore.graphs.formats.graph6 import encode_graph6

    return {part: encode_graph6(graphs) for part, graphs in parts.items()}


def _check_drawn(lines: bytes, published: Published, part: str, path: str) -> None:
    """Raise unless graphs that were drawn again are the published ones."""
    actual, expected = hashlib.sha256(lines).hexdigest(), published.sha256[part]
    if actual != expected:
        raise DatasetError(
            f"{path} is absent, and the {part} part of {published.info.name!r} drawn again by the "
            f"published recipe has sha256 {actual}, expected {expected}: numpy, scipy, torch or "
            f"networkx draws other numbers than when the set was made. Take the graphs from {URL} "
            f"and write them to {path} with graphscore.write_graphs (another data folder can be "
            f"chosen with the environment variable {DATA_VARIABLE} or the argument data_dir), or "
            "use versions of these libraries that reproduce the set."
        )


def _split(graphs: list[nx.Graph[Any]]) -> _Parts:
    """Split 200 graphs as published: by a permutation that torch draws."""
    import torch  # slow to import, and listing does not need it

    order = torch.randperm(NUM_GRAPHS, generator=torch.Generator().manual_seed(SEED)).tolist()
    shuffled = [graphs[index] for index in order]
    return {
        "train": shuffled[:NUM_TRAIN],
        "val": shuffled[NUM_TRAIN : NUM_TRAIN + NUM_VAL],
        "test": shuffled[NUM_TRAIN + NUM_VAL :],
    }


def _planar() -> _Parts:
    # The legacy generator is what was used, and the one whose stream numpy promises to keep.
    rng = np.random.RandomState(SEED)
    return _split(
        [planar.triangulation(rng.random_sample((planar.NUM_NODES, 2))) for _ in range(NUM_GRAPHS)]
    )


def _sbm() -> _Parts:
    rng = np.random.RandomState(SEED)
    graphs: list[nx.Graph[Any]] = []
    for index in range(NUM_GRAPHS):
        count = rng.randint(sbm.MIN_COMMUNITIES, sbm.MAX_COMMUNITIES + 1)
        sizes = rng.randint(sbm.MIN_SIZE, sbm.MAX_SIZE + 1, size=count).tolist()
        p = np.full((count, count), sbm.P_BETWEEN)
        np.fill_diagonal(p, sbm.P_INSIDE)
        # Only the sizes come from the common stream: the edges of each graph have its own seed.
        graph = nx.stochastic_block_model(sizes, p.tolist(), seed=index)
        # Nodes are numbered as networkx lists them, which is not always the order of their names.
        graphs.append(nx.convert_node_labels_to_integers(graph))
    return _split(graphs)


def _tree() -> _Parts:
    # Three draws instead of one draw that is split.
    counts = {"train": NUM_TRAIN, "val": NUM_VAL, "test": NUM_GRAPHS - NUM_TRAIN - NUM_VAL}
    return {
        part: tree.draw_trees(count, np.random.default_rng(seed))
        for seed, (part, count) in enumerate(counts.items())
    }


PLANAR = Published(
    DatasetInfo(
        name="planar-spectre",
        description="The published planar graphs of 64 nodes with their published splits.",
        num_graphs=NUM_GRAPHS,
        min_nodes=planar.NUM_NODES,
        max_nodes=planar.NUM_NODES,
        source=f"SPECTRE (Martinkus et al. 2022, ICML), {URL}",
        licence=_DRAWN_AGAIN,
        needs_download=False,
        seeded=False,
        validation_held_out=True,
    ),
    _planar,
    {
        "train": "76ebfb41fb28d8a50ec06f1a707cd44d26bf006ac05fb89f2896102b81bf9fee",
        "val": "7f327945a629e34623894d80d1b62bc56dd3a1ec9543f2cc45da0dad93cd0822",
        "test": "c1c8522a271abe9293d78ff1920d40465febd1f1d48c18931abca228b9a88262",
    },
)

TREE = Published(
    DatasetInfo(
        name="tree-spectre",
        description="The published trees of 64 nodes with their published splits.",
        num_graphs=NUM_GRAPHS,
        min_nodes=tree.NUM_NODES,
        max_nodes=tree.NUM_NODES,
        source=f"Bergmeister et al. 2024 (ICLR), {URL}",
        licence=_DRAWN_AGAIN,
        needs_download=False,
        seeded=False,
        validation_held_out=True,
    ),
    _tree,
    {
        "train": "9786fd1808e461bb459c5a8f6a49f42182496ee1f5ccfd70995db01be0aead44",
        "val": "41543e23ec6fbcfc3c3fe070abf519b16485660c00d7ac45e6dd80da613f63b7",
        "test": "0c34e4d7f33f569190e5ede94423667fdabdac5b8e7941dd13b461b250a1218a",
    },
)

SBM = Published(
    DatasetInfo(
        name="sbm-spectre",
        description="The published stochastic block models with their published splits; a few are "
        "not connected.",
        num_graphs=NUM_GRAPHS,
        min_nodes=44,
        max_nodes=187,
        source=f"SPECTRE (Martinkus et al. 2022, ICML), {URL}",
        licence=_DRAWN_AGAIN,
        needs_download=False,
        seeded=False,
        validation_held_out=True,
    ),
    _sbm,
    {
        "train": "4bdc088dc37119a256a970dc9250452eaa4571b103089b83d507c447413783ab",
        "val": "13d0250dbbd9920e4df4b098622ea4356962e17d0cd24cc1d41bf5f775fb8808",
        "test": "776bb42f92c39916242e0c6cc70ccaca1d95b55ce57424509bf1375effc96317",
    },
)
