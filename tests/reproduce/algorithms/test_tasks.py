"""The tasks: what problems look like, how a network sees them, and what counts as right."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import pytest
import torch

from graphscore.errors import SettingsError
from graphscore.networks import EDPGNN, EDPGNNSettings
from reproduce.algorithms.evaluation import edge_logits
from reproduce.algorithms.solvers import random_shortest_path
from reproduce.algorithms.tasks import (
    TASKS,
    PathProblems,
    ShortestPath,
    find_task,
    is_right,
)
from reproduce.plans import load_plan

NETWORKS = load_plan("table1", "full")["networks"]
PATHS = [name for name in TASKS if name.endswith("shortest-path")]


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def draw(name, count=100, nodes=12, probability=0.3, seed=0):
    return find_task(name).draw(count, nodes, probability, generator=generator(seed))


def tensors(problems):
    return vars(problems)


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize(("nodes", "probability"), [(12, 0.3), (6, 0.1), (2, 0.5), (1, 0.5)])
def test_problems_are_well_formed(name, nodes, probability):
    """Symmetric, answers on edges only, and every edge far from the 0 of a missing one."""
    task, problems = find_task(name), draw(name, nodes=nodes, probability=probability)
    assert len(problems) == 100
    assert problems.node_feat.shape == (100, nodes, task.node_feat_dim)
    for matrix in (problems.edges, problems.adj, problems.answer):
        assert torch.equal(matrix, matrix.mT)
    assert not (problems.answer & ~problems.edges).any()
    assert problems.adj.dtype == problems.node_feat.dtype == torch.float32
    assert (problems.adj[problems.edges] >= 1).all()
    assert (problems.adj[~problems.edges] == 0).all()


@pytest.mark.parametrize("name", TASKS)
def test_the_answer_can_be_found_from_what_the_network_is_told(name):
    """networkx, given only adj and node_feat, finds the answer."""
    problems = draw(name, count=60)
    for adj, feat, answer in zip(problems.adj, problems.node_feat, problems.answer):
        edges = [(i, j) for i, j in adj.nonzero().tolist() if i < j]
        graph = nx.empty_graph(12)
        closeness = [(i, j, adj[i, j].item()) for i, j in edges]
        found = {(i, j) for i, j in answer.nonzero().tolist() if i < j}
        if name == "maximum-spanning-tree":
            graph.add_weighted_edges_from(closeness)
            expected = [{tuple(sorted(e)) for e in nx.maximum_spanning_edges(graph, data=False)}]
        else:
            graph.add_weighted_edges_from((i, j, 2 - near) for i, j, near in closeness)
            ends = [feat[:, k].nonzero().item() for k in range(2)]
            expected = [
                {tuple(sorted(e)) for e in pairwise(path)}
                for path in nx.all_shortest_paths(graph, *ends, "weight")
            ]
        assert found in expected


@pytest.mark.parametrize("name", PATHS)
def test_the_marked_pair_is_uniform_among_connected_pairs(name):
    """Different, connected, all such pairs equally often, neighbours as often as their share."""
    problems = draw(name, count=4000, nodes=6)
    connected = problems.distances.isfinite() & ~torch.eye(6, dtype=torch.bool)
    rows = torch.arange(4000)
    some = connected.flatten(1).any(-1)
    assert some.double().mean() > 0.98
    assert torch.equal(connected[rows, problems.source, problems.target], some)
    chance = connected.double() / connected.sum((1, 2), keepdim=True).clamp_min(1)
    taken = torch.zeros_like(chance)
    taken[rows, problems.source, problems.target] = some.double()
    neighbours = (taken * problems.edges).sum() - (chance * problems.edges).sum()
    assert abs(neighbours) < 5 * 4000**0.5 / 2
    difference = (taken - chance).sum(0)
    assert difference.abs().max() < 5 * (4000 / 30) ** 0.5


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("nodes", [1, 5])
def test_graphs_without_edges_have_an_empty_answer(name, nodes):
    task, problems = find_task(name), draw(name, nodes=nodes, probability=0.0)
    assert not problems.answer.any()
    metrics = task.metrics(problems, problems.answer)
    assert metrics["accuracy"].tolist() == [1.0] * 100
    assert metrics["edge_accuracy"].isnan().all()
    if isinstance(problems, PathProblems):
        assert torch.equal(problems.source, problems.target)
        assert metrics["accuracy_any_path"].tolist() == [1.0] * 100
        assert problems.paths.tolist() == [1.0] * 100


@pytest.mark.usefixtures("_global_state_untouched")
@pytest.mark.parametrize("name", TASKS)
def test_the_seed_decides_and_the_global_state_is_left_alone(name):
    one, two, other = tensors(draw(name)), tensors(draw(name)), tensors(draw(name, seed=1))
    assert [key for key in one if not torch.equal(one[key], two[key])] == []
    assert not torch.equal(one["adj"], other["adj"])


def test_a_slice_holds_the_same_problems():
    problems = draw("weighted-shortest-path")
    part = problems[20:30]
    assert isinstance(part, PathProblems)
    for key, tensor in tensors(part).items():
        assert torch.equal(tensor, tensors(problems)[key][20:30])


@pytest.mark.parametrize("name", TASKS)
def test_one_wrong_edge_is_a_wrong_graph_and_other_places_do_not_count(name):
    task, problems = find_task(name), draw(name)
    metrics = task.metrics(problems, problems.answer | ~problems.edges)
    assert metrics["accuracy"].tolist() == [1.0] * 100
    assert next(iter(metrics)) == "accuracy"
    wrong = problems.answer.clone()
    graph, i, j = problems.edges.nonzero()[0].tolist()
    wrong[graph, i, j] = wrong[graph, j, i] = ~wrong[graph, i, j]
    metrics = task.metrics(problems, wrong)
    assert metrics["accuracy"].sum() == 99
    assert metrics["accuracy"][graph] == 0
    edges = problems.edges[graph].sum().item()
    assert metrics["edge_accuracy"][graph].item() == pytest.approx(1 - 2 / edges)
    assert torch.equal(is_right(problems, wrong).double(), metrics["accuracy"])


def test_metrics_of_unweighted_paths_know_ties():
    """Another draw of the same tie is right for any path, and right as often as chance says."""
    task = ShortestPath(weighted=False)
    problems = draw("shortest-path", count=3000)
    other, _ = random_shortest_path(
        problems.lengths, problems.distances, problems.source, problems.target,
        generator=generator(9),
    )  # fmt: skip
    metrics = task.metrics(problems, other)
    assert metrics["accuracy_any_path"].tolist() == [1.0] * 3000
    nothing = task.metrics(problems, other & False)
    assert nothing["accuracy_any_path"].tolist() == [0.0] * 3000
    elsewhere = task.metrics(problems, other | ~problems.edges)
    assert elsewhere["accuracy_any_path"].tolist() == [1.0] * 3000
    best = metrics["best_possible"].mean().item()
    assert 0.78 < best < 0.86
    assert metrics["accuracy"].mean().item() == pytest.approx(best, abs=5 * 0.4 / 3000**0.5)
    unique = metrics["unique_answer"] == 1
    assert metrics["accuracy"][unique].min() == 1
    assert 0.3 < metrics["accuracy"][~unique].mean() < 0.5
    apart = ~metrics["accuracy_apart"].isnan()
    assert torch.equal(apart, problems.distances[range(3000), problems.source, problems.target] > 1)


def test_weighted_paths_have_no_ties():
    metrics = ShortestPath(weighted=True).metrics(
        problems := draw("weighted-shortest-path", count=2000), problems.answer
    )
    assert metrics["unique_answer"].min() == metrics["best_possible"].min() == 1


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("name", TASKS)
def test_a_network_follows_a_permutation_of_the_problem(name, network):
    """Logits of permuted problems are the permuted logits: the pipeline knows no node order."""
    task, problems = find_task(name), draw(name, count=8)
    narrow = {"channels": (2, 3), "features": 4, "edge_width": 5}
    chosen = {**narrow, **NETWORKS[network]["settings"]}
    settings = EDPGNNSettings(**chosen, edge_norm="batch", node_feat_dim=task.node_feat_dim)
    net = EDPGNN(settings, (1.0,), generator=generator()).double()
    order = torch.randperm(12, generator=generator(1))
    logits = edge_logits(net, problems.adj.double(), problems.node_feat.double())
    moved = edge_logits(
        net, problems.adj[:, order][:, :, order].double(), problems.node_feat[:, order].double()
    )
    assert torch.allclose(moved, logits[:, order][:, :, order], atol=1e-10)
    assert torch.allclose(logits, logits.mT, atol=1e-10)


def test_unknown_tasks_and_foreign_problems_are_refused():
    with pytest.raises(SettingsError, match="known are shortest-path"):
        find_task("longest-path")
    tree = draw("maximum-spanning-tree")
    with pytest.raises(TypeError, match=r"ShortestPath\.draw"):
        ShortestPath(weighted=True).metrics(tree, tree.answer)
