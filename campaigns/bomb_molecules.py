"""Crafted files of molecules: SMILES and SDF."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from campaigns.bomb_parts import MB, Bomb, files


def _bonded(atoms: Sequence[str], bonds: Sequence[tuple[int, int]]) -> bytes:
    """Return SMILES whose atoms are joined by ring closures only."""
    closures = [""] * len(atoms)
    for number, ends in enumerate(bonds, start=1):
        for end in ends:
            closures[end] += f"%({number})"
    return ".".join(map("".join, zip(atoms, closures))).encode()


def _complete(number: int) -> bytes:
    return _bonded(["[U]"] * number, list(itertools.combinations(range(number), 2)))


def _grid(width: int, atom: str) -> bytes:
    across = [(k, k + 1) for k in range(width * width) if (k + 1) % width]
    down = [(k, k + width) for k in range(width * (width - 1))]
    return _bonded([atom] * (width * width), across + down)


def smiles() -> list[Bomb]:
    """Return SMILES."""
    return files(
        "smiles",
        "m.smi",
        {
            "a million carbons": lambda: b"C" * 10**6,
            "10,000 carbons": lambda: b"C" * 10_000,
            "10,000 carbons 100 times": lambda: (b"C" * 10_000 + b"\n") * 100,
            "a line of 60 MB": lambda: b"C" * (60 * MB),
            "a name of a million characters": lambda: b"C " + b"x" * 10**6,
            "3,333 levels": lambda: b"C(" * 3333 + b"C" + b")" * 3333,
            "10,000 open brackets": lambda: b"(" * 10_000,
            "an open atom": lambda: b"[" * 10_000,
            "complete graph of 40 atoms": lambda: _complete(40),
            "complete graph of 30 atoms": lambda: _complete(30),
            "complete graph of 30 atoms 50 times": lambda: (_complete(30) + b"\n") * 50,
            "grid of 20 times 20": lambda: _grid(20, "C"),
            "aromatic grid of 18 times 18": lambda: _grid(18, "c"),
            "1,250 benzenes": lambda: b"c1ccccc1" * 1250,
            "400 benzenes in a chain": lambda: b"c1ccccc1" * 400,
            "3,000 double bonds": lambda: b"C=C" * 3000,
            "1,000 centres": lambda: b"C[C@H](F)" * 1000,
            "a ring of 998 aromatic atoms": lambda: b"c1" + b"c" * 997 + b"1",
            "hydrogens": lambda: b"C" + b"([H])" * 1999,
            "hydrogens only": lambda: b"[H]" * 3333,
            "hydrogens, isotopes and charges of many digits": (
                lambda: b"[999999999999C]\n[CH99999999]\n[C+99999999]\n"
            ),
            "ring numbers of many digits": lambda: b"C%(999999999)CC%(999999999)\n",
            "five million molecules": lambda: b"C\n" * (5 * MB),
            "100,000 molecules": lambda: b"C\n" * 10**5,
            "50,000 parts": lambda: b".".join([b"C"] * 5000),
            "all charges of all elements": lambda: b"".join(
                b"[%s%+d]\n" % (element, charge)
                for element in (b"C", b"N", b"Fe", b"U", b"Og")
                for charge in range(-99, 100)
                if charge
            ),
            "NUL": lambda: b"C\0C\n",
            "60 MB of NUL": lambda: bytes(60 * MB),
            "60 MB of comments": lambda: b"#\n" * (30 * MB),
            "60 MB of line ends": lambda: b"\n" * (60 * MB),
            "other letters": lambda: "Cé\n".encode(),
            "not UTF-8": lambda: b"C\xff\n",
        },
    )


_ATOM = b"    0.0000    0.0000    0.0000 C   0  0  0  0  0  0  0  0  0  0  0  0\n"


def _v2000(atoms: int, bonds: Sequence[tuple[int, int]], end: bytes = b"M  END\n") -> bytes:
    counts = b"\n\n\n%3d%3d  0  0  0  0  0  0  0  0999 V2000\n" % (atoms, len(bonds))
    return counts + _ATOM * atoms + b"".join(b"%3d%3d  1  0\n" % pair for pair in bonds) + end


def _v3000(atoms: int, bonds: Sequence[tuple[int, int]], counted: int | None = None) -> bytes:
    counts = (atoms if counted is None else counted, len(bonds) if counted is None else counted)
    lines = [
        "\n\n\n  0  0  0     0  0            999 V3000\nM  V30 BEGIN CTAB",
        "M  V30 COUNTS {} {} 0 0 0\nM  V30 BEGIN ATOM".format(*counts),
        *(f"M  V30 {k + 1} U 0 0 0 0" for k in range(atoms)),
        "M  V30 END ATOM\nM  V30 BEGIN BOND",
        *(f"M  V30 {k + 1} 1 {u} {v}" for k, (u, v) in enumerate(bonds)),
        "M  V30 END BOND\nM  V30 END CTAB\nM  END\n",
    ]
    return "\n".join(lines).encode()


def _pairs(number: int) -> list[tuple[int, int]]:
    return list(itertools.combinations(range(1, number + 1), 2))


def sdf() -> list[Bomb]:
    """Return SDF."""
    return files(
        "sdf",
        "m.sdf",
        {
            "999 atoms, too short": lambda: b"\n\n\n999999  0  0  0  0  0  0  0  0999 V2000\n",
            "999 atoms without bonds": lambda: _v2000(999, []),
            "a chain of 999 atoms": lambda: _v2000(999, [(k, k + 1) for k in range(1, 999)]),
            "complete graph of 44 atoms": lambda: _v2000(44, _pairs(44)),
            "complete graph of 30 atoms": lambda: _v3000(30, _pairs(30)),
            "a billion atoms declared": lambda: _v3000(1, [], 10**9),
            "numbers of many digits": lambda: _v3000(1, [], 10**30),
            "20,000 atoms": lambda: _v3000(20_000, []),
            "10,000 atoms": lambda: _v3000(10_000, []),
            "a block of 60 MB": lambda: _v3000(1, []).replace(b"M  END\n", _ATOM * (60 * MB // 70)),
            "60 MB behind the molecule": lambda: _v2000(1, []) + b"> <x>\n" * (10 * MB),
            "a bond of an atom with itself": lambda: _v2000(1, [(1, 1)]),
            "a bond twice": lambda: _v2000(2, [(1, 2), (1, 2)]),
            "a bond to no atom": lambda: _v2000(1, [(1, 99)]),
            "charges of no atom": lambda: _v2000(1, [], b"M  CHG  8 999 999\nM  END\n"),
            "no end": lambda: _v2000(1, [], b""),
            "ten million records without a molecule": lambda: b"$$$$\n" * (10 * MB),
            "100,000 records": lambda: (_v2000(1, []) + b"$$$$\n") * 10**5,
            "NUL": lambda: _v2000(1, []).replace(b"C", b"\0"),
            "other letters": lambda: _v2000(1, []).replace(b"C", "é".encode()),
        },
    )
