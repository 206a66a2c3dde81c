"""Make a case smaller while the scheduler and bayplan go on to differ in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from e2e.run import judge
from e2e.scene import RefusedError
from e2e.scheduler import BrokenError, Case, Release

HEADS = frozenset({"spec", "pools", "node", "gangs"})
NAMES = frozenset(
    {
        "apiVersion",
        "kind",
        "metadata",
        "name",
        "image",
        "command",
        "queue",
        "versions",
        "defaults",
        "accelerators",
        "label",
    }
)
"""Keys without which there is no case, or none that is smaller. The values of NAMES are left as they are."""


def shrink(case: Case, release: Release, outcome: str) -> Case:
    """The smallest case that single steps lead to, with a stage that ends in this outcome."""
    return smallest(case, lambda each: outcome in _outcomes(each, release))


def smallest(case: Case, holds: Callable[[Case], bool]) -> Case:
    """Take the first step that keeps what holds, until none does."""
    while smaller := next((each for each in _steps(case) if holds(each)), None):
        case = smaller
    return case


def _outcomes(case: Case, release: Release) -> set[str]:
    try:
        return {verdict.outcome for verdict in judge(case, release)}
    except (RefusedError, BrokenError):
        return set()


def _steps(case: Case) -> Iterator[Case]:
    for flow in _smaller(case.workflow):
        yield case._replace(workflow=flow)
    for topology in _smaller(case.topology):
        yield case._replace(topology=topology)


def _smaller(value: Any, key: str = "") -> Iterator[Any]:
    """The value with one thing less, largest steps first."""
    if isinstance(value, dict):
        yield from ({k: v for k, v in value.items() if k != gone} for gone in value if gone not in HEADS | NAMES)
        for name, each in value.items():
            yield from ({**value, name: less} for less in (() if name in NAMES else _smaller(each, name)))
    elif isinstance(value, list):
        yield from (value[:i] + value[i + 1 :] for i in range(len(value)) if len(value) > 1)
        for i, each in enumerate(value):
            yield from ([*value[:i], less, *value[i + 1 :]] for less in _smaller(each))
    elif isinstance(value, bool):
        return
    elif isinstance(value, int) and value > 1:
        yield from dict.fromkeys((1, value // 2, value - 1))
    elif isinstance(value, str) and "," in value:  # a list of nodes
        names = value.split(",")
        yield from (",".join(names[:i] + names[i + 1 :]) for i in range(len(names)))
    elif key == "cpu" and value.isdigit() and int(value) > 1:
        yield from dict.fromkeys((str(int(value) // 2), str(int(value) - 1)))
