"""The folder of source files, where this machine has one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def source_folder() -> Path:
    """GRAPHSCORE_DATA, else a folder shared/data beside the repository, else skip."""
    beside = Path(__file__).parents[3] / "shared" / "data"
    folder = Path(os.environ.get("GRAPHSCORE_DATA", beside))
    if not folder.is_dir():
        pytest.skip("no data folder: set GRAPHSCORE_DATA")
    return folder
