"""Evaluation of the denoiser on validation and test graphs, and the choice of samplers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import networkx as nx

from graphscore.datasets import Dataset
from graphscore.generator import GraphGenerator
from graphscore.metrics import evaluate, ratio_to_floor, validity_of, vun
from graphscore.seeding import derive_seed
from reproduce.core import (
    SamplerSettings,
    Selection,
    parameter_count,
    select,
    unseen_communities,
)
from reproduce.experiments.denoiser_plans import measured, smaller_is_better
from reproduce.graph_texts import to_texts

Record = dict[str, Any]
Split = Literal["val", "test"]
STREAM = "frontier"
"""Name of the random streams; another name would give other samples than those in results/."""


class Evaluator:
    """Evaluates generators on one dataset.

    Args:
        data: the dataset.
        plan: of the set, as `set_plan` returns it.
        seed: fixes the samples.
        shown: number of graphs that records keep for figures.
    """

    def __init__(self, data: Dataset, plan: Mapping[str, Any], *, seed: int, shown: int) -> None:
        self.data, self.plan, self.seed, self.shown = data, plan, seed, shown

    def evaluate(
        self,
        generator: GraphGenerator,
        split: Split,
        sampling: SamplerSettings | None = None,
        *,
        number: int | None = None,
    ) -> Record:
        """Sample and measure; each split has samples of its own.

        Samples that chose a sampler must not be part of its test result.

        Args:
            number: of samples; as many as for the test result if not given.
        """
        seed = self._stream(split)
        samples = generator.sample(number or self.plan["samples"], seed=seed, sampling=sampling)
        shown = {"training_graphs": self.data.train, "sampled_graphs": samples}
        return {
            **self.measures(samples, split),
            **{key: to_texts(graphs[: self.shown]) for key, graphs in shown.items()},
        }

    def measures(self, graphs: Sequence[nx.Graph[Any]], split: Split) -> Record:
        """MMDs, their ratios to those of the training set, and V.U.N. of graphs."""
        kernel, train = self.plan["kernel"], self.data.train
        reference, check = self.data.split(split), validity_of(self.data.info.name)
        result = evaluate(graphs, reference, training=train, kernel=kernel)
        floor = evaluate(train, reference, kernel=kernel)
        record: Record = {
            "mmd": result.to_dict(),
            "floor": floor.to_dict(),
            "ratio": ratio_to_floor(result, floor),
        }
        if check is not None:
            record["vun"] = vun(graphs, train, check).to_dict()
        return record

    def choose(
        self, generator: GraphGenerator, tried: Sequence[SamplerSettings]
    ) -> tuple[Selection[SamplerSettings], Record]:
        """Choose a sampler on validation graphs; also return its evaluation there."""
        records: dict[SamplerSettings, Record] = {}

        def distance(sampling: SamplerSettings) -> float:
            number = self.plan["trial_samples"]
            record = self.evaluate(generator, "val", sampling, number=number)
            records[sampling] = record
            measure = self.plan["measure"]
            value, average = measured(record, measure), record["mmd"]["average"]
            # Equal shares are ordered by MMD, which never outweighs a single graph.
            return value if smaller_is_better(measure) else float(average) - 1e5 * value

        selection = select(tried, distance)
        return selection, records[selection.best]

    def test_result(self, tried: Mapping[GraphGenerator, Sequence[SamplerSettings]]) -> Record:
        """Choose generator and sampler on validation graphs, then use the test graphs once."""
        found = {one: self.choose(one, samplers)[0] for one, samplers in tried.items()}
        generator = min(found, key=lambda one: found[one].distance)
        best: Any = found[generator].best  # all candidates know their number of network calls
        data, guidance = self.data, _guidance(generator)
        return {
            "graphs": {"train": len(data.train), "val": len(data.val), "test": len(data.test)},
            "parameters": parameter_count(generator),
            "sampling": best.model_dump(mode="json"),
            "guidance": guidance,
            "network_calls": best.network_calls * (1 if guidance is None else 2),
            "trials": [
                {
                    "sampling": sampler.model_dump(mode="json"),
                    "guidance": _guidance(one),
                    "distance": value,
                }
                for one, selection in found.items()
                for sampler, value in selection.trials
            ],
            **self.evaluate(generator, "test", best),
            **self._unseen(generator, best),
        }

    def _unseen(self, generator: GraphGenerator, sampling: SamplerSettings) -> Record:
        """With communities: measures for community sizes that do not occur in training."""
        if generator.communities is None:
            return {}
        number = self.plan["samples"]
        new = unseen_communities(self.data.val, generator.communities, number)
        seed = self._stream("unseen")
        samples = generator.sample(number, communities=new, seed=seed, sampling=sampling)
        return {"unseen_communities": self.measures(samples, "test")}

    def _stream(self, name: str) -> int:
        return derive_seed(self.seed, STREAM, self.data.info.name, name)


def _guidance(generator: GraphGenerator) -> Record | None:
    settings: Any = generator.settings
    guide = settings.guide
    return None if guide is None else guide.model_dump(mode="json", exclude={"network"})
