"""Crafted GraphML and GML files."""

from __future__ import annotations

from campaigns.bomb_parts import MB, Bomb, files, numbers, wide_names

_KEY = b'<key id="k" for="node" attr.name="%s" attr.type="%s"/>'
_NODE = b'<node id="0"><data key="k">%s</data></node>'
_WIDE = "\U0001f600".encode()
"""A text that holds it takes four bytes per character."""


def _xml(inner: bytes, before: bytes = b"") -> bytes:
    return b"<graphml>" + before + b"<graph>" + inner + b"</graph></graphml>"


def graphml_texts() -> list[Bomb]:
    """Return GraphML files whose texts, names, comments or defaults want memory or time."""

    def brackets() -> bytes:
        return (b"<" * 8000 + _WIDE) * (60 * MB // 8004)

    return files(
        "graphml",
        "g.graphml",
        {
            "< and wide characters in CDATA": lambda: (
                _xml(_NODE % (b"<![CDATA[" + brackets() + b"]]>"), _KEY % (b"a", b"string")) + b"<"
            ),
            "comment of 60 MB of <": lambda: _xml(
                b"<!--" + brackets() + b"-->" + b'<node id="0"/>'
            ),
            "60 wide texts of one node": lambda: (
                b"<graphml>"
                + numbers('<key id="{0}" attr.name="{0}"/>', 60)
                + b'<graph><node id="0">'
                + b"".join(
                    b'<data key="%d">%s</data>' % (k, b"x" * (MB - 9) + _WIDE) for k in range(60)
                )
            ),
            "name of 62 MB, UTF-16": lambda: (
                f'<graphml><graph><node id="{chr(0x3C3C) * (31 * MB)}"/></graph></graphml>'
            ).encode("utf-16"),
            "60 names of 1 MB": lambda: _xml(
                b"".join(b"<%s%s/>" % (b"a" * (MB - 9 - k), "\u4e00".encode()) for k in range(60))
            ),
            "default of 1 MB, 100,000 nodes": lambda: _xml(
                numbers('<node id="{}"/>', 10**5),
                b'<key id="k" attr.name="a"><default>' + b"x" * MB + b"</default></key>",
            ),
            "60 wide defaults": lambda: (
                b"<graphml>"
                + b"".join(
                    b'<key id="%d" attr.name="%d"><default>%s</default></key>'
                    % (k, k, b"x" * (MB - 9) + _WIDE)
                    for k in range(60)
                )
            ),
            "9,000 defaults, a million nodes": lambda: _xml(
                numbers('<node id="{}"/>', 10**6),
                numbers('<key id="{0}" attr.name="{0}"><default>1</default></key>', 9000),
            ),
            "9,000 defaults, a million edges": lambda: _xml(
                b'<node id="0"/>' + b'<edge source="0" target="0"/>' * 10**6,
                numbers('<key id="{0}" attr.name="{0}"><default>1</default></key>', 9000),
            ),
        },
    )


def graphml() -> list[Bomb]:
    """Return other GraphML files."""
    laughs = b"".join(b'<!ENTITY a%d "%s">' % (k, b"&a%d;" % (k - 1) * 10) for k in range(1, 12))
    return files(
        "graphml",
        "g.graphml",
        {
            "attribute of 40 MB": lambda: _xml(b'<node id="0" a="' + b"x" * (40 * MB) + b'"/>'),
            "name of 40 MB": lambda: _xml(b'<node id="' + b"x" * (40 * MB) + b'"/>'),
            "text of 40 MB": lambda: _xml(_NODE % (b"x" * (40 * MB)), _KEY % (b"a", b"string")),
            "comment of 60 MB": lambda: _xml(
                b"<!--" + b"x" * (60 * MB) + b"-->" + b'<node id="0"/>'
            ),
            "comments between letters": lambda: _xml(
                _NODE % (b"a<!---->" * (7 * MB)), _KEY % (b"a", b"string")
            ),
            "20 million levels": lambda: b"<a>" * (20 * MB),
            "100,000 levels, closed": lambda: b"<a>" * 10**5 + b"</a>" * 10**5,
            "130,000 attributes": lambda: _xml(
                b'<node id="0" ' + numbers('a{}="" ', 10**5)[: MB - 99] + b"/>"
            ),
            "five million attribute names": lambda: _xml(numbers('<b a{}=""/>', 4 * 10**6)),
            "four million element names": lambda: _xml(numbers("<a{}/>", 5 * 10**6)),
            "two million keys": lambda: _xml(
                b"", numbers('<key id="{}" attr.name="n"/>', 15 * 10**5)
            ),
            "ten million empty elements": lambda: _xml(b"<b/>" * (15 * MB)),
            "three million nodes": lambda: _xml(numbers('<node id="{}"/>', 25 * 10**5)),
            "nodes named by edges only": lambda: _xml(
                numbers('<edge source="{0}" target="a{0}"/>', 10**6)
            ),
            "two million attributes": lambda: _xml(
                b'<node id="0">' + b'<data key="k">1</data>' * (25 * 10**5) + b"</node>",
                _KEY % (b"a", b"int"),
            ),
            "number of a million digits": lambda: _xml(
                _NODE % (b"9" * 10**6), _KEY % (b"a", b"int")
            ),
            "NaN": lambda: _xml(_NODE % b"nan", _KEY % (b"x", b"double")),
            "infinite weight": lambda: _xml(
                _NODE % b"1" + b'<edge source="0" target="0"><data key="k">inf</data></edge>',
                _KEY % (b"weight", b"double"),
            ),
            "billion laughs": lambda: b'<!DOCTYPE a [<!ENTITY a0 "a">' + laughs + b"]><a>&a11;</a>",
            "billion laughs, UTF-16": lambda: ('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>').encode(
                "utf-16"
            ),
            "external entity": lambda: (
                b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///dev/zero">]><a>&b;</a>'
            ),
            "wide names, then edges": lambda: _xml(
                wide_names('<node id="{}"/>')
                + b'<node id="1"/><node id="2"/>'
                + b'<edge source="1" target="2"/>' * 1_350_000
            ),
            "a million name spaces": lambda: _xml(numbers('<b xmlns:a{}="u"/>', 10**6)),
            "60 MB of processing instructions": lambda: _xml(b"<?a b?>" * (8 * MB)),
            "CDATA of 60 MB": lambda: _xml(
                _NODE % (b"<![CDATA[" + b"x" * (60 * MB) + b"]]>"), _KEY % (b"a", b"string")
            ),
            "graphs within graphs": lambda: _xml(b"<graph>" * 10**6),
            "a million graphs": lambda: b"<graphml>" + b"<graph/>" * 10**6 + b"</graphml>",
            "unknown encoding": lambda: b'<?xml version="1.0" encoding="zip"?><a/>',
            "open tag of 60 MB": lambda: b"<graphml " + b" " * (60 * MB),
            "five million <": lambda: b"<" * (60 * MB),
            "five million character references": lambda: _xml(b"&#65;" * (10 * MB)),
        },
    )


def gml() -> list[Bomb]:
    """Return GML files."""

    def graph(inner: bytes) -> bytes:
        return b"graph [ " + inner + b" ]"

    return files(
        "gml",
        "g.gml",
        {
            "15 million levels": lambda: b"a [ " * (15 * MB),
            "5,000 levels": lambda: b"graph [" * 5000 + b"]" * 5000,
            "ten million ]": lambda: b"]" * (10 * MB),
            "string of 60 MB": lambda: graph(b'node [ id "' + b"x" * (60 * MB) + b'" ]'),
            "string without end": lambda: b'graph [ a "' + b"x" * (60 * MB),
            "key of 60 MB": lambda: b"k" * (60 * MB),
            "number of 60 MB": lambda: graph(b"node [ id " + b"9" * (60 * MB) + b" ]"),
            "number of 10,000 digits": lambda: graph(b"node [ id " + b"9" * 10**4 + b" ]"),
            "60 MB of dots": lambda: b"graph [ a " + b"." * (60 * MB),
            "digits and dots": lambda: b"graph [ a " + b"1." * (30 * MB),
            "three million nodes": lambda: graph(numbers("node [ id {} ]", 3 * 10**6)),
            "nodes named by edges only": lambda: graph(
                numbers("edge [ source {0} target a{0} ]", 15 * 10**5)
            ),
            "wide names, then edges": lambda: graph(
                wide_names('node[id"{}"]')
                + b"node[id 1]node[id 2]"
                + b"edge[source 1 target 2]\n" * 1_750_000
            ),
            "ten million attributes of one node": lambda: graph(
                b"node [ id 0 " + numbers("a{} 1 ", 5 * 10**6) + b"]"
            ),
            "one key fifteen million times": lambda: b"a 1 " * (15 * MB),
            "a million graphs": lambda: b"graph [ ] " * (6 * MB),
            "60 MB of spaces": lambda: graph(b"\n" * (60 * MB)),
            "60 MB of comments": lambda: graph(b"#\n" * (30 * MB)),
            "text of 2 MB": lambda: graph(b'node [ id 0 a "' + b"&#65;" * 400_000 + b'" ]'),
            "60 texts of 1 MB of &": lambda: graph(
                b"".join(b'node [ id %d a "%s" ] ' % (k, b"&a" * (MB // 2)) for k in range(60))
            ),
            "one feature of three million values": lambda: graph(
                b"node [ id 0 " + b'x"ab"' * (3 * 10**6) + b" ] node ["
            ),
            "one feature of three million wide values": lambda: graph(
                b"node [ id 0 " + b'x"%s"' % _WIDE * (28 * 10**5) + b" ] node ["
            ),
            "five million times directed": lambda: graph(
                b"node [ id 0 ] edge [ source 0 target 0 "
                + b'directed"%s"' % _WIDE * (45 * 10**5)
                + b" ]"
            ),
            "wide key of 60 MB": lambda: b"k" * (60 * MB) + _WIDE,
            "wide word of 60 MB": lambda: graph(b"node [ a k" + b"k" * (60 * MB) + _WIDE),
            "wide text of 60 MB": lambda: graph(b'node [ a "' + _WIDE * (15 * MB) + b'"'),
            "text of 12 MB of references": lambda: graph(
                b'node [ id 0 a "' + _WIDE + b"&#x0001f600;" * (MB - 1) + b'" ] node ['
            ),
            "NaN": lambda: graph(b"node [ id 0 x NAN ]"),
            "infinite weight": lambda: graph(
                b"node [ id 0 ] edge [ source 0 target 0 weight INF ]"
            ),
            "not UTF-8": lambda: graph(b'node [ id 0 a "\xff" ]'),
            "controls": lambda: bytes(range(32)) * MB,
            "1.4 million parallel edges": lambda: graph(
                b"node [ id 0 ] node [ id 1 ]" + b"edge [ source 0 target 1 ]\n" * (2 * MB)
            ),
        },
    )
