"""Batches that do not fit: computed in pieces, with notice, as if nothing had happened."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
import warnings
from itertools import pairwise

import pytest
import torch

from graphscore.errors import GraphscoreNotice, TrainingError
from graphscore.graphs import GraphBatch, node_mask_of_sizes, pair_mask
from graphscore.networks import EDPGNN, EDPGNNSettings
from graphscore.noise import symmetric_noise
from graphscore.training import ScoreMatching, Trainer, TrainingSettings, score_matching_loss
from graphscore.training.batches import BatchOrder
from graphscore.training.memory import saved_bytes
from graphscore.training.objective import perturb_batch
from graphscore.training.pieces import SHARE, Piece, Pieces
from graphscore.training.trainer import OVERHEAD

SIGMAS = (1.0, 0.3)
SMALL = {"channels": (2, 2), "message_steps": 1, "features": 4, "edge_width": 4}
PAPER, RELEASED = EDPGNNSettings(**SMALL), EDPGNNSettings.released(**SMALL)


def ragged(dtype=torch.float64, features=0):
    mask = node_mask_of_sizes(torch.tensor([3, 7, 1, 5, 6]))
    generator = torch.Generator().manual_seed(0)
    noise = symmetric_noise(mask, generator=generator, dtype=dtype)
    feat = torch.randn(5, 7, features, generator=generator, dtype=dtype) * mask.unsqueeze(-1)
    adj = ((noise > 0) & pair_mask(mask)).to(dtype)
    return GraphBatch(adj, mask, feat if features else None)


def of_seven_nodes():
    """So that all batches are equally wide."""
    batch = ragged()
    return GraphBatch(batch.adj, torch.ones_like(batch.node_mask))


def make_trainer(
    data=None, settings=PAPER, *, steps=3, batch_size=4, dtype=torch.float64, bucketing=True
):
    network = EDPGNN(settings, SIGMAS, generator=torch.Generator().manual_seed(1)).to(dtype)
    training = TrainingSettings(steps=steps, batch_size=batch_size, log_every=1)
    data = (data or of_seven_nodes()).to(dtype=dtype)
    return Trainer(network, data, ScoreMatching(SIGMAS), training, seed=0, bucketing=bucketing)


@pytest.fixture
def _unknown_memory(monkeypatch):
    """No measuring beforehand, which would be one more call of the network."""
    monkeypatch.setattr("graphscore.training.pieces.available_memory", lambda device: None)


def gradients(trainer):
    return [parameter.grad.clone() for parameter in trainer.network.parameters()]


def assert_close(one, two, tolerance=1e-10):
    assert len(one) == len(two) > 0
    for a, b in zip(one, two):
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


def assert_same_weights(one, two):
    pairs = zip(one.state().items(), two.state().items())
    for (name, value), (other_name, other) in pairs:
        assert name == other_name
        torch.testing.assert_close(value, other, rtol=1e-9, atol=1e-11)


# ---------------------------------------------------------------- the same gradient


@pytest.mark.parametrize("features", [0, 2])
@pytest.mark.parametrize("piece", [1, 2, 5, 9, 10])
def test_pieces_have_the_gradient_of_the_whole(piece, features):
    """Ten perturbed graphs of one to seven nodes, all at once or piece by piece."""
    settings = EDPGNNSettings(**SMALL, node_feat_dim=features)
    batch = ragged(features=features)
    trainer = make_trainer(batch, settings, batch_size=5)
    levels = torch.tensor(SIGMAS, dtype=torch.float64)
    loss = score_matching_loss(
        trainer.network, batch, levels, generator=torch.Generator().manual_seed(3)
    )
    loss.total.backward()
    expected = gradients(trainer)
    perturbed = perturb_batch(batch, levels, generator=torch.Generator().manual_seed(3))
    numbers = trainer._add_up(perturbed, Piece(slice(0, 10), 7).cut(piece))
    assert_close(gradients(trainer), expected)
    per_level = loss.per_level.detach()
    assert_close(list(numbers), [loss.total.detach(), loss.per_pair.mean(), *per_level])


def test_the_noise_is_that_of_the_whole_batch():
    """Whatever is computed at a time, item b * L + i is graph b at level i, perturbed once."""
    batch = ragged()
    levels = torch.tensor(SIGMAS, dtype=torch.float64)
    seen = []

    def network(adj, node_mask, sigma, node_feat):
        seen.append((adj, node_mask, sigma))
        return torch.zeros_like(adj)

    score_matching_loss(network, batch, levels, generator=torch.Generator().manual_seed(3))
    perturbed = perturb_batch(batch, levels, generator=torch.Generator().manual_seed(3))
    for start in range(0, 10, 3):
        perturbed.squared_errors(network, slice(start, start + 3))
    for whole, *pieces in zip(*seen):
        assert torch.equal(whole, torch.cat(pieces))
    mask = batch.node_mask.repeat_interleave(2, 0)
    assert torch.equal(seen[0][1], mask)
    assert torch.equal(seen[0][2], levels.repeat(5))


@pytest.mark.parametrize("features", [0, 2])
@pytest.mark.parametrize(("cuts", "fitting"), [((2, 6), 10), ((2, 4, 6, 8), 10), ((4,), 1)])
def test_groups_have_the_gradient_of_the_padded_batch(cuts, fitting, features):
    """Graphs of 1, 3, 5, 6 and 7 nodes, cut to their own width in groups, or all padded to 7."""
    settings = EDPGNNSettings(**SMALL, node_feat_dim=features)
    batch = ragged(features=features)[[2, 0, 3, 4, 1]]
    widths = batch.sizes.repeat_interleave(2).tolist()
    trainer = make_trainer(batch, settings, batch_size=5)
    trainer._pieces._pairs = fitting * 49
    levels = torch.tensor(SIGMAS, dtype=torch.float64)
    perturbed = perturb_batch(batch, levels, generator=torch.Generator().manual_seed(3))
    expected = [trainer._add_up(perturbed, [Piece(slice(0, 10), 7)]), *gradients(trainer)]
    ends = [0, *cuts, 10]
    groups = [Piece(slice(a, b), widths[b - 1]) for a, b in pairwise(ends)]
    found = [trainer._add_up(perturbed, trainer._pieces.cut(groups)), *gradients(trainer)]
    assert_close(found, expected)


@pytest.mark.usefixtures("_unknown_memory")
@pytest.mark.parametrize("overhead", [0, 100, 10**9])
def test_bucketing_changes_the_work_and_not_the_result(overhead, monkeypatch):
    """Groups are narrower than the batch; weights are those of training without groups."""
    monkeypatch.setitem(OVERHEAD, "cpu", overhead)
    trainers, widths = {}, {}
    for bucketing in (True, False):
        made = trainers[bucketing] = make_trainer(ragged(), bucketing=bucketing)
        # Without it the batches are in another order, and noise would go to other graphs.
        made._order = BatchOrder(made.data.node_mask, 4, seed=0)
        widths[bucketing] = seen = []
        forward = made.network.forward
        made.network.forward = lambda adj, *rest, seen=seen, forward=forward: (
            seen.append(adj.shape),
            forward(adj, *rest),
        )[1]
        made.run()
    assert_same_weights(trainers[True], trainers[False])
    pairs = {b: sum(k * n * n for k, n, _ in shapes) for b, shapes in widths.items()}
    graphs = {b: sum(k for k, _, _ in shapes) for b, shapes in widths.items()}
    assert graphs[True] == graphs[False] == 3 * 8
    if overhead < 10**9:
        assert pairs[True] < pairs[False]
    else:
        assert widths[True] == widths[False]


@pytest.mark.usefixtures("_unknown_memory")
def test_coupled_graphs_are_not_grouped(monkeypatch):
    """Batch statistics are those of the batch wherever it fits."""
    monkeypatch.setitem(OVERHEAD, "cpu", 0)
    trainer = make_trainer(ragged(), RELEASED)
    trainer.network.__class__ = Limited
    trainer.network.calls = []
    trainer.run()
    assert trainer.network.calls == [8, 8, 8]


def test_batches_are_trimmed_to_their_largest_graph():
    """Each step's batch is that of the data, without the columns that nobody uses."""
    trainer = make_trainer(ragged(), batch_size=2)
    untrimmed = make_trainer(ragged(), batch_size=2)
    untrimmed.trims_padding = False
    widths = set()
    for step in range(10):
        batch, wide = trainer._batch(step), untrimmed._batch(step)
        widths.add(batch.max_nodes)
        assert wide.max_nodes == 7
        assert batch.max_nodes == wide.sizes.max()
        assert torch.equal(batch.padded(7).adj, wide.adj)
        assert torch.equal(batch.padded(7).node_mask, wide.node_mask)
        assert torch.equal(wide.adj, trainer.data[trainer._indices(step)].adj)
    assert len(widths) > 1


# ---------------------------------------------------------------- when memory runs out


class Limited(EDPGNN):
    """A network that does not fit for more than `limit` graphs at a time."""

    limit = 10**9
    fails_in_backward = False
    error: BaseException = torch.OutOfMemoryError("CUDA out of memory.")

    def forward(self, adj, node_mask, sigma, node_feat=None):
        self.calls.append(len(adj))
        score = super().forward(adj, node_mask, sigma, node_feat)
        if len(adj) <= self.limit:
            return score
        if self.fails_in_backward:
            score.register_hook(self.fail)
            return score
        raise self.error

    def fail(self, gradient):
        raise self.error


def limited(limit, settings=PAPER, **changes):
    trainer = make_trainer(settings=settings)
    trainer.network.__class__ = Limited
    trainer.network.calls = []
    for name, value in {"limit": limit, **changes}.items():
        setattr(trainer.network, name, value)
    return trainer


@pytest.mark.usefixtures("_unknown_memory")
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
def test_a_batch_that_does_not_fit_is_halved(changes):
    """8 graphs, then 4, then 2 at a time: notices, the same weights, and it is remembered."""
    trainer, plain = limited(3, **changes), make_trainer()
    records, expected = [], []
    with pytest.warns(GraphscoreNotice) as noted:
        trainer.run(on_record=records.append)
    plain.run(on_record=expected.append)
    assert trainer.network.calls == [8, 4] + 3 * [2] * 4
    assert [str(notice.message) for notice in noted] == [
        "8 perturbed graphs padded to 7 nodes did not fit in memory 8 at a time; "
        "computing 4 at a time (the gradient is the same).",
        "8 perturbed graphs padded to 7 nodes did not fit in memory 4 at a time; "
        "computing 2 at a time (the gradient is the same).",
    ]
    assert_same_weights(trainer, plain)
    for one, two in zip(records, expected):
        assert one.loss == pytest.approx(two.loss)
        assert one.gradient_norm == pytest.approx(two.gradient_norm)


@pytest.mark.usefixtures("_unknown_memory")
@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_later_piece_that_does_not_fit_leaves_no_gradient_behind(at):
    """Memory can run out in the middle of a batch, when some pieces have been added already."""
    trainer, plain = limited(10**9), make_trainer()
    trainer._pieces._pairs = 2 * 49

    def forward(adj, *rest):
        trainer.network.calls.append(len(adj))
        if len(trainer.network.calls) == at:
            raise MemoryError
        return EDPGNN.forward(trainer.network, adj, *rest)

    trainer.network.forward = forward
    with pytest.warns(GraphscoreNotice, match="computing 1 at a time"):
        trainer.run()
    plain.run()
    assert_same_weights(trainer, plain)


@pytest.mark.usefixtures("_unknown_memory")
def test_the_largest_group_is_halved(monkeypatch):
    """Where graphs are grouped, what did not fit is the group with the most pairs of nodes."""
    monkeypatch.setitem(OVERHEAD, "cpu", 0)
    trainer, plain = make_trainer(ragged(), steps=4), make_trainer(ragged(), steps=4)
    shapes = []

    def forward(adj, *rest):
        shapes.append(tuple(adj.shape[:2]))
        if len(adj) * adj.shape[1] ** 2 > 80:
            raise MemoryError
        return EDPGNN.forward(trainer.network, adj, *rest)

    trainer.network.forward = forward
    with pytest.warns(GraphscoreNotice) as noted:
        trainer.run()
    plain.run()
    # The graph of 7 nodes is in the batch twice, at two noise levels.
    assert [str(notice.message).partition(" (")[0] for notice in noted] == [
        "4 perturbed graphs padded to 7 nodes did not fit in memory 4 at a time; "
        "computing 2 at a time",
        "4 perturbed graphs padded to 7 nodes did not fit in memory 2 at a time; "
        "computing 1 at a time",
    ]
    assert (1, 7) in shapes
    assert (2, 3) in shapes
    assert_same_weights(trainer, plain)


def test_the_largest_group_is_that_with_most_pairs():
    """Not that with most graphs."""
    pieces = Pieces(torch.nn.Linear(1, 1), torch.device("cpu"))
    with pytest.warns(GraphscoreNotice, match="2 perturbed graphs padded to 7 nodes"):
        pieces.shrink([Piece(slice(0, 6), 3), Piece(slice(6, 8), 7)])
    assert pieces.size(2, 7) == 1
    assert pieces.size(6, 3) == 5


@pytest.mark.usefixtures("_unknown_memory")
def test_batch_statistics_are_not_moved_by_a_failed_attempt():
    """The released network's statistics move once for each piece that counts, and it is said."""
    trainer = limited(4, RELEASED)
    with pytest.warns(GraphscoreNotice, match="batch statistics are now those of each piece"):
        trainer.run()
    expected = make_trainer(settings=RELEASED)
    expected._pieces._pairs = 4 * 49
    expected.run()
    assert_same_weights(trainer, expected)


@pytest.mark.usefixtures("_unknown_memory")
def test_one_graph_that_does_not_fit_is_recomputed():
    """Splitting comes first; then the network keeps less; the gradient stays."""
    trainer, plain = limited(0), make_trainer()
    network = trainer.network

    def forward(adj, *rest):
        network.calls.append(len(adj))
        if not network.recompute_layers:
            raise MemoryError
        return EDPGNN.forward(network, adj, *rest)

    network.forward = forward
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        trainer.run()
    plain.run()
    assert len(noted) == 4
    assert "computed twice instead of being kept" in str(noted[-1].message)
    assert network.calls == [8, 4, 2, 1] + 3 * 8 * [1]
    assert_same_weights(trainer, plain)


@pytest.mark.usefixtures("_unknown_memory")
@pytest.mark.filterwarnings("ignore::graphscore.errors.GraphscoreNotice")
def test_one_graph_that_never_fits_is_an_error():
    """The message says what does not fit where and what to do; the weights are as before."""
    trainer = limited(0)
    before = copy.deepcopy(trainer.network.state_dict())
    with pytest.raises(TrainingError, match=r"padded to 7 nodes does not fit .* cpu.*Leave out"):
        trainer.run()
    assert trainer.step == 0
    assert trainer.network.recompute_layers
    after = trainer.network.state_dict()
    assert all(torch.equal(after[name], value) for name, value in before.items())
    assert all(parameter.grad is None for parameter in trainer.network.parameters())


@pytest.mark.usefixtures("_unknown_memory")
def test_noise_that_does_not_fit_is_an_error(monkeypatch):
    """It is drawn for the whole batch at once, so pieces do not help; a smaller batch does."""
    trainer = limited(10**9)

    def fail(*arguments, **keywords):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr("graphscore.training.objective.perturb_batch", fail)
    with pytest.raises(TrainingError, match=r"4 graphs padded to 7 nodes.*smaller batch_size"):
        trainer.run()


@pytest.mark.usefixtures("_unknown_memory")
def test_other_errors_are_not_tried_again():
    trainer = limited(3, error=RuntimeError("size mismatch"))
    with pytest.raises(RuntimeError, match="size mismatch"):
        trainer.run()
    assert trainer.network.calls == [8]


# ---------------------------------------------------------------- choosing beforehand


def plan(available, monkeypatch, settings=PAPER):
    monkeypatch.setattr("graphscore.training.pieces.available_memory", lambda device: available)
    trainer = make_trainer(settings=settings, dtype=torch.float32)
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        trainer._plan()
    return trainer, [str(notice.message) for notice in noted]


@pytest.mark.parametrize("available", [None, 1 << 40])
def test_what_fits_is_computed_at_once_without_a_word(monkeypatch, available):
    trainer, noted = plan(available, monkeypatch)
    assert noted == []
    assert trainer._pieces.size(8, 7) == 8
    assert trainer._pieces.size(10**6, 1000) == 10**6


def memory_for(graphs):
    """Memory in which that many graphs are planned to fit."""
    trainer = make_trainer(dtype=torch.float32)
    one = trainer.data[:1]
    kept = saved_bytes(lambda: trainer.network(one.adj, one.node_mask, torch.ones(1)))
    return int((graphs + 0.5) * kept / SHARE)


def test_pieces_are_chosen_to_fit(monkeypatch):
    """As many as a share of the memory holds; smaller graphs in larger pieces; one notice."""
    for fitting in (1, 3, 7, 8):
        trainer, noted = plan(memory_for(fitting), monkeypatch)
        assert trainer._pieces.size(8, 7) == fitting
        assert trainer._pieces.size(8, 1) == 8
        if fitting == 8:
            assert noted == []
            continue
        assert trainer._pieces.size(10**6, 3) == fitting * 49 // 9
        (notice,) = noted
        assert "would need about" in notice
        assert f"computing {fitting} at a time" in notice


def test_one_graph_beyond_the_memory_is_recomputed_from_the_start(monkeypatch):
    trainer, noted = plan(100, monkeypatch)
    assert trainer.network.recompute_layers
    assert trainer._pieces.size(8, 7) == 1
    assert len(noted) == 2
    assert "computed twice" in noted[1]


def test_measuring_leaves_no_trace(monkeypatch):
    """Neither gradients nor statistics nor random numbers change."""
    before = torch.get_rng_state()
    trainer, _ = plan(1 << 40, monkeypatch, RELEASED)
    untouched = make_trainer(settings=RELEASED, dtype=torch.float32)
    ours, theirs = trainer.network.state_dict(), untouched.network.state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    assert all(parameter.grad is None for parameter in trainer.network.parameters())
    assert torch.equal(torch.get_rng_state(), before)


def test_what_was_learnt_is_not_planned_again(monkeypatch):
    """A trainer that stopped and goes on keeps the pieces that were found to fit."""
    trainer, _ = plan(memory_for(6), monkeypatch)
    with pytest.warns(GraphscoreNotice):
        trainer._pieces.shrink([Piece(slice(0, 8), 7)])
    trainer._plan()
    assert trainer._pieces.size(8, 7) == 3


def test_large_graphs_are_measured_on_a_part(monkeypatch):
    """So that measuring itself always fits."""
    monkeypatch.setattr("graphscore.training.pieces.available_memory", lambda device: 1 << 40)
    seen = []

    class Noting(torch.nn.Module):
        def forward(self, adj, node_mask, sigma, node_feat):
            seen.append((tuple(adj.shape), tuple(node_mask.shape)))
            return adj

    mask = torch.ones(1, 300, dtype=torch.bool)
    Pieces(Noting(), torch.device("cpu")).plan(GraphBatch(torch.zeros(1, 300, 300), mask), 100)
    assert seen == [((1, 200, 200), (1, 200))]


# ---------------------------------------------------------------- for real

SCRIPT = """
import resource, sys, warnings
import torch
from graphscore.errors import TrainingError
from graphscore.graphs import GraphBatch
from graphscore.networks import EDPGNN, EDPGNNSettings
from graphscore.training import ScoreMatching, Trainer, TrainingSettings

kind, nodes, graphs, share = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)
warnings.showwarning = lambda message, *place: print("notice:", message)


class Hungry(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(()))

    def forward(self, adj, node_mask, sigma, node_feat=None):
        for _ in range(60):
            adj = torch.sin(adj * self.scale)
        return adj


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


def really(kind, nodes, graphs, share):
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
def test_really_running_out_of_memory():
    """With half the memory that a batch needs, training ends with notices and the same weights."""
    *notices, last = really("edp-gnn", 120, 16, 0.5)
    assert notices
    assert all("did not fit in memory" in notice for notice in notices)
    label, _, difference = last.rpartition(" ")
    assert label == "largest difference:"
    assert float(difference) < 1e-9


@needs_linux
def test_really_too_large():
    """With less memory than one graph needs, the error says so."""
    notice, error = really("hungry", 300, 1, 0.3)
    assert "computing 1 at a time" in notice
    assert error.startswith("error: one graph padded to 300 nodes does not fit")


def test_the_largest_of_what_was_tried_is_halved():
    """Many small graphs are in pieces already; it is the two large ones that do not fit."""
    network = EDPGNN(PAPER, SIGMAS, generator=torch.Generator().manual_seed(0))
    pieces = Pieces(network, torch.device("cpu"))
    groups = [Piece(slice(0, 100), 10), Piece(slice(100, 102), 60)]
    pieces._pairs = 4000
    with pytest.warns(GraphscoreNotice, match="10 nodes"):
        pieces.shrink(groups)
    assert max(len(piece) * piece.nodes**2 for piece in pieces.cut(groups)) == 60**2
    with pytest.warns(GraphscoreNotice, match="one graph padded to 60 nodes"):
        pieces.shrink(groups)
    assert network.recompute_layers


def test_a_graph_without_nodes_is_no_obstacle():
    """Its group has one empty node, as its batch would have."""
    mask = node_mask_of_sizes(torch.tensor([0, 3, 4]))
    data = GraphBatch(torch.zeros(3, 4, 4), mask)
    network = EDPGNN(PAPER, SIGMAS, generator=torch.Generator().manual_seed(0))
    settings = TrainingSettings(steps=2, batch_size=3)
    trainer = Trainer(network, data, ScoreMatching(SIGMAS), settings, seed=0)
    assert trainer.run()
