"""From a run to a model of the package: small, complete, and as good as the run."""

from __future__ import annotations

import json
import runpy
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from graphscore.artifacts import (
    export,
    list_pretrained,
    pretrained_folder,
    read_card,
    read_checkpoint,
)
from graphscore.artifacts.artifact import Artifact
from graphscore.artifacts.export import evaluations, export_model
from graphscore.datasets import load_dataset
from graphscore.errors import CheckpointError, GraphscoreError, OutputError, SettingsError
from graphscore.generator import GraphGenerator

from .conftest import EVALUATION

SCRIPT = Path(__file__).parents[2] / "scripts" / "export_model.py"


def edges(graphs):
    return [(len(graph), sorted(map(sorted, graph.edges))) for graph in graphs]


def test_an_exported_model_samples_what_its_run_samples(trained, models):
    assert export_model(trained, "tiny") == models / "tiny"
    assert list_pretrained() == ["tiny"]
    exported = GraphGenerator.from_pretrained("tiny", device="cpu", show_progress=False)
    run = GraphGenerator.load(trained, device="cpu", show_progress=False)
    assert exported.step == run.step == 2
    assert edges(exported.sample(5, seed=1)) == edges(run.sample(5, seed=1))


def test_half_precision_takes_half_and_is_read_as_single(trained, models):
    whole, half = export_model(trained, "whole"), export_model(trained, "half", half=True)
    _, single = read_checkpoint(whole)
    document, tensors = read_checkpoint(half)
    assert document.tensors.bytes < 0.75 * read_checkpoint(whole)[0].tensors.bytes
    for name, tensor in tensors.items():
        assert tensor.dtype == torch.float32
        assert torch.equal(tensor, single[name].half().float())
    GraphGenerator.from_pretrained("half", device="cpu", show_progress=False).sample(2, seed=1)


def test_molecules_have_columns_of_their_own(trained, models):
    shares = {name: {"share": 0.99968} for name in ("valid", "connected", "unique", "novel")}
    found = evaluations({"fcd": 0.07854, "nspdk": 0.000191, "sample_count": 8, **shares})
    card = read_card(export_model(trained, "tiny", metrics=found))
    columns = {head: rest for head, *rest in card.metric_columns()}
    assert columns == {
        "": ["samples"],
        "graphs": ["8"],
        "FCD": ["0.0785"],
        "NSPDK": ["0.00019"],
        **{name: ["99.97%"] for name in ("unique", "novel", "valid", "connected")},
    }
    assert "test molecules" in card.to_markdown()


def test_the_training_state_stays_behind(trained, models):
    """Only averaged weights travel, and nothing but the four files."""
    _, before = read_checkpoint(trained)
    folder = export_model(trained, "tiny")
    document, tensors = read_checkpoint(folder)
    assert set(tensors) == {name for name in before if name.startswith("average.")}
    assert any(name.startswith("optimiser.") for name in before)
    weights = document.tensors.file
    assert {path.name for path in folder.iterdir()} == {
        "README.md", "card.json", "checkpoint.json", weights,
    }  # fmt: skip


def test_the_card_says_where_the_model_comes_from(trained, models):
    folder = export_model(
        trained, "tiny", metrics={"samples": EVALUATION}, provenance={"commit": "abc"}, note="Hm."
    )
    document, _ = read_checkpoint(folder)
    card = read_card(folder)
    assert card is not None
    assert (card.name, card.steps, card.note) == ("tiny", 2, "Hm.")
    assert card.seconds == document.seconds > 0
    assert card.settings == document.settings
    assert card.weights == document.tensors.model_dump()
    network = GraphGenerator.load(folder, device="cpu").network
    assert card.parameters == sum(parameter.numel() for parameter in network.parameters())
    assert card.data["nodes"] == [4, 6]
    assert card.data["sha256"] == document.training_graphs.sha256
    assert card.data["licence"] == load_dataset("ego-small").info.licence
    assert card.provenance["commit"] == "abc"
    assert card.provenance["torch"] == document.made_with.torch
    assert card.metrics == {"samples": EVALUATION}
    page = (folder / "README.md").read_text()
    assert page == card.to_markdown()
    for words in ("| samples | 64 | 0.0100 | 0.0200 | 0.0300 | 0.0200 | 100% | 50% |", "2 steps"):
        assert words in page


def test_sampling_settings_are_those_chosen_for_it(trained, models):
    export_model(trained, "tiny", sampling={"step_size": 1e-4})
    settings = GraphGenerator.from_pretrained("tiny", device="cpu").settings
    assert (settings.sampling.step_size, settings.sampling.steps_per_level) == (1e-4, 1)
    assert settings.seed == 3
    with pytest.raises(SettingsError, match="step_sise"):
        export_model(trained, "other", sampling={"step_sise": 1})


def test_what_should_not_be_exported_is_refused(trained, models, tmp_path, monkeypatch):
    """Too large, unfinished, in the way, not there: nothing is written."""
    with pytest.raises(CheckpointError, match="no checkpoint here"):
        export_model(tmp_path / "nowhere", "tiny")
    half = Artifact.read(trained)
    training = half.model.settings.training.replaced(steps=9)
    half.model.settings = half.model.settings.replaced(training=training.model_dump())
    half.write(tmp_path / "half", torch.device("cpu"))
    with pytest.raises(CheckpointError, match="2 of 9 steps"):
        export_model(tmp_path / "half", "tiny")
    with monkeypatch.context() as patch:
        patch.setattr(export, "MAX_BYTES", 1000)
        with pytest.raises(OutputError, match="MB, but what comes with the package"):
            export_model(trained, "tiny")
    assert list_pretrained() == []
    export_model(trained, "tiny", note="first")
    with pytest.raises(OutputError, match="already"):
        export_model(trained, "tiny", note="second")
    assert read_card(models / "tiny").note == "first"
    export_model(trained, "tiny", note="second", replace=True)
    assert read_card(models / "tiny").note == "second"


@pytest.mark.parametrize(
    "record",
    [{"samples": EVALUATION, "seed": 1}, {"metrics": {"samples": EVALUATION}, "settings": {}}],
    ids=["evaluate", "demo"],
)
def test_evaluations_are_found_in_records(record):
    assert evaluations(record) == {"samples": EVALUATION}


@pytest.mark.parametrize("record", [{}, [], {"samples": {"degree": 1}}, {"metrics": {}}])
def test_records_without_evaluations_are_refused(record):
    with pytest.raises(GraphscoreError, match="no evaluations"):
        evaluations(record)


def test_the_script_exports_and_explains_itself(trained, tmp_path, capsys):
    file = tmp_path / "results.json"
    file.write_text(
        json.dumps({"provenance": {"device": "abacus"}, "results": [{"floor": EVALUATION}]})
    )
    main = runpy.run_path(str(SCRIPT))["main"]
    tokens = [str(trained), "tiny", "--metrics", str(file), "--models", str(tmp_path / "models")]
    with pytest.raises(SystemExit, match=r"--at results\.1: nothing at '1'"):
        main([*tokens, "--at", "results.1"])
    main([*tokens, "--at", "results.0", "--sampling", '{"noise_scale": 0.9}'])
    assert "models/tiny: 0.0" in capsys.readouterr().out
    card = read_card(tmp_path / "models" / "tiny")
    assert list(card.metrics) == ["floor"]
    assert card.provenance["metrics_device"] == "abacus"
    assert card.settings["sampling"]["noise_scale"] == 0.9


def test_the_script_takes_a_part_of_an_experiment(trained, tmp_path):
    """Metrics, chosen sampling settings and provenance from the one file."""
    part = {"sampling": {"step_size": 0.5}, "many": EVALUATION, "few": [EVALUATION], "seed": 0}
    file = tmp_path / "part.json"
    made = {"device": "abacus"}
    file.write_text(json.dumps({"key": "x", "result": {**part, "provenance": made}}))
    main = runpy.run_path(str(SCRIPT))["main"]
    main([str(trained), "tiny", "--metrics", str(file), "--models", str(tmp_path / "models")])
    card = read_card(tmp_path / "models" / "tiny")
    assert list(card.metrics) == ["samples"]
    assert card.settings["sampling"]["step_size"] == 0.5
    assert card.provenance["metrics_device"] == "abacus"
    model = GraphGenerator.load(tmp_path / "models" / "tiny", device="cpu", show_progress=False)
    assert model.settings.sampling.step_size == 0.5


# ------------------------------------------------------------------ names


def test_unknown_names_say_what_there_is(trained, models):
    with pytest.raises(CheckpointError, match=r"no model 'x' comes with graphscore\. This inst"):
        GraphGenerator.from_pretrained("x")
    export_model(trained, "ego-small")
    export_model(trained, "lobster")
    with pytest.raises(CheckpointError, match=r"Did you mean 'ego-small'.*ego-small, lobster"):
        pretrained_folder("Ego_small")


def test_a_damaged_card_is_named(trained, models):
    folder = export_model(trained, "tiny")
    (folder / "card.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"card\.json: not a model card"):
        read_card(folder)


# ------------------------------------------------------------------ the package's own


@pytest.mark.parametrize("name", list_pretrained())
def test_models_of_the_package_work_and_have_true_cards(name):
    folder = pretrained_folder(name)
    assert sum(path.stat().st_size for path in folder.iterdir()) <= export.MAX_BYTES
    document, tensors = read_checkpoint(folder)
    assert all(tensor_name.startswith("average.") for tensor_name in tensors)
    card = read_card(folder)
    assert card is not None
    assert (card.name, card.steps) == (name, document.step)
    assert (card.weights, card.settings) == (document.tensors.model_dump(), document.settings)
    assert card.metrics
    assert (folder / "README.md").read_text() == card.to_markdown()
    generator = GraphGenerator.from_pretrained(name, device="cpu", show_progress=False)
    assert card.parameters == sum(p.numel() for p in generator.network.parameters())
    low, high = card.data["nodes"]
    langevin = generator.settings.sampling.kind == "langevin"
    (graph,) = generator.sample(1, sampling={"steps_per_level": 1} if langevin else {"steps": 2})
    assert low <= len(graph) <= high


def test_a_card_shows_what_was_measured_and_no_empty_column():
    numbers = {"degree": 0.25, "clustering": -1e-9, "orbit": 0.5, "average": 0.3}
    sampled = {**numbers, "spectrum": 0.45, "sample_count": 8, "kernel": "gaussian-tv (sigma 1)"}
    found = export.evaluations(
        {"mmd": sampled, "ratio": numbers, "vun": {"valid": 0.9922, "vun": 0.5}}
    )
    assert list(found) == ["samples"]
    card = read_card(pretrained_folder("tree"))
    columns = {head: rest for head, *rest in replace(card, metrics=found).metric_columns()}
    assert list(columns)[1:6] == ["graphs", "degree", "clustering", "orbit", "spectrum"]
    assert columns["clustering"] == ["0.0000"]
    assert (columns["valid"], columns["V.U.N."]) == (["99.2%"], ["50%"])
    assert "novel" not in columns
    assert "MMD (gaussian-tv)" in replace(card, metrics=found).to_markdown()


def test_a_model_stays_where_its_replacement_cannot_be_written(trained, models, monkeypatch):
    folder = export_model(trained, "tiny", note="first")

    def full(path, files):
        raise OutputError("no space left")

    monkeypatch.setattr("graphscore.artifacts.export.write_folder", full)
    with pytest.raises(OutputError, match="no space left"):
        export_model(trained, "tiny", note="second", replace=True)
    card = read_card(folder)
    assert card is not None
    assert card.note == "first"


def test_weights_beyond_half_precision_are_refused(trained, models, monkeypatch):
    document, tensors = read_checkpoint(trained)
    large = {name: tensor * 0 + 1e6 for name, tensor in tensors.items()}
    monkeypatch.setattr(export, "read_checkpoint", lambda run: (document, large))
    with pytest.raises(OutputError, match="half precision cannot hold"):
        export_model(trained, "tiny", half=True)
    assert not (models / "tiny").exists()
