"""Topology keys -> levels of the cluster, coarse to fine.

OSMO's keys are names that a pool's administrator gave to node labels, in an order of their own. A topology's levels are
the same thing, so a key is the level of its name, else the one whose label it spells out; with a pool configuration
beside, the label decides alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from bayplan.diagnostics import Diagnostic, Outcome, error, warning
from bayplan.model.topology import ClusterTopology, Pool
from bayplan.values import NamedTuple
from bayplan.words import did_you_mean, listing
from bayplan.workflows.osmo.pool.levels import near
from bayplan.workflows.osmo.translate.source import Requirement, TaskGroup, requirements

COARSE_TO_FINE = ("region", "zone", "datacenter", "hall", "spine", "block", "leaf", "rack", "clique", "host")
"""Words by which levels are told apart where no topology says their order."""


class Levels(NamedTuple):
    """The level of each key, and its place from coarse (0) to fine."""

    names: Mapping[str, str]
    ranks: Mapping[str, int]


def of_cluster(used: Mapping[str, Requirement], topology: ClusterTopology, names: Mapping[str, str]) -> Outcome[Levels]:
    """The levels in a topology; W466 for each key that none of its levels has. `names`: what is known by label."""
    found = {key: names.get(key) or _level(key, topology.pools) for key in used}
    missing = tuple(_unknown(used[key], topology) for key, name in found.items() if not name)
    if missing:
        return Outcome(None, missing)
    levels = {key: name for key, name in found.items() if name}
    best = max(topology.pools, key=lambda pool: sum(pool.level(name) is not None for name in levels.values()))
    depths = {key: best.depth(name) if best.level(name) else len(best.levels) + 1 for key, name in levels.items()}
    return Outcome(Levels(levels, depths))


def _level(key: str, pools: Iterable[Pool]) -> str:
    """The level that has the key as its name, else as its label."""
    levels = [level for pool in pools for level in pool.levels]
    if key == "host" or any(level.name == key for level in levels):
        return key
    return next((level.name for level in levels if level.label == key), "")


def _unknown(asked: Requirement, topology: ClusterTopology) -> Diagnostic:
    levels = {level.name: level.label for pool in topology.pools for level in pool.levels}
    message = f'no level of the topology is called "{asked.key}"; there is {listing([*levels, "host"], "and")}'
    by_label = near(asked.key, [*levels.values()]) if "/" in asked.key else ""
    by_name = by_label or did_you_mean(asked.key, levels)
    hint = by_name or "call a level so, or give OSMO's pool configuration, which says what label is meant: --osmo-pool"
    return error("W466", (*asked.route, "key"), message, hint=hint)


def used(resources: Mapping[str, Any]) -> dict[str, Requirement]:
    """Every key with the first requirement of a resource that uses it; OSMO looks at resources that no task has too."""
    found: dict[str, Requirement] = {}
    for name, resource in resources.items():
        for each in requirements(name, resource):
            found.setdefault(each.key, each)
    return found


def _used(groups: Iterable[TaskGroup]) -> dict[str, Requirement]:
    """Every key with the first requirement that uses it."""
    used: dict[str, Requirement] = {}
    for group in groups:
        for task in group.tasks:
            for requirement in task.requirements:
                used.setdefault(requirement.key, requirement)
    return used


def assumed(groups: tuple[TaskGroup, ...], order: tuple[str, ...] = ()) -> Outcome[Levels]:
    """The levels where no topology is at hand: by a pool's own order, else as the groups lie within each other.

    A key whose groups are fewer is the coarser one; where they are as many, the words they are made of decide, then
    the file. W462 says what was assumed.
    """
    used = _used(groups)
    sizes = {key: len(_domains(groups, key)) for key in used}
    first = {key: number for number, key in enumerate(used)}
    known = {key: number for number, key in enumerate(order)}
    keys = sorted(used, key=lambda key: (known.get(key, len(known)), sizes[key], _word(key), first[key]))
    unclear = () if order else tuple(_unclear(keys, sizes, used))
    return Outcome(Levels({key: key for key in keys}, {key: number for number, key in enumerate(keys)}), unclear)


def _domains(groups: Iterable[TaskGroup], key: str) -> set[tuple[str, str]]:
    return {
        (group.name, r.group) for group in groups for task in group.tasks for r in task.requirements if r.key == key
    }


def _word(key: str) -> int:
    places = [number for number, word in enumerate(COARSE_TO_FINE) if word in key.lower()]
    return places[-1] if places else len(COARSE_TO_FINE)


def _unclear(keys: list[str], sizes: Mapping[str, int], used: Mapping[str, Requirement]) -> Iterator[Diagnostic]:
    for coarse, fine in pairwise(keys):
        if sizes[coarse] == sizes[fine]:
            message = (
                f'without a topology nothing says which is coarser, "{coarse}" or "{fine}"; "{coarse}" is taken to be'
            )
            yield warning("W462", (*used[fine].route, "key"), message, hint="pass the cluster's topology with -t")
