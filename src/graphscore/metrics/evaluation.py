"""Compare generated graphs with reference graphs as published tables do.

`DESCRIPTORS` is the table of what sets of graphs are compared by: a new one is one entry there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from graphscore.errors import SettingsError, warn
from graphscore.graphs import AttributeSettings
from graphscore.graphs.attributes import given_names
from graphscore.graphs.given import Graphs, graphs_to_compare
from graphscore.metrics.attribute_distances import attribute_distances, kernels_in_words
from graphscore.metrics.attributes import unions_of
from graphscore.metrics.descriptors import (
    CLUSTERING_BINS,
    SPECTRUM_BINS,
    clustering_histograms,
    degree_histograms,
    mean_orbit_counts,
    spectrum_histograms,
)
from graphscore.metrics.disjoint_union import GraphUnion, IntArray
from graphscore.metrics.isomorphism import (
    MAX_STEPS,
    IsomorphismClasses,
    union_isomorphism_classes,
)
from graphscore.metrics.kernels import cumulative, gaussian, gaussian_emd, gaussian_tv, normalised
from graphscore.metrics.mmd import mmd
from graphscore.metrics.novelty import Shares, share_in_words
from graphscore.metrics.orbits import union_orbit_counts
from graphscore.shown import Rows, Shown

ESTIMATOR = "biased squared MMD"

KernelName = Literal["gaussian-emd", "gaussian-tv"]
"""`gaussian-emd`: the tables of EDP-GNN and GDSS. `gaussian-tv`: those of SPECTRE and DiGress."""


@dataclass(frozen=True)
class Descriptor:
    """A description of a graph by which two sets of graphs are compared.

    Attributes:
        compute: function of G graphs and the (V,15) orbit counts of their nodes that returns (G,D).
        sigma: width of the kernel.
        spacing: distance between neighbouring bins for `gaussian-emd`; None if the descriptor is
            no histogram: then `gaussian-emd` uses the Euclidean distance.
        bins: number of bins where it is fixed; named in results.
        kernels: kernels whose published tables include the descriptor; with others it is computed
            on request only, so that published averages do not change.
    """

    compute: Callable[[GraphUnion, IntArray], npt.NDArray[Any]]
    sigma: float
    spacing: float | None = None
    bins: int | None = None
    kernels: tuple[KernelName, ...] = ()

    def mmd(self, samples: _GraphSet, reference: _GraphSet, kernel: KernelName) -> float:
        """Return the MMD between two sets of graphs under the kernel."""
        x, y = (self.compute(graphs.union, graphs.orbits) for graphs in (samples, reference))
        emd = kernel == "gaussian-emd"
        if self.spacing is None:
            return mmd(x, y, partial(gaussian if emd else gaussian_tv, sigma=self.sigma))
        width = max(x.shape[1], y.shape[1])
        if emd:
            earth_mover = partial(gaussian_emd, sigma=self.sigma, spacing=self.spacing)
            return mmd(cumulative(x, width), cumulative(y, width), earth_mover)
        total_variation = partial(gaussian_tv, sigma=self.sigma)
        return mmd(normalised(x, width), normalised(y, width), total_variation)


DESCRIPTORS: dict[str, Descriptor] = {
    "degree": Descriptor(
        lambda union, _: degree_histograms(union),
        sigma=1.0,
        spacing=1.0,
        kernels=("gaussian-emd", "gaussian-tv"),
    ),
    "clustering": Descriptor(
        clustering_histograms,
        sigma=0.1,
        spacing=1 / CLUSTERING_BINS,
        bins=CLUSTERING_BINS,
        kernels=("gaussian-emd", "gaussian-tv"),
    ),
    "orbit": Descriptor(mean_orbit_counts, sigma=30.0, kernels=("gaussian-emd", "gaussian-tv")),
    "spectrum": Descriptor(
        lambda union, _: spectrum_histograms(union),
        sigma=1.0,
        spacing=1.0,  # as published: EMD in numbers of bins, not in differences of eigenvalues
        bins=SPECTRUM_BINS,
        kernels=("gaussian-tv",),
    ),
}
"""Descriptors by the name that their MMD has in results."""


@dataclass(frozen=True, repr=False)
class EvaluationResult(Shown):
    """How far samples are from reference graphs, with everything needed to compare the numbers.

    Attributes:
        distances: MMD by descriptor: degree, clustering, orbit and, if measured, spectrum.
        sample_count: number of sampled graphs.
        reference_count: number of reference graphs.
        uniqueness: isomorphism classes among the samples divided by their number.
        novelty: share of samples isomorphic to no training graph; None without training graphs.
        training_count: number of training graphs; None if none were given.
        drop_isolated: whether nodes without edges were removed first.
        empty_samples: samples left without nodes; each counts as a single node without edges.
        empty_references: the same among the reference graphs.
        kernel: kernels, bins and widths.
        estimator: estimator of the MMD.
        seconds: wall-clock time of the evaluation.
        undecided: pairs of graphs of which was not decided whether they are isomorphic. They count
            as different, so uniqueness and novelty may be too large.
        uniqueness_low: the least that uniqueness can be; None if all pairs were decided.
        novelty_low: the same of novelty.
        attributes: names of the attributes that were compared too, as they were given.
        attribute_distances: MMD by what nodes and edges carry: node_types, edge_types,
            typed_degree, edge_weights and node_feature_ with the name of each.

    Example:
        >>> import networkx as nx
        >>> result = evaluate([nx.path_graph(3)], [nx.path_graph(3)])
        >>> result.average, result.uniqueness, result.novelty
        (0.0, 1.0, None)
        >>> print(result)
        degree 0.0000, clustering 0.0000, orbit 0.0000, average 0.0000 (1 against 1; unique 100.0%)
    """

    distances: dict[str, float]
    sample_count: int
    reference_count: int
    uniqueness: float
    novelty: float | None
    training_count: int | None
    drop_isolated: bool
    empty_samples: int
    empty_references: int
    kernel: str
    estimator: str
    seconds: float
    undecided: int
    uniqueness_low: float | None
    novelty_low: float | None
    attributes: dict[str, Any] = field(default_factory=dict)
    attribute_distances: dict[str, float] = field(default_factory=dict)

    @property
    def average(self) -> float:
        """Mean of the MMDs of structures that were measured, as in published tables."""
        return _mean(self.distances)

    @property
    def average_of_all(self) -> float:
        """Mean of all MMDs, those of attributes included."""
        return _mean({**self.distances, **self.attribute_distances})

    @property
    def measured(self) -> dict[str, float]:
        """All MMDs, and their averages behind what they are averages of."""
        measured = {**self.distances, "average": self.average}
        if not self.attribute_distances:
            return measured
        return {**measured, **self.attribute_distances, "average_of_all": self.average_of_all}

    def to_dict(self) -> dict[str, Any]:
        """Return each MMD, their averages and all other fields as plain values for JSON.

        >>> import networkx as nx
        >>> evaluate([nx.path_graph(3)], [nx.path_graph(3)]).to_dict()["degree"]
        0.0
        """
        fields = asdict(self)
        distances = {**fields.pop("distances"), **fields.pop("attribute_distances")}
        if not self.attributes:
            del fields["attributes"]
        return {**distances, **fields, **self.measured}

    def _rows(self) -> Rows:
        """Return what was measured, as pairs of a heading and a text."""
        found = {
            **{f"MMD, {name}": f"{value:.4f}" for name, value in self.measured.items()},
            "unique": share_in_words(self.uniqueness, self.uniqueness_low),
            "novel": share_in_words(self.novelty, self.novelty_low),
            "graphs": f"{self.sample_count} against {self.reference_count}",
            "kernel": self.kernel,
        }
        return [(heading, text) for heading, text in found.items() if text]

    def __str__(self) -> str:
        shares = f"unique {self.uniqueness:.1%}"
        if self.novelty is not None:
            shares += f", novel {self.novelty:.1%}"
        measured = ", ".join(f"{name} {value:.4f}" for name, value in self.measured.items())
        return f"{measured} ({self.sample_count} against {self.reference_count}; {shares})"


def evaluate(
    samples: Graphs,
    reference: Graphs,
    *,
    node_type: str | None = None,
    edge_type: str | None = None,
    edge_weight: str | None = None,
    node_features: str | Sequence[str] = (),
    training: Graphs | None = None,
    drop_isolated: bool | None = None,
    kernel: KernelName = "gaussian-emd",
    descriptors: Sequence[str] | None = None,
    max_steps: int = MAX_STEPS,
) -> EvaluationResult:
    """Measure the MMD of each descriptor between samples and reference graphs.

    With `gaussian-emd`, kernels and widths are those of the EDP-GNN and GDSS tables: Gaussian-EMD
    for degrees (sigma 1) and clustering (100 bins, sigma 0.1), Gaussian for mean orbit counts
    (sigma 30). With `gaussian-tv` they are those of the SPECTRE and DiGress tables: the same widths
    with half the L1 distance instead of EMD and Euclidean distance, and the spectrum of the
    normalised Laplacian (200 bins, sigma 1) as a fourth descriptor. Both use the biased estimator.
    `evaluate(training, test)` gives the floor: the MMD of two samples of the same distribution.

    A graph without nodes (after dropping isolated nodes, any graph without edges) counts as a
    single node without edges, as in the released EDP-GNN code; the result has their number.
    Uniqueness and novelty compare the same graphs: with `drop_isolated`, a training graph with one
    more isolated node is not novel.

    What nodes and edges carry is compared where its names are given. Each adds MMDs of its own, in
    `attribute_distances`, and the others and their average stay as they are. Isomorphic graphs then
    have the same types; weights and features do not matter for uniqueness and novelty. A type that
    the reference graphs do not have is one more type.

    Args:
        samples: generated graphs, at least one, in any form that `graphs.prepare_graphs` takes.
        reference: graphs to compare with, at least one; of a data set its test graphs.
        node_type, edge_type: attributes with one of several values, which are compared too.
        edge_weight, node_features: attributes that are numbers, which are compared too; features
            may be vectors, whose numbers are then rows of their own.
        training: if given, at least one graph, of a data set its training graphs; the result then
            has the novelty of the samples.
        drop_isolated: remove nodes without edges first; by default as in the kernel's tables, that
            is with `gaussian-emd` but not with `gaussian-tv`.
        kernel: `gaussian-emd` or `gaussian-tv`.
        descriptors: names from degree, clustering, orbit, spectrum; by default those of the
            kernel's tables, that is all with `gaussian-tv` and all but spectrum with
            `gaussian-emd`.
        max_steps: steps after which comparing a graph with others gives up; a warning and the
            result then have the number of pairs that were not decided.

    Raises:
        GraphDataError: a list is empty, or a graph is directed, a multigraph or has self-loops, or
            lacks an attribute.
        SettingsError: the kernel or a descriptor is unknown, or an attribute is named twice.

    Example:
        >>> import networkx as nx
        >>> result = evaluate([nx.cycle_graph(5)], [nx.path_graph(5)], training=[nx.cycle_graph(5)])
        >>> round(result.distances["degree"], 4), result.novelty
        (0.1538, 0.0)
        >>> result = evaluate([nx.cycle_graph(5)], [nx.path_graph(5)], kernel="gaussian-tv")
        >>> {name: round(value, 4) for name, value in result.distances.items()}
        {'degree': 0.1538, 'clustering': 0.0, 'orbit': 0.0044, 'spectrum': 0.5477}
        >>> one, other = (nx.Graph([(0, 1, {"bond": bond})]) for bond in (1, 2))
        >>> result = evaluate([one], [other], edge_type="bond", training=[other])
        >>> result.average, round(result.attribute_distances["edge_types"], 4), result.novelty
        (0.0, 0.7869, 1.0)
    """
    start = time.perf_counter()
    names = _chosen_descriptors(kernel, descriptors)
    given = given_names(node_type, edge_type, edge_weight, node_features)
    drop_isolated = kernel == "gaussian-emd" if drop_isolated is None else drop_isolated
    attributes = AttributeSettings(**given)
    of_edges = attributes.of_edges
    lists = {
        "samples": graphs_to_compare(samples, "samples", of_edges),
        "reference": graphs_to_compare(reference, "reference", of_edges, "test"),
    }
    if training is not None:
        lists["training"] = graphs_to_compare(training, "training", of_edges, "train")
    unions = unions_of(lists, attributes, drop_isolated=drop_isolated)
    sampled, referred, *rest = map(_GraphSet.of, unions)
    known = rest[0] if rest else None
    count = len(sampled.union)
    shares = Shares.of(_isomorphism_classes(sampled, known, max_steps), count)
    if shares.undecided:
        warn(shares.not_decided(max_steps))
    carried = attribute_distances(sampled.union, referred.union)
    return EvaluationResult(
        distances={name: DESCRIPTORS[name].mmd(sampled, referred, kernel) for name in names},
        sample_count=count,
        reference_count=len(referred.union),
        uniqueness=shares.unique,
        novelty=None if known is None else shares.novel,
        training_count=None if known is None else len(known.union),
        drop_isolated=drop_isolated,
        empty_samples=sampled.empty,
        empty_references=referred.empty,
        kernel=_kernel_in_words(kernel, names, list(carried)),
        estimator=ESTIMATOR,
        seconds=time.perf_counter() - start,
        undecided=shares.undecided,
        uniqueness_low=shares.unique_low if shares.undecided else None,
        novelty_low=shares.novel_low if shares.undecided and known is not None else None,
        attributes=given,
        attribute_distances=carried,
    )


def _mean(distances: dict[str, float]) -> float:
    return sum(distances.values()) / len(distances)


def _chosen_descriptors(kernel: KernelName, asked: Sequence[str] | None) -> list[str]:
    """Return the names of the descriptors to compare, in the order of `DESCRIPTORS`."""
    for kind, values, known in (
        ("kernel", [kernel], get_args(KernelName)),
        ("descriptor", asked or (), tuple(DESCRIPTORS)),
    ):
        for value in values:
            if value not in known:
                raise SettingsError(f"unknown {kind} {value!r}. Use one of: {', '.join(known)}.")
    if asked is None:
        return [name for name, one in DESCRIPTORS.items() if kernel in one.kernels]
    if not asked:
        raise SettingsError(f"no descriptor given. Use at least one of: {', '.join(DESCRIPTORS)}.")
    return [name for name in DESCRIPTORS if name in asked]


def _kernel_in_words(kernel: KernelName, names: Sequence[str], rows: list[str]) -> str:
    parts: dict[str, list[str]] = {}
    for name in names:
        one = DESCRIPTORS[name]
        euclidean = kernel == "gaussian-emd" and one.spacing is None
        bins = "" if one.bins is None else f"{one.bins} bins, "
        words = parts.setdefault("gaussian" if euclidean else kernel, [])
        words.append(f"{name} {bins}sigma {one.sigma:g}")
    for used, more in kernels_in_words(rows).items():
        parts.setdefault(used, []).extend(more)
    return ", ".join(f"{used} ({'; '.join(words)})" for used, words in parts.items())


@dataclass(frozen=True)
class _GraphSet:
    """Graphs with at least one node each, their (V,15) orbit counts, and how many had no node.

    Orbit counts are the expensive part and are needed three times, so they are computed once.
    """

    union: GraphUnion
    orbits: IntArray
    empty: int

    @classmethod
    def of(cls, union: GraphUnion) -> _GraphSet:
        empty = int((union.sizes == 0).sum())
        union = union.with_node_in_empty()
        return cls(union, union_orbit_counts(union), empty)


def _isomorphism_classes(
    samples: _GraphSet, training: _GraphSet | None, max_steps: int
) -> IsomorphismClasses:
    sets = [samples] if training is None else [samples, training]
    union = GraphUnion.concatenate([one.union for one in sets])
    orbits = np.concatenate([one.orbits for one in sets])
    return union_isomorphism_classes(union, orbits, max_steps=max_steps)
