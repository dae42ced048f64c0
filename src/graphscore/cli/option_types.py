"""Types of options that several commands have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, Token


def whole_number(_: type, tokens: Sequence[Token]) -> int:
    """Convert to an integer; refuse fractions, which cyclopts would round."""
    (token,) = tokens
    try:
        return int(token.value)
    except ValueError:
        raise ValueError(f"expected a whole number, got {token.value!r}") from None


WholeNumber = Annotated[int, Parameter(converter=whole_number)]
"""`--number 1.5` is an error."""
Number = Annotated[WholeNumber, Parameter(name=("--number", "-n"))]
Flag = Annotated[bool, Parameter(negative="")]
"""On if given; there is no `--no-...`."""
Out = Annotated[Path, Parameter(name=("--out", "-o"))]
