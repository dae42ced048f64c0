"""Small changes of Python code, one at a time: what mutation testing tries.

`mutations` lists every change of a module, `mutated` makes one of them. Left alone are docstrings,
annotations, decorators, messages of errors and warnings, progress, f-strings, assertions, what only
a CUDA device runs, and arguments that change speed or wording only.
"""

from __future__ import annotations

import ast
import builtins
import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_PAIRS = (
    "min max",
    "any all",
    "minimum maximum",
    "amin amax",
    "argmin argmax",
    "clamp_min clamp_max",
    "floor ceil",
    "zeros ones",
    "zeros_like ones_like",
    "triu tril",
    "logical_and logical_or",
    "startswith endswith",
    "append extend",
    "sum mean",
)
NAMES = {a: b for pair in _PAIRS for a, b in (pair.split(), pair.split()[::-1])}
"""Functions that are called in place of each other."""
SILENT = {"progress", "update", "print", "cast", "TypeVar", "getLogger"}
"""Calls that are left alone: they show something, or exist for the type checker."""
NEUTRAL = {"stacklevel", "non_blocking", "copy", "pin_memory", "maxsize", "strict", "description"}
"""Keyword arguments of calls that change speed or wording, or check the code itself."""
RESHAPING = {"reshape", "view"}
DEVICES = {"cuda", "mps", "is_cuda"}
_WHOLE = (ast.Assert, ast.Import, ast.ImportFrom, ast.JoinedStr, ast.Delete, ast.Global)
_UNTOUCHED = {
    ast.AnnAssign: {"annotation", "target"},
    ast.arg: {"annotation"},
    ast.FunctionDef: {"returns", "decorator_list", "type_params"},
    ast.ClassDef: {"bases", "keywords", "decorator_list", "type_params"},
}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Mutation:
    """One change of a module.

    Attributes:
        line: where it is.
        before: the changed code.
        after: what it becomes.
        first: first line whose execution runs the code; of a default value, of the function's body.
        last: last such line.
        in_function: tests run it, not only the import of the module.
    """

    line: int
    before: str
    after: str
    first: int
    last: int
    in_function: bool


@dataclass(frozen=True)
class _Place:
    """Where a node is: how it is replaced, and which lines run it."""

    parent: ast.AST
    field: str
    index: int | None
    first: int = 0
    last: int = 0
    in_function: bool = False

    def put(self, node: ast.AST) -> None:
        """Replace the node that is here."""
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


@dataclass(frozen=True)
class _Change:
    node: ast.AST
    after: ast.AST
    place: _Place

    def described(self) -> Mutation:
        """Return what is changed, in words."""
        before, after = self.node, self.after
        if isinstance(before, ast.If | ast.While):
            before, after = before.test, getattr(after, "test", after)
        elif isinstance(before, ast.Constant) and not hasattr(self.place.parent, "body"):
            before = self.place.parent  # a number alone says little
            after = copy.deepcopy(before)
            replace(self.place, parent=after).put(self.after)
        line = getattr(self.node, "lineno", self.place.first)
        return Mutation(
            line,
            _text(before),
            _text(after),
            self.place.first,
            self.place.last,
            self.place.in_function,
        )


def mutations(source: str) -> list[Mutation]:
    """Return every change of a module, in the order of its code.

    >>> for change in mutations("def larger(a, b):\\n    return a > b\\n"):
    ...     print(f"{change.line}: {change.before} -> {change.after}")
    2: return a > b -> return None
    2: a > b -> a >= b
    """
    return [change.described() for change in _changes(ast.parse(source))]


def mutated(source: str, number: int) -> ast.Module:
    """Return the syntax tree of a module with one of its `mutations`.

    >>> ast.unparse(mutated("x = 1 + y", 0))
    'x = 1 - y'
    """
    tree = ast.parse(source)
    change = list(_changes(tree))[number]
    after = ast.copy_location(change.after, change.node)
    change.place.put(after)
    return ast.fix_missing_locations(tree)


def _text(node: ast.AST) -> str:
    """Return code on one line, in short."""
    text = " ".join(ast.unparse(ast.fix_missing_locations(node)).split())
    return text if len(text) <= 100 else f"{text[:97]}..."


def _changes(tree: ast.Module) -> Iterator[_Change]:
    yield from _children(tree, _Place(tree, "body", None))


def _visit(node: ast.AST, place: _Place) -> Iterator[_Change]:
    """Yield the changes of a node and of what is in it."""
    if _left_alone(node):
        return
    if isinstance(node, ast.stmt):
        place = _lines(node, place)
    for after in _replacements(node, place.parent):
        yield _Change(node, after, place)
    yield from _children(node, place)


def _children(node: ast.AST, place: _Place) -> Iterator[_Change]:
    untouched = _UNTOUCHED.get(type(node), set())
    if isinstance(node, ast.Raise):
        return  # what it says is a message
    if isinstance(node, ast.If | ast.IfExp) and _mentions(node.test, {*DEVICES, "TYPE_CHECKING"}):
        untouched = {"test", "body"}
    if isinstance(node, ast.Call) and _called(node) in RESHAPING:
        untouched = {"args"}  # -1 is the length that is left, and -2 may be too
    for field, value in ast.iter_fields(node):
        if field in untouched:
            continue
        inside = place
        if isinstance(node, _FUNCTIONS):
            body = node.body
            inside = replace(
                place,
                first=body[0].lineno,
                last=body[-1].end_lineno or body[-1].lineno,
                in_function=True,
            )
        for index, child in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(child, ast.AST):
                at = index if isinstance(value, list) else None
                yield from _visit(child, replace(inside, parent=node, field=field, index=at))


def _lines(node: ast.stmt, place: _Place) -> _Place:
    """Return the place with the lines of a statement; of a compound one, of its head."""
    last = node.end_lineno or node.lineno
    body = getattr(node, "body", None)
    if body:
        last = max(node.lineno, body[0].lineno - 1)
    return replace(place, first=node.lineno, last=last)


def _left_alone(node: ast.AST) -> bool:
    """Return whether nothing is changed in a node."""
    if isinstance(node, _WHOLE):
        return True
    if isinstance(node, ast.Raise):
        return node.exc is not None and _name(node.exc) == "NotImplementedError"
    if isinstance(node, ast.Expr):
        value = node.value
        return isinstance(value, ast.Constant) or (
            isinstance(value, ast.Call) and _called(value) in SILENT
        )
    if isinstance(node, ast.Assign):
        return any(_name(target) == "__all__" for target in node.targets)
    if isinstance(node, ast.ClassDef):
        return any(_name(base) == "Protocol" for base in node.bases)
    if isinstance(node, ast.keyword):
        return node.arg in NEUTRAL
    if isinstance(node, _FUNCTIONS):
        return any(_name(mark) == "overload" for mark in node.decorator_list)
    if isinstance(node, ast.Call):
        name = _called(node)
        return name in SILENT or name.endswith(("Error", "Warning"))
    return False


def _replacements(node: ast.AST, parent: ast.AST) -> Iterator[ast.AST]:
    """Yield what a node may become."""
    match node:
        case ast.stmt():
            yield from _other_statements(node, parent)
        case ast.Compare() | ast.BoolOp() | ast.UnaryOp() if not _mentions(node, DEVICES):
            yield from _other_conditions(node)
        case ast.BinOp() if not _is_type(node):
            if other := ARITHMETIC.get(type(node.op)):
                yield ast.BinOp(node.left, other(), node.right)
        case ast.Constant():
            yield from _other_constants(node, parent)
        case ast.Slice():
            for part in ("lower", "upper", "step"):
                if getattr(node, part) is not None:
                    shorter = ast.Slice(node.lower, node.upper, node.step)
                    setattr(shorter, part, None)
                    yield shorter
        case ast.Call():
            yield from _other_calls(node)
        case ast.comprehension():
            for index in range(len(node.ifs)):
                ifs = [each for place, each in enumerate(node.ifs) if place != index]
                yield ast.comprehension(node.target, node.iter, ifs, node.is_async)
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        plain = isinstance(node.test, ast.Name | ast.Call | ast.Attribute)
        if plain and not _mentions(node.test, {*DEVICES, "TYPE_CHECKING"}):
            opposite = copy.copy(node)
            opposite.test = ast.UnaryOp(ast.Not(), node.test)
            yield opposite


def _other_statements(node: ast.stmt, parent: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Expr(value=ast.Call()) | ast.Raise():
            yield ast.Pass()
        case ast.AugAssign():
            if other := ARITHMETIC.get(type(node.op)):
                yield ast.AugAssign(node.target, other(), node.value)
            yield ast.Assign([node.target], node.value)
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()
        case ast.Return(value=ast.expr() as value):
            if not (isinstance(value, ast.Constant) and value.value is None):
                yield ast.Return(ast.Constant(None))
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()


def _other_conditions(node: ast.Compare | ast.BoolOp | ast.UnaryOp) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare):
        for index, op in enumerate(node.ops):
            ops = list(node.ops)
            ops[index] = COMPARISONS[type(op)]()
            yield ast.Compare(node.left, ops, node.comparators)
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield ast.BoolOp(other, node.values)
    elif not isinstance(node.op, ast.UAdd):
        yield node.operand


def _other_constants(node: ast.Constant, parent: ast.AST) -> Iterator[ast.AST]:
    value = node.value
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int | float):
        yield ast.Constant(value + 1)
        if isinstance(value, int) and value == 1:
            yield ast.Constant(0)
    elif isinstance(value, str) and re.fullmatch(r"[A-Za-z_][\w.-]*", value):
        is_key = isinstance(parent, ast.Subscript | ast.Compare) or (
            isinstance(parent, ast.Dict) and any(node is key for key in parent.keys)
        )
        if is_key and value not in DEVICES:
            yield ast.Constant(f"{value}_")


def _other_calls(node: ast.Call) -> Iterator[ast.AST]:
    other = NAMES.get(_called(node))
    if other is None:
        return
    if isinstance(node.func, ast.Name) and other in dir(builtins):
        yield ast.Call(ast.Name(other, ast.Load()), node.args, node.keywords)
    elif isinstance(node.func, ast.Attribute):
        func = ast.Attribute(node.func.value, other, ast.Load())
        yield ast.Call(func, node.args, node.keywords)


def _name(node: ast.AST) -> str:
    """Return the last part of a dotted name, also of what is subscripted or called."""
    while isinstance(node, ast.Subscript | ast.Call):
        node = node.value if isinstance(node, ast.Subscript) else node.func
    return getattr(node, "attr", getattr(node, "id", ""))


def _called(node: ast.Call) -> str:
    """Return the name of the function; a method `update` is no progress."""
    if isinstance(node.func, ast.Attribute):
        return "" if node.func.attr in SILENT else node.func.attr
    return _name(node.func)


def _mentions(node: ast.AST, names: set[str]) -> bool:
    """Return whether one of the names occurs in a node, as a name, an attribute or a text."""
    return any(
        (isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value in names)
        or getattr(part, "attr", None) in names
        or getattr(part, "id", None) in names
        for part in ast.walk(node)
    )


def _is_type(node: ast.BinOp) -> bool:
    """Return whether a node is a union of types, such as `int | None` in isinstance."""
    return isinstance(node.op, ast.BitOr) and all(
        (isinstance(side, ast.Constant) and side.value is None)
        or _name(side)[:1].isupper()
        or _name(side) in {"int", "float", "str", "bool", "list", "tuple", "dict", "set", "bytes"}
        for side in (node.left, node.right)
    )
