"""Many cases in several processes, and what they came to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from itertools import islice
from typing import NamedTuple

from e2e import degenerate, random_cases, restart
from e2e.cases import examples, regressions
from e2e.compare import AGREED
from e2e.mutations import noticed
from e2e.releases import BY_NAME
from e2e.run import judge
from e2e.scene import RefusedError
from e2e.scheduler import BrokenError, Case, Release

BATCH = 50
MOST = 40
"""So many batches at most: a scheduler that few cases can be rendered for gets fewer than are wanted."""

FINE = frozenset({*AGREED, "open", "noticed", "as described"})


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
    """What one release came to: for each set of cases the results of those that bayplan rendered."""

    release: Release
    results: dict[str, list[Result]]

    @property
    def differing(self) -> list[Result]:
        """The results that are disagreements."""
        return [each for found in self.results.values() for each in found if not each.agrees]

    def outcomes(self, kind: str) -> Counter[str]:
        """How many stages of a set ended in each way."""
        return Counter(outcome for each in self.results[kind] for outcome in each.outcomes or ())


def tally(release: Release, wanted: int, busy: int, jobs: int) -> Tally:
    """All sets of cases at one release; of random and of half-busy ones the first so many that bayplan renders."""
    kept = [each.case for each in regressions() if release.name in each.outcomes]
    hand = [n for n, each in enumerate(degenerate.CASES) if release.name in each.placed]
    with ProcessPoolExecutor(jobs) as pool:
        sets = {
            "examples": list(pool.map(partial(_judged, release.name), examples())),
            "kept cases": list(pool.map(partial(_judged, release.name), kept)),
            "random cases": list(islice(_random(release, pool, random_cases.seeds), wanted)),
            "half-busy cases": list(
                islice(
                    _random(release, pool, random_cases.busy_seeds), 0 if release.scheduler.name == "slurm" else busy
                )
            ),
            "tight cases": list(islice(_random(release, pool, random_cases.tight_seeds), busy)),
            "mutations": list(pool.map(partial(_mutated, release.name), range(len(release.scheduler.mutations)))),
            "restarts": list(pool.map(partial(_restarted, release.name), restart.SEEDS)),
            "constraints by hand": list(pool.map(partial(_degenerate, release.name), hand)),
        }
    return Tally(release, {kind: [each for each in found if each.outcomes] for kind, found in sets.items()})


def _random(release: Release, pool: Executor, seeds: Callable[[int, int], list[int]]) -> Iterator[Result]:
    for batch in range(MOST):
        found = pool.map(partial(_seeded, release.name), seeds(batch * BATCH, (batch + 1) * BATCH), chunksize=5)
        yield from (each for each in found if each.outcomes is not None)


def _judged(name: str, case: Case) -> Result:
    try:
        verdicts = judge(case, BY_NAME[name])
    except RefusedError as refused:
        return Result(case.name, None, (str(refused),))
    except BrokenError as broken:
        return Result(case.name, ("crashed",), (str(broken),))
    why = tuple(reason for each in verdicts for reason in each.why)
    return Result(case.name, tuple(each.outcome for each in verdicts), why)


def _seeded(name: str, seed: int) -> Result:
    return _judged(name, random_cases.case(seed))


def _restarted(name: str, seed: int) -> Result:
    """A random case of which parts start again."""
    release, each = BY_NAME[name], random_cases.case(seed)
    try:
        verdicts = restart.judge(each, release)
    except RefusedError as refused:
        return Result(each.name, None, (str(refused),))
    except BrokenError as broken:
        return Result(each.name, ("crashed",), (str(broken),))
    why = tuple(reason for each in verdicts for reason in each.why)
    return Result(each.name, tuple(restart.described(each, release) for each in verdicts), why)


def _mutated(name: str, number: int) -> Result:
    """Manifests that are wrong on purpose: whether the comparison notices."""
    release = BY_NAME[name]
    mutation = release.scheduler.mutations[number]
    return Result(mutation.name, ("noticed" if noticed(mutation, release) else "not noticed",))


def _degenerate(name: str, number: int) -> Result:
    """A constraint by hand: whether the release does with it what the table says."""
    each = degenerate.CASES[number]
    same = degenerate.places(each, BY_NAME[name]) == each.placed[name]
    return Result(each.meaning, ("as described" if same else "not as described",))
