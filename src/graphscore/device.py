"""Which device computes."""

from __future__ import annotations

import torch

from graphscore.errors import SettingsError


def resolve_device(name: str = "auto") -> torch.device:
    """Return the named device; "auto" is CUDA if present, else Apple's, else the CPU.

    Raises:
        SettingsError: the name is unknown or the device is not available here.

    >>> resolve_device("cpu")
    device(type='cpu')
    """
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()
    except Exception:  # torch raises a different type for every kind of missing device
        raise SettingsError(
            f"device {name!r} is not available here. Use auto, cpu, cuda, cuda:1, ... or mps."
        ) from None
    return device
