"""Build the sdist and the wheel of a release, with a bill of materials and checksums, into dist/.

    python -m scripts.release

The bill (CycloneDX 1.6, JSON) lists what graphscore needs at run time, in the versions of
requirements.lock that it is tested with, with their licences and sha256. It lies in dist/ and in
the wheel, under `.dist-info/sboms/`. The same commit gives the same bytes on the same platform and
Python, with the same build of torch. Packages that only CUDA builds of torch need are not listed.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from graphscore.version import __version__
from scripts.dependencies import ROOT, all_locked, direct, needs, project
from scripts.licences import SPDX, allowed, licences

BILL = f"graphscore-{__version__}.cdx.json"
DIST = ROOT / "dist"
CHECKSUMS = "SHA256SUMS"


def check_committed() -> None:
    """Stop unless the files are those of the commit: a release is known by its commit.

    What only this copy of the repository ignores, and not its .gitignore, would be in the archives.
    """
    changed = ["git", "status", "--porcelain", "--untracked-files=no"]
    untracked = ["git", "ls-files", "--others", "--exclude-per-directory=.gitignore"]
    found = [
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for command in (changed, untracked)
    ]
    if any(found):
        raise SystemExit(
            "release: these files are not as in the commit, and a release is made from a commit. "
            f"Commit or remove them, or name them in .gitignore:\n{''.join(found).rstrip()}"
        )


def commit_time() -> int:
    """Return SOURCE_DATE_EPOCH, or else the time of the last commit, in seconds."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    command = ["git", "log", "-1", "--format=%ct"]
    return int(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)


def purl(name: str, version: str) -> str:
    """Return the address of a Python package as bills of materials have it."""
    return f"pkg:pypi/{name}@{version}"


def licence_choice(licence: str) -> dict[str, Any]:
    """Return a licence as CycloneDX has it: by identifier, expression or name."""
    if not allowed(licence, SPDX):
        return {"license": {"name": licence}}
    return {"expression": licence} if " " in licence else {"license": {"id": licence}}


def check_installed(name: str, version: str) -> None:
    """Stop unless a package is installed in its locked version: its licence and needs are listed.

    Raises:
        SystemExit: another version is installed.
    """
    found = importlib.metadata.version(name).partition("+")[0]  # without the build of torch
    if found != version:
        raise SystemExit(
            f"release: {name} {found} is installed, but {version} is locked. Run `make setup`."
        )


def component(name: str, version: str, licence: str, hashes: tuple[str, ...]) -> dict[str, Any]:
    """Return one package as CycloneDX has it; the hashes are those of its files."""
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": purl(name, version),
        "name": name,
        "version": version,
        "purl": purl(name, version),
        "licenses": [licence_choice(licence)],
    }
    if hashes:
        found["externalReferences"] = [
            {
                "type": "distribution",
                "url": purl(name, version),
                "hashes": [{"alg": "SHA-256", "content": digest}],
            }
            for digest in hashes
        ]
    return found


def bill(seconds: int) -> dict[str, Any]:
    """Return the bill of materials, made at a time given in seconds."""
    locked, groups = all_locked(), licences()
    own = component("graphscore", __version__, "Apache-2.0", ())
    needed = dict.fromkeys(groups["core"], groups["core"])
    needed |= dict.fromkeys(groups["extras"], groups["extras"])
    parts = []
    for name, of_group in sorted(needed.items()):
        check_installed(name, locked[name].version)
        part = component(name, locked[name].version, of_group[name], locked[name].hashes)
        parts.append(part | {"scope": "required" if name in groups["core"] else "optional"})
    refs = {name: purl(name, locked[name].version) for name in needed}
    links = [
        {"ref": ref, "dependsOn": sorted(refs[other] for other in needs(name))}
        for name, ref in sorted(refs.items())
    ]
    own_needs = sorted(refs[name] for name in direct(project()["core"]))
    content = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)),
            "component": own,
        },
        "components": parts,
        "dependencies": [{"ref": own["bom-ref"], "dependsOn": own_needs}, *links],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True))
    return content | {"serialNumber": f"urn:uuid:{serial}"}


def build(folder: Path) -> list[Path]:
    """Write the files of a release into an empty folder, and return them."""
    seconds = commit_time()
    path = folder / BILL
    path.write_text(json.dumps(bill(seconds), indent=1) + "\n", encoding="utf-8")
    os.environ["SOURCE_DATE_EPOCH"] = str(seconds)  # hatchling dates the members of archives by it
    wheel = WheelBuilder(str(ROOT))
    # Not in pyproject.toml: a wheel that somebody builds of the sources has other versions.
    wheel.config.target_config["sbom-files"] = [str(path)]
    for builder in (wheel, SdistBuilder(str(ROOT))):
        list(builder.build(directory=str(folder)))
    made = sorted(folder.iterdir())
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in made]
    (folder / CHECKSUMS).write_text("".join(sums), encoding="utf-8")
    return [*made, folder / CHECKSUMS]


def main() -> int:
    check_committed()
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    for path in build(DIST):
        print(f"{path.stat().st_size:>9} {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
