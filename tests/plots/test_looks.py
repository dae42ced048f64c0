"""Pictures show what nodes and edges carry, with a key; other pictures stay as they were."""

from __future__ import annotations

import io
from functools import partial
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex

from graphscore.errors import GraphDataError
from graphscore.graphs import AttributeSettings, Schema
from graphscore.plots import draw_comparison
from graphscore.plots.communities import communities
from graphscore.plots.figure import new_figure
from graphscore.plots.graphs import comparison, draw_graph
from graphscore.plots.layouts import layout
from graphscore.plots.looks import (
    EDGE_LOOKS,
    ELEMENTS,
    NEGATIVE,
    NODE_LOOKS,
    OTHER_NODES,
    PALETTE,
    THINNEST,
    WIDEST,
    WIDTH,
    EdgeLook,
    Looks,
)


def path(nodes=(), edges=(), **names):
    """A path whose nodes and edges have these attributes, and its schema."""
    graph = nx.path_graph(max(len(nodes), len(edges) + 1))
    for k, attributes in enumerate(nodes):
        graph.nodes[k].update(attributes)
    for k, attributes in enumerate(edges):
        graph.edges[k, k + 1].update(attributes)
    return graph, Schema.of([graph], AttributeSettings(**names))


def typed(values, attribute="kind"):
    return path([{attribute: value} for value in values], node_type=attribute)


def figure_of(graph, schema):
    return comparison({"one": [graph]}, 1, 1, schema)


def drawn(figure, kind):
    """All collections of a kind in the only graph of a figure."""
    (axis,) = [axis for axis in figure.axes if axis.get_position().height > 0.2]
    return [part for part in axis.collections if isinstance(part, kind)]


def texts(figure):
    """What the key says: title and labels of each part."""
    return {
        legend.get_title().get_text(): [text.get_text() for text in legend.get_texts()]
        for legend in figure.legends
    }


def lines(figure):
    """Colour, width and dashes of each line of each edge, in the order in which they are drawn."""
    return [
        (to_hex(part.get_color()[0]), round(float(width), 3), part.get_linestyle()[0][1])
        for part in drawn(figure, LineCollection)
        for width in part.get_linewidth()
    ]


def as_expected(graph, axis, coloured):
    """How graphs are drawn that carry nothing."""
    where, community = layout(graph), dict.fromkeys(graph, 0)
    if coloured:
        community = communities(graph)
    inside = [edge for edge in graph.edges if community[edge[0]] == community[edge[1]]]
    between = [edge for edge in graph.edges if community[edge[0]] != community[edge[1]]]
    scale = min(1.0, 30 / max(1, len(graph)))
    for edges, colour in ((inside, "#8d99ae"), (between, "#d62828")):
        nx.draw_networkx_edges(graph, where, edges, width=0.7, edge_color=colour, ax=axis)
    nx.draw_networkx_nodes(
        graph,
        where,
        ax=axis,
        node_size=[scale * (8 + 2.5 * degree) for _, degree in graph.degree],
        node_color=[PALETTE[community[node] % len(PALETTE)] for node in graph],
        linewidths=0,
    )
    axis.set_aspect("equal", adjustable="datalim")
    axis.margins(0.08)


def told_communities():
    graph = nx.complete_graph(6)
    nx.set_node_attributes(graph, {node: node % 3 for node in graph}, "community")
    return graph


KEY = {"communities": ["one", "another", "and so on", "edge between two"]}


@pytest.mark.parametrize(
    ("graph", "coloured"),
    [
        pytest.param(nx.empty_graph(3), False, id="no edges"),
        pytest.param(nx.path_graph(1), False, id="one node"),
        pytest.param(nx.connected_caveman_graph(6, 6), True, id="communities"),
        pytest.param(nx.disjoint_union(nx.cycle_graph(4), nx.path_graph(3)), False, id="parts"),
        pytest.param(nx.random_labeled_tree(30, seed=1), False, id="tree"),
        pytest.param(nx.gnp_random_graph(20, 0.3, seed=1), False, id="random"),
        pytest.param(nx.watts_strogatz_graph(16, 4, 0.2, seed=1), False, id="ring"),
        pytest.param(told_communities(), True, id="told communities"),
        # of no interest without a schema
        pytest.param(typed("CNO", "element")[0], False, id="not asked for"),
    ],
)
def test_colours_are_communities_and_the_key_says_so(graph, coloured):
    """Those of graphs that carry nothing; without communities there is one colour and no key."""
    pixels = []
    looks = Looks.of([graph], Schema())
    for draw in (partial(as_expected, coloured=coloured), partial(draw_graph, looks=looks)):
        figure = new_figure(2, 2)
        draw(graph, figure.subplots())
        figure.canvas.draw()
        pixels.append(np.asarray(figure.canvas.buffer_rgba()).copy())
    assert (pixels[0] == pixels[1]).all()
    figure = comparison({"a": [graph], "b": []}, 4, 4, Schema())
    assert texts(figure) == (KEY if coloured else {})
    width, height = figure.get_size_inches().tolist()
    assert width == 2 * 4 * 1.15 + 0.4
    assert height == 1.65 if not coloured else height > 1.65


def test_colours_are_those_of_most_graphs():
    """All graphs of a picture have communities, or none; those without nodes do not count."""
    caves, ring = nx.connected_caveman_graph(6, 6), nx.watts_strogatz_graph(16, 4, 0.2, seed=1)
    assert texts(comparison({"a": [caves, caves, ring]})) == KEY
    assert texts(comparison({"a": [caves], "b": [ring, nx.empty_graph(0)]})) == {}
    assert texts(comparison({"a": []})) == {}


def test_types_of_nodes_have_colours_in_their_order():
    """The key names the types that are there, not those that only the schema has."""
    graph, _ = typed("baab")
    schema = Schema.of([typed("abc")[0]], AttributeSettings(node_type="kind"))
    figure = figure_of(graph, schema)
    (nodes,) = drawn(figure, PathCollection)
    first, second, third = (look.colour for look in NODE_LOOKS[:3])
    assert [to_hex(c) for c in nodes.get_facecolor()] == [second, first, first, second]
    assert texts(figure) == {"kind": ["a", "b"]}
    handles = [handle.get_markerfacecolor() for handle in figure.legends[0].legend_handles]
    assert handles == [first, second]
    assert third not in handles


def test_the_looks_of_types_are_all_different():
    assert len(set(NODE_LOOKS)) == len(set(EDGE_LOOKS)) == 12
    assert {look.marker for look in NODE_LOOKS} == {"o", "s"}


def test_of_many_types_the_most_frequent_have_looks_of_their_own():
    """The first types are rare: they are the others."""
    values = [f"t{k:02d}" for k in range(15) for _ in range(1 if k < 3 else 2)]
    figure = figure_of(*typed(values))
    assert texts(figure) == {"kind": [f"t{k:02d}" for k in range(3, 15)] + ["others (3)"]}
    shapes = drawn(figure, PathCollection)
    colours = [to_hex(colour) for nodes in shapes for colour in nodes.get_facecolor()]
    assert len(shapes) == 2  # circles and squares
    assert colours.count(OTHER_NODES.colour) == 3
    assert len(colours) == len(values)


def test_chemical_elements_have_their_usual_colours():
    """Ions have shapes; a name or value that is no element's gives ordinary colours."""
    figure = figure_of(*typed(["C", "N", "N+", "O", "O-"], "element"))
    shapes = [[to_hex(c) for c in nodes.get_facecolor()] for nodes in drawn(figure, PathCollection)]
    carbon, nitrogen, oxygen = ELEMENTS["C"], ELEMENTS["N"], ELEMENTS["O"]
    assert shapes == [[carbon, nitrogen, oxygen], [nitrogen], [oxygen]]
    for values, name in ((["C", "N"], "kind"), (["C", "X"], "element")):
        (nodes,) = drawn(figure_of(*typed(values, name)), PathCollection)
        assert to_hex(nodes.get_facecolor()[0]) == NODE_LOOKS[0].colour


def test_names_are_shown_as_they_are():
    """No mathematics, nothing left out, in one line, cut where they are long."""
    values = ["$\\frac$", "_a", "b\nc", "d\x1b[31m", "long " * 10, ""]
    figure = figure_of(*typed(values, "_$\\frac$_"))
    cut = "long long long long lon…"
    shown = {"''", "$\\frac$", "_a", "b c", "d\\x1b[31m", cut}
    ((title, labels),) = texts(figure).items()
    assert (title, set(labels), len(labels)) == ("_$\\frac$_", shown, 6)
    figure.savefig(io.BytesIO())


def test_types_of_edges_have_kinds_of_lines():
    figure = figure_of(*path(edges=[{"rel": k} for k in range(7)], edge_type="rel"))
    grey, orange = EDGE_LOOKS[0].colour, EDGE_LOOKS[6].colour
    found = lines(figure)
    assert [(colour, round(width / WIDTH)) for colour, width, _ in found] == [
        *((grey, 1), (grey, 1)),  # solid, dashed
        *((grey, 3), ("#ffffff", 1)),  # double
        (grey, 1),  # dotted
        *((grey, 5), ("#ffffff", 3), (grey, 1)),  # triple
        *((grey, 1), (orange, 1)),
    ]
    solid, dashed = found[0][2], found[1][2]
    assert solid is None
    assert len(dashed) == 2
    assert texts(figure) == {"rel": list("0123456")}


def test_bonds_have_their_usual_lines():
    """Not those of their alphabetical order."""
    bonds = [{"bond": bond} for bond in ("single", "double", "triple")]
    figure = figure_of(*path(edges=bonds, edge_type="bond"))
    widths = [round(width / WIDTH) for _, width, _ in lines(figure)]
    assert widths == [1, 3, 1, 5, 3, 1]


def test_communities_keep_their_colours_where_only_edges_carry_something():
    graph = told_communities()
    nx.set_edge_attributes(graph, 2.0, "w")
    schema = Schema.of([graph], AttributeSettings(edge_weight="w"))
    figure = figure_of(graph, schema)
    (nodes,) = drawn(figure, PathCollection)
    assert [to_hex(colour) for colour in nodes.get_facecolor()] == [*PALETTE[:3]] * 2
    assert {colour for colour, *_ in lines(figure)} == {"#8d99ae", "#d62828"}


def test_widths_follow_weights():
    """From the smallest to the largest, and the key says of three what they mean."""
    graph, _ = path(edges=[{"w": w} for w in (1.5, 2.0, 3.5)])
    figure = figure_of(graph, Schema(edge_weight={"name": "w"}))
    found = sorted(width for _, width, _ in lines(figure))
    quarter = THINNEST + (WIDEST - THINNEST) / 4
    assert found == pytest.approx([THINNEST, quarter, WIDEST], abs=1e-3)
    assert texts(figure)["w"] == ["1.5", "2.5", "3.5"]
    key = [handle.get_linewidth() for handle in figure.legends[0].legend_handles]
    assert key == pytest.approx([THINNEST, (THINNEST + WIDEST) / 2, WIDEST])


def test_weights_on_a_logarithmic_scale():
    scale = {"name": "w", "log": True}
    graph, _ = path(edges=[{"w": w} for w in (1.0, 10.0, 100.0)], edge_weight="w")
    figure = figure_of(graph, Schema(edge_weight=scale))
    found = [width for _, width, _ in lines(figure)]
    assert sorted(found) == pytest.approx([THINNEST, (THINNEST + WIDEST) / 2, WIDEST], abs=1e-3)
    graph.edges[0, 1]["w"] = 0.0  # what a model may draw: exp(-1000)
    assert texts(figure_of(graph, Schema(edge_weight=scale)))["w"] == ["0", "50", "100"]


def test_negative_weights_have_a_colour():
    """Their widths are those of the same weight without sign."""
    weights = [{"w": w} for w in (-4.0, 1.0, 4.0)]
    figure = figure_of(*path([{"k": 1}] * 4, weights, node_type="k", edge_weight="w"))
    found = lines(figure)
    assert [(colour, width) for colour, width, _ in found] == [
        *((EdgeLook().colour, THINNEST), (EdgeLook().colour, WIDEST)),
        (NEGATIVE, WIDEST),
    ]
    assert texts(figure)["w"] == ["1", "2", "4", "negative"]


def test_equal_weights_have_the_ordinary_width():
    figure = figure_of(*path(edges=[{"w": 7}, {"w": 7}], edge_weight="w"))
    assert {width for _, width, _ in lines(figure)} == {WIDTH}
    assert texts(figure) == {"w": ["7"]}


def test_triple_lines_are_not_wider_than_the_widest():
    edges = [{"bond": "triple", "w": 2.0}, {"bond": "single", "w": 1.0}]
    figure = figure_of(*path(edges=edges, edge_type="bond", edge_weight="w"))
    assert max(width for _, width, _ in lines(figure)) <= 5 / 3 * WIDEST


def test_one_feature_is_a_colour_with_a_colour_bar():
    import matplotlib as mpl

    nodes = [{"$\\frac$": charge} for charge in (-1.0, 0.0, 1.0)]
    figure = figure_of(*path(nodes, node_features=["$\\frac$"]))
    figure.savefig(io.BytesIO())
    (drawn_nodes,) = drawn(figure, PathCollection)
    expected = mpl.colormaps["viridis"]([0.0, 0.5, 1.0])
    assert drawn_nodes.get_facecolor() == pytest.approx(expected)
    (bar,) = [axis for axis in figure.axes if axis.get_position().height < 0.2]
    assert bar.get_title(loc="left") == "$\\frac$"
    assert [label.get_text() for label in bar.get_xticklabels()] == ["-1", "0", "1"]


@pytest.mark.parametrize("types", [{}, {"node_type": "kind"}])
def test_features_that_are_not_drawn_are_named(types):
    nodes = [{"kind": "a", "x": 1.0, "y": 2.0}] * 2
    features = ["x"] if types else ["x", "y"]
    figure = figure_of(*path(nodes, node_features=features, **types))
    assert f"not shown: {', '.join(features)}" in texts(figure)


def test_the_key_is_below_the_graphs_and_inside_the_figure():
    """Whatever the figure's width, no part covers a graph, another part, or is cut."""
    nodes = [{"kind": f"a type with a long name {k}"} for k in range(15)]
    edges = [{"rel": f"r{k}", "w": float(k)} for k in range(14)]
    graph, schema = path(nodes, edges, node_type="kind", edge_type="rel", edge_weight="w")
    for columns in (1, 2, 5):
        figure = comparison({"one": [graph]}, columns, 2, schema)
        renderer = figure.canvas.get_renderer()
        boxes = [legend.get_window_extent(renderer) for legend in figure.legends]
        lowest = min(axis.get_window_extent(renderer).y0 for axis in figure.axes)
        assert len(boxes) == 3
        assert all(box.y1 < lowest and box.y0 > 0 for box in boxes)
        assert all(box.x0 > 0 and box.x1 < figure.bbox.width for box in boxes)
        for one, other in pairwise(boxes):
            assert one.x1 < other.x0 or one.y0 > other.y1


def test_numbers_of_the_colour_bar_are_not_cut():
    graph, schema = path([{"x": -1e100}, {"x": 1e100}], node_features=["x"])
    figure = figure_of(graph, schema)
    renderer = figure.canvas.get_renderer()
    bar = min(figure.axes, key=lambda axis: axis.get_position().height)
    boxes = [label.get_window_extent(renderer) for label in bar.get_xticklabels()]
    assert all(box.x0 > 0 and box.x1 < figure.bbox.width and box.y0 > 0 for box in boxes)


@pytest.mark.parametrize(
    "graph", [nx.empty_graph(0), nx.empty_graph(2)], ids=["no nodes", "no edges"]
)
def test_graphs_without_edges_or_nodes_can_be_drawn(tmp_path, graph):
    nx.set_node_attributes(graph, "a", "kind")
    nx.set_node_attributes(graph, 1.5, "x")
    for more in (
        {"node_type": {"name": "kind", "values": ["a"]}},
        {"node_features": [{"name": "x"}]},
    ):
        bonds = {"name": "bond", "values": ["single"]}
        schema = Schema(edge_type=bonds, edge_weight={"name": "w"}, **more)
        draw_comparison({"none": [], "one": [graph]}, tmp_path / "x.png", schema=schema)


def test_a_graph_without_an_attribute_is_named(tmp_path):
    """By its group and its number there; nothing is written."""
    graph, schema = typed("ab")
    groups = {"first": [graph, graph], "second": [graph, nx.path_graph(2)]}
    with pytest.raises(GraphDataError, match="second: graph 2, node 0: no attribute 'kind'"):
        draw_comparison(groups, tmp_path / "x.png", schema=schema)
    other, _ = typed("ac")
    with pytest.raises(GraphDataError, match=r"one: graph 1, node 1.*'c', which is none of the"):
        draw_comparison({"one": [other]}, tmp_path / "x.png", schema=schema)
    assert list(tmp_path.iterdir()) == []
