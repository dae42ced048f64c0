"""The typed document of a saved model: every field is checked when a model is read."""

from __future__ import annotations

import json

import networkx as nx
import pytest

from graphscore import GraphGenerator
from graphscore.artifacts import read_document
from graphscore.artifacts.checkpoint import DOCUMENT
from graphscore.artifacts.document import ModelDocument, digest
from graphscore.cli.main import main
from graphscore.errors import CheckpointError

GRAPHS = [
    nx.disjoint_union(nx.complete_graph(8), nx.complete_graph(7)),
    nx.disjoint_union(nx.complete_graph(9), nx.complete_graph(6)),
]
WRONG = {
    "settings": [None, 3, "x", [], {}, {"model": "gin"}, {"model": ["denoiser"]}],
    "sizes": [None, 3, "x", [], {}, {"x": 1}, {"5": "many"}, {"5": -1}, {"0": 1}, {"5": 1.5}],
    "learned": [None, 3, "x", [1], {}, {"likelihood": 3}, {"likelihood": {"kind": "gaussian"}}],
    "training_graphs": [None, 3, "x", [], {}, {"source": 3, "graphs": 1, "sha256": "0"}],
    "step": [None, "x", -1, 1.5, [], {}],
    "seconds": [None, "x", -1, [], {}],
    "made_with": [None, 3, "x", [], {}, {"graphscore": 1}],
    "tensors": [None, 3, "x", [], {}, {"file": 3, "bytes": 1, "sha256": "0"}],
    "format": [None, 3, "x", [], {}],
    "version": [None, "x", 1, 3, [], {}],
}
INNER = [
    ("settings", "seed", "x"),
    ("settings", "network", {}),
    ("settings", "sampling", "heun"),
    ("settings", "training", {"steps": []}),
    ("settings", "colour", "red"),
    ("learned", "communities", 3),
    ("learned", "communities", {"8+x": 1}),
    ("learned", "likelihood", {"kind": "bernoulli-edges", "density": {"level": "x", "slope": 0}}),
    ("learned", "likelihood", {"kind": "bernoulli-edges", "density": {"level": 1}}),
    ("learned", "likelihood", {"kind": "bernoulli-edges", "density": [1, 2]}),
    ("tensors", "bytes", "x"),
    ("tensors", "file", ""),
    ("tensors", "file", "nowhere"),
    ("training_graphs", "graphs", 0),
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("document") / "run"
    generator = GraphGenerator(
        network={"blocks": 1, "pair_width": 8, "node_width": 4, "communities": True},
        training={"steps": 1},
        sampling={"steps": 1},
        device="cpu",
        show_progress=False,
    )
    generator.fit(GRAPHS, run=folder)
    return folder


@pytest.fixture
def rewritten(saved):
    """Replace the document by another one, whose digest is right; good older ones are beside it."""
    before = {path: path.read_bytes() for path in saved.glob("checkpoint*.json")}

    def write(change):
        body = json.loads(before[saved / DOCUMENT])
        del body["digest"]
        change(body)
        body["digest"] = digest(body)
        (saved / DOCUMENT).write_text(json.dumps(body))

    yield write
    for path, content in before.items():
        path.write_bytes(content)


def refused(folder, capsys):
    """Check that nothing reads a model, and that the program says why in place of a traceback."""
    with pytest.raises(CheckpointError, match=r"train again|Give at least"):
        GraphGenerator.load(folder, device="cpu", show_progress=False)
    with pytest.raises(CheckpointError):
        GraphGenerator(device="cpu", show_progress=False).fit(GRAPHS, run=folder, resume=True)
    for arguments in (["info"], ["info", "--json"], ["sample", "-n", "1"]):
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main([*arguments, str(folder)])
        assert stopped.value.code == 2
        assert str(folder) in capsys.readouterr().err


def test_every_field_is_among_those_tried():
    assert set(WRONG) == set(ModelDocument.model_fields)


@pytest.mark.parametrize(
    ("field", "value"), [(field, value) for field, values in WRONG.items() for value in values]
)
def test_a_field_of_a_wrong_type_is_refused(saved, rewritten, capsys, field, value):
    rewritten(lambda body: body.update({field: value}))
    refused(saved, capsys)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_is_not_finite_is_refused(saved, rewritten, capsys, value):
    """As damage, for which an older document would be used."""
    rewritten(lambda body: body.update(seconds=value))
    for path in saved.glob("checkpoint-*.json"):
        path.unlink()
    refused(saved, capsys)


@pytest.mark.parametrize("field", WRONG)
def test_a_missing_field_is_refused(saved, rewritten, capsys, field):
    rewritten(lambda body: body.pop(field))
    refused(saved, capsys)


@pytest.mark.parametrize(("field", "name", "value"), INNER)
def test_wrong_values_inside_a_field_are_refused(saved, rewritten, capsys, field, name, value):
    rewritten(lambda body: body[field].update({name: value}))
    refused(saved, capsys)


@pytest.mark.parametrize("name", ["likelihood", "communities"])
def test_what_the_settings_need_must_be_there(saved, rewritten, capsys, name):
    rewritten(lambda body: body["learned"].pop(name))
    refused(saved, capsys)


def test_an_unknown_field_is_refused(saved, rewritten, capsys):
    rewritten(lambda body: body.update(colour="red"))
    refused(saved, capsys)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '"x"', "null", "\x00"])
def test_what_is_no_document_is_refused(saved, rewritten, capsys, text):
    for path in saved.glob("checkpoint*.json"):
        path.write_text(text)
    refused(saved, capsys)


def test_the_document_says_everything_but_the_weights(saved):
    document = read_document(saved)
    assert (document.step, document.version, document.sizes) == (1, 2, {15: 2})
    assert document.learned.keys() == {"likelihood", "communities"}
    assert document.settings["model"] == "denoiser"
    again = json.loads(document.to_json())
    assert again.pop("digest") == digest(again)
    assert again == {
        key: value
        for key, value in json.loads((saved / DOCUMENT).read_text()).items()
        if key != "digest"
    }
