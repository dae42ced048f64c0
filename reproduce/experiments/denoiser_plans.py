"""How each set of the frontier experiment is learned, and what is to be reached on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any, Literal

import networkx as nx

from graphscore.datasets import sample_community, sample_planar, sample_sbm, sample_tree
from graphscore.experiments.context import Context, Record
from graphscore.noise import SigmaRange
from graphscore.sampling import HeunSettings, RenoisingSettings, starts_within

MARKS = (1 / 16, 1 / 4, 1 / 2)
"""Moments of a training at which its quality is measured, as shares of its steps."""


NAMES = {
    "average": "average MMD",
    "largest": "largest MMD",
    "vun": "valid, unique and novel",
    "valid": "valid",
}
"""What measures are called."""


def better_is_smaller(measure: str) -> bool:
    return measure not in ("vun", "valid")


def text_of(value: float, measure: str) -> str:
    return f"{value:.4f}" if better_is_smaller(measure) else f"{value:.1%}"


def reaches(value: float, target: float, measure: str) -> bool:
    return value <= target if better_is_smaller(measure) else value >= target


def measured(record: Record, measure: str) -> float:
    """The number that is compared with the target, from what `judge` gave."""
    if measure in ("vun", "valid"):
        share: float = record["vun"][measure]
        return share
    mmd = record["mmd"]
    if measure == "average":
        return float(mmd["average"])
    return max(float(mmd[name]) for name in ("degree", "clustering", "orbit"))


def usual_sampler(calls: int) -> HeunSettings:
    """Heun's method with fresh noise in at most so many network calls."""
    steps = max(1, (calls + 1) // 2)
    return HeunSettings(steps=steps, churn=0.4 * steps)


def usual_samplers(
    calls: int, sigma_range: SigmaRange
) -> tuple[HeunSettings | RenoisingSettings, ...]:
    """Samplers of all kinds, from all starts within the range, in at most so many calls."""
    heun = usual_sampler(calls)
    kinds = [
        *(heun.replaced(churn=share * heun.steps) for share in (0.1, 0.4)),
        *(RenoisingSettings(steps=calls, noise=noise) for noise in ("fresh", "bridge")),
    ]
    starts = [None, *starts_within(sigma_range)]
    return tuple(kind.replaced(sigma_max=start) for kind, start in product(kinds, starts))


@dataclass(frozen=True)
class Plan:
    """How one set is learned and judged.

    Attributes:
        network: settings of the denoiser.
        training: settings of training.
        calls: network calls that a sampler may take.
        samples: graphs drawn for the verdict.
        trial_samples: graphs drawn where samplers are chosen and against network calls.
        kernel: convention of the MMDs.
        measure: what is compared with the target: "average", "vun", "valid" or "largest" (MMD).
        target: what to reach.
        published: the best that others report, in words.
        denoising: settings of the objective that differ from the defaults.
        moment_samples: graphs drawn at moments of the training; as many as for the verdict if None.
        samplers: tried for the verdict, whatever calls they take; the usual ones if empty.
        dataset: its name, where the plan has another one.
    """

    network: Mapping[str, Any]
    training: Mapping[str, Any]
    calls: int
    samples: int
    trial_samples: int
    kernel: Literal["gaussian-emd", "gaussian-tv"]
    measure: str
    target: float
    published: str
    denoising: Mapping[str, Any] = field(default_factory=dict)
    moment_samples: int | None = None
    samplers: tuple[HeunSettings | RenoisingSettings, ...] = ()
    dataset: str | None = None

    @property
    def sigma_range(self) -> SigmaRange:
        """Noise levels of the training."""
        return SigmaRange(**self.denoising.get("sigma_range", {}))

    @property
    def candidates(self) -> tuple[HeunSettings | RenoisingSettings, ...]:
        """Samplers that validation graphs choose from."""
        return self.samplers or usual_samplers(self.calls, self.sigma_range)

    def described(self) -> dict[str, Any]:
        """Everything but the samplers, of which verdicts have a list, as plain values."""
        values = asdict(replace(self, samplers=()))
        return {name: value for name, value in values.items() if value not in (None, ())}


LEARNING = {"learning_rate": 2e-3, "final_learning_rate": 2e-5, "gradient_clip": 1.0}
"""Settings of training, where a plan has no others."""
WIDE = {"kind": "denoiser", "blocks": 8, "pair_width": 64, "node_width": 32, "product_width": 32}
SLIM = {"kind": "denoiser", "blocks": 6, "pair_width": 48, "node_width": 32, "product_width": 24}

_BLOCKS = SigmaRange(sigma_min=0.15, sigma_max=1.2)
"""Blocks of 40 nodes can be seen below sigma 0.9, and below 0.4 all of them are decided."""
_SQUARES = SigmaRange(sigma_min=0.2, sigma_max=0.6)
"""Between sigma 0.45 and 0.3 nearly all of a grid is decided."""

_SMALL = Plan(
    network=SLIM,
    training={"steps": 16_000, "batch_size": 64},
    calls=64,
    samples=1024,
    trial_samples=1024,
    kernel="gaussian-emd",
    measure="average",
    target=0.006,
    published="EDP-GNN .050, GDSS .035",
)
_LARGE = Plan(
    network=WIDE,
    training={"steps": 50_000, "batch_size": 32, "learning_rate": 1e-3},
    calls=256,
    samples=256,
    trial_samples=128,
    kernel="gaussian-tv",
    measure="vun",
    target=0.97,
    published="DiGress 77.5 %, GruM 90 %, DeFoG 99.5 %",
    # Above sigma 2, noise hides all of a sparse graph of 64 nodes but the number of its edges.
    denoising={"sigma_range": {"sigma_min": 0.15, "sigma_max": 2.0}},
)

PLANS = {
    "community-small-released": _SMALL,
    "ego-small": replace(_SMALL, target=0.0155, published="EDP-GNN .013, GDSS .015"),
    "lobster": replace(_SMALL, calls=256, measure="valid", target=0.99, published="–"),
    "planar-spectre": _LARGE,
    "tree-spectre": replace(
        _LARGE,
        # In 32,000 steps trees are learned by heart, and samples get worse.
        training={
            "optimiser": "muon",
            "steps": 12_000,
            "batch_size": 64,
            "learning_rate": 6e-3,
        },
        # Samplers differ by one sample in a hundred.
        trial_samples=256,
        target=0.95,
        published="DiGress 90 %, DeFoG 96.5 %",
        # Without fresh noise trees end in pieces, and much of it tears them again. Of many
        # samplers the luckiest would be chosen, so there are only those with little noise.
        samplers=tuple(
            HeunSettings(steps=steps, churn=0.05 * steps, sigma_max=start)
            for steps in (128, 256)
            for start in (0.5, 0.7)
        ),
    ),
    "sbm-spectre": replace(
        _LARGE,
        training={**_LARGE.training, "steps": 32_000, "batch_size": 12},
        moment_samples=64,
        target=0.85,
        published="GruM 85 %, DeFoG 90 %",
        denoising={"sigma_range": _BLOCKS.model_dump()},
    ),
    "sbm-spectre-communities": replace(
        _LARGE,
        network={**SLIM, "communities": True},
        training={**_LARGE.training, "steps": 4000, "batch_size": 12},
        calls=64,
        trial_samples=256,
        moment_samples=64,
        target=0.85,
        published="GruM 85 %, DeFoG 90 %",
        # What is left to be decided are single edges, on which other pairs say little: a few
        # samplers of each kind, so that the luckiest is not far from the others.
        samplers=(
            *(HeunSettings(steps=32, churn=share * 32) for share in (0.0, 0.1, 0.4)),
            RenoisingSettings(steps=64),
        ),
        dataset="sbm-spectre",
    ),
    "grid": replace(
        _LARGE,
        training={**_LARGE.training, "steps": 24_000, "batch_size": 4},
        moment_samples=24,
        trial_samples=24,
        kernel="gaussian-emd",
        measure="largest",
        target=0.005,
        published="GDSS .111 / .005 / .070",
        denoising={"sigma_range": _SQUARES.model_dump()},
        samplers=(
            *usual_samplers(_LARGE.calls, _SQUARES),
            # Wrong edges heal slowly, and below sigma 0.4 only.
            *(RenoisingSettings(steps=1024, sigma_max=start) for start in (0.5, 0.4, 0.3)),
        ),
    ),
}
LARGE_SETS = ("planar-spectre", "tree-spectre", "sbm-spectre", "sbm-spectre-communities", "grid")
"""Sets of graphs of 44 nodes and more, which the paper does not have."""

TRUTH: dict[str, Callable[[int], list[nx.Graph[Any]]]] = {
    "community-small-released": partial(sample_community, released=True),
    "planar-spectre": sample_planar,
    "tree-spectre": sample_tree,
    "sbm-spectre": partial(sample_sbm, connected=False),
}
"""Fresh graphs of the distribution a set was drawn from, where it is known: what a perfect model
would be measured at."""


@dataclass(frozen=True)
class LangevinPlan:
    """How the paper's EDP-GNN is trained and sampled on a set, for comparison.

    Attributes:
        network: settings of the EDP-GNN.
        training: settings of training.
        lengths: Langevin steps at each noise level.
        step_sizes, noise_scales: what validation graphs choose from, for each length.
    """

    network: Mapping[str, Any]
    training: Mapping[str, Any]
    lengths: tuple[int, ...] = (1, 3, 10, 30, 100, 300, 1000)
    step_sizes: tuple[float, ...] = (2e-4, 5e-4, 1e-3, 3e-3, 1e-2)
    noise_scales: tuple[float, ...] = (1.0, 0.9)

    def described(self) -> dict[str, Any]:
        """Everything as plain values."""
        return asdict(self)


_EDP_GNN = LangevinPlan({"kind": "edp-gnn"}, {"steps": 20_000})
LANGEVIN = {
    "community-small-released": _EDP_GNN,
    "ego-small": _EDP_GNN,
    # Graphs of 64 nodes take ten times as long.
    "planar-spectre": replace(
        _EDP_GNN,
        training={"steps": 3000, "batch_size": 8},
        lengths=(1, 3, 10, 30, 100),
        step_sizes=(1e-3, 3e-3, 1e-2),
        noise_scales=(1.0,),
    ),
}


@dataclass(frozen=True)
class GuidePlan:
    """How a weaker model is trained that guides a set's, and how far.

    Attributes:
        training: settings of training that differ from the set's; noise levels are the same.
        samplers: tried with every weight; a step takes a call of both networks.
        sigma_min, sigma_max: noise levels between which it guides.
        weights: of the guide, tried on validation graphs.
        network: settings of the guide.
    """

    training: Mapping[str, Any]
    samplers: tuple[HeunSettings | RenoisingSettings, ...]
    sigma_min: float
    sigma_max: float
    weights: tuple[float, ...] = (0.5, 1.0, 2.0, 3.0)
    network: Mapping[str, Any] = field(
        default_factory=lambda: {
            "kind": "denoiser",
            "blocks": 4,
            "pair_width": 32,
            "node_width": 16,
            "product_width": 16,
            "conditioning_width": 16,
        }
    )

    def described(self) -> dict[str, Any]:
        """Everything as plain values."""
        samplers = [sampler.model_dump(mode="json") for sampler in self.samplers]
        return {**asdict(replace(self, samplers=())), "samplers": samplers}


GUIDES = {
    # Guidance is for the noise at which a graph takes shape, and does harm where it is finished.
    "sbm-spectre": GuidePlan(
        training={"steps": 2500},
        samplers=(HeunSettings(steps=256, churn=12.8, sigma_max=1.0),),
        sigma_min=0.35,
        sigma_max=0.9,
        weights=(1.0, 1.5, 2.0),
    ),
    "grid": GuidePlan(
        training={"steps": 3000},
        samplers=(
            RenoisingSettings(steps=128, sigma_max=0.5),
            RenoisingSettings(steps=128, noise="bridge", sigma_max=0.5),
        ),
        sigma_min=0.28,
        sigma_max=0.5,
    ),
}

SETS = {
    "full": tuple(PLANS),
    "quick": ("community-small-released", "lobster"),
    "tiny": ("community-small-released", "tree-spectre"),
}


def plan_of(context: Context, name: str) -> Plan:
    """The plan of a set at the scale of the context."""
    plan, scale = PLANS[name], context.sizes
    if scale.name == "full":
        return plan
    small = {"blocks": 1, "pair_width": 4, "node_width": 4, "product_width": 2}
    shape = small if scale.name == "tiny" else {"blocks": 4, "pair_width": 32}
    most = 6 if scale.name == "tiny" else scale.samples
    changed: dict[str, Any] = {
        "network": {**plan.network, **shape},
        "training": {**plan.training, **scale.training},
        "calls": 8 if scale.name == "tiny" else plan.calls,
        "samples": min(plan.samples, most),
        "trial_samples": min(plan.trial_samples, most),
        "moment_samples": None,
        "samplers": (),
    }
    return replace(plan, **changed)


def langevin_plan(context: Context, name: str) -> LangevinPlan:
    """How the EDP-GNN is trained and sampled on a set at the scale of the context."""
    plan, scale = LANGEVIN[name], context.sizes
    if scale.name == "full":
        return plan
    return replace(
        plan,
        network={**plan.network, **scale.network},
        training={**plan.training, **scale.training},
        lengths=plan.lengths[: 1 if scale.name == "tiny" else 4],
        step_sizes=plan.step_sizes[-2:],
        noise_scales=(1.0,),
    )


def guide_plan(context: Context, name: str) -> GuidePlan:
    """How the guide of a set is trained and used at the scale of the context."""
    plan, scale = GUIDES[name], context.sizes
    if scale.name == "full":
        return plan
    return replace(
        plan,
        network=plan_of(context, name).network,
        # For a shorter time than the model, which is no smaller.
        training={**scale.training, "steps": max(1, scale.training["steps"] // 2)},
        samplers=(plan.samplers[0].replaced(steps=4),),
    )


def marks(plan: Plan) -> list[int]:
    """Steps at which quality is measured before the end."""
    steps = plan.training["steps"]
    return sorted({max(1, round(share * steps)) for share in MARKS} - {steps})
