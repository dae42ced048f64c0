"""Structural formulae of molecules, drawn by RDKit and shown as lines and areas of matplotlib."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import networkx as nx

from graphscore.errors import GraphDataError, MissingExtraError
from graphscore.graphs import Schema
from graphscore.graphs.molecules import is_molecular, molecule_of, rdkit, sanitised

SIDE = 110
"""Points of a formula in each direction."""
_PER_POINT = 4
"""RDKit's units, which it rounds to one decimal."""


@dataclass(frozen=True)
class Formula:
    """A structural formula.

    Attributes:
        svg: as drawn by RDKit.
    """

    svg: str

    @classmethod
    def of(cls, graph: nx.Graph[Any]) -> Formula:
        """Draw a graph whose nodes are atoms and whose edges are bonds.

        Raises:
            MissingExtraError: RDKit is not installed.
            GraphDataError: a node or edge is no atom or bond.
            ValueError: the molecule is not valid.
        """
        rdkit("Drawing structural formulae")
        from rdkit.Chem.Draw import rdMolDraw2D

        molecule = sanitised(molecule_of(graph, charge_neutral=False))
        if molecule is None:
            raise ValueError("not a valid molecule")
        drawing = rdMolDraw2D.MolDraw2DSVG(SIDE * _PER_POINT, SIDE * _PER_POINT)
        options: Any = drawing.drawOptions()
        options.bondLineWidth = 0.9 * _PER_POINT
        options.fixedBondLength = 17 * _PER_POINT
        options.minFontSize, options.maxFontSize = 4 * _PER_POINT, 8 * _PER_POINT
        options.padding = 0.04
        rdMolDraw2D.PrepareAndDrawMolecule(drawing, molecule)
        drawing.FinishDrawing()
        return cls(drawing.GetDrawingText())

    def draw(self, axis: Any) -> None:
        """Draw it on a matplotlib axis."""
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        kinds = {"M": Path.MOVETO, "L": Path.LINETO, "Q": Path.CURVE3}
        for element in ElementTree.fromstring(self.svg).iter("{http://www.w3.org/2000/svg}path"):
            points, codes = [], []
            for kind, numbers in re.findall(r"([MLQ])([\d\s.,-]+)", element.attrib["d"]):
                places = [float(number) for number in re.findall(r"-?[\d.]+", numbers)]
                points += list(zip(places[::2], places[1::2]))
                codes += [kinds[kind]] * (len(places) // 2)
            path = Path(points, codes)
            if letter := element.get("fill"):
                style = {"facecolor": letter, "linewidth": 0}
            else:
                line = dict(re.findall(r"([\w-]+):([^;]+)", element.attrib["style"]))
                width = float(line["stroke-width"].removesuffix("px")) / _PER_POINT
                style = {"fill": False, "edgecolor": line["stroke"], "linewidth": width}
            axis.add_patch(PathPatch(path, snap=False, **style))
        axis.set_aspect("equal")
        axis.set_xlim(0, SIDE * _PER_POINT)
        axis.set_ylim(SIDE * _PER_POINT, 0)


def formula_of(graph: nx.Graph[Any], schema: Schema) -> tuple[Formula | None, str]:
    """Return the structural formula of a graph, or None, and what is said of the graph.

    There is none for graphs that are no molecules, without RDKit, where RDKit finds no places for
    atoms, and for molecules that are not valid, of which this is said.
    """
    if not is_molecular(schema.names):
        return None, ""
    try:
        return Formula.of(graph), ""
    except (MissingExtraError, GraphDataError, RuntimeError):
        return None, ""
    except ValueError:
        return None, "invalid"
