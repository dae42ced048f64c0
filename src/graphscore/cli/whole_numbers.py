"""Whole numbers on the command line: 1.5 graphs are an error, not 2 graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter, Token


def whole_number(_: type, tokens: Sequence[Token]) -> int:
    """Read a number; what the command line's own reading would round is refused."""
    (token,) = tokens
    try:
        return int(token.value)
    except ValueError:
        raise ValueError(f"expected a whole number, got {token.value!r}") from None


WholeNumber = Annotated[int, Parameter(converter=whole_number)]
