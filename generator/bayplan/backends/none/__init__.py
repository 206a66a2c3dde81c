"""No gang scheduler: plain manifests for Kubernetes' default scheduler, placement as pod affinity (`spec.affinity`).

Read from `kubernetes/kubernetes`, pkg/scheduler/framework/plugins/interpodaffinity (1.32 to 1.37). The first pod of a
set with affinity to itself may go to any node that has the label; every further pod must follow it. A pod counts for an
incoming one only if it matches *all* of its required terms. So of nested required levels only the innermost can be a
required term: the first pod of every further group would ignore the others. These become preferences, which the
scheduler scores one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from bayplan.backends.table import table
from bayplan.kube.kinds import GANG_LABEL, GROUP_LABEL
from bayplan.kube.objects import non_empty
from bayplan.kube.pod import REQUIRED
from bayplan.model.backend import Backend, Declaration, Need
from bayplan.model.manifest import Lowered, Marks, PodParts, Shape
from bayplan.model.plan import GangPlan, Plan, Pods, Unit, Units, all_pods, once, title, walk
from bayplan.model.target import Target
from bayplan.model.topology import HOST, Pool

TABLE = table("backends", "none")

PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
SEPARATE_LABEL = "bayplan.dev/separate"
WEIGHT = 100
"""The weight of a preferred term: the largest, of 1 to 100."""


def needs(plan: Plan) -> tuple[Need, ...]:
    """Nested levels, `separate` for levels that pools label differently, and names that become labels."""
    gangs = [gang for gang in plan.gangs if gang.copy == 0]
    units = [(gang, unit) for gang in gangs for unit in once(walk(gang.root))]
    longest = max((unit for _, unit in units), key=lambda unit: len(unit.name))
    return (
        *(need for gang, unit in units for need in _level_needs(plan, gang, unit)),
        Need("group-label-length", len(longest.name), longest.route, subject=f'the group name "{longest.name}"'),
    )


def _level_needs(plan: Plan, gang: GangPlan, unit: Unit) -> Iterator[Need]:
    subject = title(gang, unit)
    below = (other for other in walk(unit) if other is not unit)
    if unit.required and any(other.required for other in below):
        yield Need("outer-level", 1, (*unit.route, "placement", "required"), subject=subject)
    if unit.separate:
        labels = len(level_labels(plan, unit, unit.separate))
        level = f'level "{unit.separate}" of {subject}'
        yield Need("level-labels", labels, (*unit.route, "separate"), subject=level)


class Ancestor(NamedTuple):
    """One unit on the path from the gang to a podSet, and the label that selects its pods ("": that of the gang)."""

    unit: Unit
    units: Units | None
    key: str


def podset_paths(unit: Unit, outer: tuple[Ancestor, ...] = ()) -> Iterator[tuple[Pods, tuple[Ancestor, ...]]]:
    """Every podSet instance with the units around it, from the gang inwards."""
    path = outer or (Ancestor(unit, None, ""),)
    yield from ((pods, path) for pods in unit.pods)
    for units in unit.groups:
        for member in units.members:
            key = GROUP_LABEL if member.pods else f"{GROUP_LABEL}-{len(path)}"
            yield from podset_paths(member, (*path, Ancestor(member, units, key)))


def innermost_required(path: tuple[Ancestor, ...]) -> Unit | None:
    """The unit on the path whose required level can be a required term."""
    return next((ancestor.unit for ancestor in reversed(path) if ancestor.unit.required), None)


def lower(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """No documents: affinity terms on the pods, and labels that the terms select."""
    marks = {
        (gang.name, pods.name): Marks(pod=PodParts(labels=_labels(path), spec=_spec(plan, gang, path)))
        for gang in plan.gangs
        for pods, path in podset_paths(gang.root)
    }
    return Lowered((), marks)


def _labels(path: tuple[Ancestor, ...]) -> dict[str, str]:
    """Labels of the units around the innermost one, which has a label already, and of groups with `separate`."""
    around = {ancestor.key: ancestor.unit.name for ancestor in path if ancestor.key and ancestor.key != GROUP_LABEL}
    return around | {
        _separate_key(ancestor): ancestor.units.name for ancestor in path if ancestor.units and ancestor.unit.separate
    }


def _separate_key(ancestor: Ancestor) -> str:
    return SEPARATE_LABEL + ancestor.key.removeprefix(GROUP_LABEL)


def _spec(plan: Plan, gang: GangPlan, path: tuple[Ancestor, ...]) -> dict[str, Any]:
    affinity = non_empty(
        podAffinity=_pod_affinity(plan, gang, path), podAntiAffinity=_pod_anti_affinity(plan, gang, path)
    )
    return non_empty(affinity=affinity)


def _pod_affinity(plan: Plan, gang: GangPlan, path: tuple[Ancestor, ...]) -> dict[str, Any]:
    innermost = innermost_required(path)
    placed = [(ancestor, ancestor.unit.required) for ancestor in path if ancestor.unit.required]
    preferences = [(ancestor, ancestor.unit.preferred) for ancestor in path if ancestor.unit.preferred]
    required = [
        _term(gang, ancestor, key)
        for ancestor, level in placed
        if ancestor.unit is innermost
        for key in topology_keys(plan, innermost, level)
    ]
    preferred = [
        {"weight": WEIGHT, "podAffinityTerm": _term(gang, ancestor, key)}
        for ancestor, level in (*placed[:-1], *preferences)
        for key in topology_keys(plan, ancestor.unit, level)[-1:]
    ]
    return non_empty(**{REQUIRED: required, PREFERRED: preferred})


def _term(gang: GangPlan, ancestor: Ancestor, key: str) -> dict[str, Any]:
    own = {ancestor.key: ancestor.unit.name} if ancestor.key else {}
    return {"labelSelector": {"matchLabels": {GANG_LABEL: gang.name, **own}}, "topologyKey": key}


def _pod_anti_affinity(plan: Plan, gang: GangPlan, path: tuple[Ancestor, ...]) -> dict[str, Any]:
    """No pod of another instance of the same group in the domain."""
    terms = [
        {
            "labelSelector": {
                "matchLabels": {GANG_LABEL: gang.name, _separate_key(ancestor): ancestor.units.name},
                "matchExpressions": [{"key": ancestor.key, "operator": "NotIn", "values": [ancestor.unit.name]}],
            },
            "topologyKey": key,
        }
        for ancestor in path
        if ancestor.units and len(labels_by_pool := level_labels(plan, ancestor.unit, ancestor.unit.separate)) == 1
        for key in labels_by_pool[0][-1:]
    ]
    return non_empty(**{REQUIRED: terms})


def level_labels(plan: Plan, unit: Unit, level: str) -> tuple[tuple[str, ...], ...]:
    """For each pool of the unit's pods, the node labels that identify the domains of a level; equal ones once.

    If values repeat under several parents, the labels include that of the parent.
    """
    pools = {pods.pool: plan.topology.pool(pods.pool) for pods in all_pods(unit)}.values()
    return tuple({_domain_labels(pool, level): None for pool in pools if pool and level and pool.level(level)})


def _domain_labels(pool: Pool, level: str) -> tuple[str, ...]:
    labels: list[str] = []
    for rank in reversed([*pool.levels, HOST][: pool.depth(level) + 1]):
        labels.insert(0, rank.label)
        if rank.unique != "parent":
            break
    return tuple(labels)


def topology_keys(plan: Plan, unit: Unit, level: str) -> tuple[str, ...]:
    """The labels of the level of a placement, the same in all pools of the unit; empty without a level."""
    pool = plan.topology.pool(next(all_pods(unit)).pool)
    return _domain_labels(pool, level) if pool and level and pool.level(level) else ()


BACKEND = Backend(
    Declaration("none", component="kubernetes", support=TABLE.support, features=TABLE.features),
    lower,
    needs=needs,
)
