"""The folder of source files, where this machine has one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def source_folder() -> Path:
    """The folder in GRAPHSCORE_DATA; without it the test is skipped."""
    folder = Path(os.environ.get("GRAPHSCORE_DATA", ""))
    if not os.environ.get("GRAPHSCORE_DATA") or not folder.is_dir():
        pytest.skip("no data folder: set GRAPHSCORE_DATA")
    return folder
