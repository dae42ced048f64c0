"""The estimate: real short runs, and extrapolation checked with known times."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError, astuple

import networkx as nx
import pytest
import torch

from graphscore import estimate as module
from graphscore.errors import GraphDataError, SettingsError
from graphscore.estimate import Seconds, _sampling, _StepClock, estimate
from graphscore.generator import GraphGenerator

GRAPHS = [nx.path_graph(4), nx.cycle_graph(5), nx.star_graph(5)]
CPU = torch.device("cpu")


@pytest.mark.parametrize("model", ["denoiser", "edp-gnn"])
def test_an_estimate_of_a_real_short_run(model):
    made = estimate(GRAPHS, model=model, number=3, device="cpu", seconds=0.2)
    fitted = GraphGenerator(model, device="cpu", show_progress=False)
    fitted.fit(GRAPHS, stop_at=1)
    assert (made.model, made.graphs, made.nodes, made.number) == (model, 3, (4, 6), 3)
    assert made.steps == fitted.settings.training.steps
    assert made.batch_size == fitted.settings.training.batch_size
    assert made.parameters == sum(p.numel() for p in fitted.network.parameters())
    assert made.peak_bytes > 0
    for time in (made.step, made.training, made.sampling):
        assert 0 < time.low <= time.mean <= time.high < math.inf
    with pytest.raises(FrozenInstanceError):
        made.steps = 1


def test_global_random_numbers_are_untouched():
    before = torch.get_rng_state()
    estimate(GRAPHS, number=1, device="cpu", seconds=0.01)
    assert torch.equal(torch.get_rng_state(), before)


def test_messages_come_before_each_part():
    seen = []
    estimate(GRAPHS, number=1, device="cpu", seconds=0.01, log=seen.append)
    assert ["training" in seen[0], "sampling" in seen[1], len(seen)] == [True, True, 2]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"number": 0}, "number 0"),
        ({"model": "gim"}, "'gim'.*edp-gnn"),
        ({"model": "erdos-renyi"}, "'erdos-renyi' is not trained by gradient steps"),
        ({"device": "warp"}, "'warp'.*auto, cpu"),
    ],
)
def test_wrong_arguments_are_refused_before_any_work(options, words):
    seen = []
    with pytest.raises(SettingsError, match=words):
        estimate(GRAPHS, log=seen.append, **options)
    assert seen == []


def test_graphs_that_cannot_be_represented_are_refused():
    with pytest.raises(GraphDataError, match="directed"):
        estimate([nx.DiGraph([(0, 1)])], device="cpu")


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test sets."""
    now = [0.0]
    monkeypatch.setattr(module, "_now", lambda device: now[0])
    return now


def test_steps_are_timed_in_blocks_after_the_warm_up(clock):
    """A warm-up with steps of 1.2 s, then five steps of 1 s and one of 2 s."""
    steps = _StepClock(CPU, seconds=7.0)
    assert steps() is False
    for _ in range(module.WARM_UP):
        clock[0] += 1.2
        assert steps() is False
    for length in (1.0, 1.0, 1.0, 1.0, 1.0, 2.0):
        clock[0] += length
        stopped = steps()
    assert stopped is True
    step, preparation = steps.result()
    assert astuple(step) == pytest.approx((7 / 6, 1.0, 2.0))
    assert preparation == pytest.approx(module.WARM_UP * (1.2 - 7 / 6))


def test_at_least_two_steps_are_measured(clock):
    """Steps of 9 s and 3 s where 7 s are to be measured."""
    steps = _StepClock(CPU, seconds=7.0)
    stopped = [steps() for _ in range(module.WARM_UP + 1)]
    for length in (9.0, 3.0):
        clock[0] += length
        stopped.append(steps())
    assert stopped == [False] * (module.WARM_UP + 2) + [True]
    assert steps.result() == (Seconds(6.0, 3.0, 9.0), 0.0)


class FakeGenerator:
    """Samples in known times: 3 s once, then 0.5 s per graph and step."""

    device = CPU

    def __init__(self, clock, steps):
        self.clock, self.calls = clock, []
        self.settings = type("Settings", (), {"steps": steps})()

    def sampler_settings(self):
        return self.settings

    def sample(self, count, *, sizes, seed, sampling):
        assert len(sizes) == count
        self.calls.append((count, sampling["steps"], sizes))
        self.clock[0] += 3.0 + 0.5 * count * sampling["steps"]


def test_sampling_is_extrapolated_over_steps_and_graphs(clock):
    generator = FakeGenerator(clock, steps=100)
    time, measured = _sampling(generator, [4, 5, 6], 40, seconds=100.0)
    assert measured is False
    assert time == Seconds(*[pytest.approx(3 + 0.5 * 40 * 100)] * 3)
    assert max(count for count, _, _ in generator.calls) < 40
    assert max(steps for _, steps, _ in generator.calls) == module.LONG


def test_sampling_that_is_fast_enough_is_run_whole(clock):
    generator = FakeGenerator(clock, steps=100)
    time, measured = _sampling(generator, [4, 5, 6], 3, seconds=1e5)
    assert measured is True
    assert time == Seconds(*[pytest.approx(3 + 0.5 * 3 * 100)] * 3)
    # The quantiles of the training sizes.
    assert generator.calls[-1] == (3, 100, [4, 5, 6])
