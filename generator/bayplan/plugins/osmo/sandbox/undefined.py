"""Finds all undefined variables in one run: a missing value is recorded and empty, and does not end the run.

A record is certain until a choice of the template depends on a missing value. After that, it is certain only if the
name is outside every branch, loop and macro. The other names are in `also`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any

from jinja2 import StrictUndefined, Undefined, UndefinedError, nodes
from jinja2.meta import find_undeclared_variables
from jinja2.sandbox import SandboxedEnvironment
from jinja2.utils import Namespace, missing

Make = Callable[[type[StrictUndefined]], SandboxedEnvironment]

_MOST = 100
_PURE = "__add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __floordiv__ __rfloordiv__"
_PURE_TOO = "__mod__ __rmod__ __pos__ __neg__ __call__ __getitem__ __pow__ __rpow__"
_DECIDING: Mapping[str, Any] = {
    **dict.fromkeys(("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__bool__", "__contains__"), False),
    **dict.fromkeys(("__len__", "__int__", "__index__", "__hash__"), 0),
    "__float__": 0.0,
    "__complex__": 0j,
}
"""Tests and conversions that can change what a template does, with the results for a missing value."""


def survey(make: Make, template: str, variables: Mapping[str, Any]) -> dict[str, Any]:
    """`found`: certainly missing values, `{name, line, message, near}`; `also`: possibly missing names. By line.

    `name` is empty for an attribute of a variable. `near`: the existing names.
    """
    notes: list[dict[str, Any]] = []
    env = make(_recorder(notes))
    whole = True
    try:
        env.from_string(template).render(variables)
    except Exception:  # the first failure is known, and this run looks for others
        whole = False
    tree = make(StrictUndefined).parse(template)
    certain = set(_certain(tree.body))
    found = _distinct(_with_nearest_line(note, tree) for note in notes if note["sure"] or note["name"] in certain)
    unsure = not whole or any(note["decides"] for note in notes)
    defined = {*env.globals, *variables, *(each["name"] for each in found)}
    also = (find_undeclared_variables(tree) & set(_read(tree))) - defined if unsure else set()
    return {"found": found, "also": sorted(also)}


def _read(node: nodes.Node) -> Iterator[str]:
    """The names that a template reads without a test or a default."""
    if isinstance(node, nodes.Name):
        yield node.name
    elif isinstance(node, nodes.Test) or _has_default(node):
        for argument in node.args:  # type: ignore[attr-defined]
            yield from _read(argument)
    else:
        for child in node.iter_child_nodes():
            yield from _read(child)


def _has_default(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Filter) and node.name in ("default", "d")


def _distinct(found: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first of each message, by line."""
    first: dict[str, dict[str, Any]] = {}
    for each in sorted(found, key=lambda each: each["line"]):
        first.setdefault(each["message"], each)
    return list(first.values())


def _with_nearest_line(note: dict[str, Any], tree: nodes.Template) -> dict[str, Any]:
    """The nearest line with the name, because Jinja reports only one line of a longer expression."""
    line: int = note["line"]
    places = [node.lineno for node in tree.find_all(nodes.Name) if node.name == note["name"]]
    nearest = min(places, key=lambda place: abs(place - line), default=line)
    return {"name": note["name"], "line": nearest, "message": note["message"], "near": note["near"]}


def _recorder(notes: list[dict[str, Any]]) -> type[StrictUndefined]:
    """A type of undefined value that records its uses."""

    class Recorder(StrictUndefined):
        __slots__ = ()

        def __getattr__(self, name: str) -> Any:
            if name[:2] == "__":
                raise AttributeError(name)
            return _note(notes, self)

    def pure(self: Any, *_: Any, **__: Any) -> Any:
        return _note(notes, self)

    def deciding(answer: Any) -> Any:
        def decide(self: Any, *_: Any) -> Any:
            _note(notes, self, decides=True)
            return answer

        return decide

    def written(self: Any) -> str:
        _note(notes, self)
        return ""

    def iterated(self: Any) -> Iterator[Any]:
        _note(notes, self, decides=True)
        return iter(())

    setattr(Recorder, "__str__", written)  # noqa: B010  # mypy believes its base class, which never returns
    setattr(Recorder, "__iter__", iterated)  # noqa: B010
    for name in f"{_PURE} {_PURE_TOO}".split():
        setattr(Recorder, name, pure)
    for name, answer in _DECIDING.items():
        setattr(Recorder, name, deciding(answer))
    return Recorder


def _note(notes: list[dict[str, Any]], value: Any, decides: bool = False) -> Any:
    """Records a use of a missing value, and returns the value."""
    line = _line()
    if value._undefined_exception is not UndefinedError or len(notes) >= _MOST or not line:
        value._fail_with_undefined_error()
    variable = value._undefined_obj is missing and value._undefined_hint is None
    near = value._undefined_obj if isinstance(value._undefined_obj, dict) else ()
    notes.append(
        {
            "name": value._undefined_name if variable else "",
            "line": line,
            "message": value._undefined_message,
            "near": [key for key in near if isinstance(key, str)][:_MOST],
            "sure": all(not each["decides"] for each in notes),
            "decides": decides,
        }
    )
    return value


def _line() -> int:
    """The current line of the template; 0 during its compilation."""
    frame = sys._getframe(2)
    while frame.f_back is not None:
        template = frame.f_globals.get("__jinja_template__")
        if template is not None:
            line: int = template.get_corresponding_lineno(frame.f_lineno)
            return line
        frame = frame.f_back
    return 0


def _certain(body: Any) -> Iterator[str]:
    """Names that the statements use for all values."""
    for node in body:
        if isinstance(node, nodes.If):
            yield from _names(node.test)
        elif isinstance(node, nodes.For):
            yield from _names(node.iter)
        elif isinstance(node, nodes.Assign):
            yield from _names(node.node)
        elif isinstance(node, nodes.Output):
            for each in node.nodes:
                yield from _names(each)


def _names(node: nodes.Node) -> Iterator[str]:
    """Names that an expression always uses. Names after `and`, `if` or `default` do not count."""
    if isinstance(node, nodes.Name):
        yield node.name
    elif isinstance(node, nodes.CondExpr):
        yield from _names(node.test)
    elif isinstance(node, nodes.And | nodes.Or):
        yield from _names(node.left)
    elif not (isinstance(node, nodes.Test) or _has_default(node)):
        for child in node.iter_child_nodes():
            yield from _names(child)


# Handles for Python objects whose string has an address, which differs between runs, such as methods and generators.
#
# A template gets the handle instead of the object. It can call the handle, loop over it and use its attributes. Every
# conversion to a string raises AddressError.

_PLAIN = (str, int, list, dict, tuple, set, frozenset, bytes, Undefined, Namespace)
"""Types without an address except in their entries, which are values of a template too, and numbers of any length."""

_AT = re.compile(r" at 0x[0-9a-fA-F]+")


class AddressError(Exception):
    """A template converts an object with an address to a string. The message is the object without its address."""


class Handle:
    """A handle for `inner`."""

    __slots__ = ("inner",)
    __hash__ = None  # type: ignore[assignment]  # a hash by address would order sets

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __repr__(self) -> str:
        raise AddressError(_AT.sub("", repr(self.inner)))


class _Callable(Handle):
    __slots__ = ()

    def __call__(self, *_: Any, **__: Any) -> Any:
        """AddressError: only the environment may call the object."""
        raise AddressError(_AT.sub("", repr(self.inner)))


class _Iterable(Handle):
    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.inner)


def wrapped(value: Any) -> Any:
    """The value, or a handle for it."""
    if isinstance(value, (*_PLAIN, Handle)) or not _AT.search(repr(value)):
        return value
    kind = _Callable if callable(value) else _Iterable if hasattr(value, "__iter__") else Handle
    named = {"__slots__": (), "__module__": type(value).__module__}  # messages of Jinja contain types
    made: Handle = type(type(value).__name__, (kind,), named)(value)
    return made


def unwrapped(value: Any) -> Any:
    """The object of a handle."""
    return value.inner if isinstance(value, Handle) else value


def wrapping(functions: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Filters that return a handle instead of its object."""

    def wrapping_one(function: Callable[..., Any]) -> Callable[..., Any]:
        return wraps(function)(lambda *args, **kwargs: wrapped(function(*args, **kwargs)))

    return {name: wrapping_one(function) for name, function in functions.items()}
