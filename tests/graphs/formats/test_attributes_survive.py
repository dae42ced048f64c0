"""Attributes of nodes and edges go through every format that holds them and come back the same."""

from __future__ import annotations

import math

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphscore.errors import GraphDataError
from graphscore.graphs import read_graphs, write_graphs
from graphscore.graphs.files import keeps_attributes
from graphscore.graphs.formats import FORMATS

quick = settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
TEXTS = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), max_size=8
)
WHOLE = st.integers(-(2**63), 2**63 - 1)
REAL = st.floats(allow_nan=False, allow_infinity=False)
KINDS = {"text": TEXTS, "whole": WHOLE, "real": REAL, "truth": st.booleans()}
ASKED = ["text", "whole", "real", "truth", "weight", "vector", "label", "edge_attr"]


@st.composite
def carrying(draw, values, partly=False):
    """Two graphs whose nodes and edges have values, all or some of them."""
    graphs = [nx.path_graph(draw(st.integers(1, 4))), nx.complete_graph(3)]
    for graph in graphs:
        for data in [*graph.nodes.values(), *graph.edges.values()]:
            for name, strategy in values.items():
                if not partly or draw(st.booleans()):
                    data[name] = draw(strategy)
    return graphs


def exactly(graphs):
    """What is compared: also types, and the sign of zero."""
    return [
        (
            {node: {k: repr(v) for k, v in data.items()} for node, data in graph.nodes(data=True)},
            {
                (min(e), max(e)): {k: repr(v) for k, v in graph.edges[e].items()}
                for e in graph.edges
            },
        )
        for graph in graphs
    ]


def check(folder, name, form, graphs):
    path = folder / name
    if form is not None or "." not in name:
        path = folder / f"{name}{len(list(folder.iterdir()))}"
    write_graphs(path, graphs, format=form)
    found = read_graphs(path, format=form, edge_attributes=ASKED)
    assert exactly(found) == exactly(graphs)
    assert found.ignored == []


@pytest.mark.parametrize(
    ("name", "form"),
    [("g.json", None), ("g.jsonl.gz", None), ("g.npz", None), ("set", "graphml"), ("set", "gml")],
)
@given(data=st.data())
@quick
def test_numbers_truth_values_and_texts(tmp_path, name, form, data):
    """GML has no truth values, and whole numbers of 32 bits; wider ones are texts."""
    kinds = KINDS
    if form == "gml":
        kinds = {"text": TEXTS, "whole": st.integers(-(2**31), 2**31 - 1), "real": REAL}
    graphs = data.draw(carrying({**kinds, "weight": REAL}, partly=data.draw(st.booleans())))
    check(tmp_path, name, form, graphs)


@pytest.mark.parametrize("name", ["g.json", "g.npz"])
@given(data=st.data())
@quick
def test_vectors(tmp_path, name, data):
    of_one_length = st.lists(REAL, min_size=2, max_size=2)
    values = {"vector": of_one_length, "truth": st.lists(st.booleans(), min_size=1, max_size=1)}
    graphs = data.draw(carrying(values, partly=True))
    for graph in graphs:  # which npz holds as node_feat
        for node in graph:
            graph.nodes[node]["x"] = [0.5 * node, -0.0]
    check(tmp_path, name, None, graphs)


@given(data=st.data())
@quick
def test_labels_and_numbers_of_tu(tmp_path, data):
    """Labels are below 2^62; numbers are real; a list of one is read as a number, "x" apart."""
    label = st.integers(-(2**62) + 1, 2**62 - 1)
    labels = data.draw(st.sampled_from([label, st.lists(label, min_size=2, max_size=2)]))
    wide = st.lists(REAL, min_size=3, max_size=3)
    graphs = data.draw(carrying({"label": labels}))
    numbers = data.draw(st.sampled_from([REAL, wide]))
    for graph in graphs:
        for node in graph:
            graph.nodes[node]["x"] = data.draw(wide)
        for edge in graph.edges:
            graph.edges[edge]["edge_attr"] = data.draw(numbers)
    check(tmp_path, "set", "tu", graphs)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "form",
    [name for name in FORMATS if keeps_attributes("set", name) and name not in ("smiles", "sdf")],
)
@pytest.mark.parametrize("place", ["node", "edge"])
def test_what_is_not_finite_is_kept_or_refused(tmp_path, form, place, value):
    graph = nx.path_graph(2)
    name = {"node": "x", "edge": "edge_attr"}[place] if form == "tu" else "a"
    for data in (graph.nodes if place == "node" else graph.edges).values():
        data[name] = value
    if form in ("csv", "tsv") and place == "node":
        return  # which have no place for what nodes carry
    if form in ("json", "jsonl", "tu", "csv", "tsv"):
        with pytest.raises(GraphDataError, match=r"Out of range float|NaN or infinity"):
            write_graphs(tmp_path / "set", [graph], format=form)
        assert not (tmp_path / "set").exists()
        return
    write_graphs(tmp_path / "set", [graph], format=form)
    (found,) = read_graphs(tmp_path / "set", format=form, edge_attributes=[name])
    assert exactly([found]) == exactly([graph])


@pytest.mark.parametrize("name", ["g.json", "g.npz", "set"])
def test_weights_are_kept_if_they_are_asked_for(tmp_path, name):
    graph = nx.path_graph(3)
    nx.set_edge_attributes(graph, {(0, 1): 1, (1, 2): 1}, "weight")
    form = None if "." in name else "graphml"
    write_graphs(tmp_path / name, [graph], format=form)
    (found,) = read_graphs(tmp_path / name, format=form)
    assert list(found.edges(data=True)) == [(0, 1, {}), (1, 2, {})]
    graph.edges[1, 2]["weight"] = 2
    other = tmp_path / f"other{name}"
    write_graphs(other, [graph], format=form)
    with pytest.raises(GraphDataError, match=r"non-binary weight 2 .*--edge-weight weight"):
        read_graphs(other, format=form)
    (found,) = read_graphs(other, format=form, edge_attributes="weight")
    assert [weight for *_, weight in found.edges(data="weight")] == [1, 2]
