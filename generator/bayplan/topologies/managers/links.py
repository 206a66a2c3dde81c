"""What hangs on what in a fabric: hosts on switches, switches on switches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from bayplan.core.diagnostics import Route
from bayplan.core.values import NamedTuple


class Fabric(NamedTuple):
    """`hosts`: the switch that each of a host's adapters hangs on. `links`: the switches that each switch is linked to.

    `names`: what switches are called; those that are not in it are called by their identifiers. `places` of hosts.
    """

    hosts: Mapping[str, Mapping[str, str]]
    links: Mapping[str, Iterable[str]]
    names: Mapping[str, str] = {}
    places: Mapping[str, Route] = {}


class Groups:
    """Sets that grow together (union-find)."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}

    def top(self, member: str) -> str:
        """What stands for the set of a member."""
        parent = self._parent
        root = parent.setdefault(member, member)
        while parent[root] != root:
            root = parent[root]
        while parent[member] != root:
            parent[member], member = root, parent[member]
        return root

    def join(self, members: Iterable[str]) -> None:
        """Makes one set of all these."""
        first = ""
        for each in members:
            top = self.top(each)
            first = first or top
            self._parent[top] = first
            first = self.top(first)

    def sets(self) -> dict[str, list[str]]:
        """What stands for each set -> its members."""
        found: dict[str, list[str]] = {}
        for member in self._parent:
            found.setdefault(self.top(member), []).append(member)
        return found


_RUNS = re.compile("[0-9]+|[^0-9]+")
_DIGITS = frozenset("0123456789")


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """A key that sorts `n9` before `n10`."""
    runs = _RUNS.findall(text) or [""]
    return tuple((0, int(run), run) if run[:1] in _DIGITS and len(run) < 19 else (1, 0, run) for run in runs)
