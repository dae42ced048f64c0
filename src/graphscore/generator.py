"""GraphGenerator: learn from graphs, generate new ones, evaluate them, keep the model."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import networkx as nx

from graphscore.artifacts import KEEP, Artifact, RunFolder, describe_graphs, read_document
from graphscore.artifacts.run import TrainingRun, open_run
from graphscore.config import RunSettings, merge
from graphscore.errors import OutputError, warn
from graphscore.graphs import (
    NOTHING,
    AttributeSettings,
    GraphBatch,
    Repairs,
    given_names,
    prepare_graphs,
    sizes_of,
)
from graphscore.graphs.given import Graphs, is_dataset
from graphscore.graphs.unnamed import unnamed_attributes
from graphscore.models import MODELS, SizeDistribution, TrainedSettings
from graphscore.models.registry import check_settings, learnable_kinds, resolve_settings
from graphscore.outlook import FirstSteps, facts
from graphscore.plots.training import draw_training
from graphscore.streams import say
from graphscore.trained import TrainedGenerator
from graphscore.training import TrainingRecord
from graphscore.training.stopping import Stopping
from graphscore.training_data import TrainingData
from graphscore.verdict import SHARE, Verdict, judge

PICTURE = "training.png"
"""The course of a training, in the folder of its run."""


class GraphGenerator(TrainedGenerator):
    """Learns a distribution of graphs from examples and generates new ones.

    Here is how it learns; what it does then is in `TrainedGenerator`.

    Args:
        model: name of the model: "denoiser" if not given, "edp-gnn", "edp-gnn-released", "gin" or
            "erdos-renyi".
        seed: fixes initial weights, training and sampling.
        device: "auto" (CUDA, else Apple, else CPU), or a torch device name.
        accelerate: "auto" takes the fastest path that works on the device, "off" the plain one.
        show_progress: show training and sampling on standard error.
        sections: settings by section (network, noise, training, sampling, ...), each an object, or
            a dictionary of what differs from the defaults, which follow from the graphs' sizes.

    Raises:
        SettingsError: a setting is unknown or out of range, or the device is missing.

    Example:
        >>> import networkx as nx
        >>> graphs = [nx.cycle_graph(n) for n in (4, 5, 6)]
        >>> generator = GraphGenerator(
        ...     training={"steps": 2}, sampling={"steps": 4}, show_progress=False
        ... )
        >>> new = generator.fit(graphs).sample(5)
        >>> len(new), {graph.number_of_nodes() for graph in new} <= {4, 5, 6}
        (5, True)
    """

    verdict: Verdict | None = None
    """Whether the last training worked; None if no graphs were held out, or it was stopped."""

    def fit(
        self,
        graphs: Graphs,
        *,
        node_type: str | None = None,
        edge_type: str | None = None,
        edge_weight: str | None = None,
        node_features: Sequence[str] = (),
        repairs: Repairs = Repairs(),  # noqa: B008  (frozen, so one shared default is safe)
        run: str | os.PathLike[str] | None = None,
        resume: bool = False,
        source: str = "graphs",
        checkpoint_seconds: float = 30.0,
        keep: int = KEEP,
        on_record: Callable[[TrainingRecord], None] | None = None,
        should_stop: Callable[[], bool] = lambda: False,
        stop_at: int | None = None,
        max_seconds: float | None = None,
        holdout: bool = True,
        validation: Graphs | None = None,
    ) -> Self:
        """Train on graphs.

        Args:
            graphs: simple undirected ones: networkx, adjacency matrices, PyTorch Geometric data and
                data sets, lists of edges, tables of edges, a path and more: see
                `graphs.prepare_graphs`. Of a data set of `load_dataset`, the training graphs.
            node_type, edge_type: attributes with one of several values, which are learned too.
            edge_weight, node_features: those that are numbers; entries of matrices are weights.
                EDP-GNN takes those of nodes as they are, see `sample`.
            repairs: defects to repair, and weights to drop, instead of refusing a graph.
            run: folder for settings, log and checkpoints; without it nothing is written.
            resume: continue the run in that folder. The same graphs and settings are needed, but
                `training.steps` may be larger.
            source: name of the graphs in messages and in the checkpoint.
            checkpoint_seconds: time between checkpoints.
            keep: how many checkpoints stay in that folder.
            on_record: called with each training record.
            should_stop: called between steps; training then ends early with a checkpoint.
            stop_at: end early at this step, on the schedule of the whole training.
            max_seconds: end early after this time, with the step that is under way then.
            holdout: where there are at least 50 graphs, hold out a tenth of them (at most 500), to
                measure the loss on them a few times. A run that is resumed keeps its own choice.
            validation: graphs to measure the loss on; all others are then trained on.

        After Ctrl-C the model has the averaged weights of the last step, with a warning; a second
        Ctrl-C raises `KeyboardInterrupt`.

        Raises:
            GraphDataError: a graph cannot be represented, or lacks an attribute.
            OutputError, CheckpointError: the run folder is taken, in use, missing or damaged.
            TrainingError: the loss is not finite; the last checkpoint is kept.
        """
        stop = Stopping(should_stop, max_seconds)
        named = given_names(node_type, edge_type, edge_weight, node_features)
        given = merge(self._given, {"attributes": named} if named else {})
        checked = check_settings(given, on_cpu=self._on_cpu)
        names, kind = getattr(checked, "attributes", NOTHING), MODELS[checked.model].model
        clean, notes = _cleaned(graphs, checked, names, source=source, repairs=repairs)
        for note in notes:
            warn(note)
        if resume and run is not None:
            holdout = read_document(Path(run)).training_graphs.graphs != len(clean)
        split = _split(clean, checked, names, holdout=holdout, validation=validation)
        data = split.batch()
        settings = resolve_settings(given, nodes=data.max_nodes, on_cpu=self._on_cpu)
        described = describe_graphs(data, source, split.schema)
        with open_run(run, resume, settings, described, keep=keep) as (folder, stored):
            model, data = kind.from_graphs(
                settings, split.graphs, data, show_progress=self.show_progress
            )
            trainer = model.trainer(data, device=self.device, accelerate=self.accelerate)
            held_out = split.held_out_batch(model)
            untrained = Artifact(model, described, graphs=split.graphs)
            training = TrainingRun(untrained, trainer, folder, self.device, held_out)
            watch = self._announce(source, split, data, untrained, trainer)
            with stop.on_ctrl_c():
                self._artifact = training.train(
                    stored,
                    checkpoint_seconds=checkpoint_seconds,
                    on_record=on_record,
                    should_stop=lambda: watch() or stop(),
                    stop_at=stop_at,
                    show_progress=self.show_progress,
                )
            self.history, self.verdict, self._newest = training.records, None, []
            if stop.interrupted:
                steps = f"{self.step} of {settings.steps} steps"
                warn(f"training was interrupted after {steps}; the averaged weights are kept.")
            elif held_out is not None and (self.step >= settings.steps or stop.timed_out):
                self._conclude(split, folder, max_seconds)
        return self

    def _announce(
        self, source: str, split: TrainingData, data: GraphBatch, untrained: Artifact, trainer: Any
    ) -> Callable[[], None]:
        """Say what is trained on what; returns what says how long, once that is measured."""
        if not self.show_progress:
            return lambda: None
        for line in facts(source, split, data, untrained.model):
            say(line)
        if trainer is None:
            return lambda: None
        return FirstSteps(trainer, lambda: self._of(untrained))

    def _conclude(
        self, split: TrainingData, folder: RunFolder | None, max_seconds: float | None
    ) -> None:
        """Judge the training, and draw its course into the folder of the run."""
        most = [SHARE * self._trained().seconds]
        most += [] if max_seconds is None else [SHARE / 2 * max_seconds]
        self.verdict = judge(self, self.history, split, most_seconds=min(most))
        if self.show_progress:
            say(f"verdict: {self.verdict.text}")
        if folder is not None:
            try:
                draw_training([r.to_dict() for r in self.history], folder.path / PICTURE)
            except OutputError as error:  # the model is trained all the same
                warn(f"{error} The picture of the training is left out.")


def _cleaned(
    graphs: Graphs,
    settings: RunSettings,
    names: AttributeSettings,
    *,
    source: str,
    repairs: Repairs,
) -> tuple[Sequence[nx.Graph[Any]], list[str]]:
    """Return simple graphs, and what is to be said of repairs and of what is ignored."""
    clean = prepare_graphs(
        graphs, source=source, edge_attributes=names.of_edges, repairs=repairs, split="train"
    )
    SizeDistribution.of(sizes_of(clean))  # refuses what has no room in the matrices made next
    notes = [f"{repair} in {k} of {len(clean)} graphs" for repair, k in clean.repaired.items()]
    if is_dataset(graphs):
        notes.insert(0, f"learns from the {len(clean)} training graphs of the data set")
    if others := unnamed_attributes([clean], names, kinds=learnable_kinds(settings.model)):
        notes.append(others)
    return clean, notes


def _split(
    graphs: Sequence[nx.Graph[Any]],
    settings: RunSettings,
    names: AttributeSettings,
    *,
    holdout: bool,
    validation: Graphs | None,
) -> TrainingData:
    """Hold graphs out, for a model whose loss can be measured on them."""
    kind = MODELS[settings.model].model
    measured = issubclass(kind.Settings, TrainedSettings)
    return TrainingData.of(
        graphs,
        lambda kept: kind.schema_of(kept, names),
        validation=validation if measured else None,
        seed=settings.seed if measured and holdout else None,
    )
