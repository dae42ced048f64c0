"""QM9, ZINC250k and MOSES: molecules with the test parts of published results.

SMILES are downloaded, or taken from the data folder, and verified by sha256. Reading them takes
RDKit and up to minutes, so the graphs are kept in the cache folder, as arrays.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphscore.atomic import write_file
from graphscore.datasets.dataset import Dataset, DatasetInfo
from graphscore.datasets.download import MAX_BYTES, cache_folder, data_folder
from graphscore.datasets.https import fetch_bytes
from graphscore.errors import DatasetError, OutputError
from graphscore.seeding import numpy_generator
from graphscore.streams import say

if TYPE_CHECKING:
    from graphscore.graphs.packed import PackedGraphs

FOLDER = "molecules"
NUM_VALIDATION = 5000
"""Molecules that are held out of the training part, to choose settings by."""


@dataclass(frozen=True)
class Lines:
    """A file of one value per line.

    Attributes:
        name: of the file in the data folder; ".gz" there is unpacked.
        url: address of the original.
        sha256: hex digest of the values with line feeds between them.
    """

    name: str
    url: str
    sha256: str


@dataclass(frozen=True)
class Molecules:
    """One published set.

    Attributes:
        info: name, size, origin and licence.
        smiles: files of SMILES; graphs are in their order.
        test_rows: file of the rows that are test molecules; if None, they are the last file's.
    """

    info: DatasetInfo
    smiles: tuple[Lines, ...]
    test_rows: Lines | None = None


def load(published: Molecules, data_dir: str | PathLike[str] | None = None) -> Dataset:
    """Return the molecules in published order, with their parts.

    Args:
        published: `QM9`, `ZINC250K` or `MOSES`.
        data_dir: folder that holds (or will hold) `molecules/`; see `data_folder`.

    Raises:
        DatasetError: a file is damaged, or is absent and cannot be downloaded.
        MissingExtraError: RDKit is not installed, and the molecules have not been read before.
    """
    files = [values_of(lines, data_dir) for lines in published.smiles]
    graphs = _graphs(published, [smiles for each in files for smiles in each])
    if published.test_rows is None:
        test = np.arange(len(graphs))[-len(files[-1]) :]
    else:
        test = np.array(values_of(published.test_rows, data_dir), dtype=np.int64)
    others = np.setdiff1d(np.arange(len(graphs)), test)
    shuffled = numpy_generator(0, "validation", published.info.name).permutation(others)
    parts = {
        "train": np.sort(shuffled[NUM_VALIDATION:]),
        "val": np.sort(shuffled[:NUM_VALIDATION]),
        "test": test,
    }
    return Dataset(published.info, graphs, parts)


def values_of(lines: Lines, data_dir: str | PathLike[str] | None = None) -> list[str]:
    """Return the values of a file, downloaded if it is absent.

    Raises:
        DatasetError: it is damaged, or is absent and cannot be downloaded.
    """
    path = data_folder(data_dir) / FOLDER / lines.name
    if path.exists():
        content = path.read_bytes()
    else:
        try:
            content = fetch_bytes(lines.url, MAX_BYTES)
        except (OSError, HTTPException) as error:
            raise DatasetError(
                f"{path} is absent, and downloading {lines.url} failed ({type(error).__name__}: "
                f"{error}). Check the network, or download that file by hand to {path}; another "
                "folder can be chosen with the environment variable GRAPHSCORE_DATA, --data-dir "
                "or the argument data_dir."
            ) from error
    values = _values(content)
    if hashlib.sha256("\n".join(values).encode()).hexdigest() != lines.sha256:
        where = str(path) if path.exists() else lines.url
        raise DatasetError(
            f"{where} is damaged or of another version: its values have another sha256 than "
            f"{lines.sha256}. Replace {path} by the file from {lines.url}."
        )
    if not path.exists():
        with contextlib.suppress(OutputError):  # a folder that cannot be written costs time only
            write_file(path, gzip.compress("\n".join(values).encode(), mtime=0))
    return values


def _values(content: bytes) -> list[str]:
    """Return the values of lines, the first of several columns, or of a list in JSON."""
    with contextlib.suppress(OSError, EOFError, zlib.error):
        content = gzip.GzipFile(fileobj=io.BytesIO(content)).read(10 * MAX_BYTES)
    text = content.decode(errors="replace")
    if text.lstrip()[:1] in "[{":
        with contextlib.suppress(ValueError, TypeError):
            found: Any = json.loads(text)
            rows = found.get("valid_idxs", ()) if isinstance(found, dict) else found
            return [str(row) for row in sorted(map(int, rows))]
    values = [line.split(",")[0].split()[0] for line in text.splitlines() if line.strip(", \t")]
    return values[1:] if values and values[0].lower() == "smiles" else values


def _graphs(published: Molecules, smiles: list[str]) -> PackedGraphs:
    """Return the molecules as graphs, kept from the last time if there was one."""
    # Imported here because it imports torch, which listing datasets does not need.
    from graphscore.graphs.molecules import BOND, ELEMENT, kekulised, packed_molecules
    from graphscore.graphs.packed import PackedGraphs

    digest = hashlib.sha256("".join(lines.sha256 for lines in published.smiles).encode())
    # Not in the data folder, which may be shared or read-only.
    kept = cache_folder() / FOLDER / f"{published.info.name}-{digest.hexdigest()[:16]}.npz"
    # A file that is not what was written there is made anew. Reading one raises many types.
    with contextlib.suppress(Exception):
        with np.load(kept, allow_pickle=False) as arrays:
            found = PackedGraphs.of_arrays(arrays)
        carried = [*found.node_types, *found.edge_types]
        if len(found) == len(smiles) and carried == [ELEMENT, BOND]:
            return found
    say(f"{published.info.name}: reading {len(smiles):,} molecules, once; this takes a while")
    graphs = packed_molecules(map(kekulised, smiles))
    with contextlib.suppress(OutputError):
        write_file(kept, _npz(graphs.arrays()))
    return graphs


def _npz(arrays: dict[str, NDArray[Any]]) -> bytes:
    stream = io.BytesIO()
    save: Callable[..., None] = np.savez_compressed
    save(stream, **arrays)
    return stream.getvalue()


_RAW = "https://raw.githubusercontent.com"
_LICENCE = "of the files downloaded, which are not redistributed: "


def _info(name: str, count: int, nodes: tuple[int, int], text: str, source: str) -> DatasetInfo:
    return DatasetInfo(
        name=name,
        description=f"{text} Nodes are atoms without hydrogens, with attribute 'element'; edges "
        "are bonds of Kekulé structures, with attribute 'bond'.",
        num_graphs=count,
        min_nodes=nodes[0],
        max_nodes=nodes[1],
        source=source,
        licence=_LICENCE + {"qm9": "Apache-2.0", "zinc250k": "MIT", "moses": "MIT"}[name],
        needs_download=True,
        validation_held_out=True,
        node_type="element",
        edge_type="bond",
    )


_GDSS = f"{_RAW}/harryjo97/GDSS/master/data"

QM9 = Molecules(
    _info(
        "qm9",
        133_885,
        (1, 9),
        "Small organic molecules of up to 9 heavy atoms; the test part is that of Jo et al. 2022.",
        "QM9 (Ramakrishnan et al. 2014), SMILES as in the test sets of selfies",
    ),
    (
        Lines(
            "qm9.smi.gz",
            f"{_RAW}/aspuru-guzik-group/selfies/f345587e9a85c1ec81e4b657b25c8c843adbf12b/tests/"
            "test_sets/130K_QM9.txt",
            "ac766f3b6f7047c2cbbed180e0b42df5a763d88e00ecf7008aff351d42a0c0d0",
        ),
    ),
    Lines(
        "qm9_test_indices.json",
        f"{_GDSS}/valid_idx_qm9.json",
        "02f1b7d93df5b60335418804c86571ac33482d20b4e5dd661da5e6ad2faa8d9e",
    ),
)
ZINC250K = Molecules(
    _info(
        "zinc250k",
        249_455,
        (6, 38),
        "Drug-like molecules of 6 to 38 heavy atoms; the test part is that of Jo et al. 2022.",
        "ZINC (Irwin et al. 2012), the subset of Gómez-Bombarelli et al. 2018, as in mol_opt",
    ),
    (
        Lines(
            "zinc250k.smi.gz",
            f"{_RAW}/wenhao-gao/mol_opt/fd6893626427a5ee22cab86b9ba1f6d382c63253/data/zinc.txt.gz",
            "b2a780b520e9188fdbc3dd1affe785f0f21151ac7e9fa8889e33832067763a9b",
        ),
    ),
    Lines(
        "zinc250k_test_indices.json",
        f"{_GDSS}/valid_idx_zinc250k.json",
        "851346024bbf48616651ae9acd05449218a2e2cd264394f2e8b723fed5a7e425",
    ),
)
_MOSES = f"{_RAW}/molecularsets/moses/b94468cab4590ced03a98c26a35d3c1e0647d9c9/moses/dataset/data"
MOSES = Molecules(
    _info(
        "moses",
        1_760_888,
        (8, 27),
        "Drug-like molecules of the MOSES benchmark; the test part is that of new scaffolds.",
        "MOSES (Polykovskiy et al. 2020), https://github.com/molecularsets/moses",
    ),
    (
        Lines(
            "moses_train.csv.gz",
            f"{_MOSES}/train.csv.gz",
            "7eaef3b172d05cfc7ecd898c3e991835605b438574df1334f1ddb1c8fc82ffb7",
        ),
        Lines(
            "moses_test_scaffolds.csv.gz",
            f"{_MOSES}/test_scaffolds.csv.gz",
            "e783ba459dd99ca8181a08e1b6849355d7de3370c833ab130d6147125dea1a4d",
        ),
    ),
)

PUBLISHED = {each.info.name: each for each in (QM9, ZINC250K, MOSES)}
"""All of them by name."""


def smiles_of(
    published: Molecules, data: Dataset, data_dir: str | PathLike[str] | None = None
) -> dict[str, list[str]]:
    """Return the SMILES of the parts of a set as they were published, stereochemistry included.

    Args:
        published: the set.
        data: the same, loaded.
        data_dir: as `load`.
    """
    every = [smiles for lines in published.smiles for smiles in values_of(lines, data_dir)]
    assert data.parts is not None
    return {name: [every[row] for row in rows.tolist()] for name, rows in data.parts.items()}
