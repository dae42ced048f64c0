"""Stacks of graphs in .npz files: which arrays are read, and which are refused."""

from __future__ import annotations

import io
import zipfile

import networkx as nx
import numpy as np
import pytest

from graphscore.errors import GraphDataError
from graphscore.graphs import Repairs
from graphscore.graphs.formats import stored_arrays
from graphscore.graphs.formats.npz import decode_npz, encode_npz
from graphscore.graphs.limits import Limits, Reading

PATH = np.array([[[0, 1, 0], [1, 0, 1], [0, 1, 0]]])  # one graph of 3 nodes
TWO = np.zeros((2, 3, 3), np.uint8)


def stack(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def packed(members, compression=zipfile.ZIP_STORED):
    """Return an archive of named contents."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return buffer.getvalue()


def saved(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def reading_of(data, **limits):
    reading = Reading(Limits(**limits))
    reading.add_bytes("g", len(data))  # as those who read the file do
    return reading


def decoded(data, **limits):
    return list(decode_npz(data, "g", reading_of(data, **limits)))


def refused(data, **limits):
    with pytest.raises(GraphDataError) as caught:
        decode_npz(data, "g", reading_of(data, **limits))
    return str(caught.value)


@pytest.mark.parametrize("kind", ["b1", "u1", "u8", "i2", "i8", "f2", "f4", "f8", ">f8", ">i4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_matrices_may_have_any_type_of_number_and_any_order(kind, order):
    (candidate,) = decoded(stack(adj=np.asarray(PATH, dtype=kind, order=order)))
    assert sorted(candidate.graph.edges) == [(0, 1), (1, 2)]
    assert (candidate.where, candidate.clean, candidate.changes) == ("g, graph 1", True, ())


def test_an_array_in_the_order_of_fortran_is_no_transposed_one():
    adj = np.zeros((2, 3, 3), order="F")
    adj[1, 0, 2] = 1
    with pytest.raises(GraphDataError, match=r"g, graph 2: .*0 -> 2"):
        decoded(stack(adj=adj))
    feat = np.asfortranarray(np.arange(12.0).reshape(2, 3, 2))
    _, second = decoded(stack(adj=TWO, node_feat=feat))
    assert [x for _, x in second.graph.nodes(data="x")] == [[6, 7], [8, 9], [10, 11]]


@pytest.mark.parametrize(
    ("adj", "words"),
    [
        (PATH[0], "adj of type int64 and shape (3, 3). Expected are adj (B,N,N)"),
        (PATH[..., None], "adj of type int64 and shape (1, 3, 3, 1). Expected"),
        (PATH[:, :2], "adj of type int64 and shape (1, 2, 3). Expected"),
        (np.zeros((2, 2, 3)), "adj of type float64 and shape (2, 2, 3). Expected"),
        (PATH.astype(complex), "adj of type complex128 and shape (1, 3, 3). Expected"),
        (np.float64(1), "adj of type float64 and shape (). Expected"),
    ],
)
def test_other_shapes_and_types_of_matrices_are_refused(adj, words):
    assert f"g: {words}" in refused(stack(adj=adj))


@pytest.mark.parametrize(
    "feat",
    [
        np.ones((1, 3)),
        np.ones((1, 3, 2, 1)),
        np.ones((1, 2, 2)),
        np.ones((2, 3, 2)),
        np.ones((1, 3, 2), complex),
        np.full((1, 3, 2), "a"),
    ],
)
def test_other_shapes_and_types_of_features_are_refused(feat):
    words = f"g: node_feat of type {feat.dtype} and shape {feat.shape} beside adj of shape"
    assert words in refused(stack(adj=PATH, node_feat=feat))


@pytest.mark.parametrize("kind", [bool, np.uint8, np.int64, np.float16])
def test_features_become_vectors_of_floats(kind):
    feat = np.array([[[1, 0], [0, 1], [1, 1]]]).astype(kind)
    mask = np.array([[True, False, True]])
    (candidate,) = decoded(stack(adj=PATH * 0, node_feat=feat, node_mask=mask))
    rows = [x for _, x in candidate.graph.nodes(data="x")]
    assert rows == [[1.0, 0.0], [1.0, 1.0]]
    assert {type(entry) for row in rows for entry in row} == {float}


def test_features_are_finite_where_there_are_nodes():
    feat = np.array([[[1.0, 2.0], [np.nan, 1.0]]])
    adj, mask = np.zeros((1, 2, 2)), np.array([[True, False]])
    assert len(decoded(stack(adj=adj, node_feat=feat, node_mask=mask))) == 1
    words = "g, graph 1: attribute 'x' holds NaN or infinity"
    assert words in refused(stack(adj=adj, node_feat=feat))
    assert words in refused(stack(adj=adj, node_feat=feat, node_mask=~mask))


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        (np.array([1]), "sizes of type int64 and shape (1,), but integers of shape (2,)"),
        (np.array([[1, 1]]), "sizes of type int64 and shape (1, 2), but integers of shape (2,)"),
        (np.array([1.0, 1.0]), "sizes of type float64 and shape (2,), but integers"),
        (np.array([True, True]), "sizes of type bool and shape (2,), but integers"),
        (np.array([1, 4]), "sizes between 1 and 4, but adj has 0 to 3 nodes"),
        (np.array([1, -1]), "sizes between -1 and 1, but adj has 0 to 3 nodes"),
        (np.array([1, 255], np.uint8), "sizes between 1 and 255, but adj has 0 to 3 nodes"),
        (np.array([1, 0]), "g, graph 2: no nodes"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(sizes, words):
    assert words in refused(stack(adj=TWO, sizes=sizes))


def test_sizes_are_the_numbers_of_first_nodes_that_exist():
    for kind in (np.int64, np.uint8):
        found = decoded(stack(adj=TWO, sizes=np.array([3, 1], kind)))
        assert [len(candidate.graph) for candidate in found] == [3, 1]


@pytest.mark.parametrize("others", [{}, {"sizes": np.zeros(0, int)}])
def test_a_stack_without_graphs_is_refused(others):
    """Before memory is taken for one of its nodes, of which there may be billions."""
    words = "g: no graphs in adj of shape (0, 1000000000, 1000000000)"
    adj = np.zeros((0, 10**9, 10**9), np.uint8)
    assert words in refused(stack(adj=adj, **others))


@pytest.mark.parametrize(
    "mask",
    [
        np.ones((1, 2), bool),
        np.ones(3, bool),
        np.ones((1, 3)),
        np.array([[0, 1, 2]]),
        np.array([[0, 1, -1]]),
    ],
)
def test_masks_that_do_not_fit_are_refused(mask):
    words = f"g: node_mask of type {mask.dtype} and shape {mask.shape}, but true/false of shape"
    assert words in refused(stack(adj=PATH, node_mask=mask))


@pytest.mark.parametrize("kind", [bool, np.uint8, np.int64])
def test_masks_say_which_nodes_exist(kind):
    (candidate,) = decoded(stack(adj=PATH, node_mask=np.ones((1, 3), kind)))
    assert len(candidate.graph) == 3
    adj = np.array([[[0, 0, 1], [0, 0, 0], [1, 0, 0]]])
    (candidate,) = decoded(stack(adj=adj, node_mask=np.array([[1, 0, 1]]).astype(kind)))
    assert (list(candidate.graph), list(candidate.graph.edges)) == ([0, 1], [(0, 1)])
    words = refused(stack(adj=PATH, node_mask=np.array([[1, 0, 1]]).astype(kind)))
    assert "g, graph 1: an edge at a node that node_mask marks as absent" in words


def test_names_of_arrays():
    both = stack(adj=PATH, sizes=np.array([3]), node_mask=np.ones((1, 3), bool))
    assert "found the arrays adj, node_mask, sizes. Expected" in refused(both)
    assert "found the arrays (none). Expected" in refused(packed([]))
    names = [f"{k}{'n' * 40}" for k in range(10, 21)]
    listed = ", ".join(name[:40] for name in names[:10])
    words = refused(stack(**{name: np.zeros(1) for name in names}))
    assert f"g: found the arrays {listed}. Expected" in words
    twice = packed([("adj.npy", saved(PATH)), ("adj", saved(PATH))])
    assert "g: two arrays of one name. Expected" in refused(twice)


def test_arrays_of_other_names_are_not_read():
    others = [("notes.txt", b"text"), ("other.npy", saved(np.array([{}]))), ("x.npy", b"")]
    (candidate,) = decoded(packed([("adj.npy", saved(PATH)), *others]))
    assert len(candidate.graph) == 3


UNREADABLE = {
    "objects": saved(PATH.astype(object)),
    "of no size": saved(PATH.astype("U1")).replace(b"<U1", b"<U0"),
    "negative": saved(PATH).replace(b"(1, 3, 3), ", b"(1, 3,-3), "),
    "negative twice": saved(PATH).replace(b"(1, 3, 3), ", b"(1,-3,-3), "),
    "negative and empty": saved(PATH).replace(b"(1, 3, 3), ", b"(-1, 0,0), "),
    "too short": saved(PATH)[:-1],
    "too long": saved(PATH) + b"x",
    "no header": b"\x93NUMPY\x01\x00",
    "text": b"text",
}


@pytest.mark.parametrize("name", UNREADABLE)
@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_contents_that_are_no_array_of_numbers_are_refused(name, compression):
    data = packed([("adj.npy", UNREADABLE[name])], compression)
    assert "g: not a readable .npz file (ValueError)" in refused(data)


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compressions_that_numpy_does_not_write_are_refused(compression):
    data = packed([("adj.npy", saved(PATH))], compression)
    assert "g: not a readable .npz file (ValueError)" in refused(data)


def test_a_wrong_checksum_is_noticed():
    content = saved(TWO)
    data = packed([("adj.npy", content)])
    place = data.index(content) + len(content) - 1  # an entry of a matrix
    for end in (0, 1):
        damaged = data[:place] + bytes([end]) + data[place + 1 :]
        if end:
            assert "g: not a readable .npz file (BadZipFile)" in refused(damaged)
        else:
            assert len(decoded(damaged)) == 2


class Counting(Reading):
    """Counts how often the time was looked at."""

    ticks = 0

    def tick(self, where):
        self.ticks += 1
        super().tick(where)


def test_the_time_is_looked_at_for_every_graph():
    reading = Counting()
    decode_npz(stack(adj=np.zeros((100, 1, 1), np.uint8)), "g", reading)
    assert reading.ticks >= 100


def test_memory_that_is_not_there_is_no_damage(monkeypatch):
    def large(*_):
        raise MemoryError

    monkeypatch.setattr(stored_arrays, "_header", large)
    with pytest.raises(MemoryError):
        decode_npz(stack(adj=np.zeros((1, 2, 2), np.uint8)), "g", Reading())


def test_large_arrays_are_read_a_megabyte_at_a_time():
    adj, reading = np.zeros((1, 3500, 3500), np.uint8), Counting()
    adj[0, 3498, 3499] = adj[0, 3499, 3498] = 1
    (candidate,) = decode_npz(stack(adj=adj), "g", reading)
    assert list(candidate.graph.edges) == [(3498, 3499)]
    assert 12 <= reading.ticks <= 20


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ({"max_nodes": 2}, "g, graph 1: 3 nodes, but at most 2"),
        ({"max_total_nodes": 2}, "g, graph 1: more than 2 nodes in all graphs up to this one"),
        ({"max_total_nodes": 5}, "g, graph 2: more than 5 nodes in all graphs up to this one"),
        ({"max_total_nodes": 1}, "g: more than 1 nodes in all graphs up to this one"),
        ({"max_total_edges": 3}, "g, graph 2: more than 3 edges in all graphs up to this one"),
    ],
)
def test_limits_are_told_where_they_are_passed(limit, words):
    data = stack(adj=np.concatenate([PATH, PATH]))
    assert len(decoded(data, max_nodes=3, max_total_nodes=6, max_total_edges=4)) == 2
    assert words in refused(data, **limit)


def test_edges_are_counted_before_they_are_looked_at():
    data = stack(adj=np.full((1, 4, 4), 5))
    assert "g, graph 1: more than 5 edges in all graphs up to this one" in refused(
        data, max_total_edges=5
    )
    assert "non-binary weight 5" in refused(data, max_total_edges=6)


def test_bytes_of_arrays_count_and_not_those_of_the_file():
    adj, feat = np.zeros((1, 50, 50), "i1"), np.ones((1, 50, 3), "f4")
    buffer = io.BytesIO()
    np.savez_compressed(buffer, adj=adj, node_feat=feat)
    number = 2500 + 150 * (4 + 16)
    assert len(decoded(buffer.getvalue(), max_bytes=number)) == 1
    assert f"g: more than {number - 1} bytes" in refused(buffer.getvalue(), max_bytes=number - 1)


def test_what_is_written():
    graphs = [nx.path_graph(3), nx.path_graph(2)]
    with np.load(io.BytesIO(encode_npz(graphs))) as arrays:
        assert set(arrays) == {"adj", "node_mask"}
        assert arrays["adj"].dtype == np.uint8
        assert arrays["adj"].tolist() == [
            [[0, 1, 0], [1, 0, 1], [0, 1, 0]],
            [[0, 1, 0], [1, 0, 0], [0, 0, 0]],
        ]
        assert arrays["node_mask"].tolist() == [[True] * 3, [True, True, False]]
    for graph in graphs:
        for k in graph:
            graph.nodes[k]["x"] = [k / 3]
    found = decoded(encode_npz(graphs))
    assert [[x for _, x in c.graph.nodes(data="x")] for c in found] == [
        [[0.0], [1 / 3], [2 / 3]],
        [[0.0], [1 / 3]],
    ]
    del graphs[1].nodes[0]["x"]
    with pytest.raises(GraphDataError, match="no attribute 'x'"):
        encode_npz(graphs)


def test_repairs_are_made():
    reading = Reading(repairs=Repairs(undirected=True, drop_self_loops=True))
    (candidate,) = decode_npz(stack(adj=np.triu(np.ones((1, 2, 2)))), "g", reading)
    assert list(candidate.graph.edges) == [(0, 1)]
    assert candidate.changes == ("made undirected", "self-loops dropped")
