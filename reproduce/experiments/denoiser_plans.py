"""How each set of the denoiser benchmark is learned and evaluated, from its plan file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import networkx as nx

from graphscore.config import merge
from graphscore.datasets import sample_community, sample_planar, sample_sbm, sample_tree
from reproduce.context import Context, Record
from reproduce.core import SamplerSettings, default_samplers, sampler_of

NAME = "denoiser-benchmark"
Plan = dict[str, Any]

MEASURES = {
    "average": "average MMD",
    "largest": "largest MMD",
    "vun": "valid, unique and novel",
    "valid": "valid",
}
"""Names of the measures in tables."""

GROUND_TRUTH: dict[str, Callable[[int], list[nx.Graph[Any]]]] = {
    "community-small-released": partial(sample_community, released=True),
    "planar-spectre": sample_planar,
    "tree-spectre": sample_tree,
    "sbm-spectre": partial(sample_sbm, connected=False),
}
"""The true generator of a set, where it is known; its graphs show what a perfect model reaches."""


def smaller_is_better(measure: str) -> bool:
    return measure not in ("vun", "valid")


def value_text(value: float, measure: str) -> str:
    return f"{value:.4f}" if smaller_is_better(measure) else f"{value:.1%}"


def reaches(value: float, target: float, measure: str) -> bool:
    return value <= target if smaller_is_better(measure) else value >= target


def measured(record: Record, measure: str) -> float:
    """The number that is compared with the target, from an evaluation."""
    if measure in ("vun", "valid"):
        share: float = record["vun"][measure]
        return share
    mmd = record["mmd"]
    if measure == "average":
        return float(mmd["average"])
    return max(float(mmd[name]) for name in ("degree", "clustering", "orbit"))


def set_plan(context: Context, name: str) -> Plan:
    """The plan of a set at the scale of the context."""
    file = context.plan(NAME)
    own = dict(file["plans"][name])
    plan = merge(file["plans"][own.pop("like")], own)
    changes = file.get("changes")
    if changes is None:
        return plan
    small = merge(plan, {key: changes[key] for key in ("network", "training")})
    small["calls"] = changes.get("calls", plan["calls"])
    for key in ("samples", "trial_samples"):
        small[key] = min(plan[key], changes["most_samples"])
    for key in ("intermediate_samples", "samplers", "more_samplers"):
        small.pop(key, None)
    return small


def without_samplers(plan: Mapping[str, Any]) -> Plan:
    """A plan without its candidates, of which test results have a list of their own."""
    return {key: plan[key] for key in plan if key not in ("samplers", "more_samplers")}


def candidates(plan: Mapping[str, Any]) -> list[SamplerSettings]:
    """Samplers that validation graphs choose from."""
    if "samplers" in plan:
        return [sampler_of(values) for values in plan["samplers"]]
    default = default_samplers(plan["calls"], plan["noise"])
    return [*default, *map(sampler_of, plan.get("more_samplers", []))]


def guide_plan(context: Context, name: str) -> Plan:
    """How the guide model of a set is trained and used at the scale of the context."""
    file = context.plan(NAME)
    plan, changes = file["guides"][name], file.get("changes")
    if changes is None:
        return dict(plan)
    # The guide is as large as the model, but trained for a shorter time.
    steps = {"steps": max(1, changes["training"]["steps"] // 2)}
    return {
        **plan,
        "network": set_plan(context, name)["network"],
        "training": changes["training"] | steps,
        "samplers": [{**plan["samplers"][0], "steps": 4}],
    }


def langevin_plan(context: Context, name: str) -> Plan:
    """How EDP-GNN is trained and sampled on a set at the scale of the context."""
    file = context.plan(NAME)
    plan, changes = file["langevin"][name], file.get("changes")
    if changes is None:
        return dict(plan)
    return merge(plan, {"training": changes["training"], **changes["langevin"]})


def intermediate_steps(context: Context, plan: Mapping[str, Any]) -> list[int]:
    """Training steps of the intermediate evaluations."""
    steps, shares = plan["training"]["steps"], context.plan(NAME)["intermediate"]
    return sorted({max(1, round(share * steps)) for share in shares} - {steps})
