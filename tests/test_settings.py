"""Settings: frozen, validated, and helpful about what is wrong."""

from __future__ import annotations

from typing import Literal

import pytest
from pydantic import Field, ValidationError

from graphscore.errors import GraphscoreError, SettingsError
from graphscore.settings import Settings


class Inner(Settings):
    learning_rate: float = Field(default=0.1, gt=0)
    steps: int = 10


class Outer(Settings):
    seed: int = 0
    name: str = ""
    widths: tuple[int, ...] = ()
    fast: bool = False
    mode: Literal["a", 1] = "a"
    inner: Inner = Inner()
    maybe: Inner | None = None


@pytest.mark.parametrize("key", ["lerning_rate", "learning_rat", "Learning_rate"])
def test_an_unknown_key_suggests_the_nearest(key):
    with pytest.raises(SettingsError) as caught:
        Inner(**{key: 1.0})
    assert str(caught.value) == f"unknown setting '{key}'; did you mean 'learning_rate'?"


def test_a_key_may_be_named_self():
    with pytest.raises(SettingsError, match="unknown setting 'self'"):
        Inner(self=1)


def test_a_hopeless_key_lists_what_is_known():
    with pytest.raises(
        SettingsError, match=r"unknown setting 'zzz'; known here: learning_rate, st"
    ):
        Inner(zzz=1)


@pytest.mark.parametrize("part", ["inner", "maybe"])
def test_nested_keys_are_named_with_their_path(part):
    """The message says in which section the key stands, and suggests from that section."""
    with pytest.raises(SettingsError) as caught:
        Outer(**{part: {"lerning_rate": 1.0}})
    message = str(caught.value)
    assert message == f"unknown setting '{part}.lerning_rate'; did you mean 'learning_rate'?"


def test_nested_values_are_named_with_their_path():
    with pytest.raises(SettingsError, match=r"setting 'inner\.learning_rate' = -1.*greater than 0"):
        Outer(inner={"learning_rate": -1})


def test_all_mistakes_are_listed_at_once():
    """One line each, at every depth, so that a file is mended in one go."""
    with pytest.raises(SettingsError) as caught:
        Outer(sed=1, inner={"stps": 2, "learning_rate": "fast"})
    message = str(caught.value)
    assert len(message.splitlines()) == 3
    for part in ("did you mean 'seed'", "did you mean 'steps'", "'fast'"):
        assert part in message


def test_no_more_than_ten_mistakes_are_listed():
    with pytest.raises(SettingsError) as caught:
        Outer(**{f"x{index}": 1 for index in range(11)})
    lines = str(caught.value).splitlines()
    assert len(lines) == 11
    assert lines[-1] == "... and 1 more."
    with pytest.raises(SettingsError) as caught:
        Outer(**{f"x{index}": 1 for index in range(10)})
    assert len(str(caught.value).splitlines()) == 10


def test_a_long_value_is_cut():
    with pytest.raises(SettingsError) as caught:
        Inner(steps="x" * 10**6)
    assert "'" + "x" * 199 + "...: " in str(caught.value)
    with pytest.raises(SettingsError, match="'" + "x" * 198 + "': "):
        Inner(steps="x" * 198)


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "fast", None])
def test_bad_values_are_named(value):
    """The message holds the key, the value, and what was expected."""
    with pytest.raises(SettingsError, match=r"setting 'learning_rate' = .*: Input should be"):
        Inner(learning_rate=value)


def test_frozen():
    """A setting cannot change after it was validated, nor be invented."""
    settings = Outer()
    with pytest.raises(ValidationError, match="frozen"):
        settings.seed = 3
    with pytest.raises(ValidationError, match="frozen"):
        settings.inner.steps = 3
    assert settings == Outer()


def test_replaced_is_a_validated_copy():
    settings = Outer(seed=1, inner=Inner(steps=3))
    changed = settings.replaced(seed=2)
    assert (changed.seed, changed.inner.steps, settings.seed) == (2, 3, 1)
    assert type(changed) is Outer
    assert type(changed.inner) is Inner
    with pytest.raises(SettingsError, match="did you mean 'seed'"):
        settings.replaced(sed=2)
    with pytest.raises(SettingsError, match="seed"):
        settings.replaced(seed="x")


def test_json_round_trip():
    """What a checkpoint stores gives the same settings again."""
    settings = Outer(seed=3, inner={"learning_rate": 0.123456789})
    assert Outer(**settings.model_dump(mode="json")) == settings


def test_settings_errors_are_graphscore_errors():
    """The command line prints them instead of a traceback."""
    assert issubclass(SettingsError, GraphscoreError)


def test_truth_values_and_texts_are_no_numbers():
    with pytest.raises(SettingsError) as caught:
        Outer(seed=True, widths=[1, "2", False], inner={"learning_rate": "0.1"})
    lines = str(caught.value).splitlines()
    assert [line.partition(": Input")[0] for line in lines] == [
        "setting 'seed' = True",
        "setting 'widths.1' = '2'",
        "setting 'widths.2' = False",
        "setting 'inner.learning_rate' = '0.1'",
    ]


def test_truth_values_and_texts_have_fields_of_their_own():
    given = {"name": "x", "widths": [1, 2], "fast": True, "mode": "a"}
    assert Outer(**given).model_dump(include=set(given)) == {**given, "widths": (1, 2)}
