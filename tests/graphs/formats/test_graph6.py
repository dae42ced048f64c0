"""graph6 and sparse6: which lines are read and which are refused, at the edges of both."""

from __future__ import annotations

import networkx as nx
import pytest

from graphscore.errors import GraphDataError
from graphscore.graphs import Repairs
from graphscore.graphs.formats.graph6 import decode_lines, encode_graph6, encode_sparse6
from graphscore.graphs.limits import Limits, Reading

REFUSED = [
    (b"B>", "g line 1: character b'>' at position 2, but"),
    (b"B\x7f", r"g line 1: character b'\x7f' at position 2, but"),
    (b"!w", "g line 1: character b'!' at position 1, but"),
    (b"Bw\n:An!!", "g line 2: character b'!' at position 4, but"),
    (b"\nD", "g line 2: 5 nodes need 2 characters of edges, found 0. The line may be truncated."),
    (b"Bww", "g line 1: 3 nodes need 1 characters of edges, found 2. The line is too long."),
    (b"~", "g line 1: the line ends within the number of nodes"),
    (b"~??", "g line 1: the line ends within the number of nodes"),
    (b"~~?????", "g line 1: the line ends within the number of nodes"),
    (b":~??", "g line 1: the line ends within the number of nodes"),
    (b"~~~?????", f"g line 1: {63 << 30} nodes, but at most 100000 are allowed"),
    (b"?", "g line 1: no nodes"),
    (b":?", "g line 1: no nodes"),
    (b"&AO", "g line 1: digraph6 (directed), but"),
    (b";A", "g line 1: incremental sparse6, but"),
]


@pytest.mark.parametrize(("data", "message"), REFUSED)
def test_a_wrong_line_is_refused_before_any_graph_is_built(data, message):
    """The error names the line and what is wrong with it."""
    with pytest.raises(GraphDataError) as caught:
        decode_lines(data, "g", Reading())
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("size", [b"@", b"~??@", b"~~?????@"])
@pytest.mark.parametrize("kind", [b"", b":"])
def test_the_number_of_nodes_is_read_in_all_three_lengths(kind, size):
    """One node may be written with 1, 4 or 8 characters."""
    (candidate,) = decode_lines(kind + size, "g", Reading())
    assert list(candidate.graph) == [0]


def test_a_line_of_more_than_a_million_characters():
    """Edges are found in all of a long line, and its padding holds none."""
    path = nx.path_graph(3602)
    line = encode_graph6([path])
    assert len(line) > 2**20
    for last in (line[-2], (line[-2] - 63 | 0b11111) + 63):  # the last five bits are padding
        (candidate,) = decode_lines(line[:-2] + bytes([last]), "g", Reading())
        assert len(candidate.graph) == 3602
        assert sorted(candidate.graph.edges) == sorted(path.edges)


@pytest.mark.parametrize("size", [2, 7, 3602])
def test_every_edge_of_graph6_counts_once(size):
    """As many edges as are allowed are read, and one more is refused."""
    line = encode_graph6([nx.path_graph(size)])
    number = size - 1
    assert decode_lines(line, "g", Reading(Limits(max_total_edges=number)))
    data = line + b"A_\n"
    with pytest.raises(
        GraphDataError, match=f"g line 2: more than {number} edges in all graphs up to this one"
    ):
        decode_lines(data, "g", Reading(Limits(max_total_edges=number)))


def test_pairs_of_sparse6_are_counted_before_they_are_looked_at():
    """On two nodes at most three pairs of bits are no edges, so 51 pairs are at least 48 edges."""
    line = b":A_" + b"?" * 16  # 51 times the edge between 0 and 1
    for allowed, message in ((47, "more than 47 edges"), (48, "parallel edges")):
        with pytest.raises(GraphDataError, match=message):
            decode_lines(line, "g", Reading(Limits(max_total_edges=allowed)))


def test_padding_of_sparse6_does_not_count():
    """One loop and two pairs of padding are one edge."""
    reading = Reading(Limits(max_total_edges=1), Repairs(drop_self_loops=True))
    (candidate,) = decode_lines(b":@N", "g", reading)
    assert candidate.changes == ("self-loops dropped",)


def test_graphs_of_lines_need_no_second_check():
    """They are new simple graphs on nodes 0..n-1, and say so."""
    graphs = [nx.empty_graph(2), nx.path_graph(3)]
    data = encode_graph6(graphs) + encode_sparse6(graphs)
    candidates = list(decode_lines(data, "g", Reading()))
    assert [candidate.graph.number_of_edges() for candidate in candidates] == [0, 2, 0, 2]
    assert all(candidate.clean for candidate in candidates)


def test_edges_may_name_the_larger_node_first():
    """The pair is the same in both orders."""
    graph = nx.empty_graph(4)
    graph.add_edges_from([(3, 0), (2, 1), (1, 3)])
    assert encode_graph6([graph]) == nx.to_graph6_bytes(graph, header=False)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 9, 20, 62, 63, 100])
def test_both_kinds_of_line_give_the_graph_that_networkx_wrote(size):
    """Also without edges, and with all of them."""
    for graph in (
        nx.empty_graph(size),
        nx.complete_graph(size),
        nx.gnp_random_graph(size, 0.3, seed=size),
    ):
        data = nx.to_sparse6_bytes(graph, header=False) + nx.to_graph6_bytes(graph, header=False)
        for candidate in decode_lines(data, "g", Reading()):
            assert nx.utils.graphs_equal(candidate.graph, graph)
        assert encode_sparse6([graph]) + encode_graph6([graph]) == data


@pytest.mark.parametrize("container", [bytes, bytearray])
def test_what_is_around_a_line_is_left_out(container):
    """A byte order mark, spaces, ends of lines of any kind and headers."""
    data = b"\xef\xbb\xbf>>graph6<<Bw\r\n \t>>sparse6<<:An \x0b\x0c\r\n\r\n  \n@"
    found = list(decode_lines(container(data), "g", Reading()))
    assert [(c.where, len(c.graph)) for c in found] == [
        ("g line 1", 3),
        ("g line 2", 2),
        ("g line 5", 1),
    ]
    with pytest.raises(GraphDataError, match="g line 2: "):
        decode_lines(container(b"Bw\n\xef\xbb\xbfBw"), "g", Reading())
