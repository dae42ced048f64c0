"""The base class of all settings: frozen, validated when made, unknown keys refused.

The settings themselves live beside what they set; `config.py` composes them into those of a run.
"""

from __future__ import annotations

import difflib
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from graphscore.errors import SettingsError


class Settings(BaseModel):
    """Frozen settings; anything wrong raises `SettingsError` naming the key and the remedy."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise SettingsError(_describe(error, type(self))) from None

    # pydantic calls an overridden __init__ for nested models too, and their errors would then lose
    # the path; this mark, which pydantic puts on its own, says that validation may go around it.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    def replaced(self, **changes: Any) -> Any:
        """Return a copy with some fields changed, validated like a new one."""
        return type(self)(**{**self.model_dump(), **changes})


def _fields_at(model: type[BaseModel], path: tuple[int | str, ...]) -> list[str]:
    """Names that were allowed at the place of an unknown key."""
    current: type[BaseModel] = model
    for key in path:
        field = current.model_fields.get(str(key))
        if field is None:
            return []
        candidates = (field.annotation, *get_args(field.annotation))
        nested = [c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel)]
        if not nested:
            return []
        current = nested[0]
    return list(current.model_fields)


def _describe(error: ValidationError, model: type[BaseModel]) -> str:
    lines = []
    for item in error.errors():
        where = ".".join(str(part) for part in item["loc"]) or model.__name__
        if item["type"] == "extra_forbidden":
            allowed = _fields_at(model, item["loc"][:-1])
            near = difflib.get_close_matches(str(item["loc"][-1]), allowed, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known here: {', '.join(allowed)}."
            lines.append(f"unknown setting {where!r}; {hint}")
        else:
            message = item["msg"].removeprefix("Value error, ")
            lines.append(f"setting {where!r} = {item['input']!r}: {message}.")
    return "\n".join(lines)
