"""docs/settings.md: it names every setting, its default, and the values that are accepted."""

from __future__ import annotations

import re
import tomllib

import pytest

from graphscore.errors import SettingsError
from scripts.settings_page import PAGE, SECTIONS, page


def documented():
    """{section: {setting: (default, values)}}, both as they are written."""
    sections = {}
    for part in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.M)[1:]:
        title, text = part.split("\n", 1)
        rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \| .+ \|$", text, flags=re.M)
        sections[title] = {name: (default, values) for name, default, values in rows}
    return sections


ROWS = [
    (section, name, *row) for section, rows in documented().items() for name, row in rows.items()
]


def accepted(section, name, value):
    """Whether a value alone is within the bounds, whatever other settings have to say."""
    try:
        SECTIONS[section](**{name: value})
    except SettingsError as error:
        return "Input should be" not in str(error)
    return True


def test_the_page_is_up_to_date():
    """If not: python -m scripts.settings_page."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_setting_is_on_the_page():
    fields = {section: set(settings.model_fields) for section, settings in SECTIONS.items()}
    assert {section: set(rows) for section, rows in documented().items()} == fields


@pytest.mark.parametrize(("section", "name", "default", "values"), ROWS)
def test_defaults_are_those_of_the_page(section, name, default, values):
    found = getattr(SECTIONS[section](), name)
    if default == "none":
        assert found is None
    else:
        written = tomllib.loads(f"value = {default.strip('`')}")["value"]
        assert (list(found) if isinstance(found, tuple) else found) == written
        assert type(found) is type(written) or isinstance(found, tuple)


@pytest.mark.parametrize(("section", "name", "default", "values"), ROWS)
def test_bounds_are_those_of_the_page(section, name, default, values):
    step = 1 if default.strip("`").isdigit() else 1e-9
    for words, bound in re.findall(r"(?<!each )(at least|above|below) ([\d.]+)", values):
        number = float(bound) if step < 1 else int(bound)
        inside = {"at least": number, "above": number + step, "below": number - step}[words]
        outside = {"at least": number - step, "above": number, "below": number}[words]
        assert accepted(section, name, inside)
        assert not accepted(section, name, outside)
    for high in re.findall(r"above 0, to ([\d.]+)", values):
        assert accepted(section, name, float(high))
        assert not accepted(section, name, float(high) + 1)
    for low, high in re.findall(r"(?<!each )from ([\d.]+) to ([\d.]+)", values):
        ends = (float(low), float(high)) if step < 1 else (int(low), int(high))
        assert all(accepted(section, name, end) for end in ends)
        assert not accepted(section, name, ends[0] - step)
        assert not accepted(section, name, ends[1] + 1)


@pytest.mark.parametrize(
    ("section", "name", "value"),
    [
        ("network: edp-gnn", "channels", lambda length: [1] * length),
        ("noise of an EDP-GNN", "sigmas", lambda length: [2 - k / length for k in range(length)]),
        ("sampling: langevin", "sigmas", lambda length: [2 - k / length for k in range(length)]),
    ],
)
def test_lengths_are_those_of_the_page(section, name, value):
    (longest,) = re.findall(r"^at most (\d+), ", documented()[section][name][1])
    assert len(getattr(SECTIONS[section](**{name: value(int(longest))}), name)) == int(longest)
    with pytest.raises(SettingsError, match=f"at most {longest}"):
        SECTIONS[section](**{name: value(int(longest) + 1)})


@pytest.mark.parametrize(("section", "name", "default", "values"), ROWS)
def test_choices_are_those_of_the_page(section, name, default, values):
    choices = [choice.strip('"') for choice in re.findall(r'`("[^`]*")`', values)]
    if choices:
        assert all(accepted(section, name, choice) for choice in choices)
        with pytest.raises(SettingsError) as refused:
            SECTIONS[section](**{name: "something else"})
        assert set(choices) == set(re.findall(r"'([\w-]+)'", str(refused.value))) - {name}


@pytest.mark.parametrize("section", ["noise of a denoiser", "guide"])
def test_ranges_of_noise_must_rise(section):
    with pytest.raises(SettingsError, match="sigma_min must be below sigma_max"):
        SECTIONS[section](sigma_min=0.5, sigma_max=0.5)
    assert SECTIONS[section](sigma_min=0.5, sigma_max=0.5 + 1e-9).sigma_max > 0.5


@pytest.mark.parametrize("section", ["noise of an EDP-GNN", "sampling: langevin"])
def test_levels_of_noise_must_fall(section):
    assert SECTIONS[section](sigmas=[1e6, 0.5, 1e-6]).sigmas == (1e6, 0.5, 1e-6)
    for wrong in ([0.5, 0.5], [0.1, 0.2], [0.5, 9e-7], [2e6, 1], []):
        with pytest.raises(SettingsError, match="sigmas"):
            SECTIONS[section](sigmas=wrong)
