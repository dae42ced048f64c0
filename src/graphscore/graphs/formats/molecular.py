"""Shared by SMILES and SDF: what RDKit has parsed becomes graphs, and graphs become molecules."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import networkx as nx

from graphscore.errors import GraphDataError
from graphscore.graphs.limits import Reading
from graphscore.graphs.molecules import ORDERS, as_kekule, molecule_of, packed_molecules, rdkit
from graphscore.graphs.validation import Candidate

MAX_ATOMS = 10_000
"""Atoms of a molecule, with hydrogens that are written."""
MAX_RINGS = 500
"""Rings of a molecule, counted as bonds that close one; the time that RDKit takes grows with the
square of their number."""
MAX_BONDS = 40
"""Bonds of an atom; RDKit takes the sum of their orders modulo 256."""
DROPPED, INVALID = (
    "stereochemistry, isotopes or radicals dropped",
    "invalid molecules read as written",
)
_CHANGES = ((), (DROPPED,), (INVALID,), (DROPPED, INVALID))


def candidates(
    parsed: Iterable[tuple[int, Any, bool]], source: str, reading: Reading
) -> Iterator[Candidate]:
    """Check and count molecules; return an iterator that builds their graphs.

    Args:
        parsed: line, RDKit's molecule as parsed, None if it cannot be, and whether it had
            stereochemistry or isotopes.

    Raises:
        GraphDataError: not to be parsed, without atoms, with atoms or bonds of other kinds, or more
            than the limits allow.
    """
    lines, changed = array("q"), bytearray()

    def checked() -> Iterator[Any]:
        for line, molecule, dropped in parsed:
            where = f"{source} line {line}"
            if molecule is None:
                raise GraphDataError(
                    f"{where}: no molecule that RDKit can parse. Correct it, or remove it."
                )
            check_molecule(where, molecule)
            simple, invalid = _without_hydrogens(where, molecule)
            reading.add_graph(where, simple.GetNumAtoms(), simple.GetNumBonds())
            radicals = any(atom.GetNumRadicalElectrons() for atom in simple.GetAtoms())
            lines.append(line)
            changed.append((dropped or radicals) + 2 * invalid)
            yield simple

    packed = packed_molecules(checked())
    return (
        Candidate(f"{source} line {line}", graph, True, _CHANGES[change])
        for line, change, graph in zip(lines, changed, packed)
    )


def check_molecule(where: str, molecule: Any) -> None:
    """Refuse a molecule that RDKit would take too long for, or count wrongly.

    Raises:
        GraphDataError: too many atoms, bonds of one atom, or rings.
    """
    atoms = molecule.GetNumAtoms()
    if atoms > MAX_ATOMS:
        raise GraphDataError(
            f"{where}: {atoms} atoms, but at most {MAX_ATOMS} are read and written as a molecule. "
            "Use another format."
        )
    if atoms <= MAX_BONDS and molecule.GetNumBonds() <= MAX_RINGS:
        return
    most = max(atom.GetDegree() for atom in molecule.GetAtoms())
    if most > MAX_BONDS:
        raise GraphDataError(
            f"{where}: an atom with {most} bonds, but at most {MAX_BONDS} are read and written "
            "in a molecule. Use another format."
        )
    if molecule.GetNumBonds() > MAX_RINGS:
        check_rings(where, [(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in molecule.GetBonds()])


def check_rings(where: str, bonds: Sequence[tuple[Any, Any]]) -> None:
    """Refuse bonds that close more rings than RDKit has time for.

    Raises:
        GraphDataError: too many.
    """
    if len(bonds) <= MAX_RINGS:
        return
    # Each part of a molecule has one bond less than atoms, and one more for every ring.
    graph: nx.Graph[Any] = nx.Graph(bonds)
    if len(bonds) - len(graph) + nx.number_connected_components(graph) > MAX_RINGS:
        raise GraphDataError(
            f"{where}: more than {MAX_RINGS} rings, which are not read and written as a molecule. "
            "Use another format."
        )


def _without_hydrogens(where: str, molecule: Any) -> tuple[Any, bool]:
    """Return a Kekulé structure, and whether it is only what was written, which is not valid."""
    chem = rdkit()
    for atom in molecule.GetAtoms():
        if not atom.GetAtomicNum():
            raise GraphDataError(
                f"{where}: an atom of no element, such as '*'. Remove the molecule."
            )
        if atom.GetIsotope():
            atom.SetIsotope(0)  # RDKit would keep hydrogens that have one
    chem.RemoveStereochemistry(molecule)
    try:
        return as_kekule(molecule), False
    except ValueError as error:
        refused = GraphDataError(f"{where}: {error}. Correct it, or remove it.")
    if any(str(bond.GetBondType()).lower() not in ORDERS for bond in molecule.GetBonds()):
        raise refused
    try:
        molecule.UpdatePropertyCache(strict=False)
        bare = chem.RemoveHs(molecule, sanitize=False)
    except RuntimeError:  # more bonds at an atom than RDKit can count
        raise refused from None
    if not bare.GetNumAtoms():
        raise refused
    return bare, True


def written(graphs: Iterable[nx.Graph[Any]], text: Callable[[Any], str]) -> Iterator[str]:
    """Yield a text of the molecule of every graph, which may be none that is valid.

    Raises:
        GraphDataError: a node or edge is no atom or bond, or a molecule is too large; the message
            numbers the graph.
    """
    for number, graph in enumerate(graphs, start=1):
        where = f"graph {number}"
        try:
            molecule = molecule_of(graph, charge_neutral=False)
        except GraphDataError as error:
            raise GraphDataError(
                f"{where}, {error} Only molecules are written as SMILES and SDF."
            ) from None
        check_molecule(where, molecule)
        try:
            molecule.UpdatePropertyCache(strict=False)
            yield text(molecule)
        except RuntimeError as error:
            raise GraphDataError(
                f"{where}: RDKit cannot write it ({str(error).strip()[:200]})."
            ) from None
