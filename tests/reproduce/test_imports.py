"""Which files of `reproduce` may use the internals of graphscore."""

from __future__ import annotations

import ast
from pathlib import Path

import reproduce

ROOT = Path(reproduce.__file__).parent
INTERNAL = {"acceleration", "artifacts", "diffusion", "models", "networks", "training"}
ALLOWED = {"core.py", "algorithms"}


def internal_imports(file: Path) -> list[str]:
    """Modules of the internal packages that a file imports."""
    found = []
    for node in ast.walk(ast.parse(file.read_bytes())):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            top, *rest = name.split(".")
            if top == "graphscore" and rest and rest[0] in INTERNAL:
                found.append(name)
    return found


def test_only_few_files_use_internals():
    users = {
        file.relative_to(ROOT).parts[0] for file in ROOT.rglob("*.py") if internal_imports(file)
    }
    assert users == ALLOWED


def test_the_package_does_not_import_its_experiments():
    source = ROOT.parent / "src" / "graphscore"
    importing = [file for file in source.rglob("*.py") if b"import reproduce" in file.read_bytes()]
    importing += [file for file in source.rglob("*.py") if b"from reproduce" in file.read_bytes()]
    assert importing == []
