"""Crafted archives of arrays."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from campaigns.bomb_parts import MB, Bomb, files


def _npy(shape: str, dtype: str, data: bytes = b"", fortran: bool = False) -> bytes:
    header = f"{{'descr': {dtype}, 'fortran_order': {fortran}, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def _zip(members: Iterable[tuple[str, bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return buffer.getvalue()


def _arrays(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def _changed(data: bytes, mark: bytes, offset: int, new: bytes) -> bytes:
    """Overwrite bytes of the last record of a zip file that starts with this mark."""
    start = data.rindex(mark) + offset
    return data[:start] + new + data[start + len(new) :]


def attributes() -> list[Bomb]:
    """Return archives of arrays with attributes of nodes and edges."""
    one = np.zeros((1, 1, 1), np.uint8)
    tiny = np.zeros((10**6, 1, 1), np.uint8)
    many = np.zeros((1, 4000, 4000), np.uint8)
    many[0, :1000, 2000:3000] = many[0, 2000:3000, :1000] = 1
    late = np.ones(10**6)
    late[-1] = 2

    def named(name: str, values: Any, adj: Any = one) -> Callable[[], bytes]:
        return lambda: _arrays(**{"adj": adj, name: values})

    def declared(name: str, shape: str, dtype: str, data: bytes = b"") -> Callable[[], bytes]:
        return lambda: _zip(
            [("adj.npy", _npy("(1,1,1)", "'|u1'", b"\0")), (name, _npy(shape, dtype, data))]
        )

    return files(
        "npz",
        "g.npz",
        {
            "a text of 16 million characters": declared(
                "node:a.npy", "(1,)", "'<U16000000'", b"a\0\0\0" * (16 * 10**6)
            ),
            "a text of 10^9 characters": declared("node:a.npy", "(1,)", "'<U1000000000'"),
            "10^9 texts": declared("node:a.npy", "(1000000000,)", "'<U1'"),
            "characters that there are not": declared("node:a.npy", "(1,)", "'<U1'", b"\xff" * 4),
            "half a character": declared("node:a.npy", "(1,)", "'<U1'", b"\0\xd8\0\0"),
            "values that are objects": declared("node:a.npy", "(1,)", "'|O'", b"cos\nsystem\n"),
            "values that are dates": named("node:a", np.zeros(1, "M8[s]")),
            "values of no axis": named("node:a", np.zeros(())),
            "values of no width": named("node:a", np.zeros((1, 0))),
            "a vector of 3 million numbers": named("node:a", np.zeros((1, 3 * 10**6), np.uint8)),
            "a vector of 60 million numbers": named("node:a", np.zeros((1, 60 * MB), np.uint8)),
            "values of two million nodes": named("node:a", np.zeros(2 * 10**6, np.uint8), tiny),
            "values of a million nodes": named("node:a", np.zeros(10**6, np.uint8), tiny),
            "texts of a million nodes": named("node:a", np.full(10**6, "abcdefghi"), tiny),
            "says which have one, of another length": lambda: _arrays(
                **{"adj": one, "node:a": np.zeros(1), "node?a": np.ones(60 * MB, bool)}
            ),
            "says which have one, and none has": lambda: _arrays(
                **{"adj": tiny, "node:a": np.zeros(0), "node?a": np.zeros(10**6, bool)}
            ),
            "a million weights": named("edge:weight", np.ones(10**6), many),
            "a million weights, one of them not 1": named("edge:weight", late, many),
            "a million values of edges": named("edge:bond", late, many),
            "too few values of edges": named("edge:bond", late[1:], many),
            "90 attributes": lambda: _arrays(
                **{"adj": one, **{f"node:{k}": np.zeros(1) for k in range(90)}}
            ),
            "a name of 60,000 characters": named(f"node:{'a' * 60_000}", np.zeros(1)),
        },
        ("bond",),
    )


def npz() -> list[Bomb]:
    """Return archives of arrays."""

    def adj(shape: str, dtype: str = "'|u1'", data: bytes = b"", fortran: bool = False) -> bytes:
        return _zip([("adj.npy", _npy(shape, dtype, data, fortran))])

    one = _npy("(1,1,1)", "'|u1'", b"\0")
    good = _arrays(adj=np.zeros((1, 3, 3), np.uint8))
    ones = np.ones((1, 3000, 3000), np.uint8) - np.eye(3000, dtype=np.uint8)
    half = np.zeros((1, 7800, 7800), np.uint8)
    half[0, :1300, 6400:7700] = half[0, 6400:7700, :1300] = half[0, 0, 7799] = 1
    late = np.zeros((60, 1000, 1000), np.uint8)
    late[-1, 0, 1] = 1
    long = b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**30)
    entry, end = b"PK\x01\x02", b"PK\x05\x06"
    return files(
        "npz",
        "g.npz",
        {
            "a graph of 17,000 nodes in 280 KB": lambda: adj(
                "(1,17000,17000)", data=bytes(17000**2)
            ),
            "70 graphs of 950 nodes": lambda: adj("(70,950,950)", data=bytes(70 * 950**2)),
            "8,000 nodes": lambda: adj("(1,8000,8000)", data=bytes(8000**2)),
            "8,000 nodes, column by column": lambda: adj(
                "(1,8000,8000)", data=bytes(8000**2), fortran=True
            ),
            "half precision": lambda: adj("(1,5000,5000)", "'<f2'", bytes(2 * 5000**2)),
            "complete graph of 3,000 nodes": lambda: _arrays(adj=ones),
            "1.7 million edges, one of them directed": lambda: _zip(
                [("adj.npy", _npy("(1,7800,7800)", "'|u1'", half.tobytes()))], zipfile.ZIP_STORED
            ),
            "one-way edge in the last graph": lambda: _arrays(adj=late),
            "no graphs of 10^9 nodes": lambda: _zip(
                [
                    ("adj.npy", _npy(f"(0,{10**9},{10**9})", "'|u1'", b"")),
                    ("sizes.npy", _npy("(0,)", "'<i8'", b"")),
                ]
            ),
            "10^12 graphs without nodes": lambda: adj("(1000000000000,0,0)"),
            "a million graphs of one node": lambda: adj("(1000000,1,1)", data=bytes(10**6)),
            "60 million graphs of one node": lambda: adj("(60000000,1,1)", data=bytes(6 * 10**7)),
            "10^18 nodes in the header": lambda: adj("(1,1000000000,1000000000)"),
            "10^30 entries in the header": lambda: adj(f"(1,{10**15},{10**15})"),
            "entries of no bytes": lambda: adj(f"({10**9},{10**9},{10**9})", "'|V0'"),
            "negative shape": lambda: adj("(-1,3,3)", data=bytes(99)),
            "shape of 60 axes": lambda: adj("(" + "1," * 60 + ")", data=b"\0"),
            "less data than the header says": lambda: adj("(1,900,900)", data=bytes(9)),
            "more data than the header says": lambda: adj("(1,3,3)", data=bytes(10**9)),
            "type object": lambda: adj("(1,3,3)", "'|O'", b"cos\nsystem\n(S'x'\ntR."),
            "type of 10^9 characters": lambda: adj("(1,1,1)", "'<U1000000000'"),
            "structured type": lambda: adj("(1,3,3)", "[('a','<f8'),('b','<f8')]", bytes(144)),
            "complex": lambda: adj("(1,3,3)", "'<c16'", bytes(144)),
            "deep brackets in the header": lambda: adj("(" * 3000 + ")" * 3000),
            "header of 1 GB": lambda: _zip([("adj.npy", long + b" " * 2**30)]),
            "header length over the end": lambda: _zip([("adj.npy", long)]),
            "a million members": lambda: _zip(((f"{k}", b"") for k in range(300_000)), 0),
            "ten thousand members called adj": lambda: _zip([("adj.npy", b"")] * 10_000),
            "two members called adj": lambda: _zip([("adj.npy", one)] * 2),
            "lzma": lambda: _zip([("adj.npy", bytes(MB))], zipfile.ZIP_LZMA),
            "bzip2": lambda: _zip([("adj.npy", bytes(MB))], zipfile.ZIP_BZIP2),
            "size of a member that lies": lambda: _changed(good, entry, 24, b"\xff\xff\xff\x7f"),
            "compressed size that lies": lambda: _changed(good, entry, 20, b"\xff\xff\xff\x7f"),
            "zip64 sizes without their field": lambda: _changed(good, entry, 20, b"\xff" * 8),
            "offset that lies": lambda: _changed(good, entry, 42, b"\xff\xff\xff\x7f"),
            "encrypted": lambda: _changed(good, entry, 8, b"\x01"),
            "unknown compression": lambda: _changed(good, entry, 10, b"\x63"),
            "number of members that lies": lambda: _changed(good, end, 8, b"\xff\xff\xff\xff"),
            "directory size that lies": lambda: _changed(good, end, 12, b"\xff\xff\xff\x7f"),
            "wrong checksum": lambda: _changed(good, entry, 16, bytes(4)),
            "cut off": lambda: good[:-30],
            "features of a billion numbers": lambda: _zip(
                [
                    ("adj.npy", _npy("(1,1,1)", "'|u1'", b"\0")),
                    ("node_feat.npy", _npy("(1,1,1000000000)", "'|u1'")),
                ]
            ),
            "features of 60 million numbers": lambda: _arrays(
                adj=np.zeros((1, 1, 1), np.uint8), node_feat=np.zeros((1, 1, 60 * MB), np.uint8)
            ),
            "features with NaN": lambda: _arrays(
                adj=np.zeros((1, 1, 1), np.uint8), node_feat=np.full((1, 1, 1), np.nan)
            ),
            "mask of another shape": lambda: _arrays(
                adj=np.zeros((1, 1, 1), np.uint8), node_mask=np.ones((60, MB), bool)
            ),
            "all nodes absent": lambda: _arrays(
                adj=np.zeros((1, 9, 9), np.uint8), node_mask=np.zeros((1, 9), bool)
            ),
        },
    )
