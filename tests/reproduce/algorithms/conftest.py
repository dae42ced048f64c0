"""What the tests of learning graph algorithms share."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest
import torch


@pytest.fixture
def _global_state_untouched() -> Iterator[None]:
    """Fail a test that draws from, or seeds, a global source of random numbers."""

    def states() -> tuple[object, ...]:
        legacy = np.random.get_state()[1].tolist()  # noqa: NPY002
        return torch.get_rng_state().tolist(), legacy, random.getstate()

    before = states()
    yield
    assert states() == before
