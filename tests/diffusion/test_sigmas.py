"""Ladders of sigma: strictly falling, positive, finite, or refused by name."""

from __future__ import annotations

import pytest
import torch

from graphscore.errors import SettingsError
from graphscore.noise import NoiseSettings, ladder


@pytest.mark.parametrize(
    ("sigmas", "message"),
    [
        ((), "at least one standard deviation"),
        ((1.0, 0.0), "all above 0"),
        ((1.0, -0.5), "all above 0"),
        ((0.1, 0.2), "fall strictly"),
        ((1.0, 0.5, 0.5), "fall strictly"),
        ((1.0, float("nan")), "finite"),
        ((float("inf"), 1.0), "finite"),
        (("wide", 1.0), "number"),
        (1.0, "tuple"),
    ],
)
def test_bad_ladders_are_refused(sigmas, message):
    """The error names the setting and says what is wrong."""
    with pytest.raises(SettingsError, match=message) as caught:
        NoiseSettings(sigmas=sigmas)
    assert "sigmas" in str(caught.value)


@pytest.mark.parametrize("sigmas", [(0.3,), (2.0, 1.0, 1e-3)])
def test_ladder_keeps_order_and_type(sigmas):
    """The tensor holds the settings' values, largest first, in the type asked for."""
    levels = ladder(NoiseSettings(sigmas=sigmas), dtype=torch.float64)
    assert levels.dtype == torch.float64
    assert tuple(levels.tolist()) == sigmas
