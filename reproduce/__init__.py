"""The experiments of the paper: one file per table or figure, run by `graphscore reproduce`."""

from graphscore.experiments.registry import (
    TITLES,
    Experiment,
    find_experiment,
    read_record,
    work_folder,
    write_record,
)
from graphscore.experiments.tables import Table

__all__ = [
    "TITLES",
    "Experiment",
    "Table",
    "find_experiment",
    "read_record",
    "work_folder",
    "write_record",
]
