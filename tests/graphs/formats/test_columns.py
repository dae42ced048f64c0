"""Attributes in .npz files: one array for each name, and which of them are refused."""

from __future__ import annotations

import io

import networkx as nx
import numpy as np
import pytest

from graphscore.errors import GraphDataError
from graphscore.graphs import Repairs
from graphscore.graphs.formats.npz import decode_npz, encode_npz
from graphscore.graphs.limits import Limits, Reading

ADJ = np.zeros((2, 3, 3), np.uint8)
for b, u, v in ((0, 0, 2), (0, 1, 2), (1, 0, 1)):
    ADJ[b, u, v] = ADJ[b, v, u] = 1
SIZES = np.array([3, 2])


def stack(**arrays):
    buffer = io.BytesIO()
    named = {name.replace("_of_", ":").replace("_in_", "?"): a for name, a in arrays.items()}
    np.savez(buffer, **{"adj": ADJ, "sizes": SIZES, **named})
    return buffer.getvalue()


def decoded(data, asked=(), **limits):
    reading = Reading(Limits(**limits), edge_attributes=asked)
    reading.bytes_left -= len(data)  # as those who read the file do
    return [candidate.graph for candidate in decode_npz(data, "g", reading)]


def refused(asked=(), **arrays):
    with pytest.raises(GraphDataError) as caught:
        decode_npz(stack(**arrays), "g", Reading(edge_attributes=asked))
    return str(caught.value)


def test_values_are_in_the_order_of_nodes_and_of_the_upper_triangle():
    """As numpy's masks give them, which the page says."""
    mask = np.arange(3) < SIZES[:, None]
    names = np.array([["C", "N", "O"], ["H", "F", "?"]])[mask]
    weights = np.arange(18.0).reshape(2, 3, 3)[np.triu(ADJ) == 1]
    first, second = decoded(stack(node_of_a=names, edge_of_w=weights), ["w"])
    assert [a for _, a in first.nodes(data="a")] == ["C", "N", "O"]
    assert [a for _, a in second.nodes(data="a")] == ["H", "F"]
    assert list(first.edges(data=True)) == [(0, 2, {"w": 2.0}), (1, 2, {"w": 5.0})]
    assert list(second.edges(data=True)) == [(0, 1, {"w": 10.0})]


def test_an_array_says_where_there_are_values():
    there = np.array([False, True, False, True, True])
    first, second = decoded(
        stack(node_of_a=np.array([1, 2, 3]), node_in_a=there, edge_of_b=np.array([[1, 2]]),
              edge_in_b=np.array([False, False, True])), ["b_1"]
    )  # fmt: skip
    assert list(first.nodes(data=True)) == [(0, {}), (1, {"a": 1}), (2, {})]
    assert list(second.nodes(data=True)) == [(0, {"a": 2}), (1, {"a": 3})]
    assert [data for *_, data in [*first.edges(data=True), *second.edges(data=True)]] == [
        {}, {}, {"b_1": 2}
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["?", "i1", "u8", "f2", ">f4", "f8", "U3", ">U3"])
def test_values_are_those_of_python(kind):
    values = np.array([0, 1, 1, 0, 1]).astype(kind)
    first, _ = decoded(stack(node_of_a=values))
    assert (
        type(first.nodes[0]["a"])
        is {"?": bool, "i": int, "u": int, "f": float, "U": str}[kind.strip(">")[0]]
    )


def test_the_order_of_edges_is_that_of_repaired_graphs():
    adj = np.zeros((1, 3, 3), np.uint8)
    adj[0, 2, 0] = adj[0, 1, 0] = adj[0, 1, 1] = 1
    reading = Reading(repairs=Repairs(True, True), edge_attributes=["w"])
    data = stack(adj=adj, sizes=np.array([3]), edge_of_w=np.array([10, 20]))
    (candidate,) = decode_npz(data, "g", reading)
    assert list(candidate.graph.edges(data="w")) == [(0, 1, 10), (0, 2, 20)]


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"node_of_a": np.zeros(4)}, "g: node:a is of 4 nodes, but the graphs have 5 in all"),
        ({"node_of_a": np.zeros(6)}, "g: node:a is of 6 nodes"),
        ({"edge_of_w": np.zeros(2)}, "g: edge:w is of 2 edges, but the graphs have 3 in all"),
        ({"edge_of_weight": np.ones(2)}, "g: edge:weight is of 2 edges"),
        ({"node_of_a": np.zeros((5, 2, 2))}, "g: node:a of type float64 and shape (5, 2, 2), but"),
        ({"node_of_a": np.zeros((5, 0))}, "g: node:a of type float64 and shape (5, 0), but"),
        ({"node_of_a": np.zeros(5, complex)}, "g: node:a of type complex128"),
        ({"node_of_a": np.zeros(5, "S2")}, "g: node:a of type |S2"),
        ({"node_of_a": np.full((5, 2), "a")}, "g: node:a of type <U1 and shape (5, 2), but"),
        ({"node_of_a": np.full(5, chr(0xD800))}, "g: node:a holds a character that there is not"),
        ({"node_of_a": np.full(5, "a" * (2**20 + 1))}, "node:a holds texts of more than 1048576"),
        ({"node_of_x": np.zeros(5)}, "an array named 'node:x', but attributes"),
        ({"node_of_" + "a" * 201: np.zeros(5)}, "an array named 'node:aaaa"),
        ({"node_of_a": np.zeros(4), "node_in_a": np.ones(5, bool)}, "g: node:a has 4 values, but"),
        ({"node_of_a": np.zeros(5), "node_in_a": np.ones(5)}, "of type float64 and shape (5,)"),
        ({"node_of_a": np.zeros(5), "node_in_a": np.ones((1, 5), bool)}, "shape (1, 5). Truth"),
        ({"node_of_a": np.array([{}] * 5)}, "g: not a readable .npz file (ValueError)"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_before_a_graph_is_built(arrays, words):
    assert words in refused(asked=["w"], **arrays)


def test_weights_are_refused_where_no_attribute_is_asked_for():
    message = refused(asked=[], edge_of_weight=np.array([1, 1, 2]))
    assert "g, graph 2: non-binary weight 2 on edge 0 - 1" in message


def test_edges_that_are_not_asked_for_are_not_read():
    reading = Reading(edge_attributes=["bond"])
    data = stack(edge_of_kind=np.array([{}] * 99), edge_of_weight=np.ones(0), edge_in_kind=SIZES)
    with pytest.raises(GraphDataError, match="edge:weight is of 0 edges"):
        decode_npz(data, "g", reading)
    assert list(reading.ignored) == ["kind"]


def test_values_count_as_bytes():
    data = stack(node_of_a=np.zeros(5, np.int8), edge_of_w=np.zeros((3, 2)))
    assert len(decoded(data, max_bytes=18 + 16 + 5 * 17)) == 2
    unasked = 18 + 16 + 5 * 17
    with pytest.raises(GraphDataError, match=f"more than {unasked - 1} bytes"):
        decoded(data, max_bytes=unasked - 1)
    whole = 18 + 16 + 5 * 17 + 6 * 24
    assert len(decoded(data, asked=["w"], max_bytes=whole)) == 2
    with pytest.raises(GraphDataError, match=f"more than {whole - 1} bytes"):
        decoded(data, asked=["w"], max_bytes=whole - 1)


def test_what_is_written_is_plain_arrays():
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: "C", 1: "Ni", 2: ""}, "element")
    nx.set_node_attributes(graph, {0: 1, 1: 2.5, 2: np.float32(3)}, "charge")
    graph.nodes[1]["ring"] = True
    graph.nodes[1]["left out"] = {"a": 1}
    nx.set_edge_attributes(graph, {(0, 1): (1, 2), (1, 2): np.array([3, 4])}, "pair")
    with np.load(io.BytesIO(encode_npz([graph]))) as arrays:
        found = {name: arrays[name].tolist() for name in arrays if ":" in name or "?" in name}
    assert found == {
        "node:element": ["C", "Ni", ""], "node:charge": [1.0, 2.5, 3.0], "node:ring": [True],
        "node?ring": [False, True, False], "edge:pair": [[1, 2], [3, 4]],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((1, "a"), "node attribute 'a' has values of several kinds, which npz does not hold"),
        ((True, 2), "several kinds"),
        (([1, 2], [1]), "several kinds"),
        (([1, 2], 1), "several kinds"),
        ((2**63, 1), "a whole number of more than 64 bits"),
        ((2**53 + 1, 0.5), "a whole number, beside real ones, of more than 53 bits"),
        (("a\0", "b"), "a text with a character that cannot be kept"),
        (("\ud800", "b"), "a text with a character that cannot be kept"),
        (("a" * (2**20 + 1), "b"), "has 2 texts of up to 1048577 characters"),
    ],
    ids=range(9),
)
def test_what_an_array_cannot_hold_is_not_written(values, words):
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, dict(enumerate(values)), "a")
    with pytest.raises(GraphDataError, match=words):
        encode_npz([graph])


def test_texts_that_would_take_much_memory_are_not_written():
    graph = nx.empty_graph(1000)
    nx.set_node_attributes(graph, "a", "a")
    graph.nodes[7]["a"] = "a" * 20_000
    with pytest.raises(GraphDataError, match="has 1000 texts of up to 20000 characters"):
        encode_npz([graph])


@pytest.mark.parametrize("name", ["a" * 201, "a\0", "\ud800"])
def test_names_that_could_not_be_read_again_are_not_written(name):
    graph = nx.empty_graph(1)
    graph.nodes[0][name] = 1
    with pytest.raises(GraphDataError, match="has no name of at most 200 characters"):
        encode_npz([graph])


def test_an_archive_has_100_arrays_at_most():
    graph = nx.empty_graph(1)
    graph.nodes[0].update({f"a{k}": k for k in range(98)})
    assert decoded(encode_npz([graph]))[0].nodes[0] == graph.nodes[0]
    graph.nodes[0]["one more"] = 1
    with pytest.raises(GraphDataError, match="npz would hold 101 arrays, but at most 100"):
        encode_npz([graph])
