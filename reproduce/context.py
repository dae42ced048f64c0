"""Where an experiment runs: its size, seeds and device, and the folder that keeps its parts."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import networkx as nx
import torch

from graphscore.acceleration import Accelerate
from graphscore.atomic import write_file
from graphscore.device import resolve_device
from graphscore.errors import OutputError, SettingsError, StoppedError
from graphscore.experiments.scale import Scale, find_scale
from graphscore.generator import GraphGenerator
from graphscore.provenance import provenance
from graphscore.training.checkpoint import has_checkpoint

Record = dict[str, Any]


@dataclass
class Context:
    """What an experiment is given.

    An experiment is made of parts that do not need each other, each known by a key. A finished part
    lies in `folder/parts/KEY.json` and is never computed again, so an interrupted experiment goes
    on where it stopped, and several processes can share the parts out.

    Args:
        folder: the working folder of this experiment; nothing else should lie there.
        scale: "full", "quick", or "tiny" for tests.
        seeds: how many; they are 0, 1, ...
        device: "auto" or the name of a torch device.
        accelerate: "auto" or "off", as for GraphGenerator.
        show_progress: show on standard error what is going on.
        max_seconds: stop after this time; training stops with a checkpoint.
        should_stop: asked between training steps and between parts.
        data_dir: folder of source files for datasets that are not part of the package.

    Raises:
        SettingsError: the scale is unknown, there are no seeds, or the device is missing.
    """

    folder: Path
    scale: str = "full"
    seeds: int = 3
    device: str = "auto"
    accelerate: Accelerate = "auto"
    show_progress: bool = True
    max_seconds: float | None = None
    should_stop: Callable[[], bool] = field(default=lambda: False)
    data_dir: Path | None = None

    def __post_init__(self) -> None:
        self.sizes: Scale = find_scale(self.scale)
        if self.seeds < 1:
            raise SettingsError(f"seeds {self.seeds}: give at least 1.")
        if self.max_seconds is not None and not self.max_seconds >= 0:
            raise SettingsError(f"max_seconds {self.max_seconds:g}: give at least 0.")
        self.folder = Path(self.folder)
        self.torch_device: torch.device = resolve_device(self.device)
        self._started = time.monotonic()

    # ------------------------------------------------------------------ stopping

    def stop(self) -> bool:
        """Whether to stop: somebody asked for it, or the time is up."""
        late = self.max_seconds is not None and time.monotonic() - self._started >= self.max_seconds
        return late or self.should_stop()

    def check_stop(self) -> None:
        """Stop here if that was asked for.

        Raises:
            StoppedError: it was.
        """
        if self.stop():
            raise StoppedError(
                f"stopped early; what is finished is kept in {self.folder}. The same command "
                "goes on from there."
            )

    # ------------------------------------------------------------------ parts

    def seed_keys(self, *names: str) -> list[str]:
        """The keys of parts that differ in the seed only: A_B_seed0, A_B_seed1, ..."""
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
        """Return a part: the stored one, or else a new one, which is then stored.

        Args:
            key: its name, also that of its file.
            compute: gives the part as plain values that JSON can hold. One with "skipped", the
                reason why, is not stored, so that it is tried again next time.
            settings: what decides the outcome; a stored part made with others is refused.

        Returns:
            What `compute` gave, with "seconds" and "provenance" added.

        Raises:
            OutputError: the stored part is damaged or was made with other settings, or another
                process is at work on it.
            StoppedError: it is time to stop.
        """
        wanted = plain(settings or {})
        if self.has_part(key):
            return self._stored(key, wanted)
        self.check_stop()
        with self._alone(key):
            # Another process may have finished it while this one was at something else.
            if self.has_part(key):
                return self._stored(key, wanted)
            self.tell(f"computing {key}")
            started = time.perf_counter()
            result = compute()
            made: Record = {
                **result,
                "seconds": time.perf_counter() - started,
                "provenance": self.provenance(),
            }
            if "skipped" in result:
                return made
            document = {"key": key, "settings": wanted, "result": made}
            write_file(self.part_file(key), (json.dumps(document, indent=1) + "\n").encode())
        # As it will be read next time, so that an uninterrupted run gives the same record.
        return self._stored(key, wanted)

    def _stored(self, key: str, wanted: Any) -> Record:
        file = self.part_file(key)
        try:
            document = json.loads(file.read_bytes())
            settings, result = document["settings"], document["result"]
        except (OSError, ValueError, KeyError, TypeError):
            raise OutputError(
                f"{file}: is not a part of an experiment. Remove it to compute it again."
            ) from None
        if settings != wanted:
            changed = [k for k in {**settings, **wanted} if settings.get(k) != wanted.get(k)]
            raise OutputError(
                f"{file}: was computed with other settings ({', '.join(sorted(changed))}). Remove "
                "it to compute it again, and its folder under runs where the training is to be "
                "another one too; or give another folder."
            )
        made: Record = result
        return made

    @contextlib.contextmanager
    def _alone(self, key: str) -> Iterator[None]:
        """Hold a part for this process; the system lets go of it when the process ends."""
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
                    f"{self.part_file(key)}: another process is computing this part. Share the "
                    "parts out with --parts, or wait for it."
                ) from None
            yield

    # ------------------------------------------------------------------ what parts are made of

    def fit(
        self,
        key: str,
        graphs: Sequence[nx.Graph[Any]],
        *,
        source: str,
        seed: int,
        stop_at: int | None = None,
        **settings: Any,
    ) -> GraphGenerator:
        """Train a generator in the run folder of a part, going on from what lies there.

        Args:
            key: the part; its training gets a folder of that name.
            graphs: to train on.
            source: their name.
            seed: fixes weights, training and sampling.
            stop_at: train up to this step only; another call goes on.
            settings: `noise`, `network`, `training`, `sampling`, as for GraphGenerator. Number of
                steps and length of sampling are those of the scale if not given.

        Raises:
            StoppedError: it is time to stop; a checkpoint was written.
            OutputError: the training there is past `stop_at` already.
        """
        given = {**self.defaults(), **settings}
        generator = GraphGenerator(
            seed=seed,
            **given,
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
            should_stop=self.stop,
            stop_at=stop_at,
        )
        last = generator.settings.training.steps if stop_at is None else stop_at
        if generator.step > last:
            raise OutputError(
                f"{run}: was trained past step {last} already. Remove that folder and the parts of "
                f"{key} to compute them again."
            )
        if generator.step < last:
            raise StoppedError(
                f"stopped early at step {generator.step} of {key}; what is finished is kept in "
                f"{self.folder}. The same command goes on from there."
            )
        return generator

    def defaults(self, *, long: bool = False) -> dict[str, Any]:
        """Settings of a generator at this scale, as `fit` uses them where none are given.

        Args:
            long: train as long as models are whose samples are judged.
        """
        steps = {"steps": self.sizes.long_steps} if long else {}
        return {
            "network": dict(self.sizes.network),
            "training": dict(self.sizes.training) | steps,
            "sampling": dict(self.sizes.sampling),
        }

    def provenance(self) -> Record:
        """Where a number computed now comes from."""
        return provenance(str(self.torch_device))

    def tell(self, message: str) -> None:
        """Say on standard error what is going on."""
        if self.show_progress:
            import sys

            print(message, file=sys.stderr, flush=True)


def plain(value: Any) -> Any:
    """Return a value as JSON gives it back: lists for tuples, strings for keys."""
    return json.loads(json.dumps(value))
