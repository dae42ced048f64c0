"""Theorem 1 on trained networks: relabelling the nodes changes no score and no log-density.

The error of equivariance is the largest |s(P A P') - P s(A) P'| over test graphs and random
relabellings, relative to the largest |s(A)|. The log-density is the line integral of the score from
0 to A; its spread over relabellings of one graph stands beside its spread over
different graphs. Both are computed in float64 and float32: what is left is rounding. The scale is
given by |s(P A P') - s(A)|, the answer that is not brought back into the old order.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from graphscore.datasets import load_dataset
from graphscore.experiments.context import Context, Record
from graphscore.experiments.registry import Experiment
from graphscore.experiments.tables import Table, made_by
from graphscore.graphs import GraphBatch
from graphscore.noise import perturb
from graphscore.plots.permutation import ErrorCurve, draw_permutation
from graphscore.sampling import log_density_difference
from graphscore.seeding import torch_generator

DATASETS = {"full": ("community-small", "ego-small"), "quick": ("community-small",)}
RELABELLINGS = {"full": 32, "quick": 8}
POINTS = {"full": 32, "quick": 16}
PRECISIONS = {"float64": torch.float64, "float32": torch.float32}


def relabellings(batch: GraphBatch, count: int, *, seed: int) -> list[Tensor]:
    """Draw orders (B,N) of the nodes of each graph, the padding behind them as before."""
    made = []
    for number in range(count):
        generator = torch_generator(seed, "relabelling", number)
        keys = torch.rand(batch.node_mask.shape, generator=generator)
        made.append(keys.masked_fill(~batch.node_mask.cpu(), 2.0).argsort(1))
    return made


@torch.no_grad()
def equivariance(
    network: torch.nn.Module, batch: GraphBatch, sigma: float, orders: list[Tensor], *, seed: int
) -> dict[str, float]:
    """Return the relative changes of the score: brought back into the old order, and not.

    Args:
        batch: clean graphs in the precision and on the device of the network.
        sigma: noise level, at which the graphs are perturbed first.
        orders: as `relabellings` gives them.
    """
    # The same noise in every precision and on every device.
    levels = torch.full((len(batch),), sigma, dtype=torch.float64)
    generator = torch_generator(seed, "permutation", f"{sigma:g}")
    mask = batch.node_mask.cpu()
    noisy = perturb(batch.adj.cpu().double(), mask, levels, generator=generator)
    given = GraphBatch(noisy.to(batch.adj), batch.node_mask)
    levels = levels.to(batch.adj)
    score = network(given.adj, given.node_mask, levels)
    back, kept = 0.0, 0.0
    for order in orders:
        moved = given.permuted(order.to(given.adj.device))
        other = network(moved.adj, moved.node_mask, levels)
        expected = GraphBatch(score, given.node_mask).permuted(order.to(given.adj.device)).adj
        back = max(back, float((other - expected).abs().max()))
        kept = max(kept, float((other - score).abs().max()))
    largest = float(score.abs().max())
    return {"error": back / largest, "not_brought_back": kept / largest, "largest_score": largest}


def densities(
    network: torch.nn.Module, batch: GraphBatch, sigma: float, orders: list[Tensor], *, points: int
) -> np.ndarray:
    """Return (1 + relabellings, B) log-densities, the first row with the nodes as they are."""
    levels = torch.full((len(batch),), sigma).to(batch.adj)
    moved = (batch.permuted(order.to(batch.adj.device)) for order in orders)
    rows = [
        log_density_difference(network, graphs.adj, graphs.node_mask, levels, points=points)
        for graphs in (batch, *moved)
    ]
    values: np.ndarray = torch.stack(rows).double().cpu().numpy()
    return values


def spreads(values: np.ndarray) -> dict[str, float]:
    """Return the largest change by a relabelling, and the standard deviation between graphs.

    >>> spreads(np.array([[1.0, 3.0], [1.0, 3.5]]))
    {'relabelling': 0.5, 'graphs': 1.0, 'ratio': 0.5}
    """
    within = float(np.abs(values - values[0]).max())
    between = float(values[0].std())
    return {"relabelling": within, "graphs": between, "ratio": within / between}


# ------------------------------------------------------------------ the experiment


def _of_scale(context: Context, table: Mapping[str, Any], tiny: Any) -> Any:
    return table.get(context.sizes.name, tiny)


def _keys(context: Context) -> list[str]:
    names = _of_scale(context, DATASETS, ("community-small",))
    # A property of the network's structure: more seeds would show the same.
    return [f"{name}_seed0" for name in names]


def _settings(context: Context) -> dict[str, Any]:
    return {
        "relabellings": _of_scale(context, RELABELLINGS, 2),
        "points": _of_scale(context, POINTS, 3),
        **context.defaults(),
    }


def _compute(context: Context, key: str) -> Record:
    name, _, number = key.rpartition("_seed")
    seed, settings = int(number), _settings(context)
    data = load_dataset(name)
    generator = context.fit(key, data.train, source=name, seed=seed)
    clean = GraphBatch.from_networkx(data.test)
    orders = relabellings(clean, settings["relabellings"], seed=seed)
    sigmas = generator.settings.noise.sigmas
    record: Record = {"dataset": name, "sigmas": list(sigmas), "step": generator.step}
    for precision, dtype in PRECISIONS.items():
        network = _network(generator.network, dtype, context.torch_device)
        batch = clean.to(context.torch_device, dtype)
        values = {
            sigma: densities(network, batch, sigma, orders, points=settings["points"])
            for sigma in sigmas
        }
        last = values[sigmas[-1]]
        record[precision] = {
            "score": [equivariance(network, batch, sigma, orders, seed=seed) for sigma in sigmas],
            "density": [spreads(values[sigma]) for sigma in sigmas],
            # One line of text: hundreds of numbers in lines of their own are no use.
            "changes": _line((last[1:] - last[0]).ravel()),
            "between": _line(
                np.subtract.outer(last[0], last[0])[np.triu_indices(len(data.test), 1)]
            ),
        }
    return record


def _network(network: torch.nn.Module, dtype: torch.dtype, device: torch.device) -> torch.nn.Module:
    return copy.deepcopy(network).to(device=device, dtype=dtype).eval()


def _line(values: np.ndarray) -> str:
    return " ".join(f"{abs(value):.3g}" for value in values)


def _numbers(line: str) -> list[float]:
    return [float(word) for word in line.split()]


def _assemble(context: Context, parts: Mapping[str, Record]) -> list[Record]:
    return [
        {key: value for key, value in part.items() if key not in ("seconds", "provenance")}
        for part in parts.values()
    ]


def _largest(rows: list[Record], precision: str, level: int) -> list[float]:
    """Over the seeds: error of the score, change of the density, and their ratios."""
    score = [row[precision]["score"][level] for row in rows]
    density = [row[precision]["density"][level] for row in rows]
    return [
        max(value["error"] for value in score),
        max(value["relabelling"] for value in density),
        max(value["ratio"] for value in density),
    ]


def _by_dataset(record: Record) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for row in record["results"]:
        found.setdefault(row["dataset"], []).append(row)
    return found


def _tables(record: Record) -> list[Table]:
    rows = []
    for name, runs in _by_dataset(record).items():
        for level, sigma in enumerate(runs[0]["sigmas"]):
            between = np.mean([run["float64"]["density"][level]["graphs"] for run in runs])
            double, single = (_largest(runs, precision, level) for precision in PRECISIONS)
            rows.append(
                [
                    name,
                    f"{sigma:g}",
                    f"{double[0]:.1e}",
                    f"{single[0]:.1e}",
                    f"{between:.3g}",
                    f"{double[2]:.1e}",
                    f"{single[2]:.1e}",
                ]
            )
    columns = (
        "test graphs of",
        "sigma",
        "score, float64",
        "score, float32",
        "log-density between graphs",
        "by relabelling, float64",
        "by relabelling, float32",
    )
    return [Table("What a relabelling of the nodes changes", columns, rows)]


def _markdown(record: Record) -> str:
    (table,) = _tables(record)
    worst = max(value["error"] for row in record["results"] for value in row["float64"]["score"])
    ratio = max(value["ratio"] for row in record["results"] for value in row["float64"]["density"])
    names = list(_by_dataset(record))
    pictures = "\n".join(
        f"![Relabelling, {name}](images/permutation_{name}.png)\n" for name in names
    )
    return (
        "## Permutation (Theorem 1)\n\n"
        f"Trained networks, all test graphs, {record['settings']['relabellings']} random "
        "relabellings each. Score: the largest |s(P A P') − P s(A) P'| at perturbed graphs, "
        "divided by the largest |s(A)|. Log-density: the line integral of the score from 0 to A "
        f"({record['settings']['points']} quadrature points); its standard deviation between "
        "graphs, and the largest change by a relabelling divided by it.\n\n"
        f"{made_by(record)}\n{table.markdown()}\n\n"
        f"In float64 no relabelling changes a score by more than {worst:.0e} of the largest, or a "
        f"log-density by more than {ratio:.0e} of the spread between graphs: the network is "
        "equivariant and the density invariant up to rounding, as the theorem says.\n\n"
        f"{pictures}\n"
        "*Left: change of the score, brought back into the old order (rounding) and not (what an "
        "order-dependent answer would look like). Right: differences of log-densities at the "
        "smallest noise level between relabellings of one graph and between different graphs; at 0 "
        "the share of exact agreement.*\n"
    )


def _draw(record: Record, out: Path) -> list[Path]:
    files = []
    for name, runs in _by_dataset(record).items():
        run, file = runs[0], out / f"permutation_{name}.png"

        def errors(precision: str, key: str, run: Record = run) -> list[float]:
            return [value[key] for value in run[precision]["score"]]

        curves = [
            ErrorCurve("float64", run["sigmas"], errors("float64", "error")),
            ErrorCurve("float32", run["sigmas"], errors("float32", "error")),
            ErrorCurve(
                "not brought back into the old order",
                run["sigmas"],
                errors("float64", "not_brought_back"),
            ),
        ]
        changes = {
            "relabellings\nof one graph,\nfloat64": _numbers(run["float64"]["changes"]),
            "relabellings\nof one graph,\nfloat32": _numbers(run["float32"]["changes"]),
            "different\ngraphs": _numbers(run["float64"]["between"]),
        }
        heading = f"{name}, network trained for {run['step']} steps"
        draw_permutation(curves, changes, file, heading=heading)
        files.append(file)
    return files


EXPERIMENT = Experiment(
    name="permutation",
    keys=_keys,
    settings=_settings,
    compute=_compute,
    assemble=_assemble,
    tables=_tables,
    markdown=_markdown,
    pictures=_draw,
    seeded=False,
)
