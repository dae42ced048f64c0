"""TensorBoard scalars: written where the package is installed, explained where it is not."""

from __future__ import annotations

import sys

import networkx as nx
import pytest

from graphscore import GraphGenerator
from graphscore.errors import GraphscoreWarning, MissingExtraError, OutputError
from graphscore.training.tensorboard import tensorboard_writer


def test_every_record_becomes_scalars(tmp_path):
    """Losses, gradient norm and learning rate by step, as TensorBoard itself reads them."""
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    records = []
    write = tensorboard_writer(tmp_path / "board")

    def keep(record):
        records.append(record)
        write(record)

    GraphGenerator(
        "edp-gnn",
        network={"channels": [2], "message_steps": 1, "features": 4, "edge_width": 4},
        training={"steps": 3, "batch_size": 2, "log_every": 1},
        show_progress=False,
    ).fit([nx.path_graph(3)], on_record=keep)

    assert list((tmp_path / "board").glob("events.out.tfevents*"))
    events = EventAccumulator(str(tmp_path / "board")).Reload()
    losses = events.Scalars("loss")
    assert [event.step for event in losses] == [1, 2, 3]
    assert [event.value for event in losses] == pytest.approx([r.loss for r in records], rel=1e-6)
    names = set(events.Tags()["scalars"])
    assert {"per_pair", "gradient_norm", "learning_rate", "loss_per_level/0"} <= names


def test_nothing_is_written_before_the_first_record(tmp_path):
    """So that the folder of a run that has yet to start stays free."""
    pytest.importorskip("tensorboard")
    tensorboard_writer(tmp_path / "run/tensorboard")
    assert list(tmp_path.iterdir()) == []


def test_a_link_in_place_of_the_folder_is_refused(tmp_path):
    """At once: a run of a stranger may have one, which leads out of its folder."""
    try:
        (tmp_path / "tensorboard").symlink_to(tmp_path)
    except OSError:
        pytest.skip("no links here")
    with pytest.raises(OutputError, match=r"is a link.*Remove it"):
        tensorboard_writer(tmp_path / "tensorboard")


def test_a_missing_package_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    for name in [name for name in sys.modules if name.startswith("torch.utils.tensorboard")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(MissingExtraError, match=r"pip install 'graphscore\[tensorboard\]'"):
        tensorboard_writer(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written_does_not_end_training(tmp_path):
    """A full disk, or here a file in the place of the folder; one warning says so."""
    pytest.importorskip("tensorboard")
    (tmp_path / "file").touch()
    generator = GraphGenerator(
        "edp-gnn",
        network={"channels": [2], "message_steps": 1, "features": 4, "edge_width": 4},
        training={"steps": 3, "batch_size": 2, "log_every": 1},
        show_progress=False,
    )
    with pytest.warns(GraphscoreWarning, match="without more scalars") as warned:
        generator.fit([nx.path_graph(3)], on_record=tensorboard_writer(tmp_path / "file/board"))
    assert generator.step == 3
    assert len([w for w in warned if issubclass(w.category, GraphscoreWarning)]) == 1
