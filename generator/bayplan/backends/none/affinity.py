"""Placement as pod affinity (`spec.affinity`, core/v1).

Read from kubernetes pkg/scheduler/framework/plugins/interpodaffinity (1.32 to 1.37). The first pod of a set with
affinity to itself may go to any node that has the label; every further pod must follow it. A pod counts for an incoming
one only if it matches *all* of its required terms, so of nested required levels only the innermost can be a required
term: the first pod of every further group would ignore the others. These become preferences, scored one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.core.values import NamedTuple
from bayplan.kube.kinds.parts import GANG_LABEL, GROUP_LABEL
from bayplan.kube.objects import given
from bayplan.kube.pod import REQUIRED
from bayplan.model.features import Need
from bayplan.model.manifest import Lowered, Marks, PodParts, Shape
from bayplan.model.plan import GangPlan, Plan, Pods, Unit, Units, all_pods, once, title, walk
from bayplan.model.target import Target
from bayplan.model.topology import HOST, Pool

PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
SEPARATE_LABEL = "bayplan.dev/separate"
WEIGHT = 100
"""Of a preferred term, 1 to 100: as much as one can say."""


def needs(plan: Plan) -> tuple[Need, ...]:
    """Levels around levels, groups kept apart by levels that pools label differently, and names that become labels."""
    gangs = [gang for gang in plan.gangs if gang.copy == 0]
    units = [(gang, unit) for gang in gangs for unit in once(walk(gang.root))]
    longest = max(((len(unit.name), unit.route) for _, unit in units), key=lambda each: each[0], default=(0, ()))
    return (
        *(need for gang, unit in units for need in _level_needs(plan, gang, unit)),
        Need("group-label-length", *longest),
    )


def _level_needs(plan: Plan, gang: GangPlan, unit: Unit) -> Iterator[Need]:
    subject = title(gang, unit)
    inside = (below for below in walk(unit) if below is not unit)
    if unit.required and any(below.required for below in inside):
        yield Need("outer-level", 1, (*unit.route, "placement", "required"), subject=subject)
    if unit.separate:
        yield Need("level-labels", len(labels(plan, unit, unit.separate)), (*unit.route, "separate"), subject=subject)


class Step(NamedTuple):
    """One unit on the way from the gang to a podSet, and the label that its pods are known by ("": the gang's)."""

    unit: Unit
    units: Units | None
    key: str


def steps(unit: Unit, outer: tuple[Step, ...] = ()) -> Iterator[tuple[Pods, tuple[Step, ...]]]:
    """Every podSet instance with the units around it, from the gang inwards."""
    way = outer or (Step(unit, None, ""),)
    yield from ((pods, way) for pods in unit.pods)
    for units in unit.groups:
        for member in units.members:
            key = GROUP_LABEL if member.pods else f"{GROUP_LABEL}-{len(way)}"
            yield from steps(member, (*way, Step(member, units, key)))


def innermost(way: tuple[Step, ...]) -> Unit | None:
    """The unit on the way whose required level can be a required term."""
    return next((step.unit for step in reversed(way) if step.unit.required), None)


def lower(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """No documents of its own: affinity terms on the pods, and labels that the terms select by."""
    marks = {
        (gang.name, pods.name): Marks(pod=PodParts(labels=_labels(way), spec=_spec(plan, gang, way)))
        for gang in plan.gangs
        for pods, way in steps(gang.root)
    }
    return Lowered((), marks)


def _labels(way: tuple[Step, ...]) -> dict[str, str]:
    """Units around the innermost, which has a label already, and the groups whose instances keep apart."""
    around = {step.key: step.unit.name for step in way if step.key and step.key != GROUP_LABEL}
    return around | {_separate_key(step): step.units.name for step in way if step.units and step.unit.separate}


def _separate_key(step: Step) -> str:
    return SEPARATE_LABEL + step.key.removeprefix(GROUP_LABEL)


def _spec(plan: Plan, gang: GangPlan, way: tuple[Step, ...]) -> dict[str, Any]:
    affinity = given(podAffinity=_together(plan, gang, way), podAntiAffinity=_apart(plan, gang, way))
    return given(affinity=affinity)


def _together(plan: Plan, gang: GangPlan, way: tuple[Step, ...]) -> dict[str, Any]:
    last = innermost(way)
    placed = [(step, step.unit.required) for step in way if step.unit.required]
    wished = [(step, step.unit.preferred) for step in way if step.unit.preferred]
    must = [_term(gang, step, key) for step, level in placed if step.unit is last for key in keys(plan, last, level)]
    better = [
        {"weight": WEIGHT, "podAffinityTerm": _term(gang, step, key)}
        for step, level in (*placed[:-1], *wished)
        for key in keys(plan, step.unit, level)[-1:]
    ]
    return given(**{REQUIRED: must, PREFERRED: better})


def _term(gang: GangPlan, step: Step, key: str) -> dict[str, Any]:
    own = {step.key: step.unit.name} if step.key else {}
    return {"labelSelector": {"matchLabels": {GANG_LABEL: gang.name, **own}}, "topologyKey": key}


def _apart(plan: Plan, gang: GangPlan, way: tuple[Step, ...]) -> dict[str, Any]:
    """No pod of another instance of the same group in the domain."""
    terms = [
        {
            "labelSelector": {
                "matchLabels": {GANG_LABEL: gang.name, _separate_key(step): step.units.name},
                "matchExpressions": [{"key": step.key, "operator": "NotIn", "values": [step.unit.name]}],
            },
            "topologyKey": key,
        }
        for step in way
        if step.units and len(found := labels(plan, step.unit, step.unit.separate)) == 1
        for key in found[0][-1:]
    ]
    return given(**{REQUIRED: terms})


def labels(plan: Plan, unit: Unit, level: str) -> tuple[tuple[str, ...], ...]:
    """For each pool of the unit's pods, the node labels that tell the domains of a level apart; equal ones once.

    Where values repeat under other parents, the parent's label belongs to it.
    """
    pools = {pods.pool: plan.topology.pool(pods.pool) for pods in all_pods(unit)}.values()
    return tuple({_path(pool, level): None for pool in pools if pool and level and pool.level(level)})


def _path(pool: Pool, level: str) -> tuple[str, ...]:
    made: list[str] = []
    for rank in reversed([*pool.levels, HOST][: pool.depth(level) + 1]):
        made.insert(0, rank.label)
        if rank.unique != "parent":
            break
    return tuple(made)


def keys(plan: Plan, unit: Unit, level: str) -> tuple[str, ...]:
    """The labels of a level of a placement, for which all pools of the unit have the same; none for no level."""
    pool = plan.topology.pool(next(all_pods(unit)).pool)
    return _path(pool, level) if pool and level and pool.level(level) else ()
