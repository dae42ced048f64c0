"""Settings that suit the graphs, where the user gave none."""

from __future__ import annotations

import pytest
import torch

from graphscore.config import RunSettings
from graphscore.graphs import GraphBatch
from graphscore.networks import DenoiserSettings, EDPGNNSettings
from graphscore.recommendation import suited
from graphscore.sampling import HeunSettings, LangevinSettings, RenoisingSettings


def graphs(nodes):
    return GraphBatch(torch.zeros(2, nodes, nodes), torch.ones(2, nodes, dtype=torch.bool))


def test_without_a_network_it_is_a_denoiser_with_its_objective_and_sampler():
    found = suited(RunSettings(seed=4), graphs(12), on_cpu=True)
    assert isinstance(found.network, DenoiserSettings)
    assert found.denoising is not None
    assert isinstance(found.sampling, HeunSettings)
    assert found.seed == 4


@pytest.mark.parametrize("network", [{}, {"features": 8}, EDPGNNSettings(), {"kind": "edp-gnn"}])
def test_a_network_that_was_given_stays_with_the_defaults_of_the_paper(network):
    settings = RunSettings(network=network)
    assert suited(settings, graphs(12), on_cpu=True) == settings
    assert isinstance(settings.sampling, LangevinSettings)


def test_what_was_given_stays_and_the_rest_is_chosen():
    settings = RunSettings(
        training={"steps": 7}, sampling={"sampler": "renoising"}, denoising={"loss": "squared"}
    )
    found = suited(settings, graphs(12), on_cpu=True)
    assert found.training.steps == 7
    assert (
        found.training.gradient_clip
        == suited(RunSettings(), graphs(12), on_cpu=True).training.gradient_clip
    )
    assert found.sampling.sampler == "renoising"
    assert found.denoising.loss == "squared"
    assert isinstance(found.network, DenoiserSettings)


def test_larger_graphs_get_a_larger_network_and_smaller_batches():
    small, large, huge = (suited(RunSettings(), graphs(n), on_cpu=False) for n in (12, 64, 187))
    assert small.network.pair_width < large.network.pair_width
    assert small.training.steps < large.training.steps
    assert huge.training.batch_size < large.training.batch_size
    assert small.sampling.network_calls < 64 < large.sampling.network_calls


@pytest.mark.parametrize("settings", [{}, {"network": {}}, {"network": DenoiserSettings()}])
def test_choosing_again_changes_nothing(settings):
    """A resumed run chooses from the settings it was started with."""
    once = suited(RunSettings(**settings), graphs(20), on_cpu=True)
    assert suited(once, graphs(20), on_cpu=True) == once
    assert suited(RunSettings(**once.model_dump(mode="json")), graphs(20), on_cpu=True) == once


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        ({"threshold": 0.4}, {"sampler": "heun", "steps": 32, "threshold": 0.4}),
        ({"steps": 16}, {"sampler": "heun", "steps": 16, "churn": 12.8}),
        ({"sampler": "heun"}, {"sampler": "heun", "steps": 64}),
        ({"steps_per_level": 5}, {"sampler": "langevin", "steps_per_level": 5}),
        ({"sampler": "langevin"}, {"sampler": "langevin"}),
        ({"noise": "bridge"}, {"sampler": "renoising", "noise": "bridge"}),
    ],
)
def test_a_part_of_the_sampler_settings_changes_that_part(sampling, expected):
    found = suited(RunSettings(sampling=sampling), graphs(12), on_cpu=True).sampling.model_dump()
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize("network", ["denoiser", {"kind": "denoiser", "blocks": 2}, {"blocks": 2}])
def test_a_part_of_the_shape_changes_that_part(network):
    """Who asks for fewer blocks does not get wider ones."""
    usual = suited(RunSettings(), graphs(12), on_cpu=True).network
    found = suited(RunSettings(network=network), graphs(12), on_cpu=True).network
    assert found == (usual if network == "denoiser" else usual.replaced(blocks=2))


def test_a_network_given_as_an_object_is_that_network():
    for network in (DenoiserSettings(), DenoiserSettings(blocks=2)):
        found = suited(RunSettings(network=network), graphs(12), on_cpu=True).network
        assert found == network


def test_a_cpu_gets_what_it_can_train():
    here, there = (suited(RunSettings(), graphs(64), on_cpu=cpu) for cpu in (True, False))
    assert here.network.pair_width < there.network.pair_width
    assert here.training.batch_size < there.training.batch_size
    assert suited(RunSettings(), graphs(500), on_cpu=True).training.batch_size == 4


@pytest.mark.parametrize("nodes", [12, 64])
@pytest.mark.parametrize(
    "sampling",
    [HeunSettings(), HeunSettings(steps=20), RenoisingSettings(steps=50), LangevinSettings()],
)
def test_a_sampler_given_as_an_object_is_that_sampler(sampling, nodes):
    assert suited(RunSettings(sampling=sampling), graphs(nodes), on_cpu=True).sampling == sampling


def test_few_steps_of_large_graphs_are_re_noising():
    found = suited(RunSettings(sampling={"steps": 16}), graphs(64), on_cpu=True).sampling
    assert found == RenoisingSettings(steps=16)
