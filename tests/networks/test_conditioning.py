"""Noise-level conditioning: a look-up table at the noise levels, interpolated between them."""

from __future__ import annotations

import copy
import math

import pytest
import torch

from graphscore.networks.conditioning import (
    ConditionalLinear,
    ConditionalMLP,
    LevelTable,
    LevelWeights,
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


def linear(width_in, width_out, table):
    return ConditionalLinear(width_in, width_out, table, generator=torch.Generator())


def random_linear(width_in, width_out):
    """A conditional layer with its table, both random."""
    table = LevelTable(6)
    layer = linear(width_in, width_out, table)
    randomise(torch.nn.ModuleList([layer, table]))
    return layer, table


def random_mlp():
    table = LevelTable(6)
    mlp = ConditionalMLP([4, 3, 5, 2], table, "elu", generator=torch.Generator())
    randomise(torch.nn.ModuleList([mlp, table]))
    return mlp, table


@pytest.mark.parametrize("order", [SIGMAS, SIGMAS[::-1]])
def test_one_hot_at_the_levels(order):
    """At one of the levels only that level counts; level 0 is the smallest sigma."""
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
    """A single level leaves nothing to choose between."""
    assert weights_of((0.5,), 0.01, 0.5, 7.0).tolist() == [[1], [1], [1]]


@pytest.mark.parametrize("rows", [1, 4, 5, 6, 40])
def test_conditional_linear_is_the_papers_formula(rows):
    """Few rows and many rows take different paths; both are (W x + b) gain_i + shift_i."""
    layer, table = random_linear(5, 3)
    x = normal(6, rows, 5)
    levels = torch.tensor([3, 0, 5, 5, 1, 2])
    one_hot = torch.eye(6, dtype=torch.float64)[levels]
    expected = x @ layer.weight + table.bias
    expected = expected * table.gain[levels].unsqueeze(1) + table.shift[levels].unsqueeze(1)
    torch.testing.assert_close(layer(x, table(one_hot)), expected, rtol=1e-12, atol=1e-12)


def test_conditional_linear_paths_agree_between_levels():
    """The path is a matter of speed: the rows of a long input equal those of short ones."""
    layer, table = random_linear(5, 3)
    conditioning = table(weights_of(SIGMAS, 0.13, 0.5, 1.0))
    x = normal(3, 12, 5)
    parts = torch.cat([layer(part, conditioning) for part in x.split(3, dim=1)], dim=1)
    torch.testing.assert_close(layer(x, conditioning), parts, rtol=1e-12, atol=1e-12)


def test_without_a_table_a_plain_linear_map():
    """Then sigma plays no role and there are no gains to learn."""
    layer = randomise(linear(5, 3, None))
    assert layer.columns is None
    assert {name for name, _ in layer.named_parameters()} == {"weight", "bias"}
    x = normal(2, 7, 5)
    expected = torch.nn.functional.linear(x, layer.weight.mT, layer.bias)
    conditioning = LevelTable(6).double()(weights_of(SIGMAS, 0.1, 1.6))
    assert conditioning.gains == conditioning.shifts == ()
    result = layer(x, conditioning)
    torch.testing.assert_close(result, expected, rtol=1e-12, atol=1e-12)
    gain, shift = layer.gain_and_shift(conditioning)
    torch.testing.assert_close((x @ layer.weight) * gain + shift, expected)


def three_layers(table):
    return [linear(2, width, table) for width in (3, 1, 4)]


def test_conditioning_gives_every_layer_its_own():
    """One product for all layers, of different widths, equals a look-up in each of them."""
    table = LevelTable(6)
    layers = three_layers(table)
    randomise(table)
    weights = weights_of(SIGMAS, 0.13, 0.5)
    conditioning = table(weights)
    assert len(conditioning.gains) == len(conditioning.shifts) == 3
    for layer in layers:
        own = layer.columns
        gain, shift = layer.gain_and_shift(conditioning)
        assert gain.shape == shift.shape == (2, 1, layer.weight.shape[1])
        torch.testing.assert_close(gain.squeeze(1), weights @ own.gain)
        expected = weights @ own.gain * own.bias + weights @ own.shift
        torch.testing.assert_close(shift.squeeze(1), expected)


def test_a_table_holds_the_values_of_all_its_layers():
    """Side by side, gains at one, shifts at zero, and the bias a plain layer would have drawn."""
    table = LevelTable(6)
    drawn = torch.cat([layer.bias for layer in three_layers(None)])
    layers = three_layers(table)
    assert [name for layer in layers for name, _ in layer.named_parameters()] == ["weight"] * 3
    torch.testing.assert_close(table.bias, drawn)
    assert torch.equal(table.gain, torch.ones(6, 8))
    assert torch.equal(table.shift, torch.zeros(6, 8))


def test_columns_are_views_of_the_tables_parameters():
    """Written to, they change the layer's part of the table; a cast takes them along."""
    table = LevelTable(6)
    layers = three_layers(table)
    table.half()
    with torch.no_grad():
        for number, layer in enumerate(layers):
            for values in (layer.columns.bias, layer.columns.gain, layer.columns.shift):
                values.fill_(number)
    expected = torch.tensor([0, 0, 0, 1, 2, 2, 2, 2], dtype=torch.float16)
    for parameter in table.parameters():
        assert torch.equal(parameter, expected.expand_as(parameter))


def test_a_copied_network_is_conditioned_by_its_own_parameters():
    """The copy's columns are those of the copied table."""
    mlp, table = random_mlp()
    copied, its_table = copy.deepcopy((mlp, table))
    with torch.no_grad():
        copied.last.columns.shift.add_(1)
    weights, x = weights_of(SIGMAS, 0.3, 0.7), normal(2, 5, 4)
    expected = mlp(x, table(weights)) + 1
    torch.testing.assert_close(copied(x, its_table(weights)), expected)


def test_mlp_activates_between_layers_only():
    """No activation before the first or after the last layer."""
    mlp, table = random_mlp()
    conditioning, x = table(weights_of(SIGMAS, 0.3, 0.7)), normal(2, 5, 4)
    expected = mlp.first(x, conditioning)
    for layer in (*mlp.between, mlp.last):
        expected = layer(torch.nn.functional.elu(expected), conditioning)
    assert expected.shape == (2, 5, 2)
    torch.testing.assert_close(mlp(x, conditioning), expected)
