"""Molecules are drawn as structural formulae, and others as graphs, which says so."""

from __future__ import annotations

import sys

import networkx as nx
import pytest
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex
from matplotlib.patches import PathPatch

from graphscore.errors import MissingExtraError
from graphscore.graphs import Schema
from graphscore.graphs.molecules import BOND, ELEMENT, rdkit
from graphscore.plots.formulae import SIDE, Formula
from graphscore.plots.graphs import comparison

BONDS = {"name": BOND, "values": ["double", "single", "triple"]}
ATOMS = {"name": ELEMENT, "values": ["C", "N+", "O", "O-", "X"]}
MOLECULES = Schema(node_type=ATOMS, edge_type=BONDS)


@pytest.fixture
def installed():
    """Molecules need RDKit."""
    try:
        rdkit()
    except MissingExtraError:
        pytest.skip("rdkit is not installed")


def chain(*atoms_and_bonds):
    """A chain such as C single C double O."""
    graph = nx.path_graph(len(atoms_and_bonds) // 2 + 1)
    nx.set_node_attributes(graph, dict(enumerate(atoms_and_bonds[::2])), ELEMENT)
    bonds = {(k, k + 1): bond for k, bond in enumerate(atoms_and_bonds[1::2])}
    nx.set_edge_attributes(graph, bonds, BOND)
    return graph


ALDEHYDE = chain("C", "single", "C", "double", "O")
INVALID = chain("C", "triple", "C", "double", "O", "double", "C")
NO_ATOM = chain("C", "single", "X")


def strokes(axis):
    """Colours of the lines and of the letters of a formula."""
    patches = [part for part in axis.patches if isinstance(part, PathPatch)]
    lines = [to_hex(part.get_edgecolor()) for part in patches if not part.get_fill()]
    letters = [to_hex(part.get_facecolor()) for part in patches if part.get_fill()]
    return lines, letters


@pytest.mark.usefixtures("installed")
def test_a_molecule_is_drawn_as_lines_and_letters():
    """Vectors inside the axis, without nodes and without a key."""
    figure = comparison({"one": [ALDEHYDE]}, 1, 1, MOLECULES)
    (axis,) = figure.axes
    lines, letters = strokes(axis)
    assert len(axis.collections) == len(axis.images) == len(figure.legends) == 0
    assert set(letters) == {"#ff0000"}  # O
    assert lines.count("#000000") >= 3  # C-C and one half of each line of C=O
    assert lines.count("#ff0000") == 2
    assert {part.get_linewidth() for part in axis.patches if not part.get_fill()} == {0.9}
    (low, high), (bottom, top) = axis.get_xlim(), axis.get_ylim()
    for part in axis.patches:
        box = part.get_path().get_extents()
        assert low <= box.x0 <= box.x1 <= high
        assert top <= box.y0 <= box.y1 <= bottom


@pytest.mark.usefixtures("installed")
def test_single_and_double_bonds_differ():
    single = Formula.of(chain("C", "single", "C"))
    assert single.svg.count("<path") == 1
    assert Formula.of(chain("C", "double", "C")).svg.count("<path") == 2
    assert f"{SIDE * 4}px" in single.svg


@pytest.mark.usefixtures("installed")
def test_what_is_no_valid_molecule_is_drawn_as_a_graph():
    """Under the word invalid if that is the reason; the key is for these graphs only."""
    charged = chain("C", "single", "N+", "single", "O-")
    graphs = [charged, INVALID, NO_ATOM, nx.empty_graph(0)]
    figure = comparison({"all": graphs}, 4, 1, MOLECULES)
    formula, invalid, other, _ = figure.axes
    assert [axis.get_title() for axis in figure.axes] == ["", "invalid", "", ""]
    assert formula.patches
    assert not formula.collections
    for axis, nodes in ((invalid, 4), (other, 2)):
        assert not axis.patches
        shapes = [part for part in axis.collections if isinstance(part, PathCollection)]
        assert sum(len(part.get_offsets()) for part in shapes) == nodes
    labels = [[text.get_text() for text in legend.get_texts()] for legend in figure.legends]
    assert labels == [["C", "O", "X"], ["double", "single", "triple"]]


@pytest.mark.usefixtures("installed")
def test_other_attributes_make_no_molecule():
    schema = Schema(node_type=ATOMS)
    (axis,) = comparison({"one": [ALDEHYDE]}, 1, 1, schema).axes
    assert axis.collections
    assert not axis.patches


def test_without_rdkit_molecules_are_graphs(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdkit", None)
    figure = comparison({"one": [ALDEHYDE, INVALID]}, 2, 1, MOLECULES)
    assert all(axis.collections and not axis.patches for axis in figure.axes)
    assert [axis.get_title() for axis in figure.axes] == ["", ""]
    assert len(figure.legends) == 2


def test_no_charge_is_added_to_what_is_drawn():
    """A neutral nitrogen with four bonds is not valid, as `sample` says of it."""
    graph = nx.star_graph(4)
    nx.set_node_attributes(graph, {node: "N" if node == 0 else "C" for node in graph}, "element")
    nx.set_edge_attributes(graph, "single", "bond")
    with pytest.raises(ValueError, match="not a valid molecule"):
        Formula.of(graph)
