"""The program `graphscore`, also as `python -m graphscore`."""

from __future__ import annotations

import signal


def main() -> None:
    """Run one command; while the commands are still loaded, Ctrl-C just ends the program.

    When the command has ended, signals are ignored: its exit code stands.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from graphscore.cli.interrupt import ignore_signals
    from graphscore.cli.main import main as run

    try:
        run()
    finally:
        ignore_signals()


if __name__ == "__main__":
    main()
