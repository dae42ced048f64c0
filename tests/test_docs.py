"""The documents: links lead somewhere, and what they say of numbers is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from graphscore.diffusion.selection import GUIDANCE_WEIGHTS

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]


@pytest.mark.parametrize("page", sorted(PAGES), ids=lambda page: page.name)
def test_relative_links_resolve(page):
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", sorted(PAGES), ids=lambda page: page.name)
def test_links_to_headings_resolve(page):
    for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]*)\)", page.read_text(encoding="utf-8")):
        text = (page.parent / target if target else page).read_text(encoding="utf-8")
        headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
        names = {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}
        assert anchor in names, f"{target}#{anchor}"


def test_the_weights_of_guidance_are_those_of_the_page():
    """Which ones are tried, and that one of them is the model alone."""
    page = " ".join((ROOT / "docs/command-line.md").read_text(encoding="utf-8").split())
    named = re.search(r"chosen among ([\d., ]+) and (\d) by average MMD", page)
    assert named is not None
    weights = [float(weight) for weight in [*named[1].split(","), named[2]]]
    assert tuple(weights) == GUIDANCE_WEIGHTS
    assert weights[0] == 0
