"""V.U.N.: the share of samples that are valid, unique and novel at once."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

import networkx as nx

from graphscore.errors import GraphDataError, SettingsError
from graphscore.metrics.novelty import (
    isomorphism_classes,
    novelty_of_classes,
    uniqueness_of_classes,
)
from graphscore.metrics.validity import Rule

if TYPE_CHECKING:
    from graphscore.metrics.validity import Validity

_NORMAL_975 = 1.959963984540054  # 97.5 % quantile of the normal distribution: two-sided 95 %


@dataclass(frozen=True)
class VunResult:
    """Shares of samples that are valid, unique, novel, and all three.

    Attributes:
        valid: share of samples for which the validity function holds.
        unique: share of samples that are isomorphic to no earlier sample; so every isomorphism
            class counts once, as in `uniqueness`.
        novel: share of samples that are isomorphic to no training graph.
        vun: share of samples that are all three.
        vun_low: lower end of the 95 % Wilson interval of `vun`.
        vun_high: its upper end.
        sample_count: number of samples.
        training_count: number of training graphs.
        validity: name of the validity function.
        faults: what is wrong with samples that are not valid, and how many that is said of, most
            frequent first; empty if the validity function does not say, see `Rule`.
        seconds: wall-clock time.

    Example:
        >>> from graphscore.metrics import is_tree
        >>> samples = [nx.path_graph(4), nx.star_graph(3), nx.star_graph(3), nx.cycle_graph(4)]
        >>> print(vun(samples, [nx.path_graph(4)], is_tree))
        valid 75.0%, unique 75.0%, novel 75.0%, all three 25.0% [4.6%, 69.9%] (4 samples)
    """

    valid: float
    unique: float
    novel: float
    vun: float
    vun_low: float
    vun_high: float
    sample_count: int
    training_count: int
    validity: str
    faults: Mapping[str, int]
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain values that JSON can hold.

        >>> from graphscore.metrics import is_tree
        >>> vun([nx.path_graph(3)], [nx.path_graph(2)], is_tree).to_dict()["validity"]
        'is_tree'
        """
        return asdict(self)

    def __str__(self) -> str:
        return (
            f"valid {self.valid:.1%}, unique {self.unique:.1%}, novel {self.novel:.1%}, all three "
            f"{self.vun:.1%} [{self.vun_low:.1%}, {self.vun_high:.1%}] "
            f"({self.sample_count} samples)"
        )


def vun(
    samples: Sequence[nx.Graph[Any]], training: Sequence[nx.Graph[Any]], valid: Validity
) -> VunResult:
    """Return the shares of samples that are valid, unique, novel, and all three at once.

    As published (Martinkus et al. 2022), the first sample of an isomorphism class counts and later
    ones do not, and graphs are compared as they are, nodes without edges included. Comparisons are
    exact. The interval takes samples as independent draws; it does not cover what a model trained
    again would give.

    Args:
        samples: generated graphs, at least one.
        training: graphs that the model was trained on, at least one.
        valid: function that tells valid graphs. `validity_of("planar")` and the like also say
            what is wrong with the others.

    Raises:
        GraphDataError: a list is empty, or a graph is directed, a multigraph or has self-loops.
        SettingsError: `valid` is no function.

    Example:
        >>> from graphscore.metrics import validity_of
        >>> samples, training = [nx.path_graph(4), nx.cycle_graph(4)], [nx.star_graph(3)]
        >>> result = vun(samples, training, validity_of("tree"))
        >>> result.valid, result.unique, result.novel, result.vun, result.faults
        (0.5, 1.0, 1.0, 0.5, {'with a cycle': 1})
    """
    start = time.perf_counter()
    if not callable(valid):
        raise SettingsError(
            f"valid is {valid!r}, but a function of a graph is expected. Datasets without a rule "
            "for valid graphs have no V.U.N.; use uniqueness and novelty."
        )
    for name, graphs in (("samples", samples), ("training", training)):
        if not len(graphs):
            raise GraphDataError(
                f"{name} holds no graph, so no share can be taken; give at least one."
            )
    classes = isomorphism_classes([*samples, *training])
    known = set(classes[len(samples) :])
    faults: Counter[str] = Counter()
    if isinstance(valid, Rule):
        found = [valid.fault(graph) for graph in samples]
        holds = [fault is None for fault in found]
        faults.update(fault for fault in found if fault is not None)
        name = valid.name
    else:
        holds = [bool(valid(graph)) for graph in samples]
        name = getattr(valid, "__name__", repr(valid))
    seen: set[int] = set()
    good = 0
    for label, holds_here in zip(classes, holds):
        good += holds_here and label not in seen and label not in known
        seen.add(label)
    low, high = wilson_interval(good, len(samples))
    return VunResult(
        valid=sum(holds) / len(samples),
        unique=uniqueness_of_classes(classes[: len(samples)]),
        novel=novelty_of_classes(classes, len(samples)),
        vun=good / len(samples),
        vun_low=low,
        vun_high=high,
        sample_count=len(samples),
        training_count=len(training),
        validity=name,
        faults=dict(faults.most_common()),
        seconds=time.perf_counter() - start,
    )


def wilson_interval(successes: int, trials: int) -> tuple[float, float]:
    """Return the 95 % interval of a share by Wilson's score method.

    With p = successes / trials and z = 1.96 its ends are
    [p + z^2/2n -+ z sqrt(p (1-p)/n + z^2/4n^2)] / (1 + z^2/n). Unlike the usual p +- z s, it stays
    within [0,1] and is not empty when all or none succeed.

    Raises:
        SettingsError: there is no trial, or there are not between 0 and `trials` successes.

    Example:
        >>> tuple(round(end, 4) for end in wilson_interval(40, 40))
        (0.9124, 1.0)
    """
    if trials < 1 or not 0 <= successes <= trials:
        raise SettingsError(
            f"{successes} successes in {trials} trials: expected at least one trial and no more "
            "successes than trials."
        )
    share, z = successes / trials, _NORMAL_975
    middle = share + z**2 / (2 * trials)
    reach = z * sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2))
    scale = 1 + z**2 / trials
    # Where all or none succeed, rounding may miss the share itself or leave [0,1].
    low, high = (middle - reach) / scale, (middle + reach) / scale
    return max(0.0, min(share, low)), min(1.0, max(share, high))
