"""The moving average of weights: its formula, its warm-up, its batch statistics."""

from __future__ import annotations

import pytest
import torch

from graphscore.training.moving_average import MovingAverage


def test_formula_and_warm_up():
    """average <- d average + (1 - d) weight, with d = min(decay, (1 + t) / (10 + t))."""
    network = torch.nn.Linear(1, 1, bias=False).double()
    with torch.no_grad():
        network.weight.fill_(2.0)
    average, expected = MovingAverage(network, 0.5), 2.0
    assert average.state_dict()["weight"].item() == 2.0
    for step in range(1, 20):
        with torch.no_grad():
            network.weight.fill_(float(step))
        average.schedule(step)
        average.update()
        decay = min(0.5, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * step
        assert average.state_dict()["weight"].item() == pytest.approx(expected, rel=1e-12)
    assert network.weight.item() == 19


def test_batch_statistics_are_averaged_like_the_weights_they_belong_to():
    """Averaged weights beside statistics of the raw ones would be a network nobody trained."""
    network = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    average = MovingAverage(network, 0.9)
    network(torch.arange(8.0).view(4, 2))
    average.schedule(1)
    average.update()
    state = average.state_dict()
    assert state.keys() == network.state_dict().keys()
    decay = 2 / 11
    expected = (1 - decay) * network[1].running_mean
    assert torch.allclose(state["1.running_mean"], expected)
    assert state["1.num_batches_tracked"] == 1


def test_round_trip():
    """A stored average continues in a new one."""
    networks = [torch.nn.Linear(2, 2) for _ in range(2)]
    first, second = (MovingAverage(network, 0.9) for network in networks)
    second.load_state_dict({k: v.clone() for k, v in first.state_dict().items()})
    assert torch.equal(first.state_dict()["weight"], second.state_dict()["weight"])
    with pytest.raises(KeyError):
        second.load_state_dict({})
