"""How what nodes and edges carry looks in a picture: colours, shapes, kinds of lines, widths."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Generic, TypeVar

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from graphscore.graphs.attribute_values import Attributes
from graphscore.graphs.attributes import Scale, Types
from graphscore.graphs.schema import Schema
from graphscore.plots.communities import have_communities
from graphscore.streams import visible

LONGEST_LABEL = 24
"""Characters of a name or value in a key; longer ones are cut."""
WIDTH = 0.7
"""Width of an edge, in points."""
THINNEST, WIDEST = 0.4, 3.2
"""Widths of edges with the smallest and the largest weight."""
COLOUR_MAP = "viridis"
PALETTE = ("#2a6f97", "#e07a5f", "#81b29a", "#f2cc8f", "#6d597a", "#b56576", "#355070", "#bc6c25")
"""Colours of communities; the first is that of nodes without."""
OUTLINE: dict[str, Any] = {"linewidths": 0.4, "edgecolors": "#343a40"}
"""Of nodes whose colours may be light."""


@dataclass(frozen=True)
class NodeLook:
    """Colour and shape of a node."""

    colour: Any
    marker: str = "o"


@dataclass(frozen=True)
class EdgeLook:
    """Colour and kind of line of an edge.

    Attributes:
        lines: parallel lines: 1, 2 or 3.
        dashes: matplotlib's line style.
        layer: edges of a higher one are drawn over those of a lower one.
    """

    colour: str = "#495057"
    lines: int = 1
    dashes: Any = "-"
    layer: int = 0

    def strokes(self, width: float) -> list[tuple[str, float]]:
        """Return colours and widths of lines, each drawn over the one before.

        >>> EdgeLook("black", lines=2).strokes(1.0)
        [('black', 3.0), ('white', 1.0)]
        """
        inner = range(2 * self.lines - 1, 0, -2)
        return [((self.colour, "white")[k % 2], n * width) for k, n in enumerate(inner)]


INSIDE, BETWEEN = EdgeLook("#8d99ae"), EdgeLook("#d62828", layer=1)
"""Looks of edges inside and between communities, of nodes that carry nothing."""

Look = TypeVar("Look", NodeLook, EdgeLook)

# Okabe and Ito's colours, which the colour-blind can tell apart, without black and yellow.
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7")
_SOLID, _DOUBLE, _TRIPLE = EdgeLook(), EdgeLook(lines=2), EdgeLook(lines=3)
_DASHED = EdgeLook(dashes=(0, (4.0, 1.8)))
_DOTTED = EdgeLook(dashes=(0, (1.0, 1.4)))
_DASH_DOTTED = EdgeLook(dashes=(0, (5.0, 1.5, 1.0, 1.5)))
_LINES = (_SOLID, _DASHED, _DOUBLE, _DOTTED, _TRIPLE, _DASH_DOTTED)
NODE_LOOKS = [NodeLook(colour, marker) for marker, colour in product("os", _COLOURS)]
"""Looks of types of nodes, in their order: circles, then squares."""
EDGE_LOOKS = [replace(line, colour=c) for c, line in product(("#495057", "#d55e00"), _LINES)]
"""Looks of types of edges, in their order: grey, then orange."""
OTHER_NODES, OTHER_EDGES = NodeLook("#c4c9d0"), EdgeLook("#c4c9d0")
NEGATIVE = "#7b2cbf"
"""Colour of edges with negative weights."""
BONDS = {"single": _SOLID, "double": _DOUBLE, "triple": _TRIPLE, "aromatic": _DASHED}
ELEMENTS = {
    "H": "#ffffff", "B": "#ffb5b5", "C": "#565656", "N": "#3050f8", "O": "#ff0d0d",
    "F": "#90e050", "Na": "#ab5cf2", "Si": "#daa520", "P": "#ff8000", "S": "#f2d21b",
    "Cl": "#12a512", "Se": "#b8860b", "Br": "#a62929", "I": "#940094",
}  # fmt: skip
"""Usual colours of chemical elements."""
_SHAPE_OF_CHARGE = {"": "o", "+": "s", "-": "^"}


@dataclass(frozen=True)
class Range:
    """The numbers of an attribute in a picture.

    Attributes:
        name: of the attribute.
        steps: the smallest number, one in the middle and the largest; fewer if some are equal.
        norm: matplotlib's map of the smallest and the largest to 0 and 1.
    """

    name: str
    steps: list[float]
    norm: Any

    @classmethod
    def of(cls, scale: Scale, numbers: NDArray[np.float64]) -> Range:
        """Return the range of some numbers."""
        from matplotlib.colors import LogNorm, Normalize

        low, high = float(numbers.min()), float(numbers.max())
        norm = (LogNorm if scale.log and 0 < low < high else Normalize)(low, high)
        middle = float(norm.inverse(0.5))
        steps = np.unique([low, np.round(middle) if scale.whole else middle, high])
        return cls(scale.name, steps.tolist(), norm)

    def labels(self) -> list[str]:
        """Return the steps as texts.

        >>> Range.of(Scale(name="w", whole=True), np.array([1.0, 1950.0])).labels()
        ['1', '976', '1950']
        """
        return [f"{step:.4g}" for step in self.steps]


@dataclass(frozen=True)
class KeyPart:
    """What a key says of one attribute: its name, and the look, width and label of each value."""

    title: str
    entries: Sequence[tuple[NodeLook | EdgeLook, float, str]] = ()

    @property
    def handle_length(self) -> float:
        """How long looks are in the key, in heights of its letters."""
        return 2.6 if any(isinstance(look, EdgeLook) for look, *_ in self.entries) else 1.0


COMMUNITY_KEY = KeyPart(
    "communities",
    [
        (NodeLook(PALETTE[0]), WIDTH, "one"),
        (NodeLook(PALETTE[1]), WIDTH, "another"),
        (NodeLook(PALETTE[2]), WIDTH, "and so on"),
        (BETWEEN, WIDTH, "edge between two"),
    ],
)


@dataclass(frozen=True)
class TypeLooks(Generic[Look]):
    """The looks of types.

    Attributes:
        types: the types.
        looks: of each of them.
        counts: how often each is in the picture.
        others: look of those that have none of their own.
    """

    types: Types
    looks: Sequence[Look]
    counts: Sequence[int]
    others: Look

    @classmethod
    def of(
        cls,
        types: Types,
        attributes: Attributes,
        known: Sequence[Look],
        own: Sequence[Look],
        others: Look,
    ) -> TypeLooks[Look]:
        """Give each type its usual look, or, if one has none, the most frequent types their own.

        Args:
            known: usual looks of all types, or nothing.
            own: looks to give, in the order of the types.
        """
        counts = np.bincount(attributes.indices(types), minlength=len(types.values))
        most_frequent = sorted(np.argsort(-counts, kind="stable")[: len(own)].tolist())
        given = dict(zip(most_frequent, own))
        looks = known or [given.get(k, others) for k in range(len(counts))]
        return cls(types, looks, counts.tolist(), others)

    def of_each(self, attributes: Attributes) -> list[Look]:
        """Return the look of each node or edge."""
        return [self.looks[k] for k in attributes.indices(self.types)]

    def key(self) -> KeyPart:
        """Return the looks of the types that are in the picture."""
        here = [k for k, count in enumerate(self.counts) if count]
        own = [k for k in here if self.looks[k] != self.others]
        entries: list[Any] = [(self.looks[k], WIDTH, brief(str(self.types.values[k]))) for k in own]
        if len(own) < len(here):
            entries.append((self.others, WIDTH, f"others ({len(here) - len(own)})"))
        return KeyPart(brief(self.types.name), entries)


@dataclass(frozen=True)
class Looks:
    """How the nodes and edges of the graphs of one picture look.

    Attributes:
        nodes, edges: looks of their types.
        feature, weight: numbers that are drawn, as colours of nodes and widths of edges.
        negative: whether there are negative weights.
        left_out: names of attributes that are not drawn.
        communities: whether nodes are coloured by community.
    """

    nodes: TypeLooks[NodeLook] | None = None
    edges: TypeLooks[EdgeLook] | None = None
    feature: Range | None = None
    weight: Range | None = None
    negative: bool = False
    left_out: Sequence[str] = ()
    communities: bool = False

    @property
    def carry(self) -> bool:
        """Whether anything is drawn that nodes and edges carry."""
        return replace(self, communities=False) != NO_LOOKS

    @classmethod
    def of(cls, graphs: Sequence[nx.Graph[Any]], schema: Schema) -> Looks:
        """Choose looks for graphs that are drawn side by side.

        Raises:
            GraphDataError: a node or edge without an attribute, or with a value that the schema
                does not have.
        """
        of_nodes, of_edges = (
            Attributes(graphs, "node", "shown"),
            Attributes(graphs, "edge", "shown"),
        )
        found: dict[str, Any] = {}
        if (types := schema.node_type) is not None:
            usual = _elements(types)
            found["nodes"] = TypeLooks.of(types, of_nodes, usual, NODE_LOOKS, OTHER_NODES)
        if (types := schema.edge_type) is not None:
            usual_lines = _bonds(types)
            found["edges"] = TypeLooks.of(types, of_edges, usual_lines, EDGE_LOOKS, OTHER_EDGES)
        if (scale := schema.edge_weight) is not None and any(map(nx.Graph.size, graphs)):
            numbers = of_edges.numbers(scale.name)
            found["weight"] = Range.of(scale, np.abs(numbers))
            found["negative"] = bool((numbers < 0).any())
        features = schema.node_features
        if len(features) > 1 or (features and schema.node_type is not None):
            found["left_out"] = [scale.title for scale in features]
        elif features and any(map(len, graphs)):
            (scale,) = features
            found["feature"] = Range.of(scale, of_nodes.numbers(scale.name))
        if "nodes" not in found and "feature" not in found:
            found["communities"] = have_communities(graphs)
        return cls(**found)

    def of_nodes(self, graph: nx.Graph[Any]) -> list[NodeLook] | None:
        """Return the look of each node; None if it is not one of what they carry."""
        attributes = Attributes([graph], "node", "shown")
        if self.nodes is not None:
            return self.nodes.of_each(attributes)
        if self.feature is None or not len(graph):
            return None
        import matplotlib as mpl

        shares = self.feature.norm(attributes.numbers(self.feature.name))
        return [NodeLook(tuple(rgba)) for rgba in mpl.colormaps[COLOUR_MAP](shares).tolist()]

    def of_edges(
        self, graph: nx.Graph[Any], looks: Sequence[EdgeLook]
    ) -> list[tuple[EdgeLook, float]]:
        """Return the look and the width of each edge.

        Args:
            looks: those that edges without types have.
        """
        attributes, widths = Attributes([graph], "edge", "shown"), [WIDTH] * graph.size()
        if self.edges is not None:
            looks = self.edges.of_each(attributes)
        if self.weight is not None and graph.size():
            numbers = attributes.numbers(self.weight.name)
            widths = self._widths(np.abs(numbers))
            negative = (numbers < 0).tolist()
            looks = [
                replace(look, colour=NEGATIVE, layer=2) if below else look
                for look, below in zip(looks, negative)
            ]
        return list(zip(looks, widths))

    def _widths(self, weights: NDArray[np.float64]) -> list[float]:
        assert self.weight is not None
        if len(self.weight.steps) == 1:
            return [WIDTH] * len(weights)
        lines = max((look.lines for look in self.edges.looks), default=1) if self.edges else 1
        widths = THINNEST + (WIDEST / lines - THINNEST) * np.asarray(self.weight.norm(weights))
        return [float(width) for width in widths]

    def key(self) -> list[KeyPart]:
        """Return what says which look stands for what; nothing if nothing is carried."""
        parts = [COMMUNITY_KEY] if self.communities else []
        parts += [each.key() for each in (self.nodes, self.edges) if each is not None]
        parts = [part for part in parts if part.entries]
        if self.weight is not None:
            widths = self._widths(np.array(self.weight.steps))
            looks = [EdgeLook()] * len(widths)
            entries: list[Any] = list(zip(looks, widths, self.weight.labels()))
            if self.negative:
                entries.append((EdgeLook(NEGATIVE), WIDTH, "negative"))
            parts.append(KeyPart(brief(self.weight.name), entries))
        if self.left_out:
            names = ", ".join(map(brief, self.left_out[:3]))
            more = f" and {len(self.left_out) - 3} more" if len(self.left_out) > 3 else ""
            parts.append(KeyPart(f"not shown: {names}{more}"))
        return parts


NO_LOOKS = Looks()
"""Those of graphs that carry nothing."""


def brief(text: str) -> str:
    r"""Return a text as a short line.

    >>> brief("a\nb"), brief("hydroxymethylglutaryl-coenzyme A")
    ('a b', 'hydroxymethylglutaryl-c…')
    """
    line = visible(" ".join(text.split())) or "''"
    return line if len(line) <= LONGEST_LABEL else line[: LONGEST_LABEL - 1] + "…"


def _elements(types: Types) -> list[NodeLook]:
    """Return the usual looks of chemical elements and their ions; nothing if one has none."""
    found = [re.fullmatch(r"([A-Z][a-z]?)([+-]?)", str(value)) for value in types.values]
    looks = [
        NodeLook(ELEMENTS[each[1]], _SHAPE_OF_CHARGE[each[2]])
        for each in found
        if each is not None and each[1] in ELEMENTS
    ]
    return looks if types.name == "element" and len(looks) == len(types.values) else []


def _bonds(types: Types) -> list[EdgeLook]:
    """Return the usual lines of chemical bonds; nothing if one has none."""
    found = [BONDS.get(str(value)) for value in types.values]
    return [] if None in found else [look for look in found if look is not None]
