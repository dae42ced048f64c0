"""Molecules as graphs, by RDKit: atoms are nodes, bonds are edges, hydrogens are left out.

A node's type is its element and formal charge, such as "N" or "N+"; an edge's is its order in a
Kekulé structure. Stereochemistry, isotopes and radicals are not part of it.
"""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import networkx as nx
import numpy as np

from graphscore.errors import GraphDataError, MissingExtraError
from graphscore.graphs.attributes import AttributeSettings
from graphscore.graphs.packed import Coded, PackedGraphs
from graphscore.settings import quoted

ELEMENT = "element"
"""Node attribute: element and formal charge."""
BOND = "bond"
"""Edge attribute: order of the bond."""
ORDERS = ("double", "single", "triple")
"""Values of it."""
MOLECULES = AttributeSettings(node_type=ELEMENT, edge_type=BOND)
"""What the nodes and edges of molecules carry."""
_ATOM = re.compile(r"([A-Z][a-z]?)(\++|-*)")
_VALENCE = {"N": 3, "O": 2}
"""Bonds of neutral atoms that take one more with a charge of +1."""


def rdkit(purpose: str = "Reading and writing molecules") -> Any:
    """Return RDKit's module Chem.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        from rdkit import Chem, rdBase
    except ImportError as error:
        raise MissingExtraError("rdkit", "molecules", purpose) from error
    # What it prints on standard error is said by our own messages.
    rdBase.DisableLog("rdApp.*")
    return Chem


def is_molecular(names: AttributeSettings) -> bool:
    """Return whether the attributes are those of molecules."""
    return names.node_type == ELEMENT and names.edge_type == BOND


def kekulised(smiles: str) -> Any:
    """Return the molecule of SMILES with single, double and triple bonds, without hydrogens.

    Raises:
        ValueError: it is none, or has atoms or bonds of other kinds; the message says what.
    """
    chem = rdkit()
    molecule = chem.MolFromSmiles(smiles)
    if molecule is None:
        raise ValueError(f"{quoted(smiles)} is no molecule that RDKit can read")
    return as_kekule(molecule)


def as_kekule(molecule: Any) -> Any:
    """Return an RDKit molecule with single, double and triple bonds, without hydrogens.

    Raises:
        ValueError: it has none of these; the message says why.
    """
    chem = rdkit()
    try:
        molecule = chem.RemoveHs(molecule)
        chem.Kekulize(molecule, clearAromaticFlags=True)
    except (ValueError, RuntimeError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise ValueError(f"RDKit cannot take it ({reason})") from None
    if not molecule.GetNumAtoms():
        raise ValueError("a molecule without atoms")
    for bond in molecule.GetBonds():
        if str(bond.GetBondType()).lower() not in ORDERS:
            raise ValueError(f"a bond of the type {str(bond.GetBondType()).lower()}")
    return molecule


def atom_type(atom: Any) -> str:
    """Return element and charge of an RDKit atom.

    Raises:
        ValueError: it is no atom of an element.
    """
    if not atom.GetAtomicNum():
        raise ValueError(f"{atom.GetSmarts()} is no atom of an element")
    charge = atom.GetFormalCharge()
    symbol: str = atom.GetSymbol()
    # The same text for all atoms of a type, because there are millions.
    return sys.intern(f"{symbol}{'+' * charge}{'-' * -charge}")


def packed_molecules(molecules: Iterator[Any]) -> PackedGraphs:
    """Return Kekulé structures as graphs."""
    nodes, edges, ends = array("q"), array("q"), array("i")
    elements: list[str] = []
    orders: list[str] = []
    names = {kind: sys.intern(name.lower()) for name, kind in rdkit().BondType.names.items()}
    for molecule in molecules:
        nodes.append(molecule.GetNumAtoms())
        edges.append(molecule.GetNumBonds())
        elements.extend(map(atom_type, molecule.GetAtoms()))
        for bond in molecule.GetBonds():
            ends.extend((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()))
            orders.append(names[bond.GetBondType()])
    most = np.int16 if max(nodes, default=0) < 2**15 else np.int32
    return PackedGraphs(
        np.array(nodes, dtype=np.int64),
        np.array(edges, dtype=np.int64),
        np.array(ends, dtype=most).reshape(-1, 2),
        node_types={ELEMENT: Coded.of(elements)},
        edge_types={BOND: Coded.of(orders)},
    )


def molecule_of(graph: nx.Graph[Any], *, charge_neutral: bool = True) -> Any:
    """Return a graph as an RDKit molecule, which is not checked.

    Args:
        charge_neutral: give a neutral N or O that has one bond too many a charge of +1, as
            published evaluations do.

    Raises:
        GraphDataError: a node or edge is no atom or bond.

    Example:
        >>> bond = {BOND: "double"}
        >>> formaldehyde = nx.Graph([(0, 1, bond)])
        >>> nx.set_node_attributes(formaldehyde, {0: "C", 1: "O"}, ELEMENT)
        >>> smiles_of(molecule_of(formaldehyde))  # doctest: +SKIP
        'C=O'
    """
    chem = rdkit()
    made = chem.RWMol()
    number = {}
    for node, attributes in graph.nodes(data=True):
        found = _ATOM.fullmatch(str(attributes.get(ELEMENT)))
        try:
            atom = chem.Atom(found.group(1) if found else "")
        except (ValueError, RuntimeError):
            raise GraphDataError(
                f"node {node}: attribute {quoted(ELEMENT)} is {quoted(attributes.get(ELEMENT))}, "
                "but an element with its charge is expected, such as 'C' or 'N+'."
            ) from None
        sign = found.group(2) if found else ""
        atom.SetFormalCharge(sign.count("+") - sign.count("-"))
        number[node] = made.AddAtom(atom)
    for u, v, data in graph.edges(data=True):
        order = data.get(BOND)
        if order not in ORDERS:
            raise GraphDataError(
                f"edge {(u, v)}: attribute {quoted(BOND)} is {quoted(order)}, but one of "
                f"{', '.join(ORDERS)} is expected."
            )
        made.AddBond(number[u], number[v], chem.BondType.names[order.upper()])
    if charge_neutral:
        _charge(made)
    return made.GetMol()


def check_types(elements: Collection[object], bonds: Collection[object]) -> None:
    """Refuse types of nodes and edges that are no elements or bonds.

    Raises:
        GraphDataError: one is none; the message names it.
    """
    probe: nx.Graph[Any] = nx.empty_graph(len(elements))
    nx.set_node_attributes(probe, dict(enumerate(elements)), ELEMENT)
    for number, bond in enumerate(bonds, start=len(elements)):
        probe.add_node(number, **{ELEMENT: "C"})
        probe.add_edge(number, 0, **{BOND: bond})
    molecule_of(probe)


def number_of_invalid(graphs: Iterable[nx.Graph[Any]]) -> int:
    """Return how many graphs are no valid molecules as they are."""
    molecules = (molecule_of(graph, charge_neutral=False) for graph in graphs)
    return sum(smiles_of(molecule) is None for molecule in molecules)


def _charge(molecule: Any) -> None:
    for atom in molecule.GetAtoms():
        most = _VALENCE.get(atom.GetSymbol())
        if most is not None and atom.GetFormalCharge() == 0:
            bonds = sum(bond.GetBondTypeAsDouble() for bond in atom.GetBonds())
            if bonds == most + 1:
                atom.SetFormalCharge(1)


def sanitised(molecule: Any) -> Any:
    """Return a molecule after RDKit sanitised it in place; None if it is not valid.

    Valid is: every atom has a valence that it may have, and rings that are aromatic have a Kekulé
    structure.
    """
    chem = rdkit()
    # Valences are checked first, because sanitising begins with a correction of some of them.
    for steps in (chem.SanitizeFlags.SANITIZE_PROPERTIES, chem.SanitizeFlags.SANITIZE_ALL):
        if chem.SanitizeMol(molecule, sanitizeOps=steps, catchErrors=True):
            return None
    return molecule


def smiles_of(molecule: Any) -> str | None:
    """Return the canonical SMILES of a molecule without stereochemistry; None if not valid."""
    chem = rdkit()
    valid = sanitised(chem.Mol(molecule))
    return None if valid is None else str(chem.MolToSmiles(valid, isomericSmiles=False))
