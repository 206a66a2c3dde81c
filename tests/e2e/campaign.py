"""Many cases in several processes, and what they came to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from itertools import count, islice
from typing import NamedTuple

from e2e import degenerate, random_cases
from e2e.cases import examples, regressions
from e2e.compare import AGREED
from e2e.kai import BrokenError
from e2e.releases import Release
from e2e.run import judge
from e2e.scene import Case, RefusedError
from e2e.spoiled import SPOILED

BATCH = 50
FINE = frozenset({*AGREED, "open", "noticed", "as described"})
KINDS = ("examples", "kept cases", "random cases", "wrong manifests", "degenerate constraints")


class Result(NamedTuple):
    """One case at one release. `outcomes`: of its stages; None where bayplan did not render it."""

    name: str
    outcomes: tuple[str, ...] | None
    why: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether no stage is a disagreement."""
        return self.outcomes is None or set(self.outcomes) <= FINE


class Tally(NamedTuple):
    """What one release came to."""

    release: Release
    outcomes: dict[str, Counter[str]]  # kind of case -> outcome -> stages
    cases: dict[str, int]  # kind of case -> how many were replayed
    differing: tuple[Result, ...]


def tally(release: Release, wanted: int, jobs: int) -> Tally:
    """All sets of cases at one release; of random ones the first so many that bayplan renders."""
    with ProcessPoolExecutor(jobs) as pool:
        sets = {
            "examples": list(pool.map(partial(_judged, release), examples())),
            "kept cases": list(pool.map(partial(_judged, release), [each.case for each in regressions()])),
            "random cases": list(islice(_random(release, pool), wanted)),
            "wrong manifests": list(pool.map(partial(_spoiled, release), range(len(SPOILED)))),
            "degenerate constraints": list(pool.map(partial(_degenerate, release), range(len(degenerate.CASES)))),
        }
    outcomes = {kind: Counter(each for one in found for each in one.outcomes or ()) for kind, found in sets.items()}
    differing = tuple(each for found in sets.values() for each in found if not each.agrees)
    return Tally(release, outcomes, {kind: len(found) for kind, found in sets.items()}, differing)


def _random(release: Release, pool: Executor) -> Iterator[Result]:
    for first in count(0, BATCH):
        found = pool.map(partial(_seeded, release), range(first, first + BATCH), chunksize=5)
        yield from (each for each in found if each.outcomes is not None)


def _judged(release: Release, case: Case) -> Result:
    try:
        verdicts = judge(case, release)
    except RefusedError as refused:
        return Result(case.name, None, (str(refused),))
    except BrokenError as broken:
        return Result(case.name, ("crashed",), (str(broken),))
    why = tuple(reason for each in verdicts for reason in each.why)
    return Result(case.name, tuple(each.outcome for each in verdicts), why)


def _seeded(release: Release, seed: int) -> Result:
    return _judged(release, random_cases.case(seed))


def _spoiled(release: Release, number: int) -> Result:
    """Manifests that are wrong on purpose: whether the comparison notices."""
    spoiled = SPOILED[number]
    right = {each.outcome for each in judge(spoiled.case, release)}
    wrong = {each.outcome for each in judge(spoiled.case, release, spoiled.change)}
    noticed = (right, wrong) == ({spoiled.right}, {spoiled.wrong})
    return Result(spoiled.name, ("noticed" if noticed else "not noticed",))


def _degenerate(release: Release, number: int) -> Result:
    """A constraint by hand: whether the release does with it what the table says."""
    each = degenerate.CASES[number]
    same = degenerate.places(each, release) == degenerate.expected(each, release)
    return Result(each.meaning, ("as described" if same else "not as described",))
