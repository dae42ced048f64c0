"""What is measured of molecules, on ones whose answers are known."""

from __future__ import annotations

import json
import sys

import networkx as nx
import numpy as np
import pytest
import torch

from graphscore.errors import GraphDataError, GraphscoreWarning, MissingExtraError
from graphscore.graphs.molecules import BOND, ELEMENT, number_of_invalid
from graphscore.metrics import MoleculeSet, evaluate_molecules

ORDERS = {"-": "single", "=": "double", "#": "triple"}


@pytest.fixture
def _rdkit():
    pytest.importorskip("rdkit")


@pytest.fixture
def _chemnet(_rdkit):
    pytest.importorskip("fcd_torch")


def molecule(elements, *bonds):
    """A graph of elements such as "C C O" and bonds such as "0-1", "1=2"."""
    graph = nx.Graph()
    for node, element in enumerate(elements.split()):
        graph.add_node(node, **{ELEMENT: element})
    for bond in bonds:
        (sign,) = (sign for sign in ORDERS if sign in bond)
        one, other = bond.split(sign)
        graph.add_edge(int(one), int(other), **{BOND: ORDERS[sign]})
    return graph


ETHANOL = molecule("C C O", "0-1", "1-2")
ACETONE = molecule("C C O C", "0-1", "1=2", "1-3")
BENZENE = molecule("C C C C C C", "0=1", "1-2", "2=3", "3-4", "4=5", "5-0")
NITRO = molecule("C N+ O O-", "0-1", "1=2", "1-3")
NITRO_NEUTRAL = molecule("C N O O-", "0-1", "1=2", "1-3")
OXONIUM = molecule("C O C C", "0-1", "1-2", "1-3")
PENTAVALENT_CARBON = molecule("C F F F F F", "0-1", "0-2", "0-3", "0-4", "0-5")
# RDKit makes the charged form of it when it reads SMILES, which corrects a valence.
PENTAVALENT_NITROGEN = molecule("C N O O", "0-1", "1=2", "1=3")
BIVALENT_FLUORINE = molecule("C F C", "0-1", "1-2")
APART = molecule("C C O C", "0-1", "1-2")
EMPTY = nx.Graph()


@pytest.mark.usefixtures("_rdkit")
@pytest.mark.parametrize(
    ("graph", "valid", "as_is"),
    [
        (ETHANOL, True, True),
        (BENZENE, True, True),
        (NITRO, True, True),
        (NITRO_NEUTRAL, True, False),
        (OXONIUM, True, False),
        (APART, True, True),
        (PENTAVALENT_CARBON, False, False),
        (PENTAVALENT_NITROGEN, False, False),
        (BIVALENT_FLUORINE, False, False),
        (EMPTY, False, False),
    ],
)
def test_validity_with_and_without_charges(graph, valid, as_is):
    found = MoleculeSet.of([graph])
    assert (len(found.smiles), found.valid_as_is) == (valid, as_is)


def reversed_nodes(graph):
    """The same molecule whose nodes are in another order and have other names."""
    copy = nx.Graph()
    copy.add_nodes_from((f"x{node}", data) for node, data in reversed(list(graph.nodes(data=True))))
    copy.add_edges_from((f"x{u}", f"x{v}", data) for u, v, data in graph.edges(data=True))
    return copy


@pytest.mark.usefixtures("_rdkit")
def test_shares_count_what_they_say():
    samples = [
        *(ETHANOL, reversed_nodes(ETHANOL), APART),  # one molecule, ethanol
        *(ACETONE, NITRO, NITRO_NEUTRAL, reversed_nodes(BENZENE)),
        PENTAVALENT_CARBON,
    ]
    result = evaluate_molecules(
        samples, [ETHANOL, ACETONE], training=[BENZENE, reversed_nodes(ACETONE)], fcd=False
    )
    counts = {
        name: (getattr(result, name).count, getattr(result, name).out_of)
        for name in ("valid", "valid_as_is", "connected", "unique", "novel")
    }
    assert counts == {
        "valid": (7, 8),
        "valid_as_is": (6, 8),
        "connected": (6, 8),
        "unique": (4, 7),
        "novel": (2, 4),
    }
    assert result.unique.share == 4 / 7
    assert result.unique.low < 4 / 7 < result.unique.high
    assert (result.sample_count, result.reference_count, result.training_count) == (8, 2, 2)
    assert (result.fcd, result.reference_form) == (None, "graphs")
    assert "RDKit" in result.protocol
    assert "without stereochemistry; NSPDK" in result.protocol
    assert json.loads(json.dumps(result.to_dict()))["novel"]["share"] == 0.5


@pytest.mark.usefixtures("_rdkit")
def test_stereochemistry_counts_in_smiles_but_makes_no_molecule_new():
    left, right = "C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O"
    found = MoleculeSet.of([left, right])
    assert len(set(found.smiles)) == 2
    assert len(set(found.plain)) == 1
    result = evaluate_molecules([left], [left], training=[right], fcd=False)
    assert result.novel.share == 0
    assert result.nspdk == pytest.approx(0)
    assert "from SMILES, with stereochemistry" in result.protocol


@pytest.mark.usefixtures("_rdkit")
def test_graphs_and_smiles_are_the_same_molecules():
    graphs = MoleculeSet.of([ETHANOL, ACETONE, BENZENE, NITRO])
    texts = MoleculeSet.of(["OCC", "CC(C)=O", "C1=CC=CC=C1", "C[N+](=O)[O-]"])
    assert graphs.plain == texts.plain
    assert evaluate_molecules(graphs, texts, fcd=False).nspdk == pytest.approx(0, abs=1e-12)
    other = evaluate_molecules([ETHANOL, NITRO], texts, fcd=False)
    assert other.nspdk > 0.1
    assert other.novel is None


@pytest.mark.usefixtures("_rdkit")
def test_of_equal_components_one_is_kept():
    assert MoleculeSet.of([molecule("C C")]).plain == ("C",)
    assert MoleculeSet.of(["O.C", "C.O"]).plain == ("O", "O")


@pytest.mark.usefixtures("_rdkit")
def test_nothing_valid_has_no_distance():
    result = evaluate_molecules([PENTAVALENT_CARBON], [ETHANOL], training=[ETHANOL], fcd=False)
    assert result.valid.share == 0
    assert (result.unique.share, result.novel.share, result.nspdk) == (None, None, None)
    assert str(result.novel) == "nothing to count"


@pytest.mark.usefixtures("_rdkit")
def test_reference_molecules_that_are_not_valid_are_told():
    with pytest.warns(GraphscoreWarning, match="reference: 1 of 2 molecules are not valid"):
        result = evaluate_molecules([ETHANOL], ["CCO", "C(C)(C)(C)(C)C"], fcd=False)
    assert result.reference_count == 1


@pytest.mark.usefixtures("_rdkit")
@pytest.mark.parametrize(
    ("samples", "words"),
    [
        ([], ["samples: no molecules"]),
        ([ETHANOL, "CCO"], ["samples: graphs and SMILES are mixed"]),
        ([ETHANOL, nx.path_graph(2)], ["samples, graph 2, node 0", "'element'", "None"]),
        ([ETHANOL, nx.DiGraph(ETHANOL)], ["samples, graph 2, ", "DiGraph"]),
        ([molecule("C C", "0-1"), 3], ["samples, graph 2, ", "int"]),
        ([molecule("C C", "0-0")], ["samples, graph 1: an atom is bound to itself"]),
    ],
)
def test_what_is_no_molecule_is_refused(samples, words):
    with pytest.raises(GraphDataError) as refused:
        evaluate_molecules(samples, [ETHANOL], fcd=False)
    for word in words:
        assert word in str(refused.value)


@pytest.mark.usefixtures("_rdkit")
def test_a_bond_without_an_order_is_refused():
    graph = molecule("C C", "0-1")
    graph.edges[0, 1].clear()
    with pytest.raises(GraphDataError, match=r"reference, graph 1, edge \(0, 1\).*'bond'"):
        evaluate_molecules([ETHANOL], [graph], fcd=False)


ALCOHOLS = ["CO", "CCO", "CCCO", "CC(C)O", "CCCCO", "OCCO"]
RINGS = ["c1ccccc1", "c1ccncc1", "Cc1ccccc1", "C1CCCCC1", "C1CCNCC1", "c1ccoc1"]


@pytest.mark.usefixtures("_chemnet")
def test_fcd_is_zero_against_itself_and_grows():
    torch.manual_seed(1)
    before = torch.get_rng_state()
    rings = MoleculeSet.of(RINGS)
    same = evaluate_molecules(RINGS[::-1], rings, nspdk=False).fcd
    half = evaluate_molecules(RINGS[:3] + ALCOHOLS[:3], rings, nspdk=False).fcd
    other = evaluate_molecules(ALCOHOLS, rings, nspdk=False)
    assert same == pytest.approx(0, abs=1e-3)
    assert 1 < half < other.fcd
    assert other.nspdk is None
    assert "fcd-torch" in other.versions
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.usefixtures("_chemnet")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fcd_is_that_of_its_authors_where_there_are_enough_molecules():
    """Against their own Fréchet distance, of moments that are not singular."""
    from fcd_torch.utils import calculate_frechet_distance

    from graphscore.metrics.molecules import _frechet

    rng = np.random.default_rng(0)
    moments = []
    for shift in (0, 0.3):
        rows = rng.normal(size=(200, 12)) @ rng.normal(size=(12, 12)) + shift
        moments.append((rows.mean(0), np.cov(rows.T)))
    expected = calculate_frechet_distance(*moments[0], *moments[1])
    assert _frechet(*moments) == pytest.approx(expected)


@pytest.mark.usefixtures("_chemnet")
def test_one_molecule_has_no_fcd():
    assert evaluate_molecules(["CCO"], RINGS).fcd is None


@pytest.mark.parametrize(
    ("package", "fcd"), [("rdkit", False), ("rdkit", True), ("fcd_torch", True)]
)
def test_a_missing_package_names_the_extra(monkeypatch, package, fcd):
    if package == "fcd_torch":
        pytest.importorskip("rdkit")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"'{package}'.*graphscore\[molecules\]"):
        evaluate_molecules([ETHANOL], [ETHANOL], fcd=fcd)


def test_valid_as_it_is_has_one_meaning():
    """A neutral nitrogen of five bonds is not valid, here and where samples are written."""
    graph = nx.star_graph(3)
    nx.set_node_attributes(graph, dict(enumerate("NOOC")), "element")
    nx.set_edge_attributes(graph, {(0, 1): "double", (0, 2): "double", (0, 3): "single"}, "bond")
    found = evaluate_molecules([graph], ["CC"], fcd=False, nspdk=False)
    assert found.valid_as_is.count == 0
    assert number_of_invalid([graph]) == 1
