"""Muon: matrices are moved in all directions alike, everything else like Adam does."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from graphscore.diffusion import (
    BernoulliEdges,
    Denoising,
    EdgeDensity,
    GraphLikelihood,
    Posterior,
    SigmaRange,
)
from graphscore.graphs import GraphBatch, node_mask_of_sizes, pair_mask
from graphscore.networks import Denoiser, DenoiserSettings
from graphscore.training import Trainer, TrainingSettings
from graphscore.training.optimisers import SIZE, SMALLEST_SIDE, Muon, orthogonalised

RATE = 0.1


def gaussian(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def with_gradient(value, gradient):
    parameter = nn.Parameter(value.clone())
    parameter.grad = gradient.clone()
    return parameter


@given(rows=st.integers(1, 12), columns=st.integers(1, 12), scale=st.sampled_from([1e-4, 1, 1e4]))
def test_singular_values_become_alike_and_their_vectors_stay(rows, columns, scale):
    u, _, v = torch.linalg.svd(gaussian(rows, columns), full_matrices=False)
    values = torch.linspace(1, 0.1, len(v))
    found = orthogonalised(scale * (u * values @ v).unsqueeze(0))[0]
    back = u.T @ found @ v.T
    assert bool((back.diag() > 0.6).all())
    assert bool((back.diag() < 1.3).all())
    assert (back - back.diag().diag()).abs().max() < 1e-3


def test_matrices_of_a_stack_do_not_see_each_other():
    one, two = gaussian(1, 8, 10), gaussian(1, 8, 10, seed=1)
    both = orthogonalised(torch.cat([one, two]))
    torch.testing.assert_close(both, torch.cat([orthogonalised(one), orthogonalised(two)]))


@pytest.mark.parametrize("count", [1, 20])
def test_tall_matrices_are_computed_as_wide_ones(count):
    """Bit for bit the same, with the smaller of the two products of a matrix with itself."""
    wide = gaussian(count, 8, 15)
    assert torch.equal(orthogonalised(wide.mT), orthogonalised(wide).mT)


def test_a_gradient_of_nearly_nothing_is_not_turned_around():
    matrix = gaussian(1, 8, 10)
    assert (orthogonalised(1e-9 * matrix) * matrix).sum() > 0
    assert not orthogonalised(0 * matrix).any()


@pytest.mark.parametrize("shape", [(8, 8), (8, 40), (40, 8)])
def test_an_update_has_the_size_of_adams_whatever_the_gradients(shape):
    for scale in (1e-3, 1e3):
        weight, bias = (with_gradient(torch.zeros(s), scale * gaussian(*s)) for s in (shape, (3,)))
        Muon([weight, bias], torch.tensor(RATE)).step()
        size = weight.detach().square().mean().sqrt().item()
        assert size == pytest.approx(RATE * SIZE, rel=0.25)
        # Against the gradient.
        assert (weight.detach() * weight.grad).sum() < 0


def test_what_is_not_a_matrix_is_moved_like_adam():
    shapes = [(5,), (SMALLEST_SIDE - 1, 20), (2, 9, 9), (9, 9)]
    ours, others = (
        [with_gradient(gaussian(*s), gaussian(*s, seed=1)) for s in shapes] for _ in range(2)
    )
    rates = torch.tensor(RATE), torch.tensor(RATE)
    optimisers = Muon(ours, rates[0], fused=True), torch.optim.Adam(others, rates[1], fused=True)
    for _ in range(3):
        for optimiser, rate in zip(optimisers, rates):
            optimiser.step()
            rate.mul_(0.5)
    assert [torch.equal(one, two) for one, two in zip(ours, others)] == [True, True, True, False]


def test_what_has_no_gradient_stays():
    still, moved = nn.Parameter(gaussian(8, 8)), with_gradient(gaussian(8, 8), gaussian(8, 8))
    bias = nn.Parameter(torch.zeros(3))
    before = [parameter.detach().clone() for parameter in (still, moved, bias)]
    Muon([still, moved, bias], torch.tensor(RATE)).step()
    after = (still, moved, bias)
    assert [torch.equal(one, two) for one, two in zip(before, after)] == [True, False, True]


def test_matrices_without_a_gradient_do_not_keep_others_from_moving():
    still, moved = nn.Parameter(gaussian(8, 9)), with_gradient(gaussian(9, 8), gaussian(9, 8))
    before = moved.detach().clone()
    Muon([still, moved], torch.tensor(RATE)).step()
    assert not torch.equal(moved.detach(), before)


def test_the_size_of_an_update_does_not_depend_on_how_many_matrices_there_are():
    gradients = [gaussian(8, 8, seed=seed) for seed in range(12)]
    many = [with_gradient(torch.zeros(8, 8), gradient) for gradient in gradients]
    alone = with_gradient(torch.zeros(8, 8), gradients[0])
    for moved in (many, [alone]):
        Muon(moved, torch.tensor(RATE)).step()
    torch.testing.assert_close(many[0].detach(), alone.detach())


def make_trainer(**settings):
    """On graphs of all edges or none, where each pair determines all others."""
    mask = node_mask_of_sizes(torch.tensor([3, 4, 5, 6, 6, 5]))
    full = torch.tensor([0, 1, 0, 1, 0, 1]).view(-1, 1, 1)
    data = GraphBatch((pair_mask(mask) * full).float(), mask)
    shape = DenoiserSettings(blocks=2, pair_width=8, node_width=8, product_width=8)
    likelihood = GraphLikelihood(BernoulliEdges(EdgeDensity.constant(0.5)))
    denoiser = Denoiser(shape, likelihood, generator=torch.Generator().manual_seed(0))
    training = TrainingSettings(
        **{"steps": 12, "batch_size": 4, "log_every": 4, "optimiser": "muon"} | settings
    )
    network = Posterior(denoiser, likelihood)
    return Trainer(network, data, Denoising(SigmaRange()), training, seed=0)


@pytest.mark.parametrize("at", [0, 1, 7])
def test_resuming_from_disk_is_bit_equal(through_disk, at):
    whole = make_trainer()
    assert whole.run()
    first = make_trainer()
    first.run(should_stop=lambda: first.step >= at)
    tensors = through_disk(first)
    second = make_trainer()
    second.restore(tensors, step=first.step, seconds=0.0)
    assert second.run()
    ours, expected = second.state(), whole.state()
    assert ours.keys() == expected.keys()
    assert any(name.endswith(".momentum") for name in ours)
    assert any(name.endswith(".exp_avg") for name in ours)
    assert [name for name in ours if not torch.equal(ours[name], expected[name])] == []


def test_the_loss_falls():
    records = []
    trainer = make_trainer(steps=100, batch_size=6, learning_rate=1e-2, log_every=25)
    trainer.run(on_record=records.append)
    assert records[-1].loss < 0.9 * records[0].loss


def test_counts_of_steps_go_to_the_device_when_a_state_is_put_back():
    # Adam reads them there; from the host they would be an illegal address.
    kept = Muon([with_gradient(gaussian(3), gaussian(3))], torch.tensor(RATE))
    kept.step()
    there = nn.Parameter(torch.zeros(3, device="meta"))
    put_back = Muon([there], torch.tensor(RATE), capturable=True)
    put_back.load_state_dict({**put_back.state_dict(), "state": kept.state_dict()["state"]})
    assert {value.device.type for value in put_back.state[there].values()} == {"meta"}


def test_singular_values_follow_the_published_polynomial():
    """3.4445 s - 4.7750 s^3 + 2.0315 s^5, five times, after division by the Frobenius norm."""
    values = torch.tensor([5.0, 2.0, 0.5, 0.1], dtype=torch.float64)
    s = values / values.norm()
    for _ in range(5):
        s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5
    found = orthogonalised(values.diag().unsqueeze(0))[0]
    torch.testing.assert_close(found, s.diag(), atol=1e-5, rtol=1e-5)


def test_steps_of_a_matrix_follow_its_nesterov_momentum():
    """Momentum 0.95, looking one step ahead; of the smallest matrix there is."""
    basis = torch.linalg.qr(gaussian(8, 8).double())[0]
    weight = nn.Parameter(torch.zeros(8, 8, dtype=torch.float64))
    optimiser = Muon([weight], torch.tensor(RATE))
    momentum = torch.zeros(8, 8, dtype=torch.float64)
    expected = torch.zeros(8, 8, dtype=torch.float64)
    for step in range(3):
        gradient = basis * torch.linspace(1, 2 + step, 8).double()
        weight.grad = gradient
        optimiser.step()
        momentum = 0.95 * momentum + 0.05 * gradient
        ahead = 0.05 * gradient + 0.95 * momentum
        expected -= RATE * 0.2 * 8**0.5 * orthogonalised(ahead.unsqueeze(0))[0]
    torch.testing.assert_close(weight.detach(), expected)
