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
    """Modules by name, imported at their first use: a run needs one or two of them.

    `paths`: name -> module. `attribute`: use this attribute of the module as the value.
    """

    def __init__(self, paths: Mapping[str, str], attribute: str = "") -> None:
        self.paths, self.attribute = paths, attribute

    def __getitem__(self, name: str) -> T:
        module: Any = import_module(self.paths[name])
        value: T = getattr(module, self.attribute) if self.attribute else module
        return value

    def __contains__(self, name: object) -> bool:
        return name in self.paths

    def __iter__(self) -> Iterator[str]:
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self.paths)
