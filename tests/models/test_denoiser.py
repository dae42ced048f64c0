"""The denoiser: a network that denoises at every noise level, the default model."""

from __future__ import annotations

import json

import networkx as nx
import pytest
import torch

from graphscore import GraphGenerator
from graphscore.artifacts import read_checkpoint
from graphscore.diffusion import EdgeDensity, Posterior
from graphscore.diffusion.samplers import AncestralSettings, HeunSettings, LangevinSettings
from graphscore.diffusion.sigmas import PAPER_SIGMAS
from graphscore.errors import CheckpointError, SettingsError
from graphscore.graphs import NO_CONDITION, GraphBatch
from graphscore.networks import EDPGNN, Denoiser

from .conftest import DENOISER, EDP, edges
from .conftest import make_denoiser as make


@pytest.fixture
def fitted(graphs):
    return make().fit(graphs)


def test_without_settings_it_is_a_denoiser(graphs):
    generator = GraphGenerator(training={"steps": 1}, device="cpu", show_progress=False)
    generator.fit(graphs)
    assert generator.settings.model == "denoiser"
    assert isinstance(generator.network, Posterior)
    assert isinstance(generator.network.network, Denoiser)
    assert isinstance(generator.settings.sampling, HeunSettings)
    assert len(generator.sample(3, seed=0)) == 3


def test_other_graphs_get_other_settings():
    generator = GraphGenerator(training={"steps": 1}, device="cpu", show_progress=False)
    few = generator.fit([nx.path_graph(5)]).settings
    many = generator.fit([nx.path_graph(40)]).settings
    assert few.training.batch_size > many.training.batch_size
    assert generator.fit([nx.path_graph(5)]).settings == few


def test_the_density_of_the_training_graphs_is_where_it_starts(fitted, graphs):
    batch = GraphBatch.from_networkx(graphs)
    prior = fitted.network.likelihood.prior(batch.node_mask, NO_CONDITION, torch.float64).edges
    expected = EdgeDensity.of(batch)
    densities = prior.sigmoid().flatten().tolist()
    assert densities == pytest.approx([expected.at(len(graph)) for graph in graphs])


def test_a_saved_model_gives_the_same_graphs(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = GraphGenerator.load(tmp_path / "model", device="cpu", show_progress=False)
    assert loaded.settings == fitted.settings
    assert edges(loaded.sample(6, seed=1)) == edges(fitted.sample(6, seed=1))
    assert edges(loaded.sample(6, seed=1)) != edges(fitted.sample(6, seed=2))


@pytest.mark.parametrize("given", [True, False], ids=["given", "chosen by itself"])
def test_a_resumed_run_is_the_run_that_was_not_interrupted(graphs, tmp_path, given):
    settings = {"network": DENOISER if given else None, "device": "cpu", "show_progress": False}

    def fresh():
        return GraphGenerator(training={"steps": 4, "batch_size": 4}, **settings)

    whole = fresh().fit(graphs, run=tmp_path / "whole")
    part = fresh()
    asked = iter([False, False, True])
    part.fit(graphs, run=tmp_path / "part", should_stop=lambda: next(asked, True))
    assert part.step == 2
    resumed = fresh().fit(graphs, run=tmp_path / "part", resume=True)
    assert resumed.step == whole.step == 4
    (_, one), (_, two) = (read_checkpoint(tmp_path / name) for name in ("whole", "part"))
    assert one.keys() == two.keys()
    assert all(torch.equal(one[name], two[name]) for name in one)


def test_another_network_cannot_go_on(graphs, tmp_path):
    make().fit(graphs, run=tmp_path / "run")
    other = make(network=EDP)
    with pytest.raises(CheckpointError, match=r"network.kind was 'denoiser' and is now 'edp-gnn'"):
        other.fit(graphs, run=tmp_path / "run", resume=True)


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        (None, HeunSettings),
        ({"churn": 1.0}, HeunSettings),
        ({"kind": "ancestral", "steps": 3}, AncestralSettings),
        ({"kind": "langevin", "steps_per_level": 1}, LangevinSettings),
        (AncestralSettings(steps=2), AncestralSettings),
    ],
)
def test_every_sampler_serves_a_denoiser(fitted, changes, kind):
    before = fitted.settings
    assert type(fitted.sampler_settings(changes)) is kind
    found = fitted.sample(5, seed=0, sampling=changes)
    assert edges(found) == edges(fitted.sample(5, seed=0, sampling=changes))
    assert all(not list(nx.selfloop_edges(graph)) for graph in found)
    assert fitted.settings == before


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"step_size": 1.0}, r"unknown setting 'sampling.step_size'"),
        ({"kind": "ancestral", "churn": 1.0}, r"unknown setting 'sampling.churn'"),
        ({"kind": "euler"}, r"unknown sampler 'euler'. Use one of: langevin, heun, ancestral"),
        ({"kind": ["heun"]}, r"unknown sampler \['heun'\]"),
        ("heun", r"sampling 'heun': give the settings of a sampler"),
        ({"steps": 0}, r"'sampling.steps' = 0"),
        ({"sigma_max": 9.0}, r"sigma_max 9: the network was trained on noise from 0.15 to 4"),
        ({"sigma_max": -1.0}, r"'sampling.sigma_max' = -1"),
    ],
)
def test_settings_of_another_sampler_are_refused(fitted, changes, words):
    with pytest.raises(SettingsError, match=words):
        fitted.sample(2, sampling=changes)


def test_the_model_of_the_paper_has_the_sampler_of_the_paper(graphs):
    trained = make(model="edp-gnn", network=EDP, sampling={"steps_per_level": 1}).fit(graphs)
    with pytest.raises(SettingsError, match=r"'heun' needs a network.*denoiser"):
        trained.sample(2, sampling={"kind": "heun"})
    with pytest.raises(SettingsError, match=r"'heun' needs a network"):
        make(model="edp-gnn", network=EDP)


def test_an_edp_gnn_can_be_trained_to_denoise(graphs):
    trained = make(network=EDP).fit(graphs)
    assert isinstance(trained.network, Posterior)
    assert isinstance(trained.network.network, EDPGNN)
    assert len(trained.sample(3, seed=0)) == 3


def test_fresh_noise_and_start_are_chosen_on_validation_graphs(fitted, graphs):
    selection = fitted.select_sampling(graphs, number=4)
    tried = [(settings.churn, settings.sigma_max) for settings, _ in selection.trials]
    starts = (None, 1.0, 0.7, 0.5)
    assert tried == [(churn, start) for churn in (0.0, 0.2, 0.8) for start in starts]
    assert fitted.settings.sampling == selection.best


def test_langevin_dynamics_keeps_to_the_levels_that_were_learned(fitted):
    """The paper's levels end below the default range."""
    low, high = 0.15, 4.0
    assert PAPER_SIGMAS[-1] < low
    seen = []

    def note(_, arguments, result):
        seen.extend(arguments[1].tolist())

    handle = fitted.network.register_forward_hook(note)
    fitted.sample(2, seed=0, sampling={"kind": "langevin", "steps_per_level": 1})
    handle.remove()
    assert seen
    assert all(low <= sigma <= high for sigma in seen)


@pytest.mark.parametrize("model", ["denoiser", "edp-gnn"])
def test_levels_of_langevin_dynamics_that_were_not_learned_are_refused(model):
    for sigmas in ((5.0, 1.0), (1.0, 0.05)):
        with pytest.raises(SettingsError, match=r"sampling.sigmas has (5|0.05), but.* trained on"):
            GraphGenerator(model, sampling={"kind": "langevin", "sigmas": sigmas}, device="cpu")


def test_an_exported_denoiser_keeps_the_sampler_that_was_chosen(graphs, tmp_path):
    from graphscore.artifacts.export import export_model

    make().fit(graphs, run=tmp_path / "run")
    chosen = {"kind": "ancestral", "steps": 3}
    folder = export_model(tmp_path / "run", "mine", sampling=chosen, models=tmp_path / "models")
    model = GraphGenerator.load(folder, device="cpu", show_progress=False)
    assert model.settings.sampling == AncestralSettings(steps=3)
    assert len(model.sample(2, seed=0)) == 2


def test_the_chosen_sampler_is_kept_with_the_run(graphs, tmp_path):
    run = tmp_path / "run"
    generator = make().fit(graphs, run=run)
    before = GraphGenerator.load(run, device="cpu", show_progress=False)
    other = before.settings.sampling.replaced(steps=3)
    generator.select_sampling(graphs, number=2, candidates=[other], run=run)
    after = GraphGenerator.load(run, device="cpu", show_progress=False)
    assert after.settings == before.settings.replaced(sampling=other)
    assert json.loads((run / "settings.json").read_text())["sampling"]["steps"] == 3
    weights = after.network.state_dict()
    assert all(torch.equal(t, weights[name]) for name, t in before.network.state_dict().items())
    assert make().fit(graphs, run=run, resume=True).step == generator.step


def test_a_choice_is_not_stored_with_another_model(graphs, tmp_path):
    """Refused before the search, since the weights of that run would not fit the settings."""
    make(seed=1).fit(graphs, run=tmp_path / "other")
    before = (tmp_path / "other" / "checkpoint.json").read_bytes()
    generator = make().fit(graphs)
    with pytest.raises(CheckpointError, match=r"seed was 1"):
        generator.select_sampling(graphs, number=2, run=tmp_path / "other")
    assert (tmp_path / "other" / "checkpoint.json").read_bytes() == before
