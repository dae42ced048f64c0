"""The process that fuzzes: all targets one after the other, coverage-guided where atheris is.

    python -m campaigns.fuzz_worker --seconds 60 --work FOLDER TARGET ...

It writes one JSON line per target to `report.jsonl` in the work folder. graphscore is imported
while atheris watches, and atheris ends its process, so each target runs in a fork of this one.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import re
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from campaigns.fuzz_targets import Target

MAX_BYTES = 4096
"""Of one input."""
MAX_CORPUS = 2000
"""Inputs that a target keeps."""
SLOW_SECONDS = 10.0
"""Processor time that one input may take."""
GRACE_SECONDS = 60.0
"""How long a fork may stay after its time."""
REPORT, FOUND, INPUT = "report.jsonl", "found", "input"


class Watch:
    """Runs inputs and keeps one input for each kind of failure, with its traceback.

    Args:
        name: of the target.
        target: what is called.
        found: folder for the inputs that fail.
        scratch: folder for the files of one input.
    """

    def __init__(self, name: str, target: Target, found: Path, scratch: Path) -> None:
        self.name, self.target, self.found, self.scratch = name, target, found, scratch
        self.known: set[str] = set()

    def __call__(self, data: bytes) -> str:
        """Run one input and return how it ended, without numbers and quoted parts."""
        from campaigns.fuzz_targets import attempt

        start = time.process_time()
        try:
            ending = attempt(self.target, data, self.scratch)
        except Exception as error:
            ending = f"{type(error).__name__} at {place(error)}"
            self.keep(data, ending, traceback.format_exc(limit=-12))
        seconds = time.process_time() - start
        if seconds > SLOW_SECONDS:
            self.keep(data, "slow", f"{seconds:.0f} s of processor time")
        return re.sub(r"'.*?'|\d+", "", ending)[:200]

    def keep(self, data: bytes, kind: str, text: str) -> None:
        """Keep the first input of its kind."""
        if kind not in self.known:
            self.known.add(kind)
            self.found.mkdir(parents=True, exist_ok=True)
            path = self.found / f"{self.name}-{hashlib.sha256(kind.encode()).hexdigest()[:8]}"
            path.write_bytes(data)
            path.with_name(path.name + ".txt").write_text(f"{kind}\n{text}\n", encoding="utf-8")


def place(error: BaseException) -> str:
    """Return the innermost line of graphscore, or of the targets, that an exception came from.

    >>> place(ValueError())
    'nowhere'
    """
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if re.search(r"graphscore|fuzz_targets", f.filename)]
    return f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "nowhere"


def mutated(data: bytes, other: bytes, words: tuple[bytes, ...], rng: random.Random) -> bytes:
    """Return an input after one to four small changes; `other` is spliced in now and then.

    >>> words = (b"word",)
    >>> len(mutated(b"x" * 10, b"y" * 10, words, random.Random(0))) <= MAX_BYTES
    True
    """
    for _ in range(rng.randint(1, 4)):
        start = rng.randint(0, len(data))
        stop = min(len(data), start + rng.choice((0, 1, 1, 2, 8, 64, MAX_BYTES)))
        fresh = rng.choice(
            (
                rng.randbytes(rng.randint(0, 4)),
                rng.choice(words),
                data[start:stop] * 2,
                other[rng.randint(0, len(other)) :],
                bytes([data[start] ^ (1 << rng.randrange(8))]) if start < len(data) else b"",
            )
        )
        data = data[:start] + fresh + data[stop:]
    return data[:MAX_BYTES]


def mutate(watch: Watch, seconds: float, work: Path) -> dict[str, Any]:
    """Fuzz without atheris: random mutations; an input that ends in a new way is kept."""
    from campaigns.fuzz_targets import WORDS

    rng = random.Random(watch.name)
    waiting, corpus, endings, executions = watch.target.seeds(), [b""], set[str](), 0
    end = time.monotonic() + seconds
    while waiting or time.monotonic() < end:
        seed = waiting.pop() if waiting else None
        words = WORDS + watch.target.words
        data = seed or mutated(rng.choice(corpus), rng.choice(corpus), words, rng)
        (work / INPUT).write_bytes(data)  # what to look at if it never comes back
        ending = watch(data)
        executions += 1
        if (seed or ending not in endings) and len(corpus) < MAX_CORPUS:
            corpus.append(data)
        endings.add(ending)
    return {"executions": executions, "features": len(endings)}


def guided(watch: Watch, seconds: float, work: Path) -> dict[str, Any]:
    """Fuzz with atheris, in forks; one that dies is followed by another while time is left."""
    corpus, log = work / "corpus", work / "log"
    corpus.mkdir()
    for number, seed in enumerate(watch.target.seeds()):
        (corpus / str(number)).write_bytes(seed)
    end, executions, features = time.monotonic() + seconds, 0, 0
    left = max(1, round(seconds))
    while left >= 1:
        status = in_fork(partial(atheris_process, watch, left, corpus, log), left)
        text = log.read_text(encoding="utf-8", errors="replace")
        done = re.findall(r"^#(\d+)\t|number_of_executed_units: (\d+)", text, re.MULTILINE)
        executions += max((int(a or b) for a, b in done), default=0)
        features = max([features, *map(int, re.findall(r" ft: (\d+)", text))])
        if status:
            last = re.findall(r"ERROR: libFuzzer: (.*)|SUMMARY: (.*)", text)
            kind = "died: " + re.sub(r"\d+", "", "".join(last[0]) if last else f"exit {status}")
            left_behind = sorted(work.glob("atheris-*"), key=lambda path: path.stat().st_mtime)
            data = left_behind[-1].read_bytes() if left_behind else b""
            watch.keep(data, kind, text[-2000:])
        left = round(end - time.monotonic())
    return {"executions": executions, "features": features}


def in_fork(run: Callable[[], None], seconds: float) -> int:
    """Run a function in a fork; return its exit status, -9 if it had to be killed."""
    child = os.fork()
    if not child:
        try:
            run()
        finally:
            os._exit(99)  # atheris ends the process itself
    end = time.monotonic() + seconds + GRACE_SECONDS
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -9


def atheris_process(watch: Watch, seconds: int, corpus: Path, log: Path) -> None:
    """Fuzz one target until the time is over; does not return."""
    import atheris

    from campaigns.fuzz_targets import WORDS

    words = log.with_name("words")
    quoted = ("".join(f"\\x{byte:02x}" for byte in word) for word in WORDS + watch.target.words)
    words.write_text("".join(f'"{word}"\n' for word in quoted), encoding="ascii")
    with log.open("wb") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)

    def run(data: bytes) -> None:
        watch(data)

    options = [f"-max_total_time={seconds}", f"-max_len={MAX_BYTES}", f"-dict={words}"]
    options += ["-timeout=30", "-rss_limit_mb=2048", "-print_final_stats=1", "-reload=0"]
    options += [f"-artifact_prefix={log.with_name('atheris-')}", str(corpus)]
    atheris.Setup(["fuzz", *options], run)
    atheris.Fuzz()


@contextlib.contextmanager
def watched_imports(guide: bool) -> Iterator[None]:
    """Have atheris count the branches of what is imported inside."""
    if not guide:
        yield
        return
    import atheris

    with (
        open(os.devnull, "w") as nowhere,
        contextlib.redirect_stderr(nowhere),
        atheris.instrument_imports(include=["graphscore", "tomllib"]),
    ):
        yield


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="+")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--guided", action="store_true")
    given = parser.parse_args(arguments)
    with watched_imports(given.guided):
        from campaigns.fuzz_targets import targets
    known = targets()
    for name in given.names:
        with tempfile.TemporaryDirectory(dir=given.work) as folder:
            work, scratch = Path(folder), Path(folder, "scratch")
            scratch.mkdir()
            watch = Watch(name, known[name], given.work / FOUND, scratch)
            fuzz = guided if given.guided else mutate
            row = fuzz(watch, given.seconds / len(given.names), work)
        with (given.work / REPORT).open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({"target": name, **row}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
