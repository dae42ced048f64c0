"""MaskedBatchNorm against torch.nn.BatchNorm1d on the rows that count."""

from __future__ import annotations

import pytest
import torch

from graphscore.networks.normalisation import MaskedBatchNorm


@pytest.fixture
def pair():
    """The masked and the reference layer with the same random parameters, and a masked input."""
    generator = torch.Generator().manual_seed(0)
    ours, reference = MaskedBatchNorm(4).double(), torch.nn.BatchNorm1d(4).double()
    with torch.no_grad():
        for name in ("weight", "bias", "running_mean", "running_var"):
            value = 0.5 + torch.rand(4, generator=generator, dtype=torch.float64)
            getattr(ours, name).copy_(value)
            getattr(reference, name).copy_(value)
    x = 3 + 2 * torch.randn(3, 10, 4, generator=generator, dtype=torch.float64)
    mask = torch.rand(3, 10, 1, generator=generator) < 0.6
    return ours, reference, torch.where(mask, x, 1e3), mask.double()


@pytest.mark.parametrize("training", [True, False])
def test_equals_batchnorm_on_unmasked_rows(pair, training):
    """Masked rows never count, whatever they hold."""
    ours, reference, x, mask = pair
    rows = mask.squeeze(-1).bool()
    result = ours.train(training)(x, mask)[rows]
    expected = reference.train(training)(x[rows])
    torch.testing.assert_close(result, expected, rtol=1e-10, atol=1e-10)


def test_gradients_equal_those_of_batchnorm(pair):
    """Also backwards: the statistics are differentiated, masked rows get nothing."""
    ours, reference, x, mask = pair
    rows = mask.squeeze(-1).bool()
    inputs = [x.clone().requires_grad_(), x.clone().requires_grad_()]
    (ours(inputs[0], mask)[rows] ** 3).sum().backward()
    (reference(inputs[1][rows]) ** 3).sum().backward()
    torch.testing.assert_close(inputs[0].grad, inputs[1].grad, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(ours.weight.grad, reference.weight.grad)
    torch.testing.assert_close(ours.bias.grad, reference.bias.grad)


def test_running_statistics(pair):
    """They move by the momentum towards the batch's mean and its biased variance."""
    ours, _, x, mask = pair
    mean, var = ours.running_mean.clone(), ours.running_var.clone()
    real = x[mask.squeeze(-1).bool()]
    ours(x, mask)
    torch.testing.assert_close(ours.running_mean, 0.9 * mean + 0.1 * real.mean(0))
    torch.testing.assert_close(ours.running_var, 0.9 * var + 0.1 * real.var(0, correction=0))


def test_evaluation_changes_nothing(pair):
    """In evaluation the running statistics are read only."""
    ours, _, x, mask = pair
    before = {name: value.clone() for name, value in ours.state_dict().items()}
    ours.eval()(x, mask)
    assert all(torch.equal(value, before[name]) for name, value in ours.state_dict().items())


def test_nothing_to_normalise(pair):
    """A batch in which no row counts (graphs of one node) gives finite output and gradients."""
    ours, _, x, mask = pair
    out = ours(x, torch.zeros_like(mask))
    out.sum().backward()
    assert out.isfinite().all()
    assert ours.weight.grad.isfinite().all()
