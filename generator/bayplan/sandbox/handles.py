"""Handles on objects of Python whose text is an address, which is another in every run: methods, generators, and such.

A template holds the handle in the object's place. It can call it, loop over it and ask for its parts; every way to
make a text of it ends in AddressError, since a part of an address tells nobody that it is one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any

from jinja2 import Undefined
from jinja2.utils import Namespace

_PLAIN = (str, int, float, list, dict, tuple, set, frozenset, bytes, range, type(None), Undefined, Namespace)
"""What holds no address but in its entries, which are values of a template themselves."""

_AT = re.compile(r" at 0x[0-9a-fA-F]+")


class AddressError(Exception):
    """A template makes a text of an object that has none. The message is the object without its address."""


class Handle:
    """Stands for `inner`."""

    __slots__ = ("inner",)
    __hash__ = None  # type: ignore[assignment]  # by address it would order sets

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __repr__(self) -> str:
        raise AddressError(_AT.sub("", repr(self.inner)))


class _Callable(Handle):
    __slots__ = ()

    def __call__(self, *_: Any, **__: Any) -> Any:
        """Only the environment calls, which knows the object."""
        raise AddressError(_AT.sub("", repr(self.inner)))


class _Iterable(Handle):
    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.inner)


def held(value: Any) -> Any:
    """The value, or the handle on it."""
    if isinstance(value, (*_PLAIN, Handle)) or not _AT.search(repr(value)):
        return value
    kind = _Callable if callable(value) else _Iterable if hasattr(value, "__iter__") else Handle
    named = {"__slots__": (), "__module__": type(value).__module__}  # Jinja's messages tell types
    made: Handle = type(type(value).__name__, (kind,), named)(value)
    return made


def bare(value: Any) -> Any:
    """What a handle stands for."""
    return value.inner if isinstance(value, Handle) else value


def holding(functions: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Filters that give a handle where they would give its object."""
    return {name: _holding(function) for name, function in functions.items()}


def _holding(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def filtered(*args: Any, **kwargs: Any) -> Any:
        return held(function(*args, **kwargs))

    return filtered
