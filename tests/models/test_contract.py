"""What every model of the registry promises, in Python and on the command line."""

from __future__ import annotations

import json

import networkx as nx
import pytest
import torch

from graphscore import GraphGenerator, read_graphs, write_graphs
from graphscore.artifacts import read_checkpoint, read_document
from graphscore.cli.main import main
from graphscore.config import merge
from graphscore.errors import CheckpointError, OutputError, SettingsError
from graphscore.models import MODELS, stored_settings

from .conftest import TINY

SECTIONS = {"attributes", "network", "noise", "objective", "training", "sampling", "guide"}
every_model = pytest.mark.parametrize("name", MODELS)


def make(name, **changes):
    return GraphGenerator(
        name, **merge(TINY[name], changes), device="cpu", show_progress=False, accelerate="off"
    )


def load(folder):
    return GraphGenerator.load(folder, device="cpu", show_progress=False)


def edges(graphs):
    return [(len(graph), sorted(map(sorted, graph.edges))) for graph in graphs]


def stops_after(steps):
    """A question whether to stop, answered with yes after so many steps."""
    asked = iter([False] * steps)
    return lambda: next(asked, True)


@pytest.fixture
def call(capsys, tmp_path, monkeypatch):
    """Run the program in a folder of its own; returns what it printed as JSON."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in (*arguments, "--json")])
        shown = capsys.readouterr()
        assert stopped.value.code == 0, shown.err
        return json.loads(shown.out)

    return run


def as_toml(settings):
    """Return nested dictionaries of numbers, texts and lists as TOML."""
    sections = [
        f"[{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())
        for name, values in settings.items()
    ]
    return "\n".join(sections)


# ------------------------------------------------------------------ Python


@every_model
def test_a_model_is_trained_sampled_saved_loaded_and_evaluated(name, graphs, tmp_path):
    generator = make(name).fit(graphs)
    assert generator.step == generator.settings.steps
    generator.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.settings == generator.settings
    assert (loaded.sizes, loaded.step) == (generator.sizes, generator.step)
    expected = edges(generator.sample(6, seed=3))
    assert edges(generator.sample(6, seed=3)) == edges(loaded.sample(6, seed=3)) == expected
    assert edges(loaded.sample(6, seed=4)) != expected
    assert edges(loaded.sample(6)) == edges(generator.sample(6))
    for graph in loaded.sample(6):
        assert type(graph) is nx.Graph
        assert list(graph) == list(range(len(graph)))
        assert nx.number_of_selfloops(graph) == 0
        assert len(graph) in loaded.sizes.counts
    assert [len(graph) for graph in loaded.sample(3, sizes=[7, 1, 2])] == [7, 1, 2]
    assert loaded.evaluate(graphs, seed=1).distances == generator.evaluate(graphs, seed=1).distances


@every_model
def test_the_global_random_state_is_untouched(name, graphs):
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = edges(make(name).fit(graphs).sample(4, seed=1))
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    assert edges(make(name).fit(graphs).sample(4, seed=1)) == first


@every_model
def test_a_stopped_run_is_resumed_as_if_it_never_stopped(name, graphs, tmp_path):
    whole, part = tmp_path / "whole", tmp_path / "part"
    make(name).fit(graphs, run=whole)
    make(name).fit(graphs, run=part, should_stop=stops_after(1))
    resumed = make(name).fit(graphs, run=part, resume=True)
    assert resumed.step == resumed.settings.steps
    (one, expected), (other, tensors) = read_checkpoint(whole), read_checkpoint(part)
    assert tensors.keys() == expected.keys()
    assert all(torch.equal(tensors[key], expected[key]) for key in expected)
    assert (other.settings, other.learned, other.sizes) == (one.settings, one.learned, one.sizes)
    assert edges(load(part).sample(4, seed=1)) == edges(load(whole).sample(4, seed=1))


@every_model
def test_a_run_is_neither_overwritten_nor_continued_with_something_else(name, graphs, tmp_path):
    make(name).fit(graphs, run=tmp_path / "run")
    with pytest.raises(OutputError, match="already holds a run"):
        make(name).fit(graphs, run=tmp_path / "run")
    with pytest.raises(OutputError, match="folder of a run"):
        make(name).fit(graphs).save(tmp_path / "run")
    with pytest.raises(CheckpointError, match="seed was 0 and is now 1"):
        make(name, seed=1).fit(graphs, run=tmp_path / "run", resume=True)
    with pytest.raises(CheckpointError, match="other graphs"):
        make(name).fit(graphs[::-1], run=tmp_path / "run", resume=True)
    other = next(one for one in MODELS if MODELS[one].model is not MODELS[name].model)
    with pytest.raises(CheckpointError, match=r"model was '.*' and is now '.*'"):
        make(other).fit(graphs, run=tmp_path / "run", resume=True)


# ------------------------------------------------------------------ settings


@every_model
def test_settings_without_meaning_for_a_model_are_refused(name):
    fields = set(MODELS[name].model.Settings.model_fields)
    assert fields - {"model", "seed"} <= SECTIONS
    for section in SECTIONS - fields:
        with pytest.raises(SettingsError, match=f"unknown setting '{section}'"):
            make(name, **{section: {}})
        with pytest.raises(SettingsError, match=f"unknown setting '{section}'"):
            stored_settings({**make(name).settings.model_dump(mode="json"), section: {}})


@every_model
def test_stored_settings_are_complete_and_have_kinds(name, graphs, tmp_path):
    """What a later version changes in its defaults does not change a stored model."""
    make(name).fit(graphs).save(tmp_path / "model")
    stored = read_document(tmp_path / "model").settings
    model = MODELS[stored["model"]].model
    assert stored.keys() == model.Settings.model_fields.keys()
    assert stored == stored_settings(stored).model_dump(mode="json")
    for section in {"network", "sampling"} & stored.keys():
        assert stored[section]["kind"]


# ------------------------------------------------------------------ command line


@every_model
def test_a_model_goes_through_all_commands(name, graphs, call, tmp_path):
    write_graphs("graphs.g6", graphs)
    (tmp_path / "tiny.toml").write_text(as_toml(TINY[name]))
    train = ("train", "graphs.g6", "--out", "run", "--model", name, "--config", "tiny.toml")
    stopped = call(*train, "--max-seconds", 0)
    record = call(*train, "--resume")
    expected = make(name).fit(graphs)
    assert stopped["settings"] == record["settings"] == expected.settings.model_dump(mode="json")
    assert record["model"] == expected.settings.model
    assert (record["step"], record["finished"]) == (expected.step, True)
    assert (record["graphs"], record["nodes"]) == (4, [4, 6])
    del record["verdict"], record["history"]  # of this process
    assert call("info", "run") == record
    sampled = call("sample", "run", "-n", 5, "--seed", 3, "--out", "new.g6", "--device", "cpu")
    assert (sampled["graphs"], sampled["seed"]) == (5, 3)
    assert edges(read_graphs("new.g6")) == edges(expected.sample(5, seed=3))
    evaluated = call("evaluate", "new.g6", "-r", "graphs.g6", "--training", "graphs.g6")
    assert evaluated["samples"]["sample_count"] == 5
    assert evaluated["training set"]["average"] == pytest.approx(0, abs=1e-9)


@every_model
def test_results_are_readable_without_json(name, graphs, tmp_path, capsys):
    make(name).fit(graphs, run=tmp_path / "run", source="my graphs")
    with pytest.raises(SystemExit) as stopped:
        main(["info", str(tmp_path / "run")])
    shown = capsys.readouterr()
    assert stopped.value.code == 0, shown.err
    assert "my graphs, 4 graphs" in shown.out
    assert make(name).settings.model in shown.out
