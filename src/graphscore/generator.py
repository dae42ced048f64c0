"""GraphGenerator: learn from graphs, make new ones, judge them, keep the model."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

import networkx as nx

from graphscore.acceleration import Accelerate, choose_trainer, resolve_accelerate
from graphscore.assembly import Network, make_objective
from graphscore.communities import with_communities
from graphscore.config import NetworkSettings, RunSettings, SamplingSettings
from graphscore.device import describe_device, resolve_device
from graphscore.errors import GraphscoreError, OutputError, SettingsError
from graphscore.graphs import GraphBatch, prepare_graphs
from graphscore.metrics import EvaluationResult, evaluate
from graphscore.model_sampling import sample_graphs
from graphscore.networks import (
    CommunityDensity,
    EdgeDensity,
    GuidanceSettings,
    GuidedNetwork,
)
from graphscore.noise import NoiseSettings
from graphscore.pretrained import pretrained_folder
from graphscore.progress import progress
from graphscore.recommendation import suited
from graphscore.sampling import (
    WEIGHTS,
    CommunityDistribution,
    Selection,
    SizeDistribution,
    grid,
    select,
    wanted_graphs,
)
from graphscore.seeding import torch_generator
from graphscore.trained_model import (
    TrainedModel,
    check_continues,
    guided_model,
    initial_network,
    origin_of,
    read_model,
    reweighted,
)
from graphscore.training import DenoisingSettings, Trainer, TrainingRecord, TrainingSettings
from graphscore.training.checkpoint import write_checkpoint
from graphscore.training.run_folder import LOG, RunFolder

Graphs = Iterable[Any] | GraphBatch


class GraphGenerator:
    """Learns a distribution of graphs from examples and generates new ones.

    Args:
        seed: fixes initial weights, training and sampling.
        noise, denoising, network, training, sampling: settings of the parts, as settings objects
            or as dictionaries of the values that differ from the defaults. Without a network it is
            a denoiser whose size, training and sampler suit the graphs; a name such as "edp-gnn"
            takes that one.
        device: "auto" (CUDA, else Apple, else CPU), or a torch device name.
        accelerate: "auto" takes the fastest path that works on the device, "off" the plain one.
        show_progress: show training and sampling on standard error.

    Raises:
        SettingsError: a setting is unknown or out of range, or the device is missing.

    Example:
        >>> import networkx as nx
        >>> graphs = [nx.cycle_graph(n) for n in (4, 5, 6)]
        >>> generator = GraphGenerator(
        ...     training={"steps": 2}, sampling={"steps_per_level": 1}, show_progress=False
        ... )
        >>> new = generator.fit(graphs).sample(5)
        >>> len(new), {graph.number_of_nodes() for graph in new} <= {4, 5, 6}
        (5, True)
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        noise: NoiseSettings | Mapping[str, Any] | None = None,
        denoising: DenoisingSettings | Mapping[str, Any] | None = None,
        network: NetworkSettings | Mapping[str, Any] | str | None = None,
        training: TrainingSettings | Mapping[str, Any] | None = None,
        sampling: SamplingSettings | Mapping[str, Any] | None = None,
        device: str = "auto",
        accelerate: Accelerate = "auto",
        show_progress: bool = True,
    ) -> None:
        parts = {
            "noise": noise,
            "denoising": denoising,
            "network": network,
            "training": training,
            "sampling": sampling,
        }
        given = {name: part for name, part in parts.items() if part is not None}
        self.settings = self._given = RunSettings(seed=seed, **given)
        self.device = resolve_device(device)
        self.accelerate = resolve_accelerate(accelerate)
        self.show_progress = show_progress
        self._model: TrainedModel | None = None
        self._draws = 0

    @classmethod
    def from_settings(
        cls,
        settings: RunSettings,
        *,
        device: str = "auto",
        accelerate: Accelerate = "auto",
        show_progress: bool = True,
    ) -> Self:
        """Make a generator from the settings of a run."""
        made = cls(device=device, accelerate=accelerate, show_progress=show_progress)
        made.settings = made._given = settings
        return made

    # ------------------------------------------------------------------ training

    def fit(
        self,
        graphs: Graphs,
        *,
        run: str | os.PathLike[str] | None = None,
        resume: bool = False,
        source: str = "graphs",
        checkpoint_seconds: float = 30.0,
        on_record: Callable[[TrainingRecord], None] | None = None,
        should_stop: Callable[[], bool] = lambda: False,
        stop_at: int | None = None,
    ) -> Self:
        """Train on graphs.

        Args:
            graphs: networkx graphs, adjacency matrices, PyTorch Geometric data or a GraphBatch;
                simple and undirected.
            run: folder for settings, log and checkpoints; without it nothing is written.
            resume: continue the run in that folder. The same graphs and settings are needed, but
                `training.steps` may be larger.
            source: name of the graphs in messages and in the checkpoint.
            checkpoint_seconds: time between checkpoints.
            on_record: called with each training record.
            should_stop: asked between steps; training then ends early with a checkpoint.
            stop_at: end early at this step, on the schedule of the whole training.

        Raises:
            GraphDataError: a graph cannot be represented.
            OutputError, CheckpointError: the run folder is taken, missing or damaged.
            TrainingError: the loss is not finite; the last checkpoint is kept.
        """
        if self._given.guide is not None:
            raise SettingsError(
                "a guided model is put together from two trained ones and not trained itself. "
                "Leave out the guide, train both, and use guided_by or `graphscore guide`."
            )
        clean = prepare_graphs(graphs, source=source)
        data = GraphBatch.from_networkx(clean)
        # From what was given, and not from what suited the graphs of an earlier call.
        self.settings = suited(self._given, data, on_cpu=self.device.type == "cpu")
        if self.settings.network.node_feat_dim:
            raise SettingsError(
                "GraphGenerator models structure only, but network.node_feat_dim is "
                f"{self.settings.network.node_feat_dim}. Set it to 0, or train with "
                "graphscore.training.Trainer on a GraphBatch with node features."
            )
        origin = origin_of(data, source)
        folder = None if run is None else RunFolder(run)
        # Before anything that takes long.
        if resume:
            if folder is None:
                raise SettingsError("resume needs the folder of the run: fit(..., run=FOLDER).")
            document, tensors = folder.read()
            check_continues(folder.path, document, self.settings, origin)
        elif folder is not None:
            folder.check_new()
        communities = None
        if self.settings.tells_communities:
            data, communities = with_communities(data, clean, show_progress=self.show_progress)
        density = EdgeDensity.of(data) if communities is None else CommunityDensity.of(data)
        network = initial_network(self.settings, density)
        trainer = choose_trainer(
            network,
            data,
            make_objective(self.settings),
            self.settings.training,
            seed=self.settings.seed,
            device=self.device,
            accelerate=self.accelerate,
        )
        sizes = SizeDistribution.of(data.sizes.tolist())

        def model() -> TrainedModel:
            return TrainedModel(
                network, sizes, origin, trainer.step, trainer.seconds, communities, list(clean)
            )

        if resume and folder is not None:
            trainer.restore(tensors, step=document["step"], seconds=document["seconds"])
            folder.resume(document["step"], self.settings.model_dump(mode="json"))
        elif folder is not None:
            folder.start(self.settings.model_dump(mode="json"))

        def checkpoint() -> None:
            if folder is not None:
                document = model().document(self.settings, self.device)
                folder.checkpoint(trainer.step, document, trainer.state())

        # At once, so that a run can be resumed from the start, with the settings it has now.
        checkpoint()

        def stop() -> bool:
            return should_stop() or (stop_at is not None and trainer.step >= stop_at)

        self._run(trainer, folder, checkpoint, checkpoint_seconds, on_record, stop)
        network.load_state_dict(trainer.average.state_dict())
        network.eval()
        self._model = model()
        return self

    def _tell(self, message: str) -> None:
        if self.show_progress:
            print(message, file=sys.stderr, flush=True)

    def _run(
        self,
        trainer: Trainer,
        folder: RunFolder | None,
        checkpoint: Callable[[], None],
        checkpoint_seconds: float,
        on_record: Callable[[TrainingRecord], None] | None,
        should_stop: Callable[[], bool],
    ) -> None:
        steps = self.settings.training.steps
        self._tell(f"training on {describe_device(self.device)}, {trainer.path} path")
        written = time.monotonic()
        with progress("training", steps, enabled=self.show_progress) as update:
            update(trainer.step, "")

            def record_step(record: TrainingRecord) -> None:
                nonlocal written
                update(record.step, f"loss {record.loss:.2f} ({record.per_pair:.3f} per pair)")
                if folder is not None:
                    folder.append(record.to_dict())
                if time.monotonic() - written >= checkpoint_seconds:
                    checkpoint()
                    written = time.monotonic()
                if on_record is not None:
                    on_record(record)

            trainer.run(on_record=record_step, should_stop=should_stop)
        checkpoint()

    # ------------------------------------------------------------------ sampling

    def _trained(self) -> TrainedModel:
        if self._model is None:
            raise GraphscoreError("this generator has not been trained: call fit or load first.")
        return self._model

    @property
    def network(self) -> Network:
        """The trained score network (averaged weights), in evaluation mode.

        Raises:
            GraphscoreError: there is none yet.
        """
        return self._trained().network

    @property
    def sizes(self) -> SizeDistribution:
        """Numbers of nodes of the training graphs."""
        return self._trained().sizes

    @property
    def communities(self) -> CommunityDistribution | None:
        """Sizes of communities in the training graphs, if the network is told them."""
        return self._trained().communities

    @property
    def step(self) -> int:
        """Optimiser steps that the model was trained for; 0 before training."""
        return 0 if self._model is None else self._model.step

    def sample(
        self,
        number: int,
        *,
        sizes: Sequence[int] | None = None,
        communities: Sequence[Sequence[int]] | None = None,
        seed: int | None = None,
        sampling: SamplingSettings | Mapping[str, Any] | None = None,
        guidance: float | None = None,
    ) -> list[nx.Graph[Any]]:
        """Generate graphs.

        Args:
            number: how many.
            sizes: number of nodes of each graph; drawn from the training graphs' if not given.
            communities: numbers of nodes of the communities of each graph, for models that are told
                them; those of training graphs with as many nodes if not given. Nodes come one
                community after the other, and their attribute "community" holds its number.
            seed: same seed, same graphs. Without it, each call gives new graphs, and the sequence
                of calls is fixed by the generator's own seed.
            sampling: settings instead of the generator's, or a dictionary of those that differ;
                with "sampler" in it, those of that sampler.
            guidance: weight of the model's guide instead of the one it was given; 0 for none.

        Raises:
            SettingsError: `number`, `sizes` or `communities` make no sense, or there is no guide.
            GraphscoreError: not trained yet, or the step size is too large for the model.
        """
        model = self._trained()
        if seed is None:
            random = partial(torch_generator, self.settings.seed, "sampling", self._draws + 1)
        else:
            random = partial(torch_generator, seed, "sampling")
        wanted = wanted_graphs(
            number, sizes, communities, model.sizes, model.communities, random=random
        )
        if seed is None:
            # Only now, so that what is refused does not change what comes next.
            self._draws += 1
        return sample_graphs(
            self._weighted(guidance),
            wanted,
            self.sampler_settings(sampling),
            self.settings,
            random=partial(random, device=self.device),
            device=self.device,
            accelerate=self.accelerate,
            show_progress=self.show_progress,
        )

    def sampler_settings(
        self, changes: SamplingSettings | Mapping[str, Any] | None = None
    ) -> SamplingSettings:
        """Return the settings that `sample` would use.

        Args:
            changes: as for `sample`.

        Raises:
            SettingsError: a setting is unknown, or the network cannot serve that sampler.
        """
        usual = self.settings.sampling
        if changes is None:
            return usual
        if isinstance(changes, Mapping) and changes.get("sampler", usual.sampler) == usual.sampler:
            changes = {**usual.model_dump(), **changes}
        changed: RunSettings = self.settings.replaced(sampling=changes)
        return changed.sampling

    def _weighted(self, weight: float | None) -> Network:
        """The network with its guide's weight, or with another one."""
        network = self.network
        if isinstance(network, GuidedNetwork):
            try:
                return network.with_weight(network.guidance.weight if weight is None else weight)
            except SettingsError as error:
                # The settings call it weight, who samples calls it guidance.
                raise SettingsError(f"guidance: {error}") from None
        if weight is not None:
            raise SettingsError(
                "this model has no guide, so guidance has no meaning. Give it one with guided_by "
                "or `graphscore guide`."
            )
        return network

    def guided_by(
        self,
        guide: GraphGenerator,
        *,
        weight: float = 1.0,
        sigma_min: float | None = None,
        sigma_max: float | None = None,
    ) -> Self:
        """Return a generator that goes beyond this one, away from what a weaker one would say.

        Samples come nearer to what all training graphs have in common, at the cost of variety,
        and every network call takes one of the guide's too. See `networks.GuidedNetwork`.

        Args:
            guide: trained on the same graphs, with a smaller network or for a shorter time.
            weight: how far beyond; 0 is without guidance.
            sigma_min, sigma_max: noise levels between which the guide is asked; all if not given.

        Raises:
            GraphscoreError: one of the two is not trained yet.
            SettingsError: the two do not suit each other; the message says why.
        """
        guidance = GuidanceSettings(weight=weight, sigma_min=sigma_min, sigma_max=sigma_max)
        own, weaker = ((one.settings, one._trained()) for one in (self, guide))
        settings, model = guided_model(own, weaker, guidance)
        made = type(self).from_settings(
            settings,
            device=str(self.device),
            accelerate=self.accelerate,
            show_progress=self.show_progress,
        )
        model.network.to(made.device).eval()
        made._model = model
        return made

    def select_sampling(
        self,
        validation: Graphs,
        *,
        number: int = 64,
        candidates: Sequence[SamplingSettings] | None = None,
        seed: int = 0,
        run: str | os.PathLike[str] | None = None,
    ) -> Selection[SamplingSettings]:
        """Choose the sampler's settings by average MMD to validation graphs, and keep the best.

        Args:
            validation: graphs to compare with; never test graphs.
            number: graphs sampled for each candidate.
            candidates: settings to try; if not given, a grid around the usual ones: (epsilon,
                epsilon_s) of Langevin dynamics; where to start, and the fresh noise of Heun's
                method or the spacing of re-noising's noise levels.
            run: folder of the training run, whose model keeps the choice.

        Raises:
            GraphscoreError: not trained yet, or no candidate works.
            CheckpointError: `run` holds no model.
        """
        distance = self._distance_to(validation, number, seed)
        denoising = self.settings.denoising
        trained = None if denoising is None else denoising.sigma_range
        tried = grid(self.settings.sampling, trained) if candidates is None else candidates
        selection = select(tried, lambda sampling: distance(sampling=sampling))
        self.settings = self.settings.replaced(sampling=selection.best)
        if run is not None:
            RunFolder(run).store_settings(self.settings.model_dump(mode="json"))
        return selection

    def select_guidance(
        self,
        validation: Graphs,
        *,
        number: int = 64,
        weights: Sequence[float] = WEIGHTS,
        seed: int = 0,
    ) -> Selection[float]:
        """Choose the weight of the guide by average MMD to validation graphs, and keep the best.

        Args:
            validation: graphs to compare with; never test graphs.
            number: graphs sampled with each weight.
            weights: to try; 0 is the model alone.

        Raises:
            GraphscoreError: not trained yet, or no weight works.
            SettingsError: there is no guide.
        """
        distance = self._distance_to(validation, number, seed)
        selection = select(weights, lambda weight: distance(guidance=weight))
        self.settings, self._model = reweighted(self.settings, self._trained(), selection.best)
        return selection

    def _distance_to(self, validation: Graphs, number: int, seed: int) -> Callable[..., float]:
        """The average MMD to validation graphs of samples that are drawn as the arguments say."""
        self._trained()
        if number < 1:
            raise SettingsError(f"cannot judge {number} samples; ask for at least 1.")
        reference = prepare_graphs(validation, source="validation graphs")
        return lambda **how: evaluate(self.sample(number, seed=seed, **how), reference).average

    def evaluate(
        self, reference: Graphs, *, number: int | None = None, seed: int | None = None
    ) -> EvaluationResult:
        """Sample graphs and compare them with reference graphs.

        Args:
            reference: graphs held out from training.
            number: graphs to sample; as many as there are reference graphs if not given.

        Returns:
            Degree, clustering and orbit MMD, uniqueness, and novelty if trained in this process.
        """
        held_out = prepare_graphs(reference, source="reference graphs")
        samples = self.sample(len(held_out) if number is None else number, seed=seed)
        return evaluate(samples, held_out, training=self._trained().graphs)

    # ------------------------------------------------------------------ keeping

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a folder: `checkpoint.json` and its tensors.

        Raises:
            GraphscoreError: there is nothing to save yet.
            OutputError: the folder cannot be written.
        """
        model = self._trained()
        if (Path(path) / LOG).exists():
            raise OutputError(
                f"{path}: is the folder of a run, which holds this model already and needs its "
                "training state to be resumed. Save to another folder."
            )
        document = model.document(self.settings, self.device)
        write_checkpoint(Path(path), model.step, document, model.weights())

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        device: str = "auto",
        accelerate: Accelerate = "auto",
        show_progress: bool = True,
    ) -> Self:
        """Read a model that `save` or a training run wrote.

        Raises:
            CheckpointError: missing, truncated, edited, or written by another version.
        """
        settings, model = read_model(Path(path))
        made = cls.from_settings(
            settings, device=device, accelerate=accelerate, show_progress=show_progress
        )
        model.network.to(made.device).eval()
        made._model = model
        return made

    @classmethod
    def from_pretrained(
        cls,
        name: str,
        *,
        device: str = "auto",
        accelerate: Accelerate = "auto",
        show_progress: bool = True,
    ) -> Self:
        """Read a trained model that comes with the package.

        Args:
            name: one of `graphscore.pretrained.list_pretrained()`; `graphscore info NAME` shows
                its card.

        Raises:
            CheckpointError: there is none of that name; the message says which there are.
        """
        return cls.load(
            pretrained_folder(name),
            device=device,
            accelerate=accelerate,
            show_progress=show_progress,
        )
