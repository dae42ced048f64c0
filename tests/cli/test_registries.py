"""Names that help texts repeat, because the tables that hold them are slow to import."""

from __future__ import annotations

import inspect
from typing import get_args, get_type_hints

from graphscore.artifacts.run_folder import KEEP
from graphscore.cli import data
from graphscore.cli.evaluate import evaluate
from graphscore.cli.train import train
from graphscore.graphs import limits
from graphscore.graphs.files import FORMAT_NAMES
from graphscore.metrics import VALIDITY_CHECKS, KernelName


def test_help_names_every_format_kernel_and_validity_check():
    assert tuple(data.FORMATS.split(", ")) == FORMAT_NAMES
    shown = data.MAX_TOTAL_NODES, data.MAX_TOTAL_EDGES, data.MAX_BYTES, data.MAX_READ_SECONDS
    known = limits.MAX_TOTAL_NODES, limits.MAX_TOTAL_EDGES, limits.MAX_BYTES, limits.MAX_SECONDS
    assert shown == known
    assert inspect.signature(train).parameters["keep"].default == KEEP
    assert get_args(get_type_hints(evaluate)["kernel"]) == get_args(KernelName)
    assert all(name in inspect.getdoc(evaluate) for name in VALIDITY_CHECKS)
