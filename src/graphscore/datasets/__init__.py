"""Benchmark graph sets: one file per family, one registry, published splits.

>>> from graphscore.datasets import list_datasets, load_dataset
>>> [info.name for info in list_datasets()]
['community-small', 'community-small-released', 'ego-small', 'lobster', 'protein']
>>> len(load_dataset("ego-small").test)
40
"""

from graphscore.datasets.community import sample_community
from graphscore.datasets.dataset import Dataset, DatasetInfo
from graphscore.datasets.registry import list_datasets, load_dataset

__all__ = ["Dataset", "DatasetInfo", "list_datasets", "load_dataset", "sample_community"]
