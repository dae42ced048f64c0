"""GraphState: masks, algebra, parts, padding, copies; Condition: the same for what is known."""

from __future__ import annotations

import pytest
import torch

from graphscore.errors import GraphDataError
from graphscore.graphs import (
    NO_CONDITION,
    Condition,
    GraphState,
    node_mask_of_sizes,
    pair_mask,
)
from graphscore.graphs.condition import check_feature_width

SIZES = torch.tensor([4, 2, 3])
MASK = node_mask_of_sizes(SIZES)
SHAPES = {"edges": (0, 0), "channels": (2, 0), "nodes": (0, 3), "both": (2, 3)}


def random_state(channels, features, seed=0):
    generator = torch.Generator().manual_seed(seed)
    edges = torch.randn(3, 4, 4, max(1, channels), generator=generator, dtype=torch.float64)
    edges = (edges + edges.transpose(1, 2)) * pair_mask(MASK).unsqueeze(3)
    nodes = torch.randn(3, 4, max(1, features), generator=generator, dtype=torch.float64)
    return GraphState(
        edges if channels else edges.squeeze(3),
        MASK,
        nodes * MASK.unsqueeze(2) if features else None,
    )


@pytest.fixture(params=SHAPES)
def shape(request):
    return SHAPES[request.param]


@pytest.fixture
def state(shape):
    return random_state(*shape)


@pytest.fixture
def other(shape):
    return random_state(*shape, seed=1)


def assert_same(found, edges, nodes=None, mask=MASK):
    torch.testing.assert_close(found.edges, edges)
    assert torch.equal(found.node_mask, mask)
    assert (found.nodes is None) == (nodes is None)
    if nodes is not None:
        torch.testing.assert_close(found.nodes, nodes)


def of_nodes(state, function):
    return None if state.nodes is None else function(state.nodes)


def test_masks_of_sizes():
    mask = node_mask_of_sizes(torch.tensor([2, 0]), 3)
    assert mask.tolist() == [[True, True, False], [False] * 3]
    assert pair_mask(mask).sum().item() == 2
    assert node_mask_of_sizes(torch.tensor([], dtype=torch.long)).shape == (0, 0)
    assert node_mask_of_sizes(torch.tensor([1, 3]), 3).sum(1).tolist() == [1, 3]
    with pytest.raises(GraphDataError, match=r"sizes reach 4.*3 nodes wide"):
        node_mask_of_sizes(torch.tensor([4, 1]), 3)


def test_masks_mark_the_entries_that_exist(state):
    """They broadcast to the entries, all of which are random numbers here."""
    masks = state.masks
    for entries, mask in zip(state.entries, masks.entries, strict=True):
        assert mask.dtype == torch.bool
        assert torch.equal(mask.expand_as(entries), entries != 0)
    assert masks.edges.sum().item() == (SIZES * (SIZES - 1)).sum()
    assert (len(state), state.max_nodes) == (3, 4)


def test_states_add_subtract_and_scale(state, other):
    both = None if state.nodes is None else (state.nodes, other.nodes)
    assert_same(state + other, state.edges + other.edges, both and both[0] + both[1])
    assert_same(state - other, state.edges - other.edges, both and both[0] - both[1])
    assert_same(state * 3, 3 * state.edges, of_nodes(state, lambda x: 3 * x))
    assert_same(state / 4, state.edges / 4, of_nodes(state, lambda x: x / 4))
    assert_same((state + other) * 2 - other * 2, 2 * state.edges, of_nodes(state, lambda x: 2 * x))


def test_each_graph_is_scaled_by_its_factor(state):
    factors = torch.tensor([2.0, 0.0, -1.0], dtype=torch.float64)
    found = state.scaled(factors)
    for graph, factor in enumerate(factors.tolist()):
        torch.testing.assert_close(found.edges[graph], factor * state.edges[graph])
        if state.nodes is not None:
            torch.testing.assert_close(found.nodes[graph], factor * state.nodes[graph])


def test_symmetrised_edges_are_exactly_symmetric(state):
    nearly = GraphState(state.edges.clone(), MASK, state.nodes)
    nearly.edges[:, 0, 1] += 1e-9
    found = nearly.symmetrised()
    assert torch.equal(found.edges, found.edges.transpose(1, 2))
    torch.testing.assert_close(found.edges, state.edges, rtol=0, atol=1e-8)
    assert not torch.equal(found.edges, state.edges)
    assert found.nodes is state.nodes


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_one_entry_that_is_not_finite_is_noticed(state, bad):
    assert state.isfinite().item()
    for number in range(len(state.entries)):
        entries = [values.clone() for values in state.entries]
        entries[number].view(-1)[5] = bad
        spoiled = GraphState(entries[0], MASK, entries[1] if len(entries) > 1 else None)
        assert not spoiled.isfinite().item()


def test_parts_are_graphs_cut_to_a_width(state):
    found = state.part(slice(1, 3), 3)
    assert_same(
        found, state.edges[1:3, :3, :3], of_nodes(state, lambda x: x[1:3, :3]), MASK[1:3, :3]
    )
    assert_same(
        state.part(slice(0, 1)), state.edges[:1], of_nodes(state, lambda x: x[:1]), MASK[:1]
    )


def test_padding_adds_empty_places_and_a_part_takes_them_away(state):
    wide = state.extended(3)
    assert wide.max_nodes == 7
    assert wide.node_mask.sum(1).tolist() == SIZES.tolist()
    for entries, mask in zip(wide.entries, wide.masks.entries, strict=True):
        assert torch.equal(mask.expand_as(entries), entries != 0)
    assert_same(wide.part(slice(None), 4), state.edges, state.nodes)


@pytest.mark.parametrize("copies", [0, 1, 3])
def test_copies_of_a_graph_are_next_to_each_other(state, copies):
    found = state.repeated(copies)
    order = torch.arange(3).repeat_interleave(copies)
    assert_same(found, state.edges[order], of_nodes(state, lambda x: x[order]), MASK[order])


FEATURES = torch.arange(24.0).view(3, 4, 2)
NUMBERS = torch.tensor([[3, 1, 3, 1], [0, 0, 0, 0], [2, 5, 2, 0]])
CONDITIONS = {
    "nothing": NO_CONDITION,
    "features": Condition(FEATURES),
    "communities": Condition(communities=NUMBERS),
    "both": Condition(FEATURES, NUMBERS),
}


@pytest.fixture(params=CONDITIONS)
def condition(request):
    return CONDITIONS[request.param]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda c: c.part(slice(1, 3), 3), lambda x: x[1:3, :3]),
        (lambda c: c.part(slice(0, 2)), lambda x: x[:2]),
        (lambda c: c.repeated(2), lambda x: x[[0, 0, 1, 1, 2, 2]]),
        (lambda c: c.extended(1), lambda x: torch.cat([x, torch.zeros_like(x[:, :1])], dim=1)),
        (lambda c: c.to("cpu"), lambda x: x),
    ],
    ids=["part", "graphs", "repeated", "padded", "to"],
)
def test_conditions_change_as_states_do(condition, change, expected):
    found = change(condition)
    for name in ("node_feat", "communities"):
        before, after = getattr(condition, name), getattr(found, name)
        assert (before is None) == (after is None)
        if before is not None:
            assert after.dtype == before.dtype
            assert torch.equal(after, expected(before))
    assert (found is NO_CONDITION) == (condition is NO_CONDITION)


def test_pairs_within_a_community():
    within = Condition(communities=NUMBERS).same_community()
    for graph in range(3):
        for i in range(4):
            for j in range(4):
                assert within[graph, i, j] == (NUMBERS[graph, i] == NUMBERS[graph, j])
    with pytest.raises(GraphDataError, match="community of every node"):
        Condition(FEATURES).same_community()


def test_the_width_of_features_is_checked():
    assert NO_CONDITION.feature_width == 0
    check_feature_width(NO_CONDITION, 0)
    check_feature_width(Condition(FEATURES), 2)
    for given, width in ((NO_CONDITION, 2), (Condition(FEATURES), 0), (Condition(FEATURES), 3)):
        with pytest.raises(GraphDataError, match=rf"got {given.feature_width} .* for {width}\."):
            check_feature_width(given, width)
