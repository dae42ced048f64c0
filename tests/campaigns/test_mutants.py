"""Mutation testing: what is changed and what is left alone, and a run on a small package."""

from __future__ import annotations

import ast
import os

import pytest

from campaigns import mutants
from campaigns.mutants import Project
from campaigns.mutation import mutated, mutations


def changes(source):
    return {(change.before, change.after) for change in mutations(source)}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a < b", {("a < b", "a <= b")}),
        ("x = a >= b > c", {("a >= b > c", "a > b > c"), ("a >= b > c", "a >= b >= c")}),
        ("x = a == b", {("a == b", "a != b")}),
        ("x = a is None", {("a is None", "a is not None")}),
        ("x = a not in b", {("a not in b", "a in b")}),
        ("x = a + b", {("a + b", "a - b")}),
        ("x = a * b", {("a * b", "a / b")}),
        ("x = a // b", {("a // b", "a * b")}),
        ("x = a & b", {("a & b", "a | b")}),
        ("x = a @ b", set()),
        ("x = a and b", {("a and b", "a or b")}),
        ("x = not a", {("not a", "a")}),
        ("x = -a", {("-a", "a")}),
        ("x = f(3)", {("f(3)", "f(4)")}),
        ("x = f(1)", {("f(1)", "f(2)"), ("f(1)", "f(0)")}),
        ("x = f(True)", {("f(True)", "f(False)")}),
        ("x = f(0.5)", {("f(0.5)", "f(1.5)")}),
        ("x = a['key']", {("a['key']", "a['key_']")}),
        ("x = {'key': 'value'}", {("{'key': 'value'}", "{'key_': 'value'}")}),
        ("x = a == 'name'", {("a == 'name'", "a != 'name'"), ("a == 'name'", "a == 'name_'")}),
        ("x = f('text')", set()),
        ("x = a[b:c]", {("b:c", ":c"), ("b:c", "b:")}),
        ("x = max(a, b)", {("max(a, b)", "min(a, b)")}),
        ("x = a.any()", {("a.any()", "a.all()")}),
        ("x = [a for a in b if c(a)]", {("for a in b if c(a)", "for a in b")}),
        ("x += a", {("x += a", "x -= a"), ("x += a", "x = a")}),
        ("f(x)", {("f(x)", "pass")}),
        ("x.y = z", {("x.y = z", "pass")}),
        ("raise ValueError('no 1')", {("raise ValueError('no 1')", "pass")}),
        ("if a: b = c", {("a", "not a")}),
        ("while True:\n break", {("True", "False"), ("break", "continue")}),
        ("def f(): return x", {("return x", "return None")}),
        ("def f(a=True, *, b=None): b = a", {("a=True, *, b=None", "a=False, *, b=None")}),
    ],
)
def test_what_is_changed(source, expected):
    assert {(a.strip(), b.strip()) for a, b in changes(source)} == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""A text of 1 line."""',
        'def f():\n    """A text."""',
        "x: Annotated[int, 3]",
        "def f(x: Literal[1]) -> Literal[2]: pass",
        "@lru_cache(maxsize=1)\ndef f(): pass",
        "class A(B, frozen=True): pass",
        "x = ValueError(1 + y)",
        "x = f'{1 + y} of 3'",
        "assert x == 1",
        "__all__ = ['a', 1]",
        "if TYPE_CHECKING:\n    x = 1",
        "if device.type == 'cuda':\n    x = 1",
        "x = device.type == 'cuda'",
        "update(1, note)",
        "with progress('some', 3) as update: pass",
        "x = isinstance(y, int | None)",
        "class A(Protocol):\n    x = 1",
        "x = zip(a, b, strict=True)",
        "x = y.reshape(-1, 8)",
        "def f(): raise NotImplementedError",
    ],
)
def test_what_is_left_alone(source):
    assert changes(source) == set()


def test_a_message_is_left_alone_but_not_the_refusal():
    source = "def f(x):\n    if x < 1:\n        raise ValueError('give at least', 1 + 0)\n"
    assert {after for _, after in changes(source)} == {"x <= 1", "x < 2", "x < 0", "pass"}


def test_the_lines_that_run_a_change():
    source = "LIMIT = 3\n\ndef f(x=4):\n    y = (x +\n         5)\n    return y\n"
    where = {change.before: change for change in mutations(source)}
    assert not where["LIMIT = 3"].in_function
    default, plus = where["x=4"], where["x + 5"]
    assert (default.line, default.first, default.last) == (3, 4, 6)
    assert (plus.line, plus.first, plus.last) == (5, 4, 5)
    assert default.in_function
    assert plus.in_function


def test_every_mutant_is_another_program_that_compiles():
    source = "def f(a, b=2):\n    if a > b and a:\n        return [a][1:]\n    raise ValueError\n"
    original = ast.unparse(ast.parse(source))
    texts = {ast.unparse(mutated(source, number)) for number in range(len(mutations(source)))}
    assert len(texts) == len(mutations(source))
    assert original not in texts
    for text in texts:
        compile(text, "mutant", "exec")


@pytest.fixture
def project(tmp_path):
    files = {
        "src/toy/__init__.py": "",
        "src/toy/strong.py": "def larger(a, b):\n    return a if a > b else b\n",
        "src/toy/weak.py": "def larger(a, b):\n    return a if a > b else b\n\n\n"
        "def never_run(a):\n    return a + a\n",
        "src/toy/slow.py": "from itertools import count\n\n\n"
        "def first():\n    for n in count():\n        break\n    return n\n",
        "tests/test_strong.py": "from toy.strong import larger\n\n"
        "def test_larger():\n    assert [larger(2, 1), larger(1, 2)] == [2, 2]\n"
        "    assert larger(1, 1.0) is not 1\n",
        "tests/test_weak.py": "import pytest\nfrom toy.weak import larger\n\n"
        "@pytest.fixture(scope='module')\ndef result():\n    return larger(2, 1)\n\n"
        "def test_runs(result):\n    pass\n\n"
        "def test_type(result):\n    assert isinstance(result, int)\n",
        "tests/test_slow.py": "from toy.slow import first\n\n"
        "def test_first():\n    assert first() == 0\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    parts = {"strong": ("strong.py",), "weak": ("weak.py",), "slow": ("slow.py",)}
    return Project(tmp_path, "toy", parts)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks processes")
def test_a_run_finds_what_tests_do_not_notice(project, monkeypatch):
    monkeypatch.setattr(mutants, "PROCESSOR_SECONDS", 1)
    outcome = mutants.attack(
        project, list(project.parts), number=99, seed=0, workers=1, allowed=0.0
    )
    assert outcome.rows["strong"] == {"mutants": 2, "survived": 0, "share": 0.0}
    assert outcome.rows["slow"] == {"mutants": 2, "survived": 0, "share": 0.0}  # one never ends
    assert outcome.failures == [
        "src/toy/weak.py:2: a > b -> a >= b",
        "src/toy/weak.py:6: a + a -> a - a (no test runs it)",
        "src/toy/weak.py:6: return a + a -> return None (no test runs it)",
    ]
    assert outcome.tried == sum(row["mutants"] for row in outcome.rows.values())
    assert outcome.allowed == 0
    assert (project.root / ".mutants").is_dir()
