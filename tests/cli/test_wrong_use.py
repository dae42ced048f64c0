"""Wrong use ends with code 2, a message that helps, and nothing written."""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request

import networkx as nx
import pytest

FIT = ["train", "graphs.g6", "--out", "new", "--config", "tiny.toml"]
TRAIN = [*FIT, "--steps", "2"]
SAMPLE = ["sample", "run", "--steps-per-level", "1"]
RESUME = ["train", "graphs.g6", "--out", "run", "--resume"]
GIN = ["train", "graphs.g6", "--out", "gin", "--model", "gin", "--steps", "1"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["trian"], ["trian", "Did you mean", "train", "--help"], id="command"),
        pytest.param([*TRAIN, "--stps", "2"], ["--stps", "Did you mean --steps"], id="option"),
        pytest.param(["train", "graphs.g6"], ["--out", "requires"], id="no out"),
        pytest.param(["train", "--out", "new"], ["data", "requires"], id="no data"),
        pytest.param(["evaluate", "graphs.g6"], ["--reference", "requires"], id="no reference"),
        pytest.param([*FIT, "--steps", "many"], ["--steps", "many"], id="no number"),
        *(
            pytest.param(
                [*command, option, "1.5"],
                [option, "expected a whole number, got '1.5'"],
                id=f"half a {command[0]} {option}",
            )
            for command, options in (
                (FIT, ("--steps", "--batch-size", "--seed", "--max-nodes")),
                (SAMPLE[:2], ("-n", "--steps", "--steps-per-level", "--seed")),
                (["demo"], ("--steps", "-n")),
                (["bench", "graphs.g6"], ("-n", "--max-nodes")),
                (["datasets", "export", "tree", "-o", "x.g6"], ("--seed",)),
            )
            for option in options
        ),
        pytest.param([*FIT, "--steps", "0"], ["steps", "0", "greater than"], id="no steps"),
        pytest.param([*TRAIN, "--seed", "-1"], ["seed", "-1", "greater than"], id="seed"),
        pytest.param([*TRAIN, "--learning-rate", "nan"], ["learning_rate", "nan"], id="nan"),
        pytest.param([*TRAIN, "--model", ""], ["unknown model ''", "denoiser"], id="no model"),
        pytest.param([*TRAIN, "--model", "gim"], ["'gim'", "edp-gnn", "gin"], id="model"),
        *(
            pytest.param(
                ["train", "graphs.g6", "--out", "new", "--model", "erdos-renyi", *option],
                [option[0], "'erdos-renyi'", "eave it out"],
                id=f"erdos-renyi {option[0]}",
            )
            for option in (
                ["--steps", "5"],
                ["--batch-size", "5"],
                ["--learning-rate", "1"],
                ["--communities"],
                ["--validation", "graphs.g6"],
                ["--tensorboard"],
            )
        ),
        pytest.param(
            [*TRAIN, "--model", "erdos-renyi"],
            ["tiny.toml", "unknown setting 'network'", "known here: model, seed"],
            id="file of another model",
        ),
        pytest.param([*TRAIN, "--max-seconds", "nan"], ["--max-seconds nan"], id="nan seconds"),
        pytest.param([*TRAIN, "--device", "warp"], ["'warp'", "auto, cpu"], id="device"),
        pytest.param([*TRAIN, "--device", "meta"], ["'meta'", "auto, cpu"], id="device meta"),
        pytest.param([*TRAIN, "--device", "hpu"], ["'hpu'", "auto, cpu"], id="device hpu"),
        pytest.param(
            [*TRAIN, "--max-nodes", "5"],
            ["graphs.g6 line 3", "6 nodes", "at most 5", "--max-nodes 6"],
            id="too large",
        ),
        pytest.param([*TRAIN, "--max-nodes", "0"], ["max-nodes", "0"], id="limit of no nodes"),
        pytest.param([*TRAIN, "--format", "g7"], ["'g7'", "graph6"], id="format"),
        pytest.param(
            [*SAMPLE, "--number", "0"], ["--number 0: ask for 1 to 10000000"], id="number"
        ),
        pytest.param(
            [*SAMPLE, "--nodes", "3", "--number", "1" + "0" * 30],
            ["--number 1000000000000000000000000000000: ask for 1 to"],
            id="many",
        ),
        pytest.param(
            ["demo", "-n", "1" + "0" * 30, "--out", "X"], ["ask for 1 to"], id="many-demo"
        ),
        pytest.param([*SAMPLE, "--nodes", "0"], ["--nodes '0'", "at least 1"], id="nodes"),
        pytest.param([*SAMPLE, "--nodes", "9-5"], ["--nodes '9-5'", "20-30"], id="no range"),
        pytest.param([*SAMPLE, "--nodes", "1.5"], ["--nodes '1.5'", "20-30"], id="half a node"),
        pytest.param(
            [*SAMPLE, "-n", "1", "--nodes", "10000000"],
            ["10000000 nodes", "too many pairs"],
            id="more nodes than fit in any memory",
        ),
        pytest.param(
            ["sample", "run", "--steps", "4"],
            ["--steps is for heun and ancestral", "the sampler is langevin", "--steps-per-level"],
            id="option of another sampler",
        ),
        pytest.param(
            ["sample", "run", "--sampler", "heun"],
            ["the sampler 'heun' needs a network", "or the sampler 'langevin'."],
            id="sampler that the network cannot serve",
        ),
        pytest.param(
            [*SAMPLE, "--out", "x.png", "--format", "graph6", "--picture", "x.png"],
            ["x.png", "the same file"],
            id="graphs and picture in one file",
        ),
        pytest.param(
            [*SAMPLE, "--out", "graphs.g6/x.g6"], ["graphs.g6", "not a folder"], id="no folder"
        ),
        pytest.param(
            [*SAMPLE, "--picture", "graphs.g6/x.png"],
            ["graphs.g6", "not a folder"],
            id="no folder for a picture",
        ),
        pytest.param(
            ["datasets", "export", "ego-small", "-o", "x.g6", "--seed", "3"],
            ["ego-small is a fixed set", "--seed"],
            id="seed of a fixed set",
        ),
        pytest.param(
            [*RESUME, "--steps", "1"],
            ["was trained for", "1 are asked for", "at least as many"],
            id="fewer steps than trained",
        ),
        pytest.param(
            [*SAMPLE, "--step-size", "-1"], ["step_size", "-1", "greater than 0"], id="step size"
        ),
        pytest.param([*SAMPLE, "--threshold", "2"], ["threshold", "less than 1"], id="threshold"),
        pytest.param([*SAMPLE, "--device", "warp"], ["'warp'", "cpu"], id="device for sampling"),
        pytest.param([*SAMPLE, "--out", "x.xyz"], ["x.xyz", ".g6", ".gml"], id="suffix"),
        pytest.param(
            [*SAMPLE, "--picture", "x.jpg"], ["x.jpg", ".png, .pdf, .svg"], id="picture suffix"
        ),
        pytest.param(["sample", "nowhere"], ["nowhere", "no checkpoint", "train"], id="no run"),
        pytest.param(
            ["info", "graphs.g6"],
            ["graphs.g6", "the folder of a model is expected"],
            id="a file as run",
        ),
        pytest.param(
            ["train", "ego-smal", "--out", "new"],
            ["'ego-smal'", "Did you mean 'ego-small'", "lobster"],
            id="dataset",
        ),
        pytest.param(
            ["datasets", "export", "ego_small", "--out", "x.g6"],
            ["'ego_small'", "Did you mean 'ego-small'"],
            id="dataset to export",
        ),
        pytest.param(
            ["evaluate", "graphs.g6", "-r", "ego-small:tset"],
            ["'tset'", "train, val, test"],
            id="split",
        ),
        pytest.param(
            ["datasets", "export", "ego-small", "--split", "tset", "--out", "x.g6"],
            ["'tset'", "train, val, test"],
            id="split to export",
        ),
        pytest.param(
            ["train", "missing.g6", "--out", "new"], ["missing.g6", "no such file"], id="file"
        ),
        pytest.param(
            ["evaluate", "x" * 300, "-r", "ego-small"], ["xxx", "neither a file"], id="long name"
        ),
    ],
)
def test_wrong_arguments(refused, arguments, words):
    refused(arguments, *words)


def test_memory_that_does_not_suffice(refused, monkeypatch):
    """Ten million nodes, if they were not refused before anything is allocated."""
    monkeypatch.setattr("graphscore.models.request.MOST_NODES", 10**9)
    arguments = [*SAMPLE, "-n", "1", "--nodes", "10000000"]
    refused(arguments, "out of memory", "--nodes", "--communities")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        pytest.param("bad.g6", "C~\nD?\x07\n", ["bad.g6 line 2"], id="malformed"),
        pytest.param("bad.g6", "", ["bad.g6", "empty"], id="empty"),
        pytest.param("bad.edges", "0 1\n1 x y z\n", ["bad.edges line 2"], id="edge list"),
        pytest.param("bad.graphml", "<graphml><graph>", ["bad.graphml"], id="cut short"),
        pytest.param("bad.xyz", "0 1\n", ["bad.xyz", ".g6", "--format"], id="unknown suffix"),
    ],
)
@pytest.mark.parametrize("command", [["train", "--out", "new"], ["evaluate", "-r", "ego-small"]])
def test_bad_graph_files(place, refused, command, name, content, words):
    """The file is named, and the line where there are lines."""
    (place / name).write_text(content)
    refused([command[0], name, *command[1:]], *words)


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        (nx.DiGraph([(0, 1), (1, 2)]), ["directed", "--undirected"]),
        (nx.Graph([(0, 1), (1, 1)]), ["self-loop", "node", "--drop-self-loops"]),
        (nx.Graph([(0, 1, {"weight": 0.5})]), ["weight 0.5", "threshold"]),
        (nx.MultiGraph([(0, 1), (0, 1)]), ["parallel edges"]),
    ],
    ids=["directed", "self-loop", "weighted", "parallel"],
)
def test_graphs_that_would_need_a_repair(place, refused, graph, words):
    """Nothing is repaired in silence: the message names the file and the flag."""
    nx.write_gml(graph, place / "odd.gml")
    refused([TRAIN[0], "odd.gml", *TRAIN[2:]], "odd.gml", *words)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param("[training]\nstps = 3", ["'training.stps'", "'steps'"], id="unknown key"),
        pytest.param("[trainig]\nsteps = 3", ["'trainig'", "'training'"], id="unknown section"),
        pytest.param("[training]\nema_decay = 'a'", ["'training.ema_decay'", "'a'"], id="type"),
        pytest.param(
            "model = 'gin'\n[noise]\nsigmas = [0.1, 1]",
            ["'noise.sigmas'", "largest first"],
            id="sigmas",
        ),
        pytest.param("model = ['gin']", ["unknown model ['gin']", "denoiser"], id="model"),
        pytest.param("device = 'cpu'", ["unknown setting 'device'"], id="no setting of a model"),
        *(
            pytest.param(text, [repr(name), "expected a section of settings"], id=text)
            for name, text in (("training", "training = 3"), ("network", "network = 'gin'"))
        ),
        pytest.param("[training\nsteps = 3", ["not valid TOML", "line 1"], id="not TOML"),
    ],
)
def test_bad_configuration_files(place, refused, content, words):
    """The file and the key are named, with the nearest known key."""
    (place / "bad.toml").write_text(content)
    arguments = ["train", "graphs.g6", "--out", "new", "--config", "bad.toml", "--batch-size", "1"]
    refused([*arguments, "--steps", "1"], "bad.toml", *words)


def test_missing_configuration_file(refused):
    arguments = ["train", "graphs.g6", "--out", "new", "--config", "missing.toml"]
    refused(arguments, "missing.toml", "cannot read", "TOML")


def test_a_used_folder_is_not_trained_into(place, refused):
    """Neither a run nor anything else is overwritten."""
    refused(["train", "graphs.g6", "--out", "run"], "run", "already holds a run", "--resume")
    (place / "mine").mkdir()
    (place / "mine/thesis.tex").write_text("mine")
    refused(["train", "graphs.g6", "--out", "mine"], "mine", "not an empty folder", "new folder")
    refused(["train", "graphs.g6", "--out", "graphs.g6"], "graphs.g6", "new folder")
    refused(["train", "graphs.g6", "--out", "graphs.g6/new"], "graphs.g6/new", "cannot be written")
    refused(["demo", "--steps", "1", "--out", "mine"], "mine", "not an empty folder")


def test_resuming_what_cannot_be_resumed(place, refused, call):
    refused(["train", "graphs.g6", "--out", "new", "--resume"], "new", "no checkpoint")
    refused([*RESUME, "--learning-rate", "1"], "run", "learning_rate was 0.002", "is now 1.0")
    refused([*RESUME, "--seed", "1"], "seed was 0 and is now 1", "same ones")
    refused([*RESUME, "--model", "gin"], "model 'edp-gnn' and not 'gin'", "same one")
    refused([*RESUME, "--model", "denoiser"], "model 'edp-gnn' and not 'denoiser'", "same one")
    # A name that stands for fewer settings is another model too.
    assert call(*GIN).code == 0
    refused([*GIN[:4], "--resume", "--model", "edp-gnn"], "model 'gin' and not 'edp-gnn'")
    other = ["train", "ego-small", *RESUME[2:]]
    refused(other, "run", "other graphs", "graphs.g6, 4 graphs", "same ones")


def _cut(path):
    path.write_bytes(path.read_bytes()[:-20])


def _edit_tensors(path):
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(bytes(data))


def _edit_document(path):
    document = json.loads(path.read_text())
    document["step"] = 1
    path.write_text(json.dumps(document))


def _newer(path):
    document = json.loads(path.read_text())
    document["version"] = 99
    path.write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("damage", "pattern", "words"),
    [
        pytest.param(_cut, "*.safetensors", ["truncated", "train again"], id="cut tensors"),
        pytest.param(
            _edit_tensors, "*.safetensors", ["changed after", "copy"], id="edited tensors"
        ),
        pytest.param(
            lambda path: path.unlink(), "*.safetensors", ["No such file", "copy"], id="no tensors"
        ),
        pytest.param(_cut, "checkpoint.json", ["not readable", "copy"], id="cut document"),
        pytest.param(_edit_document, "checkpoint.json", ["changed after", "copy"], id="edited"),
        pytest.param(_newer, "checkpoint.json", ["version 99", "version 2"], id="newer"),
    ],
)
@pytest.mark.parametrize(
    "arguments", [SAMPLE, RESUME, ["info", "run"]], ids=["sample", "resume", "info"]
)
def test_damaged_checkpoints(place, refused, arguments, damage, pattern, words):
    """Damage is noticed before anything is computed from it; the damaged file is named."""
    for older in [
        *(place / "run").glob("checkpoint-*.json"),
        *(place / "run").glob("*-00000000-*"),
    ]:
        older.unlink(missing_ok=True)
    (path,) = (place / "run").glob(pattern)
    damage(path)
    refused(arguments, path.name, *words)


def test_a_saved_model_has_no_training_to_continue(place, refused):
    from graphscore import GraphGenerator

    GraphGenerator.load(place / "run", show_progress=False).save(place / "model")
    arguments = ["train", "graphs.g6", "--out", "model", "--resume", "--steps", "9"]
    refused(arguments, "model", "without its training state")


def test_outputs_in_the_way(place, refused):
    """What exists is only replaced where one file replaces one file."""
    (place / "full.graphml").mkdir()
    (place / "full.graphml/1.graphml").write_text("mine")
    (place / "file.gml").write_text("mine")
    (place / "folder.g6").mkdir()
    refused([*SAMPLE, "--out", "full.graphml"], "full.graphml", "not empty", "new folder")
    refused([*SAMPLE, "--out", "file.gml"], "file.gml", "a file of that name exists")
    refused([*SAMPLE, "--out", "folder.g6"], "folder.g6", "a folder of that name exists")
    export = ["datasets", "export", "ego-small", "--out"]
    refused([*export, "full.graphml"], "full.graphml", "not empty")


def test_a_picture_in_the_way_is_noticed_before_sampling(place, refused):
    """Neither the samples nor the picture are written."""
    (place / "folder.png").mkdir()
    refused([*SAMPLE, "--out", "x.g6", "--picture", "folder.png"], "folder.png")


def test_protein_without_its_files_and_without_network(place, refused, tmp_path, monkeypatch):
    """The message says where the file is looked for, where it comes from and what to do."""

    def offline(*_: object, **__: object) -> None:
        raise urllib.error.URLError("no network")

    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.setenv("GRAPHSCORE_DATA", str(empty))
    monkeypatch.setattr(urllib.request.OpenerDirector, "open", offline)
    words = ("PROTEINS_full_A.txt", "no network", "https://", "GRAPHSCORE_DATA")
    refused(["train", "protein", "--out", "new"], str(empty), *words)
    refused(["datasets", "export", "protein", "--out", "x.g6"], str(empty), *words)
    assert list(empty.iterdir()) == []
    other = tmp_path / "other"
    refused(["train", "protein", "--out", "new", "--data-dir", str(other)], str(other), *words)


def test_tensorboard_that_is_not_installed(place, refused, monkeypatch):
    for name in ("tensorboard", "torch.utils.tensorboard"):
        monkeypatch.setitem(sys.modules, name, None)
    refused([*TRAIN, "--tensorboard"], "'tensorboard'", "pip install 'graphscore[tensorboard]'")


def test_a_refused_training_can_be_corrected_in_place(place, refused, call):
    """A first try that was refused does not occupy the folder."""
    refused([*TRAIN, "--max-nodes", "5"], "--max-nodes 6")
    assert call(*TRAIN, "--max-nodes", "6").code == 0
