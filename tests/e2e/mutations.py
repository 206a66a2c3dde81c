"""Changes that make manifests wrong. The comparison must notice each of them in some case."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from e2e.random_cases import LEVELS, case
from e2e.run import judge
from e2e.scene import RefusedError
from e2e.scheduler import Mutation, Release, edited, removed

LABELS = ("kubernetes.io/hostname", *(label for _, label in reversed(LEVELS)))
"""Finest first."""


def finer(value: Any) -> Any:
    """The next finer level: a label, or a tier by its number."""
    return max(value - 1, 0) if isinstance(value, int) else LABELS[max(LABELS.index(value) - 1, 0)]


def coarser(value: Any) -> Any:
    """The next coarser level; the coarsest itself is gone."""
    if isinstance(value, int):
        return value + 1
    above = LABELS[LABELS.index(value) + 1 :]
    return above[0] if above else removed(value)


def more(value: Any) -> Any:
    """A count that is one too high."""
    return str(int(value) + 1) if isinstance(value, str) else value + 1


def fewer(value: Any) -> Any:
    """A count that is one too low, and at least one."""
    return str(max(int(value) - 1, 1)) if isinstance(value, str) else max(value - 1, 1)


def level(what: str, path: str, whole: str = "") -> Iterator[Mutation]:
    """A level that is missing, finer or coarser. `whole`: what is removed with the level."""
    yield Mutation(f"no {what}", whole or path, removed)
    yield Mutation(f"{what} finer", path, finer)
    yield Mutation(f"{what} coarser", path, coarser)


def preference(what: str, path: str) -> Iterator[Mutation]:
    """A preferred level that is missing or coarser. A finer one changes nothing: schedulers go up from it."""
    yield Mutation(f"no {what}", path, removed)
    yield Mutation(f"{what} coarser", path, coarser)


def count(what: str, path: str) -> Iterator[Mutation]:
    """A count that is one off."""
    yield Mutation(f"{what} + 1", path, more)
    yield Mutation(f"{what} - 1", path, fewer)


def requests() -> Iterator[Mutation]:
    """Pods that ask for more than the plan says."""
    yield Mutation("one GPU more", "* ** requests nvidia.com/gpu", more)
    yield Mutation("one CPU more", "* ** requests cpu", more)


def noticed(mutation: Mutation, release: Release) -> bool:
    """Whether a case agrees, and no longer does with the wrong manifests.

    A scheduler that is not deterministic may by chance place wrong manifests as planned: it gets as many tries as runs.
    """
    scheduler = release.scheduler
    return any(notices(seed, mutation, release) for _ in range(scheduler.runs) for seed in scheduler.seeds)


def notices(seed: int, mutation: Mutation, release: Release) -> bool:
    if not _right(seed, release):
        return False
    wrong = judge(case(seed), release, lambda documents: edited(documents, mutation.path, mutation.change))
    return not {each.outcome for each in wrong} <= {"placed", "refused", "known", "may fail"}


@lru_cache(200)
def _right(seed: int, release: Release) -> bool:
    try:
        return {each.outcome for each in judge(case(seed), release)} <= {"placed", "refused"}
    except RefusedError:
        return False
