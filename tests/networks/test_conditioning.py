"""Noise-level conditioning: a look-up table on the ladder, interpolated between its levels."""

from __future__ import annotations

import copy
import math

import pytest
import torch

from graphscore.networks.conditioning import (
    ConditionalLinear,
    ConditionalMLP,
    Conditioning,
    LevelWeights,
    conditional_layers,
)

SIGMAS = (1.6, 0.8, 0.6, 0.4, 0.2, 0.1)


def randomise(module, seed=0):
    generator = torch.Generator().manual_seed(seed)
    module.double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return module


def normal(*shape, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def weights_of(sigmas, *values):
    return LevelWeights(sigmas)(torch.tensor(values, dtype=torch.float64), torch.float64)


def conditioned(module, weights):
    return Conditioning(conditional_layers(module), weights)


@pytest.mark.parametrize("order", [SIGMAS, SIGMAS[::-1]])
def test_one_hot_on_the_ladder(order):
    """At a level of the ladder only that level counts; level 0 is the smallest sigma."""
    result = weights_of(order, *sorted(SIGMAS))
    torch.testing.assert_close(result, torch.eye(6, dtype=torch.float64), rtol=0, atol=1e-14)


def test_one_hot_in_single_precision():
    """The table look-up survives rounding of sigma to float32."""
    result = LevelWeights(SIGMAS)(torch.tensor(sorted(SIGMAS)), torch.float32)
    torch.testing.assert_close(result, torch.eye(6), rtol=0, atol=1e-6)


def test_linear_in_log_sigma_between_levels():
    """Halfway in log sigma both neighbours count half; a quarter of the way, 3/4 and 1/4."""
    middle, quarter = math.sqrt(0.4 * 0.6), 0.4 * (0.6 / 0.4) ** 0.25
    expected = torch.zeros(2, 6, dtype=torch.float64)
    expected[0, 2:4] = 0.5
    expected[1, 2], expected[1, 3] = 0.75, 0.25
    torch.testing.assert_close(weights_of(SIGMAS, middle, quarter), expected, rtol=0, atol=1e-14)


def test_clamped_outside_and_a_partition_of_one_everywhere():
    """Beyond the ends the nearest level is used; the weights are never negative and sum to 1."""
    ends = weights_of(SIGMAS, 1e-3, 50.0)
    assert ends[0].tolist() == [1, 0, 0, 0, 0, 0]
    assert ends[1].tolist() == [0, 0, 0, 0, 0, 1]
    many = weights_of(SIGMAS, *torch.logspace(-3, 2, 301).tolist())
    assert (many >= 0).all()
    torch.testing.assert_close(many.sum(-1), torch.ones(301, dtype=torch.float64))
    assert ((many > 0).sum(-1) <= 2).all()


def test_one_level_serves_every_sigma():
    """A ladder of one level has nothing to choose between."""
    assert weights_of((0.5,), 0.01, 0.5, 7.0).tolist() == [[1], [1], [1]]


@pytest.mark.parametrize("rows", [1, 4, 5, 6, 40])
def test_conditional_linear_is_the_papers_formula(rows):
    """Few rows and many rows take different paths; both are (W x + b) gain_i + shift_i."""
    layer = randomise(ConditionalLinear(5, 3, 6, generator=torch.Generator()))
    x = normal(6, rows, 5)
    levels = torch.tensor([3, 0, 5, 5, 1, 2])
    one_hot = torch.eye(6, dtype=torch.float64)[levels]
    expected = x @ layer.weight + layer.bias
    expected = expected * layer.gain[levels].unsqueeze(1) + layer.shift[levels].unsqueeze(1)
    torch.testing.assert_close(
        layer(x, conditioned(layer, one_hot)), expected, rtol=1e-12, atol=1e-12
    )


def test_conditional_linear_paths_agree_between_levels():
    """The path is a matter of speed: the rows of a long input equal those of short ones."""
    layer = randomise(ConditionalLinear(5, 3, 6, generator=torch.Generator()))
    conditioning = conditioned(layer, weights_of(SIGMAS, 0.13, 0.5, 1.0))
    x = normal(3, 12, 5)
    pieces = torch.cat([layer(part, conditioning) for part in x.split(3, dim=1)], dim=1)
    torch.testing.assert_close(layer(x, conditioning), pieces, rtol=1e-12, atol=1e-12)


def test_without_levels_a_plain_linear_map():
    """With levels=0 sigma plays no role and there are no gains to learn."""
    layer = randomise(ConditionalLinear(5, 3, 0, generator=torch.Generator()))
    assert {name for name, _ in layer.named_parameters()} == {"weight", "bias"}
    x = normal(2, 7, 5)
    expected = torch.nn.functional.linear(x, layer.weight.mT, layer.bias)
    conditioning = conditioned(layer, weights_of(SIGMAS, 0.1, 1.6))
    assert conditioning.gains == conditioning.shifts == ()
    result = layer(x, conditioning)
    torch.testing.assert_close(result, expected, rtol=1e-12, atol=1e-12)
    gain, shift = layer.gain_and_shift(conditioning)
    torch.testing.assert_close((x @ layer.weight) * gain + shift, expected)


def test_conditioning_gives_every_layer_its_own():
    """One product for all layers, of different widths, equals a look-up in each of them."""
    layers = [ConditionalLinear(2, width, 6, generator=torch.Generator()) for width in (3, 1, 4)]
    plain = ConditionalLinear(2, 5, 0, generator=torch.Generator())
    network = randomise(torch.nn.ModuleList([layers[0], plain, *layers[1:]]))
    weights = weights_of(SIGMAS, 0.13, 0.5)
    conditioning = conditioned(network, weights)
    assert len(conditioning.gains) == 3
    for layer in layers:
        gain, shift = layer.gain_and_shift(conditioning)
        assert gain.shape == shift.shape == (2, 1, len(layer.bias))
        torch.testing.assert_close(gain.squeeze(1), weights @ layer.gain)
        expected = weights @ layer.gain * layer.bias + weights @ layer.shift
        torch.testing.assert_close(shift.squeeze(1), expected)


def test_a_copied_network_is_conditioned_by_its_own_parameters():
    """Slots survive a deep copy, which the moving average makes."""
    mlp = randomise(ConditionalMLP([4, 3, 5, 2], 6, "elu", generator=torch.Generator()))
    layers = conditional_layers(mlp)
    copied, copies = copy.deepcopy((mlp, layers))
    with torch.no_grad():
        copied.last.shift.add_(1)
    weights, x = weights_of(SIGMAS, 0.3, 0.7), normal(2, 5, 4)
    expected = mlp(x, Conditioning(layers, weights)) + 1
    torch.testing.assert_close(copied(x, Conditioning(copies, weights)), expected)


def test_mlp_activates_between_layers_only():
    """No activation before the first or after the last layer."""
    mlp = randomise(ConditionalMLP([4, 3, 5, 2], 6, "elu", generator=torch.Generator()))
    conditioning, x = conditioned(mlp, weights_of(SIGMAS, 0.3, 0.7)), normal(2, 5, 4)
    expected = mlp.first(x, conditioning)
    for layer in (*mlp.between, mlp.last):
        expected = layer(torch.nn.functional.elu(expected), conditioning)
    assert expected.shape == (2, 5, 2)
    torch.testing.assert_close(mlp(x, conditioning), expected)
