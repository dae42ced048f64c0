"""Uniqueness and novelty: shares of samples by which graphs are isomorphic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx

from graphscore.errors import warn
from graphscore.graphs import AttributeSettings
from graphscore.metrics.attributes import unions_of
from graphscore.metrics.isomorphism import (
    MAX_STEPS,
    IsomorphismClasses,
    classes_of_unions,
    not_decided,
)


def uniqueness(
    samples: Sequence[nx.Graph[Any]],
    *,
    node_type: str | None = None,
    edge_type: str | None = None,
    drop_isolated: bool = False,
    max_steps: int = MAX_STEPS,
) -> float:
    """Return the number of isomorphism classes among the samples divided by their number.

    Args:
        samples: at least one graph.
        node_type, edge_type: as in `isomorphism_classes`.
        drop_isolated: compare graphs after removing nodes without edges.
        max_steps: as in `isomorphism_classes`.

    Raises:
        GraphDataError: no sample is given, or a graph is not simple and undirected or lacks a type.

    Example:
        >>> uniqueness([nx.path_graph(3), nx.star_graph(2), nx.cycle_graph(3), nx.path_graph(2)])
        0.75
    """
    names = AttributeSettings(node_type=node_type, edge_type=edge_type)
    (union,) = unions_of({"samples": samples}, names, drop_isolated=drop_isolated)
    shares = Shares.of(classes_of_unions(union, max_steps=max_steps), len(union))
    if shares.undecided:
        warn(shares.not_decided(max_steps))
    return shares.unique


def novelty(
    samples: Sequence[nx.Graph[Any]],
    training: Sequence[nx.Graph[Any]],
    *,
    node_type: str | None = None,
    edge_type: str | None = None,
    drop_isolated: bool = False,
    max_steps: int = MAX_STEPS,
) -> float:
    """Return the share of samples that are isomorphic to no training graph.

    Args:
        samples: at least one graph.
        training: at least one graph.
        node_type, edge_type: as in `isomorphism_classes`.
        drop_isolated: compare graphs after removing nodes without edges.
        max_steps: as in `isomorphism_classes`.

    Raises:
        GraphDataError: a list is empty, or a graph is not simple and undirected or lacks a type.

    Example:
        >>> novelty([nx.star_graph(2), nx.cycle_graph(3)], training=[nx.path_graph(3)])
        0.5
    """
    names = AttributeSettings(node_type=node_type, edge_type=edge_type)
    lists = {"samples": samples, "training": training}
    sampled, known = unions_of(lists, names, drop_isolated=drop_isolated)
    classes = classes_of_unions(sampled, known, max_steps=max_steps)
    shares = Shares.of(classes, len(sampled))
    if shares.undecided:
        warn(shares.not_decided(max_steps))
    return shares.novel


@dataclass(frozen=True)
class Shares:
    """Uniqueness and novelty, and how small they may be if pairs of graphs were not decided.

    Attributes:
        unique: distinct classes among the samples divided by their number.
        unique_low: the least it can be.
        novel: share of samples whose class none of the other graphs has.
        novel_low: the least it can be.
        undecided: pairs of classes, at least one of them of samples, that were not decided.
    """

    unique: float
    unique_low: float
    novel: float
    novel_low: float
    undecided: int

    @classmethod
    def of(cls, classes: IsomorphismClasses, sample_count: int) -> Shares:
        """Return the shares of the first `sample_count` graphs; the others are known ones.

        >>> Shares.of(IsomorphismClasses([0, 1, 1, 2], {}, frozenset()), 2)
        Shares(unique=1.0, unique_low=1.0, novel=0.5, novel_low=0.5, undecided=0)
        >>> Shares.of(IsomorphismClasses([0, 1, 1, 2], {0: 0, 2: 0}, frozenset([2])), 2)
        Shares(unique=1.0, unique_low=1.0, novel=0.5, novel_low=0.0, undecided=1)
        """
        samples, others = classes.labels[:sample_count], classes.labels[sample_count:]
        distinct, known = set(samples), set(others)
        merging = sum(
            one.undecided - (not one.decided) for one in classes.groups(distinct).values()
        )
        groups = classes.groups(known)

        def surely_novel(label: int) -> bool:
            group = groups.get(classes.alike.get(label, -1))
            alike = group is not None and (group.undecided or label in classes.undecided)
            return label not in known and not alike

        return cls(
            unique=len(distinct) / sample_count,
            unique_low=(len(distinct) - merging) / sample_count,
            novel=sum(label not in known for label in samples) / sample_count,
            novel_low=sum(map(surely_novel, samples)) / sample_count,
            undecided=classes.undecided_pairs(sample_count),
        )

    def not_decided(self, max_steps: int) -> str:
        """Return what to say about the pairs that were not decided.

        >>> Shares(0.98, 0.97, 1.0, 1.0, undecided=2).not_decided(1000)
        '2 pairs of graphs not decided within 1,000 steps; counted as different: uniqueness is \
between 97.0% and 98.0%'
        """
        ranges = [
            f"{name} is between {low:.1%} and {high:.1%}"
            for name, low, high in (
                ("uniqueness", self.unique_low, self.unique),
                ("novelty", self.novel_low, self.novel),
            )
            if low < high
        ]
        return ": ".join(
            [not_decided(self.undecided, max_steps), *([", ".join(ranges)] if ranges else [])]
        )


def share_in_words(share: float | None, low: float | None) -> str:
    """Return a share in percent, as a range where pairs of graphs were not decided.

    >>> share_in_words(0.5, None), share_in_words(0.5, 0.25), share_in_words(None, None)
    ('50%', '25% to 50%', '')
    """
    if share is None:
        return ""
    return f"{share:.0%}" if low is None or low == share else f"{low:.0%} to {share:.0%}"
