"""Our NamedTuple against the standard one."""

from __future__ import annotations

import pickle
import typing
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import pytest

from bayplan.core import values

T = TypeVar("T")


class Ours(values.NamedTuple):
    a: int
    b: str = "x"
    c: tuple[int, ...] = ()

    def double(self) -> int:
        """Methods work as in any class."""
        return self.a * 2

    @property
    def first(self) -> int:
        return self[0]


class Theirs(typing.NamedTuple):
    a: int
    b: str = "x"
    c: tuple[int, ...] = ()

    def double(self) -> int:
        return self.a * 2

    @property
    def first(self) -> int:
        return self[0]


class Boxed(values.NamedTuple, Generic[T]):
    value: T | None = None


USES: dict[str, Callable[[Any], Any]] = {
    "by position": lambda make: make(1, "y", (2,)),
    "defaults": lambda make: make(1),
    "by name": lambda make: make(a=1, c=(3,)),
    "mixed": lambda make: make(1, c=(3,)),
    "fields": lambda make: make(1)._fields,
    "field defaults": lambda make: make(1)._field_defaults,
    "replace": lambda make: make(1)._replace(b="z"),
    "asdict": lambda make: make(1)._asdict(),
    "make": lambda make: make._make([1, "q", ()]),
    "method": lambda make: make(4).double(),
    "property": lambda make: make(4).first,
    "equal to a tuple": lambda make: make(1) == (1, "x", ()),
    "hash": lambda make: hash(make(1)),
    "sorted": lambda make: sorted([make(2), make(1)]),
    "unpacked": lambda make: [*make(1)],
    "repr": lambda make: repr(make(1)).removeprefix(make.__name__),
    "match": lambda make: make.__match_args__,
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_it_does_what_the_standard_one_does(use: Callable[[Any], Any]) -> None:
    assert use(Ours) == use(Theirs)


WRONG: dict[str, Callable[[Any], Any]] = {
    "too many": lambda make: make(1, "y", (), 4),
    "too few": lambda make: make(),
    "unknown": lambda make: make(1, d=2),
    "twice": lambda make: make(1, a=2),
    "unknown and too few": lambda make: make(d=1),
}


@pytest.mark.parametrize("use", WRONG.values(), ids=WRONG)
def test_a_wrong_call_is_a_type_error(use: Callable[[Any], Any]) -> None:
    for make in (Ours, Theirs):
        with pytest.raises(TypeError):
            use(make)


def test_it_cannot_be_changed() -> None:
    for value in (Ours(1), Theirs(1)):
        with pytest.raises(AttributeError):
            value.a = 2  # type: ignore[misc]
        with pytest.raises(AttributeError):
            value.d = 2  # type: ignore[attr-defined]


def test_replacing_an_unknown_field_is_a_value_error() -> None:
    for value in (Ours(1), Theirs(1)):
        with pytest.raises(ValueError):
            value._replace(d=2)  # type: ignore[call-arg]


def test_it_survives_pickling_and_takes_type_parameters() -> None:
    assert pickle.loads(pickle.dumps(Ours(1))) == Ours(1)
    assert Boxed[int](3).value == 3


def test_a_module_may_keep_its_annotations_as_values() -> None:
    """Without `from __future__ import annotations`, Python 3.14 stores a function that makes them."""
    source = "class Pair(NamedTuple):\n    a: int\n    b: str = 'x'\n"
    names: dict[str, Any] = {"NamedTuple": values.NamedTuple}
    exec(compile(source, "pair.py", "exec", dont_inherit=True), names)
    pair = names["Pair"](1)
    assert (pair, pair._fields, pair.b) == ((1, "x"), ("a", "b"), "x")
    assert type(pair).__annotations__ == {"a": int, "b": str}
