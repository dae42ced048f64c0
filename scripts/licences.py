"""Check the licences of everything in requirements.lock.

    python -m scripts.licences

What graphscore needs at run time, the locked extras included, must be permissive. Tools of
developers may be under the MPL besides, which binds only changes of their own files. The extra pyg
is not locked, so it is not checked here; torch-geometric itself is under the MIT licence.
"""

from __future__ import annotations

import sys
from itertools import chain

from scripts.dependencies import all_locked, closure, licence_of, project
from scripts.lock import EXTRAS

SPDX = {
    *("0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause"),
    *("BSL-1.0", "CC0-1.0", "ISC", "MIT", "MIT-CMU", "PSF-2.0", "Python-2.0", "Unlicense", "Zlib"),
}
"""Identifiers of the SPDX list, and an exception of it."""
PERMISSIVE = SPDX | {
    # As classifiers and older metadata have them.
    *("3-Clause BSD License", "Apache Software License", "BSD License", "ISC License (ISCL)"),
    *("MIT License", "Python Software Foundation License"),
}
FOR_TOOLS = PERMISSIVE | {"MPL-2.0", "Mozilla Public License 2.0 (MPL 2.0)"}
STATED_ELSEWHERE = {"atheris": "Apache-2.0", "colorama": "BSD-3-Clause", "triton": "MIT"}
"""Of packages whose metadata have none, or that not every platform installs."""


def allowed(expression: str, known: set[str]) -> bool:
    """Return whether one alternative consists of these licences only.

    >>> allowed("MIT OR GPL-3.0-only", {"MIT"}), allowed("MIT AND GPL-3.0-only", {"MIT"})
    (True, False)
    """
    if "(" in expression:  # nested, and no package of ours has that: look at it by hand
        return expression in known
    return any(
        all(part in known for part in alternative.split(" AND "))
        for alternative in expression.split(" OR ")
    )


def licences() -> dict[str, dict[str, str]]:
    """Return the licence of every package of the lock, in groups: core, extras, tools."""
    groups = project()
    core = closure(groups["core"])
    extras = closure(chain.from_iterable(groups[extra] for extra in EXTRAS)) - core
    names = {"core": core, "extras": extras, "tools": set(all_locked()) - core - extras}
    return {
        group: {name: STATED_ELSEWHERE.get(name) or licence_of(name) for name in sorted(members)}
        for group, members in names.items()
    }


def refused(found: dict[str, dict[str, str]]) -> list[str]:
    """Return one line for each package whose licence is not allowed in its group."""
    return [
        f"{group}: {name} is under {licence!r}, which is not on the list in scripts/licences.py"
        for group, members in found.items()
        for name, licence in members.items()
        if not allowed(licence, FOR_TOOLS if group == "tools" else PERMISSIVE)
    ]


def main() -> int:
    found = licences()
    for group, members in found.items():
        print(f"{group}:")
        for name, licence in members.items():
            print(f"  {name}: {licence}")
    wrong = refused(found)
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"{len(list(chain(*found.values())))} packages, {len(wrong)} refused")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
