"""docs/reliability.md: one row and one section for every record."""

from __future__ import annotations

import json

from campaigns import page
from campaigns.outcome import ROOT, Outcome


def write(folder, name, **changes):
    outcome = Outcome(
        what="kills", tried=1200, failures=[], seconds=3.4, rows={"random": {"tried": 7}}
    )
    (folder / "results").mkdir(exist_ok=True)
    path = folder / "results" / f"campaign_{name}.json"
    outcome.write(path, f"python -m campaigns {name}")
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_every_record_has_a_row_a_section_and_its_command(tmp_path):
    write(tmp_path, "kills")
    write(tmp_path, "mutants", what="mutants", failures=["a.py:3 < to <="])
    page.render(tmp_path / "results", tmp_path)
    text = (tmp_path / "reliability.md").read_text()
    assert "| [kills](#kills) | 1,200 kills | 0 | 3 | `python -m campaigns kills` |" in text
    assert "| [mutants](#mutants) | 1,200 mutants | 1 survived | 3 |" in text
    assert "## kills" in text
    assert "| random | 7 |" in text
    assert "- `a.py:3 < to <=`" in text


def test_the_committed_page_is_made_from_the_committed_records(tmp_path):
    page.render(ROOT / "results", tmp_path)
    committed = (ROOT / "docs" / "reliability.md").read_text()
    assert (tmp_path / "reliability.md").read_text() == committed
