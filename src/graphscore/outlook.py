"""What a training is about to do, and how long it will take: said before and after its first steps.

The first steps are measured and not others, so that the estimate costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch

from graphscore.device import now, peak_bytes
from graphscore.errors import GraphscoreError
from graphscore.graphs import GraphBatch
from graphscore.models import Model
from graphscore.seeding import torch_generator
from graphscore.streams import say
from graphscore.trained import TrainedGenerator
from graphscore.training_data import TrainingData

if TYPE_CHECKING:
    from graphscore.training import Trainer

UNITS = ((7200, 3600, "h"), (120, 60, "min"), (0, 1, "s"))
"""From so many seconds on, the unit in seconds, and its name."""
MEASURED_SECONDS = 2.0
"""Time of the steps that the estimate is made from; one step after the first one, if it is long."""
WORTH_SAYING = 10.0
"""Seconds of a training from which on an estimate is shown."""
LONG = 3600.0
"""Seconds of a training from which on there is advice, on a CPU."""
SAMPLES = 64
SHORT, LONGER = 2, 4  # sampler steps; the difference in time excludes the fixed cost
PAIRS = 4096
"""Pairs of nodes of the graphs that are sampled to measure it on a CPU."""
PART = 200
"""Nodes of the part of a graph that a step is measured on before the first one."""
STEP_SIZE = 1e-6  # of Langevin: an untrained network could diverge, and the time is the same


def in_words(seconds: float) -> str:
    """Return a time with two digits and a unit.

    >>> in_words(4.26), in_words(150), in_words(1e5)
    ('4.3 s', '2.5 min', '28 h')
    """
    unit, name = next((unit, name) for least, unit, name in UNITS if seconds >= least)
    return (
        f"{seconds / unit:.2g} {name}" if seconds / unit < 100 else f"{seconds / unit:.0f} {name}"
    )


def facts(source: str, split: TrainingData, data: GraphBatch, model: Model) -> list[str]:
    """Return what is trained on what, in a few lines.

    Args:
        source: name of the graphs.
        split: what is trained on and what is held out.
        data: what is trained on.
        model: what is trained.
    """
    edges = ((data.adj > 0).flatten(1).sum(1) // 2).tolist()
    sizes = f"{_range(data.sizes.tolist())} nodes, {_range(edges)} edges"
    lines = [f"{source}: training on {len(data)} graphs ({sizes})"]
    if split.own_split:
        lines.append(
            f"{len(split.held_out)} more are held out to measure the loss on them; --no-holdout "
            "(holdout=False) trains on all"
        )
    elif len(split.held_out):
        lines.append(f"the loss is also measured on {len(split.held_out)} validation graphs")
    if model.network is not None:
        parameters = sum(weights.numel() for weights in model.network.parameters())
        lines.append(f"model {model.settings.model}, {parameters} parameters")
    return lines


def _range(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low}" if low == high else f"{low} to {high}"


def sampling_seconds(generator: TrainedGenerator, number: int = SAMPLES) -> float | None:
    """Return about how long sampling takes, from some steps for a few graphs of median size.

    None for a model without a sampler, or whose sampler does not work.
    """
    settings = generator.sampler_settings()
    if settings is None:
        return None
    name = "steps" if hasattr(settings, "steps") else "steps_per_level"
    changes = {"step_size": STEP_SIZE} if hasattr(settings, "step_size") else {}
    sizes = [nodes for nodes, count in generator.sizes.counts.items() for _ in range(count)]
    nodes = sorted(sizes)[len(sizes) // 2]
    fitting = max(1, PAIRS // nodes**2) if generator.device.type == "cpu" else number
    count = min(number, fitting)

    def run(steps: int) -> float:
        started = now(generator.device)
        sampling = {**changes, name: steps}
        generator.sample(count, sizes=[nodes] * count, seed=0, sampling=sampling)
        return now(generator.device) - started

    shown, generator.show_progress = generator.show_progress, False
    try:
        run(SHORT)  # allocates memory, and may compile
        short, longer = run(SHORT), run(LONGER)
    except GraphscoreError:
        return None
    finally:
        generator.show_progress = shown
    step = (longer - short) / (LONGER - SHORT) if longer > short else longer / LONGER
    whole: int = getattr(settings, name)
    return step * whole * number / count


def rough_seconds(trainer: Trainer) -> float:
    """Return about how long a training takes on a CPU, before its first step.

    The gradient of one graph, or of a part of it, is measured and extrapolated by pairs of nodes.
    What grows faster than these makes it longer.
    """
    largest = trainer.batches.largest()
    if largest is None:
        return 0.0
    part = largest.narrowed(min(PART, largest.max_nodes))
    generator = torch_generator(trainer.seed, "rough estimate", device=trainer.device)
    weights = [weight for weight in trainer.network.parameters() if weight.requires_grad]
    statistics = [(buffer, buffer.clone()) for buffer in trainer.network.buffers()]
    seconds = 0.0
    for _ in range(2):  # the first time takes longer
        started = now(trainer.device)
        items = trainer.objective.perturb(part, generator=generator)
        losses = trainer.objective.per_graph_loss(trainer.network, items)
        torch.autograd.grad(losses.sum(), weights, allow_unused=True)
        seconds = now(trainer.device) - started
    for buffer, before in statistics:
        buffer.copy_(before)
    settings = trainer.settings
    pairs = sum(max(1, width) ** 2 for width in trainer.batches.widths(trainer.step))
    return seconds * pairs / part.max_nodes**2 * (settings.steps - trainer.step)


class FirstSteps:
    """Says how long a training will take, as soon as some of its steps were measured.

    Args:
        trainer: it is called between its steps.
        sampler: returns what samples with the network that is trained.
    """

    def __init__(self, trainer: Trainer, sampler: Callable[[], TrainedGenerator]) -> None:
        self._trainer, self._sampler = trainer, sampler
        self._first: tuple[int, float] | None = None
        self._start = trainer.step
        self._done = False
        rough = 0.0
        if trainer.device.type == "cpu" and (largest := trainer.batches.largest()) is not None:
            # Of smaller graphs the first steps say it better, within seconds.
            rough = rough_seconds(trainer) if largest.max_nodes > PART else 0.0
        self._advised = rough > LONG
        if self._advised:
            say(f"rough estimate: training takes about {in_words(rough)} or more")
            say(advice(trainer.settings.steps, rough))

    def __call__(self) -> None:
        """Measure, and say it once."""
        step = self._trainer.step
        if self._done or step == self._start:
            return
        time = now(self._trainer.device)
        if self._first is None:  # the very first step allocates memory and may compile
            self._first = step, time
            return
        seconds = time - self._first[1]
        if seconds < MEASURED_SECONDS:
            return
        self._done = True
        left = seconds / (step - self._first[0]) * (self._trainer.settings.steps - step)
        if left >= WORTH_SAYING:
            self._say(left)

    def _say(self, left: float) -> None:
        sampling = sampling_seconds(self._sampler())
        self._trainer.network.train()  # as it was
        peak = peak_bytes(self._trainer.device)
        parts = [f"training takes about {in_words(left)}"]
        if sampling is not None:
            parts.append(f"sampling {SAMPLES} graphs about {in_words(sampling)}")
        if peak is not None:
            parts.append(f"memory so far {peak / 2**30:.2g} GiB")
        say(f"estimate from the first steps: {', '.join(parts)}")
        if left > LONG and self._trainer.device.type == "cpu" and not self._advised:
            say(advice(self._trainer.settings.steps, left))


def advice(steps: int, seconds: float) -> str:
    """Return how a long training can be shortened.

    >>> advice(3000, 36000)
    'that is long: fewer steps (--steps 300 takes an hour), a smaller network, subgraphs of large \
graphs (--subgraphs 40) or a GPU shorten it; Ctrl-C keeps what is learned'
    """
    fewer = max(1, round(steps * LONG / seconds))
    return (
        f"that is long: fewer steps (--steps {fewer} takes an hour), a smaller network, subgraphs "
        "of large graphs (--subgraphs 40) or a GPU shorten it; Ctrl-C keeps what is learned"
    )
