"""The channel figure: what the intermediate adjacency channels hold, as pictures and as a number.

A network is trained on Community-small at a single noise level. Its channels on perturbed test
graphs are drawn, and each is asked how well its entries tell pairs of one community from pairs of
two: the probability that a pair of the first kind has the larger entry (AUC), where 0.5 is chance.
A channel that orders them the other way round counts with its complement. Which channel of a layer
is best, and whether it is its complement, is decided on validation graphs; the numbers are of test
graphs. Beside them stand the perturbed input itself, the same network before training, and the
clean graph, whose entries know the edges but not the communities.
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
from graphscore.experiments.context import Context, Record
from graphscore.experiments.registry import Experiment
from graphscore.experiments.tables import Table, made_by, summary, with_spread
from graphscore.graphs import GraphBatch
from graphscore.networks import EDPGNN, EDPGNNSettings
from graphscore.noise import perturb
from graphscore.plots.channels import (
    ChannelPicture,
    ChannelRow,
    SeparationCurve,
    draw_channels,
    draw_separation,
)
from graphscore.seeding import torch_generator

DATASET = "community-small"
SIGMA = 0.6
DRAWS = {"full": 20, "quick": 5}
SHOWN = 2
"""How many test graphs are drawn."""
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


@torch.no_grad()
def _channels(
    network: EDPGNN, graphs: Sequence[nx.Graph[Any]], draws: int, *, seed: int, stream: str
) -> list[Array]:
    """Channels (draws * G,N,N,C) of the input and of every layer on perturbed graphs."""
    batch = GraphBatch.from_networkx(list(graphs))
    device = next(network.parameters()).device
    made: list[list[Array]] = []
    for draw in range(draws):
        sigma = torch.full((len(batch),), SIGMA)
        generator = torch_generator(seed, "channels", stream, draw)
        noisy = perturb(batch.adj, batch.node_mask, sigma, generator=generator)
        layers = network.edge_channels(
            noisy.to(device), batch.node_mask.to(device), sigma.to(device)
        )
        made.append([layer.double().cpu().numpy() for layer in layers])
    return [np.concatenate(layers) for layers in zip(*made)]


# ------------------------------------------------------------------ the experiment


def _keys(context: Context) -> list[str]:
    return context.seed_keys()


def _settings(context: Context) -> dict[str, Any]:
    return {
        "dataset": DATASET,
        "sigma": SIGMA,
        "draws": DRAWS.get(context.sizes.name, 1),
        **context.defaults(),
    }


def _compute(context: Context, key: str) -> Record:
    seed = int(key.removeprefix("seed"))
    data = load_dataset(DATASET)
    draws = DRAWS.get(context.sizes.name, 1)
    generator = context.fit(key, data.train, source=DATASET, seed=seed, noise={"sigmas": (SIGMA,)})
    network, shape = generator.network, generator.settings.network
    assert isinstance(network, EDPGNN)
    assert isinstance(shape, EDPGNNSettings)
    start = EDPGNN(
        shape,
        generator.settings.noise.sigmas,
        generator=torch_generator(seed, "initial weights"),
    ).to(next(network.parameters()).device)
    record: Record = {"step": generator.step}
    for name, which in zip(NETWORKS, (network, start.eval())):
        chosen = layer_aucs(
            _channels(which, data.val, draws, seed=seed, stream="val"), data.val * draws
        )
        measured = layer_aucs(
            _channels(which, data.test, draws, seed=seed, stream="test"), data.test * draws
        )
        record[name] = _best(chosen, measured)
    clean = nx.to_numpy_array
    record["clean"] = float(
        np.mean([_clean_auc(clean(g, nodelist=range(len(g))), g) for g in data.test])
    )
    record["pictures"] = _pictures(network, data.test, record["trained"], seed)
    return record


def _clean_auc(adjacency: Array, graph: nx.Graph[Any]) -> float:
    rows, columns = np.triu_indices(len(graph), k=1)
    community = np.asarray(true_communities(graph))
    return auc(adjacency[rows, columns], community[rows] == community[columns])


def _best(chosen: list[list[list[float]]], measured: list[list[list[float]]]) -> list[Record]:
    """For each layer the channels' AUCs, and the best one as validation graphs say."""
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
    network: EDPGNN, graphs: Sequence[nx.Graph[Any]], layers: list[Record], seed: int
) -> list[Record]:
    """What the figure shows: the largest test graphs and the channels' entries for i < j."""
    numbers = sorted(range(len(graphs)), key=lambda index: -len(graphs[index]))[:SHOWN]
    channels = _channels(network, graphs, 1, seed=seed, stream="test")
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
                        # One line of text: thousands of numbers in lines of their own are no use.
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
    return "input, perturbed" if layer == 0 else f"layer {layer}"


def _tables(record: Record) -> list[Table]:
    results = record["results"]
    rows = []
    for row in results["layers"]:
        if row["layer"] == 0:
            cells = [with_spread(row[f"trained_{what}"], 3) for what in ("communities", "edges")]
            rows.append([_name(0), cells[0], "", cells[1], ""])
            continue
        keys = [f"{net}_{what}" for what in ("communities", "edges") for net in NETWORKS]
        rows.append([_name(row["layer"]), *(with_spread(row[key], 3) for key in keys)])
    rows.append(["clean graph", f"{results['clean']:.3f}", "", "1.000", ""])
    columns = (
        "best channel of",
        "communities",
        "same, untrained",
        "clean edges",
        "same, untrained",
    )
    return [Table(f"AUC on perturbed test graphs, sigma {SIGMA:g}", columns, rows)]


def _markdown(record: Record) -> str:
    (table,) = _tables(record)
    results = record["results"]
    layers = results["layers"]
    best = max(layers[1:], key=lambda row: row["trained_communities"]["mean"])
    count = len(record["seeds"])
    return (
        "## Channels (the paper's channel figure)\n\n"
        f"A network trained for {results['steps']} steps on {record['settings']['dataset']} at the "
        f"single noise level {SIGMA:g}, and its channels on test graphs perturbed at that level "
        f"({record['settings']['draws']} draws of noise each). A channel's number is the "
        "probability that a pair inside a community has the larger entry than a pair between the "
        "two (AUC; 0.5 is chance); a channel that orders them the other way round counts with its "
        "complement. Channel and complement are chosen on validation graphs. The same for clean "
        "edges against pairs without one. "
        + (f"Mean and standard deviation over {count} seeds.\n\n" if count > 1 else "One seed.\n\n")
        + f"{made_by(record)}\n{table.markdown()}\n\n"
        f"The perturbed input separates the communities with "
        f"{layers[0]['trained_communities']['mean']:.3f}; the best channel of layer "
        f"{best['layer']} with {best['trained_communities']['mean']:.3f}, before training "
        f"{best['untrained_communities']['mean']:.3f}. The clean graph itself reaches "
        f"{results['clean']:.3f}, because 30 % of the pairs inside a community have no edge: what "
        "lies above it is knowledge of communities, not of edges.\n\n"
        "![Channels of every layer](images/channels_0.png)\n\n"
        "*Rows are layers, columns channels: the standardised matrix, nodes ordered by community, "
        "and the strongest pairs, at most as many as the clean graph has edges, with the nodes "
        "where the clean graph has them. The best channel of each layer is framed; complements are "
        "marked 1 − A; AUCs are means over the test graphs.*\n\n"
        "![AUC by layer](images/channels_separation.png)\n"
    )


def _draw(record: Record, out: Path) -> list[Path]:
    results = record["results"]
    files = []
    for index, picture in enumerate(results["pictures"]):
        file = out / f"channels_{index}.png"
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
    file = out / "channels_separation.png"
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
            # The second input channel is the complement of the first: drawn alike, so only once.
            noisy = ChannelPicture(channels[0].weights, f"perturbed A: {channels[0].caption}")
            about = f"clean A, not seen: AUC {results['clean']:.2f}"
            channels = [noisy, ChannelPicture(clean, about)]
        rows.append(ChannelRow("input" if index == 0 else f"layer {index}", channels))
    return rows


def _matrix(entries: Array, nodes: int) -> Array:
    weights = np.zeros((nodes, nodes))
    rows, columns = np.triu_indices(nodes, k=1)
    weights[rows, columns] = weights[columns, rows] = entries
    return weights


EXPERIMENT = Experiment(
    name="channels",
    keys=_keys,
    settings=_settings,
    compute=_compute,
    assemble=_assemble,
    tables=_tables,
    markdown=_markdown,
    pictures=_draw,
)
