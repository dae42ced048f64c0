"""Benchmark graph sets: one file per family, one registry, published splits.

>>> from graphscore.datasets import list_datasets, load_dataset
>>> [info.name for info in list_datasets() if info.attributes]
['enzymes', 'moses', 'qm9', 'weighted-community', 'zinc250k']
>>> len(load_dataset("ego-small").test)
40
"""

from graphscore.datasets.community import sample_community
from graphscore.datasets.dataset import Dataset, DatasetInfo
from graphscore.datasets.planar import sample_planar
from graphscore.datasets.registry import list_datasets, load_dataset
from graphscore.datasets.sbm import sample_sbm
from graphscore.datasets.tree import sample_tree
from graphscore.datasets.weighted_community import sample_weighted_community

__all__ = [
    "Dataset",
    "DatasetInfo",
    "list_datasets",
    "load_dataset",
    "sample_community",
    "sample_planar",
    "sample_sbm",
    "sample_tree",
    "sample_weighted_community",
]
