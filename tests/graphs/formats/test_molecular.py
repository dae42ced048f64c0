"""Molecules as files: what is read of SMILES and SDF, what is written, and what is refused."""

from __future__ import annotations

import gzip
import sys

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphscore.errors import GraphDataError, MissingExtraError
from graphscore.graphs import AttributeSettings, Repairs, Schema, read_graphs, write_graphs
from graphscore.graphs.attributes import Scale, Types
from graphscore.graphs.files import always_carried, keeps_attributes, lost_attributes
from graphscore.graphs.formats.molecular import DROPPED, INVALID
from graphscore.graphs.molecules import BOND, ELEMENT, molecule_of, rdkit, smiles_of

CORES = [
    *("{}C", "{}CC(C)C", "{}C1CC1", "{}C1CCC(C)O1", "{}c1ccccc1", "{}c1ccc(C)cc1", "{}c1ccncc1"),
    *(
        "{}c1ccc2[nH]ccc2c1",
        "{}c1cnc2ccccc2c1",
        "{}c1ccsc1",
        "{}C(=O)c1ccco1",
        "{}C12CC3CC(CC1C3)C2",
    ),
    *("{}CC(=O)NC", "{}CC#N", "{}c1nnnn1C", "{}C=CC(=O)OC"),
]
GROUPS = [
    *("C", "N", "O", "F", "Cl", "Br", "I", "CS", "C[N+](C)(C)", "O=[N+]([O-])", "CS(=O)(=O)"),
    *("NS(=O)(=O)", "OC(=O)", "[O-]C(=O)", "FC(F)(F)", "N#C", "CP(=O)(O)O", "[NH3+]", "C#C"),
]
SMILES = [core.format(group) for core in CORES for group in GROUPS]
OTHERS = [
    "[Na+].[O-]C(=O)C",
    "C[NH3+].[Cl-]",
    "[Ca+2].[Cl-].[Cl-]",
    "[O-][n+]1ccccc1",
    "C[N+]#[C-]",
]


def canonical(graphs):
    return [smiles_of(molecule_of(graph, charge_neutral=False)) for graph in graphs]


def parsed(smiles):
    """The canonical SMILES of RDKit alone."""
    chem = rdkit()
    return chem.MolToSmiles(chem.MolFromSmiles(smiles), isomericSmiles=False)


def contents(graphs):
    return [
        (dict(graph.nodes(data=ELEMENT)), {frozenset(e[:2]): e[2] for e in graph.edges(data=BOND)})
        for graph in graphs
    ]


def star(element, leaves):
    graph = nx.star_graph(leaves)
    nx.set_node_attributes(graph, {0: element, **dict.fromkeys(range(1, leaves + 1), "C")}, ELEMENT)
    nx.set_edge_attributes(graph, "single", BOND)
    return graph


@pytest.fixture
def read(tmp_path):
    """Read a text as a file of some name."""

    def from_text(text, name="m.smi", **options):
        data = text if isinstance(text, bytes) else text.encode()
        (tmp_path / name).write_bytes(data)
        return read_graphs(tmp_path / name, **options)

    return from_text


@pytest.mark.parametrize("name", ["m.smi", "m.smiles.gz", "m.sdf", "m.SDF.gz", "m.mol"])
def test_molecules_are_the_same_after_writing_and_reading(tmp_path, read, name):
    """By RDKit's canonical SMILES; what was read is what was meant."""
    every = SMILES + OTHERS
    assert len(set(every)) > 300
    graphs = read("\n".join(every))
    assert (graphs.repaired, canonical(graphs)) == ({}, [parsed(smiles) for smiles in every])
    write_graphs(tmp_path / name, graphs)
    back = read_graphs(tmp_path / name)
    assert (back.repaired, canonical(back)) == ({}, canonical(graphs))
    if name.lower().startswith(("m.sdf", "m.mol")):  # the Kekulé structure and the order of atoms
        assert contents(back) == contents(graphs)
    write_graphs(tmp_path / f"again{name}", back)
    opened = gzip.open if name.endswith("gz") else open
    texts = [opened(tmp_path / each, "rb").read() for each in (name, f"again{name}")]
    assert texts[0] == texts[1]


def test_what_atoms_and_bonds_are(read):
    (graph,) = read("C[N+](=O)[O-]")
    assert dict(graph.nodes(data=ELEMENT)) == {0: "C", 1: "N+", 2: "O", 3: "O-"}
    assert list(graph.edges(data=BOND)) == [(0, 1, "single"), (1, 2, "double"), (1, 3, "single")]
    (ring,) = read("c1ccccc1")
    assert sorted(bond for *_, bond in ring.edges(data=BOND)) == ["double"] * 3 + ["single"] * 3
    (triple,) = read("[H]C#[13N]")
    assert contents([triple]) == [({0: "C", 1: "N"}, {frozenset({0, 1}): "triple"})]


def test_names_headers_comments_and_blank_lines_are_no_molecules(read):
    text = "\ufeff\n# made by\nSMILES name\nCO methanol\r\n\n  C=O\tformaldehyde 2\n#\nN"
    assert canonical(read(text)) == ["CO", "C=O", "N"]
    with pytest.raises(GraphDataError, match=r"m\.smi line 2: no molecule that RDKit can parse"):
        read("C\nsmiles\n")
    with pytest.raises(GraphDataError, match=r"m\.smi: no graphs"):
        read("smiles\n# none\n")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("C1CC", "no molecule that RDKit can parse"),
        ("C*", r"an atom of no element, such as '\*'"),
        ("C~C", "a bond of the type unspecified"),
        ("N->[Fe]", "a bond of the type dative"),
        ("c1cccc1", "Can't kekulize"),
        ("Cé", "'Cé' is no SMILES, which consists of"),
        ("C\0C", "is no SMILES"),
        ("[C+256]", "no molecule that RDKit can parse"),
        ("C" * 10_001, "a SMILES of 10001 characters, but at most 10000"),
        ("C" + "([H])" * 1999, "an atom with 1999 bonds, but at most 40"),
        (".".join("[U]" + "%(" + ")%(".join(str(min(i, j) * 40 + max(i, j)) for j in range(40)
         if j != i) + ")" for i in range(40)), "more than 500 rings"),
    ],
)  # fmt: skip
def test_what_is_no_molecule_is_refused_with_its_line(read, line, words):
    with pytest.raises(GraphDataError, match=rf"^m\.smi line 3: .*{words}"):
        read(f"C\n\n{line}\nC\n")


def test_what_is_dropped_is_counted(read):
    """As repairs are, which the command line says."""
    graphs = read("C[C@H](O)N\nF/C=C/F\n[13CH4]\n[CH3]\nCC\nCC(C)(C)(C)C\n")
    assert graphs.repaired == {DROPPED: 4, INVALID: 1}
    assert canonical(graphs)[:2] == ["CC(N)O", "FC=CF"]


def test_double_bonds_without_stereochemistry_in_sdf(read):
    """RDKit marks them as either way, which drops nothing."""
    chem = rdkit()
    molecule = chem.MolFromSmiles("CC=CC")
    from rdkit.Chem import rdDepictor

    rdDepictor.Compute2DCoords(molecule)
    block = chem.MolToMolBlock(molecule)
    assert "  2  3  2  3\n" in block
    graphs = read(f"{block}$$$$\n{chem.MolToMolBlock(molecule, forceV3000=True)}", "m.sdf")
    assert canonical(graphs) == ["CC=CC"] * 2
    assert graphs.repaired == {}


def test_a_record_of_sdf(read, tmp_path):
    """Names, data and coordinates are left out; versions mix; an error names a record's line."""
    chem = rdkit()
    molecules = [chem.MolFromSmiles(smiles) for smiles in ("CO", "[2H]C", "C[C@H](O)N")]
    from rdkit.Chem import rdDepictor

    rdDepictor.Compute2DCoords(molecules[2])
    blocks = [chem.MolToMolBlock(m, forceV3000=k == 1) for k, m in enumerate(molecules)]
    text = "é name\n" + blocks[0].split("\n", 1)[1] + "> <x>\nC é\n\n$$$$\n"
    text += "$$$$\n".join(blocks[1:])
    graphs = read(text, "m.sdf")
    assert canonical(graphs) == ["CO", "C", "CC(N)O"]
    assert graphs.repaired == {DROPPED: 2}
    assert canonical(read(blocks[0], "m.mol")) == ["CO"]
    assert len(read(f"{text}$$$$\n{blocks[0] * 2}$$$$\n", "m.sdf")) == 4  # data behind a molecule
    line = text.count("\n") + 2
    for wrong in ("", "\n\n\n  1  0  0\n", blocks[0].replace("C  ", "Xx ")):
        with pytest.raises(GraphDataError, match=rf"m\.sdf line {line}: no molecule"):
            read(f"{text}$$$$\n{wrong}$$$$\n", "m.sdf")
    with pytest.raises(GraphDataError, match="a molecule without atoms"):
        read("\n\n\n  0  0  0  0  0  0  0  0  0  0999 V2000\nM  END\n$$$$\n", "m.sdf")
    charge = "\n\n\n  1  0  0  0  0  0  0  0  0  0999 V2000\n" + " " * 31 + "N   0  0\n"
    charge += "M  CHG  1   1 {:>3}\nM  END\n"
    assert contents(read(charge.format(1), "m.sdf"))[0][0] == {0: "N+"}
    with pytest.raises(GraphDataError, match="line 1: no molecule"):
        read(charge.format(257), "m.sdf")


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ({"max_nodes": 6}, "line 2: 7 nodes, but at most 6"),
        ({"max_total_nodes": 8}, "line 2: more than 8 nodes in all"),
        ({"max_total_edges": 7}, "line 2: more than 7 edges in all"),
        ({"max_bytes": 20}, "more than 20 bytes"),
        ({"max_seconds": 1e-9}, "checking took more than a third"),
    ],
)
def test_limits_hold(read, limit, words):
    text = "CO\nCc1ccccc1\n"
    assert len(read(text, max_nodes=7, max_total_nodes=9, max_total_edges=8)) == 2
    with pytest.raises(GraphDataError, match=words):
        read(text + "#\n" * 20, **limit)


def test_more_kinds_of_atoms_than_a_byte_counts(read):
    lines = [f"[{e}{c:+d}]" for e in ("C", "N", "O", "Fe") for c in range(-40, 41) if c]
    graphs = read("\n".join(lines))
    assert len({graph.nodes[0][ELEMENT] for graph in graphs}) == len(lines) == 320


def test_invalid_molecules_are_written_in_their_place_and_read_again(tmp_path):
    """So that lines and graphs have the same numbers."""
    graphs = [star("C", 4), star("C", 5), star("N", 4), star("O", 2)]
    for name in ("m.smi", "m.sdf"):
        write_graphs(tmp_path / name, graphs)
        back = read_graphs(tmp_path / name)
        assert back.repaired == {INVALID: 2}
        assert canonical(back) == ["CC(C)(C)C", None, None, "COC"]
        for graph, again in zip(graphs, back):
            same = nx.is_isomorphic(*(graph, again), node_match=dict.__eq__, edge_match=dict.__eq__)
            assert same, name
    assert (tmp_path / "m.smi").read_text().split("\n")[1] == "CC(C)(C)(C)C"


@st.composite
def molecules(draw):
    """Any atoms and bonds, valid or not."""
    size = draw(st.integers(1, 7))
    graph = nx.gnp_random_graph(size, draw(st.floats(0, 0.7)), seed=draw(st.integers(0, 99)))
    atoms = st.sampled_from(["C", "N", "O", "F", "S", "N+", "O-", "Cl", "P"])
    for _, data in graph.nodes(data=True):
        data[ELEMENT] = draw(atoms)
    for *_, data in graph.edges(data=True):
        data[BOND] = draw(st.sampled_from(["single", "single", "double", "triple"]))
    return graph


@given(graphs=st.lists(molecules(), min_size=1, max_size=4))
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_graph_of_atoms_and_bonds_can_be_read_again(tmp_path, graphs):
    for name in ("m.smi", "m.sdf"):
        write_graphs(tmp_path / name, graphs)
        back = read_graphs(tmp_path / name)
        assert [len(graph) for graph in back] == [len(graph) for graph in graphs]
        valid = canonical(graphs)
        assert [b for a, b in zip(valid, canonical(back)) if a] == [a for a in valid if a]


@pytest.mark.parametrize("name", ["m.smi", "m.sdf"])
def test_what_is_no_atom_or_bond_is_refused_with_its_number(tmp_path, name):
    good, bare, aromatic, crowded = star("C", 2), nx.path_graph(2), star("C", 1), star("C", 41)
    aromatic.edges[0, 1][BOND] = "aromatic"
    large = nx.empty_graph(10_001)
    nx.set_node_attributes(large, "C", ELEMENT)
    long = nx.empty_graph(3000)
    nx.set_node_attributes(long, "N+", ELEMENT)
    for wrong, words in (
        (bare, "node 0: attribute 'element' is None, .* Only molecules are written"),
        (aromatic, "edge .* attribute 'bond' is 'aromatic', but one of double, single, triple"),
        (large, "10001 atoms, but at most 10000"),
        (crowded, "an atom with 41 bonds, but at most 40"),
        *([(long, "RDKit cannot write it .more than 10000 char")] if name == "m.smi" else []),
    ):
        with pytest.raises(GraphDataError, match=rf"^graph 2[,:] {words}"):
            write_graphs(tmp_path / name, [good, wrong])
        assert not (tmp_path / name).exists()


def test_the_largest_part_keeps_its_bonds(read):
    (graph,) = read("[Na+].[O-]C(=O)C", repairs=Repairs(largest_component=True))
    assert canonical([graph]) == ["CC(=O)[O-]"]


def test_which_attributes_the_formats_have():
    names = AttributeSettings(node_type=ELEMENT, edge_type=BOND)
    element, bond = (Types(name=name, values=("C",)) for name in (ELEMENT, BOND))
    schema = Schema(node_type=element, edge_type=bond)
    for name in ("m.smi", "M.SMILES.GZ", "m.sdf", "m.mol.gz"):
        assert always_carried(name) == names
        assert keeps_attributes(name)
        assert lost_attributes(name, schema) == []
    assert always_carried("m.g6", format="sdf") == names
    assert always_carried("m.smi", format="graph6") == always_carried("m") == AttributeSettings()
    label, charge = Types(name="label", values=("C",)), Scale(name="charge")
    more = Schema(node_type=label, edge_type=bond, node_features=(charge,))
    assert lost_attributes("m.smi", more) == ["label", "charge"]


def test_bonds_that_nobody_asked_for_are_kept_and_named(read):
    assert read("CC").ignored == ["bond"]
    assert read("CC", edge_attributes=["bond"]).ignored == []


@pytest.mark.parametrize("name", ["m.smi", "m.sdf"])
def test_without_rdkit_the_extra_is_named(tmp_path, monkeypatch, name):
    write_graphs(tmp_path / name, [star("C", 2)])
    monkeypatch.setitem(sys.modules, "rdkit", None)
    for attempt in (
        lambda: read_graphs(tmp_path / name),
        lambda: write_graphs(tmp_path / f"new{name}", [star("C", 2)]),
    ):
        with pytest.raises(MissingExtraError, match=r"pip install 'graphscore\[molecules\]'"):
            attempt()
