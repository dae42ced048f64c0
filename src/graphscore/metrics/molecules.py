"""Molecules: what published benchmarks measure of them. See `evaluate_molecules`."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib import import_module
from importlib.metadata import version
from typing import Any, Literal, Self

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray

from graphscore.errors import GraphDataError, MissingExtraError, warn
from graphscore.graphs.molecules import molecule_of, rdkit, sanitised
from graphscore.metrics.disjoint_union import check_kind
from graphscore.metrics.nspdk import Labelled, MeanFeatures, squared_mmd
from graphscore.metrics.vun import wilson_interval
from graphscore.shown import Rows, Shown

Molecules = Sequence["nx.Graph[Any] | str"]
"""Graphs with the attributes `element` and `bond`, or SMILES."""
Moments = tuple[NDArray[np.float64], NDArray[np.float64]]
"""A mean vector and a covariance matrix."""
_FEWEST = 2
"""Molecules that have a covariance."""
_AT_A_TIME = 10_240
"""Molecules given to ChemNet at a time, a multiple of its batches: it keeps what it computed of all
of them, which for hundreds of thousands would be tens of gigabytes."""


@dataclass(frozen=True)
class MoleculeSet:
    """Molecules that were read once, to be compared with several others.

    ChemNet's activations and NSPDK's features are computed when they are first asked for, and kept.

    Attributes:
        form: what was given.
        count: how many were given.
        valid_as_is: how many of them are valid without charges added.
        connected: how many are valid and have one component.
        smiles: canonical SMILES of the largest components of valid ones.
        plain: the same without stereochemistry.
    """

    form: Literal["graphs", "SMILES"]
    count: int
    valid_as_is: int
    connected: int
    smiles: tuple[str, ...]
    plain: tuple[str, ...]

    @classmethod
    def of(cls, molecules: Molecules, name: str = "molecules") -> Self:
        """Read molecules.

        Args:
            molecules: at least one; all graphs, or all SMILES.
            name: what errors call them.

        Raises:
            GraphDataError: there are none, or one is neither a graph of atoms and bonds nor text.
            MissingExtraError: RDKit is not installed.

        Example:
            >>> found = MoleculeSet.of(["OCC", "CO.C"])  # doctest: +SKIP
            >>> found.smiles, found.connected  # doctest: +SKIP
            (('CCO', 'CO'), 1)
        """
        if not len(molecules):
            raise GraphDataError(f"{name}: no molecules. Give at least one.")
        chem = rdkit("Measuring molecules")
        as_is, connected = 0, 0
        smiles, plain = [], []
        texts = isinstance(molecules[0], str)
        for index, given in enumerate(molecules):
            if isinstance(given, str) != texts:
                raise GraphDataError(f"{name}: graphs and SMILES are mixed. Give one of them.")
            if isinstance(given, str):
                found, needed_charge = chem.MolFromSmiles(given), False
            else:
                found, needed_charge = _of_graph(given, f"{name}, graph {index + 1}")
            if found is None or not found.GetNumAtoms():
                continue
            as_is += not needed_charge
            if len(chem.GetMolFrags(found)) == 1:
                connected += 1
            else:
                parts = chem.GetMolFrags(found, asMols=True, sanitizeFrags=False)
                found = max(parts, key=lambda part: (part.GetNumAtoms(), chem.MolToSmiles(part)))
            smiles.append(chem.MolToSmiles(found))
            plain.append(chem.MolToSmiles(found, isomericSmiles=False) if texts else smiles[-1])
        form: Literal["graphs", "SMILES"] = "SMILES" if texts else "graphs"
        return cls(form, len(molecules), as_is, connected, tuple(smiles), tuple(plain))

    @cached_property
    def activations(self) -> Moments:
        """Mean and covariance of ChemNet's activations, for FCD."""
        return _moments(self.smiles)

    @cached_property
    def features(self) -> MeanFeatures:
        """The mean of NSPDK's features."""
        chem = rdkit()
        # They have been sanitised.
        found = (chem.MolFromSmiles(smiles, sanitize=False) for smiles in self.plain)
        return MeanFeatures.of(map(_labelled, found))


@dataclass(frozen=True)
class Proportion:
    """A share with its 95 % interval by Wilson's method; all None where there is nothing to count.

    Attributes:
        share: count / out_of.
        low, high: ends of the interval.
        count: how many have the property.
        out_of: among how many.
    """

    share: float | None
    low: float | None
    high: float | None
    count: int
    out_of: int

    @classmethod
    def of(cls, count: int, out_of: int) -> Self:
        """Return that of `count` among `out_of`.

        >>> print(Proportion.of(1, 2))
        50.00% (9.45% to 90.55%)
        """
        if not out_of:
            return cls(None, None, None, count, out_of)
        return cls(count / out_of, *wilson_interval(count, out_of), count, out_of)

    @property
    def texts(self) -> tuple[str, str]:
        """The share and its interval in percent; empty where there is nothing to count."""
        if self.share is None:
            return "", ""
        return f"{self.share:.2%}", f"{self.low:.2%} to {self.high:.2%}"

    def __str__(self) -> str:
        share, interval = self.texts
        return f"{share} ({interval})" if share else "nothing to count"


@dataclass(frozen=True, repr=False)
class MoleculeResult(Shown):
    """What was measured of molecules; see `evaluate_molecules`.

    Attributes:
        valid: share of samples that RDKit sanitises, neutral N and O with one bond too many having
            got a charge of +1.
        valid_as_is: the same without these charges.
        connected: share of samples that are valid and have one component.
        unique: number of different molecules among the valid samples, divided by their number.
        novel: share of these different molecules that are no training molecule; None without
            training molecules.
        fcd: Fréchet ChemNet distance to the reference; None if it was not asked for, or there are
            fewer than two valid molecules.
        nspdk: squared MMD to the reference by NSPDK; None if it was not asked for, or there is no
            valid molecule.
        reference_form: whether the reference molecules were given as "graphs" or "SMILES".
        sample_count: number of samples.
        reference_count: number of reference molecules, valid ones only.
        training_count: number of training molecules, valid ones only; None without them.
        protocol: how all this was measured.
        versions: of RDKit, and of fcd_torch if it was used.
        seconds: wall-clock time.
    """

    valid: Proportion
    valid_as_is: Proportion
    connected: Proportion
    unique: Proportion
    novel: Proportion | None
    fcd: float | None
    nspdk: float | None
    reference_form: Literal["graphs", "SMILES"]
    sample_count: int
    reference_count: int
    training_count: int | None
    protocol: str
    versions: dict[str, str]
    seconds: float

    def _rows(self) -> Rows:
        """Return what was measured, as pairs of a heading and a text."""
        shares = ("valid", "valid_as_is", "connected", "unique", "novel")
        found = {name.replace("_", " "): getattr(self, name) for name in shares}
        found["FCD"] = None if self.fcd is None else f"{self.fcd:.3f}"
        found["NSPDK"] = None if self.nspdk is None else f"{self.nspdk:.5f}"
        found["molecules"] = f"{self.sample_count} against {self.reference_count}"
        return [(heading, str(text)) for heading, text in found.items() if text is not None]

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain values that JSON can hold."""
        return asdict(self)


def evaluate_molecules(
    samples: Molecules | MoleculeSet,
    reference: Molecules | MoleculeSet,
    *,
    training: Molecules | MoleculeSet | None = None,
    fcd: bool = True,
    nspdk: bool = True,
) -> MoleculeResult:
    """Measure generated molecules as published benchmarks do (Jo et al. 2022 and later).

    - A sample is valid if RDKit sanitises it. No valence is corrected, except that neutral N or O
      with one bond too many gets a charge of +1 first; `valid_as_is` is without that.
    - Of a valid sample in several components, the largest is the molecule that all else is about.
    - Molecules are the same if their canonical SMILES without stereochemistry are.
    - FCD (Preuer et al. 2018) is the Fréchet distance of ChemNet's activations, of all valid
      samples, repeated ones included, to the reference. Published values compare with SMILES as
      they were distributed, with stereochemistry if they have it; graphs have none. So give the
      reference as SMILES to compare with published values.
    - NSPDK (Costa & De Grave 2010) is the squared MMD with the linear kernel of `metrics.nspdk`:
      radii and distances up to 4, elements as labels of nodes, orders of bonds as those of edges,
      where an aromatic bond counts as 1, as in published code.

    FCD falls with the number of molecules: published ones are of 10,000 samples against all test
    molecules. Compare equal counts only.

    Args:
        samples: generated molecules, as graphs with the node attribute `element` and the edge
            attribute `bond`, as SMILES, or as a `MoleculeSet`.
        reference: molecules held out from training, in one of these forms. A `MoleculeSet` is
            evaluated only once however many sets are compared with it.
        training: molecules that the model was trained on, in one of these forms.
        fcd: measure FCD; 5000 molecules take about 20 seconds on a CPU.
        nspdk: measure NSPDK.

    Raises:
        GraphDataError: a list is empty, or a graph is no graph of atoms and bonds.
        MissingExtraError: RDKit is not installed, or `fcd` is asked for without fcd_torch.

    Example:
        >>> result = evaluate_molecules(["CCO", "OCC"], ["CC"], fcd=False)  # doctest: +SKIP
        >>> print(result.unique)  # doctest: +SKIP
        50.00% (9.45% to 90.55%)
    """
    start = time.perf_counter()
    if fcd:
        _chemnet()
    found, known = _read(samples, "samples"), _read(reference, "reference")
    learned = None if training is None else _read(training, "training")
    for name, given in (("reference", known), ("training", learned)):
        if given is not None and (missing := given.count - len(given.smiles)):
            warn(f"{name}: {missing} of {given.count} molecules are not valid and do not count")
    different = set(found.plain)
    packages = ["rdkit", "fcd-torch"] if fcd else ["rdkit"]
    versions = {package: version(package) for package in packages}
    return MoleculeResult(
        valid=Proportion.of(len(found.smiles), found.count),
        valid_as_is=Proportion.of(found.valid_as_is, found.count),
        connected=Proportion.of(found.connected, found.count),
        unique=Proportion.of(len(different), len(found.smiles)),
        novel=None
        if learned is None
        else Proportion.of(len(different.difference(learned.plain)), len(different)),
        fcd=_fcd(found, known) if fcd else None,
        nspdk=_nspdk(found, known) if nspdk else None,
        reference_form=known.form,
        sample_count=found.count,
        reference_count=len(known.smiles),
        training_count=None if learned is None else len(learned.smiles),
        protocol=_protocol(found, known, versions),
        versions=versions,
        seconds=time.perf_counter() - start,
    )


def _read(molecules: Molecules | MoleculeSet, name: str) -> MoleculeSet:
    return molecules if isinstance(molecules, MoleculeSet) else MoleculeSet.of(molecules, name)


def _of_graph(graph: nx.Graph[Any], where: str) -> tuple[Any, bool]:
    """Return a graph as a sanitised molecule, None if it is not valid; and whether it got charges.

    Raises:
        GraphDataError: it is no graph of atoms and bonds.
    """
    try:
        check_kind(graph, 0)
        found = sanitised(molecule_of(graph, charge_neutral=False))
        # What is valid has no neutral N or O with a bond too many.
        if found is not None:
            return found, False
        return sanitised(molecule_of(graph)), True
    except GraphDataError as error:
        raise GraphDataError(f"{where}, {str(error).removeprefix('graph 0: ')}") from None
    except RuntimeError:
        raise GraphDataError(f"{where}: an atom is bound to itself.") from None


def _labelled(molecule: Any) -> Labelled:
    bonds = list(molecule.GetBonds())
    ends = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in bonds]
    return Labelled(
        np.array([atom.GetAtomicNum() for atom in molecule.GetAtoms()], dtype=np.int64),
        np.array(ends, dtype=np.int64).reshape(-1, 2),
        np.array([int(bond.GetBondTypeAsDouble()) for bond in bonds], dtype=np.int64),
    )


def _nspdk(found: MoleculeSet, known: MoleculeSet) -> float | None:
    if not found.smiles or not known.smiles:
        return None
    return squared_mmd(found.features, known.features)


def _fcd(found: MoleculeSet, known: MoleculeSet) -> float | None:
    if min(len(found.smiles), len(known.smiles)) < _FEWEST:
        return None
    return _frechet(found.activations, known.activations)


def _chemnet() -> Any:
    """Return the module that has ChemNet.

    Raises:
        MissingExtraError: it is not installed.
    """
    rdkit("Measuring molecules")
    try:
        return import_module("fcd_torch")
    except ImportError as error:
        raise MissingExtraError("fcd_torch", "molecules", "FCD") from error


def _moments(smiles: Sequence[str]) -> Moments:
    """Return mean and covariance of ChemNet's activations."""
    # Its loader of data draws a number that it does not use.
    with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
        warnings.simplefilter("ignore")
        model = _chemnet().FCD(device="cpu", canonize=False)
        parts = [
            model.get_predictions(list(smiles[start : start + _AT_A_TIME]))
            for start in range(0, len(smiles), _AT_A_TIME)
        ]
    activations = np.concatenate(parts, dtype=np.float64)
    return activations.mean(0), np.cov(activations.T)


def _frechet(one: Moments, other: Moments) -> float:
    """Return |m - m'|^2 + tr(C + C' - 2 (C C')^(1/2)).

    C C' has the eigenvalues of the symmetric matrix C^(1/2) C' C^(1/2), which is safe to compute
    also where there are fewer molecules than activations.
    """
    (mean, spread), (other_mean, other_spread) = one, other
    values, vectors = np.linalg.eigh(spread)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    common = np.linalg.eigvalsh(root @ other_spread @ root)
    shared = np.sqrt(np.maximum(common, 0)).sum()
    shift = np.square(mean - other_mean).sum()
    return max(0.0, float(shift + np.trace(spread) + np.trace(other_spread) - 2 * shared))


def _protocol(found: MoleculeSet, known: MoleculeSet, versions: dict[str, str]) -> str:
    stereo = "with" if known.form == "SMILES" else "without"
    names = ", ".join(f"{package} {number}" for package, number in versions.items())
    return (
        "valid: sanitised by RDKit, no valences corrected, after neutral N and O with one bond too "
        "many got charge +1 (valid as is: without that charge); the largest component of a valid "
        "sample counts below; unique: among the valid; novel: among the unique, not in training, "
        "by canonical SMILES without stereochemistry; FCD: ChemNet activations of all valid "
        f"samples, repeats included ({len(found.smiles)}), against {len(known.smiles)} reference "
        f"molecules from {known.form}, {stereo} stereochemistry; NSPDK: squared MMD, linear "
        f"kernel, radii and distances 0 to 4, aromatic bonds as 1; {names}"
    )
