"""Shared by text formats: UTF-8 decoding, and the limit on the declared number of nodes."""

from __future__ import annotations

from graphscore.errors import GraphDataError

MAX_DECLARED_NODES = 1_000_000
"""A few bytes can declare billions of nodes; above this limit a file is considered damaged."""


def decoded(data: bytes, source: str) -> str:
    """Return UTF-8 text, without a byte order mark.

    Raises:
        GraphDataError: the bytes are not UTF-8.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise GraphDataError(
            f"{source} line {line}: byte {data[error.start]:#04x} is not UTF-8 text. "
            "Check that this is a text file of the named format."
        ) from error


def check_declared(where: str, num_nodes: int) -> None:
    """Refuse too large sizes before memory is allocated for them.

    Raises:
        GraphDataError: more than `MAX_DECLARED_NODES` nodes.
    """
    if num_nodes > MAX_DECLARED_NODES:
        raise GraphDataError(
            f"{where}: declares {num_nodes} nodes, but at most {MAX_DECLARED_NODES} can be read. "
            "The line is probably damaged."
        )
