"""V.U.N.: the share of samples that are valid, unique and novel."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

import networkx as nx

from graphscore.errors import SettingsError, warn
from graphscore.graphs import AttributeSettings
from graphscore.metrics.attributes import unions_of
from graphscore.metrics.isomorphism import MAX_STEPS, classes_of_unions
from graphscore.metrics.novelty import Shares
from graphscore.metrics.validity import ValidityCheck

if TYPE_CHECKING:
    from graphscore.metrics.validity import IsValid

_NORMAL_975 = 1.959963984540054  # 97.5 % quantile of the normal distribution: two-sided 95 %


@dataclass(frozen=True)
class VunResult:
    """Shares of samples that are valid, unique, novel, and all three.

    Attributes:
        valid: share of samples that are valid.
        unique: share of samples that are isomorphic to no earlier sample; every isomorphism class
            counts once, as in `uniqueness`.
        novel: share of samples that are isomorphic to no training graph.
        vun: share of samples that are all three.
        vun_low: lower end of the 95 % Wilson interval of `vun`.
        vun_high: its upper end.
        sample_count: number of samples.
        training_count: number of training graphs.
        validity: name of the validity function.
        invalid_reasons: why samples are invalid, and the number of samples by reason, most
            frequent first; empty unless the validity function is a `ValidityCheck`.
        seconds: wall-clock time.
        undecided: pairs of graphs of which was not decided whether they are isomorphic. They count
            as different, so `unique`, `novel` and `vun` may be too large.

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
    invalid_reasons: Mapping[str, int]
    seconds: float
    undecided: int

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
    samples: Sequence[nx.Graph[Any]],
    training: Sequence[nx.Graph[Any]],
    valid: IsValid,
    *,
    node_type: str | None = None,
    edge_type: str | None = None,
    max_steps: int = MAX_STEPS,
) -> VunResult:
    """Return the shares of samples that are valid, unique, novel, and all three.

    As published (Martinkus et al. 2022), only the first sample of an isomorphism class counts, and
    isolated nodes are kept. Isomorphism tests are exact. The interval treats samples as independent
    draws from one model; it does not cover the variation between trainings.

    Args:
        samples: generated graphs, at least one.
        training: graphs that the model was trained on, at least one.
        valid: function that returns whether a graph is valid. A `ValidityCheck` such as
            `validity_of("planar")` also gives the reasons why graphs are invalid.
        node_type, edge_type: as in `isomorphism_classes`. Weights and features are not compared.
        max_steps: as in `isomorphism_classes`.

    Raises:
        GraphDataError: a list is empty, or a graph is directed, a multigraph or has self-loops, or
            lacks a type.
        SettingsError: `valid` is not a function.

    Example:
        >>> from graphscore.metrics import validity_of
        >>> samples, training = [nx.path_graph(4), nx.cycle_graph(4)], [nx.star_graph(3)]
        >>> result = vun(samples, training, validity_of("tree"))
        >>> result.valid, result.unique, result.novel, result.vun, result.invalid_reasons
        (0.5, 1.0, 1.0, 0.5, {'with a cycle': 1})
    """
    start = time.perf_counter()
    if not callable(valid):
        raise SettingsError(
            f"valid is {valid!r}, but a function of a graph is expected. Datasets without a "
            "validity check have no V.U.N.; use uniqueness and novelty."
        )
    names = AttributeSettings(node_type=node_type, edge_type=edge_type)
    unions = unions_of({"samples": samples, "training": training}, names)
    classes = classes_of_unions(*unions, max_steps=max_steps)
    shares = Shares.of(classes, len(samples))
    if shares.undecided:
        warn(f"V.U.N.: {shares.not_decided(max_steps)}")
    reasons: Counter[str] = Counter()
    if isinstance(valid, ValidityCheck):
        found = [valid.invalid_reason(graph) for graph in samples]
        reasons.update(reason for reason in found if reason is not None)
        is_valid = [reason is None for reason in found]
        name = valid.name
    else:
        is_valid = [bool(valid(graph)) for graph in samples]
        name = getattr(valid, "__name__", repr(valid))
    seen = set(classes.labels[len(samples) :])
    good = 0
    for label, valid_here in zip(classes.labels, is_valid):
        good += valid_here and label not in seen
        seen.add(label)
    low, high = wilson_interval(good, len(samples))
    return VunResult(
        valid=sum(is_valid) / len(samples),
        unique=shares.unique,
        novel=shares.novel,
        vun=good / len(samples),
        vun_low=low,
        vun_high=high,
        sample_count=len(samples),
        training_count=len(training),
        validity=name,
        invalid_reasons=dict(reasons.most_common()),
        seconds=time.perf_counter() - start,
        undecided=shares.undecided,
    )


def wilson_interval(successes: int, trials: int) -> tuple[float, float]:
    """Return the 95 % interval of a share by Wilson's score method.

    With p = successes / trials and z = 1.96 its ends are
    [p + z^2/2n -+ z sqrt(p (1-p)/n + z^2/4n^2)] / (1 + z^2/n). Unlike the normal
    approximation p +- z s, it stays within [0,1] and has a positive width at p = 0 and p = 1.

    Raises:
        SettingsError: there is no trial, or there are not between 0 and `trials` successes.

    Example:
        >>> tuple(round(end, 4) for end in wilson_interval(40, 40))
        (0.9124, 1.0)
    """
    if trials < 1 or not 0 <= successes <= trials:
        raise SettingsError(
            f"{successes} successes in {trials} trials: expected at least one trial, and between 0 "
            "and that many successes."
        )
    share, z = successes / trials, _NORMAL_975
    middle = share + z**2 / (2 * trials)
    reach = z * sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2))
    scale = 1 + z**2 / trials
    # At p = 0 and p = 1, rounding may exclude p itself or leave [0,1].
    low, high = (middle - reach) / scale, (middle + reach) / scale
    return max(0.0, min(share, low)), min(1.0, max(share, high))
