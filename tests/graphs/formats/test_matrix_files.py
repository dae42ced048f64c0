"""Matrices in files of numpy, scipy and Matrix Market: what is read, and what is refused."""

from __future__ import annotations

import io

import networkx as nx
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from graphscore.errors import GraphDataError
from graphscore.graphs import read_graphs, write_graphs
from graphscore.graphs.formats.matrix_files import decode_npy
from graphscore.graphs.formats.matrix_market import decode_matrix_market
from graphscore.graphs.formats.npz import decode_npz
from graphscore.graphs.limits import Limits, Reading

CYCLE = nx.to_numpy_array(nx.cycle_graph(5))
EDGES = [(0, 1), (0, 4), (1, 2), (2, 3), (3, 4)]
PATTERN = b"%%MatrixMarket matrix coordinate pattern symmetric\n"


def saved(save, *args, **options):
    file = io.BytesIO()
    save(file, *args, **options)
    return file.getvalue()


def edges(candidates):
    return [(len(c.graph), list(c.graph.edges(data=True))) for c in candidates]


def test_an_array_is_one_matrix_or_many():
    for kind in (np.uint8, np.float32, bool):
        one = decode_npy(saved(np.save, CYCLE.astype(kind)), "a.npy", Reading())
        assert edges(one) == [(5, [(*edge, {}) for edge in EDGES])]
    stack = np.zeros((2, 6, 6))
    stack[1, :5, :5] = CYCLE
    many = decode_npy(saved(np.save, np.asfortranarray(stack)), "a.npy", Reading())
    assert edges(many) == [(6, []), (6, [(*edge, {}) for edge in EDGES])]


SPARSE = [
    (decode_npz, saved(sp.save_npz, make(CYCLE * factor).asformat(layout)), factor)
    for make in (sp.coo_matrix, sp.coo_array)
    for layout in ("csr", "csc", "coo")
    for factor in (1, 0.5)
]
MARKET = [
    (decode_matrix_market, saved(scipy.io.mmwrite, matrix), factor)
    for factor in (1, 0.5)
    for matrix in (CYCLE * factor, sp.coo_matrix(CYCLE * factor))
]
NUMPY = [(decode_npy, saved(np.save, CYCLE * factor), factor) for factor in (1, 0.5)]


@pytest.mark.parametrize(("decode", "data", "factor"), SPARSE + MARKET + NUMPY)
def test_entries_are_the_attribute_that_is_asked_for(decode, data, factor):
    """Otherwise they have to be 1."""
    asked = decode(data, "m", Reading(edge_attributes=["length"]))
    assert edges(asked) == [(5, [(*edge, {"length": factor}) for edge in EDGES])]
    both = decode(data, "m", Reading(edge_attributes=["length", "weight"]))
    assert edges(both) == [(5, [(*edge, {"weight": factor}) for edge in EDGES])]
    if factor == 1:
        assert edges(decode(data, "m", Reading())) == [(5, [(*edge, {}) for edge in EDGES])]
        return
    with pytest.raises(GraphDataError, match=r"m: non-binary weight 0.5 at row 0, column 1"):
        decode(data, "m", Reading())


def test_a_matrix_market_file_is_one_graph_of_a_folder(tmp_path):
    (tmp_path / "2.mtx").write_bytes(PATTERN + b"% made\n\n2 2 1\n2 1\n")
    scipy.io.mmwrite(tmp_path / "10.mtx", CYCLE)
    assert [len(graph) for graph in read_graphs(tmp_path)] == [2, 5]


def sparse(**changes):
    arrays = {"format": b"csr", "shape": [2, 2], "data": [1, 1], "indices": [1, 0]}
    arrays |= {"indptr": [0, 1, 2]} | changes
    return saved(np.savez, **{name: a for name, a in arrays.items() if a is not None})


@pytest.mark.parametrize(
    ("decode", "data", "words"),
    [
        (decode_npy, b"no array", "not a readable .npy file"),
        (decode_npy, saved(np.save, CYCLE)[:-9], "not a readable .npy file .* truncated"),
        (decode_npy, saved(np.save, np.array([None, 1])), "hold Python objects, which are"),
        (decode_npy, saved(np.save, CYCLE[:2]), r"shape \(2, 5\), but one adjacency matrix"),
        (decode_npy, saved(np.save, np.zeros((0, 3, 3))), r"shape \(0, 3, 3\)"),
        (decode_npy, saved(np.save, CYCLE[0]), r"shape \(5,\)"),
        (decode_npy, saved(np.save, CYCLE.astype(str)), "adjacency matrix of type <U"),
        (decode_npy, saved(np.save, np.triu(CYCLE)), "f: directed .asymmetric"),
        (decode_npy, saved(np.save, np.stack([CYCLE, CYCLE * 2])), "f, graph 2: non-binary"),
        (decode_npy, saved(np.save, CYCLE * np.nan), "f: NaN at row"),
        (decode_npz, sparse(format=b"bsr"), r"the layout 'bsr'.*tocsr"),
        (decode_npz, sparse(format=[1, 2]), "not a readable sparse matrix"),
        (decode_npz, sparse(indptr=None), "not a readable sparse matrix"),
        (decode_npz, sparse(indptr=[0, 2, 1]), "indptr does not count"),
        (decode_npz, sparse(indptr=[0, 1, 3]), "indptr does not count"),
        (decode_npz, sparse(indptr=[]), "no lists of whole numbers"),
        (decode_npz, sparse(shape=[2, 3]), r"shape \(2, 3\), but a square"),
        (decode_npz, sparse(shape=[0, 0]), r"shape \(0, 0\), but a square"),
        (decode_npz, sparse(shape=2), "not a readable sparse matrix"),
        (decode_npz, sparse(shape=[10**9, 10**9]), "1000000000 nodes, but at most"),
        (decode_npz, sparse(indices=[1, 2]), "do not fit its shape"),
        (decode_npz, sparse(indices=[1, -1]), "do not fit its shape"),
        (decode_npz, sparse(indices=[1.0, 0.0]), "do not fit its shape"),
        (decode_npz, sparse(data=[1]), "do not fit its shape"),
        (
            decode_npz,
            sparse(indptr=[0, 1, 2, 2], shape=[3, 3], data=["1", "1"]),
            "a sparse matrix of type <U1",
        ),
        (decode_matrix_market, b"0 1\n", "not a readable Matrix Market file"),
        (
            decode_matrix_market,
            b"%%MatrixMarket vector array real general\n2\n",
            "not a readable Matrix M",
        ),
        (decode_matrix_market, PATTERN + b"2 2\n", "not a readable Matrix Market file"),
        (decode_matrix_market, PATTERN + b"2 2 x\n", "not a readable Matrix Market file"),
        (decode_matrix_market, PATTERN, "not a readable Matrix Market file"),
        (decode_matrix_market, PATTERN + b"2 3 1\n1 2\n", r"shape \(2, 3\)"),
        (
            decode_matrix_market,
            PATTERN + b"3 3 1\n1 4\n",
            "line 3: .* rows and columns from 1",
        ),
        (decode_matrix_market, PATTERN + b"3 3 2\n1 2\n", "f: 1 entries, but 2 are stated"),
        (decode_matrix_market, PATTERN + b"3 3 99\n1 2\n", "f: 1 entries, but 99 are stated"),
        (decode_matrix_market, PATTERN + b"999999 999999 1\n1 2\n", "999999 nodes, but at most"),
        (
            decode_matrix_market,
            PATTERN.replace(b"pattern", b"complex") + b"2 2 1\n2 1 1 1\n",
            "line 1: not a readable .*complex.*'real', 'integer' or 'pattern'",
        ),
    ],
)
def test_what_is_refused(decode, data, words):
    with pytest.raises(GraphDataError, match=words):
        decode(data, "f", Reading())


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"max_nodes": 4}, "f: 5 nodes, but at most 4 .*--max-nodes 5"),
        ({"max_total_nodes": 4}, "more than 4 nodes in all"),
        ({"max_total_edges": 4}, "more than 4 edges in all"),
        ({"max_seconds": 1e-9}, "checking took more than"),
    ],
)
@pytest.mark.parametrize(("decode", "data"), [s[:2] for s in (SPARSE[0], *MARKET[:2], NUMPY[0])])
def test_limits_hold_for_matrices(decode, data, limits, words):
    with pytest.raises(GraphDataError, match=words):
        decode(data, "f", Reading(Limits(**limits)))


def test_bytes_are_those_that_a_header_declares():
    huge = saved(np.save, CYCLE).replace(b"(5, 5), }          ", b"(99999, 99999), }  ")
    with pytest.raises(GraphDataError, match="f: more than 67108864 bytes"):
        decode_npy(huge, "f", Reading())
    dense = b"%%MatrixMarket matrix array real general\n3000 3000\n" + b"0\n" * 3000**2
    with pytest.raises(GraphDataError, match="f: more than 67108864 bytes"):
        decode_matrix_market(dense, "f", Reading())


def test_matrices_are_not_written(tmp_path):
    with pytest.raises(GraphDataError, match="only read"):
        write_graphs(tmp_path / "a.npy", [nx.path_graph(2)])


DENSE = b"%%MatrixMarket matrix array integer general\n2 2\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (DENSE + b"0\n1\n1\n", r"not as many entries as a matrix of 2 rows has .4"),
        (DENSE + b"0\n1\n1\n0\n0\n", "not as many entries"),
        (DENSE + b"0\n1\n1 0\n", "line 5: .*an entry that is a number"),
        (DENSE + b"0\n1\nx\n", "line 5: .*'x', but an entry"),
        (PATTERN + b"2 2 1\n2 0\n", "rows and columns from 1 to 2"),
        (PATTERN + b"2 2 1\n2\n", "2 whole numbers are expected"),
        (PATTERN + b"2 2 1\n2 1 a\n", "an entry that is a number"),
        (PATTERN.replace(b"pattern", b"real") + b"2 2 1\n2 1\n", "an entry that is a number"),
        (PATTERN + b"2 2 1\n2 -1\n", "2 whole numbers"),
        (PATTERN.replace(b"symmetric", b"skew-symmetric"), "'general' or 'symmetric'"),
    ],
)
def test_lines_of_matrix_market_that_are_refused(text, words):
    with pytest.raises(GraphDataError, match=words):
        decode_matrix_market(text, "f", Reading())


@pytest.mark.parametrize("make", [np.asarray, sp.coo_matrix])
@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
def test_matrix_market_agrees_with_scipy(make, symmetry):
    matrix = nx.to_numpy_array(nx.gnp_random_graph(9, 0.4, seed=3)) * np.arange(1, 10)
    matrix = matrix + matrix.T
    data = saved(scipy.io.mmwrite, make(matrix), symmetry=symmetry)
    (candidate,) = decode_matrix_market(data, "f", Reading(edge_attributes=["weight"]))
    assert np.array_equal(nx.to_numpy_array(candidate.graph), matrix)
