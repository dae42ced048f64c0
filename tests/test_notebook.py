"""The notebook's cells run in order, and its outputs are kept."""

from __future__ import annotations

import json
from pathlib import Path

NOTEBOOK = Path(__file__).parents[1] / "docs" / "notebooks" / "own_graphs.ipynb"
MOST_BYTES = 300_000
TINY = {
    "STEPS = 500": "STEPS = 1",
    "NUMBER = 200": "NUMBER = 10",
    "sample(24,": "sample(2,",
    '"steps": 16': '"steps": 2',
}


def cells():
    """The code cells, each with its source as one text."""
    found = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return [
        {**cell, "source": "".join(cell["source"])} for cell in found if cell["cell_type"] == "code"
    ]


def test_cells_run_in_order():
    """With a model that is hardly trained."""
    text = "\n".join(cell["source"] for cell in cells())
    for usual, tiny in TINY.items():
        assert text.count(usual) == 1
        text = text.replace(usual, tiny)
    names: dict[str, object] = {}
    exec(compile(text, str(NOTEBOOK), "exec"), names)
    assert len(names["samples"]) == 2


def test_outputs_are_included():
    """Of each cell that ends with a value; no errors, and no folders of the machine."""
    assert NOTEBOOK.stat().st_size < MOST_BYTES
    assert [cell["execution_count"] for cell in cells()] == list(range(1, len(cells()) + 1))
    outputs = [output for cell in cells() for output in cell["outputs"]]
    assert {output["output_type"] for output in outputs} == {"execute_result"}
    kinds = [kind for output in outputs for kind in output["data"]]
    assert kinds.count("image/png") == 1
    assert kinds.count("text/html") >= 4
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert not any(place in text for place in ("/home/", "/tmp/", "/root/", "site-packages"))
