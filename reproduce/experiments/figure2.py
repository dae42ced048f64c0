"""Figure 2: what the intermediate adjacency channels contain, as pictures and as a number.

A network is trained on Community-small at a single noise level. Its channels on noisy test graphs
are drawn, and for each the AUC of its entries is computed: the probability that a pair inside a
community has a larger entry than a pair between communities (0.5 is chance). A channel with the
opposite order counts with its complement. The best channel of a layer, and whether it is a
complement, is chosen on validation graphs; the numbers are of test graphs. For comparison: the
noisy input, the network before training, and the clean graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import rankdata

from graphscore.datasets import load_dataset
from graphscore.seeding import torch_generator
from reproduce.context import Context, Record
from reproduce.core import channels_of, untrained_copy
from reproduce.experiment import Experiment
from reproduce.plots.channels import (
    ChannelPicture,
    ChannelRow,
    SeparationCurve,
    draw_channels,
    draw_separation,
)
from reproduce.tables import Table, summary, with_std

NAME = "figure2"
NETWORKS = ("trained", "untrained")

Array = NDArray[np.float64]


def true_communities(graph: nx.Graph[Any]) -> list[int]:
    """Community of each node of a graph of Community-small, known from its construction.

    >>> true_communities(nx.path_graph(4))
    [0, 0, 1, 1]
    """
    return [int(node >= len(graph) // 2) for node in range(len(graph))]


def auc(values: Array, positive: NDArray[np.bool_]) -> float:
    """Probability that a positive has the larger value than a negative, ties counting half.

    >>> auc(np.array([3.0, 1.0, 2.0]), np.array([True, False, False]))
    1.0
    """
    ranks = rankdata(values)
    count = int(positive.sum())
    above = ranks[positive].sum() - count * (count + 1) / 2
    return float(above / (count * (len(values) - count)))


def layer_aucs(
    channels: Sequence[Array], graphs: Sequence[nx.Graph[Any]]
) -> list[list[list[float]]]:
    """Return [layer][channel] -> AUC of communities and of clean edges, averaged over graphs.

    Args:
        channels: (G,N,N,C) for each layer, padded.
        graphs: the G clean graphs.
    """
    pairs = [np.triu_indices(len(graph), k=1) for graph in graphs]
    same, edges = [], []
    for graph, (rows, columns) in zip(graphs, pairs):
        community = np.asarray(true_communities(graph))
        same.append(community[rows] == community[columns])
        edges.append(nx.to_numpy_array(graph, nodelist=range(len(graph)))[rows, columns] > 0)
    result = []
    for layer in channels:
        of_layer = []
        for channel in range(layer.shape[-1]):
            values = [
                layer[index, rows, columns, channel] for index, (rows, columns) in enumerate(pairs)
            ]
            of_layer.append(
                [
                    float(np.mean([auc(*both) for both in zip(values, labels)]))
                    for labels in (same, edges)
                ]
            )
        result.append(of_layer)
    return result


def _channels(
    network: torch.nn.Module,
    graphs: Sequence[nx.Graph[Any]],
    plan: Mapping[str, Any],
    draws: int,
    *,
    seed: int,
    stream: str,
) -> list[Array]:
    """Channels (draws * G,N,N,C) of the input and of every layer on noisy graphs."""
    made: list[list[Array]] = []
    for draw in range(draws):
        noise = torch_generator(seed, "channels", stream, draw)
        layers = channels_of(network, graphs, plan["sigma"], noise=noise)
        made.append([layer.double().cpu().numpy() for layer in layers])
    return [np.concatenate(layers) for layers in zip(*made)]


# ------------------------------------------------------------------ the experiment


def _keys(context: Context) -> list[str]:
    return context.seed_keys()


def _settings(context: Context) -> dict[str, Any]:
    plan = context.plan(NAME)
    own = {key: plan[key] for key in ("dataset", "sigma", "draws")}
    return {**own, **context.defaults()}


def _compute(context: Context, key: str) -> Record:
    seed, plan = int(key.removeprefix("seed")), context.plan(NAME)
    data, draws = load_dataset(plan["dataset"]), plan["draws"]
    generator = context.fit(
        key, data.train, source=plan["dataset"], seed=seed, noise={"sigmas": (plan["sigma"],)}
    )
    record: Record = {"step": generator.step}
    for name, network in zip(NETWORKS, (generator.network, untrained_copy(generator, seed))):
        val, test = (
            layer_aucs(
                _channels(network, graphs, plan, draws, seed=seed, stream=split), graphs * draws
            )
            for split, graphs in (("val", data.val), ("test", data.test))
        )
        record[name] = _best(val, test)
    record["clean"] = float(np.mean([_clean_auc(graph) for graph in data.test]))
    record["pictures"] = _pictures(generator.network, data.test, plan, seed)
    return record


def _clean_auc(graph: nx.Graph[Any]) -> float:
    adjacency = nx.to_numpy_array(graph, nodelist=range(len(graph)))
    rows, columns = np.triu_indices(len(graph), k=1)
    community = np.asarray(true_communities(graph))
    return auc(adjacency[rows, columns], community[rows] == community[columns])


def _best(chosen: list[list[list[float]]], measured: list[list[list[float]]]) -> list[Record]:
    """For each layer the AUCs of its channels, and the best one on validation graphs."""
    layers = []
    for of_val, of_test in zip(chosen, measured):
        layer: Record = {"channels": [both[0] for both in of_test]}
        for index, what in enumerate(("communities", "edges")):
            strengths = [abs(both[index] - 0.5) for both in of_val]
            best = int(np.argmax(strengths))
            complement = of_val[best][index] < 0.5
            value = of_test[best][index]
            layer[what] = {
                "channel": best,
                "complement": complement,
                "auc": 1 - value if complement else value,
            }
        layers.append(layer)
    return layers


def _pictures(
    network: torch.nn.Module, graphs: Sequence[nx.Graph[Any]], plan: Mapping[str, Any], seed: int
) -> list[Record]:
    """What the figure shows: the largest test graphs and the channels' entries for i < j."""
    numbers = sorted(range(len(graphs)), key=lambda index: -len(graphs[index]))[: plan["shown"]]
    channels = _channels(network, graphs, plan, 1, seed=seed, stream="test")
    pictures = []
    for number in numbers:
        graph = graphs[number]
        rows, columns = np.triu_indices(len(graph), k=1)
        pictures.append(
            {
                "test_graph": number,
                "nodes": len(graph),
                "edges": [list(map(int, edge)) for edge in graph.edges],
                "layers": [
                    [
                        # One line of text instead of thousands of lines.
                        " ".join(f"{value:.6g}" for value in layer[number, rows, columns, channel])
                        for channel in range(layer.shape[-1])
                    ]
                    for layer in channels
                ],
            }
        )
    return pictures


def _assemble(context: Context, parts: Mapping[str, Record]) -> Record:
    seeds = list(parts.values())
    layers = []
    for index in range(len(seeds[0]["trained"])):
        row: Record = {"layer": index}
        for name in NETWORKS:
            for what in ("communities", "edges"):
                values = [part[name][index][what]["auc"] for part in seeds]
                row[f"{name}_{what}"] = summary(values)
        layers.append(row)
    return {
        "layers": layers,
        "clean": seeds[0]["clean"],
        "channels": seeds[0]["trained"],
        "pictures": seeds[0]["pictures"],
        "steps": seeds[0]["step"],
    }


def _name(layer: int) -> str:
    return "noisy input" if layer == 0 else f"layer {layer}"


def _tables(record: Record) -> list[Table]:
    results = record["results"]
    rows = []
    for row in results["layers"]:
        if row["layer"] == 0:
            cells = [with_std(row[f"trained_{what}"], 3) for what in ("communities", "edges")]
            rows.append([_name(0), cells[0], "", cells[1], ""])
            continue
        keys = [f"{net}_{what}" for what in ("communities", "edges") for net in NETWORKS]
        rows.append([_name(row["layer"]), *(with_std(row[key], 3) for key in keys)])
    rows.append(["clean graph", f"{results['clean']:.3f}", "", "1.000", ""])
    columns = (
        "best channel of",
        "communities",
        "communities, untrained",
        "clean edges",
        "clean edges, untrained",
    )
    return [
        Table(f"AUC on noisy test graphs, sigma {record['settings']['sigma']:g}", columns, rows)
    ]


def _facts(record: Record) -> dict[str, Any]:
    layers = record["results"]["layers"]
    best = max(layers[1:], key=lambda row: row["trained_communities"]["mean"])
    return {"first": layers[0], "best": best}


def _draw(record: Record, out: Path) -> list[Path]:
    results = record["results"]
    files = []
    for index, picture in enumerate(results["pictures"]):
        file = out / f"{NAME}_{index}.png"
        graph = nx.empty_graph(picture["nodes"])
        graph.add_edges_from(picture["edges"])
        draw_channels(graph, true_communities(graph), _rows(picture, graph, results), file)
        files.append(file)
    curves = [
        SeparationCurve(
            label,
            [row[f"{name}_communities"]["mean"] for row in results["layers"]],
            [row[f"{name}_communities"]["std"] for row in results["layers"]],
        )
        for name, label in zip(NETWORKS, ("trained", "before training"))
    ]
    file = out / f"{NAME}_separation.png"
    draw_separation(curves, {"clean graph": results["clean"]}, file)
    return [*files, file]


def _rows(picture: Record, graph: nx.Graph[Any], results: Record) -> list[ChannelRow]:
    clean = nx.to_numpy_array(graph, nodelist=range(len(graph)))
    rows = []
    for index, (entries, layer) in enumerate(zip(picture["layers"], results["channels"])):
        channels = []
        for number, text in enumerate(entries):
            value = layer["channels"][number]
            complement = value < 0.5
            weights = _matrix(np.array(text.split(), dtype=float), len(graph))
            caption = f"AUC {max(value, 1 - value):.2f}" + (", 1 − A" if complement else "")
            best = index > 0 and number == layer["communities"]["channel"]
            channels.append(ChannelPicture(-weights if complement else weights, caption, best))
        if index == 0:
            # The second input channel is the complement of the first, so it is not drawn.
            noisy = ChannelPicture(channels[0].weights, f"noisy A: {channels[0].caption}")
            about = f"clean A, not an input: AUC {results['clean']:.2f}"
            channels = [noisy, ChannelPicture(clean, about)]
        rows.append(ChannelRow("input" if index == 0 else f"layer {index}", channels))
    return rows


def _matrix(entries: Array, nodes: int) -> Array:
    weights = np.zeros((nodes, nodes))
    rows, columns = np.triu_indices(nodes, k=1)
    weights[rows, columns] = weights[columns, rows] = entries
    return weights


EXPERIMENT = Experiment(
    NAME,
    keys=_keys,
    settings=_settings,
    compute=_compute,
    assemble=_assemble,
    tables=_tables,
    facts=_facts,
    pictures=_draw,
)
