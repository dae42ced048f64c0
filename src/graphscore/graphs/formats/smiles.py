"""SMILES: one molecule per line, by RDKit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import networkx as nx

from graphscore.errors import GraphDataError
from graphscore.graphs.formats.molecular import candidates, written
from graphscore.graphs.formats.text import lines_of
from graphscore.graphs.limits import Bytes, Reading
from graphscore.graphs.molecules import rdkit, smiles_of
from graphscore.graphs.validation import Candidate
from graphscore.settings import quoted

MAX_SMILES = 10_000
"""Characters of one SMILES."""
_HEADER = "smiles"
_CHARGE = re.compile(r"\[[^\[\]]*[+-][0-9]{3}")  # RDKit takes it modulo 256
_DROPPED = re.compile(r"[@/\\]|\[[0-9]")  # stereochemistry and isotopes


def decode_smiles(data: Bytes, source: str, reading: Reading) -> Iterator[Candidate]:
    r"""Read the first word of every line; the others, such as a name, are left out.

    Blank lines and lines that begin with "#" are skipped, and a first line whose first word is
    "smiles".

    Raises:
        GraphDataError: a line that is no molecule, or more than the limits allow.
        MissingExtraError: RDKit is not installed.

    Example:
        >>> found = decode_smiles(b"C=O formaldehyde\n", "m.smi", Reading())  # doctest: +SKIP
        >>> next(found).graph.nodes(data="element")  # doctest: +SKIP
        NodeDataView({0: 'C', 1: 'O'}, data='element')
    """
    chem = rdkit()

    def parsed() -> Iterator[tuple[int, Any, bool]]:
        for line, smiles in _smiles_in(data, source, reading):
            molecule = None
            if not _CHARGE.search(smiles):
                molecule = chem.MolFromSmiles(smiles, sanitize=False)
            yield line, molecule, bool(_DROPPED.search(smiles))

    return candidates(parsed(), source, reading)


def _smiles_in(data: Bytes, source: str, reading: Reading) -> Iterator[tuple[int, str]]:
    """Yield line and text of every SMILES."""
    first = True
    for line, _, text in lines_of(data, source, reading):
        reading.tick(source)
        words = text.split(None, 1)
        if not words or words[0].startswith("#"):
            continue
        smiles, header, first = words[0], first and words[0].lower() == _HEADER, False
        if header:
            continue
        if len(smiles) > MAX_SMILES:
            raise GraphDataError(
                f"{source} line {line}: a SMILES of {len(smiles)} characters, but at most "
                f"{MAX_SMILES} are expected. Remove it."
            )
        if not (smiles.isascii() and smiles.isprintable()):
            raise GraphDataError(
                f"{source} line {line}: {quoted(smiles)} is no SMILES, which consists of ordinary "
                "letters, digits and signs."
            )
        yield line, smiles


def encode_smiles(graphs: Sequence[nx.Graph[Any]]) -> bytes:
    """Return one line per graph: its canonical SMILES, or, if it is not valid, what it is.

    Raises:
        GraphDataError: a node or edge is no atom or bond, or a molecule is too large.
        MissingExtraError: RDKit is not installed.
    """
    chem = rdkit()

    def line(molecule: Any) -> str:
        smiles = smiles_of(molecule) or chem.MolToSmiles(molecule, isomericSmiles=False)
        if len(smiles) > MAX_SMILES:
            raise RuntimeError(f"more than {MAX_SMILES} characters, which are not read again")
        return f"{smiles}\n"

    return "".join(written(graphs, line)).encode()
