"""The command line of the campaigns: repeat one attack, or write docs/reliability.md.

python -m campaigns NAME --json results/campaign_NAME.json
python -m campaigns page
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from campaigns import bombs, faults, fuzz, kills, mutants, page, strangers
from campaigns.outcome import ROOT, Outcome


class Campaign(Protocol):
    """A module of this package that can be run by its name."""

    HELP: str

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options of the campaign."""

    def run(self, given: argparse.Namespace) -> Outcome:
        """Attack, and say what failed."""


CAMPAIGNS: dict[str, Campaign] = {
    "bombs": bombs,
    "faults": faults,
    "fuzz": fuzz,
    "kills": kills,
    "mutants": mutants,
    "strangers": strangers,
}
"""One line per campaign."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one campaign; exit code 1 if more failed than is allowed."""
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(prog="python -m campaigns", description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="name", required=True)
    for name, campaign in CAMPAIGNS.items():
        command = commands.add_parser(name, help=campaign.HELP, description=campaign.HELP)
        command.add_argument("--json", type=Path, help="also write the record to this file")
        campaign.add_options(command)
    commands.add_parser("page", help="write docs/reliability.md from results/")
    given = parser.parse_args(tokens)
    if given.name == "page":
        page.render(ROOT / "results", ROOT / "docs")
        return 0
    outcome = CAMPAIGNS[given.name].run(given)
    for failure in outcome.failures:
        print(failure)
    print(
        f"{outcome.tried} {outcome.what}, {len(outcome.failures)} failed, {outcome.seconds:.0f} s"
    )
    if given.json is not None:
        where = next(k for k, token in enumerate(tokens) if token.startswith("--json"))
        del tokens[where : where + (1 if "=" in tokens[where] else 2)]  # others write elsewhere
        outcome.write(given.json, " ".join(["python -m campaigns", *tokens]))
    return 1 if len(outcome.failures) > outcome.allowed else 0


if __name__ == "__main__":
    sys.exit(main())
