"""Arguments of a constructor by name, as scikit-learn's tools read, change and copy them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Self

from graphscore.settings import Settings

SEPARATOR = "__"
"""Between the name of a section and that of a setting in it."""


class Parameters:
    """`get_params` and `set_params`; `sklearn.base.clone` works with them."""

    def _arguments(self) -> dict[str, Any]:
        """Return the arguments of the constructor, as they were given."""
        raise NotImplementedError

    def _take_over(self, made: Self) -> None:
        """Become as one that was just made, but for what was learned."""
        raise NotImplementedError

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the arguments of the constructor.

        Args:
            deep: with each setting in a section as an argument of its own, "training__steps".
        """
        found = self._arguments()
        if deep:
            for section, values in list(found.items()):
                if isinstance(values, Mapping | Settings):
                    for name, value in _settings(values).items():
                        found[f"{section}{SEPARATOR}{name}"] = value
        return found

    def set_params(self, **params: Any) -> Self:
        """Change arguments of the constructor; nothing is changed if one is refused.

        Settings hold from the next `fit` on. What was learned stays until then.

        Args:
            params: as of the constructor, or single settings, such as `training__steps=500`.

        Raises:
            SettingsError: a setting is unknown or out of range.
        """
        changed = self._arguments()
        for name, value in params.items():
            section, _, setting = name.partition(SEPARATOR)
            if setting:
                changed[section] = {**_settings(changed.get(section)), setting: value}
            else:
                changed[name] = value
        self._take_over(type(self)(**changed))
        return self

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn's tools ask of an object that is none of theirs."""
        utils = import_module("sklearn.utils")
        return utils.Tags(estimator_type=None, target_tags=utils.TargetTags(required=False))


def _settings(section: Any) -> dict[str, Any]:
    """Return the settings of a section by name."""
    if isinstance(section, Settings):
        return section.model_dump()
    return dict(section or {})
