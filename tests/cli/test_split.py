"""`graphscore split`."""

from __future__ import annotations

import json
import random

import networkx as nx
import pytest

from graphscore.graphs import read_graphs, write_graphs

PARTS = ("train", "validation", "test")


def attributed(number=10):
    chance = random.Random(0)
    graphs = [nx.gnp_random_graph(4 + k, 0.6, seed=k) for k in range(number)]
    for graph in graphs:
        for node in graph:
            graph.nodes[node]["kind"] = chance.choice("ab")
        for edge in graph.edges:
            graph.edges[edge].update(tie=chance.choice("xy"), weight=chance.random())
    return graphs


def plain(number=10):
    return [nx.path_graph(2 + k) for k in range(number)]


def labelled(number=10):
    graphs = plain(number)
    for k, graph in enumerate(graphs):
        nx.set_node_attributes(graph, k % 3, "label")
        nx.set_edge_attributes(graph, k % 2, "label")
    return graphs


def content(graphs):
    """Return nodes and edges with what they carry, as texts."""
    return [
        repr((list(g.nodes(data=True)), sorted(sorted(map(repr, edge)) for edge in _edges(g))))
        for g in graphs
    ]


def _edges(graph):
    return [(one, other, sorted(data.items())) for one, other, data in graph.edges(data=True)]


@pytest.mark.parametrize(
    ("graphs", "name", "ending", "format"),
    [
        (attributed, "my", ".json", None),
        (attributed, "my", ".npz", None),
        (attributed, "my.v2", ".json.gz", None),
        (plain, "my", ".g6", None),
        (plain, "my", ".data", "graph6"),
        (attributed, "my.graphml", "", None),
        (attributed, "my", "", "gml"),
        (plain, "my", "", "edgelist"),
        (labelled, "my", "", "tu"),
    ],
)
def test_every_graph_is_in_one_part_with_all_it_carries(place, call, graphs, name, ending, format):
    write_graphs(f"{name}{ending}", graphs(), format=format)
    given = ("--format", format) if ending == ".data" else ()
    done = call("split", f"{name}{ending}", "--validation", 0.3, "--json", *given)
    assert done.err == ""
    record = json.loads(done.out)
    begin = "my" if name == "my.graphml" else name
    files = {part: f"{begin}-{part}{ending}" for part in PARTS}
    assert {part: of["file"] for part, of in record["parts"].items()} == files
    assert [of["graphs"] for of in record["parts"].values()] == [5, 3, 2]
    kept = {"edge_attributes": ("tie", "weight", "label"), "format": given[1] if given else None}
    found = [content(read_graphs(files[part], **kept)) for part in PARTS]
    every = content(read_graphs(f"{name}{ending}", **kept))
    assert sorted(graph for part in found for graph in part) == sorted(every)
    for part in found:  # in the order of the file
        assert [graph for graph in every if graph in part] == part


def test_the_seed_decides(place, call):
    write_graphs("my.g6", plain(30))
    made = []
    for seed in ((), ("--seed", 0), ("--seed", 1)):
        assert call("split", "my.g6", "--force", *seed).code == 0
        made.append((place / "my-test.g6").read_bytes())
    assert made[0] == made[1] != made[2]
    assert len(read_graphs("my-test.g6")) == 6
    assert not (place / "my-validation.g6").exists()


def test_where_the_parts_go(place, call):
    (place / "folder").mkdir()
    write_graphs("deep/my.g6", plain())
    for out, begin in {
        (): "deep/my-",
        ("-o", "folder"): "folder/",
        ("-o", "new/"): "new/",
        ("-o", "other"): "other-",
        ("-o", "other2.g6"): "other2-",
    }.items():
        done = call("split", "deep/my.g6", *out)
        assert f"{begin}train.g6" in done.out
        assert [len(read_graphs(f"{begin}{part}.g6")) for part in ("train", "test")] == [8, 2]


def test_a_table_of_counts(place, call):
    write_graphs("my.g6", plain(30))
    done = call("split", "my.g6", "--seed", 4)
    assert "my.g6: 30 graphs (seed 4)" in done.out
    rows = [line.replace("│", " ").split() for line in done.out.splitlines() if "my-" in line]
    assert rows == [["train", "my-train.g6", "24"], ["test", "my-test.g6", "6"]]


def test_small_shares_have_a_graph(place, call):
    write_graphs("my.g6", plain(5))
    done = call("split", "my.g6", "--test", 0.01, "--validation", 0.01, "--json")
    assert [of["graphs"] for of in json.loads(done.out)["parts"].values()] == [3, 1, 1]


def test_what_is_repaired_is_said_once(place, call):
    graph = nx.path_graph(4)
    graph.add_edge(1, 1)
    nx.set_edge_attributes(graph, "x", "tie")
    (place / "my.jsonl").write_text(f"{json.dumps(nx.node_link_data(graph))}\n" * 4)
    done = call("split", "my.jsonl", "--drop-self-loops")
    assert done.err.count("self-loops dropped in 4 of 4 graphs") == 1
    (test,) = read_graphs("my-test.jsonl", edge_attributes=["tie"])
    assert nx.get_edge_attributes(test, "tie") == dict.fromkeys(test.edges, "x")


@pytest.mark.parametrize("test", ["0", "1", "-0.1", "1.2", "nan"])
def test_shares_that_make_no_sense(refused, test):
    refused(["split", "graphs.g6", "--test", test], f"--test {test}", "--test 0.2")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ego-small"], ["splits of its own", "datasets export ego-small"]),
        (["nowhere.g6"], ["no such file"]),
        (["graphs.g6", "--test", "0.9"], ["none of them is left to train on"]),
        (["one.g6"], ["one graph", "--subgraphs 40"]),
        (["train.g6", "-o", ".", "--force"], ["train.g6: is the file that is split"]),
        (["old.g6"], ["old-test.g6: exists already", "--force"]),
    ],
)
def test_wrong_use_writes_nothing(place, refused, arguments, words):
    write_graphs("one.g6", plain(1))
    for name in ("train.g6", "old.g6", "old-test.g6"):
        write_graphs(name, plain())
    refused(["split", *arguments], *words)


def test_folders_are_never_replaced(place, refused):
    write_graphs("my", plain(), format="gml")
    write_graphs("my-test", plain(), format="gml")
    refused(["split", "my", "--force"], "my-test: the folder exists")
