"""`python -m reproduce render` writes the results page and README's table from records."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from reproduce.render import render_docs
from reproduce.titles import TITLES

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def copy_of(tmp_path):
    """A copy of the records and of README.md."""
    shutil.copytree(ROOT / "results", tmp_path / "results", ignore=lambda *_: ["work"])
    shutil.copy(ROOT / "README.md", tmp_path)
    return tmp_path


def test_the_docs_are_those_of_the_records(copy_of):
    """Text, pictures, and the sections in the order of the list."""
    render_docs(copy_of)
    for file in ("README.md", "docs/results.md"):
        assert (copy_of / file).read_text() == (ROOT / file).read_text()
    made = {file.name for file in (copy_of / "docs/images").iterdir()}
    there = {file.name for file in (ROOT / "docs/images").iterdir()}
    assert there - made == {"performance.png"}
    assert made <= there
    text = (copy_of / "docs/results.md").read_text()
    commands = [f"`python -m reproduce {name} --seeds" for name in TITLES]
    assert [text.count(command) for command in commands] == [1] * len(TITLES)
    places = [text.index(command) for command in commands]
    assert places == sorted(places)


def test_without_records_the_demo_and_the_benchmark_remain(copy_of):
    for name in TITLES:
        (copy_of / "results" / f"{name}.json").unlink()
    render_docs(copy_of)
    text = (copy_of / "docs/results.md").read_text()
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == ["# Results", "## The demo", "## Speed of the metrics"]
    assert not (copy_of / "docs/images").exists()


def test_numbers_come_from_the_record(copy_of):
    for name in TITLES.keys() - {"denoiser-benchmark"}:
        (copy_of / "results" / f"{name}.json").unlink()
    file = copy_of / "results/denoiser-benchmark.json"
    record = json.loads(file.read_text())
    record["results"][0]["value"] = 0.1234
    for row in record["results"]:
        for graphs in ("training_graphs", "sampled_graphs"):
            del row["test_result"][graphs][1:]  # few are drawn fast
    grid = next(row for row in record["results"] if row["dataset"] == "grid")
    grid["test_result"]["vun"]["valid"] = 0.5
    file.write_text(json.dumps(record))
    render_docs(copy_of)
    readme = (copy_of / "README.md").read_text()
    assert "| 0.1234 |" in readme
    assert "(only 50.0% of the samples are valid grids)" in readme
    assert "Only 50.0% of the samples are valid grids" in (copy_of / "docs/results.md").read_text()
