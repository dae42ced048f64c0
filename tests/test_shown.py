"""Objects say what they are, as text and in notebooks."""

from __future__ import annotations

import base64
import re
import sys

import networkx as nx
import pytest
from tests.tiny_generator import GRAPHS, make

from graphscore import GraphGenerator, evaluate, load_dataset
from graphscore.errors import DatasetError, GraphscoreError, SettingsError
from graphscore.metrics import evaluate_molecules
from graphscore.shown import Shown


def images(html):
    """The bytes of all pictures in a text."""
    found = re.findall(r'src="data:image/png;base64,([^"]+)"', html)
    return [base64.b64decode(data) for data in found]


def headings(figure):
    return [part._suptitle.get_text() for part in figure.subfigs]


def drawn_graphs(figure):
    return sum(bool(axis.collections) for axis in figure.axes)


@pytest.fixture(scope="module")
def fitted():
    return make().fit(GRAPHS, source="my graphs")


def test_an_untrained_generator_says_what_to_do():
    generator = make()
    assert repr(generator) == "GraphGenerator(model: edp-gnn; trained: not yet: call fit)"
    html = generator._repr_html_()
    assert "call fit" in html
    assert images(html) == []


def test_a_trained_generator_says_what_it_learned(fitted):
    text = repr(fitted)
    parameters = sum(p.numel() for p in fitted.network.parameters())
    for part in (
        *("model: edp-gnn", "trained on: my graphs, 4 graphs", "nodes: 4 to 6"),
        *("learns: edges", "steps: 3 of 3", f"parameters: {parameters}"),
    ):
        assert part in text
    assert "\n" not in text


def test_a_generator_of_types_names_them():
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: "a", 1: "b", 2: "a"}, "kind")
    small = {"blocks": 1, "pair_width": 4, "node_width": 4, "product_width": 2}
    generator = GraphGenerator(
        network=small, training={"steps": 1}, sampling={"steps": 2}, device="cpu"
    )
    generator.show_progress = False
    generator.fit([graph] * 2, node_type="kind")
    assert "learns: edges, node types; node types: kind: a, b" in repr(generator)
    figure = generator.plot_samples(2)
    assert any(legend.get_title().get_text() == "kind" for legend in figure.legends)


def test_a_model_without_steps_has_none_to_show():
    generator = GraphGenerator("erdos-renyi", device="cpu", show_progress=False).fit(GRAPHS)
    assert "steps" not in repr(generator)
    assert "parameters" not in repr(generator)


def test_notebooks_show_training_graphs_and_newest_samples(fitted, tmp_path):
    (alone,) = images(make().fit(GRAPHS)._repr_html_())
    fitted.sample(2)
    (both,) = images(fitted._repr_html_())
    assert both.startswith(b"\x89PNG")
    width = [int.from_bytes(picture[16:20], "big") for picture in (alone, both)]
    assert width[1] > 1.5 * width[0]
    fitted.save(tmp_path / "model")
    loaded = GraphGenerator.load(tmp_path / "model", device="cpu", show_progress=False)
    assert images(loaded._repr_html_()) == []
    loaded.sample(1)
    assert len(images(loaded._repr_html_())) == 1


def test_samples_of_a_model_before_are_not_shown():
    generator = make().fit(GRAPHS)
    before = generator._repr_html_()
    generator.sample(2)
    assert generator._repr_html_() != before
    assert generator.fit(GRAPHS)._repr_html_().count("newest") == 0
    assert images(generator._repr_html_()) == images(before)


def test_samples_are_drawn_beside_training_graphs(fitted, tmp_path):
    figure = fitted.plot_samples(5, seed=1, sizes=[4] * 5)
    assert headings(figure) == ["training graphs", "samples"]
    assert drawn_graphs(figure) == len(GRAPHS) + 5
    assert figure._repr_png_().startswith(b"\x89PNG")
    figure.savefig(tmp_path / "samples.svg")
    with pytest.raises(SettingsError):
        fitted.plot_samples(0)
    with pytest.raises(GraphscoreError, match="call fit"):
        make().plot_samples()


def test_a_dataset_is_shown_and_drawn():
    data = load_dataset("ego-small")
    for part in ("name: ego-small", "graphs: 200 (train 160, val 32, test 40)", "nodes: 4 to 18"):
        assert part in repr(data)
    assert len(images(data._repr_html_())) == 1
    figure = data.plot(6, split="test")
    assert headings(figure) == ["ego-small: test"]
    assert drawn_graphs(figure) == 6
    with pytest.raises(DatasetError, match="no split"):
        data.plot(split="other")
    with pytest.raises(DatasetError, match="at least 1"):
        data.plot(0)


def test_what_a_dataset_carries_is_drawn():
    data = load_dataset("weighted-community")
    assert "carries: weight" in repr(data)
    assert [legend.get_title().get_text() for legend in data.plot(2).legends] == ["weight"]


def test_an_evaluation_is_a_table():
    result = evaluate(GRAPHS, GRAPHS, training=GRAPHS)
    assert repr(result).startswith("EvaluationResult(MMD, degree: 0.0000; ")
    html = result._repr_html_()
    for part in ("MMD, average", "unique", "novel", "4 against 4", "gaussian-emd"):
        assert part in html
    assert "novel" not in repr(evaluate(GRAPHS, GRAPHS))


def test_what_was_measured_of_molecules_is_a_table():
    """What was not measured is left out."""
    pytest.importorskip("rdkit")
    text = repr(evaluate_molecules(["CCO", "CC"], ["CC"], fcd=False))
    assert "valid: 100.00% (34.24% to 100.00%); valid as is: " in text
    assert "molecules: 2 against 1" in text
    assert "NSPDK" in text
    assert not any(name in text for name in ("FCD", "novel"))


def test_names_are_shown_as_text():
    """No markup and no control characters of a stranger's file name."""

    class Named(Shown):
        def _rows(self):
            return [("source", "<script>\x1b[31m&")]

    html = Named()._repr_html_()
    assert "&lt;script&gt;" in html
    assert "\x1b" not in html + repr(Named())


def test_showing_a_table_needs_no_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "MMD" in evaluate(GRAPHS, GRAPHS)._repr_html_()
    assert "call fit" in make()._repr_html_()
