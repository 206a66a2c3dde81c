"""Levels as node labels: kube-scheduler has no object for a topology (KEP-5732)."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.model.plan import Plan, Unit, all_pods
from bayplan.model.topology import Level, Pool


def node_label(plan: Plan, unit: Unit) -> str:
    """The node label of the level that the unit's pods must share; empty for none. Pools agree on it (P505)."""
    return next((level.label for _, level in levels(plan, unit)), "")


def levels(plan: Plan, unit: Unit) -> Iterator[tuple[Pool, Level]]:
    """The level that the unit's pods must share, in each of its pools."""
    for name in dict.fromkeys(pods.pool for pods in all_pods(unit)):
        pool = plan.topology.pool(name)
        level = pool.level(unit.required) if pool and unit.required else None
        if pool and level:
            yield pool, level


def repeats(pool: Pool, level: Level, under: str = "") -> bool:
    """Whether domains of the level share a label value. `under`: a level that already keeps their pods together."""
    if level not in pool.levels:
        return False
    rank, top = pool.depth(level.name), pool.depth(under) + 1 if under else 0
    owners: dict[tuple[str, ...], tuple[str, ...]] = {}
    for domain in pool.domains:
        seen = (*domain.path[:top], domain.path[rank])
        if owners.setdefault(seen, domain.path[: rank + 1]) != domain.path[: rank + 1]:
            return True
    return False
