"""Every dataset: names, splits, sizes, determinism, and an untouched global random state."""

from __future__ import annotations

import random
import subprocess
import sys
from functools import cache
from typing import Any

import networkx as nx
import numpy as np
import pytest

from graphscore.datasets import (
    Dataset,
    list_datasets,
    load_dataset,
    sample_community,
    sample_planar,
    sample_sbm,
    sample_tree,
    sample_weighted_community,
)
from graphscore.errors import DatasetError

OFFLINE = [info.name for info in list_datasets() if not info.needs_download]
SEEDED = [info.name for info in list_datasets() if info.seeded]


HELD_OUT = [info.name for info in list_datasets() if info.validation_held_out]
FIXED = [name for name in OFFLINE if name not in SEEDED]


@cache
def standard(name: str) -> Dataset:
    """A dataset that no test changes, loaded once."""
    return load_dataset(name)


def edge_lists(graphs: list[nx.Graph[Any]]) -> list[tuple[int, list[tuple[int, int]]]]:
    return [(len(g), sorted((min(e), max(e)) for e in g.edges)) for g in graphs]


def test_names() -> None:
    assert [info.name for info in list_datasets()] == [
        "community-small",
        "community-small-released",
        "ego-small",
        "enzymes",
        "grid",
        "lobster",
        "moses",
        "planar",
        "planar-spectre",
        "protein",
        "qm9",
        "sbm",
        "sbm-spectre",
        "tree",
        "tree-spectre",
        "weighted-community",
        "zinc250k",
    ]


def test_attributes_are_arguments_of_fit() -> None:
    molecules = {"node_type": "element", "edge_type": "bond"}
    assert {info.name: info.attributes for info in list_datasets() if info.attributes} == {
        "enzymes": {"node_type": "label"},
        "moses": molecules,
        "qm9": molecules,
        "weighted-community": {"edge_weight": "weight"},
        "zinc250k": molecules,
    }


@pytest.mark.parametrize("name", OFFLINE)
def test_graphs_are_as_described(name: str) -> None:
    data = standard(name)
    (described,) = [info for info in list_datasets() if info.name == name]
    assert data.info == described  # holds at the default seed, also for the number of graphs
    assert len(data) == len(data.graphs) == described.num_graphs
    for graph in data.graphs:
        assert type(graph) is nx.Graph
        assert described.min_nodes <= len(graph) <= described.max_nodes
        assert list(graph) == list(range(len(graph)))
        assert nx.number_of_selfloops(graph) == 0


@pytest.mark.parametrize("name", OFFLINE)
def test_splits(name: str) -> None:
    data = standard(name)
    assert len(data.test) == len(data) // 5
    assert len(data.val) == 32
    # Compared by identity: equal graphs occur more than once in these sets.
    ids = [id(graph) for graph in data.graphs]
    parts = [data.test, data.val, data.train] if name in HELD_OUT else [data.test, data.train]
    assert [id(graph) for part in parts for graph in part] == ids
    if name not in HELD_OUT:
        assert [id(graph) for graph in data.val] == [id(graph) for graph in data.train[:32]]
    for split in ("train", "val", "test"):
        assert data.split(split) == getattr(data, split)


def test_where_validation_is_held_out() -> None:
    families = ("planar", "sbm", "tree")
    molecules = {"moses", "qm9", "zinc250k"}
    published = {f"{name}-spectre" for name in families}
    assert set(HELD_OUT) == {*families, *published, *molecules, "weighted-community"}


def test_published_split_sizes() -> None:
    sizes = {name: (len(standard(name).train), len(standard(name).test)) for name in OFFLINE}
    assert sizes["ego-small"] == (160, 40)
    assert sizes["community-small"] == sizes["community-small-released"] == (80, 20)
    assert sizes["grid"] == (80, 20)
    assert {sizes[name] for name in HELD_OUT if name in OFFLINE} == {(128, 40)}


def test_unknown_split() -> None:
    with pytest.raises(DatasetError, match=r"'community-small'.*'dev'.*train, val, test"):
        load_dataset("community-small").split("dev")


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("ego_small", "ego-small"),
        ("Ego-Small", "ego-small"),
        ("community-smal", "community-small"),
        ("proteins", "protein"),
    ],
)
def test_unknown_name_suggests_the_nearest(wrong: str, meant: str) -> None:
    with pytest.raises(DatasetError) as caught:
        load_dataset(wrong)
    message = str(caught.value)
    assert f"Did you mean {meant!r}?" in message
    for info in list_datasets():
        assert info.name in message


def test_unknown_name_without_a_neighbour() -> None:
    with pytest.raises(DatasetError, match="Known: community-small") as caught:
        load_dataset("qqqq")
    assert "Did you mean" not in str(caught.value)


@pytest.mark.parametrize("name", SEEDED)
def test_same_seed_same_graphs_and_fresh_objects(name: str) -> None:
    first, second = load_dataset(name, seed=3), load_dataset(name, seed=3)
    assert edge_lists(first.graphs) == edge_lists(second.graphs)
    first.graphs[0].clear()
    assert len(second.graphs[0]) > 0


@pytest.mark.parametrize("name", SEEDED)
def test_other_seed_other_graphs(name: str) -> None:
    one, other = load_dataset(name, seed=1).graphs, load_dataset(name, seed=2).graphs
    assert edge_lists(one) != edge_lists(other)


@pytest.mark.parametrize("name", FIXED)
def test_fixed_sets_ignore_the_seed_and_are_fresh_objects(name: str) -> None:
    graphs = load_dataset(name, seed=1).graphs
    assert edge_lists(graphs) == edge_lists(standard(name).graphs)
    graphs[0].clear()
    assert len(standard(name).graphs[0]) > 0


@pytest.mark.parametrize("name", OFFLINE)
def test_global_random_state_is_untouched(name: str) -> None:
    before = random.getstate(), np.random.get_state()  # noqa: NPY002
    load_dataset(name)
    sample_community(2, released=True)
    for sample in (sample_planar, sample_sbm, sample_tree, sample_weighted_community):
        sample(2)
    after = random.getstate(), np.random.get_state()  # noqa: NPY002
    assert before[0] == after[0]
    assert all(np.array_equal(a, b) for a, b in zip(before[1], after[1]))


@pytest.mark.parametrize("name", SEEDED)
def test_global_seed_has_no_influence(name: str) -> None:
    state = random.getstate()
    try:
        random.seed(1)
        one = edge_lists(load_dataset(name).graphs)
        random.seed(2)
        assert edge_lists(load_dataset(name).graphs) == one
    finally:
        random.setstate(state)


@pytest.mark.parametrize("sample", [sample_planar, sample_sbm, sample_tree])
def test_fresh_graphs_continue_one_sequence_and_are_not_the_dataset(sample: Any) -> None:
    few, more, other = sample(3), sample(6), sample(3, seed=1)
    assert edge_lists(few) == edge_lists(more[:3])
    assert not set(map(str, edge_lists(other))) & set(map(str, edge_lists(more)))
    family = sample.__name__.removeprefix("sample_")
    known = {str(edges) for edges in edge_lists(standard(family).graphs)}
    assert not known & set(map(str, edge_lists(more)))
    assert sample(0) == []
    with pytest.raises(DatasetError, match="-1 graphs"):
        sample(-1)


def test_info_reports_the_actual_count() -> None:
    data = load_dataset("lobster", seed=5)
    assert isinstance(data, Dataset)
    assert data.info.num_graphs == len(data.graphs)


def test_import_is_light() -> None:
    # graphscore itself may import torch; graphscore.datasets must not.
    code = (
        "import sys, graphscore; before = set(sys.modules); import graphscore.datasets as d; "
        "d.list_datasets(); print('torch' in set(sys.modules) - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
