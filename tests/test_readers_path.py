"""The reader's path: few frames between a call and the network or the optimiser, short files.

Frames are counted in real runs on the plain path, by the file of the code: those below
src/graphscore, from the function that a user calls to the one that the network is entered by, or
that calls the optimiser.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from pathlib import Path
from types import FrameType

import networkx as nx
import pytest
from torch.optim.optimizer import register_optimizer_step_pre_hook

import graphscore
from graphscore import GraphGenerator, write_graphs
from graphscore.cli.sample import sample
from graphscore.cli.train import train

PACKAGE = Path(graphscore.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
MOST_FRAMES = 5
MOST_LINES, MOST_LINES_OF_CODE = 400, 60
RUNS = {
    "denoiser": {
        "network": {"blocks": 1, "pair_width": 8, "node_width": 4, "product_width": 2},
        "sampling": {"kind": "heun", "steps": 2},
    },
    "edp-gnn": {
        "network": {"channels": [2], "message_steps": 1, "features": 4, "edge_width": 4},
        "sampling": {"kind": "langevin", "steps_per_level": 1},
    },
}
every_run = pytest.mark.parametrize("model", RUNS)


def frames(innermost: FrameType | None) -> list[str]:
    """Return the functions of graphscore on the stack, outermost first."""
    found = []
    while innermost is not None:
        code = innermost.f_code
        if Path(code.co_filename).is_relative_to(PACKAGE):
            found.append(f"{Path(code.co_filename).relative_to(PACKAGE)}: {code.co_qualname}")
        innermost = innermost.f_back
    return found[::-1]


def first_network_call(run):
    """Return the frames when a network of a generator is first entered in `run()`."""
    networks, found = set(), []

    def watch(frame, event, _):
        if event != "call" or found:
            return
        own = frame.f_locals.get("self")
        artifact = getattr(own, "_artifact", None) if isinstance(own, GraphGenerator) else None
        if artifact is not None:
            networks.add(id(artifact.model.network))
        elif id(own) in networks:
            found.extend(frames(frame))

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        run()
    finally:
        sys.setprofile(before)
    return found


def first_optimiser_step(run):
    """Return the frames when an optimiser first steps in `run()`."""
    found = []
    hook = register_optimizer_step_pre_hook(
        lambda *_: found.extend([] if found else frames(sys._getframe()))
    )
    try:
        run()
    finally:
        hook.remove()
    return found


def make(model):
    return GraphGenerator(
        model, training={"steps": 2}, accelerate="off", device="cpu", show_progress=False,
        **RUNS[model],
    )  # fmt: skip


@pytest.fixture(scope="module")
def graphs():
    return [nx.path_graph(4), nx.cycle_graph(5)]


@every_run
def test_from_the_generator(model, graphs):
    generator = make(model)
    trained = first_optimiser_step(lambda: generator.fit(graphs))
    sampled = first_network_call(lambda: generator.sample(2))
    assert trained[0] == "generator.py: GraphGenerator.fit"
    assert sampled[0] == "trained.py: TrainedGenerator.sample"
    assert len(trained) <= MOST_FRAMES, trained
    assert len(sampled) <= MOST_FRAMES, sampled


@every_run
def test_from_the_command_line(model, graphs, tmp_path):
    """One more: the function of the command itself."""
    write_graphs(tmp_path / "graphs.g6", graphs)
    make(model).fit(graphs, run=tmp_path / "run")
    options = {"accelerate": "off", "device": "cpu"}
    again = tmp_path / "again"
    data = str(tmp_path / "graphs.g6")
    trained = first_optimiser_step(
        lambda: train(data, out=again, model=model, steps=1, batch_size=2, **options)
    )
    sampled = first_network_call(lambda: sample(str(tmp_path / "run"), number=2, **options))
    assert trained[0] == "cli/train.py: train"
    assert sampled[0] == "cli/sample.py: sample"
    assert len(trained) <= MOST_FRAMES + 1, trained
    assert len(sampled) <= MOST_FRAMES + 1, sampled


def lines_of_code(text: str) -> set[int]:
    """Return the numbers of lines that hold code: neither blank nor comments alone."""
    layout = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    return {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in (*layout, tokenize.ENDMARKER)
        for line in range(token.start[0], token.end[0] + 1)
    }


def long_functions(text: str) -> dict[str, int]:
    """Return functions with too many lines of code, docstrings not counted.

    A kernel of Triton is compiled as one function and stays one.
    """
    code, found = lines_of_code(text), {}
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if any("triton" in ast.unparse(decorator) for decorator in node.decorator_list):
            continue
        own = code & set(range(node.lineno, (node.end_lineno or 0) + 1))
        if ast.get_docstring(node) is not None:
            own -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
        if len(own) > MOST_LINES_OF_CODE:
            found[node.name] = len(own)
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_files_and_functions_are_short(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    assert long_functions(text) == {}


def test_long_functions_are_found():
    """Docstrings, comments and blank lines are not counted."""
    body = '    """Say\n    it."""\n' + "    x = 1\n\n    # why\n" * (MOST_LINES_OF_CODE - 1)
    assert long_functions(f"def f():\n{body}") == {}
    assert long_functions(f"def f():\n{body}    x = 2\n") == {"f": MOST_LINES_OF_CODE + 1}
