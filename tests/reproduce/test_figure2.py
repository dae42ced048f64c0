"""Figure 2: the AUC is right, the experiment runs, the pictures show it."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest

from graphscore.datasets import load_dataset
from reproduce.context import Context
from reproduce.experiments.figure2 import EXPERIMENT, _best, auc, layer_aucs, true_communities
from reproduce.plots.channels import (
    ChannelPicture,
    ChannelRow,
    draw_channels,
    standardise,
    strongest,
)


def test_communities_are_those_of_the_generator():
    """Whatever the draw: few edges between the halves, many inside."""
    for graph in load_dataset("community-small").graphs:
        community = true_communities(graph)
        between = sum(community[u] != community[v] for u, v in graph.edges)
        assert between <= 2
        assert sum(community) == len(graph) / 2


def test_auc_is_the_probability_of_the_right_order():
    """Against counting all pairs, with ties."""
    rng = np.random.default_rng(0)
    values = rng.integers(0, 6, 40).astype(float)
    positive = rng.random(40) < 0.4
    pairs = [
        float(a > b) + 0.5 * float(a == b) for a in values[positive] for b in values[~positive]
    ]
    assert auc(values, positive) == pytest.approx(np.mean(pairs), abs=1e-12)
    assert auc(-values, positive) == pytest.approx(1 - np.mean(pairs), abs=1e-12)


def test_channels_are_measured_by_layer_and_padding_does_not_count():
    """A channel that knows the communities, its complement, and the clean edges."""
    graphs = load_dataset("community-small").test[:4]
    width = max(map(len, graphs)) + 3
    channels = np.full((4, width, width, 3), 1e9)
    for index, graph in enumerate(graphs):
        n, community = len(graph), np.asarray(true_communities(graph))
        same = (community[:, None] == community).astype(float)
        adjacency = nx.to_numpy_array(graph, nodelist=range(n))
        channels[index, :n, :n] = np.stack([same, 1 - same, adjacency], -1)
    ((known, complement, edges),) = layer_aucs([channels], graphs)
    assert (known[0], complement[0], edges[1]) == (1, 0, 1)
    assert known[1] == pytest.approx(1 - complement[1])
    assert 0.7 < edges[0] < 0.95


def test_the_best_channel_is_chosen_on_validation_graphs():
    """Even where another one is better on test graphs; a complement is turned round."""
    val = [[[0.6, 0.9], [0.1, 0.5], [0.7, 0.2]]]
    test = [[[0.99, 0.8], [0.2, 0.5], [0.7, 0.4]]]
    (layer,) = _best(val, test)
    assert layer["communities"] == {"channel": 1, "complement": True, "auc": 0.8}
    assert layer["edges"] == {"channel": 0, "complement": False, "auc": 0.8}
    assert layer["channels"] == [0.99, 0.2, 0.7]


def test_matrices_are_standardised_over_pairs():
    weights = np.random.default_rng(0).random((5, 5))
    weights = weights + weights.T
    pairs = standardise(weights)[np.triu_indices(5, 1)]
    assert (pairs.mean(), pairs.std()) == (pytest.approx(0), pytest.approx(1))
    assert strongest(weights, 3) == strongest(standardise(weights), 3)


def test_a_constant_channel_shows_nothing():
    """Neither rounding nor the order of the nodes is taken for structure."""
    nearly = 0.1 + 1e-8 * np.random.default_rng(0).random((6, 6))
    assert not standardise(nearly + nearly.T).any()
    assert strongest(np.zeros((6, 6)), 4) == []
    ties = np.zeros((4, 4))
    ties[0, 1] = ties[1, 0] = 2
    ties[2, 3] = ties[3, 2] = ties[0, 2] = ties[2, 0] = 1
    assert [len(strongest(ties, count)) for count in range(1, 7)] == [1, 1, 3, 3, 3, 6]
    assert strongest(nx.to_numpy_array(nx.path_graph(4)), 3) == [(0, 1), (1, 2), (2, 3)]


def test_pictures_of_channels_can_be_made(tmp_path):
    graph = nx.barbell_graph(3, 0)
    row = ChannelRow("input", [ChannelPicture(nx.to_numpy_array(graph), "AUC 0.9", True)])
    draw_channels(graph, [0, 0, 0, 1, 1, 1], [row], tmp_path / "x.svg")
    text = (tmp_path / "x.svg").read_text()
    assert all(words in text for words in ("AUC 0.9", "input", "first community"))


def test_the_experiment_runs_and_goes_on(tmp_path):
    """Record, table, page and pictures; a second run takes everything from the first."""
    context = Context(tmp_path / "work", scale="tiny", seeds=2, device="cpu", show_progress=False)
    record = json.loads(json.dumps(EXPERIMENT.run(context)))
    assert record["experiment"] == "figure2"
    layers = record["results"]["layers"]
    assert [row["layer"] for row in layers] == [0, 1]
    assert layers[0]["trained_communities"] == layers[0]["untrained_communities"]
    assert layers[0]["trained_communities"]["mean"] == pytest.approx(0.75, abs=0.03)
    assert layers[0]["trained_communities"]["mean"] < record["results"]["clean"]
    assert layers[1]["trained_communities"] != layers[1]["untrained_communities"]
    runs = tmp_path / "work" / "runs" / "seed0" / "checkpoint.json"
    assert json.loads(runs.read_text())["settings"]["noise"]["sigmas"] == [0.6]

    (table,) = EXPERIMENT.tables(record)
    assert [row[0] for row in table.rows] == ["noisy input", "layer 1", "clean graph"]
    page = EXPERIMENT.markdown(record)
    assert table.markdown() in page
    files = EXPERIMENT.pictures(record, tmp_path / "pictures")
    assert [file.name for file in files] == [
        "figure2_0.png",
        "figure2_1.png",
        "figure2_separation.png",
    ]
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in files)
    linked = [file.name for file in files if f"images/{file.name}" in page]
    assert linked == ["figure2_0.png", "figure2_separation.png"]

    runs.unlink()
    assert json.loads(json.dumps(EXPERIMENT.run(context))) == record
