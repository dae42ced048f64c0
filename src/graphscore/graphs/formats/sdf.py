"""SDF and MDL mol files, versions V2000 and V3000, by RDKit."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

import networkx as nx

from graphscore.errors import GraphDataError
from graphscore.graphs.formats.molecular import candidates, check_rings, written
from graphscore.graphs.formats.text import MAX_LINE, lines_of
from graphscore.graphs.limits import Bytes, Reading
from graphscore.graphs.molecules import rdkit
from graphscore.graphs.validation import Candidate

_VERSION_3 = "V3000"
_END_OF_MOLECULE, _END_OF_RECORD = "M  END", "$$$$"
_BOND = re.compile(r"^M  V30 +[0-9]+ +[0-9]+ +([0-9]+) +([0-9]+)", re.MULTILINE)
_GOES_ON = "-\nM  V30 "
_CHARGES = re.compile(r"^M  CHG...(.*)|CHG=(\S*)", re.MULTILINE)
_HEADER = 3
"""Lines before a molecule: its name, the program, a comment."""


def decode_sdf(data: Bytes, source: str, reading: Reading) -> Iterator[Candidate]:
    """Read the molecules of a file; names, coordinates and data fields are left out.

    Raises:
        GraphDataError: a record that is no molecule, or more than the limits allow.
        MissingExtraError: RDKit is not installed.
    """
    chem = rdkit()

    def parsed() -> Iterator[tuple[int, Any, bool]]:
        for line, block in _blocks_in(data, source, reading):
            molecule = None
            check_rings(f"{source} line {line}", _bonds_in(block))  # RDKit looks at them at once
            if block.isascii() and not _has_large_charge(block):
                with contextlib.suppress(RuntimeError):
                    molecule = chem.MolFromMolBlock(block, sanitize=False, removeHs=False)
            yield line, molecule, molecule is not None and _is_more(chem, molecule)

    return candidates(parsed(), source, reading)


def _blocks_in(data: Bytes, source: str, reading: Reading) -> Iterator[tuple[int, str]]:
    """Yield first line and text of every molecule, without what stands before and behind it."""
    lines: list[str] = []
    first, size, ended = 1, 0, False
    for line, _, text in lines_of(data, source, reading):
        reading.tick(source)
        text = text.rstrip()
        if text == _END_OF_RECORD:
            yield first, _block(lines)
            lines, first, size, ended = [], line + 1, 0, False
        elif not ended:
            ended = text == _END_OF_MOLECULE
            lines.append(text)
            size += len(text) + 1
            if size > MAX_LINE:
                raise GraphDataError(
                    f"{source} line {first}: a molecule of more than {MAX_LINE} characters. Check "
                    f"that records end with {_END_OF_RECORD}, or remove it."
                )
    if any(lines):  # the last record, or the only one of a mol file
        yield first, _block(lines)


def _block(lines: list[str]) -> str:
    return "\n" * _HEADER + "\n".join(lines[_HEADER:]) + "\n"


def _bonds_in(block: str) -> list[tuple[str, str]]:
    """Return the ends of all bonds, if the block is one that RDKit can parse."""
    if _VERSION_3 in block:
        return _BOND.findall(block.replace(_GOES_ON, ""))
    lines = block.split("\n")[_HEADER:]
    atoms, bonds = (lines[0][k : k + 3].strip() for k in (0, 3))
    if not (atoms.isdecimal() and bonds.isdecimal()):
        return []
    return [(line[:3], line[3:6]) for line in lines[int(atoms) + 1 :][: int(bonds)]]


def _has_large_charge(block: str) -> bool:
    """Return whether a charge has three digits, which RDKit would take modulo 256."""
    for pairs, one in _CHARGES.findall(block):
        charges = pairs.split()[1::2] or [one]
        if any(len(charge.lstrip("+-")) > 2 for charge in charges):
            return True
    return False


def _is_more(chem: Any, molecule: Any) -> bool:
    """Return whether a molecule has isotopes or stereochemistry that is drawn."""
    plain = {chem.BondDir.NONE, chem.BondDir.UNKNOWN, chem.BondDir.EITHERDOUBLE}
    unspecified = chem.ChiralType.CHI_UNSPECIFIED
    return any(
        atom.GetIsotope() or atom.GetChiralTag() != unspecified for atom in molecule.GetAtoms()
    ) or any(bond.GetBondDir() not in plain for bond in molecule.GetBonds())


def encode_sdf(graphs: Sequence[nx.Graph[Any]]) -> bytes:
    """Return one record per graph: its Kekulé structure with coordinates in the plane.

    Raises:
        GraphDataError: a node or edge is no atom or bond, or a molecule is too large.
        MissingExtraError: RDKit is not installed.
    """
    chem = rdkit()
    from rdkit.Chem import rdDepictor

    def record(molecule: Any) -> str:
        chem.FastFindRings(molecule)
        rdDepictor.Compute2DCoords(molecule)
        return f"{chem.MolToMolBlock(molecule, kekulize=False)}{_END_OF_RECORD}\n"

    return "".join(written(graphs, record)).encode()
