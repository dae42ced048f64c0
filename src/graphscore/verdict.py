"""Whether a training worked, in words: by its loss on held-out graphs and by some samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import networkx as nx

from graphscore.device import now
from graphscore.errors import GraphscoreError
from graphscore.graphs import NOTHING
from graphscore.metrics import evaluate
from graphscore.outlook import SAMPLES, in_words, sampling_seconds
from graphscore.trained import TrainedGenerator
from graphscore.training import TrainingRecord
from graphscore.training_data import Graphs, TrainingData, chosen

SHARE = 0.1
"""Of the training time, what the check of samples may take."""
FEWEST = 16
"""Samples that tell something."""
MOST_KNOWN = 2000
"""Training graphs that samples are compared with."""
LAST_PART = 0.75
"""Part of the steps after which the loss should no longer fall."""
STILL_FALLS = 0.02
"""Share that the loss fell by in the last part, from which on more steps help."""
HAS_RISEN = 0.05
"""Share that the loss rose by since its smallest, from which on the model learns by heart."""
TOO_MANY_COPIES = 0.15
"""Share of copies among samples beyond that among held-out graphs."""
WITHIN = 2.0
"""Times the floor that counts as within it: distances to few held-out graphs are that uncertain."""
LEAST_FLOOR = 5e-4
"""A smaller floor counts as this much, so that graphs without triangles have a ratio too."""

Kind = Literal["good", "memorising", "still improving", "not good yet", "not checked"]


@dataclass(frozen=True)
class Verdict:
    """Whether a training worked.

    Attributes:
        kind: the verdict.
        text: the same in a sentence, with its reasons.
        steps: how many in all are proposed for a better training; None for no proposal.
        samples: how many were checked.
        copies: share of them that are copies of training graphs; None without a check.
        natural_copies: the same share of held-out graphs.
        ratios: MMD to held-out graphs divided by that of as many training graphs, by distance.
        falling: share by which the held-out loss fell in the last quarter; None if unknown.
    """

    kind: Kind
    text: str
    steps: int | None = None
    samples: int = 0
    copies: float | None = None
    natural_copies: float | None = None
    ratios: dict[str, float] | None = None
    falling: float | None = None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Curve:
    """The loss on held-out graphs where structure is decided, by step."""

    steps: list[int]
    losses: list[float]

    @classmethod
    def of(cls, records: Sequence[TrainingRecord]) -> Curve:
        """Return that of a training."""
        known = [r for r in records if r.held_out_at_small_noise is not None]
        return cls([r.step for r in known], [r.held_out_at_small_noise or 0.0 for r in known])

    @property
    def falling(self) -> float | None:
        """The share by which it fell since three quarters of the steps."""
        before = [
            loss
            for step, loss in zip(self.steps, self.losses)
            if step <= LAST_PART * self.steps[-1]
        ]
        return 1 - self.losses[-1] / before[-1] if before and before[-1] > 0 else None

    @property
    def best(self) -> int | None:
        """The step of its smallest value, if it has risen since."""
        if not self.losses or self.losses[-1] <= (1 + HAS_RISEN) * min(self.losses):
            return None
        return self.steps[self.losses.index(min(self.losses))]


@dataclass(frozen=True)
class Check:
    """What some samples look like beside held-out graphs."""

    samples: int
    copies: float
    natural_copies: float
    ratios: dict[str, float]

    @property
    def within(self) -> int:
        """Distances within the floor."""
        return sum(ratio <= WITHIN for ratio in self.ratios.values())

    @property
    def memorises(self) -> bool:
        return self.copies > self.natural_copies + TOO_MANY_COPIES

    @property
    def is_good(self) -> bool:
        """Whether all distances but one are within the floor."""
        return self.within >= len(self.ratios) - 1


def judge(
    generator: TrainedGenerator,
    records: Sequence[TrainingRecord],
    data: TrainingData,
    *,
    most_seconds: float,
) -> Verdict:
    """Judge a training by its records and by some samples.

    Args:
        generator: just trained.
        records: of the training.
        data: what it was trained on, and what was held out.
        most_seconds: time for samples and their distances.
    """
    curve = Curve.of(records)
    try:
        found = _check(generator, data, most_seconds)
    except GraphscoreError as error:  # the model is trained all the same
        found = f"samples could not be checked: {error}"
    check = found if isinstance(found, Check) else None
    kind, reasons, steps = _weigh(curve, check, generator.step)
    if isinstance(found, str):
        reasons.append(found)
    return Verdict(
        kind,
        f"{kind}: {'; '.join(reasons)}",
        steps,
        falling=curve.falling,
        **(asdict(check) if check is not None else {}),
    )


def _weigh(curve: Curve, check: Check | None, step: int) -> tuple[Kind, list[str], int | None]:
    """Return the verdict, its reasons, and how many steps are proposed."""
    reasons = []
    falls = curve.falling is not None and curve.falling > STILL_FALLS
    if check is not None:
        reasons.append(f"within the floor on {check.within} of {len(check.ratios)} distances")
        reasons.append(
            f"{check.copies:.0%} of {check.samples} samples are copies of training graphs "
            f"({check.natural_copies:.0%} of held-out graphs are)"
        )
    if curve.best is not None:
        reasons.append(f"the loss on held-out graphs has risen since step {curve.best}")
    elif curve.falling is not None:
        fell = "still falls" if falls else "no longer falls"
        reasons.append(f"the loss on held-out graphs {fell} ({curve.falling:.1%} at the end)")
    if curve.best is not None or (check is not None and check.memorises):
        return "memorising", reasons, curve.best or max(1, step // 2)
    if check is not None and check.is_good:
        return "good", reasons, None
    if falls:
        return "still improving", reasons, 2 * step
    if check is not None:
        reasons.append("more steps change little; a larger network or more graphs may")
        return "not good yet", reasons, None
    return "not checked", reasons, None


def _check(generator: TrainedGenerator, data: TrainingData, most_seconds: float) -> Check | str:
    """Compare some samples with held-out graphs; or say why not."""
    started = now(generator.device)
    each = (sampling_seconds(generator) or 0.0) / SAMPLES
    names = getattr(generator.settings, "attributes", NOTHING)
    types = {name: getattr(names, name) for name in ("node_type", "edge_type")}
    known = _evenly(data.graphs, MOST_KNOWN)

    def measured(graphs: Sequence[nx.Graph[Any]], reference: Graphs) -> Any:
        return evaluate(graphs, reference, training=known, kernel="gaussian-tv", **types)

    held_out = _evenly(data.held_out, SAMPLES)
    before = now(generator.device)
    measured(_evenly(held_out, 2), _evenly(held_out, 2))
    each += now(generator.device) - before  # of four graphs; a sample needs three or so
    number = int((most_seconds - (now(generator.device) - started)) / max(each, 1e-9))
    if number < FEWEST:
        return (
            f"samples were not checked, as sampling {SAMPLES} graphs and their distances takes "
            f"about {in_words(each * SAMPLES)}"
        )
    number = min(number, SAMPLES)
    shown, generator.show_progress = generator.show_progress, False
    try:
        samples = generator.sample(number, seed=generator.settings.seed)
    finally:
        generator.show_progress = shown
    result = measured(samples, held_out)
    floor = measured(_evenly(data.graphs, number), held_out)
    natural = measured(held_out, held_out)
    return Check(
        number,
        copies=1 - result.novelty,
        natural_copies=1 - natural.novelty,
        ratios={
            name: distance / max(LEAST_FLOOR, floor.distances[name])
            for name, distance in result.distances.items()
        },
    )


def _evenly(graphs: Graphs, most: int) -> Graphs:
    """Return at most so many of the graphs, spread over the list."""
    number = min(most, len(graphs))
    return chosen(graphs, [i * len(graphs) // number for i in range(number)])
