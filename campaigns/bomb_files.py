"""Crafted graph files for the campaign `bombs`: each is small, or no file, and wants much."""

from __future__ import annotations

from campaigns import (
    bomb_archives,
    bomb_json,
    bomb_markup,
    bomb_molecules,
    bomb_others,
    bomb_texts,
)
from campaigns.bomb_parts import Bomb


def bombs() -> list[Bomb]:
    """Return all crafted files."""
    return [
        *bomb_texts.graph6(),
        *bomb_texts.sparse6(),
        *bomb_texts.gzipped(),
        *bomb_texts.edge_lists(),
        *bomb_markup.graphml(),
        *bomb_markup.graphml_texts(),
        *bomb_markup.gml(),
        *bomb_json.node_link(),
        *bomb_archives.npz(),
        *bomb_archives.attributes(),
        *bomb_texts.tu(),
        *bomb_molecules.smiles(),
        *bomb_molecules.sdf(),
        *bomb_others.others(),
    ]
