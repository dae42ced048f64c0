"""What requirements.lock says, and what the installed packages say of themselves."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts.lock import OF_CUDA_BUILDS

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements.lock"
TORCH = ROOT / "requirements-torch.txt"


@dataclass(frozen=True)
class Locked:
    """One line of a lock file: name, exact version, where it applies, sha256 of its files."""

    requirement: Requirement
    hashes: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name in its canonical form."""
        return canonicalize_name(self.requirement.name)

    @property
    def version(self) -> str:
        """The pinned version.

        Raises:
            ValueError: the version is not pinned.
        """
        (specifier,) = self.requirement.specifier
        if specifier.operator != "==" or "*" in specifier.version:
            raise ValueError(f"{self.requirement} is not pinned")
        return specifier.version


def read_lock(path: Path) -> dict[str, Locked]:
    """Read a file of pinned requirements, by canonical name."""
    text = re.sub(r"\\\n", "", path.read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    found = {}
    for line in lines:
        requirement, *hashes = line.split("--hash=sha256:")
        locked = Locked(Requirement(requirement), tuple(part.strip() for part in hashes))
        found[locked.name] = locked
    return found


def all_locked() -> dict[str, Locked]:
    """Return the packages of the lock file, and torch, which is locked without a hash."""
    return read_lock(LOCK) | read_lock(TORCH)


def project() -> dict[str, list[str]]:
    """Return the direct dependencies: "core", and those of each extra."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {"core": table["dependencies"], **table["optional-dependencies"]}


def direct(requirements: Iterable[str]) -> set[str]:
    """Return the canonical names of those requirements that apply on this machine."""
    return {canonicalize_name(r.name) for r in map(Requirement, requirements) if applies(r)}


def needs(name: str) -> set[str]:
    """Return what an installed package needs directly, without what only CUDA builds of torch need.

    Raises:
        PackageNotFoundError: it is not installed.
    """
    found = direct(importlib.metadata.requires(name) or ())
    return {other for other in found if not OF_CUDA_BUILDS.fullmatch(other)}


def closure(requirements: Iterable[str]) -> set[str]:
    """Return all that has to be installed for these, on this machine.

    Raises:
        PackageNotFoundError: something of it is not installed.
    """
    found: set[str] = set()
    waiting = direct(requirements)
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= needs(name) - found
    return found


def applies(requirement: Requirement) -> bool:
    """Return whether a requirement applies on this machine, without extras."""
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})


def licence_of(name: str) -> str:
    """Return the licence that an installed package states, as an expression if it has one."""
    try:
        metadata = importlib.metadata.metadata(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed here"
    if "License-Expression" in metadata:
        return metadata["License-Expression"]
    named = [
        mark.split(" :: ")[-1]
        for mark in metadata.get_all("Classifier") or ()
        if mark.startswith("License :: ")
    ]
    named = [mark for mark in named if mark != "OSI Approved"]
    stated = metadata["License"].strip().split("\n")[0] if "License" in metadata else ""
    return " AND ".join(named) or stated or "not stated"
