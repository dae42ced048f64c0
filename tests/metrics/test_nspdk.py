"""NSPDK against EDeN, whose features published tables use, and on graphs with known features."""

from __future__ import annotations

import numpy as np
import pytest

from graphscore.metrics import nspdk
from graphscore.metrics.nspdk import Labelled, MeanFeatures, squared_mmd

# Recorded from eden-kernel 0.3.1350, the same for every PYTHONHASHSEED. With `eden_graph` making
# what `labelled` makes of the molecules, labels of nodes being symbols:
#   x, y = (eden.graph.vectorize(map(eden_graph, each), complexity=4, discrete=True, nbits=24)
#           for each in (SAMPLES, REFERENCE))
#   x @ y.T; ((x.mean(0) - y.mean(0)) ** 2).sum()
# Kekulé structures stand for themselves; (element, ...), (node, node, order) of
# CCO, CC(=O)O, C1CC1N, CC#N, and phenol with the orders of aromatic bonds as 1
SAMPLES = [
    ("CCO", [(0, 1, 1), (1, 2, 1)]),
    ("CCOO", [(0, 1, 1), (1, 2, 2), (1, 3, 1)]),
    ("CCCCCCO", [(0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 4, 1), (4, 5, 1), (5, 0, 1), (5, 6, 1)]),
    ("CCCN", [(0, 1, 1), (1, 2, 1), (2, 0, 1), (2, 3, 1)]),
    ("CCN", [(0, 1, 1), (1, 2, 3)]),
]
# CCN, C1CCCCC1, O=c1cc[nH]cc1, C, CC(C)(C)C(=O)NCCF
REFERENCE = [
    ("CCN", [(0, 1, 1), (1, 2, 1)]),
    ("CCCCCC", [(0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 4, 1), (4, 5, 1), (5, 0, 1)]),
    ("OCCCNCC", [(0, 1, 2), (1, 2, 1), (2, 3, 1), (3, 4, 1), (4, 5, 1), (5, 6, 1), (6, 1, 1)]),
    ("C", []),
    (
        "CCCCCONCCF",
        [
            *[(0, 1, 1), (1, 2, 1), (1, 3, 1), (1, 4, 1), (4, 5, 2)],
            *[(4, 6, 1), (6, 7, 1), (7, 8, 1), (8, 9, 1)],
        ],
    ),
]
PRODUCTS = [
    [0.255952380952, 0.084438691547, 0.084596400050, 0.0, 0.100199620074],
    [0.051329578765, 0.0, 0.068444577067, 0.0, 0.099349915305],
    [0.070803934207, 0.351875091982, 0.215029462018, 0.0, 0.086665768592],
    [0.143064374653, 0.142097642960, 0.206195361741, 0.0, 0.062965744133],
    [0.446428571429, 0.084438691547, 0.068206292901, 0.0, 0.084929964851],
]
SQUARED_MMD = 0.3270460782658984


def labelled(molecule, order=None):
    """A molecule whose nodes are in another order."""
    elements, bonds = molecule
    order = list(range(len(elements)) if order is None else order)
    place = {old: new for new, old in enumerate(order)}
    ends = [(place[tail], place[head]) for tail, head, _ in bonds]
    return Labelled(
        np.array([ord(elements[old]) for old in order]),
        np.array(ends, dtype=np.int64).reshape(-1, 2),
        np.array([label for *_, label in bonds], dtype=np.int64),
    )


def product(one, other):
    """Product of the features, which have length 1."""
    return 1 - squared_mmd(MeanFeatures.of([one]), MeanFeatures.of([other])) / 2


def test_products_are_those_of_eden():
    found = [[product(labelled(x), labelled(y)) for y in REFERENCE] for x in SAMPLES]
    np.testing.assert_allclose(found, PRODUCTS, atol=1e-11)


def test_the_mmd_is_that_of_eden(monkeypatch):
    """However many graphs are counted together."""
    for at_once in (2000, 2, 1):
        monkeypatch.setattr(nspdk, "AT_ONCE", at_once)
        samples, reference = (MeanFeatures.of(map(labelled, each)) for each in (SAMPLES, REFERENCE))
        assert squared_mmd(samples, reference) == pytest.approx(SQUARED_MMD, abs=1e-12)


def test_the_order_of_nodes_changes_nothing():
    rng = np.random.default_rng(0)
    for molecule in SAMPLES + REFERENCE:
        copy = labelled(molecule, rng.permutation(len(molecule[0])).tolist())
        one, other = MeanFeatures.of([labelled(molecule)]), MeanFeatures.of([copy])
        assert np.array_equal(one.keys, other.keys)
        np.testing.assert_allclose(one.values, other.values)


def test_a_bond_of_two_atoms_by_hand():
    """C-C and C-O share only the single atom C.

    Each has four blocks: radius 0 or 1, distance 0 or 1. With radius and distance 0, C-C has the
    pair C, C and the half C twice each, of length sqrt(8); C-O has those of C and of O once each,
    of length 2. With distance 1, C-C has the same numbers, and C-O has the pair C, O twice and
    both halves once, of length sqrt(6). They share the half C. With radius 1 they share nothing.
    """
    carbons, mixed = labelled(("CC", [(0, 1, 1)])), labelled(("CO", [(0, 1, 1)]))
    blocks = (4 / (2 * 8**0.5), 2 / (8**0.5 * 6**0.5))
    assert product(carbons, mixed) == pytest.approx(sum(blocks) / 4)


@pytest.mark.parametrize(
    "other", [("CCN", [(0, 1, 1), (1, 2, 1)]), ("CCO", [(0, 1, 1), (1, 2, 2)])]
)
def test_labels_of_nodes_and_edges_matter(other):
    assert product(labelled(SAMPLES[0]), labelled(other)) < 0.9


def test_components_are_not_joined():
    """Pairs of nodes in different components have no distance."""
    apart, alone = labelled(("CO", [])), labelled(("C", []))
    assert product(alone, apart) == pytest.approx(2 / (2**0.5 * 2))
