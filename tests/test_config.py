"""Settings of a run: files, merging, and what may change when a run is continued."""

from __future__ import annotations

import json
import os

import pytest

from graphscore.config import changed_settings, merge, read_config
from graphscore.errors import SettingsError
from graphscore.models import MODELS, resolve_settings, stored_settings


def resolve(**given):
    return resolve_settings(given, nodes=12, on_cpu=True)


@pytest.mark.parametrize("name", MODELS)
def test_settings_survive_json(name):
    """What a checkpoint stores is what a run used."""
    settings = resolve(model=name, seed=3)
    assert stored_settings(json.loads(json.dumps(settings.model_dump(mode="json")))) == settings


def test_settings_are_frozen():
    with pytest.raises(ValueError, match="frozen"):
        resolve().seed = 1


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"sed": 1}, "unknown setting 'sed'; did you mean 'seed'"),
        ({"training": {"stps": 1}}, "unknown setting 'training.stps'; did you mean 'steps'"),
        ({"network": {"zzz": 1}}, "'network.zzz'; known here: kind, blocks"),
        ({"network": {"kind": "gnn"}}, "'network': unknown kind 'gnn'. Use 'edp-gnn', 'denoiser'"),
        ({"training": 3}, "'training' = 3"),
        ({"training": {"steps": "many"}}, "'training.steps' = 'many'.*integer"),
        ({"training": {"learning_rate": float("nan")}}, "'training.learning_rate' = nan"),
        ({"model": "gin", "noise": {"sigmas": [0.1, 1]}}, "'noise.sigmas'.*largest first"),
        ({"noise": {"sigma_min": 2, "sigma_max": 1}}, "sigma_min"),
    ],
)
def test_wrong_settings_name_section_and_key(values, words):
    with pytest.raises(SettingsError, match=words):
        resolve(**values)


def test_all_mistakes_are_listed_at_once():
    with pytest.raises(SettingsError) as caught:
        resolve(seed=-1, trainig={})
    assert "'seed'" in str(caught.value)
    assert "'trainig'" in str(caught.value)


def test_files_are_toml(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text("seed = 2\n[noise]\nsigmas = [1.0, 0.5]\n")
    assert read_config(path) == {"seed": 2, "noise": {"sigmas": [1.0, 0.5]}}


@pytest.mark.parametrize("content", [b"[training", b"\xff\xfe"])
def test_what_is_not_toml_is_refused(tmp_path, content):
    path = tmp_path / "run.toml"
    path.write_bytes(content)
    with pytest.raises(SettingsError, match=r"run.toml: not valid TOML"):
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


@pytest.mark.parametrize(
    ("over", "expected"),
    [
        ({"steps": 2}, {"kind": "heun", "steps": 2, "churn": 1}),
        ({"kind": "heun", "steps": 2}, {"kind": "heun", "steps": 2, "churn": 1}),
        ({"kind": "ancestral"}, {"kind": "ancestral"}),
    ],
)
def test_a_section_of_another_kind_is_replaced_as_a_whole(over, expected):
    below = {"sampling": {"kind": "heun", "steps": 1, "churn": 1}}
    assert merge(below, {"sampling": over}) == {"sampling": expected}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"training": {"steps": 9, "log_every": 2}}, []),
        ({"sampling": {"kind": "langevin"}}, []),
        ({"seed": 1}, ["seed was 0 and is now 1"]),
        ({"network": {"blocks": 2}}, ["network.blocks was 4 and is now 2"]),
        ({"objective": {"loss": "squared"}}, ["objective.loss was 'cross-entropy' and is now"]),
        ({"noise": {"sigma_max": 3}}, ["noise.sigma_max was 4.0 and is now 3.0"]),
    ],
)
def test_what_may_not_change_when_a_run_is_continued(changes, expected):
    found = changed_settings(resolve(), resolve(**changes))
    assert len(found) == len(expected)
    assert all(text.startswith(start) for text, start in zip(found, expected))


def test_another_model_is_a_change():
    assert changed_settings(resolve(), resolve(model="erdos-renyi"))
    assert changed_settings(resolve(model="erdos-renyi"), resolve())
    assert changed_settings(resolve(model="edp-gnn"), resolve(model="gin"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a = " + "[" * 30_000 + "]" * 30_000, "nested deeper than the 10 levels"),
        ("a = " + "[" * 50 + "]" * 50, "nested deeper than the 10 levels"),
        (".".join("a" * 30_000) + " = 1", "nested deeper than the 10 levels"),
        ("a = 1\n" + "#" * 2**16, "larger than the 65536 bytes"),
        ("a = " + "9" * 5000, "not valid TOML"),
    ],
    ids=["lists", "some lists", "tables", "large", "number"],
)
def test_files_that_are_no_settings_are_refused_before_they_cost_anything(tmp_path, text, words):
    path = tmp_path / "settings.toml"
    path.write_text(text)
    with pytest.raises(SettingsError, match=words) as caught:
        read_config(path)
    assert str(path) in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_settings_come_from_regular_files(tmp_path):
    """A pipe would block, a device may never end, and some names no file can have."""
    os.mkfifo(tmp_path / "pipe")
    names = ("pipe", "", "absent", "a\0b", "a\ud800b", "a" * 5000)
    for path in (tmp_path / name for name in names):
        with pytest.raises(SettingsError, match="Give the path of a TOML file"):
            read_config(path)


def test_a_number_that_cannot_be_quoted_is_refused(tmp_path):
    """Python reads hexadecimal numbers of any length, but writes none of thousands of digits."""
    (tmp_path / "x.toml").write_text("[training]\nsteps = 0x" + "f" * 6000 + "\n")
    with pytest.raises(SettingsError, match=r"training.steps.*thousands of digits"):
        resolve_settings(read_config(tmp_path / "x.toml"), nodes=9, on_cpu=True)
