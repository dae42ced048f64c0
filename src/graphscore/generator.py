"""GraphGenerator: learn from graphs, generate new ones, evaluate them, keep the model."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Self

from graphscore.artifacts import KEEP, Artifact, describe_graphs
from graphscore.artifacts.run import TrainingRun, open_run
from graphscore.config import merge
from graphscore.errors import warn
from graphscore.graphs import NOTHING, GraphBatch, given_names, prepare_graphs, sizes_of
from graphscore.graphs.unnamed import unnamed_attributes
from graphscore.models import MODELS, SizeDistribution
from graphscore.models.registry import check_settings, learnable_kinds, resolve_settings
from graphscore.trained import Graphs, TrainedGenerator
from graphscore.training import TrainingRecord


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

    def fit(
        self,
        graphs: Graphs,
        *,
        node_type: str | None = None,
        edge_type: str | None = None,
        edge_weight: str | None = None,
        node_features: Sequence[str] = (),
        run: str | os.PathLike[str] | None = None,
        resume: bool = False,
        source: str = "graphs",
        checkpoint_seconds: float = 30.0,
        keep: int = KEEP,
        on_record: Callable[[TrainingRecord], None] | None = None,
        should_stop: Callable[[], bool] = lambda: False,
        stop_at: int | None = None,
    ) -> Self:
        """Train on graphs.

        Args:
            graphs: simple undirected ones: networkx, adjacency matrices, PyG data or a GraphBatch.
            node_type, edge_type: attributes with one of several values, which are learned too.
            edge_weight, node_features: those that are numbers; entries of matrices are weights.
                EDP-GNN takes those of nodes as they are, see `sample`.
            run: folder for settings, log and checkpoints; without it nothing is written.
            resume: continue the run in that folder. The same graphs and settings are needed, but
                `training.steps` may be larger.
            source: name of the graphs in messages and in the checkpoint.
            checkpoint_seconds: time between checkpoints.
            keep: how many checkpoints stay in that folder.
            on_record: called with each training record.
            should_stop: called between steps; training then ends early with a checkpoint.
            stop_at: end early at this step, on the schedule of the whole training.

        Raises:
            GraphDataError: a graph cannot be represented, or lacks an attribute.
            OutputError, CheckpointError: the run folder is taken, in use, missing or damaged.
            TrainingError: the loss is not finite; the last checkpoint is kept.
        """
        named = given_names(node_type, edge_type, edge_weight, node_features)
        given = merge(self._given, {"attributes": named} if named else {})
        checked = check_settings(given, on_cpu=self._on_cpu)
        names, kind = getattr(checked, "attributes", NOTHING), MODELS[checked.model].model
        clean = prepare_graphs(graphs, source=source, edge_attributes=names.of_edges)
        SizeDistribution.of(sizes_of(clean))  # refuses what has no room in the matrices made next
        schema = kind.schema_of(clean, names)
        if others := unnamed_attributes([clean], names, kinds=learnable_kinds(checked.model)):
            warn(others)
        data = GraphBatch.from_networkx(clean, schema=schema)
        settings = resolve_settings(given, nodes=data.max_nodes, on_cpu=self._on_cpu)
        described = describe_graphs(data, source, schema)
        with open_run(run, resume, settings, described, keep=keep) as (folder, stored):
            model, data = kind.from_graphs(settings, clean, data, show_progress=self.show_progress)
            trainer = model.trainer(data, device=self.device, accelerate=self.accelerate)
            untrained = Artifact(model, described, graphs=clean)
            self._artifact = TrainingRun(untrained, trainer, folder, self.device).train(
                stored,
                checkpoint_seconds=checkpoint_seconds,
                on_record=on_record,
                should_stop=should_stop,
                stop_at=stop_at,
                show_progress=self.show_progress,
            )
        self._newest = []
        return self
