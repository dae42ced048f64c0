"""GraphGenerator with networks that denoise at every noise level, the default."""

from __future__ import annotations

import json

import networkx as nx
import pytest
import torch

from graphscore import GraphGenerator
from graphscore.errors import CheckpointError, SettingsError
from graphscore.graphs import GraphBatch
from graphscore.model_sampling import langevin_levels
from graphscore.networks import AsDenoiser, EdgeDensity, GuidedNetwork, LogOddsDenoiser
from graphscore.sampling import HeunSettings, LangevinSettings, RenoisingSettings
from graphscore.training.checkpoint import read_checkpoint, write_checkpoint

SMALL = {"kind": "denoiser", "blocks": 1, "pair_width": 8, "node_width": 4, "product_width": 2}
EDP = {"channels": [2], "message_steps": 1, "features": 4, "edge_width": 4}


def make(*, network=None, steps=3, sampling=None, **settings):
    return GraphGenerator(
        network=SMALL if network is None else network,
        training={"steps": steps, "batch_size": 4, "log_every": 1},
        sampling={"sampler": "heun", "steps": 2} if sampling is None else sampling,
        device="cpu",
        show_progress=False,
        **settings,
    )


def edges(graphs):
    return [sorted(map(sorted, graph.edges)) for graph in graphs]


@pytest.fixture(scope="module")
def graphs():
    return [nx.path_graph(4), nx.cycle_graph(5), nx.star_graph(5), nx.complete_graph(4)]


@pytest.fixture
def fitted(graphs):
    return make().fit(graphs)


def test_without_settings_it_is_a_denoiser(graphs):
    generator = GraphGenerator(training={"steps": 1}, device="cpu", show_progress=False)
    generator.fit(graphs)
    assert isinstance(generator.network, LogOddsDenoiser)
    assert isinstance(generator.settings.sampling, HeunSettings)
    assert len(generator.sample(3, seed=0)) == 3


def test_other_graphs_get_other_settings():
    generator = GraphGenerator(training={"steps": 1}, device="cpu", show_progress=False)
    few = generator.fit([nx.path_graph(5)]).settings
    many = generator.fit([nx.path_graph(40)]).settings
    assert few.training.batch_size > many.training.batch_size
    assert generator.fit([nx.path_graph(5)]).settings == few


def test_networks_can_be_named(graphs):
    named = GraphGenerator(network="gin", training={"steps": 1}, device="cpu", show_progress=False)
    assert named.settings.network.learnable_adjacency is False
    with pytest.raises(SettingsError, match=r"'gim'.*denoiser"):
        GraphGenerator(network="gim")


def test_the_density_of_the_training_graphs_is_where_it_starts(fitted, graphs):
    batch = GraphBatch.from_networkx(graphs)
    found, expected = fitted.network.density(batch.node_mask), EdgeDensity.of(batch)
    assert found.flatten().tolist() == pytest.approx([expected.at(len(graph)) for graph in graphs])


def test_a_saved_model_gives_the_same_graphs(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = GraphGenerator.load(tmp_path / "model", device="cpu", show_progress=False)
    assert loaded.settings == fitted.settings
    assert edges(loaded.sample(6, seed=1)) == edges(fitted.sample(6, seed=1))
    assert edges(loaded.sample(6, seed=1)) != edges(fitted.sample(6, seed=2))


@pytest.mark.parametrize("given", [True, False], ids=["given", "chosen by itself"])
def test_a_resumed_run_is_the_run_that_was_not_interrupted(graphs, tmp_path, given):
    settings = {"network": SMALL if given else None, "device": "cpu", "show_progress": False}

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
    other = make(network=EDP, sampling={"steps_per_level": 2})
    with pytest.raises(CheckpointError, match=r"network.kind was 'denoiser' and is now 'edp-gnn'"):
        other.fit(graphs, run=tmp_path / "run", resume=True)


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        (None, HeunSettings),
        ({"churn": 1.0}, HeunSettings),
        ({"sampler": "renoising", "steps": 3}, RenoisingSettings),
        ({"sampler": "langevin", "steps_per_level": 1}, LangevinSettings),
        (RenoisingSettings(steps=2), RenoisingSettings),
    ],
)
def test_every_sampler_serves_a_denoiser(fitted, changes, kind):
    assert type(fitted.sampler_settings(changes)) is kind
    found = fitted.sample(5, seed=0, sampling=changes)
    assert edges(found) == edges(fitted.sample(5, seed=0, sampling=changes))
    assert all(not list(nx.selfloop_edges(graph)) for graph in found)
    assert fitted.settings.sampling == HeunSettings(steps=2)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"step_size": 1.0}, r"unknown setting 'sampling.step_size'"),
        ({"sampler": "renoising", "churn": 1.0}, r"unknown setting 'sampling.churn'"),
        ({"sampler": "euler"}, r"unknown kind 'euler'. Use 'langevin', 'heun', 'renoising'"),
        ({"steps": 0}, r"'sampling.steps' = 0"),
        ({"sigma_max": 9.0}, r"sigma_max 9: the network was trained on noise from 0.15 to 4"),
        ({"sigma_max": -1.0}, r"'sampling.sigma_max' = -1"),
    ],
)
def test_settings_of_another_sampler_are_refused(fitted, changes, words):
    with pytest.raises(SettingsError, match=words):
        fitted.sample(2, sampling=changes)


def test_a_network_of_the_paper_has_the_sampler_of_the_paper(graphs):
    trained = make(network=EDP, sampling={"steps_per_level": 1}).fit(graphs)
    with pytest.raises(SettingsError, match=r"'heun' wants a network.*denoiser"):
        trained.sample(2, sampling={"sampler": "heun"})
    with pytest.raises(SettingsError, match=r"'heun' wants a network"):
        make(network=EDP)


def test_an_edp_gnn_can_be_trained_in_log_odds(graphs):
    trained = make(network=EDP, denoising={}).fit(graphs)
    assert isinstance(trained.network, AsDenoiser)
    assert len(trained.sample(3, seed=0)) == 3


def test_fresh_noise_and_start_are_chosen_on_validation_graphs(fitted, graphs):
    selection = fitted.select_sampling(graphs, number=4)
    tried = [(settings.churn, settings.sigma_max) for settings, _ in selection.trials]
    starts = (None, 1.0, 0.7, 0.5)
    assert tried == [(churn, start) for churn in (0.0, 0.2, 0.8) for start in starts]
    assert fitted.settings.sampling == selection.best


def test_models_of_before_there_was_a_choice_are_read(graphs, tmp_path):
    trained = make(network=EDP, sampling={"steps_per_level": 1}).fit(graphs)
    trained.save(tmp_path / "model")
    file = tmp_path / "model" / "checkpoint.json"
    document = json.loads(file.read_text())
    del document["settings"]["network"]["kind"], document["settings"]["denoising"]
    del document["settings"]["sampling"]["sampler"]
    from graphscore.config import RunSettings

    assert RunSettings(**document["settings"]) == trained.settings


def test_langevin_dynamics_keeps_to_the_levels_that_were_learned(fitted):
    """The usual ladder ends below the usual range."""
    low, high = 0.15, 4.0
    assert fitted.settings.noise.sigmas[-1] < low
    assert all(low <= sigma <= high for sigma in langevin_levels(fitted.settings).sigmas)


def test_a_shipped_denoiser_keeps_the_sampler_that_was_chosen(graphs, tmp_path):
    from graphscore.pretrained.ship import ship_model

    make().fit(graphs, run=tmp_path / "run")
    chosen = {"sampler": "renoising", "steps": 3}
    folder = ship_model(tmp_path / "run", "mine", sampling=chosen, models=tmp_path / "models")
    model = GraphGenerator.load(folder, device="cpu", show_progress=False)
    assert model.settings.sampling == RenoisingSettings(steps=3)
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


# ---------------------------------------------------------------------- guidance


@pytest.fixture
def weaker(graphs):
    return make(network={**SMALL, "pair_width": 4}, steps=1, seed=3).fit(graphs)


def log_odds(generator):
    mask = torch.ones(1, 5, dtype=torch.bool)
    return generator.network.log_odds(torch.full((1, 5, 5), 0.4), mask, torch.ones(1))


def test_a_guided_model_goes_beyond_itself_and_can_be_kept(fitted, weaker, tmp_path):
    guided = fitted.guided_by(weaker, weight=2.0, sigma_max=3.0)
    own, other = log_odds(fitted), log_odds(weaker)
    torch.testing.assert_close(log_odds(guided), own + 2 * (own - other))
    guided.save(tmp_path / "model")
    loaded = GraphGenerator.load(tmp_path / "model", device="cpu", show_progress=False)
    assert loaded.settings == guided.settings
    assert (loaded.settings.guide.weight, loaded.settings.guide.network.pair_width) == (2.0, 4)
    assert loaded.step == fitted.step
    assert torch.equal(log_odds(loaded), log_odds(guided))
    for sampling in ({"sampler": "renoising", "steps": 3}, {"sampler": "langevin"}, None):
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
    with pytest.raises(SettingsError, match=r"0 samples"):
        guided.select_guidance(graphs, number=0)
    with pytest.raises(SettingsError, match=r"weight.*-1"):
        guided.select_guidance(graphs, number=1, weights=(-1.0,))
    with pytest.raises(SettingsError, match=r"at least one candidate"):
        guided.select_guidance(graphs, weights=())
    assert guided.settings.guide.weight == 1.0


def test_a_model_that_is_saved_again_says_where_it_was_trained(fitted, weaker, tmp_path):
    fitted.save(tmp_path / "here")
    document, tensors = read_checkpoint(tmp_path / "here")
    elsewhere = {**document["made_with"], "device": "cuda"}
    body = {key: document[key] for key in ("settings", "sizes", "training_graphs", "seconds")}
    write_checkpoint(tmp_path / "there", fitted.step, {**body, "made_with": elsewhere}, tensors)
    loaded = GraphGenerator.load(tmp_path / "there", device="cpu", show_progress=False)
    for name, model in (("alone", loaded), ("guided", loaded.guided_by(weaker))):
        model.save(tmp_path / name)
        assert read_checkpoint(tmp_path / name)[0]["made_with"] == elsewhere


def test_guides_that_do_not_suit_are_refused(fitted, weaker, graphs):
    guided = fitted.guided_by(weaker)
    assert isinstance(guided.network, GuidedNetwork)
    for better, guide in ((fitted, guided), (guided, weaker)):
        with pytest.raises(SettingsError, match=r"two models without a guide"):
            better.guided_by(guide)
    with pytest.raises(SettingsError, match=r"the model and its guide are the same"):
        fitted.guided_by(fitted)
    with pytest.raises(SettingsError, match=r"trained on graphs \(4 graphs\).*\(3 graphs\)"):
        fitted.guided_by(make().fit(graphs[:3]))
    with pytest.raises(SettingsError, match=r"to denoise at every noise level"):
        fitted.guided_by(make(network=EDP, sampling={}).fit(graphs))
    narrow = make(denoising={"sigma_range": {"sigma_min": 0.3, "sigma_max": 1.0}}).fit(graphs)
    with pytest.raises(SettingsError, match=r"sigma 0.15 to 4.*from 0.3 to 1.*sigma_min"):
        fitted.guided_by(narrow)
    assert fitted.guided_by(narrow, sigma_min=0.3, sigma_max=1.0)
    with pytest.raises(SettingsError, match=r"not trained itself"):
        GraphGenerator.from_settings(guided.settings).fit(graphs)
