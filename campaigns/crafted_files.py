"""Crafted models whose files are the attack: tensors, links, pipes, text that is no document."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save

from campaigns.crafted_models import Attack, Change, Crafted
from graphscore.artifacts.checkpoint import DOCUMENT


def tensor_attacks() -> Iterator[Attack]:
    """Tensor files that do not hold what they should."""

    def first(tensors: dict[str, torch.Tensor]) -> str:
        names = [name for name in tensors if name.startswith("average.")] or ["average.x"]
        tensors.setdefault(names[0], torch.zeros(3))
        return names[0]

    def put(make: Callable[[torch.Tensor], torch.Tensor]) -> Change:
        def change(tensors: dict[str, torch.Tensor]) -> None:
            name = first(tensors)
            tensors[name] = make(tensors[name])

        return lambda model: model.tensors(change)

    makes: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
        "another shape": lambda t: torch.zeros(7, 5),
        "transposed and longer": lambda t: torch.zeros(*t.shape[::-1], 2),
        "empty": lambda t: torch.zeros(0),
        "half precision": lambda t: t.half(),
        "double precision": lambda t: t.double(),
        "whole numbers": lambda t: t.long(),
        "complex numbers": lambda t: t.to(torch.complex64),
        "truth values": lambda t: t.bool(),
        "NaN": lambda t: torch.full_like(t, torch.nan),
        "infinite": lambda t: torch.full_like(t, torch.inf),
    }
    for name, make in makes.items():
        yield Attack("tensors", name, put(make), refused_by="load")

    def edited(change: Callable[[dict[str, torch.Tensor]], Any]) -> Change:
        def apply(tensors: dict[str, torch.Tensor]) -> None:
            change(tensors)

        return lambda model: model.tensors(apply)

    changes: dict[str, Change] = {
        "one more": edited(lambda t: t.update({"average.more": torch.zeros(2)})),
        "one with a strange name": edited(lambda t: t.update({"average.\x1b]0;": torch.zeros(2)})),
        "ten thousand more": edited(
            lambda t: t.update({f"average.{i}": torch.zeros(1) for i in range(10_000)})
        ),
        "300 MB that fit no weight": _large,
        "nothing": _payload(lambda p: b""),
        "truncated": _payload(lambda p: p[:-5]),
        "longer": _payload(lambda p: p + bytes(64)),
        "seven bytes": _payload(lambda p: p[:7]),
        "a header of 2^63 bytes": _payload(lambda p: (2**63).to_bytes(8, "little") + p[8:]),
        "a header of 90 MB": _payload(lambda p: (9 * 10**7).to_bytes(8, "little") + p[8:]),
        "a header of 9 MB": lambda m: m.header(lambda h: b"{" + b" " * 9_000_000 + b"}"),
        "a deep header": lambda m: m.header(lambda h: b"[" * 50_000),
        "a header that is a list": lambda m: m.header(lambda h: b"[]"),
        "a header of null": lambda m: m.header(lambda h: b'{"average.x": null}'),
        "a pickle": _payload(lambda p: b"\x80\x04cos\nsystem\n(S'touch /tmp/x'\ntR."),
        "one name twice": lambda m: m.header(
            lambda h: json.dumps(h).encode()[:-1] + b", " + json.dumps(h).encode()[1:]
        ),
        "shared memory": lambda m: m.header(_place(lambda a, b: (0, b - a))),
        "negative places": lambda m: m.header(_place(lambda a, b: (-(b - a), 0))),
        "places beyond the end": lambda m: m.header(_place(lambda a, b: (a + 2**40, b + 2**40))),
        "huge shapes": lambda m: m.header(_shape([2**40, 2**40])),
        "overflowing shapes": lambda m: m.header(_shape([2**62, 4])),
        "an empty tensor of huge sides": lambda m: m.header(_empty([0, 2**40, 2**40, 2**40])),
        "an empty tensor between huge sides": lambda m: m.header(_empty([2**40, 0, 2**40])),
        "negative shapes": lambda m: m.header(_shape([-1, -1])),
        "many dimensions": lambda m: m.header(_shape([1] * 10_000)),
    }
    for name, change in changes.items():
        yield Attack("tensors", name, change, refused_by="load")


def missing_tensor_attacks() -> Iterator[Attack]:
    """Tensor files without what the settings ask for."""

    def without_one(model: Crafted) -> None:
        def change(tensors: dict[str, torch.Tensor]) -> None:
            del tensors[next(name for name in tensors if name.startswith("average."))]

        model.tensors(change)

    def without_part(model: Crafted) -> None:
        def change(tensors: dict[str, torch.Tensor]) -> None:
            name = next(name for name in tensors if name.startswith("average."))
            tensors[name.removeprefix("average.")] = tensors.pop(name)

        model.tensors(change)

    yield Attack("tensors", "one missing", without_one, refused_by="load")
    yield Attack("tensors", "one without its part", without_part, refused_by="load")
    yield Attack("tensors", "no tensors", _payload(lambda p: save({})), refused_by="load")


def _payload(change: Callable[[bytes], bytes]) -> Change:
    def apply(model: Crafted) -> None:
        model.payload = change(model.payload)

    return apply


def _large(model: Crafted) -> None:
    """Settings of a network that may have so many weights, if it is a denoiser's."""
    network = model.body["settings"].get("network", {})
    if "pair_width" in network:
        network["pair_width"] = 2048
    model.payload = save({"average.zz": torch.zeros(75_000_000)})


def _any_entry(header: dict[str, Any]) -> dict[str, Any]:
    entry = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
    names = [name for name in header if name != "__metadata__"]
    found: dict[str, Any] = header[names[-1]] if names else header.setdefault("x", entry)
    return found


def _place(change: Callable[[int, int], tuple[int, int]]) -> Callable[[dict[str, Any]], None]:
    def apply(header: dict[str, Any]) -> None:
        entry = _any_entry(header)
        entry["data_offsets"] = list(change(*entry["data_offsets"]))

    return apply


def _shape(shape: list[int]) -> Callable[[dict[str, Any]], None]:
    def apply(header: dict[str, Any]) -> None:
        _any_entry(header)["shape"] = shape

    return apply


def _empty(shape: list[int]) -> Callable[[dict[str, Any]], None]:
    def apply(header: dict[str, Any]) -> None:
        header["average.zz"] = {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]}

    return apply


_SHOWN: tuple[Any, ...] = (
    {"\x1b": "\x1b[2J"},
    {"[/a]": {}},
    {"\x1b[2J": {}},
    {"a": {"b": json.loads("[" * 900 + "]" * 900)}},
)
"""What `info` would print, of a card."""


def file_attacks() -> Iterator[Attack]:
    """Files that are something else, or lie elsewhere."""

    def moved(name: Callable[[Crafted], str]) -> Change:
        def change(model: Crafted) -> None:
            target = name(model)

            def copy() -> None:
                shutil.copyfile(model.tensor_file, model.folder / target)

            model.after = copy
            model.body["tensors"]["file"] = target

        return change

    outside = "checkpoint-00000001-{}.safetensors"
    places: dict[str, Callable[[Crafted], str]] = {
        "beside the folder": lambda m: f"../{m.folder.name}-x",
        "beside it, with our name": lambda m: "../" + outside.format(_sha(m)[:8]),
        "an absolute path": lambda m: str(m.folder.parent / outside.format(_sha(m)[:8])),
        "a name of another pattern": lambda m: "weights.safetensors",
        "a name of another digest": lambda m: outside.format("0" * 8),
        "a hidden name": lambda m: ".x",
        "a stream of a file": lambda m: outside.format(_sha(m)[:8]) + ":x",
        "a name with a line break": lambda m: outside.format(_sha(m)[:8]) + "\n",
    }
    for label, name in places.items():
        yield Attack("files", f"tensors: {label}", moved(name), refused_by="load")
    kinds: dict[str, Callable[[Path], None]] = {
        "a link out of the folder": _link_out,
        "a link to itself": lambda path: path.symlink_to(path),
        "a link to an endless device": lambda path: path.symlink_to("/dev/zero"),
        "a named pipe": lambda path: os.mkfifo(path),
        "a folder": lambda path: path.mkdir(),
    }
    for which in ("tensors", "document", "card"):
        for label, make in kinds.items():
            change, by = _replaced(which, make), "info" if which == "card" else "load"
            yield Attack("files", f"{which}: {label}", change, by)
    texts: dict[str, Callable[[str], str]] = {
        "nothing": lambda text: "",
        "deep": lambda text: "[" * 100_000 + "]" * 100_000,
        "deep objects": lambda text: '{"a":' * 50_000 + "1" + "}" * 50_000,
        "a long number": lambda text: text.replace('"seed": ', '"seed": ' + "9" * 100_000),
        "an infinite number": lambda text: text.replace('"seconds": ', '"seconds": 1e999, "x":'),
        "one name twice": lambda text: '{"format": "x", ' + text[1:],
        "many values": lambda text: '{"x": [' + "[]," * 2_000_000 + "0], " + text[1:],
        "a long text": lambda text: '{"x": "' + "x" * 30_000_000 + '", ' + text[1:],
        "another alphabet": lambda text: '{"x": "' + "\U0001f600" * 1_900_000 + '", ' + text[1:],
    }
    for label, to_text in texts.items():
        yield Attack("files", f"document: {label}", _texts(to_text), refused_by="load")
    for label, text in {"null": "null", "deep": "[" * 10**5, "huge": " " * 10**7}.items():
        yield Attack("files", f"card: {label}", _card(_always(text)), "info")
    for field in ("name", "data", "settings", "steps", "seconds", "weights", "metrics", "note"):
        for value in (None, -1, "x" * 10**5, [1], {"x": [1]}, *_SHOWN):

            def nasty(card: dict[str, Any], field: str = field, value: Any = value) -> str:
                return json.dumps({**card, field: value})

            yield Attack("files", f"card: {field} = {value!r:.20}", _card(nasty))


def written_attacks() -> Iterator[Attack]:
    """Links where training writes; what is beside the folder must stay as it is."""
    names = {
        "document": lambda m: m.tensor_file.with_suffix(".json").name,
        "settings": lambda m: "settings.json",
        "log": lambda m: "log.jsonl",
        "lock": lambda m: ".train.lock",
        "TensorBoard": lambda m: "tensorboard",
    }
    targets: dict[str, Callable[[Path], Any]] = {
        "a file": lambda path: path.write_text("mine"),
        "an empty file": lambda path: path.touch(),
        "a folder": lambda path: path.mkdir(),
        "nothing": lambda path: None,
    }
    for which, name in names.items():
        for label, make in targets.items():
            yield Attack("files", f"written {which}: a link to {label}", _linked(name, make))


def _linked(name: Callable[[Crafted], str], make: Callable[[Path], Any]) -> Change:
    def change(model: Crafted) -> None:
        def after() -> None:
            outside = model.folder.with_name(f"{model.folder.name}-outside")
            make(outside)
            path = model.folder / name(model)
            path.unlink(missing_ok=True)
            path.symlink_to(outside)

        model.after = after

    return change


def _sha(model: Crafted) -> str:
    sha: str = model.body["tensors"]["sha256"]
    return sha


def _link_out(path: Path) -> None:
    outside = path.parent.with_name(f"{path.parent.name}-outside")
    outside.write_bytes(path.with_name(f"{path.name}.kept").read_bytes())
    path.symlink_to(outside)


def _replaced(which: str, make: Callable[[Path], None]) -> Change:
    def change(model: Crafted) -> None:
        def after() -> None:
            files = {"tensors": model.tensor_file, "document": model.folder / DOCUMENT}
            path = files.get(which, model.folder / "card.json")
            kept = path.with_name(f"{path.name}.kept")
            path.rename(kept) if path.exists() else kept.write_text("{}")
            make(path)

        model.after = after

    return change


def _always(text: str) -> Callable[[dict[str, Any]], str]:
    return lambda card: text


def _texts(change: Callable[[str], str]) -> Change:
    def apply(model: Crafted) -> None:
        model.text = change

    return apply


def _card(change: Callable[[dict[str, Any]], str]) -> Change:
    def apply(model: Crafted) -> None:
        def after() -> None:
            card = {
                "name": "x",
                "data": {"source": "x", "graphs": 1, "sha256": "0", "nodes": [1, 2]},
                "settings": model.body["settings"],
                "steps": 1,
                "seconds": 1.0,
                "parameters": 1,
                "weights": model.body["tensors"],
                "metrics": {},
                "provenance": {},
                "note": "",
            }
            (model.folder / "card.json").write_text(change(card), encoding="utf-8")

        model.after = after

    return apply


def state_attacks() -> Iterator[Attack]:
    """States of an optimiser that are not those of the network."""

    def edited(change: Callable[[dict[str, torch.Tensor], str], Any]) -> Change:
        def apply(tensors: dict[str, torch.Tensor]) -> None:
            change(tensors, next(name for name in tensors if name.endswith(".exp_avg")))

        return lambda model: model.tensors(apply)

    changes: dict[str, Callable[[dict[str, torch.Tensor], str], Any]] = {
        "another shape": lambda t, name: t.update({name: torch.zeros(3, 3)}),
        "another type": lambda t, name: t.update({name: t[name].double()}),
        "one missing": lambda t, name: t.pop(name),
        "one more": lambda t, name: t.update({f"{name}.x": torch.zeros(2)}),
        "number 10^9": lambda t, name: t.update({"optimiser.1000000000.exp_avg": t[name]}),
        "number -1": lambda t, name: t.update({"optimiser.-1.exp_avg": t[name]}),
        "no number": lambda t, name: t.update({"optimiser.x.exp_avg": t[name]}),
        "no name": lambda t, name: t.update({"optimiser.": t[name]}),
        "counts as a matrix": lambda t, name: t.update(
            {name.replace("exp_avg", "step"): torch.ones(2, 2)}
        ),
        "a part of its own": lambda t, name: t.update({"other.x": t[name]}),
        "weights of another shape": lambda t, name: t.update(
            {next(n for n in t if n.startswith("network.")): torch.zeros(3, 3)}
        ),
        "weights missing": lambda t, name: t.pop(next(n for n in t if n.startswith("network."))),
        "not finite": lambda t, name: t.update({name: torch.full_like(t[name], torch.nan)}),
    }
    for name, change in changes.items():
        yield Attack("training state", name, edited(change), refused_by="resume")
