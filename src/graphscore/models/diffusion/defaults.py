"""Defaults of the denoiser that depend on the size of the training graphs."""

from __future__ import annotations

from typing import Any

from graphscore.diffusion.samplers import AncestralSettings, HeunSettings
from graphscore.networks import DenoiserSettings

SMALL = 32
"""Nodes up to which small networks learn graphs well, and few network calls sample them."""
FEW_CALLS = HeunSettings(steps=32, churn=12.8)
"""Sampler of small graphs; about 64 network calls."""
MANY_CALLS = AncestralSettings(steps=256)
"""Sampler of larger graphs."""
SMALL_NETWORK = DenoiserSettings(blocks=4, pair_width=32, node_width=16, product_width=16)
"""Network of small graphs, and of all graphs on CPUs, which train it in minutes."""


def denoiser_defaults(nodes: int, *, on_cpu: bool) -> dict[str, Any]:
    """Return network, training and sampler for graphs of up to `nodes` nodes.

    >>> denoiser_defaults(12, on_cpu=True)["sampling"]["kind"]
    'heun'
    """
    small = on_cpu or nodes <= SMALL
    pairs = 2**15 if small else 2**17
    return {
        "network": (SMALL_NETWORK if small else DenoiserSettings()).model_dump(),
        "training": {
            "steps": 3000 if small else 20_000,
            # Batches of bounded size.
            "batch_size": max(4, min(32, pairs // max(1, nodes) ** 2)),
            "learning_rate": 2e-3 if small else 1e-3,
            "final_learning_rate": 2e-5,
            "gradient_clip": 1.0,
        },
        "sampling": (FEW_CALLS if nodes <= SMALL else MANY_CALLS).model_dump(),
    }
