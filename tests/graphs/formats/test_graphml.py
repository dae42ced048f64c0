"""GraphML: which elements are read, which are left out and which are refused."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from graphscore.errors import GraphDataError
from graphscore.graphs import Repairs
from graphscore.graphs.formats import xml_elements
from graphscore.graphs.formats.graphml import decode_graphml, encode_graphml
from graphscore.graphs.limits import Limits, Reading

NODE = '<node id="a"/>'
EDGE = '<edge source="a" target="b"{}/>'
KEY = '<key id="k" for="node" attr.name="size" attr.type="{}"/>'
LONGEST = 2**20


def document(inside="", *, before="", after="", kind="undirected"):
    graph = f'<graph edgedefault="{kind}">{inside}</graph>'
    return f"<graphml>{before}{graph}{after}</graphml>"


def decoded(text, repairs=None):
    return list(decode_graphml(text.encode(), "g", Reading(repairs=repairs)))


def attributes(text):
    """Return the attributes of the nodes of the one graph of a file."""
    (candidate,) = decoded(text)
    return [dict(data) for _, data in candidate.graph.nodes(data=True)]


def refused(text):
    with pytest.raises(GraphDataError) as caught:
        decoded(text)
    return str(caught.value)


def valued(text, kind):
    """Return the value of a node attribute of a type."""
    inside = f'<node id="a"><data key="k">{text}</data></node>'
    return attributes(document(inside, before=KEY.format(kind)))[0]["size"]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        *[("boolean", text, True) for text in ("true", "1", "True", "TRUE", "\n true ")],
        *[("boolean", text, False) for text in ("false", "0", "False")],
        *[(kind, "-12", -12) for kind in ("int", "integer", "long")],
        *[(kind, "2.5e3", 2500.0) for kind in ("float", "double")],
        ("string", "12", "12"),
        ("yfiles", "12", "12"),
        *[(kind, "", "") for kind in ("boolean", "int", "double", "string")],
    ],
)
def test_values_have_the_type_of_their_key(kind, text, value):
    found = valued(text, kind)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("boolean", "yes"),
        ("int", "1.5"),
        ("double", "x"),
        ("vector_float", "1, 2"),
        ("colour", "7"),
        ("double", "0xg"),
    ],
)
def test_values_of_another_or_unknown_type_are_text(kind, text):
    assert valued(text, kind) == text


def test_numbers_may_be_written_as_graph_tool_does():
    assert valued("0x1.8p+1", "double") == 3.0
    assert valued("-0x1p-1", "double") == -0.5
    assert valued("7", "short") == 7


def test_a_key_has_text_by_default_and_may_be_one_of_yfiles():
    keys = '<key id="k" attr.name="size"/><key id="y" yfiles.type="nodegraphics"/>'
    inside = '<node id="a"><data key="k">1</data><data key="y">2</data></node>'
    assert attributes(document(inside, before=keys)) == [{"size": "1", "nodegraphics": "2"}]


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ('<key attr.name="size"/>', "a <key> without id"),
        (KEY.format("int") + '<key id="k" for="node" attr.name="other"/>', "two keys 'k'"),
        (f'<key id="k" for="{"n" * 201}" attr.name="a"/>', "has 201 characters"),
    ],
)
def test_incomplete_keys_are_refused(key, words):
    assert words in refused(document(NODE, before=key))


@pytest.mark.parametrize(
    ("inside", "words"),
    [
        ("<node/>", "no 'id' in a <node> or <edge>"),
        (NODE + '<edge target="a"/>', "no 'source' in a <node> or <edge>"),
        (NODE + '<edge source="a"/>', "no 'target' in a <node> or <edge>"),
        ('<node id="a"><data key="q">1</data></node>', "no key 'q'"),
        ('<node id="a"><data>1</data></node>', "no key None"),
        (NODE + '<edge source="a" target="a"><data key="q"/></edge>', "no key 'q'"),
        (NODE + "<hyperedge/>", "hyperedges are not supported"),
        (NODE * 2, "g: two nodes named 'a'"),
        ("", "g: no nodes"),
    ],
)
def test_incomplete_graphs_are_refused(inside, words):
    assert words in refused(document(inside))


def test_everything_but_nodes_edges_and_their_data_is_left_out():
    before = (
        f"<desc>about <data key='q'/></desc>{KEY.format('int')}"
        "<desc><node/><edge/><hyperedge/><key/><node><data key='q'/></node></desc>"
    )
    inside = (
        "<desc>about</desc><key/><data key='q'>1</data><desc><data key='q'>1</data></desc>"
        "<node id='a'><desc>a</desc><port name='p'/><data key='k'>1</data>"
        "<port name='q'>2<data key='q'>3</data></port></node>"
        "<node id='b'><data key='k'><b><node/></b></data><key/></node>"
        "<edge source='a' target='b'><desc/></edge>"
    )
    (candidate,) = decoded(document(inside, before=before, after="<node/><data/><key id='z' "
                                    "attr.name='z'/>"))  # fmt: skip
    assert dict(candidate.graph.nodes(data=True)) == {0: {"size": 1}, 1: {}}
    assert list(candidate.graph.edges) == [(0, 1)]


def test_data_with_elements_within_is_left_out():
    inside = '<node id="a"><data key="k">\n <b>2</b>\n </data></node><node id="b"/>'
    assert attributes(document(inside, before=KEY.format("int"))) == [{}, {}]


@pytest.mark.parametrize(
    ("inside", "words"),
    [
        ('<node id="a"><data key="k">1<b/></data></node>', "text beside elements within one value"),
        ('<node id="a"><data key="k"><b/>1</data></node>', "text beside elements within one value"),
        (
            '<node id="a">' + "".join(f'<data key="k">{k}</data>' for k in range(3)) + "</node>",
            "two values of 'size' in one <node>",
        ),
        (
            '<node id="a"/><edge source="a" target="a"><data key="w">5</data>'
            '<data key="w">1</data></edge>',
            "two values of 'weight' in one <edge>",
        ),
        ('<group><node id="a"/></group>', "a <node> that is not directly within <graph>"),
        ('<node id="a"><edge/></node>', "an <edge> that is not directly within <graph>"),
        ('<node id="a"/><edge source="a" target="a" directed="no"/>', "'no' where true or false"),
        (f'<node id="a" {"b" * 201}=""/>', "a name of an element or attribute of more than 200"),
        (f"<{'b' * 201}/>", "a name of an element or attribute of more than 200 letters"),
    ],
)
def test_nothing_is_left_out_in_silence(inside, words):
    keys = KEY.format("int") + '<key id="w" attr.name="weight" attr.type="double"/>'
    assert words in refused(document(inside, before=keys))
    names = f'<node id="a" {"b" * 200}=""/><{"c" * 200}/>'
    assert attributes(document(names, before=keys)) == [{}]


def test_attributes_belong_to_the_element_they_are_in():
    inside = (
        '<node id="a"><data key="k">1</data></node><node id="b"/>'
        '<edge source="a" target="b"><data key="k">7</data></edge><node id="c"/>'
    )
    found = attributes(document(inside, before=KEY.format("int")))
    assert found == [{"size": 1}, {}, {}]


def test_attributes_of_nodes_count_16_bytes_while_a_file_is_checked():
    node = '<node id="{}"><data key="k">1</data></node>'
    edge = '<edge source="a" target="b"><data key="k">7</data></edge>'
    inside = node.format("a") + node.format("b") + edge
    data = document(inside, before=KEY.format("int")).encode()
    decode_graphml(data, "g", Reading(Limits(max_bytes=32)))
    with pytest.raises(GraphDataError, match="g: more than 31 bytes"):
        decode_graphml(data, "g", Reading(Limits(max_bytes=31)))


def test_names_may_have_the_prefix_of_a_namespace():
    (candidate,) = decoded(
        '<g:graphml xmlns:g="urn:g"><g:graph edgedefault="undirected"><g:node id="a"/>'
        '<g:node id="b"/><g:edge source="a" target="b"/></g:graph></g:graphml>'
    )
    assert list(candidate.graph.edges) == [(0, 1)]


def test_keys_of_one_id_belong_to_nodes_or_to_edges_or_to_all():
    keys = (
        '<key id="k" for="node" attr.name="size" attr.type="int"/>'
        '<key id="k" for="edge" attr.name="weight" attr.type="double"/>'
        '<key id="a" attr.name="colour"/><key id="n"/>'
    )
    inside = (
        '<node id="a"><data key="k">2</data><data key="a">red</data><data key="n">1</data></node>'
        '<node id="b"/><edge source="a" target="b"><data key="k">1</data></edge>'
    )
    text = document(inside, before=keys)
    assert attributes(text) == [{"size": 2, "colour": "red", "n": "1"}, {}]
    heavy = text.replace(">1</data></edge>", ">2</data></edge>")
    assert "non-binary weight 2.0" in refused(heavy)


def test_a_key_may_be_declared_again():
    """As Cytoscape does for the columns of all of its tables."""
    key = '<key id="SUID" for="node" attr.name="SUID" attr.type="{}"/>'
    inside = '<node id="a"><data key="SUID">7</data></node>'
    again = key.format("long") * 2
    assert attributes(document(inside, before=again)) == [{"SUID": 7}]
    other = key.format("long") + key.format("string")
    assert attributes(document(inside, before=other)) == [{"SUID": "7"}]


def test_a_second_value_of_a_name_has_the_name_of_its_key():
    keys = KEY.format("int") + '<key id="v_size" for="node" attr.name="size" attr.type="int"/>'
    inside = '<node id="a"><data key="k">1</data><data key="v_size">{}</data></node>'
    assert attributes(document(inside.format(1), before=keys)) == [{"size": 1}]
    assert attributes(document(inside.format(2), before=keys)) == [{"size": 1, "v_size": 2}]


@pytest.mark.parametrize("kind", ["", 'attr.type="string"', 'attr.type="double"'])
def test_weights_may_be_text(kind):
    key = f'<key id="w" for="edge" attr.name="weight" {kind}/>'
    inside = NODE + '<node id="b"/><edge source="a" target="b"><data key="w">{}</data></edge>'
    for weight in ("1", "1.0", ""):
        assert len(attributes(document(inside.format(weight), before=key))) == 2
    for weight in ("2", "nan", "one"):
        assert "weight" in refused(document(inside.format(weight), before=key))


@pytest.mark.parametrize(
    ("kind", "said", "is_directed"),
    [
        ("undirected", "", False),
        ("undirected", "false", False),
        ("undirected", "true", True),
        ("undirected", "1", True),
        ("directed", "1", True),
        ("undirected", "0", False),
        ("directed", "", True),
        ("directed", "true", True),
        ("directed", "false", False),
    ],
)
def test_edges_say_whether_they_are_directed(kind, said, is_directed):
    edge = EDGE.format(f' directed="{said}"' if said else "")
    text = document(NODE + '<node id="b"/>' + edge, kind=kind)
    (candidate,) = decoded(text, Repairs(undirected=True))
    assert list(candidate.graph.edges) == [(0, 1)]
    assert candidate.changes == (("made undirected",) if is_directed else ())
    if is_directed:
        assert "directed (asymmetric" in refused(text)
    else:
        assert len(decoded(text)) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<graphml>" + document(NODE) + "</graphml>", "<graph> is not directly within the outer"),
        (f"<graph>{NODE}</graph>", "<graph> is not directly within the outermost element"),
        (document(f'<node id="a"><graph>{NODE}</graph></node>'), "Ungroup the nodes"),
        (
            "<gexf><graph><nodes><node/></nodes></graph></gexf>",
            "it is GEXF; let its name end in .gexf",
        ),
        (document(NODE, after=f"<graph>{NODE}</graph>" * 2), "g: 3 <graph> elements"),
        ("<graphml><node/></graphml>", "g: 0 <graph> elements"),
        (document(NODE)[:-1], "g line 1: not well-formed XML"),
        (document(NODE) + "\n<", "g line 2: not well-formed XML"),
    ],
)
def test_a_file_has_one_graph_at_its_place(text, words):
    assert words in refused(text)


def test_a_text_has_1048576_characters_at_most_also_around_comments():
    half = "é\n" * (LONGEST // 4)
    assert valued(f"{half}<!-- -->{half}", "string") == half + half
    key = KEY.format("string")
    text = f'<node id="a"><data key="k">{half}<!-- -->{half}x</data></node>'
    assert "a text of more than 1048576 characters" in refused(document(text, before=key))


@pytest.mark.parametrize("long", ['<node id="a" b="{}"/>', "<!-- {} -->" + NODE, "<?a {}?>" + NODE])
def test_a_tag_or_comment_has_about_two_megabytes_at_most(long):
    """They are given to the parser in pieces, which holds them until they end."""
    assert attributes(document(long.format("x" * LONGEST))) == [{}]
    assert "a tag or a comment of more than 2097152 bytes" in refused(
        document(long.format("x" * 3 * LONGEST))
    )


def test_markup_is_cut_anywhere():
    """A file is parsed piece by piece, here of one byte more each time."""
    inside = '<node id="\N{GREEK SMALL LETTER ALPHA}"><data key="k">é\n</data></node>'
    for spaces in range(0, len(inside.encode()), 7):
        text = document(
            " " * (xml_elements._PIECE - 80 - spaces) + inside, before=KEY.format("string")
        )
        assert attributes(text) == [{"size": "é\n"}]


DEFAULT = '<key id="{0}" attr.name="{0}" attr.type="{1}" {2}><default>{3}</default></key>'


def test_defaults_hold_for_what_has_no_value_of_its_own():
    keys = (
        DEFAULT.format("size", "int", 'for="node"', 3)
        + DEFAULT.format("name", "string", "", "x")
        + DEFAULT.format("none", "string", 'for="all"', "")
        + DEFAULT.format("length", "int", 'for="edge"', 4)
    )
    inside = '<node id="a"><data key="size">5</data></node><node id="b"/>'
    found = attributes(document(inside, before=keys))
    assert found == [{"size": 5, "name": "x"}, {"size": 3, "name": "x"}]


@pytest.mark.parametrize("key", ['for="edge"', 'for="all"', ""])
def test_the_default_weight_is_checked(key):
    ends = '<node id="a"/><node id="b"/>' + EDGE.format("")
    assert len(attributes(document(ends, before=DEFAULT.format("weight", "double", key, 1.0)))) == 2
    keys = DEFAULT.format("weight", "double", key, 0.5)
    assert "non-binary weight 0.5" in refused(document(ends, before=keys))
    own = '<node id="a"/><node id="b"/><edge source="a" target="b">'
    own += '<data key="weight">1</data></edge>'
    assert len(attributes(document(own, before=keys))) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (document(NODE, after=DEFAULT.format("a", "int", "", 1)), "a <default> after the <graph>"),
        (document("", before=DEFAULT.format("x", "double", "", "nan")), "no nodes"),
    ],
)
def test_defaults_that_are_refused(text, words):
    assert words in refused(text)


def test_defaults_count_for_every_node_that_has_them():
    keys = DEFAULT.format("a", "int", "", 1) + DEFAULT.format("b", "int", 'for="node"', 1)
    data = document(NODE + '<node id="b"/>', before=keys).encode()
    decode_graphml(data, "g", Reading(Limits(max_bytes=64)))
    with pytest.raises(GraphDataError, match="g: more than 63 bytes"):
        decode_graphml(data, "g", Reading(Limits(max_bytes=63)))


def test_a_graph_is_known_to_be_simple_when_it_is_read():
    (candidate,) = decoded(document(NODE))
    assert candidate.clean
    assert candidate.where == "g"


def test_what_is_written_is_read_again():
    graph = nx.path_graph(3)
    values = {"flag": True, "number": -3, "half": np.float32(0.5), "text": "<é&\n\U0001f600>"}
    graph.nodes[0].update(values)
    graph.nodes[1].update({5: 1, "x": [1.0]})
    (candidate,) = decoded(encode_graphml(graph).decode())
    assert dict(candidate.graph.nodes(data=True)) == {0: values, 1: {"5": 1}, 2: {}}
    assert list(candidate.graph.edges) == [(0, 1), (1, 2)]


@pytest.mark.parametrize(
    "data", [{"note": "a\rb"}, {"note": "bell \x07"}, {"be\x07ll": 1}, {"note": "\ud800"}]
)
def test_characters_that_xml_has_not_are_not_written(data):
    graph = nx.path_graph(2)
    graph.nodes[1].update(data)
    with pytest.raises(GraphDataError, match=r"node 1: attribute '.*' holds a character that Gra"):
        encode_graphml(graph)


def test_what_could_not_be_read_again_is_not_written():
    """Names of attributes have 200 characters, texts 1048576."""
    graph = nx.path_graph(2)
    graph.nodes[1]["n" * 200] = "t" * LONGEST
    (candidate,) = decoded(encode_graphml(graph).decode())
    assert candidate.graph.nodes[1] == graph.nodes[1]
    for name, value in (("n" * 201, 1), ("note", "t" * (LONGEST + 1))):
        graph = nx.path_graph(2)
        graph.nodes[1][name] = value
        with pytest.raises(
            GraphDataError, match=r"node 1: the name or text of attribute '[note]+'"
        ):
            encode_graphml(graph)


def test_numbers_that_graphml_has_not_are_not_written():
    graph = nx.path_graph(2)
    graph.nodes[1]["long"] = np.longdouble(1)
    with pytest.raises(GraphDataError, match=r"cannot write GraphML: .*longdouble.*[^.]\.$"):
        encode_graphml(graph)
