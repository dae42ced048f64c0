"""How long training and sampling will take: a few real steps, measured and extrapolated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import networkx as nx
import torch

from graphscore.device import describe_device
from graphscore.device import now as _now
from graphscore.device import peak_bytes as _peak_bytes
from graphscore.errors import SettingsError
from graphscore.generator import GraphGenerator
from graphscore.models import TrainedSettings

WARM_UP = 4  # training steps before the measured ones; the first allocate memory and may compile
BLOCKS, REPEATS = 6, 3  # blocks of training steps, and samplings, whose times give the range
SHORT, LONG = 2, 6  # sampler steps; the difference in time excludes the fixed cost
PROBE = 8  # graphs of the first sampling, which decides how many are sampled next
STEP_SIZE = 1e-6  # of Langevin: an untrained network could diverge, and the time is the same

NO_ATTRIBUTES: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Seconds:
    """An estimated time, and its range over the repeated measurements."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Estimate:
    """What training a model and sampling from it will take.

    Attributes:
        nodes: sizes of the smallest and the largest training graph.
        training, sampling: time of all `steps`, and of `number` graphs, preparation included.
        sampling_measured: True if all of it was run, False if extrapolated from fewer steps.
        peak_bytes: peak memory, on CUDA of the GPU, elsewhere of this process; None if unknown.
    """

    model: str
    parameters: int
    graphs: int
    nodes: tuple[int, int]
    device: str
    batch_size: int
    steps: int
    step: Seconds
    training: Seconds
    number: int
    sampling: Seconds
    sampling_measured: bool
    peak_bytes: int | None


def estimate(
    graphs: Sequence[nx.Graph[Any]],
    *,
    model: str = "denoiser",
    number: int = 64,
    device: str = "auto",
    seconds: float = 20.0,
    attributes: Mapping[str, Any] = NO_ATTRIBUTES,
    log: Callable[[str], None] = lambda message: None,
) -> Estimate:
    """Estimate how long it takes to train a model on graphs and to sample from it.

    Both run with the settings that `GraphGenerator` chooses for these graphs, for a few steps.

    Args:
        graphs: the training graphs.
        model, device: as for `GraphGenerator`.
        number: graphs to sample.
        seconds: how long to measure; longer if a single step takes longer.
        attributes: what nodes and edges carry that is learned, as arguments of `fit`.
        log: called before each part.

    Raises:
        SettingsError, GraphDataError: an option or a graph is not valid.

    Example:
        >>> made = estimate([nx.cycle_graph(n) for n in (4, 5, 6)], number=2, seconds=0.1)
        >>> made.nodes, made.training.low <= made.training.mean <= made.training.high
        ((4, 6), True)
    """
    if number < 1:
        raise SettingsError(f"number {number}: give at least 1 graph to sample.")
    generator = GraphGenerator(model, device=device, show_progress=False)
    if not isinstance(generator.settings, TrainedSettings):
        raise SettingsError(
            f"the model {model!r} is not trained by gradient steps: there is nothing to estimate."
        )
    if generator.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(generator.device)
    log(f"measuring training on {describe_device(generator.device)}")
    clock = _StepClock(generator.device, seconds / 2)
    generator.fit(graphs, **attributes, should_stop=clock, holdout=False)
    step, preparation = clock.result()
    settings = generator.settings.training
    log("measuring sampling")
    sizes = [nodes for nodes, count in generator.sizes.counts.items() for _ in range(count)]
    sampling, measured = _sampling(generator, sizes, number, seconds / 2)
    whole = (preparation + settings.steps * each for each in (step.mean, step.low, step.high))
    return Estimate(
        model=model,
        parameters=sum(weights.numel() for weights in generator.network.parameters()),
        graphs=len(sizes),
        nodes=(sizes[0], sizes[-1]),
        device=describe_device(generator.device),
        batch_size=settings.batch_size,
        steps=settings.steps,
        step=step,
        training=Seconds(*whole),
        number=number,
        sampling=sampling,
        sampling_measured=measured,
        peak_bytes=_peak_bytes(generator.device),
    )


class _StepClock:
    """Times two or more training steps: `fit` calls it between steps and stops on True."""

    def __init__(self, device: torch.device, seconds: float) -> None:
        self._device, self._seconds = device, seconds
        self._every = 1 if device.type == "cpu" else 10  # waiting for a GPU slows it down
        self._started = _now(device)
        self._steps = -1
        self._times: list[float] = []

    def __call__(self) -> bool:
        self._steps += 1
        if self._steps < WARM_UP or (self._steps - WARM_UP) % self._every:
            return False
        self._times.append(_now(self._device))
        return len(self._times) > 2 and self._times[-1] - self._times[0] >= self._seconds

    def result(self) -> tuple[Seconds, float]:
        """Seconds of one step, and of the preparation before the first one."""
        times, last = self._times, len(self._times) - 1

        def mean(start: int, end: int) -> float:
            return (times[end] - times[start]) / ((end - start) * self._every)

        marks = sorted({block * last // BLOCKS for block in range(BLOCKS + 1)})
        blocks = [mean(start, end) for start, end in pairwise(marks)]
        preparation = max(0.0, times[0] - self._started - WARM_UP * mean(0, last))
        return Seconds(mean(0, last), min(blocks), max(blocks)), preparation


def _sampling(
    generator: GraphGenerator, sizes: Sequence[int], number: int, seconds: float
) -> tuple[Seconds, bool]:
    """Seconds to sample `number` graphs, and whether all of it was run."""
    settings = generator.sampler_settings()
    name = "steps" if hasattr(settings, "steps") else "steps_per_level"
    whole: int = getattr(settings, name)
    changes = {"step_size": STEP_SIZE} if hasattr(settings, "step_size") else {}

    def run(count: int, steps: int) -> float:
        quantiles = [sizes[(2 * i + 1) * len(sizes) // (2 * count)] for i in range(count)]
        started = _now(generator.device)
        generator.sample(count, sizes=quantiles, seed=0, sampling={**changes, name: steps})
        return _now(generator.device) - started

    few = min(PROBE, number)
    run(few, SHORT)  # may compile
    per_graph = run(few, SHORT) / (few * SHORT)
    measured = whole <= LONG or REPEATS * whole * number * per_graph <= seconds
    affordable = max(1, int(seconds / (REPEATS * (SHORT + LONG) * per_graph)))
    count = number if measured else min(number, affordable)
    run(count, SHORT)  # allocates memory

    def once() -> float:
        if measured:
            return run(number, whole)
        short, long = run(count, SHORT), run(count, LONG)
        # Under load the short one can take longer; the mean is an upper bound.
        step = (long - short) / (LONG - SHORT) if long > short else long / LONG
        return max(0.0, short - SHORT * step) + whole * step * number / count

    times = sorted(once() for _ in range(REPEATS))
    return Seconds(times[REPEATS // 2], times[0], times[-1]), measured
