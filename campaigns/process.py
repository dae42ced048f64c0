"""Work in a forked process of its own, with little time and memory."""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

ADDRESS_SPACE = 3_000_000_000
"""That the work may add, where the system can limit it."""


def in_a_process(work: Callable[[], dict[str, Any]], seconds: int) -> dict[str, Any]:
    """Do work in a forked process, without output.

    Args:
        work: returns what can be written as JSON.
        seconds: after which it is ended.

    Returns:
        What it returned, with the memory it took in bytes as `peak`; or what ended it, in words, as
        `error`.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        result: dict[str, Any] = {}
        try:
            result = _limited(work, seconds)
        except BaseException as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(where.filename).name}:{where.lineno}"
            result = {"error": f"{type(error).__name__} in {place}: {error!s:.100}"}
        finally:
            os.write(writer, json.dumps(result).encode()[:60_000])
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        content = stream.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        ended = signal.Signals(os.WTERMSIG(status)).name
        return {"error": f"hung for {seconds} s" if ended == "SIGALRM" else f"died of {ended}"}
    found: dict[str, Any] = json.loads(content)
    return found


def _limited(work: Callable[[], dict[str, Any]], seconds: int) -> dict[str, Any]:
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)
    # The default action ends the process, whatever it is waiting for.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)
    resident = _peak()
    if sys.platform == "linux":  # elsewhere the limit is refused or does nothing
        import resource

        page = resource.getpagesize()
        size, resident = (int(n) * page for n in Path("/proc/self/statm").read_text().split()[:2])
        resource.setrlimit(resource.RLIMIT_AS, (size + ADDRESS_SPACE, size + ADDRESS_SPACE))
    result = work()
    return {**result, "peak": max(0, _peak() - resident)}


def _peak() -> int:
    """Return the peak of this process's memory in bytes; Linux counts kilobytes."""
    import resource  # not on Windows

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
