"""The map of imports: which package may import which, read from the syntax trees.

The table in docs/architecture.md is this one; `python tests/test_import_map.py` prints it. A
package here is a folder or a module directly below `graphscore`; imports inside functions, under
TYPE_CHECKING and relative ones count as well.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import graphscore

PACKAGE = "graphscore"
FRONT_DOOR = "__init__"
ARCHITECTURE = Path(__file__).resolve().parents[1] / "docs" / "architecture.md"

OPEN = {
    *("errors", "seeding", "settings", "atomic", "regular", "streams", "version"),
    *("shown", "parameters"),
}
"""Open to all; they import only each other."""

MAY_IMPORT: dict[str, set[str]] = {
    **{package: set() for package in (*sorted(OPEN), "device", "progress", "provenance", "config")},
    "graphs": set(),
    "datasets": {"graphs", "plots"},
    "metrics": {"graphs"},
    "plots": {"graphs"},
    "diffusion": {"graphs"},
    "networks": {"graphs", "diffusion"},
    "training": {"graphs", "networks"},
    "acceleration": {"graphs", "diffusion", "networks", "training"},
    "models": {
        *("graphs", "diffusion", "networks", "training", "acceleration"),
        *("metrics", "config", "progress"),
    },
    "artifacts": {"graphs", "datasets", "training", "models", "config", "device", "progress"},
    "trained": {
        *("graphs", "diffusion", "training", "acceleration", "models", "artifacts"),
        *("metrics", "config", "device", "plots"),
    },
    "training_data": {"graphs", "training", "models"},
    "outlook": {"device", "graphs", "models", "trained", "training", "training_data"},
    "verdict": {
        *("device", "graphs", "metrics", "trained", "training"),
        *("training_data", "outlook"),
    },
    "generator": {
        *("graphs", "training", "models", "artifacts", "config", "plots"),
        *("trained", "training_data", "outlook", "verdict"),
    },
    "estimate": {"models", "generator", "device"},
}
_BELOW = set(MAY_IMPORT) - OPEN
MAY_IMPORT |= {
    "__main__": {"cli"},
    "cli": {*_BELOW, FRONT_DOOR},
    FRONT_DOOR: {"graphs", "datasets", "metrics", "generator"},
}
"""What each package may import besides itself and `OPEN`."""

ONLY_IN = {"matplotlib": "plots"}
"""Packages from outside that only one package may import."""


def package_of(path: Path) -> str:
    """The package of a file, by its path below graphscore."""
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
    packages = {path.stem if path.suffix == ".py" else path.name for path in root.iterdir()}
    wrong = []
    for file in sorted(root.rglob("*.py")):
        path = file.relative_to(root)
        here = package_of(path)
        if here not in MAY_IMPORT:
            wrong.append(f"{path}: the package {here!r} is not on the map")
            continue
        allowed = MAY_IMPORT[here] | OPEN | {here}
        for line, module in imported_modules(ast.parse(file.read_bytes()), path):
            top, *rest = module.split(".")
            if top == PACKAGE:
                # `from graphscore import X` is the front door unless X is itself a package.
                target = rest[0] if rest and rest[0] in packages | MAY_IMPORT.keys() else FRONT_DOOR
                if target not in allowed:
                    wrong.append(f"{path}:{line}: {here} may not import {module}")
            elif ONLY_IN.get(top, here) != here:
                wrong.append(f"{path}:{line}: only {ONLY_IN[top]} may import {top}")
    return wrong


def test_every_import_is_on_the_map():
    """The packages import only what the architecture allows."""
    assert wrong_imports(Path(graphscore.__file__).parent) == []


@pytest.mark.parametrize("package", sorted(set(MAY_IMPORT) - {"__main__"}))
def test_nobody_imports_the_command_line(package):
    """Parse, call, write: nothing depends on it."""
    assert "cli" not in MAY_IMPORT[package]


def table() -> str:
    """The map as the table of docs/architecture.md."""
    rows = [
        f"| {package} | {', '.join(sorted(allowed)) or '–'} |"
        for package, allowed in MAY_IMPORT.items()
        if package not in (*OPEN, "cli", FRONT_DOOR)
    ]
    return "\n".join(["| package | may import |", "|---|---|", *rows, "| cli | everything |"])


def test_the_architecture_page_has_this_map():
    assert table() in ARCHITECTURE.read_text(encoding="utf-8")


def test_the_map_has_no_cycles():
    """Packages can be put in an order in which each imports only earlier ones."""
    placed = set(OPEN)
    # The front door stands outside: it is resolved on first use.
    remaining = {r: m - {FRONT_DOOR} for r, m in MAY_IMPORT.items() if r not in (*OPEN, FRONT_DOOR)}
    while remaining:
        ready = {package for package, needs in remaining.items() if needs <= placed}
        assert ready, f"a cycle among {sorted(remaining)}"
        placed |= ready
        remaining = {package: needs for package, needs in remaining.items() if package not in ready}


PLANTED = {
    "absolute": ("diffusion/x.py", "import graphscore.networks.denoiser\n"),
    "from": ("diffusion/x.py", "from graphscore.networks import EDPGNN\n"),
    "from the package": ("networks/x.py", "from graphscore import models\n"),
    "relative": ("networks/x.py", "from ..training import Trainer\n"),
    "relative package": ("diffusion/deep/x.py", "from ... import networks\n"),
    "inside a function": ("graphs/x.py", "def f():\n    from graphscore.metrics import mmd\n"),
    "type checking": ("diffusion/x.py", "if TYPE_CHECKING:\n    import graphscore.networks\n"),
    "import_module": ("graphs/x.py", "importlib.import_module('graphscore.training')\n"),
    "from a top-level module": ("errors.py", "from .graphs import batch\n"),
    "command line": ("generator.py", "from graphscore.cli import main\n"),
    "laboratory": ("generator.py", "from graphscore import experiments\n"),
    "metrics in training": ("training/x.py", "from graphscore.metrics import evaluate\n"),
    "front door": ("metrics/x.py", "from graphscore import read_graphs\n"),
    "matplotlib": ("metrics/x.py", "from matplotlib import pyplot\n"),
    "matplotlib in cli": ("cli/x.py", "def f():\n    import matplotlib.pyplot as plt\n"),
    "acceleration in samplers": ("diffusion/x.py", "from graphscore import acceleration\n"),
    "files in models": ("models/x.py", "from graphscore.artifacts import Artifact\n"),
    "estimate in the generator": ("generator.py", "from graphscore.estimate import estimate\n"),
    "provenance of a model": ("provenance.py", "from graphscore.training import Trainer\n"),
    "plots of networks": ("plots/x.py", "from graphscore.networks import EDPGNN\n"),
    "open module upwards": ("settings.py", "from graphscore.diffusion import Posterior\n"),
    "unknown package": ("utils/x.py", "import math\n"),
}

FINE = {
    "open": ("networks/x.py", "from graphscore import errors\nfrom ..settings import Settings\n"),
    "own package": (
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


if __name__ == "__main__":
    print(table())
