"""Crafted files of node-link JSON."""

from __future__ import annotations

from campaigns.bomb_parts import MB, Bomb, files, numbers, wide_names

_ONE = b'{"nodes":[{"id":0}],"edges":[]}'
_TWO = b'{"nodes":[{"id":0},{"id":1}],"edges":['


def _graph(nodes: bytes, edges: bytes = b"") -> bytes:
    return b'{"nodes":[%b],"edges":[%b]}' % (nodes, edges)


def _node(member: bytes) -> bytes:
    return _graph(b'{"id":0,%b}' % member)


def node_link() -> list[Bomb]:
    """Return files of JSON."""
    edge = b'{"source":0,"target":1},'
    nodes = numbers('{{"id":{}}},', 2300)
    pairs = b"".join(
        b'{"source":%d,"target":%d},' % (u, v) for u in range(1150) for v in range(1150, 2300)
    )
    return files(
        "json",
        "g.json",
        {
            "20 million lists in each other": lambda: b"[" * (20 * MB),
            "20 million objects in each other": lambda: b'{"a":' * (10 * MB),
            "20 million empty lists": lambda: b'{"graph":[' + b"[]," * (20 * MB),
            "30 million zeros": lambda: b'{"graph":[' + b"0," * (30 * MB),
            "a million graphs of one node": lambda: [b"[", (_ONE + b",") * (10**6), _ONE, b"]"],
            "2 million graphs of one node": lambda: (_ONE + b"\n") * (2 * 10**6),
            "2 million nodes": lambda: _graph(b"{}," * (2 * MB) + b"{}"),
            "20 million nodes": lambda: _graph(b"{}," * (20 * MB) + b"{}"),
            "100,000 nodes": lambda: _graph(b"{}," * 99_999 + b"{}"),
            "100,000 nodes in a million graphs, then damage": lambda: _ONE * 900_000 + b"{",
            "wide names": lambda: _graph(wide_names('{{"id":"{}"}},')[:-1]),
            "2 million edges, all the same": lambda: [_TWO, edge * (2 * 10**6)],
            "1.3 million edges": lambda: _graph(nodes[:-1], pairs[:-1]),
            "1.3 million edges, one of them to nowhere": lambda: _graph(
                nodes[:-1], pairs + b'{"source":-1,"target":0}'
            ),
            "1.3 million edges, directed at the end": lambda: (
                _graph(nodes[:-1], pairs[:-1])[:-1] + b',"directed":true}'
            ),
            "a text of 60 MB": lambda: _node(b'"a":"%b"' % (b"a" * (60 * MB))),
            "a text of 60 MB that does not end": lambda: b'{"a":"' + b"a" * (60 * MB),
            "30 million escapes": lambda: _node(b'"a":"%b"' % (b"\\n" * (30 * MB))),
            "10 million references": lambda: _node(b'"a":"%b"' % (b"\\u0061" * (10 * MB))),
            "texts of a million references": lambda: _graph(
                b",".join([b'{"a":"%b"}' % (b"\\u20ac" * (MB - 10))] * 10)
            ),
            "wide texts": lambda: _node(
                b",".join(
                    b'"%d":"%b"' % (k, b"a" * (MB - 10) + "\U0001f600".encode()) for k in range(60)
                )
            ),
            "half a character": lambda: _node(b'"a":"\\ud800"'),
            "a name of 60 MB": lambda: b'{"%b":1}' % (b"a" * (60 * MB)),
            "million names in one node": lambda: _node(numbers('"{}":0,', 4 * 10**6)[:-1]),
            "a name a million times in one node": lambda: _node(b'"a":0,' * 10**6 + b'"b":0'),
            "10,000 names in 400 nodes": lambda: _graph(
                (b"{%b}," % numbers('"{}":0,', 9_000)[:-1]) * 400 + b"{}"
            ),
            "four million values": lambda: _graph(b'{"a":0,"b":0,"c":0},' * (10**6) + b"{}"),
            "three million values": lambda: _graph(
                b'{"a":0,"b":0,"c":0,"d":0.5},' * 760_000 + b"{}"
            ),
            "a vector of 30 million numbers": lambda: _node(
                b'"x":[%b0]' % (b"0," * (30 * MB - 100))
            ),
            "a vector of 3 million numbers": lambda: _node(b'"x":[%b0.5]' % (b"1.5," * 3 * 10**6)),
            "a vector of 20 million lists": lambda: _node(b'"x":[%b[]]' % (b"[]," * (20 * MB))),
            "a number of 60 MB": lambda: _node(b'"a":%b' % (b"9" * (60 * MB))),
            "15,000 numbers of 4,000 digits": lambda: _node(
                b'"a":[%b1]' % ((b"9" * 4000 + b",") * 15_000)
            ),
            "a real number of 60 MB": lambda: _node(b'"a":0.%b' % (b"9" * (60 * MB))),
            "a number that is too large": lambda: _node(b'"a":1e999'),
            "NaN": lambda: _node(b'"x":NaN'),
            "60 MB of spaces": lambda: b" " * (60 * MB),
            "60 MB of line ends in a graph": lambda: b"[" + b"\n" * (60 * MB) + _ONE + b"]",
            "commas": lambda: b"[" + b"," * (60 * MB),
            "UTF-16": lambda: ("[" + _ONE.decode() * MB).encode("utf-16"),
            "NUL": lambda: bytes(30 * MB),
            "no graphs": lambda: b"[]",
        },
    ) + files(
        "json",
        "g.jsonl",
        {"a million graphs": lambda: (_ONE + b"\n") * (10**6)},
    )
