"""Held-out graphs: how many, that they change nothing, and what their loss is."""

from __future__ import annotations

import networkx as nx
import pytest
import torch

from graphscore import GraphGenerator
from graphscore.artifacts import RunFolder
from graphscore.errors import GraphDataError
from graphscore.training.holdout import MOMENTS, HeldOutLoss, at_small_noise, held_out_numbers

from ..tiny_generator import GRAPHS, make, structure

MANY = [nx.path_graph(3 + i % 4) for i in range(60)]


def test_a_tenth_is_held_out_where_there_are_enough():
    """At random, with the seed of the run, and never more than 500."""
    assert held_out_numbers(49, seed=0) == []
    one, other = held_out_numbers(100, seed=0), held_out_numbers(100, seed=1)
    assert len(one) == len(set(one)) == 10
    assert one == sorted(one) != other
    assert len(held_out_numbers(10**5, seed=0)) == 500


def test_by_default_a_tenth_of_many_graphs_is_held_out(tmp_path):
    """The model knows only the others, and novelty is against them."""
    whole = make().fit(MANY, holdout=False)
    held = make().fit(MANY, run=tmp_path / "run")
    assert sum(whole.sizes.counts.values()) == 60
    assert sum(held.sizes.counts.values()) == 54
    assert all(record.held_out is None for record in whole.history)
    last = held.history[-1]
    assert last.held_out > 0
    assert len(last.held_out_per_level) == len(last.per_level)
    assert last.at_small_noise == pytest.approx(sum(last.per_level[3:]) / 3)
    assert RunFolder(tmp_path / "run").log.records()[-1] == last.to_dict()


def test_training_is_the_same_bit_for_bit_with_validation_graphs():
    plain, measured = make(steps=6).fit(GRAPHS), make(steps=6).fit(GRAPHS, validation=MANY[:7])
    weights = measured.network.state_dict()
    assert all(torch.equal(weights[name], t) for name, t in plain.network.state_dict().items())
    assert [r.loss for r in plain.history] == [r.loss for r in measured.history]
    assert measured.history[-1].held_out is not None
    assert structure(plain.sample(3)) == structure(measured.sample(3))


def test_the_loss_is_that_of_averaged_weights_with_the_same_noise(make_trainer, ragged):
    """In chunks of any size; a second time it is the same number."""
    trainer = make_trainer(steps=4, log_every=1)
    records = []
    measure = HeldOutLoss(ragged(), trainer)
    trainer.run(on_record=lambda record: records.append(measure.added_to(record)))
    items = measure._items
    trainer.network.load_state_dict(trainer.average.state_dict())
    with torch.no_grad():
        losses = trainer.objective.per_graph_loss(trainer.network.eval(), items)
    expected = trainer.objective.metrics(items, losses)[1].item()
    assert records[-1].held_out == pytest.approx(expected, rel=1e-9)
    measure._done = 0
    assert measure.added_to(records[-1]).held_out == records[-1].held_out


def test_the_loss_is_computed_a_few_times_and_at_the_end(make_trainer, ragged):
    trainer = make_trainer(steps=400, log_every=1, batch_size=5)
    measure = HeldOutLoss(ragged(), trainer)
    assert 2 <= len(measure._moments) <= MOMENTS
    assert measure._moments == sorted(set(measure._moments))
    assert measure._moments[-1] == 400
    assert len(measure._items) * len(measure._moments) <= 0.1 * 400 * 5 * 2


def test_a_resumed_run_keeps_its_choice(tmp_path):
    """With either answer the second time; its log goes on."""
    make().fit(MANY, run=tmp_path / "held")
    again = make(steps=5).fit(MANY, run=tmp_path / "held", resume=True, holdout=False)
    assert (again.step, sum(again.sizes.counts.values())) == (5, 54)
    assert [record.step for record in again.history] == [1, 2, 3, 4, 5]
    make().fit(MANY, run=tmp_path / "whole", holdout=False)
    again = make(steps=5).fit(MANY, run=tmp_path / "whole", resume=True)
    assert sum(again.sizes.counts.values()) == 60


def test_a_type_that_only_one_graph_has_is_learned():
    """A graph that has it is not held out, whatever the draw."""
    graphs = [nx.path_graph(3) for _ in range(60)]
    alone = held_out_numbers(60, seed=0)[0]
    for number, graph in enumerate(graphs):
        nx.set_node_attributes(graph, "C" if number != alone else "N", "element")
    model = GraphGenerator(training={"steps": 1}, device="cpu", show_progress=False)
    fitted = model.fit(graphs, node_type="element")
    assert fitted.schema.node_type.values == ("C", "N")
    assert sum(fitted.sizes.counts.values()) == 55


def test_validation_graphs_are_refused_before_training(tmp_path):
    with pytest.raises(GraphDataError, match=r"validation graphs.*directed"):
        make().fit(GRAPHS, validation=[nx.DiGraph([(0, 1)])], run=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_model_without_an_objective_holds_nothing_out():
    fitted = GraphGenerator("erdos-renyi", show_progress=False).fit(MANY, validation=GRAPHS)
    assert sum(fitted.sizes.counts.values()) == 60
    assert fitted.history == []


def test_a_model_conditioned_on_communities_is_measured_with_them():
    graphs = [
        nx.disjoint_union(nx.complete_graph(4 + i % 2), nx.complete_graph(5)) for i in range(50)
    ]
    network = {"blocks": 1, "communities": True}
    model = GraphGenerator(
        network=network, training={"steps": 2, "log_every": 1}, device="cpu", show_progress=False
    )
    assert model.fit(graphs).history[-1].held_out > 0


def test_small_noise_is_the_end_of_levels_and_the_start_of_bins(make_trainer):
    objective = make_trainer().objective
    assert at_small_noise(objective, [5.0, 3.0]) == 3.0
