"""scripts/render_results.py puts the sections of all records together."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def script(tmp_path, monkeypatch):
    """The script, working on copies."""
    place = ROOT / "scripts" / "render_results.py"
    spec = importlib.util.spec_from_file_location("render_results", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    shutil.copytree(ROOT / "results", tmp_path / "results", ignore=lambda *_: ["work"])
    monkeypatch.setattr(module, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(module, "DOCS", tmp_path / "docs")
    return module


def test_records_replace_the_older_section(script, record, tmp_path):
    for name in ("generation", "ablation", "samples", "algorithms"):
        (tmp_path / "results" / f"{name}.json").write_text(json.dumps(record(name)))
    for name in ("channels", "permutation"):
        (tmp_path / "results" / f"{name}.json").unlink(missing_ok=True)
    script.main()
    text = (tmp_path / "docs" / "results.md").read_text()
    order = ["# Results", "## Generation", "## Ablation", "## Learning graph", "## Samples"]
    order += ["## Quality of the default model", "## The demo", "## Speed of the metrics"]
    found = [f"\n{text}".index(f"\n{heading}") for heading in order]
    assert found == sorted(found)
    assert "| ego-small, samples |" not in text
    assert "| lobster, samples |" in text
    for file in ("samples.png", "samples_lobster.png", "trajectory.png"):
        assert (tmp_path / "docs" / "images" / file).exists()
        assert text.count(f"(images/{file})") == 1


def test_without_records_the_older_section_stays(script, tmp_path, monkeypatch):
    for name in script.TITLES:
        (tmp_path / "results" / f"{name}.json").unlink(missing_ok=True)
    drawn = []
    monkeypatch.setattr(script, "pictures", lambda: drawn.append(1))
    script.main()
    text = (tmp_path / "docs" / "results.md").read_text()
    assert "| ego-small, samples |" in text
    assert "images/samples.png" in text
    assert drawn == [1]
