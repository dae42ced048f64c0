"""Settings of denoising: their values if not given, and those that are refused."""

from __future__ import annotations

import pytest

from graphscore.diffusion import DenoisingSettings
from graphscore.errors import SettingsError


@pytest.mark.parametrize(
    ("values", "message"),
    [({"loss": "absolute"}, "loss"), ({"los": "squared"}, "did you mean 'loss'")],
    ids=str,
)
def test_settings_are_validated(values, message):
    with pytest.raises(SettingsError, match=message):
        DenoisingSettings(**values)


def test_settings_if_not_given():
    assert DenoisingSettings() == DenoisingSettings(loss="cross-entropy", half_precision=True)
