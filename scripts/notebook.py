"""Runs the notebooks of docs/notebooks and keeps their outputs: `python -m scripts.notebook`.

Needs nbclient, nbformat and ipykernel, which are no dependencies of graphscore.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

NOTEBOOKS = Path(__file__).parents[1] / "docs" / "notebooks"


def execute(path: Path) -> None:
    """Run the cells of a notebook in order and write it with their outputs."""
    nbformat, nbclient = import_module("nbformat"), import_module("nbclient")
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=1200, kernel_name="python3").execute()
    for number, cell in enumerate(notebook.cells):
        cell["id"], cell["metadata"] = f"cell-{number}", {}  # without times of the run
    notebook["metadata"] = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    nbformat.write(notebook, path)


if __name__ == "__main__":
    for each in sorted(NOTEBOOKS.glob("*.ipynb")):
        execute(each)
