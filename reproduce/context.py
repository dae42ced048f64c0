"""How an experiment runs: scale, seeds, device, and the folder that keeps its finished parts."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import networkx as nx
import torch

from graphscore.atomic import write_file
from graphscore.device import resolve_device
from graphscore.errors import OutputError, SettingsError, StoppedError
from graphscore.generator import GraphGenerator
from graphscore.provenance import provenance
from reproduce.core import has_checkpoint
from reproduce.plans import load_plan

Record = dict[str, Any]


@dataclass
class Context:
    """What an experiment is given.

    An experiment consists of independent parts, each with a key. A finished part is stored in
    `folder/parts/KEY.json` and is not computed again: an interrupted experiment continues where it
    stopped, and several processes can share the parts.

    Args:
        folder: the working folder of this experiment.
        scale: "full", "quick", or "tiny" for tests.
        seeds: number of seeds; they are 0, 1, ...
        device: "auto" or the name of a torch device.
        accelerate: "auto" or "off", as for GraphGenerator.
        show_progress: report progress on standard error.
        should_stop: called between training steps and between parts.
        data_dir: folder of source files for datasets that are not part of the package.

    Raises:
        SettingsError: the scale is unknown, `seeds` is below 1, or the device is missing.
    """

    folder: Path
    scale: str = "full"
    seeds: int = 3
    device: str = "auto"
    accelerate: Literal["auto", "off"] = "auto"
    show_progress: bool = True
    should_stop: Callable[[], bool] = field(default=lambda: False)
    data_dir: Path | None = None

    def __post_init__(self) -> None:
        load_plan("scales", self.scale)
        if self.seeds < 1:
            raise SettingsError(f"seeds {self.seeds}: give at least 1.")
        self.folder = Path(self.folder)
        self.torch_device: torch.device = resolve_device(self.device)

    def plan(self, name: str) -> dict[str, Any]:
        """The plan of an experiment at this scale."""
        return load_plan(name, self.scale)

    def check_stop(self) -> None:
        """Raise StoppedError if a stop was requested."""
        if self.should_stop():
            raise StoppedError(f"stopped early; finished parts are kept in {self.folder}.")

    # ------------------------------------------------------------------ parts

    def seed_keys(self, *names: str) -> list[str]:
        """Keys of parts that differ only in the seed: A_B_seed0, A_B_seed1, ..."""
        return ["_".join([*names, f"seed{seed}"]) for seed in range(self.seeds)]

    def part_file(self, key: str) -> Path:
        """The file of a part."""
        return self.folder / "parts" / f"{key}.json"

    def run_folder(self, key: str) -> Path:
        """The run folder of the training that belongs to a part."""
        return self.folder / "runs" / key

    def has_part(self, key: str) -> bool:
        """Whether a part is finished."""
        return self.part_file(key).exists()

    def part(
        self, key: str, compute: Callable[[], Record], settings: Mapping[str, Any] | None = None
    ) -> Record:
        """Return the stored part, or compute and store it.

        Args:
            key: its name, also that of its file.
            compute: returns the part as plain values that JSON can hold. A part with "skipped", the
                reason, is not stored, so it is tried again next time.
            settings: what determines the result; a stored part with other settings is refused.

        Returns:
            What `compute` returned, with "seconds" and "provenance" added.

        Raises:
            OutputError: the stored part is damaged or has other settings, or another process is
                computing it.
            StoppedError: a stop was requested.
        """
        expected = plain(settings or {})
        if self.has_part(key):
            return self._stored(key, expected)
        self.check_stop()
        with self._lock(key):
            # Another process may have finished it in the meantime.
            if self.has_part(key):
                return self._stored(key, expected)
            self.log(f"computing {key}")
            started = time.perf_counter()
            result = compute()
            made: Record = {
                **result,
                "seconds": time.perf_counter() - started,
                "provenance": self.provenance(),
            }
            if "skipped" in result:
                return made
            document = {"key": key, "settings": expected, "result": made}
            write_file(self.part_file(key), (json.dumps(document, indent=1) + "\n").encode())
        # As it will be read next time, so that an uninterrupted run gives the same record.
        return self._stored(key, expected)

    def _stored(self, key: str, expected: Any) -> Record:
        file = self.part_file(key)
        try:
            document = json.loads(file.read_bytes())
            settings, result = document["settings"], document["result"]
        except (OSError, ValueError, KeyError, TypeError):
            raise OutputError(
                f"{file}: is not a part of an experiment. Remove it to compute it again."
            ) from None
        if settings != expected:
            changed = [k for k in {**settings, **expected} if settings.get(k) != expected.get(k)]
            raise OutputError(
                f"{file}: was computed with other settings ({', '.join(sorted(changed))}). Remove "
                "it to compute it again, together with its folder under runs if the training "
                "changed; or use another --out folder."
            )
        made: Record = result
        return made

    @contextlib.contextmanager
    def _lock(self, key: str) -> Iterator[None]:
        """Hold a part for this process; the lock ends with the process."""
        try:
            import fcntl
        except ImportError:  # pragma: no cover - Windows
            yield
            return
        lock = self.folder / "locks" / key
        try:
            lock.parent.mkdir(parents=True, exist_ok=True)
            stream = lock.open("w")
        except OSError as error:
            raise OutputError(f"{lock}: cannot write ({error.strerror}).") from None
        with stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise OutputError(
                    f"{self.part_file(key)}: another process is computing this part. Give each "
                    "process its own --parts, or wait."
                ) from None
            yield

    # ------------------------------------------------------------------ training

    def fit(
        self,
        key: str,
        graphs: Sequence[nx.Graph[Any]],
        *,
        source: str,
        seed: int,
        model: str = "edp-gnn",
        stop_at: int | None = None,
        **settings: Any,
    ) -> GraphGenerator:
        """Train a generator in the run folder of a part, continuing from its checkpoint.

        Args:
            key: the part; its training gets a folder of that name.
            graphs: training graphs.
            source: their name.
            seed: fixes weights, training and sampling.
            model: name of the model.
            stop_at: train up to this step only; another call continues.
            settings: sections of settings, as for GraphGenerator; network, training and sampling
                are the scale's where they are not given.

        Raises:
            StoppedError: a stop was requested; a checkpoint was written.
            OutputError: the training is past `stop_at` already.
        """
        generator = GraphGenerator(
            model,
            seed=seed,
            **{**self.defaults(), **settings},
            device=str(self.torch_device),
            accelerate=self.accelerate,
            show_progress=self.show_progress,
        )
        run = self.run_folder(key)
        generator.fit(
            graphs,
            run=run,
            resume=has_checkpoint(run),
            source=source,
            should_stop=self.should_stop,
            stop_at=stop_at,
            holdout=False,
        )
        last = generator.settings.steps if stop_at is None else stop_at
        if generator.step > last:
            raise OutputError(
                f"{run}: was trained past step {last} already. Remove that folder and the parts of "
                f"{key} to compute them again."
            )
        if generator.step < last:
            raise StoppedError(
                f"stopped early at step {generator.step} of {key}; finished parts are kept in "
                f"{self.folder}."
            )
        return generator

    def model_folder(self, key: str, step: int) -> Path:
        """The folder of the model of a part at a step."""
        return self.folder / "models" / f"{key}_at{step}"

    def model(
        self,
        key: str,
        graphs: Callable[[], Sequence[nx.Graph[Any]]],
        *,
        step: int,
        source: str,
        seed: int,
        **settings: Any,
    ) -> GraphGenerator:
        """The denoiser of a part at a step, trained where its folder holds none yet.

        Args:
            key: the part; its training and its model get folders of that name.
            graphs: returns the training graphs; not called where the model is there.
            step: train up to it.
            source, seed, settings: as `fit`.
        """
        folder = self.model_folder(key, step)
        if not has_checkpoint(folder):
            options: Record = {"source": source, "seed": seed, "model": "denoiser", **settings}
            self.fit(key, graphs(), stop_at=step, **options).save(folder)
        return GraphGenerator.load(
            folder,
            device=str(self.torch_device),
            accelerate=self.accelerate,
            show_progress=self.show_progress,
        )

    def defaults(self, *, long: bool = False) -> dict[str, Any]:
        """Settings of EDP-GNN at this scale.

        Args:
            long: train as long as models whose samples are evaluated.
        """
        scale = load_plan("scales", self.scale)
        steps = {"steps": scale["long_steps"]} if long else {}
        return {
            "network": scale["network"],
            "training": scale["training"] | steps,
            "sampling": scale["sampling"],
        }

    def provenance(self) -> Record:
        """Machine, versions, commit and date of a number computed now."""
        return provenance(str(self.torch_device))

    def log(self, message: str) -> None:
        """Print a message on standard error, if progress is shown."""
        if self.show_progress:
            print(message, file=sys.stderr, flush=True)


def plain(value: Any) -> Any:
    """Return a value as JSON gives it back: lists for tuples, strings for keys."""
    return json.loads(json.dumps(value))
