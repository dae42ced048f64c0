"""What every test shares."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
import torch

from graphscore.cli.interrupt import STOP_SIGNALS

if not torch.cuda.is_available():
    # Triton decides when it is imported whether its kernels are compiled or interpreted.
    os.environ["TRITON_INTERPRET"] = "1"


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Tiny networks are several times faster on one thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def _no_signal_is_ignored() -> Iterator[None]:
    """As in a terminal: under nohup, or in the background, the tests would inherit some."""
    ignored = [n for n in STOP_SIGNALS if signal.getsignal(n) is signal.SIG_IGN]
    for number in ignored:
        usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, usual)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)
