"""Theorem 1 on trained networks: relabelling the nodes changes no score and no log-density.

The equivariance error is the largest |s(P A P') - P s(A) P'| over test graphs and random
relabellings, relative to the largest |s(A)|. The log-density is the line integral of the score from
0 to A; its changes under relabelling of one graph are compared with its standard deviation over
different graphs. Both are computed in float64 and float32: what remains is rounding. For
comparison: |s(P A P') - s(A)|, where the answer is not permuted back.
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
from graphscore.seeding import torch_generator
from reproduce.context import Context, Record
from reproduce.core import GraphBatch, GraphState, log_density_difference, perturb
from reproduce.experiment import Experiment
from reproduce.plots.permutation import ErrorCurve, draw_permutation
from reproduce.tables import Table

NAME = "theorem1"
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
    """Return the relative changes of the score: permuted back, and not permuted back.

    Args:
        batch: clean graphs in the precision and on the device of the network.
        sigma: noise level of the graphs.
        orders: as `relabellings` gives them.
    """
    # The same noise in every precision and on every device.
    levels = torch.full((len(batch),), sigma, dtype=torch.float64)
    generator = torch_generator(seed, "permutation", f"{sigma:g}")
    clean = batch.to("cpu", torch.float64).state
    noisy = perturb(clean, levels, generator=generator).edges.to(batch.adj)
    levels = levels.to(batch.adj)

    def scores(adj: Tensor) -> Tensor:
        answer: GraphState = network(GraphState(adj, batch.node_mask), levels)
        return answer.edges

    score = scores(noisy)
    back, kept = 0.0, 0.0
    for order in orders:
        # Relabelling moves no node to a place of padding, so the mask stays.
        moved, expected = (
            GraphBatch(adj, batch.node_mask).permuted(order.to(adj.device)).adj
            for adj in (noisy, score)
        )
        other = scores(moved)
        back = max(back, float((other - expected).abs().max()))
        kept = max(kept, float((other - score).abs().max()))
    largest = float(score.abs().max())
    return {"error": back / largest, "not_permuted_back": kept / largest, "largest_score": largest}


def densities(
    network: torch.nn.Module, batch: GraphBatch, sigma: float, orders: list[Tensor], *, points: int
) -> np.ndarray:
    """Return (1 + relabellings, B) log-densities, the first row with the nodes as they are."""
    levels = torch.full((len(batch),), sigma).to(batch.adj)
    moved = (batch.permuted(order.to(batch.adj.device)) for order in orders)
    rows = [
        log_density_difference(network, graphs.state, levels, points=points)
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


def _keys(context: Context) -> list[str]:
    # A property of the architecture: one seed is enough.
    return [f"{name}_seed0" for name in context.plan(NAME)["datasets"]]


def _settings(context: Context) -> dict[str, Any]:
    plan = context.plan(NAME)
    own = {key: plan[key] for key in ("relabellings", "points")}
    return {**own, **context.defaults()}


def _compute(context: Context, key: str) -> Record:
    name, _, number = key.rpartition("_seed")
    seed, settings = int(number), _settings(context)
    data = load_dataset(name)
    generator = context.fit(key, data.train, source=name, seed=seed)
    clean = GraphBatch.from_networkx(data.test)
    orders = relabellings(clean, settings["relabellings"], seed=seed)
    trained: Any = generator.settings
    sigmas = trained.noise.sigmas
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
            # One line of text instead of hundreds of lines.
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
        "std of log-density",
        "change, float64",
        "change, float32",
    )
    return [Table("Changes under relabelling of the nodes", columns, rows)]


def _facts(record: Record) -> dict[str, Any]:
    rows = [row["float64"] for row in record["results"]]
    return {
        "names": list(_by_dataset(record)),
        "error": f"{max(value['error'] for row in rows for value in row['score']):.0e}",
        "ratio": f"{max(value['ratio'] for row in rows for value in row['density']):.0e}",
    }


def _draw(record: Record, out: Path) -> list[Path]:
    files = []
    for name, runs in _by_dataset(record).items():
        run, file = runs[0], out / f"{NAME}_{name}.png"

        def errors(precision: str, key: str, run: Record = run) -> list[float]:
            return [value[key] for value in run[precision]["score"]]

        curves = [
            ErrorCurve("float64", run["sigmas"], errors("float64", "error")),
            ErrorCurve("float32", run["sigmas"], errors("float32", "error")),
            ErrorCurve(
                "not permuted back",
                run["sigmas"],
                errors("float64", "not_permuted_back"),
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
    NAME,
    keys=_keys,
    settings=_settings,
    compute=_compute,
    assemble=_assemble,
    tables=_tables,
    facts=_facts,
    pictures=_draw,
    seeded=False,
)
