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


def cycles(after: Mapping[str, Iterable[str]]) -> Iterator[list[str]]:
    """Names that come after each other in a circle, from the least of them. `after`: a name -> those before it.

    In linear time: a circle that begins or ends in another one is left out.
    """
    done: set[str] = set()
    met: set[str] = set()
    for start in sorted(after):
        way: list[str] = []
        places: dict[str, int] = {}
        ahead = [iter((start,))]
        while ahead:
            name = next(ahead[-1], None)
            if name is None:
                ahead.pop()
                if way:
                    done.add(way[-1])
                    del places[way.pop()]
            elif name in places and name not in met and way[-1] not in met:
                circle = way[places[name] :]
                met.update(circle)
                first = circle.index(min(circle))
                yield circle[first:] + circle[:first]
            elif name in after and name not in places and name not in done:
                places[name] = len(way)
                way.append(name)
                ahead.append(iter(after[name]))


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
