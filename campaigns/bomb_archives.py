"""Crafted archives of arrays."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Iterable
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
