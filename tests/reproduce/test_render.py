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
    monkeypatch.setattr(module, "README", tmp_path / "README.md")
    shutil.copy(ROOT / "README.md", tmp_path)
    return module


def test_sections_come_in_the_order_of_the_list(script, record, tmp_path):
    for name in ("generation", "ablation", "samples", "algorithms"):
        (tmp_path / "results" / f"{name}.json").write_text(json.dumps(record(name)))
    for name in ("channels", "permutation"):
        (tmp_path / "results" / f"{name}.json").unlink(missing_ok=True)
    script.main()
    text = (tmp_path / "docs" / "results.md").read_text()
    order = ["# Results", "## Generation", "## Ablation", "## Learning graph", "## Samples"]
    order += ["## The demo", "## Speed of the metrics"]
    found = [f"\n{text}".index(f"\n{heading}") for heading in order]
    assert found == sorted(found)
    for file in ("samples.png", "samples_lobster.png", "trajectory.png"):
        assert (tmp_path / "docs" / "images" / file).exists()
        assert text.count(f"(images/{file})") == 1


def test_without_records_the_benchmarks_stay(script, tmp_path):
    for name in script.TITLES:
        (tmp_path / "results" / f"{name}.json").unlink(missing_ok=True)
    script.main()
    text = (tmp_path / "docs" / "results.md").read_text()
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == ["# Results", "## The demo", "## Speed of the metrics"]
    assert not (tmp_path / "docs" / "images").exists()


def test_the_table_of_the_readme_is_that_of_the_record(script, tmp_path):
    script.main()
    assert (tmp_path / "README.md").read_text() == (ROOT / "README.md").read_text()
    record = json.loads((tmp_path / "results" / "frontier.json").read_text())
    record["results"][0]["value"] = 0.1234
    (tmp_path / "results" / "frontier.json").write_text(json.dumps(record))
    script.main()
    assert "| 0.1234 |" in (tmp_path / "README.md").read_text()
