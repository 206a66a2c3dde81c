"""Small changes of the product, each of which a test should notice.

A comparison or `and` becomes its neighbour, a condition is always true or always false, `not` goes, a number is one
more, a key has another name, a table loses a row, a statement or `yield` does nothing, a function returns nothing.
Imports, types, docstrings, f-strings, other texts, and assertions such as `strict=True` stay as they are.
"""

from __future__ import annotations

import ast
import functools
import random
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = Path("generator") / "bayplan"


class Mutant(NamedTuple):
    """One change of one file."""

    path: Path
    """The file, from the root of the checkout."""
    place: slice
    """The bytes of the file that change."""
    text: bytes
    """What they become."""
    lines: range
    function: range | None
    """The lines of the function around it; none where it runs when the module is imported."""
    name: str
    """What the statement of the module around it defines."""
    change: str
    """How it is shown."""

    def __str__(self) -> str:
        return f"{self.path}:{self.lines.start}: {self.change}"


PAIRS = (
    (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE),
    (ast.Eq, ast.NotEq),
    (ast.Is, ast.IsNot),
    (ast.In, ast.NotIn),
    (ast.And, ast.Or),
    (ast.Add, ast.Sub),
)
FLIPS: dict[type[ast.AST], Any] = {one: other for pair in PAIRS for one, other in (pair, pair[::-1])}
EMPTY = {"str": "''", "bool": "False", "int": "0", "list": "[]", "dict": "{}", "Mapping": "{}", "set": "set()"}
EMPTY |= dict.fromkeys(("tuple", "Iterator", "Iterable", "Sequence"), "()")
"""The first word of a function's type -> a value of that type that holds nothing."""

GENERICS = {
    "Literal",
    "Callable",
    "Mapping",
    "Sequence",
    "Iterable",
    "Iterator",
    "dict",
    "list",
    "set",
    "tuple",
    "type",
}
NEVER = {"TYPE_CHECKING", "__name__ == '__main__'"}
"""Conditions that no test changes."""

Function = ast.FunctionDef | ast.Lambda


def sample(seed: int, count: int) -> list[Mutant]:
    """One change on each of some random lines of the product."""
    changes = defaultdict(list)
    for path in product():
        for mutant in mutants(path):
            changes[path, mutant.lines.start].append(mutant)
    chance, order = random.Random(seed), sorted(changes)
    chance.shuffle(order)
    return [chance.choice(changes[line]) for line in order[:count]]


@functools.cache
def product() -> tuple[Path, ...]:
    """The product's hand-written modules, from the root of the checkout."""
    return tuple(path for path in listed() if path.is_relative_to(PRODUCT) and path.suffix == ".py")


def listed(*options: str) -> list[Path]:
    """The files that git lists: those that it knows and new ones, or with `-i` those that it ignores."""
    command = ["git", "ls-files", "-z", "-o", "--exclude-standard", *(options or ["-c"])]
    names = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout.decode().split("\0")
    return sorted(Path(name) for name in names if (ROOT / name).is_file())


def mutants(path: Path) -> Iterator[Mutant]:
    """Every change of a file."""
    source = (ROOT / path).read_bytes()
    starts = [0, *(newline.end() for newline in re.finditer(rb"\n", source))]
    for statement in ast.parse(source).body:
        for node, function in _nodes(statement, None):
            for old, new, row in _changes(node, function):
                place = slice(starts[old.lineno - 1] + old.col_offset, starts[old.end_lineno - 1] + old.end_col_offset)
                text = new if isinstance(old, ast.stmt) else f"({new})"
                change = f"{_short(row)} -> (no row)" if row else f"{_short(source[place].decode())} -> {_short(new)}"
                around = lines(function) if function else None
                yield Mutant(path, place, text.encode(), lines(old), around, defined(statement), change)


def lines(node: Any) -> range:
    """The lines of a node."""
    return range(node.lineno, node.end_lineno + 1)


def defined(statement: ast.AST) -> str:
    """`NAME` of `NAME = ...`, and the name of a function or class."""
    match statement:
        case ast.FunctionDef(name) | ast.ClassDef(name):
            return name
        case ast.Assign([ast.Name(name), *_]) | ast.AnnAssign(ast.Name(name)) | ast.AugAssign(ast.Name(name)):
            return name
    return ""


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 70 else text[:67] + "..."


def _nodes(node: ast.AST, function: Function | None) -> Iterator[tuple[Any, Function | None]]:
    """What the program does, and the innermost function that does it."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.JoinedStr() | ast.Assert() | ast.Expr(ast.Constant()):
            return
        case ast.Subscript(ast.Name(name)) if name in GENERICS:
            return
        case ast.If(test) if ast.unparse(test) in NEVER:
            return
        case ast.Assign([ast.Name("__all__")]) | ast.keyword("strict"):
            return
    yield node, function
    for field, value in ast.iter_fields(node):
        inner = node if isinstance(node, Function) and field == "body" else function
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and field not in {"annotation", "returns", "bases", "decorator_list"}:
                yield from _nodes(child, inner)


def _changes(node: Any, function: Function | None) -> Iterator[tuple[Any, str, str]]:
    """A node, the code in its place, and the row of a table that is missing there."""
    match node:
        case ast.Compare(left, operators, others):
            for index, operator in enumerate(operators):
                flipped = [*operators[:index], FLIPS[type(operator)](), *operators[index + 1 :]]
                yield node, ast.unparse(ast.Compare(left, flipped, others)), ""
        case ast.BoolOp(operator, values):
            yield node, ast.unparse(ast.BoolOp(FLIPS[type(operator)](), values)), ""
        case ast.BinOp(left, ast.Add() | ast.Sub() as operator, right) if not _holds_items(left, right):
            yield node, ast.unparse(ast.BinOp(left, FLIPS[type(operator)](), right)), ""
        case ast.UnaryOp(ast.Not(), operand):
            yield node, ast.unparse(operand), ""
        case ast.Constant(bool() as value):
            yield node, repr(not value), ""
        case ast.Constant(int() as value):
            yield node, repr(value + 1), ""
        case ast.Expr(ast.Yield() | ast.YieldFrom()):
            yield node, "yield from ()", ""
        case ast.Expr(ast.Call()) | ast.AugAssign() | ast.Raise():
            yield node, "pass", ""
        case ast.Return(ast.expr() as value) if isinstance(function, ast.FunctionDef):
            if (empty := _empty(function)) != ast.unparse(value):
                yield node, f"return {empty}", ""
        case ast.If(test) | ast.IfExp(test):
            yield from ((test, always, "") for always in ("True", "False"))
        case ast.While(test):
            yield test, "False", ""
        case ast.comprehension(ifs=tests):
            yield from ((test, always, "") for test in tests for always in ("True", "False"))
        case ast.Subscript(slice=key) | ast.Call(ast.Attribute(attr="get"), [key, *_]):
            yield from _renamed(key)
        case ast.Dict(keys, values):
            for index, (name, value) in enumerate(zip(keys, values, strict=True)):
                less = ast.Dict(_without(keys, index), _without(values, index))
                yield node, ast.unparse(less), f"{ast.unparse(name) if name else '**'}: {ast.unparse(value)}"
                yield from _renamed(name)
        case ast.List(rows) | ast.Tuple(rows) | ast.Set(rows) if not function and len(rows) > 1:
            for index, row in enumerate(rows):
                yield node, ast.unparse(type(node)(_without(rows, index))), ast.unparse(row)


def _holds_items(*nodes: ast.AST) -> bool:
    """Whether nothing can be subtracted from one of them."""
    texts = (isinstance(node, ast.Constant) and isinstance(node.value, str) for node in nodes)
    return any(texts) or any(isinstance(node, ast.JoinedStr | ast.Tuple | ast.List | ast.Dict) for node in nodes)


def _empty(function: ast.FunctionDef) -> str:
    """What a function of its type may return that holds nothing."""
    kind = ast.unparse(function.returns) if function.returns else "None"
    return "None" if "None" in kind else EMPTY.get(re.split(r"\W", kind)[0], "None")


def _renamed(key: ast.AST | None) -> Iterator[tuple[Any, str, str]]:
    """Another key in the place of a text."""
    if isinstance(key, ast.Constant) and isinstance(key.value, str):
        yield key, repr(key.value + "X"), ""


def _without(rows: Sequence[Any], index: int) -> list[Any]:
    return [*rows[:index], *rows[index + 1 :]]
