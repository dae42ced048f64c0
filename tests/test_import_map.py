"""The map of the house: which room may import which, read from the syntax trees.

The table is that of the architecture document. A room is a package or a module directly below
`graphscore`; imports inside functions, under TYPE_CHECKING and relative ones count as well.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import graphscore

PACKAGE = "graphscore"
FRONT_DOOR = "__init__"

OPEN = {"errors", "seeding", "settings", "atomic", "version"}
"""Open to all; they import only each other."""

_MODEL = {"graphs", "datasets", "noise", "networks", "sampling", "training", "metrics", "config"}
_MADE = {"assembly", "communities", "recommendation", "trained_model", "model_sampling"}
_GENERATOR = _MODEL | _MADE | {"acceleration", "device", "progress", "pretrained"}
_ALL = _GENERATOR | {"generator", "baselines", "plots", "provenance"}

MAY_IMPORT: dict[str, set[str]] = {
    **{room: set() for room in (*OPEN, "device", "progress", "provenance", "graphs")},
    "datasets": {"graphs"},
    "noise": {"graphs"},
    "networks": {"graphs"},
    "sampling": {"graphs", "noise"},
    "training": {"graphs", "noise", "networks"},
    "acceleration": {"graphs", "noise", "networks", "training", "sampling"},
    "metrics": {"graphs"},
    "config": {"noise", "networks", "training", "sampling"},
    "assembly": {"networks", "training", "config"},
    "communities": {"graphs", "metrics", "sampling", "progress"},
    "recommendation": {"graphs", "networks", "sampling", "config"},
    "trained_model": {"graphs", "networks", "sampling", "training", "config", "assembly"},
    "model_sampling": {
        *("graphs", "noise", "networks", "sampling", "config", "assembly"),
        *("acceleration", "progress"),
    },
    "pretrained": {"config", "datasets", "sampling", "training", "assembly"},
    "generator": _GENERATOR,
    "estimate": {"generator", "device"},
    "baselines": {"graphs", "networks", "training"},
    "plots": {"graphs"},
    "cli": {*_ALL, "estimate", FRONT_DOOR},
    FRONT_DOOR: {*_MODEL, "generator"},
}

ONLY_IN = {"matplotlib": "plots"}
"""Packages from outside that belong to one room."""


def room_of(path: Path) -> str:
    """The room of a file, by its path below the package."""
    return path.parts[0].removesuffix(".py")


def imported_modules(tree: ast.AST, path: Path) -> list[tuple[int, str]]:
    """Line and full name of everything a file imports; `from a import b` gives a.b."""
    found = []
    # The package that a relative import starts from.
    package = [PACKAGE, *path.parts[:-1]]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*start, *([node.module] if node.module else [])])
            found += [(node.lineno, f"{base}.{alias.name}") for alias in node.names]
        elif isinstance(node, ast.Call) and node.args:
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            argument = node.args[0]
            if name in ("import_module", "__import__") and isinstance(argument, ast.Constant):
                found.append((node.lineno, str(argument.value)))
    return found


def wrong_imports(root: Path) -> list[str]:
    """Every import below `root` (the package's folder) that the map does not allow."""
    rooms = {path.stem if path.suffix == ".py" else path.name for path in root.iterdir()}
    wrong = []
    for file in sorted(root.rglob("*.py")):
        path = file.relative_to(root)
        here = room_of(path)
        if here not in MAY_IMPORT:
            wrong.append(f"{path}: the room {here!r} is not on the map")
            continue
        allowed = MAY_IMPORT[here] | OPEN | {here}
        for line, module in imported_modules(ast.parse(file.read_bytes()), path):
            top, *rest = module.split(".")
            if top == PACKAGE:
                # `from graphscore import X` is the front door unless X is itself a room.
                target = rest[0] if rest and rest[0] in rooms | MAY_IMPORT.keys() else FRONT_DOOR
                if target not in allowed:
                    wrong.append(f"{path}:{line}: {here} may not import {module}")
            elif ONLY_IN.get(top, here) != here:
                wrong.append(f"{path}:{line}: only {ONLY_IN[top]} may import {top}")
    return wrong


def test_every_import_is_on_the_map():
    """The rooms import only what the architecture allows."""
    assert wrong_imports(Path(graphscore.__file__).parent) == []


@pytest.mark.parametrize("room", sorted(set(MAY_IMPORT) - {"cli"}))
def test_nobody_imports_the_command_line(room):
    """Parse, call, write: nothing depends on it."""
    assert "cli" not in MAY_IMPORT[room]


def test_the_map_has_no_cycles():
    """Rooms can be put in an order in which each imports only earlier ones."""
    placed = set(OPEN)
    # The front door stands outside: it is resolved on first use.
    remaining = {r: m - {FRONT_DOOR} for r, m in MAY_IMPORT.items() if r not in (*OPEN, FRONT_DOOR)}
    while remaining:
        ready = {room for room, needs in remaining.items() if needs <= placed}
        assert ready, f"a cycle among {sorted(remaining)}"
        placed |= ready
        remaining = {room: needs for room, needs in remaining.items() if room not in ready}


PLANTED = {
    "absolute": ("networks/x.py", "import graphscore.noise.ladder\n"),
    "from": ("networks/x.py", "from graphscore.noise import ladder\n"),
    "from the package": ("networks/x.py", "from graphscore import noise\n"),
    "relative": ("networks/x.py", "from ..noise import ladder\n"),
    "relative package": ("networks/deep/x.py", "from ... import sampling\n"),
    "inside a function": ("graphs/x.py", "def f():\n    from graphscore.metrics import mmd\n"),
    "type checking": ("sampling/x.py", "if TYPE_CHECKING:\n    import graphscore.networks\n"),
    "import_module": ("graphs/x.py", "importlib.import_module('graphscore.training')\n"),
    "from a top-level module": ("errors.py", "from .graphs import batch\n"),
    "command line": ("generator.py", "from graphscore.cli import main\n"),
    "metrics in training": ("training/x.py", "from graphscore.metrics import evaluate\n"),
    "front door": ("metrics/x.py", "from graphscore import read_graphs\n"),
    "matplotlib": ("metrics/x.py", "from matplotlib import pyplot\n"),
    "matplotlib in cli": ("cli/x.py", "def f():\n    import matplotlib.pyplot as plt\n"),
    "samplers in sampling": ("sampling/x.py", "from graphscore import acceleration\n"),
    "estimate in the generator": ("generator.py", "from graphscore.estimate import estimate\n"),
    "provenance of a model": ("provenance.py", "from graphscore.training import Trainer\n"),
    "plots of networks": ("plots/x.py", "from graphscore.networks import EDPGNN\n"),
    "open module upwards": ("settings.py", "from graphscore.noise import ladder\n"),
    "unknown room": ("utils/x.py", "import math\n"),
}

FINE = {
    "open": ("networks/x.py", "from graphscore import errors\nfrom ..settings import Settings\n"),
    "own room": (
        "networks/x.py",
        "from . import y\nfrom .y import z\nimport graphscore.networks\n",
    ),
    "allowed": ("training/x.py", "from graphscore.networks import EDPGNN\n"),
    "outside": ("graphs/x.py", "import torch, networkx\nfrom graphscorelike import x\n"),
    "matplotlib": ("plots/x.py", "import matplotlib.pyplot as plt\nfrom ..graphs import z\n"),
    "cli": ("cli/x.py", "from graphscore import GraphGenerator, estimate\n"),
    "front door": ("__init__.py", "from graphscore.generator import GraphGenerator\n"),
}


def planted(tmp_path, file, text):
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return wrong_imports(tmp_path)


@pytest.mark.parametrize("kind", PLANTED)
def test_a_wrong_import_is_found(tmp_path, kind):
    """The check goes red, once, and names the file."""
    file, text = PLANTED[kind]
    (message,) = planted(tmp_path, file, text)
    assert message.startswith(file)


@pytest.mark.parametrize("kind", FINE)
def test_a_right_import_passes(tmp_path, kind):
    assert planted(tmp_path, *FINE[kind]) == []
