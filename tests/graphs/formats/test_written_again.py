"""What GraphML and TU folders write can be read again; what could not is refused when writing."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from graphscore.errors import GraphDataError
from graphscore.graphs.formats.graphml import decode_graphml, encode_graphml
from graphscore.graphs.formats.tu import decode_tu, encode_tu
from graphscore.graphs.limits import Reading


def test_graphml_has_10000_attributes_at_most():
    """A name counts once for each type of its values, because a key has one type."""
    graph = nx.empty_graph(2)
    graph.nodes[0].update({f"a{k}": 1 for k in range(9_999)})
    graph.nodes[1]["a0"] = "text"
    (candidate,) = decode_graphml(encode_graphml(graph), "g", Reading())
    assert dict(candidate.graph.nodes(data=True)) == dict(graph.nodes(data=True))
    graph.nodes[1]["a1"] = "text"
    with pytest.raises(GraphDataError, match=r"have 10001 different attributes, .* GraphML\. Rem"):
        encode_graphml(graph)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_whole_number_of_graphml_has_4300_digits_at_most(sign):
    graph = nx.empty_graph(1)
    graph.nodes[0]["size"] = sign * 10**4299
    (candidate,) = decode_graphml(encode_graphml(graph), "g", Reading())
    assert candidate.graph.nodes[0] == graph.nodes[0]
    graph.nodes[0]["size"] *= 10
    with pytest.raises(GraphDataError, match="cannot write GraphML: Exceeds the limit"):
        encode_graphml(graph)


def test_a_key_after_the_graph_is_not_found():
    """Keys come first in GraphML."""
    key = '<key id="k" for="node" attr.name="size"/>'
    graph = '<graph><node id="a"><data key="k">1</data></node></graph>'
    for text in (f"<graphml>{graph}{key}</graphml>", f"<graphml>{graph}</graphml>"):
        with pytest.raises(GraphDataError, match="no key 'k'; a <key> is expected before the <gr"):
            decode_graphml(text.encode(), "g", Reading())


def test_a_line_of_features_has_1048576_characters_at_most():
    graph = nx.empty_graph(1)
    graph.nodes[0]["x"] = [1.5] * 209_714 + [15.125]
    (candidate,) = decode_tu(encode_tu("P", [graph]), "P", Reading())
    assert candidate.graph.nodes[0] == graph.nodes[0]
    graph.nodes[0]["x"][0] = 11.5
    words = r"graph 1, node 0: attribute 'x' takes 1048577 characters, but 1 to 1048576 are"
    with pytest.raises(GraphDataError, match=words):
        encode_tu("P", [graph])


def test_a_vector_without_numbers_has_no_line():
    graph = nx.empty_graph(1)
    graph.nodes[0]["x"] = np.empty(0)
    with pytest.raises(GraphDataError, match="graph 1, node 0: attribute 'x' takes 0 characters"):
        encode_tu("P", [graph])


@pytest.mark.parametrize("sign", [1, -1])
def test_labels_are_below_two_to_62(sign):
    graph = nx.empty_graph(1)
    graph.nodes[0]["label"] = sign * (2**62 - 1)
    (candidate,) = decode_tu(encode_tu("P", [graph]), "P", Reading())
    assert candidate.graph.nodes[0] == graph.nodes[0]
    graph.nodes[0]["label"] += sign
    with pytest.raises(GraphDataError, match="graph 1, node 0: a label of 63 bits, but a whole"):
        encode_tu("P", [graph])
