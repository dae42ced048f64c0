"""Pretrained models on the command line: sampled, shown, listed, and used by the demo."""

from __future__ import annotations

import json
import os
from pathlib import Path

import networkx as nx
import pytest

from graphscore.artifacts.export import export_model
from graphscore.cli.main import main
from graphscore.generator import GraphGenerator
from graphscore.graphs import read_graphs

from .conftest import EVALUATION


@pytest.fixture
def call(capsys, tmp_path, monkeypatch):
    """Run the program in an empty folder: exit code, output, errors."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def run(*arguments):
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        return stopped.value.code, shown.out, shown.err

    return run


@pytest.fixture
def exported(trained, models):
    return export_model(trained, "tiny", metrics={"samples": EVALUATION})


def tree(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_sampling_writes_beside_the_user_and_not_into_the_package(exported, call):
    before = tree(exported)
    code, out, err = call("sample", "tiny", "-n", 3, "--seed", 0)
    assert code == 0, err
    assert "3 graphs written to tiny-samples.g6" in out
    assert len(read_graphs("tiny-samples.g6")) == 3
    assert call("sample", "tiny", "-n", 3, "--seed", 0, "-o", "mine.g6")[0] == 0
    assert Path("mine.g6").read_bytes() == Path("tiny-samples.g6").read_bytes()
    assert tree(exported) == before
    assert json.loads(call("sample", "tiny", "-n", 1, "--json")[1])["model"] == "tiny"


def test_a_path_that_exists_is_a_path(exported, trained, call):
    """A run of the same name is taken; a folder without a model is refused, with the way out."""
    Path("tiny").mkdir()
    for command in ("sample", "info"):
        code, out, err = call(command, "tiny")
        assert (code, out) == (2, "")
        assert "no checkpoint here" in err
        assert str(exported) in err
    assert call("sample", exported, "-n", 1, "-o", "x.g6")[0] == 0
    for file in trained.iterdir():
        (Path("tiny") / file.name).write_bytes(file.read_bytes())
    assert "written to tiny/samples.g6" in call("sample", "tiny", "-n", 1)[1]
    assert json.loads(call("info", "tiny", "--json")[1])["files"]


def test_names_that_mean_nothing(exported, call):
    code, out, err = call("sample", "tinny")
    assert (code, out) == (2, "")
    for words in ("tinny", "no checkpoint", "Did you mean 'tiny'", "train --out"):
        assert words in err
    assert list(Path().iterdir()) == []


def test_info_shows_the_card(exported, call):
    code, out, err = call("info", "tiny")
    assert code == 0, err
    flat = " ".join(out.split())
    for words in ("tiny (comes with graphscore)", "ego-small, 3 graphs of 4 to 6", "2 steps"):
        assert words in flat
    assert "0.0300" in out
    record = json.loads(call("info", "tiny", "--json")[1])
    assert (record["pretrained"], record["metrics"]) == (True, {"samples": EVALUATION})


def test_info_lists_pretrained_models(exported, trained, call):
    export_model(trained, "another")
    out = call("info")[1]
    assert "tiny" in out
    assert "another" in out
    assert list(json.loads(call("info", "--json")[1])) == ["another", "tiny"]


def test_info_does_not_believe_a_card_beside_a_damaged_model(exported, call):
    (exported / "checkpoint.json").write_text("{}")
    code, out, err = call("info", "tiny")
    assert (code, out) == (2, "")
    assert "checkpoint" in err


def test_info_does_not_believe_a_card_of_another_model(exported, call):
    """Saving over a model leaves the card that was there."""
    generator = GraphGenerator("erdos-renyi", device="cpu", show_progress=False)
    generator.fit([nx.path_graph(4)]).save(exported)
    code, out, _ = call("info", exported, "--json")
    assert (code, json.loads(out)["model"]) == (0, "erdos-renyi")


def test_the_demo_shows_the_pretrained_model_too(trained, models, call):
    """With a short chain, whatever the model's own settings are."""
    export_model(trained, "community-small", sampling={"steps_per_level": 10**5})
    arguments = ("demo", "--steps", 1, "-n", 3, "--out", "X", "--device", "cpu")
    code, out, err = call(*arguments)
    assert code == 0, err
    assert "pretrained" in out
    metrics = json.loads(Path("X/metrics.json").read_text())["metrics"]
    assert list(metrics) == ["samples", "pretrained", "training set"]
    assert metrics["pretrained"]["sample_count"] == metrics["samples"]["sample_count"] == 3
    assert metrics["pretrained"]["degree"] != metrics["samples"]["degree"]
    found = read_graphs("X/pretrained.g6")
    assert {len(graph) for graph in found} <= {4, 5, 6}  # the sizes it was trained on
    assert len(found) == 3


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_model_is_a_folder(call):
    """What is no folder is named as such, before anything is said of what is to be written."""
    Path("g.g6").write_bytes(b"Bw\n")
    os.mkfifo("pipe")
    for name, what in {"g.g6": "a file", "pipe": "a named pipe"}.items():
        for command in ("info", "sample"):
            code, _, err = call(command, name)
            assert code == 2
            assert f"{name}: is {what}, but the folder of a model is expected" in err
