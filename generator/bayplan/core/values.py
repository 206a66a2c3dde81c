"""Small functions on sequences and mappings, and mappings whose values are modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import takewhile
from typing import Any, TypeVar

T = TypeVar("T")
K = TypeVar("K")


def common(paths: Iterable[Sequence[T]]) -> tuple[T, ...]:
    """The common beginning of all paths."""
    return tuple(steps[0] for steps in takewhile(lambda steps: len({*steps}) == 1, zip(*paths, strict=False)))


def grouped(pairs: Iterable[tuple[K, T]]) -> dict[K, list[T]]:
    """Each key with its values, in the order of the pairs."""
    groups: dict[K, list[T]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


class Modules(Mapping[str, T]):
    """The modules of a package by name, imported at their first use: a run needs one or two of them.

    `attribute`: use this attribute of the module as the value. A dash in a name is an underscore in the module name.
    """

    def __init__(self, package: str, names: tuple[str, ...], attribute: str = "") -> None:
        self.package, self.names, self.attribute = package, names, attribute

    def __getitem__(self, name: str) -> T:
        if name not in self.names:
            raise KeyError(name)
        module: Any = import_module(f"{self.package}.{name.replace('-', '_')}")
        value: T = getattr(module, self.attribute) if self.attribute else module
        return value

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)
