"""Crafted text files: graph6, sparse6, compressed ones, edge lists and TU folders."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path

from campaigns.bomb_parts import MANY, MB, Bomb, Content, files, numbers, wide_names


def _size(nodes: int) -> bytes:
    """Return the eight characters that declare so many nodes."""
    return b"~~" + bytes((nodes >> 6 * k & 63) + 63 for k in reversed(range(6)))


def _graph6(nodes: int, character: bytes) -> bytes:
    return _size(nodes) + character * ((nodes * (nodes - 1) // 2 + 5) // 6) + b"\n"


def graph6() -> list[Bomb]:
    """Return lines of graph6."""
    return files(
        "graph6",
        "g.g6",
        {
            "2^36 nodes": lambda: b"~~~~~~~~\n",
            "2^36 nodes and 60 MB": lambda: b"~" * (60 * MB),
            "a million nodes without edges": lambda: _size(10**6) + b"\n",
            "100,000 nodes, too short": lambda: _size(10**5) + b"?" * MB,
            "size cut off": lambda: b"~~??",
            "complete graph of 28,000 nodes": lambda: _graph6(28_000, b"~"),
            "28,000 nodes without edges": lambda: _graph6(28_000, b"?"),
            "complete graph, just too many edges": lambda: _graph6(2002, b"~"),
            "complete graph, just few enough edges": lambda: _graph6(2000, b"~"),
            "million graphs of one node": lambda: b"@\n" * 10**6,
            "a million and one graphs": lambda: b"@\n" * (10**6 + 1),
            "32 million lines": lambda: b"@\n" * (32 * MB),
            "999,999 graphs, then damage": lambda: b"@\n" * 999_999 + b"Bw!\n",
            "64 MB of line ends": lambda: b"\n" * (64 * MB),
            "one graph after 60 MB of line ends": lambda: b"\n" * (60 * MB) + b"Bw\n",
            "30 million blank lines": lambda: b" \n" * (30 * MB),
            "60 MB of spaces": lambda: b" " * (60 * MB),
            "60 MB of NUL": lambda: bytes(60 * MB),
            "headers only": lambda: b">>graph6<<\n" * (5 * MB),
            "header repeated in one line": lambda: b">>graph6<<" * (5 * MB),
            "carriage returns": lambda: b"Bw\r" * (10 * MB),
            "digraph6": lambda: b"&" + b"~" * MB,
            "65 MB": lambda: b"Bw\n" * (22 * MB),
        },
    )


def sparse6() -> list[Bomb]:
    """Return lines of sparse6."""
    return files(
        "sparse6",
        "g.s6",
        {
            "2^36 nodes": lambda: b":~~~~~~~~\n",
            "10 bytes, a million nodes": lambda: b":" + _size(10**6) + b"\n",
            "ten lines of a million nodes": lambda: (b":" + _size(10**6) + b"\n") * 10,
            "ten lines of 100,000 nodes": lambda: (b":" + _size(10**5) + b"\n") * 10,
            "eleven lines of 100,000 nodes": lambda: (b":" + _size(10**5) + b"\n") * 11,
            "32 million lines": lambda: b":@\n" * (21 * MB),
            "two nodes, 60 MB of edges": lambda: b":A" + b"?" * (60 * MB),
            "100,000 nodes, 60 MB of edges": lambda: b":" + _size(10**5) + b"?" * (60 * MB),
            "100,000 nodes, 60 MB of padding": lambda: b":" + _size(10**5) + b"~" * (60 * MB),
            "self-loop after ten large graphs": (
                lambda: (b":" + _size(99_999) + b"\n") * 10 + b":A?\n"
            ),
            "parallel edges": lambda: b":" + _size(10**5) + b"?" * (5 * MB),
            "one node, 1 MB": lambda: b":@" + b"~" * MB,
            "empty record": lambda: b":\n" * 1000,
            "incremental": lambda: b";" + b"~" * MB,
            "bad character at the end": lambda: b":" + _size(10**5) + b"?" * (60 * MB) + b"!",
        },
    )


def _member(data: bytes) -> bytes:
    return gzip.compress(data, 6, mtime=0)


def _repeated(member: bytes, number: int) -> Content:
    return lambda: [member] * number


def gzipped() -> list[Bomb]:
    """Return compressed files."""
    zeros, lines, empty = (_member(data) for data in (bytes(10 * MB), b"@\n" * (5 * MB), b""))
    extra = b"\x1f\x8b\x08\x04" + bytes(6) + b"\xff\xff" + bytes(0xFFFF)
    found = files(
        "gzip",
        "g.g6.gz",
        {
            "2 GB of zeros in 200 members": lambda: [zeros] * 200,
            "2 GB of lines in 2 MB": lambda: [lines] * 200,
            "1 GB of lines in one member": lambda: _member(b"?" * (1024 * MB)),
            "two million empty members": lambda: empty * (2 * 10**6),
            "empty members, then a graph": lambda: empty * 10**5 + _member(b"Bw\n"),
            "compressed twice": lambda: _member(zeros * 100),
            "cut off": lambda: zeros[:-9],
            "cut off in the header": lambda: zeros[:7],
            "wrong checksum": lambda: zeros[:-8] + bytes(8),
            "garbage behind": lambda: _member(b"Bw\n") + b"x" * (60 * MB),
            "zeros behind": lambda: [_member(b"Bw\n"), bytes(60 * MB)],
            "name without end": lambda: b"\x1f\x8b\x08\x08" + bytes(6) + b"a" * (60 * MB),
            "long extra fields": lambda: extra * 200,
            "empty blocks": lambda: b"\x1f\x8b\x08\x00" + bytes(6) + b"\0\0\0\xff\xff" * (10 * MB),
            "no gzip": lambda: b"Bw\n",
            "no bytes": lambda: b"",
        },
    )
    for suffix, member in {"graphml": b"<a>", "gml": b"a [ ", "edges": b"1 2 3\n"}.items():
        packed = _member(member * (3 * MB))
        found += files("gzip", f"g.{suffix}.gz", {f"{suffix} of 1 GB": _repeated(packed, 99)})
    return found


def edge_lists() -> list[Bomb]:
    """Return edge lists."""
    return files(
        "edgelist",
        "g.edges",
        {
            "a million nodes declared": lambda: b"# nodes: 1000000\n",
            "100,000 nodes declared": lambda: b"# nodes: 100000\n",
            "10^18 nodes declared": lambda: b"# nodes: 999999999999999999\n",
            "a line of 60 MB": lambda: b"1 " * (30 * MB),
            "many columns": lambda: b"1 " * 400_000,
            "a comment of 60 MB": lambda: b"#" * (60 * MB),
            "60 MB of line ends": lambda: b"\n" * (60 * MB),
            "20 million comments": lambda: b"#\n" * (20 * MB),
            "name of 500,000 digits": lambda: b"9" * 500_000 + b" 1\n",
            "weight of 500,000 digits": lambda: b"1 2 " + b"9" * 500_000,
            "weight 1e999": lambda: b"1 2 1e999\n",
            "three million nodes": lambda: numbers("{}\n", 3 * 10**6),
            "nodes named by edges only": lambda: numbers("{0} a{0}\n", 10**6),
            "100,000 long names": lambda: numbers("{:0199d}\n", 10**5),
            "names of wide characters": lambda: numbers("{:0180d}\U0001f600\n", 10**5),
            "wide names, then four million edges": lambda: [wide_names("{}\n"), b"1 2\n" * MANY],
            "four million edges with a weight": lambda: b"1 2 1.0000\n" * MANY,
            "four million edges with a text": lambda: b"1 2 {'w':''}\n" * MANY,
            "four million loops": lambda: b"5 5           \n" * MANY,
            "60 MB, just too many edges": lambda: [_comments(28), *_pairs(2001, 1000, b"")],
            "a path of 100,000 nodes": lambda: b"".join(
                b"%d %d\n" % (k, k + 1) for k in range(99_999)
            ),
            "one edge ten million times": lambda: b"1 2\n" * (10 * MB),
            "four million edges": lambda: _pairs(2100, 2000, b""),
            "1.9 million edges": lambda: _pairs(2000, 950, b""),
            "1.9 million edges, then a directed one": lambda: _pairs(
                2000, 950, b"5000 1\n1 5000\n"
            ),
            "1.9 million edges, then a repeated one": lambda: _pairs(2000, 950, b"0 2001\n"),
            "1.9 million edges, then a loop": lambda: _pairs(2000, 950, b"7 7\n"),
            "a line of spaces before {": lambda: b"1 2" + b" " * (MB - 20) + b"b {}",
            "60 lines of quotes": lambda: (b"1 2 {" + b"'" * (MB - 20) + b"}\n") * 60,
            "60 lines of escaped quotes": lambda: (
                (b"1 2 {'" + b"\\'" * (MB // 2 - 20) + "\U0001f600".encode() + b"}\n") * 60
            ),
            "60 lines of weights": lambda: (b"1 2 {" + b"'weight':," * (MB // 11) + b"}\n") * 60,
            "UTF-16": lambda: ("1 2\n" * MB).encode("utf-16"),
            "NUL": lambda: bytes(30 * MB),
        },
    )


def _comments(megabytes: int) -> bytes:
    return (b"#" * (MB - 1) + b"\n") * megabytes


def _pairs(tails: int, heads: int, end: bytes) -> Iterable[bytes]:
    for u in range(tails):
        yield b"".join(b"%d %d\n" % (u, v) for v in range(tails, tails + heads))
    yield end


def _two_nodes() -> bytes:
    return b"1\n1\n"


def _one_edge() -> bytes:
    return b"1, 2\n2, 1\n"


def tu() -> list[Bomb]:
    """Return TU folders."""

    def folder(name: str, **contents: Content) -> Bomb:
        parts = {"graph_indicator": _two_nodes, "A": _one_edge, **contents}

        def make(place: Path) -> Path:
            for part, content in parts.items():
                data = content()
                with open(place / f"T_{part}.txt", "wb") as handle:
                    handle.writelines([data] if isinstance(data, bytes) else data)
            return place

        return Bomb("tu", name, make, ("label", "edge_attr"))

    many: dict[str, Content] = {
        "graph_indicator": lambda: b"1\n" * 4000,
        "A": lambda: _arcs(1075),
    }
    return [
        folder("30 million nodes", graph_indicator=lambda: b"1\n" * (30 * MB)),
        folder("100,001 nodes of one graph", graph_indicator=lambda: b"1\n" * (10**5 + 1)),
        folder("1.1 million graphs", graph_indicator=lambda: numbers("{}\n", 11 * 10**5)),
        folder("graph number 10^9", graph_indicator=lambda: b"1\n1000000000\n"),
        folder("number of a million digits", graph_indicator=lambda: b"9" * 10**6),
        folder("negative graph", graph_indicator=lambda: b"-1\n1\n"),
        folder("60 MB of line ends", graph_indicator=lambda: b"\n" * (60 * MB)),
        folder("numbers on one line", graph_indicator=lambda: b"1," * (30 * MB)),
        folder("ten million edges", A=lambda: b"1, 2\n" * (10 * MB)),
        folder("edge of large numbers", A=lambda: b"9" * 10**6 + b", 1\n"),
        folder(
            "1.9 million edges, one of them directed",
            graph_indicator=lambda: b"1\n" * 4000,
            A=lambda: [*_arcs(1300), b"3999, 4000\n"],
        ),
        folder("1.7 million edges", graph_indicator=lambda: b"1\n" * 4000, A=lambda: _arcs(1300)),
        folder("four million loops", A=lambda: b"1,1        \n" * MANY),
        folder(
            "four million loops in the first of a million graphs",
            graph_indicator=lambda: b"".join(b"%d\n" % (10**6 - k) for k in range(10**6)),
            A=lambda: b"5,5\n" * MANY,
        ),
        folder(
            "a million graphs with labels and attributes",
            graph_indicator=lambda: b"".join(b"%d\n" % (k + 1) for k in range(10**6)),
            A=lambda: b"",
            node_labels=lambda: b"".join(b"%d\n" % (300 + k) for k in range(10**6)),
            node_attributes=lambda: b"0.5\n" * 10**6,
        ),
        folder("labels of 60 MB", node_labels=lambda: b"1\n" * (30 * MB)),
        folder("a row of 60 MB", node_attributes=lambda: b"0," * (30 * MB)),
        folder(
            "wide rows",
            graph_indicator=lambda: b"1\n" * 10**5,
            node_attributes=lambda: [b"0," * 300 + b"0\n"] * 10**5,
        ),
        folder("rows for nobody", node_attributes=lambda: b"0\n" * (30 * MB)),
        folder("NaN", node_attributes=lambda: b"nan\n0\n"),
        folder("label of a million digits", node_labels=lambda: b"9" * 10**6 + b"\n1\n"),
        folder("not UTF-8", node_labels=lambda: b"\xff\n1\n"),
        folder("1.2 million edges with labels", **many, edge_labels=lambda: b"7\n" * (2 * 1075**2)),
        folder(
            "1.2 million edges with labels, one of them other in one direction",
            **many,
            edge_labels=lambda: b"7\n" * (2 * 1075**2 - 1) + b"8\n",
        ),
        folder("edge labels for nobody", edge_labels=lambda: b"1\n" * (30 * MB)),
        folder("a row of 60 MB of an edge", edge_attributes=lambda: b"0," * (30 * MB)),
        folder("rows of several lengths", edge_attributes=lambda: b"0, 1\n0\n"),
        folder("NaN of an edge", edge_attributes=lambda: b"0\nnan\n"),
        folder("no nodes", graph_indicator=lambda: b"", A=lambda: b""),
    ]


def _arcs(number: int) -> list[bytes]:
    """Return all edges between the first `number` nodes and the next as many, both ways."""
    return [
        b"".join(b"%d,%d\n%d,%d\n" % (u, v, v, u) for v in range(number + 1, 2 * number + 1))
        for u in range(1, number + 1)
    ]
