"""`train --subgraphs`: one large network, cut up."""

from __future__ import annotations

import json

import networkx as nx
import pytest

from graphscore import subgraphs
from graphscore.cli.data import READING
from graphscore.cli.network import NetworkOptions, load_to_train
from graphscore.graphs import read_graphs, write_graphs

TINY = ("--config", "tiny.toml", "--steps", 1, "--out", "new")


@pytest.fixture
def network(place):
    network = nx.connected_watts_strogatz_graph(500, 4, 0.2, seed=0)
    for node in network:
        network.nodes[node]["kind"] = "ab"[node % 2]
    for one, other in network.edges:
        network.edges[one, other].update(tie="xy"[(one + other) % 2], rest=1)
    write_graphs(place / "network.graphml", [network])
    return place / "network.graphml"


def test_a_network_is_cut_up(network, call, refused):
    refused(
        ["train", network, *TINY, "--max-nodes", 200],
        "500 nodes, but at most 200",
        "--subgraphs 40",
    )
    done = call(
        "train", network, *TINY, "--subgraphs", "8-10", "--seed", 3, "--no-holdout", "--json"
    )
    record = json.loads(done.out)
    assert (record["nodes"], record["graphs"]) == ([8, 10], 556)
    assert "556 connected subgraphs of 8 to 10 nodes" in done.err
    assert "one network of 500 nodes; mean degree " in done.err
    assert done.err.index("556 connected") < done.err.index("training")
    expected = subgraphs(read_graphs(network)[0], range(8, 11), seed=3)
    cut = load_to_train(str(network), READING, NetworkOptions(subgraphs="8-10"), seed=3)
    assert [set(graph.edges) for graph in cut] == [set(graph.edges) for graph in expected]
    mean = sum(2 * graph.number_of_edges() for graph in expected) / sum(map(len, expected))
    assert f"mean degree {mean:.2f}, in the network 4.00" in done.err


def test_resuming_needs_the_same_subgraphs(network, call):
    arguments = ["train", network, *TINY, "--subgraphs", 8, "--subgraph-count"]
    assert call(*arguments, 20).code == 0
    assert call(*arguments, 20, "--resume").code == 0
    assert call(*arguments, 21, "--resume").code == 2
    assert call(*arguments, 20, "--resume", "--seed", 1).code == 2


def test_what_nodes_and_edges_carry_is_learned(network, call):
    names = ("--node-type", "kind", "--edge-type", "tie", "--model", "denoiser", "--steps", 1)
    cut = ("--subgraphs", 6, "--subgraph-count", 20)
    done = call("train", network, "--out", "new", *names, *cut, "--batch-size", 2, "--json")
    attributes = json.loads(done.out)["settings"]["attributes"]
    assert (attributes["node_type"], attributes["edge_type"]) == ("kind", "tie")
    assert "ignored: edge attribute 'rest'" in done.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["network.graphml", "--subgraphs", "x"], ["--subgraphs 'x'", "20-30"]),
        (
            ["network.graphml", "--subgraphs", "21", "--max-nodes", "20"],
            ["at most 20 nodes", "--max-nodes 21"],
        ),
        (["network.graphml", "--subgraphs", "5", "--subgraph-count", "0"], ["ask for 1 to"]),
        (["network.graphml", "--subgraph-count", "9"], ["no meaning without --subgraphs"]),
        (["graphs.g6", "--subgraphs", "3"], ["4 graphs", "one network"]),
    ],
)
def test_wrong_use(network, refused, arguments, words):
    refused(["train", *arguments, *TINY], *words)


def test_bench_takes_subgraphs_too(refused):
    refused(["bench", "graphs.g6", "--subgraphs", "3"], "4 graphs", "one network")
