"""Levels that a workflow names: they exist, and go from coarse to fine on the way in."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.checks.places import Owner, nearest_pool, owners
from bayplan.diagnostics import Diagnostic, Note, Route, error
from bayplan.model.topology import HOST_LEVEL, ClusterTopology, Pool
from bayplan.model.workflow import Group, Workflow
from bayplan.words import suggest


def check(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """W324 to W326. A pool that is not named here may be any; which one, planning decides."""
    for owner in owners(workflow):
        pool = topology.pool(nearest_pool(workflow, owner))
        pools = (pool,) if pool and not _names_pools_below(owner.node) else topology.pools
        yield from _known(owner, pools)
        yield from _preferred(owner, pools)
        yield from _nested(owner, pools)


def _names_pools_below(node: object) -> bool:
    below = (*getattr(node, "groups", ()), *getattr(node, "pod_sets", ()))
    return any(each.pool or _names_pools_below(each) for each in below)


def _known(owner: Owner, pools: tuple[Pool, ...]) -> Iterator[Diagnostic]:
    node, place = owner.node, (*owner.route, "placement")
    named: list[tuple[str, Route]] = [
        (node.placement.required, (*place, "required")),
        (node.placement.preferred, (*place, "preferred")),
    ]
    if isinstance(node, Group):
        named.append((node.separate, (*owner.route, "separate")))
    levels = dict.fromkeys(level.name for pool in pools for level in pool.levels) | {HOST_LEVEL: None}
    for name, route in named:
        if name and name not in levels:
            where = f'pool "{pools[0].name}"' if len(pools) == 1 else "the topology"
            yield error("W324", route, f'{where} has no level "{name}"', hint=suggest(name, levels, "levels"))


def _preferred(owner: Owner, pools: tuple[Pool, ...]) -> Iterator[Diagnostic]:
    required, preferred = owner.node.placement
    if _coarser(preferred, required, pools):
        message = f'{owner.title()} prefers one "{preferred}" and requires one "{required}", which is always inside'
        route: Route = (*owner.route, "placement", "preferred")
        yield error("W326", route, message, hint=f'remove it, or prefer a level finer than "{required}"')


def _nested(owner: Owner, pools: tuple[Pool, ...]) -> Iterator[Diagnostic]:
    """The nearest required level above must not be finer."""
    required = owner.node.placement.required
    for height, above in enumerate(reversed(owner.above), 1):
        outer = above.placement.required
        if outer:
            if _coarser(required, outer, pools):
                place: Route = owner.route[: len(owner.route) - 2 * height]
                note = Note("required here", (*place, "placement", "required"))
                message = f'{owner.title()} requires one "{required}", and "{above.name}" around it the finer "{outer}"'
                here: Route = (*owner.route, "placement", "required")
                yield error("W325", here, message, hint="swap them, or remove one of them", notes=(note,))
            return


def _coarser(one: str, other: str, pools: tuple[Pool, ...]) -> bool:
    """Whether `one` is coarser than `other` in every pool that has both, and there is such a pool."""
    both = [pool for pool in pools if one and other and pool.level(one) and pool.level(other)]
    return bool(both) and all(pool.depth(one) < pool.depth(other) for pool in both)
