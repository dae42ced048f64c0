"""Models of strangers: nothing in their files is believed, and nothing is allocated for a lie."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import networkx as nx
import pytest
import torch

from campaigns.crafted_models import Crafted
from graphscore import GraphGenerator
from graphscore.artifacts import (
    Artifact,
    find_model,
    read_card,
    read_checkpoint,
    read_document,
    stored,
)
from graphscore.artifacts.checkpoint import DOCUMENT
from graphscore.artifacts.document import ModelDocument, digest
from graphscore.artifacts.stored import read_document_file, read_tensors
from graphscore.errors import CheckpointError

posix = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes and links")


@pytest.fixture
def crafted(trained, tmp_path):
    """A copy of a run, to be damaged and written with digests that match."""
    return Crafted(trained, tmp_path / "run")


def load(model):
    model.write()
    return Artifact.read(model.folder)


def refuses(model, words):
    with pytest.raises(CheckpointError, match=words):
        load(model)


def test_an_undamaged_copy_is_accepted(crafted):
    crafted.tensors(lambda tensors: None)
    assert load(crafted).step == 2


# ------------------------------------------------------------------ files


@posix
@pytest.mark.parametrize("which", ["document", "tensors", "card"])
@pytest.mark.parametrize("kind", ["pipe", "link", "loop", "folder"])
def test_only_regular_files_are_read(trained, tmp_path, which, kind):
    folder = tmp_path / "run"
    shutil.copytree(trained, folder)
    document = read_document(folder)
    path = folder / {"document": DOCUMENT, "tensors": document.tensors.file}.get(which, "card.json")
    if path.exists():
        path.rename(tmp_path / "kept")
    else:
        (tmp_path / "kept").write_text("{}")
    {
        "pipe": lambda: os.mkfifo(path),
        "link": lambda: path.symlink_to(tmp_path / "kept"),
        "loop": lambda: path.symlink_to(path),
        "folder": path.mkdir,
    }[kind]()
    read = {
        "document": lambda: read_document_file(path),
        "tensors": lambda: read_tensors(folder, document),
        "card": lambda: read_card(folder),
    }[which]
    with pytest.raises(CheckpointError, match=r"regular file is expected|cannot be read"):
        read()


MEASURED = """
import resource, sys
from pathlib import Path
from graphscore.artifacts import read_checkpoint
from graphscore.errors import CheckpointError
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    read_checkpoint(Path(sys.argv[1]))
except CheckpointError as error:
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024, error)
"""


def refused_with(folder):
    """The memory in MiB that refusing took in a process of its own, and the message."""
    command = [sys.executable, "-c", MEASURED, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    mebibytes, _, message = done.stdout.partition(" ")
    return int(mebibytes), message


@pytest.mark.skipif(sys.platform != "linux", reason="memory in kB")
@pytest.mark.parametrize("cut", [True, False])
def test_damaged_documents_are_not_kept_in_memory(trained, tmp_path, cut):
    """While older checkpoints are tried; their errors hold on to what was read."""
    folder = tmp_path / "run"
    shutil.copytree(trained, folder)
    body = json.loads((folder / DOCUMENT).read_text())
    text = json.dumps({**body, "more": "\U0001f600" + "x" * 7_000_000}, ensure_ascii=False)
    content = text[:-1].encode() if cut else text.encode()
    for path in folder.glob("checkpoint-*"):
        path.unlink()
    for step in range(10, 26):
        (folder / f"checkpoint-000000{step}-00000000.json").write_bytes(content)
    (folder / DOCUMENT).write_bytes(content)
    mebibytes, message = refused_with(folder)
    assert "none of its checkpoints is good" in message
    assert mebibytes < 150


@pytest.mark.skipif(sys.platform != "linux", reason="sparse files, and memory in kB")
def test_what_a_link_leads_to_is_not_read(trained, tmp_path):
    """Not even to see whether it was replaced meanwhile: reading a terabyte takes for ever."""
    folder = tmp_path / "run"
    shutil.copytree(trained, folder)
    (tmp_path / "large").touch()
    os.truncate(tmp_path / "large", 10**12)
    for path in folder.glob("checkpoint*.json"):
        path.unlink()
        path.symlink_to(tmp_path / "large")
    assert "regular file is expected" in refused_with(folder)[1]


@pytest.mark.skipif(sys.platform != "linux", reason="memory in kB")
def test_refusing_tensors_takes_no_memory_for_them(crafted):
    """A large file of zeros, as large as its settings allow, whose digest does not match."""

    network = crafted.body["settings"]["network"]
    network |= {"channels": [40] * 4, "edge_width": 2000}
    crafted.write()
    body = json.loads((crafted.folder / DOCUMENT).read_text())
    body["tensors"]["bytes"] = 400_000_000
    body["digest"] = digest({name: part for name, part in body.items() if name != "digest"})
    (crafted.folder / DOCUMENT).write_text(json.dumps(body))
    os.truncate(crafted.folder / body["tensors"]["file"], 400_000_000)
    for path in crafted.folder.glob("checkpoint-*.json"):
        path.unlink()
    mebibytes, message = refused_with(crafted.folder)
    assert "was changed" in message
    assert mebibytes < 200


@pytest.mark.parametrize(
    "name",
    [
        "../{}",
        "/tmp/{}",
        "sub/{}",
        "..\\{}",
        "C:{}",
        "{}:stream",
        "{}\n",
        "x{}",
        "checkpoint-00000002-00000000.safetensors",
        "checkpoint-٠٠٠٠٠٠٠٢-00000000.safetensors",
    ],
)
def test_tensors_lie_in_the_folder_under_a_name_of_ours(crafted, name):
    """Even if there is a file of that name with the right content."""
    own = crafted.tensor_file.name
    crafted.body["tensors"]["file"] = name.format(own)
    shutil.copy(crafted.tensor_file, crafted.folder.parent / own)
    refuses(crafted, r"tensors")


@posix
def test_the_tensors_that_were_checked_are_those_that_are_loaded(trained, tmp_path, monkeypatch):
    """Although another file has their name by then."""
    folder = tmp_path / "run"
    shutil.copytree(trained, folder)
    document = read_document(folder)
    check = stored._check_weights

    def replace(*arguments):
        check(*arguments)
        (tmp_path / "other").write_bytes(b"x")
        os.replace(tmp_path / "other", folder / document.tensors.file)

    monkeypatch.setattr(stored, "_check_weights", replace)
    assert read_tensors(folder, document)


# ------------------------------------------------------------------ tensors


def replaced_header(change):
    return lambda model: model.header(change)


def entry(header):
    """The last tensor of the file."""
    return max(
        (v for k, v in header.items() if k != "__metadata__"), key=lambda v: v["data_offsets"]
    )


def overlap(header):
    last = entry(header)
    first, stop = last["data_offsets"]
    last["data_offsets"] = [0, stop - first]


LAYOUTS = {
    "overlap": overlap,
    "shape": lambda header: entry(header).update(shape=[2**40, 2**40]),
    "empty": lambda header: header.update(
        {"average.zz": {"dtype": "F32", "shape": [0, 2**40, 2**40], "data_offsets": [0, 0]}}
    ),
    "type": lambda header: entry(header).update(dtype="F16"),
    "negative": lambda header: entry(header).update(data_offsets=[-4, 0]),
    "list": lambda header: b"[]",
    "deep": lambda header: b"[" * 100_000,
    "twice": lambda h: json.dumps(h).encode()[:-1] + b", " + json.dumps(h).encode()[1:],
    "many": lambda header: json.dumps(
        {str(i): {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for i in range(26_000)}
    ).encode(),
}


@pytest.mark.parametrize("kind", LAYOUTS)
def test_headers_are_checked(crafted, kind):
    crafted.header(LAYOUTS[kind])
    refuses(crafted, "not a safetensors file of a model")


@pytest.mark.parametrize("payload", [b"", b"x" * 7, (2**63).to_bytes(8, "little") + b"{}"])
def test_files_without_a_header_are_refused(crafted, payload):
    crafted.payload = payload
    refuses(crafted, r"not a safetensors file|setting 'tensors\.bytes'")


def average(tensors):
    return next(name for name in tensors if name.startswith("average."))


WEIGHTS = {
    "missing": (lambda t: t.pop(average(t)), "without "),
    "unknown": (lambda t: t.update({"average.zz": torch.zeros(1)}), "with unknown zz"),
    "without its part": (
        lambda t: t.update({average(t).removeprefix("average."): t.pop(average(t))}),
        "is of no part of a model",
    ),
    "shape": (lambda t: t.update({average(t): torch.zeros(7, 7)}), r"\(7, 7\) float32 in place"),
    "type": (lambda t: t.update({average(t): t[average(t)].double()}), "float64 in place of"),
    "NaN": (lambda t: t.update({average(t): t[average(t)] * torch.nan}), "is not finite"),
}


@pytest.mark.parametrize("kind", WEIGHTS)
def test_weights_fit_the_settings(crafted, kind):
    change, words = WEIGHTS[kind]
    crafted.tensors(lambda tensors: (change(tensors), None)[1])
    refuses(crafted, words)


def test_a_tensor_file_may_be_only_as_large_as_the_settings_ask_for(crafted):
    """It is refused before it is read: the file here is shorter."""
    crafted.body["tensors"]["bytes"] = 10**9
    refuses(crafted, "1000000000 bytes, but a model of these settings has")


# ------------------------------------------------------------------ settings and what was learned


@pytest.fixture(scope="module")
def with_attributes(tmp_path_factory):
    """A run of an EDP-GNN on weighted graphs, whose nodes carry something."""
    graph = nx.path_graph(4)
    nx.set_edge_attributes(graph, {edge: 1.5 + sum(edge) for edge in graph.edges}, "w")
    nx.set_node_attributes(graph, {node: {"kind": "AB"[node % 2], "h": node / 3} for node in graph})
    folder = tmp_path_factory.mktemp("attributes") / "run"
    GraphGenerator(
        "edp-gnn",
        network={"channels": [1], "message_steps": 1, "features": 2, "edge_width": 2},
        training={"steps": 1},
        show_progress=False,
    ).fit([graph] * 2, edge_weight="w", node_type="kind", node_features=["h"], run=folder)
    return folder


ATTRIBUTES = {
    "no schema": lambda v: v.pop("schema"),
    "no matrix": lambda v: v.pop("matrix"),
    "no nodes": lambda v: v.pop("nodes"),
    "more": lambda v: v.update(likelihood={}),
    "units that are not those of a matrix": lambda v: v["schema"]["edge_weight"].update(
        matrix=False
    ),
    "a mean": lambda v: v["schema"]["edge_weight"].update(mean=1.0),
    "a logarithm": lambda v: v["schema"]["edge_weight"].update(log=True),
    "no scale": lambda v: v["schema"]["edge_weight"].update(deviation=0.0),
    "no threshold": lambda v: v["matrix"].update(weakest=0.0),
    "a huge threshold": lambda v: v["matrix"].update(weakest=1e30),
    "a sign": lambda v: v["matrix"].update(signs="none"),
    "a list": lambda v: v.update(matrix=[1]),
    "nodes that are a list": lambda v: v.update(nodes=[1]),
    "nodes of other graphs": lambda v: v["nodes"].update(sizes=[5, 3]),
    "a type": lambda v: v["nodes"]["types"].__setitem__(3, 2),
    "a feature": lambda v: v["nodes"]["features"].__setitem__(3, 1e300),
    "another schema": lambda v: v["schema"].update(node_features=[]),
    "more types": lambda v: v["schema"]["node_type"].update(values=["A", "B", "C"]),
}


def test_attributes_of_an_edp_gnn_are_read(with_attributes, tmp_path):
    """As many nodes as a document has room for, in lists that are longer than others may be."""
    crafted = Crafted(with_attributes, tmp_path / "run")
    nodes, count = crafted.body["learned"]["nodes"], 2500
    for name, values in nodes.items():
        nodes[name] = values * count
    crafted.body["sizes"] = {"4": 2 * count}
    crafted.body["training_graphs"]["graphs"] = 2 * count
    assert load(crafted).model.nodes.sizes == (4,) * (2 * count)


@pytest.mark.parametrize("kind", ATTRIBUTES)
def test_attributes_of_an_edp_gnn_have_bounds(with_attributes, tmp_path, kind):
    crafted = Crafted(with_attributes, tmp_path / "run")
    ATTRIBUTES[kind](crafted.body["learned"])
    crafted.write()
    with pytest.raises(CheckpointError):
        Artifact.read(crafted.folder)


@pytest.mark.parametrize(
    "network",
    [
        {"blocks": 10**6},
        {"pair_width": 10**9},
        {"node_feat_dim": 10**9},
        {"blocks": 256, "pair_width": 4096, "node_width": 4096, "product_width": 4096},
    ],
)
def test_refusing_a_huge_network_takes_no_memory(tmp_path, network):
    generator = GraphGenerator(
        network={"blocks": 1, "pair_width": 8}, training={"steps": 1}, show_progress=False
    )
    generator.fit([nx.path_graph(4)], run=tmp_path / "model")
    model = Crafted(tmp_path / "model", tmp_path / "run")
    model.body["settings"]["network"].update(network)
    model.write()
    command = """
import resource, sys
from pathlib import Path
from graphscore.artifacts import Artifact
from graphscore.errors import CheckpointError
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + 300_000_000, size + 300_000_000))
try:
    Artifact.read(Path(sys.argv[1]))
except CheckpointError as error:
    print(error)
"""
    if sys.platform != "linux":
        pytest.skip("needs /proc")
    done = subprocess.run(
        [sys.executable, "-c", command, str(model.folder)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "Input should be less than or equal" in done.stdout or "parameters" in done.stdout


DOCUMENTS = {
    "sum": lambda b: b["sizes"].update({"9": 5}),
    "nodes": lambda b: b.update(sizes={"1000000": 3}),
    "counts": lambda b: b.update(sizes={"4": 10**10}),
    "step": lambda b: b.update(step=10**9),
    "seconds": lambda b: b.update(seconds=1e300),
    "source": lambda b: b["training_graphs"].update(source="x" * 5000),
    "digest of graphs": lambda b: b["training_graphs"].update(sha256="x"),
    "versions": lambda b: b["made_with"].update(torch="x" * 1000),
    "learned": lambda b: b.update(learned={"x": 1}),
    "seed": lambda b: b["settings"].update(seed=2**64),
    "model": lambda b: b["settings"].update(model="x" * 10_000),
}


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_every_field_has_bounds(crafted, kind):
    DOCUMENTS[kind](crafted.body)
    crafted.write()
    with pytest.raises(CheckpointError):
        Artifact.read(crafted.folder)


def test_the_network_of_a_document_takes_no_memory_until_weights_are_loaded(trained):
    from graphscore.artifacts import model_of

    before = torch.get_rng_state()
    model = model_of(read_document(trained), trained)
    assert {tensor.device.type for tensor in model.weights().values()} == {"meta"}
    loaded = Artifact.read(trained).model
    assert {tensor.device.type for tensor in loaded.weights().values()} == {"cpu"}
    assert torch.equal(torch.get_rng_state(), before)
    _, tensors = read_checkpoint(trained)
    for name, tensor in loaded.weights().items():
        assert torch.equal(tensor, tensors[f"average.{name}"])
    assert not {name for name, _ in loaded.network.named_buffers()} - loaded.weights().keys()


# ------------------------------------------------------------------ cards and names


@pytest.mark.parametrize(
    "change",
    [
        {"note": "x" * 3000},
        {"steps": "many"},
        {"data": {"source": "x", "graphs": 1, "sha256": "0", "nodes": [1]}},
        {"weights": {}},
        {"metrics": {"samples": {"degree": "x"}}},
        {"metrics": {str(i): {} for i in range(100)}},
        {"settings": {"model": "erdos-renyi"}},
        {"seconds": None},
        {"provenance": {"x": [1]}},
    ],
)
def test_cards_are_typed_and_bounded(tmp_path, change):
    from graphscore.artifacts.registry import MODELS

    card = json.loads((MODELS / "tree" / "card.json").read_text())
    (tmp_path / "card.json").write_text(json.dumps(card))
    assert read_card(tmp_path).to_dict() == card
    (tmp_path / "card.json").write_text(json.dumps({**card, **change}))
    with pytest.raises(CheckpointError, match="not a model card"):
        read_card(tmp_path)


@pytest.mark.parametrize("name", ["x\x00y", "\ud800", "\x1b[2J", "x" * 100_000, "../" * 5000, ""])
def test_strange_names_of_models_are_refused_and_shown_in_print(name):
    with pytest.raises(CheckpointError) as refused:
        find_model(name)
    message = str(refused.value)
    assert message.isprintable()
    assert len(message) < 1000


def test_every_field_of_a_document_is_among_those_tried():
    tried = {"sizes", "step", "seconds", "training_graphs", "made_with", "learned", "settings"}
    assert tried | {"format", "version", "tensors"} == set(ModelDocument.model_fields)
