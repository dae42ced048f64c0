"""Write requirements.lock: every package that `make` installs, with version and sha256.

    python scripts/lock.py
    python scripts/lock.py --upgrade-package numpy

Versions of the present lock stay where they satisfy pyproject.toml and requirements-dev.txt; other
arguments go to `uv pip compile`. uv is installed for the purpose into a temporary folder. torch is
left out, and so are the packages that its CUDA builds bring along; see requirements-torch.txt.
Nothing is written unless every platform has a wheel of every package that it needs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK = "requirements.lock"
UV = "uv==0.13.8"
EXTRAS = ("molecules", "tensorboard")
"""Extras that are locked; pyg is not, because its packages depend on the build of torch."""
PYTHONS = ("3.11", "3.12", "3.13")
PLATFORMS = (
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-msvc",
)
OF_CUDA_BUILDS = re.compile(r"(cuda|nvidia)-[a-z0-9-]+")
"""Names of the packages that a CUDA build of torch brings along."""
BY_VERSION_ONLY = re.compile(rf"(torch|{OF_CUDA_BUILDS.pattern})==")
BOUND = "python_full_version < '3.14'"
"""The bound of `environments` in pyproject.toml."""
HEADER = f"""\
# Made by scripts/lock.py; do not edit. For Python {", ".join(PYTHONS)} on
# {", ".join(PLATFORMS)}.
"""


def install_uv(folder: Path) -> Path:
    """Return uv's program, installed into `folder`."""
    venv.create(folder, with_pip=True)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    subprocess.run([programs / "python", "-m", "pip", "install", "--quiet", UV], check=True)
    return programs / "uv"


def compiled(uv: Path, folder: Path, arguments: list[str]) -> str:
    """Return the requirements of all platforms, resolved."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    build = folder / "build.txt"
    build.write_text("\n".join(project["build-system"]["requires"]), encoding="utf-8")
    output = folder / LOCK
    if (ROOT / LOCK).exists():
        shutil.copyfile(ROOT / LOCK, output)  # uv keeps the versions that it finds there
    inputs = ["pyproject.toml", "requirements-dev.txt", "requirements-torch.txt", str(build)]
    options = [f"--extra={extra}" for extra in EXTRAS]
    options += ["--universal", f"--python-version={PYTHONS[0]}", "--generate-hashes", "--quiet"]
    options += ["--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links"]
    command = [str(uv), "pip", "compile", *options, "--output-file", str(output), *arguments]
    subprocess.run([*command, *inputs], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return output.read_text(encoding="utf-8")


def tidied(requirements: str) -> str:
    """Leave out torch, the packages that belong to one of its builds, and the bound of Python.

    With the bound, pip on a newer Python would ignore every line in silence; without it, pip says
    which package has no wheel.
    """
    blocks = re.split(r"^(?=\S)", requirements, flags=re.MULTILINE)
    kept = "".join(block for block in blocks if not BY_VERSION_ONLY.match(block))
    return kept.replace(f" ; {BOUND} and ", " ; ").replace(f" ; {BOUND}", "")


def check_wheels(uv: Path, lock: Path) -> None:
    """Stop with uv's message unless wheels exist for every platform and Python."""
    options = ["--only-binary=:all:", "--no-deps", "--require-hashes", "--dry-run", "--quiet"]
    for platform in PLATFORMS:
        for python in PYTHONS:
            print(f"{platform}, Python {python}")
            target = [f"--python-platform={platform}", f"--python-version={python}"]
            target += [f"--target={lock.parent / 'target'}", "--requirement", str(lock)]
            subprocess.run([str(uv), "pip", "install", *options, *target], check=True)


def main(arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            uv = install_uv(folder / "venv")
            text = HEADER + tidied(compiled(uv, folder, arguments))
            (folder / LOCK).write_text(text, encoding="utf-8")
            check_wheels(uv, folder / LOCK)
        except subprocess.CalledProcessError as error:
            return int(error.returncode)
        shutil.copyfile(folder / LOCK, ROOT / LOCK)
    print(f"{LOCK}: {text.count('==')} packages")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
