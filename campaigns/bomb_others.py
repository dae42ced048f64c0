"""What is no ordinary file, and folders of many files."""

from __future__ import annotations

import os
import socket
import zlib
from collections.abc import Callable
from pathlib import Path

from campaigns.bomb_parts import MB, Bomb


def others() -> list[Bomb]:
    """Return what is no ordinary file, and folders."""

    def link(file: str, target: str) -> Callable[[Path], Path]:
        def make(folder: Path) -> Path:
            (folder / file).symlink_to(target)
            return folder / file

        return make

    def pipe(file: str, within: bool = False) -> Callable[[Path], Path]:
        def make(folder: Path) -> Path:
            os.mkfifo(folder / file)
            (folder / "a.gml").write_text("graph [ node [ id 0 ] ]")
            return folder if within else folder / file

        return make

    def bound(folder: Path) -> Path:
        with socket.socket(socket.AF_UNIX) as end:
            end.bind(str(folder / "g.g6"))
        return folder / "g.g6"

    def sparse(file: str) -> Callable[[Path], Path]:
        def make(folder: Path) -> Path:
            with open(folder / file, "wb") as handle:
                handle.truncate(2**40)
            return folder / file

        return make

    def folder_of(number: int, suffix: str, data: bytes) -> Callable[[Path], Path]:
        def make(folder: Path) -> Path:
            for k in range(number):
                (folder / f"{k}{suffix}").write_bytes(data)
            return folder

        return make

    def link_in_folder(target: str) -> Callable[[Path], Path]:
        def make(folder: Path) -> Path:
            (folder / "b.gml").symlink_to(target)
            (folder / "a.gml").write_text("graph [ node [ id 0 ] ]")
            return folder

        return make

    def tu_pipe(folder: Path) -> Path:
        os.mkfifo(folder / "T_A.txt")
        (folder / "T_graph_indicator.txt").write_text("1\n")
        return folder

    def sub_folder(folder: Path) -> Path:
        (folder / "g.g6").mkdir()
        return folder / "g.g6"

    devices = {f"link to /dev/{name}": name for name in ("zero", "full", "random", "null", "tty")}
    large = zlib.compress(bytes(MB))
    made = {
        **{name: link("g.g6", f"/dev/{target}") for name, target in devices.items()},
        "compressed link to /dev/zero": link("g.g6.gz", "/dev/zero"),
        "npz link to /dev/zero": link("g.npz", "/dev/zero"),
        "link to itself": link("g.g6", "g.g6"),
        "link to nothing": link("g.g6", "missing"),
        "link to /proc/self/maps": link("g.g6", "/proc/self/maps"),
        "link to /proc/self/mem": link("g.g6", "/proc/self/mem"),
        "named pipe": pipe("g.g6"),
        "compressed named pipe": pipe("g.g6.gz"),
        "npz named pipe": pipe("g.npz"),
        "named pipe in a folder": pipe("b.gml", within=True),
        "named pipe of a TU folder": tu_pipe,
        "device in a folder": link_in_folder("/dev/zero"),
        "link to nothing in a folder": link_in_folder("missing"),
        "link to its own folder": link_in_folder("."),
        "socket": bound,
        "folder with the name of a file": sub_folder,
        "1 TB of holes": sparse("g.g6"),
        "1 TB of holes, compressed": sparse("g.g6.gz"),
        "1 TB of holes, npz": sparse("g.npz"),
        "20,000 empty files": folder_of(20_000, ".edges", b""),
        "20,000 files of one node": folder_of(20_000, ".edges", b"1\n"),
        "70,000 files of one node": folder_of(70_000, ".edges", b"1\n"),
        "11 files of 100,000 nodes": folder_of(11, ".edges", b"# nodes: 100000\n"),
        "zlib data under a gzip name": folder_of(9, ".edges.gz", large),
    }
    return [Bomb("other", name, make) for name, make in made.items()]
