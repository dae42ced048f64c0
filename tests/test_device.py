"""Which device a name means."""

from __future__ import annotations

import pytest
import torch

from graphscore.device import resolve_device
from graphscore.errors import SettingsError


def test_auto_is_a_device_that_computes():
    device = resolve_device()
    assert torch.ones(2, device=device).sum().item() == 2
    if torch.cuda.is_available():
        assert device.type == "cuda"


def test_a_named_device_is_that_device():
    assert resolve_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize("name", ["warp", "", "cuda:99", "cpu cpu", "hpu", "privateuseone", "meta"])
def test_devices_that_cannot_compute_here_are_refused(name):
    """Also those that torch knows by name only, and `meta`, which holds no numbers."""
    with pytest.raises(SettingsError, match=f"device '{name}' is not available.*auto, cpu"):
        resolve_device(name)
