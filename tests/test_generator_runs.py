"""GraphGenerator: models that are kept, and runs that are stopped, resumed or refused."""

from __future__ import annotations

import json
import os
import signal
import threading

import networkx as nx
import pytest
import torch

from graphscore import GraphGenerator, read_graphs
from graphscore.errors import (
    CheckpointError,
    GraphscoreWarning,
    OutputError,
    SettingsError,
    TrainingError,
)

from .tiny_generator import GRAPHS, make, structure


@pytest.fixture(scope="module")
def graphs():
    return GRAPHS


@pytest.fixture
def fitted(graphs):
    return make().fit(graphs)


# ------------------------------------------------------------------ keeping


def test_a_loaded_model_gives_the_same_samples(fitted, graphs, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = GraphGenerator.load(tmp_path / "model", device="cpu", show_progress=False)
    assert structure(loaded.sample(6, seed=2)) == structure(fitted.sample(6, seed=2))
    assert structure(loaded.sample(6)) == structure(fitted.sample(6))
    assert loaded.settings == fitted.settings
    assert loaded.sizes == fitted.sizes
    assert loaded.step == fitted.step == 3
    assert not loaded.network.training
    result = loaded.evaluate(graphs)
    assert (result.novelty, result.training_count) == (None, None)


def test_a_run_folder_is_a_saved_model(graphs, tmp_path):
    """And a loaded model can be saved again."""
    generator = make().fit(graphs, run=tmp_path / "run")
    loaded = GraphGenerator.load(tmp_path / "run", show_progress=False)
    loaded.save(tmp_path / "copy")
    again = GraphGenerator.load(tmp_path / "copy", show_progress=False)
    expected = structure(generator.sample(4, seed=1))
    assert structure(loaded.sample(4, seed=1)) == expected
    assert structure(again.sample(4, seed=1)) == expected


def test_a_model_cannot_be_saved_over_a_file(fitted, tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OutputError, match="cannot write"):
        fitted.save(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_stored_model_keeps_its_settings(fitted, tmp_path):
    """What would be ignored is refused."""
    fitted.save(tmp_path / "model")
    for more in ({"seed": 3}, {"sampling": {"steps_per_level": 1}}, {"colour": "red"}):
        with pytest.raises(SettingsError, match=f"has its settings already; leave out {min(more)}"):
            GraphGenerator.load(tmp_path / "model", **more)


def test_loading_what_is_no_model(tmp_path):
    with pytest.raises(CheckpointError, match="no checkpoint here"):
        GraphGenerator.load(tmp_path)


# ------------------------------------------------------------------ runs


def steps_of(run) -> list[int]:
    return [json.loads(line)["step"] for line in (run / "log.jsonl").read_text().splitlines()]


def test_without_a_run_nothing_is_written(graphs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make().fit(graphs).sample(2)
    assert list(tmp_path.iterdir()) == []


def test_a_stopped_training_goes_on_as_if_it_never_stopped(graphs, tmp_path):
    """With records of several steps too; the log has each of its steps once."""
    whole = make(steps=9, log_every=4).fit(graphs)
    asked = iter(range(100))
    stopped = make(steps=9, log_every=4)
    stopped.fit(graphs, run=tmp_path / "run", should_stop=lambda: next(asked) >= 7)
    assert 0 < stopped.step < 9
    assert len(stopped.sample(2)) == 2
    resumed = make(steps=9, log_every=4).fit(graphs, run=tmp_path / "run", resume=True)
    assert resumed.step == 9
    expected = whole.network.state_dict()
    assert all(torch.equal(expected[n], t) for n, t in resumed.network.state_dict().items())
    logged = steps_of(tmp_path / "run")
    assert logged == sorted(set(logged))
    assert logged[-1] == 9


def test_records_are_reported_as_they_are_logged(graphs, tmp_path):
    seen = []
    make(steps=4).fit(graphs, run=tmp_path / "run", on_record=lambda r: seen.append(r.to_dict()))
    logged = [json.loads(line) for line in (tmp_path / "run/log.jsonl").read_text().splitlines()]
    assert seen == logged
    assert [record["step"] for record in seen] == [1, 2, 3, 4]


def test_resuming_needs_the_same_graphs_and_settings(graphs, tmp_path):
    """More steps are allowed; everything that decides results otherwise is not."""
    run = tmp_path / "run"
    make().fit(graphs, run=run, source="my graphs")
    with pytest.raises(SettingsError, match="resume needs the folder"):
        make().fit(graphs, resume=True)
    with pytest.raises(CheckpointError, match=r"training.batch_size was 4 and is now 2"):
        make(batch_size=2).fit(graphs, run=run, resume=True)
    with pytest.raises(CheckpointError, match=r"other graphs \(my graphs, 4 graphs\)"):
        make().fit(graphs[::-1], run=run, resume=True)
    with pytest.raises(OutputError, match="already holds a run"):
        make().fit(graphs, run=run)
    assert make(steps=5).fit(graphs, run=run, resume=True).step == 5
    assert steps_of(run) == [1, 2, 3, 4, 5]


def test_a_refused_resume_changes_nothing(graphs, tmp_path):
    """Not even the log of steps after the last checkpoint."""

    def crash(record) -> None:
        if record.step == 3:
            raise RuntimeError("power cut")

    run = tmp_path / "run"
    with pytest.raises(RuntimeError, match="power cut"):
        make(steps=9).fit(graphs, run=run, on_record=crash)
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    with pytest.raises(CheckpointError, match="other graphs"):
        make(steps=9).fit(graphs[:2], run=run, resume=True)
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


def test_a_fit_that_fails_leaves_the_trained_model_as_it_was(fitted, graphs, tmp_path):
    """Weights, sizes and training graphs belong together."""
    (tmp_path / "used").mkdir()
    (tmp_path / "used/file").write_text("mine")
    expected = structure(fitted.sample(8, seed=1))
    with pytest.raises(OutputError):
        fitted.fit([nx.path_graph(9)], run=tmp_path / "used")
    assert fitted.sizes.counts == {4: 2, 5: 1, 6: 1}
    assert structure(fitted.sample(8, seed=1)) == expected
    assert fitted.evaluate(graphs).training_count == 4


def test_training_that_leaves_the_finite_numbers_is_stopped(graphs, tmp_path):
    """The error says what to do, and the last checkpoint is sound."""
    generator = make(steps=30, learning_rate=1e6, gradient_clip=1e30)
    run = tmp_path / "run"
    with pytest.raises(TrainingError, match=r"not finite around step .*learning rate"):
        generator.fit(graphs, run=run, checkpoint_seconds=0)
    loaded = GraphGenerator.load(run, show_progress=False)
    assert all(bool(t.isfinite().all()) for t in loaded.network.state_dict().values())
    records = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    assert [record["step"] for record in records] == list(range(1, loaded.step + 1))


def test_progress_is_shown_unless_switched_off(graphs, capsys):
    make().fit(graphs).sample(2)
    assert capsys.readouterr() == ("", "")
    loud = make()
    loud.show_progress = True
    loud.fit(graphs).sample(2)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "training 3/3" in shown.err
    assert "sampling 12/12" in shown.err


def test_files_and_generator_fit_together(fitted, tmp_path):
    """What `sample` makes, `write_graphs` writes and `fit` takes."""
    from graphscore import write_graphs

    write_graphs(tmp_path / "made.g6", fitted.sample(5))
    assert make().fit(read_graphs(tmp_path / "made.g6")).step == 3


def test_selection_without_samples_is_refused(fitted, graphs):
    with pytest.raises(SettingsError, match="ask for 1 to"):
        fitted.select_sampling(graphs, number=0)


def test_a_saved_model_remembers_how_long_it_was_trained(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    document = json.loads((tmp_path / "model/checkpoint.json").read_text())
    assert document["seconds"] > 0


def test_saving_over_a_run_is_refused(graphs, tmp_path):
    """The run's checkpoint holds the training state, which a saved model does not have."""
    generator = make().fit(graphs, run=tmp_path / "run")
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    with pytest.raises(OutputError, match=r"folder of a run.*another folder"):
        generator.save(tmp_path / "run")
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before


def test_stopping_leaves_a_checkpoint_of_the_last_step(graphs, tmp_path):
    """Also when the question whether to stop is answered with yes only once."""
    answers = iter([False, False, True])
    generator = make(steps=9).fit(
        graphs, run=tmp_path / "run", should_stop=lambda: next(answers, False)
    )
    loaded = GraphGenerator.load(tmp_path / "run", show_progress=False)
    assert loaded.step == generator.step == 2


def test_the_sampler_may_be_changed_by_a_dictionary(fitted):
    """The rest stays as the generator has it; sizes must be whole numbers."""
    settings = fitted.settings.sampling.replaced(step_size=1e-3)
    changed = fitted.sample(4, seed=1, sampling={"step_size": 1e-3})
    assert structure(changed) == structure(fitted.sample(4, seed=1, sampling=settings))
    with pytest.raises(SettingsError, match="step_size"):
        fitted.sample(2, sampling={"stepsize": 1})
    with pytest.raises(SettingsError, match="whole"):
        fitted.sample(2, sizes=[2.5, 3])


def test_ctrl_c_keeps_the_averaged_weights(graphs):
    """`fit` returns after the step, with a warning; afterwards Ctrl-C is what it was."""
    before = signal.getsignal(signal.SIGINT)

    def interrupt(record) -> None:
        if record.step == 2:
            os.kill(os.getpid(), signal.SIGINT)

    generator = make(steps=9)
    with pytest.warns(GraphscoreWarning, match=r"interrupted after 3 of 9 steps.*are kept"):
        generator.fit(graphs, on_record=interrupt)
    assert generator.step == 3  # which had begun
    assert len(generator.sample(2)) == 2
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_ctrl_c_ends_it_at_once(graphs):
    def interrupt(record) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        make(steps=9).fit(graphs, on_record=interrupt)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_in_another_thread_signals_are_left_alone(graphs):
    fitted = []
    thread = threading.Thread(target=lambda: fitted.append(make().fit(graphs).step))
    thread.start()
    thread.join()
    assert fitted == [3]


def test_the_time_can_be_limited(graphs, tmp_path):
    """With a checkpoint to resume from; negative and missing numbers are refused."""
    run = tmp_path / "run"
    assert make(steps=9).fit(graphs, run=run, max_seconds=0).step == 0
    assert make(steps=9).fit(graphs, run=run, resume=True, max_seconds=600).step == 9
    for wrong in (-1, float("nan")):
        with pytest.raises(SettingsError, match=r"max_seconds .*at least 0"):
            make().fit(graphs, max_seconds=wrong)


def test_progress_is_shown_before_the_first_record(graphs, monkeypatch, capsys):
    """At every step, and not only where the log has a record."""
    monkeypatch.setattr("graphscore.progress._FIRST_GAP", 0.0)
    loud = make(steps=4, log_every=100)
    loud.show_progress = True
    loud.fit(graphs)
    shown = capsys.readouterr().err
    assert [f"training {step}/4, about" in shown for step in (0, 1, 2, 3)] == [True] * 4
