"""What GraphML and TU folders write can be read again; what could not is refused when writing."""

from __future__ import annotations

import networkx as nx
import pytest

from graphscore.errors import GraphDataError
from graphscore.graphs.formats.graphml import decode_graphml, encode_graphml
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
