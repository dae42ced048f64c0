"""What a trained generator does: sample, evaluate, choose its sampler, keep the model."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

import networkx as nx
from torch import nn

from graphscore.acceleration import Accelerate, resolve_accelerate
from graphscore.artifacts import Artifact, RunFolder, pretrained_folder
from graphscore.config import RunSettings
from graphscore.device import resolve_device
from graphscore.diffusion import GuidanceSettings
from graphscore.diffusion.selection import GUIDANCE_WEIGHTS, Selection, select
from graphscore.errors import GraphscoreError, SettingsError, warn
from graphscore.graphs import NOTHING, Schema, prepare_graphs
from graphscore.graphs.given import Graphs
from graphscore.graphs.repairs import WEIGHTS
from graphscore.metrics import EvaluationResult, evaluate, unions_of
from graphscore.models import CommunityDistribution, SamplingRun, SizeDistribution
from graphscore.models.connected import SampledGraphs, connected_only
from graphscore.models.diffusion import guided_model
from graphscore.models.registry import check_settings
from graphscore.models.request import check_number, resolve_request
from graphscore.parameters import Parameters
from graphscore.seeding import torch_generator
from graphscore.shown import Rows, Shown
from graphscore.training import TrainingRecord

PICTURED = 8
"""Graphs of each kind that a notebook shows of a generator."""


class TrainedGenerator(Parameters, Shown):
    """Everything that `GraphGenerator` does but `fit`; arguments are described there."""

    def __init__(
        self,
        model: str | None = None,
        *,
        seed: int = 0,
        device: str = "auto",
        accelerate: Accelerate = "auto",
        show_progress: bool = True,
        **sections: Any,
    ) -> None:
        given = {name: value for name, value in sections.items() if value is not None}
        self._given = {**({} if model is None else {"model": model}), "seed": seed, **given}
        self._device = device
        self.device = resolve_device(device)
        self._on_cpu = self.device.type == "cpu"
        check_settings(self._given, on_cpu=self._on_cpu)
        self.accelerate = resolve_accelerate(accelerate)
        self.show_progress = show_progress
        self._artifact: Artifact | None = None
        self._draws = 0
        self.history: list[TrainingRecord] = []
        """Records of the last training in this process, and of the run that it continued."""
        self._newest: list[nx.Graph[Any]] = []

    @classmethod
    def from_settings(cls, settings: RunSettings | Mapping[str, Any], **options: Any) -> Self:
        """Make a generator from complete settings, or from nested dictionaries of some.

        Args:
            options: device, accelerate and show_progress.
        """
        given = settings if isinstance(settings, Mapping) else settings.model_dump()
        return cls(**given, **options)

    def _arguments(self) -> dict[str, Any]:
        return {
            "model": None,
            **self._given,
            "device": self._device,
            "accelerate": self.accelerate,
            "show_progress": self.show_progress,
        }

    def _take_over(self, made: Self) -> None:
        made._draws, made._newest = self._draws, self._newest
        if self._artifact is not None:
            made._hold(self._artifact)
        vars(self).update(vars(made))

    def _trained(self) -> Artifact:
        if self._artifact is None:
            raise GraphscoreError("this generator has not been trained: call fit or load first.")
        return self._artifact

    @property
    def settings(self) -> RunSettings:
        """Complete settings of the model; before training, those for small graphs."""
        if self._artifact is None:
            return check_settings(self._given, on_cpu=self._on_cpu)
        return self._artifact.model.settings

    @property
    def network(self) -> nn.Module:
        """The trained network (averaged weights), in evaluation mode."""
        if (network := self._trained().model.network) is None:
            raise GraphscoreError(f"the model {self.settings.model!r} has no network.")
        return network

    @property
    def sizes(self) -> SizeDistribution:
        """Numbers of nodes of the training graphs."""
        return self._trained().model.sizes

    @property
    def communities(self) -> CommunityDistribution | None:
        """Sizes of communities in the training graphs, if the model is conditioned on them."""
        return self._trained().model.communities

    @property
    def schema(self) -> Schema:
        """What nodes and edges carry: names, types and units; empty if only edges were learned."""
        return self._trained().model.schema

    @property
    def step(self) -> int:
        """Optimiser steps that the model was trained for; 0 before training."""
        return 0 if self._artifact is None else self._artifact.step

    def sample(
        self,
        number: int,
        *,
        sizes: int | Sequence[int] | None = None,
        communities: Sequence[Sequence[int]] | None = None,
        nodes_of: Sequence[nx.Graph[Any]] | None = None,
        connected: bool = False,
        seed: int | None = None,
        sampling: Any = None,
        guidance: float | None = None,
    ) -> SampledGraphs:
        """Generate graphs; the list has the number that was drawn in all as its `drawn`.

        Args:
            number: how many.
            sizes: number of nodes of all graphs, such as 24; of each, where there are `number` of
                them; or others to draw from, each with the same probability, such as
                `range(20, 31)`. Drawn from the training graphs' if not given.
            communities: numbers of nodes of each graph's communities, for models conditioned on
                them; those of training graphs with as many nodes if not given. Nodes come one
                community after the other; their attribute "community" holds its number.
            nodes_of: graphs whose nodes, with what they carry, new graphs have, for models that
                take it; those of training graphs with as many nodes if not given.
            connected: draw graphs that are not connected again, with as many nodes as they had.
            seed: same seed, same graphs. Without it, each call gives new graphs, and the sequence
                of calls is fixed by the generator's own seed.
            sampling: settings of a sampler, or a dictionary of those that differ from the model's;
                with another "kind" in it, from that sampler's own defaults.
            guidance: weight of the model's guide model; 0 for none.

        Raises:
            SettingsError: what is asked for makes no sense, a setting is unknown, or there is no
                guide model.
            GraphDataError: a node of `nodes_of` lacks an attribute.
            SamplingError: too few graphs are connected.
            GraphscoreError: not trained yet, or the step size is too large for the model.
        """
        model = self._trained().model.with_options(sampling=sampling, guidance=guidance)
        own = (self.settings.seed, "sampling", self._draws + 1)
        random = partial(torch_generator, *(own if seed is None else (seed, "sampling")))
        known = model.sizes, model.communities, nodes_of, model.nodes
        request = resolve_request(number, sizes, communities, *known, random=random)
        if seed is None:
            self._draws += 1  # only now, so that a refused call does not change the next ones
        if outside := model.sizes.outside(request.sizes):
            warn(outside)

        def run(*attempt: str | int) -> SamplingRun:
            draw = partial(random, *attempt, device=self.device)
            return SamplingRun(draw, self.device, self.accelerate, self.show_progress)

        graphs = SampledGraphs(model.sample(request, run()))
        if connected:
            graphs = connected_only(
                graphs, request, lambda asked, k: model.sample(asked, run("again", k))
            )
        self._newest = graphs[:PICTURED]
        return graphs

    def plot_samples(self, n: int = 16, **options: Any) -> Any:
        """Draw new graphs, beside training graphs if it was trained in this process.

        Args:
            n: how many.
            options: as of `sample`.

        Returns:
            A matplotlib Figure; `figure.savefig("samples.png")` writes it.
        """
        return self._drawn({"samples": self.sample(n, **options)}, n, columns=4)

    def _drawn(self, graphs: dict[str, Any], number: int, *, columns: int) -> Any:
        """Draw graphs in a block for each kind, after as many training graphs if there are any."""
        from graphscore.plots import comparison

        training = self._trained().graphs
        known = {} if training is None else {"training graphs": training[:number]}
        return comparison({**known, **graphs}, columns, -(-number // columns), self.schema)

    def _rows(self) -> Rows:
        """Return what there is to know of it, as pairs of a heading and a text."""
        if self._artifact is None:
            return [("model", self.settings.model), ("trained", "not yet: call fit")]
        return self._artifact.rows()

    def _picture(self) -> str:
        """Return training graphs and the newest samples, as far as they are at hand, as HTML."""
        from graphscore.plots import html_picture

        samples = {"newest samples": self._newest} if self._newest else {}
        if self._artifact is None or not (samples or self._artifact.graphs):
            return ""
        return html_picture(self._drawn(samples, PICTURED, columns=4))

    def sampler_settings(self, changes: Any = None) -> Any:
        """Return the sampling settings that `sample(..., sampling=changes)` would use."""
        model = self._trained().model.with_options(sampling=changes)
        return getattr(model.settings, "sampling", None)

    def guided_by(
        self,
        guide: TrainedGenerator,
        *,
        weight: float = 1.0,
        sigma_min: float | None = None,
        sigma_max: float | None = None,
    ) -> Self:
        """Return a generator steered away from the mistakes of a weaker one (autoguidance).

        Samples come nearer to what all training graphs have in common, at the cost of variety,
        and every network call takes one of the guide's too. See `diffusion.GuidedPosterior`.

        Args:
            guide: trained on the same graphs, with a smaller network or for a shorter time.
            weight: how strongly; 0 is without guidance.
            sigma_min, sigma_max: noise levels between which the guide is used; all if not given.

        Raises:
            GraphscoreError: one of the two is not trained yet.
            SettingsError: the two do not fit together; the message says why.
        """
        guidance = GuidanceSettings(weight=weight, sigma_min=sigma_min, sigma_max=sigma_max)
        own, weaker = self._trained(), guide._trained()
        model = guided_model(own.model, weaker.model, guidance)
        own.check_same_graphs(weaker)
        return self._of(own.with_model(model, seconds=weaker.seconds))

    def select_sampling(
        self,
        validation: Graphs,
        *,
        number: int = 64,
        candidates: Sequence[Any] | None = None,
        seed: int = 0,
        run: str | os.PathLike[str] | None = None,
    ) -> Selection[Any]:
        """Choose the sampler's settings by average MMD to validation graphs, and keep the best.

        Args:
            validation: graphs to compare with; never test graphs.
            number: graphs sampled for each candidate.
            candidates: settings to try; a grid around the model's if not given.
            run: folder of the training run, whose model keeps the choice.

        Raises:
            GraphscoreError: not trained yet, or no candidate works.
            CheckpointError, OutputError: `run` holds no model, another one, or is in use.
        """
        artifact = self._trained()
        tried = artifact.model.sampling_variants() if candidates is None else candidates
        select_it = partial(self._select, "sampling", tried, validation, number, seed)
        if run is None:
            return select_it()
        artifact.check_run(Path(run))
        with (folder := RunFolder(run)).locked():
            selection = select_it()
            folder.store_settings(self.settings.model_dump(mode="json"))
        return selection

    def select_guidance(
        self,
        validation: Graphs,
        *,
        number: int = 64,
        weights: Sequence[float] = GUIDANCE_WEIGHTS,
        seed: int = 0,
    ) -> Selection[float]:
        """Choose the weight of the guide model by average MMD to validation graphs, and keep it.

        Args:
            validation: graphs to compare with; never test graphs.
            number: graphs sampled with each weight.
            weights: to try; 0 is the model alone.

        Raises:
            GraphscoreError: not trained yet, there is no guide model, or no weight works.
        """
        return self._select("guidance", weights, validation, number, seed)

    def _select(
        self, option: str, candidates: Sequence[Any], validation: Graphs, number: int, seed: int
    ) -> Selection[Any]:
        """Choose and keep the value of an option of `sample` by average MMD to graphs."""
        artifact = self._trained()
        check_number(number)
        reference = prepare_graphs(
            validation, source="validation graphs", edge_attributes=WEIGHTS, split="val"
        )
        draw = partial(self.sample, number, seed=seed)
        selection = select(candidates, lambda v: evaluate(draw(**{option: v}), reference).average)
        best = artifact.model.with_options(**{option: selection.best})
        self._artifact = artifact.with_model(best)
        return selection

    def evaluate(
        self, reference: Graphs, *, number: int | None = None, seed: int | None = None
    ) -> EvaluationResult:
        """Sample graphs and compare them with reference graphs; novelty if trained in this process.

        Args:
            reference: graphs held out from training, as `fit` takes them, with the attributes that
                were learned; of a data set its test graphs.
            number: graphs to sample; as many as there are reference graphs if not given.
        """
        names = getattr(self._trained().model.settings, "attributes", NOTHING)
        of_edges = names.of_edges or WEIGHTS
        held_out = prepare_graphs(
            reference, source="reference graphs", edge_attributes=of_edges, split="test"
        )
        unions_of({"reference": held_out}, names)  # refuses them before the long work
        samples = self.sample(len(held_out) if number is None else number, seed=seed)
        return evaluate(samples, held_out, training=self._trained().graphs, **names.model_dump())

    def log_density(self, graphs: Graphs, **options: Any) -> list[float]:
        """Return log p(A) - log p(0) of each graph; options as of `EDPGNNModel.log_density`."""
        return self._trained().model.log_density(graphs, **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a folder: `checkpoint.json` and its tensors.

        Raises:
            GraphscoreError: there is nothing to save yet.
            OutputError: the folder cannot be written.
        """
        self._trained().write(Path(path), self.device)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **options: Any) -> Self:
        """Read a model that `save` or a training run wrote.

        Args:
            options: device, accelerate and show_progress, as of the constructor.

        Raises:
            CheckpointError: missing, truncated, edited, or written by another version.
        """
        if more := options.keys() - {"device", "accelerate", "show_progress"}:
            raise SettingsError(f"a stored model has its settings already; leave out {min(more)}.")
        return cls(**options)._of(Artifact.read(Path(path)))

    @classmethod
    def from_pretrained(cls, name: str, **options: Any) -> Self:
        """Read a pretrained model that comes with the package.

        Args:
            name: one of `artifacts.list_pretrained()`; `graphscore info NAME` shows its card.
            options: device, accelerate and show_progress, as of the constructor.

        Raises:
            CheckpointError: there is none of that name; the message says which there are.
        """
        return cls.load(pretrained_folder(name), **options)

    def _of(self, artifact: Artifact) -> Self:
        """Return a generator of a trained model on the device of this one."""
        made = type(self).from_settings(
            artifact.model.settings,
            device=str(self.device),
            accelerate=self.accelerate,
            show_progress=self.show_progress,
        )
        return made._hold(artifact)

    def _hold(self, artifact: Artifact) -> Self:
        """Have a trained model, on the device of this generator."""
        if artifact.model.network is not None:
            artifact.model.network.to(self.device).eval()
        self._artifact = artifact
        return self
