"""Guided models: put together from two trained denoisers, sampled, kept, and refused."""

from __future__ import annotations

import pytest
import torch

from graphscore import GraphGenerator
from graphscore.artifacts import read_checkpoint
from graphscore.artifacts.checkpoint import write_checkpoint
from graphscore.diffusion import GuidedPosterior
from graphscore.errors import SettingsError
from graphscore.graphs import GraphState

from .conftest import DENOISER, EDP, edges
from .conftest import make_denoiser as make


@pytest.fixture
def fitted(graphs):
    return make().fit(graphs)


@pytest.fixture
def weaker(graphs):
    return make(network={**DENOISER, "pair_width": 4}, steps=1, seed=3).fit(graphs)


def logits(generator):
    mask = torch.ones(1, 5, dtype=torch.bool)
    noisy = GraphState(torch.full((1, 5, 5), 0.4), mask)
    return generator.network.logits(noisy, torch.ones(1)).edges


def test_a_guided_model_goes_beyond_itself_and_can_be_kept(fitted, weaker, tmp_path):
    guided = fitted.guided_by(weaker, weight=2.0, sigma_max=3.0)
    own, other = logits(fitted), logits(weaker)
    torch.testing.assert_close(logits(guided), own + 2 * (own - other))
    guided.save(tmp_path / "model")
    loaded = GraphGenerator.load(tmp_path / "model", device="cpu", show_progress=False)
    assert loaded.settings == guided.settings
    assert (loaded.settings.guide.weight, loaded.settings.guide.network.pair_width) == (2.0, 4)
    assert loaded.step == fitted.step
    assert torch.equal(logits(loaded), logits(guided))
    for sampling in (
        {"kind": "ancestral", "steps": 3},
        {"kind": "langevin", "steps_per_level": 3},
        None,
    ):
        found = [edges(g.sample(4, seed=1, sampling=sampling)) for g in (loaded, guided)]
        assert found[0] == found[1]


def test_guidance_can_be_changed_when_sampling(fitted, weaker):
    """A weight of 0 is the model alone."""
    guided = fitted.guided_by(weaker, weight=50.0)
    plain = edges(fitted.sample(8, seed=2))
    assert edges(guided.sample(8, seed=2)) != plain
    assert edges(guided.sample(8, seed=2, guidance=0)) == plain
    with pytest.raises(SettingsError, match=r"no guide.*guided_by"):
        fitted.sample(1, guidance=1.0)


def test_validation_graphs_choose_the_weight(fitted, weaker, tmp_path):
    guided = fitted.guided_by(weaker, weight=1.0)
    wanted = guided.sample(8, seed=2, guidance=50.0)
    # Nothing is nearer to graphs than they themselves.
    found = guided.select_guidance(wanted, number=8, weights=(0.0, 50.0), seed=2)
    assert (found.best, found.distance) == (50.0, 0.0)
    assert [weight for weight, _ in found.trials] == [0.0, 50.0]
    guided.save(tmp_path / "model")
    loaded = GraphGenerator.load(tmp_path / "model", device="cpu", show_progress=False)
    for one in (guided, loaded):
        assert one.settings.guide.weight == 50.0
        assert edges(one.sample(8, seed=2)) == edges(wanted)
    # The model alone keeps its guide, and asks it nothing.
    plain = fitted.sample(8, seed=2)
    assert guided.select_guidance(plain, number=8, weights=(50.0, 0.0), seed=2).best == 0
    assert edges(guided.sample(8, seed=2)) == edges(plain)
    assert edges(guided.sample(8, seed=2, guidance=50.0)) == edges(wanted)


def test_weights_that_cannot_be_chosen(fitted, weaker, graphs):
    guided = fitted.guided_by(weaker)
    with pytest.raises(SettingsError, match=r"no guide.*guided_by"):
        fitted.select_guidance(graphs)
    with pytest.raises(SettingsError, match="number 0: ask"):
        guided.select_guidance(graphs, number=0)
    with pytest.raises(SettingsError, match=r"weight.*-1"):
        guided.select_guidance(graphs, number=1, weights=(-1.0,))
    with pytest.raises(SettingsError, match=r"at least one candidate"):
        guided.select_guidance(graphs, weights=())
    assert guided.settings.guide.weight == 1.0


def test_a_model_that_is_saved_again_says_where_it_was_trained(fitted, weaker, tmp_path):
    fitted.save(tmp_path / "here")
    document, tensors = read_checkpoint(tmp_path / "here")
    elsewhere = document.made_with.replaced(device="cuda")
    moved = document.model_copy(update={"made_with": elsewhere})
    write_checkpoint(tmp_path / "there", moved, tensors)
    loaded = GraphGenerator.load(tmp_path / "there", device="cpu", show_progress=False)
    for name, model in (("alone", loaded), ("guided", loaded.guided_by(weaker))):
        model.save(tmp_path / name)
        assert read_checkpoint(tmp_path / name)[0].made_with == elsewhere


def test_guide_models_that_do_not_fit_are_refused(fitted, weaker, graphs):
    guided = fitted.guided_by(weaker)
    assert isinstance(guided.network, GuidedPosterior)
    for better, guide in ((fitted, guided), (guided, weaker)):
        with pytest.raises(SettingsError, match=r"two models without a guide"):
            better.guided_by(guide)
    with pytest.raises(SettingsError, match=r"the model and its guide are the same"):
        fitted.guided_by(fitted)
    with pytest.raises(SettingsError, match=r"trained on graphs \(4 graphs\).*\(3 graphs\)"):
        fitted.guided_by(make().fit(graphs[:3]))
    with pytest.raises(SettingsError, match=r"to denoise at every noise level"):
        fitted.guided_by(make(model="edp-gnn", network=EDP, sampling={}).fit(graphs))
    narrow = make(noise={"sigma_min": 0.3, "sigma_max": 1.0}).fit(graphs)
    with pytest.raises(SettingsError, match=r"sigma 0.15 to 4.*from 0.3 to 1.*sigma_min"):
        fitted.guided_by(narrow)
    assert fitted.guided_by(narrow, sigma_min=0.3, sigma_max=1.0)
    with pytest.raises(SettingsError, match=r"not trained itself"):
        GraphGenerator.from_settings(guided.settings).fit(graphs)


def test_a_guide_model_keeps_the_noise_levels_that_it_was_trained_on(fitted, graphs, tmp_path):
    """An EDP-GNN interpolates its gains between levels of its own range."""
    guide = make(network=EDP, noise={"sigma_min": 0.1, "sigma_max": 8.0}).fit(graphs)
    guided = fitted.guided_by(guide)
    guided.save(tmp_path / "model")
    loaded = GraphGenerator.load(tmp_path / "model", device="cpu", show_progress=False)
    assert torch.equal(logits(loaded), logits(guided))
