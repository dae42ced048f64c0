"""Checkpoints of version 1: refused with a sentence, and converted by a script."""

from __future__ import annotations

import hashlib
import json
import runpy
from pathlib import Path

import networkx as nx
import pytest
import torch
from safetensors.torch import save

from graphscore import GraphGenerator
from graphscore.artifacts.artifact import Artifact
from graphscore.cli.main import main as graphscore
from graphscore.errors import CheckpointError

SCRIPT = Path(__file__).parents[2] / "scripts" / "convert_v1.py"
EDP = {"kind": "edp-gnn", "channels": [2], "message_steps": 1, "features": 4, "edge_width": 4}
DENOISER = {"kind": "denoiser", "blocks": 1, "pair_width": 8, "node_width": 4, "product_width": 2}
TRAINING = {"steps": 2, "batch_size": 2, "log_every": 1}
GRAPHS = [
    nx.path_graph(5),
    nx.disjoint_union(nx.complete_graph(8), nx.complete_graph(7)),
    nx.disjoint_union(nx.complete_graph(9), nx.complete_graph(6)),
]


def make(model="denoiser", **settings):
    settings = {"training": TRAINING, **settings}
    generator = GraphGenerator(model, seed=1, device="cpu", show_progress=False, **settings)
    return generator.fit(GRAPHS)


HEUN, ANCESTRAL = {"kind": "heun", "steps": 4}, {"kind": "ancestral", "steps": 4}
MODELS = {
    "edp-gnn": lambda: make("edp-gnn", network=EDP, sampling={"steps_per_level": 2}),
    "denoiser": lambda: make(network=DENOISER, sampling=HEUN),
    "denoiser by langevin dynamics": lambda: make(
        network=DENOISER, sampling={"kind": "langevin", "steps_per_level": 2, "sigmas": [2.0, 0.5]}
    ),
    "without analytic skip": lambda: make(
        network={**DENOISER, "analytic_skip": False}, sampling={**ANCESTRAL, "noise": "posterior"}
    ),
    "communities": lambda: make(network={**DENOISER, "communities": True}, sampling=ANCESTRAL),
    "edp-gnn that denoises": lambda: make(
        network=EDP, sampling=HEUN, objective={"loss": "squared"}, noise={"sigma_max": 3.0}
    ),
    "guided": lambda: make(network=DENOISER, sampling=HEUN).guided_by(
        make(network={**DENOISER, "pair_width": 4}), weight=2.0, sigma_max=1.0
    ),
    "guided by an EDP-GNN": lambda: make(network=DENOISER, sampling=HEUN).guided_by(
        make(network=EDP), weight=0.5
    ),
}


def network_v1(new):
    old = dict(new)
    if "analytic_skip" in old:
        old["closed_form"] = old.pop("analytic_skip")
    return old


def settings_v1(new):
    """The same settings as version 1 had them."""
    sampling = dict(new["sampling"])
    kind = sampling.pop("kind")
    sigmas = sampling.pop("sigmas", None)
    if kind == "ancestral":
        kind = "renoising"
        sampling["noise"] = {"independent": "fresh", "posterior": "bridge"}[sampling["noise"]]
    old = {
        "seed": new["seed"],
        # Levels outside of a denoiser's range were left out when it was sampled.
        "noise": {"sigmas": [*sigmas, 0.1] if sigmas else [1.6, 0.8, 0.6, 0.4, 0.2, 0.1]},
        "denoising": None,
        "network": network_v1(new["network"]),
        "training": {key: value for key, value in new["training"].items() if key != "warmup_steps"},
        "sampling": {"sampler": kind, **sampling},
    }
    if new["model"] == "denoiser":
        old["denoising"] = {**new["objective"], "sigma_range": new["noise"]}
        guide = new["guide"]
        old["guide"] = guide and {**guide, "network": network_v1(guide["network"])}
        if guide is not None:
            del old["guide"]["noise"]
    return old


def prior_v1(likelihood):
    """Level and slope of the density; with communities of pairs between and within them."""
    lines = [likelihood.edges.density, likelihood.edges.within]
    values = [[line.level, line.slope] for line in lines if line is not None]
    return torch.tensor(values if len(values) == 2 else values[0])


def tensors_v1(model):
    """Averaged weights under their names of version 1, with the prior among them."""
    weights = {name: t.clone() for name, t in model.network.state_dict().items()}
    if model.settings.model == "denoiser":
        parts = {"": (model.network, model.settings.network)}
        if model.settings.guide is not None:
            better, guide = model.network.better, model.network.guide
            parts = {
                "network.": (better, model.settings.network),
                "guide.": (guide, model.settings.guide.network),
            }
        weights = {}
        for part, (posterior, shape) in parts.items():
            # Of an EDP-GNN the network was inside; the denoiser was the network itself.
            inside = posterior if shape.kind == "edp-gnn" else posterior.network
            for name, tensor in inside.state_dict().items():
                weights[f"{part}{name.replace('.projection.', '.look.')}"] = tensor.clone()
            weights[f"{part}prior"] = prior_v1(posterior.likelihood)
    return {f"average.{name}": tensor for name, tensor in weights.items()}


def write_v1(folder, generator, *, training_state=False):
    """Write a model as version 1 did: one document with a digest, one file of tensors."""
    artifact = generator._trained()
    document = artifact.document(torch.device("cpu"))
    tensors = tensors_v1(artifact.model)
    if training_state:
        tensors |= {
            **{f"network.{n.removeprefix('average.')}": t.clone() for n, t in tensors.items()},
            "adam.0.step": torch.tensor(2.0),
        }
    payload = save(tensors)
    sha256 = hashlib.sha256(payload).hexdigest()
    name = f"checkpoint-{document.step:08d}-{sha256[:8]}.safetensors"
    body = {
        "settings": settings_v1(document.settings),
        "sizes": {str(size): count for size, count in document.sizes.items()},
        "training_graphs": document.training_graphs.model_dump(),
        "seconds": document.seconds,
        "made_with": document.made_with.model_dump(),
        "format": "graphscore checkpoint",
        "version": 1,
        "step": document.step,
        "tensors": {"file": name, "bytes": len(payload), "sha256": sha256},
    }
    if "communities" in document.learned:
        body["communities"] = document.learned["communities"]
    body["digest"] = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    folder.mkdir()
    (folder / name).write_bytes(payload)
    (folder / "checkpoint.json").write_text(json.dumps(body))


def convert(*arguments):
    runpy.run_path(str(SCRIPT))["main"]([str(argument) for argument in arguments])


def edges(graphs):
    return [sorted(map(sorted, graph.edges)) for graph in graphs]


@pytest.mark.parametrize("training_state", [False, True], ids=["model", "run"])
@pytest.mark.parametrize("name", MODELS)
def test_a_converted_model_draws_the_same_graphs(name, tmp_path, training_state):
    generator = MODELS[name]()
    write_v1(tmp_path / "old", generator, training_state=training_state)
    convert(tmp_path / "old", tmp_path / "new")
    loaded = GraphGenerator.load(tmp_path / "new", device="cpu", show_progress=False)
    assert loaded.settings == generator.settings
    assert (loaded.sizes, loaded.communities) == (generator.sizes, generator.communities)
    weights = generator.network.state_dict()
    assert loaded.network.state_dict().keys() == weights.keys()
    assert all(torch.equal(t, weights[key]) for key, t in loaded.network.state_dict().items())
    assert edges(loaded.sample(4, seed=1)) == edges(generator.sample(4, seed=1))
    before, after = generator._trained(), Artifact.read(tmp_path / "new")
    assert after.training_graphs == before.training_graphs
    assert (after.step, after.seconds) == (before.step, before.seconds)


def test_version_1_is_refused_with_what_to_do(tmp_path, capsys):
    write_v1(tmp_path / "old", MODELS["edp-gnn"]())
    sentence = r"checkpoint version 1, but this graphscore reads version 2 only\. Convert a model "
    with pytest.raises(CheckpointError, match=f"{sentence}.*scripts/convert_v1.py.*train again"):
        GraphGenerator.load(tmp_path / "old")
    for arguments in (["info"], ["sample"], ["train", "ego-small", "--resume", "--out"]):
        with pytest.raises(SystemExit) as stopped:
            graphscore([*arguments, str(tmp_path / "old")])
        assert stopped.value.code == 2
        assert "checkpoint version 1" in capsys.readouterr().err


def test_what_cannot_be_converted_is_named(tmp_path):
    with pytest.raises(SystemExit, match=r"convert_v1: .*nowhere: no checkpoint here"):
        convert(tmp_path / "nowhere", tmp_path / "new")
    write_v1(tmp_path / "old", MODELS["edp-gnn"]())
    with pytest.raises(SystemExit, match="not empty, and nothing in it is overwritten"):
        convert(tmp_path / "old", tmp_path / "old")
    convert(tmp_path / "old", tmp_path / "new")
    with pytest.raises(SystemExit, match="not an intact checkpoint of version 1"):
        convert(tmp_path / "new", tmp_path / "again")
    (file,) = (tmp_path / "old").glob("*.safetensors")
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(SystemExit, match=r"safetensors: missing, or changed"):
        convert(tmp_path / "old", tmp_path / "again")
    file.unlink()
    with pytest.raises(SystemExit, match=r"safetensors: missing, or changed"):
        convert(tmp_path / "old", tmp_path / "again")
    assert not (tmp_path / "again").exists()
