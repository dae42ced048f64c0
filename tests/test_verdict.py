"""What is said before, during and after a training."""

from __future__ import annotations

import json
from dataclasses import replace

import networkx as nx
import pytest

from graphscore import GraphGenerator
from graphscore.artifacts import RunFolder
from graphscore.errors import GraphDataError, SamplingError
from graphscore.generator import PICTURE
from graphscore.outlook import advice, in_words, sampling_seconds
from graphscore.training import TrainingRecord
from graphscore.training_data import TrainingData
from graphscore.verdict import Curve, judge

from .tiny_generator import GRAPHS, NETWORK, make

MANY = [nx.gnp_random_graph(6, 0.5, seed=i) for i in range(60)]


def record(step: int, held_out: float | None) -> TrainingRecord:
    return TrainingRecord(step, 1, 1, 1, [1, 1], 0, 0, 0, held_out_at_small_noise=held_out)


def data(generator, held_out) -> TrainingData:
    trained = generator._trained()
    return TrainingData(trained.graphs, held_out, generator.schema)


class Repeating(GraphGenerator):
    """Samples given graphs, one after the other."""

    drawn = ()

    def sample(self, number, **options):
        return [self.drawn[i % len(self.drawn)] for i in range(number)]


@pytest.fixture(scope="module")
def sampled():
    """sampled(graphs): a generator trained on the first fifty graphs that gives `graphs`."""
    fitted = Repeating("erdos-renyi", show_progress=False).fit(MANY[:50])

    def make_one(graphs):
        fitted.drawn = graphs
        return fitted

    return make_one


FRESH = [nx.gnp_random_graph(6, 0.5, seed=1000 + i) for i in range(64)]


@pytest.mark.parametrize(
    ("graphs", "losses", "kind", "words", "steps"),
    [
        pytest.param(FRESH, [3, 2, 1, 1], "good", "within the floor on 4 of 4", None, id="good"),
        pytest.param(
            [nx.path_graph(6)], [3, 2, 1, 1], "not good yet", "0 of 4|1 of 4", None, id="bad"
        ),
        pytest.param(
            [nx.path_graph(6)], [8, 4, 2, 1], "still improving", "still falls", 80, id="falls"
        ),
        pytest.param(FRESH, [3, 1, 2, 4], "memorising", "has risen since step 20", 20, id="rises"),
    ],
)
def test_the_verdict_follows_from_losses_and_samples(sampled, graphs, losses, kind, words, steps):
    generator = sampled(graphs)
    records = [record(10 * (i + 1), loss) for i, loss in enumerate(losses)]
    generator._artifact = replace(generator._trained(), step=40)
    made = judge(generator, records, data(generator, MANY[50:]), most_seconds=1e9)
    assert (made.kind, made.steps) == (kind, steps)
    assert made.text.startswith(f"{kind}: ")
    assert any(word in made.text for word in words.split("|"))


def test_copies_are_told_from_graphs_that_are_alike_anyway(sampled):
    """Samples that repeat training graphs, where held-out graphs do not."""
    large = [nx.gnp_random_graph(12, 0.4, seed=i) for i in range(60)]
    fitted = Repeating("erdos-renyi", show_progress=False).fit(large[:50])
    fitted.drawn = [*large[:36], *[nx.gnp_random_graph(12, 0.4, seed=99 + i) for i in range(28)]]
    made = judge(fitted, [], data(fitted, large[50:]), most_seconds=1e9)
    assert made.kind == "memorising"
    assert "56% of 64 samples are copies of training graphs (0% of held-out" in made.text
    cycles = [nx.cycle_graph(3 + i % 5) for i in range(60)]
    fitted = Repeating("erdos-renyi", show_progress=False).fit(cycles[:50])
    fitted.drawn = cycles[:50]
    made = judge(fitted, [], data(fitted, cycles[50:]), most_seconds=1e9)
    assert (made.kind, made.copies, made.natural_copies) == ("good", 1.0, 1.0)


def test_samples_are_not_checked_where_that_takes_too_long():
    fitted = make().fit(GRAPHS)
    made = judge(fitted, [record(1, 2.0), record(3, 1.0)], data(fitted, MANY), most_seconds=0)
    assert (made.kind, made.samples, made.copies) == ("still improving", 0, None)
    assert "samples were not checked, as sampling 64 graphs" in made.text


def test_a_curve_of_one_point_says_nothing():
    assert (Curve.of([record(3, 1.0)]).falling, Curve.of([record(3, None)]).best) == (None, None)


def test_fit_judges_what_it_held_out_for(tmp_path, capsys):
    """The verdict and a picture; neither where nothing was held out, or it was stopped."""
    loud = make(steps=4)
    loud.show_progress = True
    loud.fit(MANY, run=tmp_path / "run")
    shown = capsys.readouterr().err
    assert loud.verdict.text in shown
    assert "graphs: training on 54 graphs (6 nodes, " in shown
    assert "6 more are held out to measure the loss on them; --no-holdout" in shown
    assert "model edp-gnn, " in shown
    assert (tmp_path / "run" / PICTURE).read_bytes().startswith(b"\x89PNG")
    assert make().fit(MANY, holdout=False).verdict is None
    assert make().fit(MANY, stop_at=1).verdict is None
    assert make().fit(MANY, max_seconds=0).verdict is not None


def test_the_picture_is_no_reason_to_fail(tmp_path):
    def block(record) -> None:
        (tmp_path / "run" / PICTURE).mkdir(exist_ok=True)

    with pytest.warns(UserWarning, match="picture of the training is left out"):
        fitted = make().fit(MANY, run=tmp_path / "run", on_record=block)
    assert fitted.step == 3


def test_the_estimate_is_made_from_steps_of_the_training_itself(monkeypatch, capsys):
    """Once, and the training is the same as without."""
    monkeypatch.setattr("graphscore.outlook.MEASURED_SECONDS", 0.0)
    monkeypatch.setattr("graphscore.outlook.WORTH_SAYING", 0.0)
    monkeypatch.setattr("graphscore.outlook.LONG", 0.0)
    loud = make(steps=5)
    loud.show_progress = True
    loud.fit(GRAPHS)
    shown = capsys.readouterr().err
    assert shown.count("estimate from the first steps: training takes about ") == 1
    assert "sampling 64 graphs about " in shown
    assert "memory so far " in shown
    assert "that is long" in shown
    quiet = make(steps=5).fit(GRAPHS)
    assert [r.loss for r in loud.history] == [r.loss for r in quiet.history]


def test_sampling_is_measured_without_changing_the_next_samples():
    one, other = make().fit(GRAPHS), make().fit(GRAPHS)
    assert sampling_seconds(one) > 0
    assert [sorted(g.edges) for g in one.sample(3)] == [sorted(g.edges) for g in other.sample(3)]
    assert sampling_seconds(GraphGenerator("erdos-renyi").fit(GRAPHS)) is None


def test_times_in_words():
    assert [in_words(s) for s in (0.5, 99, 3000, 9e5)] == ["0.5 s", "99 s", "50 min", "250 h"]
    assert "--steps 300 takes an hour" in advice(3000, 36000)


def test_the_history_of_a_run_is_its_log(tmp_path):
    fitted = make().fit(MANY, run=tmp_path / "run")
    log = RunFolder(tmp_path / "run").log
    assert [json.loads(json.dumps(r.to_dict())) for r in fitted.history] == log.records()
    assert log.training_records() == fitted.history


def test_a_long_training_of_large_graphs_is_advised_against_before_its_first_step(
    monkeypatch, capsys
):
    """From the gradient of a part of a graph, which leaves no trace."""
    monkeypatch.setattr("graphscore.outlook.PART", 4)
    monkeypatch.setattr("graphscore.outlook.LONG", 0.0)
    loud = make(steps=5)
    loud.show_progress = True
    loud.fit(GRAPHS, stop_at=1)
    shown = capsys.readouterr().err
    rough, begun = "rough estimate: training takes about ", "training on the CPU"
    assert 0 < shown.index(rough) < shown.index("--subgraphs 40") < shown.index(begun)
    quiet = make(steps=5).fit(GRAPHS, stop_at=1)
    assert [r.loss for r in loud.history] == [r.loss for r in quiet.history]


def test_matrices_that_do_not_fit_in_memory_are_refused(monkeypatch):
    monkeypatch.setattr("graphscore.training_data.available_memory", lambda device: 500)
    with pytest.raises(GraphDataError, match=r"4 graphs of up to 6 nodes take 5.76e-07 GB"):
        make().fit(GRAPHS)


def test_after_the_estimate_statistics_of_batches_go_on(monkeypatch, capsys):
    """A network that answers otherwise in training is in training again."""
    monkeypatch.setattr("graphscore.outlook.MEASURED_SECONDS", 0.0)
    monkeypatch.setattr("graphscore.outlook.WORTH_SAYING", 0.0)

    def losses(show_progress):
        generator = GraphGenerator(
            "edp-gnn-released",
            network=NETWORK,
            training={"steps": 5, "batch_size": 4, "log_every": 1},
            device="cpu",
            show_progress=show_progress,
        )
        return [record.loss for record in generator.fit(GRAPHS).history]

    assert losses(True) == losses(False)
    assert "estimate from the first steps" in capsys.readouterr().err


def test_samples_that_cannot_be_drawn_are_no_error(sampled, monkeypatch):
    def diverge(self, number, **options):
        raise SamplingError("the state is not finite.")

    monkeypatch.setattr(Repeating, "sample", diverge)
    made = judge(sampled([]), [], data(sampled([]), MANY[50:]), most_seconds=1e9)
    assert made.kind == "not checked"
    assert "samples could not be checked: the state is not finite" in made.text
