"""A tiny trained run, a folder to work in, and the program called in this process."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import networkx as nx
import pytest

from graphscore.cli import interrupt
from graphscore.cli.main import main
from graphscore.config import read_config
from graphscore.generator import GraphGenerator
from graphscore.graphs import read_graphs, write_graphs

SETTINGS = """
model = "edp-gnn"

[network]
channels = [2]
message_steps = 1
features = 4
edge_width = 4

[training]
batch_size = 4
log_every = 1

[sampling]
steps_per_level = 2
"""
STEPS = 3
Tree = dict[str, bytes | None]


@dataclass(frozen=True)
class Outcome:
    """What one call of the program gave."""

    code: int
    out: str
    err: str


Call = Callable[..., Outcome]


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """graphs.g6 (4 to 6 nodes), tiny.toml, and `run`, an EDP-GNN trained on them for 3 steps."""
    folder = tmp_path_factory.mktemp("template")
    graphs = [nx.path_graph(4), nx.cycle_graph(5), nx.star_graph(5), nx.complete_graph(4)]
    write_graphs(folder / "graphs.g6", graphs)
    (folder / "tiny.toml").write_text(SETTINGS)
    values = read_config(folder / "tiny.toml")
    values["training"]["steps"] = STEPS
    generator = GraphGenerator.from_settings(values, show_progress=False)
    generator.fit(read_graphs(folder / "graphs.g6"), run=folder / "run", source="graphs.g6")
    return folder


@pytest.fixture
def place(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a fresh copy of the template."""
    folder = tmp_path / "place"
    shutil.copytree(template, folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """Run the program in this process, which it does not end."""

    def leave(code: int) -> NoReturn:
        raise interrupt.StopSignal(code)

    monkeypatch.setattr(interrupt, "_exit", leave)

    def run(*arguments: object) -> Outcome:
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        assert isinstance(stopped.value.code, int)
        return Outcome(stopped.value.code, shown.out, shown.err)

    return run


@pytest.fixture
def tree() -> Callable[[Path], Tree]:
    """Everything below a folder: names, and the contents of files."""

    def snapshot(folder: Path) -> Tree:
        return {
            str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
            for path in sorted(folder.rglob("*"))
        }

    return snapshot


@pytest.fixture
def refused(place: Path, call: Call, tree: Callable[[Path], Tree]) -> Callable[..., str]:
    """Check that a call ends with code 2, says all the words and writes nothing."""

    def check(arguments: list[object], *words: str) -> str:
        before = tree(place)
        outcome = call(*arguments)
        assert outcome.code == 2
        assert outcome.out == ""
        assert outcome.err.startswith("graphscore: ")
        missing = [word for word in words if word not in outcome.err]
        assert not missing, outcome.err
        assert tree(place) == before
        return outcome.err

    return check


@pytest.fixture
def program() -> list[str]:
    """The installed program, or the module where it is not on the path of this Python."""
    script = Path(sys.executable).with_name("graphscore")
    return [str(script)] if script.exists() else [sys.executable, "-m", "graphscore"]


@pytest.fixture
def environment() -> dict[str, str]:
    """For subprocesses: one thread, as in this process, and streams with buffers."""
    one_thread = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    return {**os.environ, **one_thread, "PYTHONUNBUFFERED": ""}
