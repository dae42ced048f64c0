"""Writes docs/api.md from docstrings: `python -m scripts.api_page`."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import graphscore
from graphscore import datasets, graphs, metrics, plots

PAGE = Path(__file__).parents[1] / "docs" / "api.md"
INTRODUCTION = """\
# Python interface

<!-- made by python -m scripts.api_page -->

The text is that of `help(name)`. A first reading: [how-to](how-to.md) and the
[notebook](notebooks/own_graphs.ipynb). What can be set: [settings](settings.md).
"""
PARTS: dict[str, tuple[Any, list[str]]] = {
    "graphscore": (
        graphscore,
        [
            *("GraphGenerator", "evaluate", "load_dataset", "read_graphs", "write_graphs"),
            *("GraphBatch", "Repairs", "subgraphs"),
        ],
    ),
    "graphscore.datasets": (datasets, datasets.__all__),
    "graphscore.graphs": (graphs, ["Schema", "prepare_graphs", "to_pyg"]),
    "graphscore.metrics": (metrics, metrics.__all__),
    "graphscore.plots": (plots, plots.__all__),
}
"""Modules, and names of functions and classes in the order of the page; others are left out."""
_PART = re.compile(r"^(Args|Attributes|Returns|Raises|Example|Examples):$", re.MULTILINE)


def page() -> str:
    """Return the text of the page."""
    parts = [INTRODUCTION]
    for title, (module, names) in PARTS.items():
        parts.append(f"## {title}\n")
        for name in names:
            value = getattr(module, name)
            named_above = title != "graphscore" and name in PARTS["graphscore"][1]
            if not named_above and (inspect.isfunction(value) or inspect.isclass(value)):
                parts.append(_entry(name, value, "###"))
    return "\n".join(parts)


def _entry(name: str, value: Any, level: str) -> str:
    """Return what is said of a function or class, and of its public methods."""
    text = [f"{level} {name}\n", f"```\n{name}{_signature(value)}\n```\n"]
    text.append(_text(inspect.getdoc(value) or ""))
    if inspect.isclass(value):
        text += [
            _entry(f"{name}.{method}", member, "####") for method, member in _members(value).items()
        ]
    return "\n".join(text)


def _members(kind: type) -> dict[str, Any]:
    """Return the documented methods of a class that graphscore defines, those of its bases too."""
    found: dict[str, Any] = {}
    for each in kind.__mro__:
        if each.__module__.startswith("graphscore"):
            for name, member in vars(each).items():
                member = getattr(member, "__func__", member)
                if not name.startswith("_") and inspect.isfunction(member) and member.__doc__:
                    found.setdefault(name, member)
    return found


def _signature(value: Any) -> str:
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    parameters = [
        # Values whose text is not the same in each process, or long, are left out.
        each.replace(annotation=each.empty, default=_default(each.default))
        for each in found.parameters.values()
        if each.name not in ("self", "cls")
    ]
    return str(found.replace(parameters=parameters, return_annotation=found.empty))


class _Left:
    def __repr__(self) -> str:
        return "..."


def _default(value: Any) -> Any:
    known = value is inspect.Parameter.empty or isinstance(value, str | int | float | tuple)
    return value if known or value is None else _Left()


def _text(docstring: str) -> str:
    """Turn a docstring into Markdown."""
    before, *rest = _PART.split(docstring)
    text = [_plain(before)]
    for title, body in zip(rest[::2], rest[1::2]):
        # Paragraphs that are not indented stand behind the section.
        section, *behind = re.split(r"\n\s*\n(?=\S)", body.strip("\n"))
        section = inspect.cleandoc("\n" + section)
        text.append(f"**{title}**\n\n{_list(section) if title != 'Example' else _plain(section)}")
        text += map(_plain, behind)
    return "\n\n".join(text) + "\n"


def _list(body: str) -> str:
    """Return `name: meaning` lines as a list; meanings may have several lines."""
    items: list[str] = []
    for line in body.splitlines():
        if line.startswith(" ") and items:
            items[-1] += f" {line.strip()}"
        else:
            items.append(line.strip())
    return "\n".join("- " + re.sub(r"^([\w*, ]+):", r"`\1`:", item) for item in items if item)


def _plain(text: str) -> str:
    """Return paragraphs, with examples as code."""
    blocks = []
    for block in re.split(r"\n\s*\n", text.strip()):
        if block.lstrip().startswith(">>>"):
            code = re.sub(r"  # doctest: \+SKIP", "", inspect.cleandoc(block))
            blocks.append(f"```python\n{code}\n```")
        elif block:
            blocks.append(block)
    return "\n\n".join(blocks)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
