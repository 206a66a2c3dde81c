"""The pool of each podSet: the nearest `pool`, otherwise the only pool that has what it requests.

An accelerator without a name matches any pool with accelerators.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

from bayplan.core.diagnostics import Diagnostic, Route, error
from bayplan.model.plan import allocator
from bayplan.model.topology import AcceleratorKind, ClusterTopology, Pool
from bayplan.model.workflow import GANGS, Accelerator, Gang, Group, PodSet, Workflow, edit_pod_sets, pod_sets_of

NAME_ONE = "set `pool` on the podSet, its group, its gang or the workflow, or set `defaults.pool` in the topology"


class PodSetPool(NamedTuple):
    """A podSet of the file, its place, the nearest `pool` that is set for it, and the levels required for it."""

    route: Route
    spec: PodSet
    named: str
    required: tuple[str, ...] = ()


def gang_pools(
    workflow: Workflow, gang: Gang, route: Route, topology: ClusterTopology
) -> dict[Route, str | Diagnostic]:
    """Route of each podSet of a gang -> its pool's name, or the reason why it has none. W323 reports unknown names."""
    places = list(pod_sets(gang, route, workflow.pool))
    chosen = {each.route: _own_pool(each, topology) for each in places}
    leaders = {name for _, name in _chosen(chosen, topology)}
    return {each.route: chosen[each.route] or _follow(each, topology, leaders) for each in places}


def pools_of(workflow: Workflow, topology: ClusterTopology) -> dict[Route, str]:
    """Route of each podSet that has a pool -> its name. `gang_pools` reports the others."""
    return {
        route: name
        for index, gang in enumerate(workflow.gangs)
        for route, name in _chosen(gang_pools(workflow, gang, (*GANGS, index), topology), topology)
    }


def name_accelerators(workflow: Workflow, topology: ClusterTopology) -> Workflow:
    """The workflow in which each accelerator without a name gets the one of its pool, if there is a pool."""
    gangs = []
    for i, gang in enumerate(workflow.gangs):
        route: Route = (*GANGS, i)
        if any(_nameless(each.spec) for each in pod_sets(gang, route, "")):
            chosen = _chosen(gang_pools(workflow, gang, route, topology), topology)
            gang = edit_pod_sets(gang, route, partial(_of_pool, {at: topology.pool(name) for at, name in chosen}))
        gangs.append(gang)
    return workflow._replace(gangs=tuple(gangs))


def _nameless(spec: PodSet) -> bool:
    return spec.accelerator is not None and not spec.accelerator.name


def _chosen(pools: Mapping[Route, str | Diagnostic | None], topology: ClusterTopology) -> Iterator[tuple[Route, str]]:
    """The entries whose pool exists."""
    return ((route, name) for route, name in pools.items() if isinstance(name, str) and topology.pool(name))


def _of_pool(pools: Mapping[Route, Pool | None], spec: PodSet, route: Route) -> PodSet:
    """The podSet with the accelerator's name filled in."""
    pool = pools.get(route)
    if spec.accelerator is None or spec.accelerator.name or pool is None:
        return spec
    return spec._replace(accelerator=spec.accelerator._replace(name=pool.node.accelerator))


def pod_sets(node: Gang | Group, route: Route, nearest: str, required: tuple[str, ...] = ()) -> Iterator[PodSetPool]:
    """All podSets at and below a gang or group, in file order."""
    here, required = node.pool or nearest, (*required, *filter(None, (node.placement.required,)))
    for i, spec in enumerate(node.pod_sets):
        yield PodSetPool((*route, "podSets", i), spec, spec.pool or here, required)
    for i, group in enumerate(node.groups):
        yield from pod_sets(group, (*route, "groups", i), here, required)


def _own_pool(pod_set: PodSetPool, topology: ClusterTopology) -> str | Diagnostic | None:
    """The pool that the podSet by itself determines; None if it follows its gang."""
    if pod_set.named:
        return _fitting(pod_set, topology, pod_set.named)
    able = _able_pools(pod_set, topology)
    if len(able) == 1 or len(topology.pools) == 1:
        return _fitting(pod_set, topology, able[0] if able else topology.pools[0].name)
    if topology.defaults.get("pool", "") in able:
        return topology.defaults["pool"]
    return _undecided(pod_set, able) if pod_set.spec.accelerator else None


def _able_pools(pod_set: PodSetPool, topology: ClusterTopology) -> list[str]:
    """The pools that have what the podSet requests.

    A whole node includes its accelerators, if any pool has some. Other podSets without accelerators need a pool with
    the levels that are required for them.
    """
    spec = pod_set.spec
    if spec.accelerator:
        return [pool.name for pool in topology.pools if _able(spec, pool)]
    accelerated = [pool.name for pool in topology.pools if pool.node.accelerator]
    if spec.whole_node and accelerated:
        return accelerated
    plain = (pool for pool in topology.pools if not pool.node.accelerator)
    return [pool.name for pool in plain if {*pod_set.required} <= {level.name for level in pool.levels}]


def _able(spec: PodSet, pool: Pool) -> bool:
    """Whether the pool's nodes have exactly the accelerator that the podSet requests."""
    if spec.accelerator and not spec.accelerator.name:
        return bool(pool.node.accelerator)
    return pool.node.accelerator == (spec.accelerator.name if spec.accelerator else "")


def _fitting(pod_set: PodSetPool, topology: ClusterTopology, name: str) -> str | Diagnostic:
    """The pool, if its nodes have the requested accelerator."""
    pool = topology.pool(name)
    if pool and pod_set.spec.accelerator and not _able(pod_set.spec, pool):
        has = f'"{pool.node.accelerator}"' if pool.node.accelerator else "none"
        message = f'podSet "{pod_set.spec.name}" requests {_requested(pod_set.spec)}, but pool "{name}" has {has}'
        that = "this accelerator" if pod_set.spec.accelerator.name else "accelerators"
        return error("P502", (*pod_set.route, "accelerator"), message, hint=f"choose a pool whose node has {that}")
    return name


def _requested(spec: PodSet) -> str:
    if not spec.accelerator:
        return "no accelerator"
    return f'accelerator "{spec.accelerator.name}"' if spec.accelerator.name else "accelerators"


def _undecided(pod_set: PodSetPool, able: list[str]) -> Diagnostic:
    what = _requested(pod_set.spec)
    if not able:
        message = f'podSet "{pod_set.spec.name}" requests {what}, which no pool has'
        hint = "set `node.accelerator` of a pool in the topology"
        named = pod_set.spec.accelerator and pod_set.spec.accelerator.name
        hint += ", or request one that a pool has" if named else ""
        return error("P502", (*pod_set.route, "accelerator"), message, hint=hint)
    quoted = ", ".join(f'"{name}"' for name in able)
    message = f'podSet "{pod_set.spec.name}" matches several pools, {quoted}, which all have {what}'
    return error("P502", pod_set.route, message, hint=NAME_ONE)


def _follow(pod_set: PodSetPool, topology: ClusterTopology, leaders: set[str]) -> str | Diagnostic:
    """The pool of the rest of its gang, for a podSet without an accelerator and without a pool of its own."""
    able = sorted(leaders) or _able_pools(pod_set._replace(required=()), topology)
    if len(able) == 1:
        return able[0]
    if topology.defaults.get("pool"):
        return topology.defaults["pool"]
    return _undecided(pod_set, able or [pool.name for pool in topology.pools])


# The part of a card that the pods of each podSet use, computed once for the whole workflow.
#
# If all shares of a card are equal and n of them fit, each counts as 1/n: shares of 40% count as a half. Shares of
# different sizes count as their size, because a small one may fill what the others leave. Then the sum is exact, but
# bayplan does not know how cards can be divided, and the proof is only likely (`unmodelled_constraints` of
# `workload_checks.py`).

ONE = 1000
Sizes = Mapping[str, frozenset[tuple[int, int]]]
"""Accelerator -> the sizes of all shares that the workflow requests of it."""


def with_card_portions(workflow: Workflow, topology: ClusterTopology) -> Workflow:
    """The workflow with `portion` in each accelerator that requests shares of cards."""
    kinds = topology.accelerators
    accelerators = [each.accelerator for gang in workflow.gangs for each in pod_sets_of(gang) if each.accelerator]
    if all(each.whole for each in accelerators) and not any(kind.profile for kind in kinds.values()):
        return workflow
    sizes: dict[str, frozenset[tuple[int, int]]] = {}
    for each in (each for each in accelerators if each.name in kinds and not each.whole):
        sizes[each.name] = sizes.get(each.name, frozenset()) | {_size(each, kinds[each.name])}
    portioned = partial(_portioned, kinds, sizes)
    return workflow._replace(gangs=tuple(edit_pod_sets(gang, (), portioned) for gang in workflow.gangs))


def _portioned(kinds: Mapping[str, AcceleratorKind], sizes: Sizes, spec: PodSet, _: Route) -> PodSet:
    accelerator = spec.accelerator
    if accelerator is None or accelerator.name not in kinds:
        return spec
    if accelerator.whole and kinds[accelerator.name].profile:
        # the device plugin counts slices of this profile, whether the podSet names it or not
        accelerator = accelerator._replace(profile=kinds[accelerator.name].profile)
    if accelerator.whole:
        return spec
    even = len(sizes.get(accelerator.name, ())) == 1
    return spec._replace(accelerator=accelerator._replace(portion=_portion(accelerator, kinds[accelerator.name], even)))


def _portion(accelerator: Accelerator, kind: AcceleratorKind, even: bool) -> int:
    """In thousandths of a card; 0 for slices that count as a resource of their own."""
    if accelerator.profile:
        from bayplan import accelerators as mig

        # without DRA, slices count as the kind's cards or as a resource of their own
        if allocator(accelerator, kind) != "dra":
            return ONE if kind.profile else 0
        return mig.portion(accelerator.profile)
    from bayplan.accelerators import hami as shares

    return ONE // shares.slots(accelerator, kind) if even else shares.fraction(accelerator, kind)


def _size(accelerator: Accelerator, kind: AcceleratorKind) -> tuple[int, int]:
    """A key that is the same for equal shares."""
    if accelerator.profile:
        return (0, 0)
    from bayplan.accelerators import hami as shares

    return (shares.slots(accelerator, kind), shares.fraction(accelerator, kind))


def irregularly_shared(workflow: Workflow, topology: ClusterTopology) -> frozenset[str]:
    """Accelerators whose cards the workflow divides in a way for which sums are not exact.

    Sums are exact if shares are equal and each pod takes one, or if no pod takes whole cards as well.
    """
    by_name: dict[str, list[Accelerator]] = {}
    for each in (spec.accelerator for gang in workflow.gangs for spec in pod_sets_of(gang)):
        if each and each.name in topology.accelerators:
            by_name.setdefault(each.name, []).append(each)
    return frozenset(
        name for name, accelerators in by_name.items() if _is_irregular(accelerators, topology.accelerators[name])
    )


def _is_irregular(accelerators: list[Accelerator], kind: AcceleratorKind) -> bool:
    parts = [each for each in accelerators if each.memory or each.cores]
    return (
        any(each.profile and allocator(each, kind) == "dra" for each in accelerators)
        or len({each.portion for each in parts}) > 1
        or (len(parts) < len(accelerators) and any(each.per_pod > 1 for each in parts))
        or _has_unknown_size(parts, kind)
    )


def _has_unknown_size(parts: list[Accelerator], kind: AcceleratorKind) -> bool:
    if not parts:
        return False
    from bayplan.accelerators import hami as shares

    return any(not shares.is_exact(each, kind) for each in parts)
