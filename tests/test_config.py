"""The settings of a run: files, names, and merging."""

from __future__ import annotations

import json

import pytest
import torch

from graphscore.assembly import make_network
from graphscore.config import NETWORKS, RunSettings, merge, named_network, read_config
from graphscore.errors import SettingsError


@pytest.mark.parametrize("name", NETWORKS)
def test_settings_survive_json(name):
    """What a checkpoint stores is what a run used."""
    settings = RunSettings(seed=3, network=named_network(name), noise={"sigmas": [1, 0.3]})
    stored = json.loads(json.dumps(settings.model_dump(mode="json")))
    assert RunSettings(**stored) == settings


@pytest.mark.parametrize("name", NETWORKS)
def test_named_networks_can_be_built(name):
    settings = RunSettings(network=named_network(name))
    network = make_network(settings, density=0.3, generator=torch.Generator().manual_seed(0))
    assert sum(p.numel() for p in network.parameters()) > 0


@pytest.mark.parametrize(
    ("network", "kind"),
    [
        ("denoiser", "denoiser"),
        ("gin", "edp-gnn"),
        ({"blocks": 2}, "denoiser"),
        ({"features": 2}, "edp-gnn"),
        ({}, "edp-gnn"),
    ],
)
def test_a_network_is_known_by_its_name_or_by_its_settings(network, kind):
    settings = RunSettings(network=network)
    assert settings.network.kind == kind
    assert (settings.denoising is not None) == (kind == "denoiser")


def test_an_unknown_network_is_refused_with_the_known_ones():
    with pytest.raises(SettingsError, match=r"'gim'.*edp-gnn.*gin"):
        named_network("gim")


def test_settings_are_frozen():
    with pytest.raises(ValueError, match="frozen"):
        RunSettings().seed = 1


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"sed": 1}, "unknown setting 'sed'; did you mean 'seed'"),
        ({"training": {"stps": 1}}, "unknown setting 'training.stps'; did you mean 'steps'"),
        ({"network": {"zzz": 1}}, "'network.zzz'; known here: kind, channels"),
        ({"training": 3}, "'training' = 3"),
        ({"training": {"steps": "many"}}, "'training.steps' = 'many'.*integer"),
        ({"training": {"learning_rate": float("nan")}}, "'training.learning_rate' = nan"),
        ({"noise": {"sigmas": [0.1, 1]}}, "'noise.sigmas'.*largest first"),
    ],
)
def test_wrong_settings_name_section_and_key(values, words):
    with pytest.raises(SettingsError, match=words):
        RunSettings(**values)


def test_all_mistakes_are_listed_at_once():
    with pytest.raises(SettingsError) as caught:
        RunSettings(seed=-1, trainig={})
    assert "'seed'" in str(caught.value)
    assert "'trainig'" in str(caught.value)


def test_files_are_toml(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text("seed = 2\n[noise]\nsigmas = [1.0, 0.5]\n")
    assert read_config(path) == {"seed": 2, "noise": {"sigmas": [1.0, 0.5]}}


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"[training", "not valid TOML"), (b"\xff\xfe", "not valid TOML")],
)
def test_what_is_not_toml_is_refused(tmp_path, content, words):
    path = tmp_path / "run.toml"
    path.write_bytes(content)
    with pytest.raises(SettingsError, match=f"run.toml: {words}"):
        read_config(path)


def test_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(SettingsError, match=r"missing.toml: cannot read .*No such file.*TOML"):
        read_config(tmp_path / "missing.toml")
    with pytest.raises(SettingsError, match="cannot read"):
        read_config(tmp_path)


def test_merging_changes_neither_side():
    base, over = {"a": {"x": 1, "y": 2}, "b": 3}, {"a": {"y": 4}, "c": {"z": 5}}
    assert merge(base, over) == {"a": {"x": 1, "y": 4}, "b": 3, "c": {"z": 5}}
    assert base == {"a": {"x": 1, "y": 2}, "b": 3}
    assert over == {"a": {"y": 4}, "c": {"z": 5}}
