"""Batches that do not fit in memory: smaller micro-batches, a warning, and the same weights."""

from __future__ import annotations

import copy
import gc
import os
import subprocess
import sys
import warnings
import weakref

import pytest
import torch

from graphscore.errors import GraphscoreWarning, TrainingError
from graphscore.networks import EDPGNN, EDPGNNSettings
from graphscore.training.trainer import OVERHEAD

SMALL = {"channels": (2, 2), "message_steps": 1, "features": 4, "edge_width": 4}
PAPER, RELEASED = EDPGNNSettings(**SMALL), EDPGNNSettings.released(**SMALL)


class Limited(EDPGNN):
    """A network that does not fit for more than `limit` graphs at a time."""

    limit = 10**9
    fails_in_backward = False
    error: BaseException = torch.OutOfMemoryError("CUDA out of memory.")

    def forward(self, noisy, *rest):
        self.calls.append(len(noisy))
        score = super().forward(noisy, *rest)
        if len(noisy) <= self.limit:
            return score
        if self.fails_in_backward:
            score.edges.register_hook(self.fail)
            return score
        raise self.error

    def fail(self, gradient):
        raise self.error


@pytest.fixture
def limited(make_trainer, unknown_memory):
    """limited(limit, settings, **attributes): a trainer of a `Limited` network."""

    def make(limit, settings=PAPER, **changes):
        trainer = make_trainer(settings=settings)
        trainer.network.__class__ = Limited
        trainer.network.calls = []
        for name, value in {"limit": limit, **changes}.items():
            setattr(trainer.network, name, value)
        return trainer

    return make


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"fails_in_backward": True},
        {"error": RuntimeError("DefaultCPUAllocator: can't allocate memory")},
        {"error": MemoryError()},
    ],
    ids=["forward", "backward", "cpu", "python"],
)
def test_a_batch_that_does_not_fit_is_halved(limited, make_trainer, assert_same_weights, changes):
    """8 graphs, then 4, then 2 at a time: warnings, the same weights, and it is remembered."""
    trainer, plain = limited(3, **changes), make_trainer()
    records, expected = [], []
    with pytest.warns(GraphscoreWarning) as caught:
        trainer.run(on_record=records.append)
    plain.run(on_record=expected.append)
    assert trainer.network.calls == [8, 4] + 3 * [2] * 4
    assert [str(warning.message) for warning in caught] == [
        "8 noisy graphs padded to 7 nodes did not fit in memory 8 at a time; "
        "computing 4 at a time (the gradient is the same).",
        "8 noisy graphs padded to 7 nodes did not fit in memory 4 at a time; "
        "computing 2 at a time (the gradient is the same).",
    ]
    assert_same_weights(trainer, plain)
    for one, two in zip(records, expected):
        assert one.loss == pytest.approx(two.loss)
        assert one.gradient_norm == pytest.approx(two.gradient_norm)


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_later_micro_batch_that_does_not_fit_leaves_no_gradient_behind(
    limited, make_trainer, assert_same_weights, at
):
    """Memory can run out in the middle of a batch, when some gradients have been added already."""
    trainer, plain = limited(10**9), make_trainer()
    trainer._micro._pairs = 2 * 49

    def forward(noisy, *rest):
        trainer.network.calls.append(len(noisy))
        if len(trainer.network.calls) == at:
            raise MemoryError
        return EDPGNN.forward(trainer.network, noisy, *rest)

    trainer.network.forward = forward
    with pytest.warns(GraphscoreWarning, match="computing 1 at a time"):
        trainer.run()
    plain.run()
    assert_same_weights(trainer, plain)


@pytest.mark.usefixtures("unknown_memory")
def test_the_largest_bucket_is_halved(make_trainer, ragged, assert_same_weights, monkeypatch):
    """Of several buckets, what did not fit is the one with the most pairs of nodes."""
    monkeypatch.setitem(OVERHEAD, "cpu", 0)
    trainer, plain = make_trainer(ragged(), steps=4), make_trainer(ragged(), steps=4)
    shapes = []

    def forward(noisy, *rest):
        graphs, nodes = noisy.node_mask.shape
        shapes.append((graphs, nodes))
        if graphs * nodes**2 > 80:
            raise MemoryError
        return EDPGNN.forward(trainer.network, noisy, *rest)

    trainer.network.forward = forward
    with pytest.warns(GraphscoreWarning) as caught:
        trainer.run()
    plain.run()
    # The graph of 7 nodes is in the batch twice, at two noise levels.
    assert [str(warning.message).partition(" (")[0] for warning in caught] == [
        "4 noisy graphs padded to 7 nodes did not fit in memory 4 at a time; computing 2 at a time",
        "4 noisy graphs padded to 7 nodes did not fit in memory 2 at a time; computing 1 at a time",
    ]
    assert (1, 7) in shapes
    assert (2, 3) in shapes
    assert_same_weights(trainer, plain)


def test_batch_statistics_are_not_moved_by_a_failed_attempt(
    limited, make_trainer, assert_same_weights
):
    """The released network's statistics move once for each micro-batch that counts; a warning."""
    trainer = limited(4, RELEASED)
    with pytest.warns(GraphscoreWarning, match="statistics are now those of each micro-batch"):
        trainer.run()
    expected = make_trainer(settings=RELEASED)
    expected._micro._pairs = 4 * 49
    expected.run()
    assert_same_weights(trainer, expected)


def test_one_graph_that_does_not_fit_is_checkpointed(limited, make_trainer, assert_same_weights):
    """Splitting comes first; then the network keeps less; the gradient stays."""
    trainer, plain = limited(0), make_trainer()
    network = trainer.network

    def forward(noisy, *rest):
        network.calls.append(len(noisy))
        if not network.checkpoint_activations:
            raise MemoryError
        return EDPGNN.forward(network, noisy, *rest)

    network.forward = forward
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        trainer.run()
    plain.run()
    assert len(caught) == 4
    assert "activation checkpointing is used" in str(caught[-1].message)
    assert network.calls == [8, 4, 2, 1] + 3 * 8 * [1]
    assert_same_weights(trainer, plain)


@pytest.mark.filterwarnings("ignore::graphscore.errors.GraphscoreWarning")
def test_one_graph_that_never_fits_is_an_error(limited):
    """The message says what does not fit where and what to do; the weights are as before."""
    trainer = limited(0)
    before = copy.deepcopy(trainer.network.state_dict())
    with pytest.raises(TrainingError, match=r"padded to 7 nodes does not fit .* cpu.*Leave out"):
        trainer.run()
    assert trainer.step == 0
    assert trainer.network.checkpoint_activations
    after = trainer.network.state_dict()
    assert all(torch.equal(after[name], value) for name, value in before.items())
    assert all(parameter.grad is None for parameter in trainer.network.parameters())


def test_noise_that_does_not_fit_is_an_error(limited, monkeypatch):
    """It is drawn for the whole batch at once, so micro-batches do not help; a smaller one does."""
    trainer = limited(10**9)

    def fail(*arguments, **keywords):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr("graphscore.diffusion.objectives.perturb", fail)
    with pytest.raises(TrainingError, match=r"4 graphs padded to 7 nodes.*smaller batch_size"):
        trainer.run()


def test_other_errors_of_the_noise_are_shown(limited, monkeypatch):
    def fail(*arguments, **keywords):
        raise RuntimeError("size mismatch")

    monkeypatch.setattr("graphscore.diffusion.objectives.perturb", fail)
    with pytest.raises(RuntimeError, match="size mismatch"):
        limited(10**9).run()


@pytest.mark.filterwarnings("ignore::graphscore.errors.GraphscoreWarning")
def test_what_a_failed_attempt_left_is_freed_before_the_next(limited):
    """Also where it refers to itself, as errors and their frames do."""
    trainer, left = limited(10**9), []

    class Kept:
        pass

    def forward(noisy, *rest):
        assert [reference() for reference in left] == [None] * len(left)
        if len(noisy) > 4:
            kept = Kept()
            kept.itself = kept
            left.append(weakref.ref(kept))
            raise MemoryError
        return Limited.forward(trainer.network, noisy, *rest)

    trainer.network.forward = forward
    gc.disable()
    try:
        trainer.run()
    finally:
        gc.enable()
    assert len(left) == 1


def test_other_errors_are_not_tried_again(limited):
    trainer = limited(3, error=RuntimeError("size mismatch"))
    with pytest.raises(RuntimeError, match="size mismatch"):
        trainer.run()
    assert trainer.network.calls == [8]


# ---------------------------------------------------------------- with a real limit

SCRIPT = """
import resource, sys, warnings
import torch
from graphscore.diffusion import ScoreMatching
from graphscore.errors import TrainingError
from graphscore.graphs import GraphBatch
from graphscore.networks import EDPGNN, EDPGNNSettings
from graphscore.training import Trainer, TrainingSettings

kind, nodes, graphs, share = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)
warnings.showwarning = lambda message, *place: print("warning:", message)


class Hungry(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(()))

    def forward(self, noisy, sigma, condition):
        for _ in range(60):
            noisy = (noisy * self.scale).map(torch.sin)
        return noisy


def make_network():
    if kind == "hungry":
        return Hungry()
    settings = EDPGNNSettings(channels=(4, 4), message_steps=1)
    return EDPGNN(settings, (1.0, 0.1), generator=torch.Generator().manual_seed(0))


def train():
    network = make_network()
    data = GraphBatch(torch.zeros(graphs, nodes, nodes), torch.ones(graphs, nodes).bool())
    settings = TrainingSettings(steps=2, batch_size=graphs)
    Trainer(network, data, ScoreMatching((1.0, 0.1)), settings, seed=0).run()
    return list(network.state_dict().values())


expected = train()
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
used, needed = (int(status[name].split()[0]) * 1024 for name in ("VmSize", "VmPeak"))
limit = used + int(share * (needed - used))
resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
try:
    found = train()
except TrainingError as error:
    print("error:", error)
else:
    print("largest difference:", max(float((a - b).abs().max()) for a, b in zip(found, expected)))
"""

needs_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs RLIMIT_AS")


def train_with_less(kind, nodes, graphs, share):
    """Train with a share of the memory that it takes, besides what is there already."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, kind, str(nodes), str(graphs), str(share)],
        capture_output=True,
        text=True,
        # Freed blocks go back to the system, so that the limit is one of what is in use.
        env={**os.environ, "OMP_NUM_THREADS": "1", "MALLOC_MMAP_THRESHOLD_": "100000"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@needs_linux
def test_training_under_a_memory_limit():
    """With half the memory that a batch needs, training ends with warnings and the same weights."""
    *caught, last = train_with_less("edp-gnn", 120, 16, 0.5)
    assert caught
    assert all("did not fit in memory" in warning for warning in caught)
    label, _, difference = last.rpartition(" ")
    assert label == "largest difference:"
    assert float(difference) < 1e-9


@needs_linux
def test_a_graph_beyond_the_memory_limit():
    """With less memory than one graph needs, the error says so."""
    warning, error = train_with_less("hungry", 300, 1, 0.3)
    assert "computing 1 at a time" in warning
    assert error.startswith("error: one graph padded to 300 nodes does not fit")
