"""One seed in, independent streams out."""

from __future__ import annotations

import random

import numpy as np
import torch

from graphscore.seeding import derive_seed, numpy_generator, torch_generator


def test_streams_are_fixed_across_versions_and_machines():
    """Golden values: a change here changes every published result."""
    assert derive_seed(0, "noise", 1) == GOLDEN[0]
    assert derive_seed(7) == GOLDEN[1]


GOLDEN = (4426277747127000467, 3390981726289711890)


def test_different_names_give_different_streams():
    """No two of many seeds, purposes and counters meet; strings and numbers are not confused."""
    names = [
        (seed, *stream)
        for seed in (0, 1, 10, -1, 2**40)
        for stream in [
            (),
            ("a",),
            ("a", 1),
            ("a", "1"),
            ("a1",),
            ("a", 1, 1),
            ("a", 11),
            ("1",),
            (1,),
            *(("noise", step) for step in range(200)),
        ]
    ]
    seeds = [derive_seed(*name) for name in names]
    assert len(set(seeds)) == len(names)
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_numpy_integers_name_the_same_stream():
    """A seed or counter that comes out of an array means the same as the plain number."""
    assert derive_seed(np.int64(3), "noise") == derive_seed(3, "noise")
    assert derive_seed(3, "noise", np.int64(4)) == derive_seed(3, "noise", 4)


def test_generators_are_fresh_and_reproducible():
    """Each call starts the stream anew."""
    draws = [torch.rand(4, generator=torch_generator(1, "x", n)) for n in (0, 0, 1)]
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])
    values = [numpy_generator(1, "x", n).random(4) for n in (0, 0, 1)]
    assert np.array_equal(values[0], values[1])
    assert not np.array_equal(values[0], values[2])


def test_neighbouring_streams_are_uncorrelated():
    """Steps 0, 1, 2, ... of one purpose look independent."""
    rows = torch.stack([torch.randn(2000, generator=torch_generator(0, "n", n)) for n in range(20)])
    correlation = torch.corrcoef(rows) - torch.eye(20)
    assert correlation.abs().max() < 5 / 2000**0.5


def test_global_random_state_is_untouched():
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].copy()  # noqa: NPY002
    torch.rand(3, generator=torch_generator(1, "x"))
    numpy_generator(1, "x").random(3)
    assert torch.equal(torch.get_rng_state(), states[0])
    assert random.getstate() == states[1]
    assert np.array_equal(np.random.get_state()[1], states[2])  # noqa: NPY002
