"""Settings that a user left open are completed in one place, from the size of the graphs."""

from __future__ import annotations

import re
from pathlib import Path

import networkx as nx
import pytest

from graphscore import GraphGenerator
from graphscore.cli.main import main
from graphscore.diffusion.samplers import AncestralSettings, HeunSettings, LangevinSettings
from graphscore.errors import SettingsError
from graphscore.models import DEFAULT_MODEL, MODELS, resolve_settings, stored_settings
from graphscore.models.registry import check_settings
from graphscore.networks import DenoiserSettings, EDPGNNSettings

ROOT = Path(__file__).parents[2]


def resolve(*, nodes=12, on_cpu=True, **given):
    return resolve_settings(given, nodes=nodes, on_cpu=on_cpu)


# ------------------------------------------------------------------ one default


@pytest.mark.parametrize("nodes", [5, 40])
def test_python_command_line_and_settings_agree_on_the_default(nodes, tmp_path, monkeypatch):
    """The same graphs get the same complete settings, whichever way they come in."""
    monkeypatch.chdir(tmp_path)
    graphs = [nx.path_graph(nodes)]
    nx.write_graph6(graphs[0], "graphs.g6", header=False)
    with pytest.raises(SystemExit) as stopped:
        main(["train", "graphs.g6", "--out", "run", "--max-seconds", "0", "--device", "cpu"])
    assert stopped.value.code == 0
    by_command = GraphGenerator.load("run", device="cpu").settings
    by_python = GraphGenerator(device="cpu", show_progress=False)
    by_python.fit(graphs, should_stop=lambda: True)
    assert by_command == by_python.settings == resolve(nodes=nodes)
    assert by_command == resolve(nodes=nodes, model=DEFAULT_MODEL)
    assert by_command.model == DEFAULT_MODEL


@pytest.mark.parametrize("page", ["README.md", "docs/command-line.md"])
def test_documents_name_the_default_model(page):
    """No page shows another model as what a user gets without asking."""
    text = (ROOT / page).read_text(encoding="utf-8")
    assert DEFAULT_MODEL in text
    named = re.findall(r"--model ([a-z-]+)", text)
    assert set(named) <= set(MODELS)


def test_help_names_every_model_and_the_default(capsys):
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert f"{DEFAULT_MODEL} (if not given)" in shown
    assert all(name in shown for name in MODELS)
    assert all(f'"{name}"' in GraphGenerator.__doc__ for name in MODELS)


# ------------------------------------------------------------------ names


def test_names_stand_for_models_and_presets():
    assert resolve(model="gin").network.learnable_adjacency is False
    assert resolve(model="edp-gnn").network == EDPGNNSettings()
    assert resolve(model="edp-gnn-released").network == EDPGNNSettings.released()
    for network in ({"features": 3}, {"kind": "edp-gnn", "features": 3}):
        found = resolve(model="gin", network=network).network
        assert (found.learnable_adjacency, found.features) == (False, 3)


@pytest.mark.parametrize(
    ("name", "words"),
    [("gim", "Did you mean 'gin'"), ("diffusion", "Use one of: denoiser, edp-gnn")]
    + [(wrong, "unknown model") for wrong in (3, None, ["gin"], {"kind": "gin"})],
)
def test_unknown_names_are_refused(name, words):
    with pytest.raises(SettingsError, match=words):
        resolve(model=name)


@pytest.mark.parametrize("name", [None, 3, ["denoiser"], {}, "transformer"])
def test_stored_settings_of_unknown_models_are_refused(name):
    with pytest.raises(SettingsError, match="unknown model"):
        stored_settings({"model": name})


@pytest.mark.parametrize("name", MODELS)
def test_stored_settings_that_lack_something_are_refused(name):
    with pytest.raises(SettingsError, match="without seed"):
        stored_settings({"model": name})


# ------------------------------------------------------------------ completing


@pytest.mark.parametrize("model", ["edp-gnn", "edp-gnn-released", "gin"])
def test_models_of_the_paper_do_not_depend_on_the_graphs(model):
    assert resolve(model=model) == resolve(model=model, nodes=500, on_cpu=False)
    assert isinstance(resolve(model=model).sampling, LangevinSettings)


def test_what_was_given_stays_and_the_rest_is_chosen():
    found = resolve(
        seed=4,
        training={"steps": 7},
        sampling={"kind": "ancestral"},
        objective={"loss": "squared"},
    )
    assert (found.seed, found.training.steps, found.objective.loss) == (4, 7, "squared")
    assert found.training.gradient_clip == resolve().training.gradient_clip
    assert found.sampling == AncestralSettings()
    assert found.network == resolve().network


def test_larger_graphs_get_a_larger_network_and_smaller_batches():
    small, large, huge = (resolve(nodes=n, on_cpu=False) for n in (12, 64, 187))
    assert small.network.pair_width < large.network.pair_width
    assert small.training.steps < large.training.steps
    assert huge.training.batch_size < large.training.batch_size
    assert small.sampling.network_calls < 64 < large.sampling.network_calls


def test_a_cpu_gets_what_it_can_train():
    here, there = (resolve(nodes=64, on_cpu=cpu) for cpu in (True, False))
    assert here.network.pair_width < there.network.pair_width
    assert here.training.batch_size < there.training.batch_size
    assert resolve(nodes=500).training.batch_size == 4


@pytest.mark.parametrize("model", MODELS)
def test_resolving_again_changes_nothing(model):
    """A resumed run resolves the complete settings it was started with."""
    once = resolve(model=model, nodes=20)
    stored = once.model_dump(mode="json")
    assert resolve(**stored, nodes=20) == resolve(**stored, nodes=300) == once
    assert stored_settings(stored) == once


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        ({"threshold": 0.4}, {"kind": "heun", "steps": 32, "threshold": 0.4}),
        ({"steps": 16}, {"kind": "heun", "steps": 16, "churn": 12.8}),
        ({"kind": "heun"}, {"kind": "heun", "steps": 32, "churn": 12.8}),
        ({"kind": "langevin"}, LangevinSettings().model_dump()),
        ({"kind": "langevin", "steps_per_level": 5}, {"kind": "langevin", "steps_per_level": 5}),
        ({"kind": "ancestral", "noise": "posterior"}, {"kind": "ancestral", "noise": "posterior"}),
    ],
)
def test_a_part_of_the_sampler_settings_changes_that_part(sampling, expected):
    found = resolve(sampling=sampling).sampling.model_dump()
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize("network", [{"kind": "denoiser", "blocks": 2}, {"blocks": 2}, {}])
def test_a_part_of_the_shape_changes_that_part(network):
    """Fewer blocks do not make wider ones."""
    changes = {} if not network else {"blocks": 2}
    assert resolve(network=network).network == resolve().network.replaced(**changes)


@pytest.mark.parametrize("nodes", [12, 64])
@pytest.mark.parametrize(
    "section",
    [
        {"network": DenoiserSettings()},
        {"network": DenoiserSettings(blocks=2)},
        {"network": EDPGNNSettings(features=2)},
        {"sampling": HeunSettings()},
        {"sampling": HeunSettings(steps=20)},
        {"sampling": AncestralSettings(steps=50)},
        {"sampling": LangevinSettings()},
    ],
    ids=str,
)
def test_a_settings_object_is_complete(section, nodes):
    (name, value), found = *section.items(), resolve(**section, nodes=nodes)
    assert getattr(found, name) == value


def test_settings_that_fit_some_graphs_are_accepted_before_there_are_graphs():
    """Heun's churn is a setting of small graphs only, whose default sampler is Heun's."""
    given = {"sampling": {"churn": 1.0}}
    check_settings(given, on_cpu=True)
    with pytest.raises(SettingsError, match=r"unknown setting 'sampling.churn'"):
        resolve(**given, nodes=100)
    with pytest.raises(SettingsError, match=r"unknown setting 'sampling.step_size'"):
        check_settings({"sampling": {"step_size": 1.0}}, on_cpu=True)


def test_settings_of_large_graphs_can_be_read_before_there_are_graphs():
    """Kinds of noise are a setting of large graphs only, whose default sampler is ancestral."""
    given = {"noise": "posterior"}
    generator = GraphGenerator(sampling=given, device="cpu", show_progress=False)
    assert generator.settings.sampling == AncestralSettings(steps=256, **given)


@pytest.mark.parametrize("name", MODELS)
def test_every_stored_settings_object_has_an_explicit_kind(name):
    """Wherever several settings may stand, the stored ones say which they are."""
    stored = resolve_settings({"model": name}, nodes=8, on_cpu=True).model_dump(mode="json")
    assert stored["model"] == name
    for section in {"network", "sampling"} & stored.keys():
        assert stored[section]["kind"]
        without = {**stored[section]}
        del without["kind"]
        if name == "denoiser":
            with pytest.raises(SettingsError, match=section):
                stored_settings({**stored, section: without})
