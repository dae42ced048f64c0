"""Numbers of nodes in the text of an option."""

from __future__ import annotations

import re


def parsed_sizes(option: str, text: str) -> list[int]:
    """Return the numbers in a text such as 24, 20-30 or 20,25,30.

    >>> parsed_sizes("--nodes", "4-6,9")
    [4, 5, 6, 9]
    """
    from graphscore.errors import SettingsError
    from graphscore.models.request import check_nodes
    from graphscore.settings import quoted

    sizes: list[int] = []
    for part in text.split(","):
        found = re.fullmatch(r" *([0-9]{1,99}) *(?:- *([0-9]{1,99}) *)?", part)
        least, most = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if not 1 <= least <= most:
            raise SettingsError(
                f"{option} {quoted(text)}: give a number of nodes of at least 1, a range or "
                "several, such as 24, 20-30 or 20,25,30."
            )
        check_nodes(most)
        sizes += range(least, most + 1)
    return sizes
