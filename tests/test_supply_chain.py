"""What `make` installs and what a release carries: pinned, hashed, permissive, listed."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts import release
from scripts.dependencies import (
    LOCK,
    ROOT,
    TORCH,
    all_locked,
    closure,
    licence_of,
    project,
    read_lock,
)
from scripts.licences import PERMISSIVE, allowed, licences, refused
from scripts.lock import EXTRAS, PYTHONS, tidied

TOOLS = (ROOT / "requirements-dev.txt").read_text(encoding="utf-8").splitlines()
BUILD = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]
AT_RUN_TIME = [
    *project()["core"],
    *(requirement for extra in EXTRAS for requirement in project()[extra]),
]
EVERY = [
    *AT_RUN_TIME,
    *BUILD["requires"],
    *(line for line in TOOLS if line and not line.startswith("#")),
]


def test_every_line_is_pinned_and_hashed():
    locked = read_lock(LOCK)
    assert len(locked) > 50
    for line in locked.values():
        assert line.version
        assert line.hashes, line.name
        assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in line.hashes), line.name


def test_torch_is_pinned_by_version_only():
    assert [line.name for line in read_lock(TORCH).values()] == ["torch"]
    assert read_lock(TORCH)["torch"].hashes == ()
    assert not [name for name in read_lock(LOCK) if re.match("torch$|nvidia|cuda", name)]


@pytest.mark.parametrize("text", EVERY)
def test_direct_dependencies_are_locked_in_their_range(text):
    wanted = Requirement(text)
    line = all_locked()[canonicalize_name(wanted.name)]
    assert wanted.specifier.contains(line.version)


def test_all_that_graphscore_needs_is_locked():
    """Of what is installed here, so it is what this Python and platform need."""
    names = closure(AT_RUN_TIME)
    assert names - set(all_locked()) == set()


def test_what_only_cuda_builds_of_torch_need_is_left_out(monkeypatch):
    """As in the builds that a package index gives by default on Linux."""
    stated = importlib.metadata.requires
    cuda = ["nvidia-nccl-cu13==2.29.7", "cuda-toolkit[cudart]==13.0.2", "cuda-bindings<14"]
    cuda = [f'{text}; extra != "other"' for text in cuda]  # markers are looked at

    def requires(name):
        return [*(stated(name) or ()), *(cuda if name == "torch" else ())]

    monkeypatch.setattr(importlib.metadata, "requires", requires)
    names = closure(["torch"])
    assert {"torch", "sympy"} <= names <= set(all_locked())
    assert {"torch", "sympy"} <= set(licences()["core"]) <= set(all_locked())
    listed = {part["name"] for part in release.bill(seconds=0)["components"]}
    assert "torch" in listed <= set(all_locked())


@pytest.mark.parametrize("python", ["3.10", *PYTHONS, "3.14"])
def test_make_refuses_a_python_that_the_lock_has_no_wheels_for(python, monkeypatch):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (check,) = re.findall(r"\$\(PYTHON\) -c '(.*)'", makefile)
    monkeypatch.setattr(sys, "version_info", (*map(int, python.split(".")), 1))
    with pytest.raises(SystemExit) as ended:
        exec(check)
    refused_because = ended.value.code
    assert (refused_because is None) is (python in PYTHONS)
    assert refused_because is None or "set PYTHON=python3.13" in refused_because


@pytest.mark.skipif(os.name == "nt" or not shutil.which("make"), reason="needs make")
@pytest.mark.parametrize("status", [0, 1])
def test_a_campaign_that_crashes_fails_make_test(tmp_path, status):
    """With programs that only write down what they are told; mutants may survive a short run."""
    (tmp_path / "bin").mkdir()
    for name in ("ruff", "mypy", "pytest", "python"):
        program = tmp_path / "bin" / name
        told = 'echo "$@" >> "$(dirname "$0")/../told"'
        program.write_text(f'#!/bin/sh\n{told}\ncase "$*" in *mutants*) exit {status};; esac\n')
        program.chmod(0o755)
    (tmp_path / ".installed").touch()
    command = ["make", f"--directory={ROOT}", f"VENV={tmp_path}", "test"]
    environment = {"PATH": os.environ["PATH"]}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode == 0) is (status == 0), done.stderr
    last = (tmp_path / "told").read_text().splitlines()[-1]
    assert last == "-m campaigns mutants --number 12 --allowed 1"


def test_the_build_back_end_is_pinned():
    assert [str(Requirement(text).specifier)[:2] for text in BUILD["requires"]] == ["=="]


def test_requirements_name_no_machine_and_no_registry():
    for path in [*ROOT.glob("requirements*"), ROOT / "pyproject.toml"]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"://|--(extra-)?index-url|--find-links|/(work|home|opt|tmp)/", text)


def test_pip_refuses_a_package_whose_hash_is_another(tmp_path):
    """Without a network: a wheel of our own, with one digit of its hash changed."""
    wheel = tmp_path / "toy-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(
            "toy-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n"
        )
        archive.writestr(
            "toy-1.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr("toy-1.0.dist-info/RECORD", "")
    right = hashlib.sha256(wheel.read_bytes()).hexdigest()
    wrong = ("0" if right[0] != "0" else "1") + right[1:]
    command = [sys.executable, "-m", "pip", "install", "--no-index", "--find-links", str(tmp_path)]
    command += ["--no-deps", "--require-hashes", "--target", str(tmp_path / "target")]
    for digest, code in ((right, 0), (wrong, 1)):
        lock = tmp_path / "lock.txt"
        lock.write_text(f"toy==1.0 --hash=sha256:{digest}\n")
        done = subprocess.run(
            [*command, "-r", str(lock)], capture_output=True, text=True, timeout=300
        )
        assert done.returncode == code, done.stderr
    assert "DO NOT MATCH THE HASHES" in done.stderr


def test_torch_and_its_builds_are_left_out_of_a_new_lock():
    lines = "numpy==2 ; python_full_version < '3.14' \\\n    --hash=a\ntorch==2 \\\n    --hash=b\n"
    lines += "nvidia-nccl-cu13==2 \\\n    --hash=c\n"
    lines += "x==1 ; python_full_version < '3.14' and a == 'b' \\\n"
    assert tidied(lines) == "numpy==2 \\\n    --hash=a\nx==1 ; a == 'b' \\\n"


def test_licences_are_permissive():
    found = licences()
    assert {"numpy", "torch", "pydantic"} <= set(found["core"])
    assert {"tensorboard", "rdkit", "fcd-torch"} <= set(found["extras"])
    assert refused(found) == []


@pytest.mark.parametrize(
    "licence", ["GPL-3.0-only", "MIT AND LGPL-2.1", "not stated", "(MIT OR X) AND MIT", "MPL-2.0"]
)
def test_other_licences_are_refused(licence):
    assert not allowed(licence, PERMISSIVE)
    assert refused({"core": {"x": licence}}) != []


@pytest.fixture(scope="module")
def bill():
    return release.bill(seconds=0)


def test_the_bill_has_what_the_standard_requires(bill):
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", bill["serialNumber"])
    assert bill["metadata"]["timestamp"] == "1970-01-01T00:00:00Z"
    refs = [part["bom-ref"] for part in (bill["metadata"]["component"], *bill["components"])]
    assert len(set(refs)) == len(refs)
    for part in bill["components"]:
        assert part["type"] == "library"
        assert part["name"]
        assert part["scope"] in ("required", "optional")
        (licence,) = part["licenses"]
        assert "not stated" not in str(licence)
        for reference in part.get("externalReferences", ()):
            assert reference["type"] == "distribution"
            assert reference["url"]
            assert all(len(digest["content"]) == 64 for digest in reference["hashes"])
    for link in bill["dependencies"]:
        assert {link["ref"], *link["dependsOn"]} <= set(refs)
    assert [link["ref"] for link in bill["dependencies"]] == refs


def test_licences_are_written_as_the_standard_has_them():
    assert release.licence_choice("MIT") == {"license": {"id": "MIT"}}
    assert release.licence_choice("MIT OR ISC") == {"expression": "MIT OR ISC"}
    assert release.licence_choice("BSD License") == {"license": {"name": "BSD License"}}


def test_a_bill_of_other_versions_than_those_locked_is_refused(monkeypatch):
    assert (
        release.check_installed("torch", importlib.metadata.version("torch").split("+")[0]) is None
    )
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.1")
    with pytest.raises(SystemExit, match=r" 0\.1 is installed, but "):
        release.bill(seconds=0)


def test_licences_of_other_platforms_are_known():
    found = licences()["tools"]
    assert found["colorama"] == "BSD-3-Clause"
    assert set().union(*licences().values()) == set(all_locked())
    assert refused({"tools": {"x": licence_of("no-such-package")}}) != []


def test_the_bill_lists_the_locked_versions(bill):
    versions = {part["name"]: part["version"] for part in bill["components"]}
    assert set(versions) == closure(AT_RUN_TIME)
    assert all(all_locked()[name].version == version for name, version in versions.items())
    assert all("externalReferences" in p for p in bill["components"] if p["name"] != "torch")


def test_a_release_is_the_same_bytes_again_and_carries_the_bill(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    contents = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        made = release.build(tmp_path / name)
        contents.append({path.name: path.read_bytes() for path in made})
    assert contents[0] == contents[1]
    (wheel,) = (tmp_path / "first").glob("*.whl")
    (sdist,) = (tmp_path / "first").glob("*.tar.gz")
    written = contents[0][release.BILL]
    with zipfile.ZipFile(wheel) as archive:
        (inside,) = [name for name in archive.namelist() if "/sboms/" in name]
        assert inside.split("/")[0].endswith(".dist-info")
        assert archive.read(inside) == written
    with tarfile.open(sdist) as archive:
        assert any(name.endswith("/requirements.lock") for name in archive.getnames())
    assert json.loads(written)["components"]
    lines = contents[0][release.CHECKSUMS].decode().splitlines()
    assert dict(line.split("  ")[::-1] for line in lines) == {
        name: hashlib.sha256(content).hexdigest()
        for name, content in contents[0].items()
        if name != release.CHECKSUMS
    }


def test_a_release_is_made_of_committed_files_only(tmp_path, monkeypatch):
    monkeypatch.setattr(release, "ROOT", tmp_path)
    monkeypatch.setattr(release, "DIST", tmp_path / "dist")
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    release.check_committed()
    (tmp_path / ".git" / "info" / "exclude").write_text("forgotten.py\n")
    (tmp_path / "forgotten.py").touch()
    with pytest.raises(SystemExit, match=r"not as in the commit[^\0]*forgotten\.py"):
        release.main()
    assert not release.DIST.exists()
