"""Models that a stranger might craft: damaged on purpose, with digests that match.

A digest finds damage and proves nothing about who wrote a file, so it is always made anew here.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load, save

from graphscore.artifacts.checkpoint import DOCUMENT
from graphscore.artifacts.document import digest
from graphscore.models.resources import MOST_NODES

NASTY: list[Any] = [
    None,
    -1,
    0,
    1e308,
    10**9,
    10**30,
    10**4000,
    -1e-320,
    True,
    "",
    "x" * 100_000,
    "\ud800",
    "\x1b[2J\x00\u202e",
    "../../etc/passwd",
    [],
    [0] * 10_000,
    [[[[[[[[[]]]]]]]]],
    {},
    {"x": {"x": {"x": 1}}},
    float("nan"),
    float("inf"),
]
"""Put in place of every field."""
Change = Callable[["Crafted"], None]


@dataclass(frozen=True)
class Attack:
    """A way to damage a model.

    Attributes:
        group: what is attacked.
        name: which attack it is.
        change: damages a crafted model.
        refused_by: "load", "info" or "resume", if that may not accept the model.
    """

    group: str
    name: str
    change: Change
    refused_by: str = ""


class Crafted:
    """A copy of a model in a folder of its own, to be damaged and written.

    Attributes:
        body: the document.
        payload: of the tensor file.
        after: what is done to the files after they were written.
    """

    def __init__(self, model: Path, folder: Path) -> None:
        shutil.copytree(model, folder)
        for path in folder.glob("checkpoint-*.json"):
            path.unlink()  # no other checkpoint takes the place of a damaged one
        self.folder = folder
        self.body: dict[str, Any] = json.loads((folder / DOCUMENT).read_text(encoding="utf-8"))
        self.tensor_file = folder / self.body["tensors"]["file"]
        self.payload = self.tensor_file.read_bytes()
        self.before = self.payload
        self.text: Callable[[str], str] = lambda text: text
        self.after: Callable[[], None] = lambda: None

    def tensors(self, change: Callable[[dict[str, torch.Tensor]], None]) -> None:
        """Change the tensors by name."""
        tensors = load(self.payload)
        change(tensors)
        # Copies, because the format refuses tensors that share memory.
        self.payload = save({name: tensor.clone() for name, tensor in tensors.items()})

    def header(self, change: Callable[[dict[str, Any]], Any]) -> None:
        """Change the header of the tensor file, or replace it by what `change` returns."""
        length = int.from_bytes(self.payload[:8], "little")
        header = json.loads(self.payload[8 : 8 + length])
        changed = change(header)
        text = changed if isinstance(changed, bytes) else json.dumps(header).encode()
        self.payload = len(text).to_bytes(8, "little") + text + self.payload[8 + length :]

    def write(self) -> None:
        """Write both files, with names and digests that fit."""
        if self.payload != self.before:
            sha256 = hashlib.sha256(self.payload).hexdigest()
            name = f"checkpoint-00000001-{sha256[:8]}.safetensors"
            self.tensor_file.unlink()
            self.tensor_file = self.folder / name
            self.tensor_file.write_bytes(self.payload)
            self.body["tensors"] = {"file": name, "bytes": len(self.payload), "sha256": sha256}
        self.body.pop("digest", None)
        # The digest is that of what will be read, where names are strings and the last one counts.
        self.body["digest"] = digest(json.loads(json.dumps(self.body)))
        (self.folder / DOCUMENT).write_text(self.text(json.dumps(self.body)), encoding="utf-8")
        self.after()


def field_attacks(body: dict[str, Any], values: int) -> Iterator[Attack]:
    """Return attacks on every field of a document.

    Args:
        body: the document.
        values: nasty values that are put in place of every field, one after the other.
    """
    turn = 0
    for path in _paths(body):
        for _ in range(values):
            value = NASTY[turn % len(NASTY)]
            turn += 1
            yield Attack("fields", f"{'.'.join(path)} = {value!r:.30}", _set(path, value))
        yield Attack("fields", f"without {'.'.join(path)}", _remove(path))


def _paths(value: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Paths of all fields; of a list, of its first element."""
    if isinstance(value, dict):
        for key in [key for key in value if key != "digest"] + (
            ["colour", "self"] if above else ["self"]
        ):
            yield (*above, key)
            if key in value:
                yield from _paths(value[key], (*above, key))
    elif isinstance(value, list) and value:
        yield (*above, "0")


def _set(path: tuple[str, ...], value: Any) -> Change:
    def change(model: Crafted) -> None:
        inside: Any = model.body
        for key in path[:-1]:
            inside = inside[int(key)] if isinstance(inside, list) else inside.setdefault(key, {})
        inside[int(path[-1]) if isinstance(inside, list) else path[-1]] = value

    return change


def _remove(path: tuple[str, ...]) -> Change:
    def change(model: Crafted) -> None:
        inside: Any = model.body
        for key in path[:-1]:
            inside = inside[int(key) if isinstance(inside, list) else key]
        if isinstance(inside, list):
            del inside[int(path[-1])]
        else:
            inside.pop(path[-1], None)

    return change


def resource_attacks() -> Iterator[Attack]:
    """Settings, each allowed or nearly, that ask for much memory or time."""
    huge: list[tuple[str, Any]] = [
        ("network.blocks", 10**6),
        ("network.pair_width", 10**9),
        ("network.channels", [10**9]),
        ("network.channels", [4] * 10**5),
        ("network.message_steps", 10**9),
        ("network.features", 10**9),
        ("network.node_feat_dim", 10**9),
        ("network.walk_steps", 10**9),
        ("network.conditioning_width", 10**9),
        ("noise.sigmas", [1 - i / 10**5 for i in range(10**5)]),
        ("training.steps", 10**9),
        ("training.batch_size", 10**12),
        ("sampling.steps", 10**9),
        ("sampling.steps_per_level", 10**9),
        ("sampling.rho", 1e-300),
        ("seed", 2**64),
    ]
    for name, value in huge:
        path = ("settings", *name.split("."))
        yield Attack("resources", f"{name} = {value!r:.30}", _set(path, value), refused_by="load")
    deep = {"blocks": 256, "pair_width": 4096, "node_width": 4096, "product_width": 4096}
    wide = {"channels": [4096] * 16, "features": 4096, "edge_width": 4096, "message_steps": 16}
    small = {"channels": [1] * 16, "message_steps": 16, "node_readout": "sum"}
    for shape in (deep, wide, small, {"blocks": 256}):

        def reshape(model: Crafted, shape: dict[str, Any] = shape) -> None:
            model.body["settings"].setdefault("network", {}).update(shape)

        yield Attack("resources", f"network {shape}", reshape, refused_by="load")
    for nodes in (10**4, 2 * 10**4, 10**5, 10**6, 10**12):

        def resize(model: Crafted, nodes: int = nodes) -> None:
            model.body["sizes"] = {str(nodes): model.body["training_graphs"]["graphs"]}
            if "communities" in model.body["learned"]:
                model.body["learned"]["communities"] = {str(nodes): model.body["sizes"][str(nodes)]}

        refused_by = "load" if nodes > MOST_NODES else ""
        yield Attack("resources", f"graphs of {nodes} nodes", resize, refused_by)
    for level, slope in ((1e4, 1e4), (-1e4, 1e4), (1e308, 1e308), (700, 0)):

        def lean(model: Crafted, level: float = level, slope: float = slope) -> None:
            learned = model.body["learned"]
            places = [learned.get("likelihood", learned), learned.get("guide_likelihood", {})]
            for place in places:
                for line in ("density", "within"):
                    if line in place:
                        place[line] = {"level": level, "slope": slope}

        yield Attack("resources", f"density {level:g} {slope:g}", lean)
