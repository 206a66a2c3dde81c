"""Koordinator and existing workloads: one PodGroup, whose pods Koordinator places in the order of their names.

The controllers choose the names, not bayplan. Read from Koordinator 1.7 and 1.8, network_topology_solver.go: it sorts
pods by name as text, and places the next n of them in one domain. The names of a JobSet's Jobs contain their number, so
each Job stays whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from bayplan.backends.koordinator.pod_group import GROUPS, MUST, POD_GROUP, QUOTA, SCHEDULER, SPEC, common_parts, lower
from bayplan.backends.table import table
from bayplan.core.diagnostics import Outcome
from bayplan.kube.asked import Asked, Beside, PodsFound, Step, counted, minimum_of_only, missing, single
from bayplan.kube.kinds import GROUP_LABEL
from bayplan.kube.objects import items, namespace, number_in, text
from bayplan.model.existing import Existing, single_pods, without_group
from bayplan.model.manifest import Lowered, Marks, Shape
from bayplan.model.plan import Plan
from bayplan.model.target import Target
from bayplan.model.topology import HOST, Pool
from bayplan.topologies.koordinator import layer_name


def place(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """The gang's PodGroup; none for pods that are copies, because Koordinator places pods without one by themselves."""
    return (
        without_group(plan, Marks(pod=common_parts(plan, plan.gangs[0])))
        if single_pods(shape)
        else lower(plan, shape, target)
    )


# What manifests request already.


def ask(found: PodsFound, beside: Beside) -> Outcome[Asked] | None:
    """The PodGroup that pods name, its gang group, and the layers of its network-topology-spec."""
    called, least = found.label(POD_GROUP), next(counted(found.annotation(MIN_AVAILABLE)), 0)
    if (named := found.annotation(GANG_NAME)) and least and not called:
        minimum = minimum_of_only(found, least, beside.sharing(found, _gang))
        return Outcome(Asked(named, found.workload.route, least=minimum, queue=found.label(QUOTA), waits=least))
    if not called:
        return single(found, beside.topology.scheduler_name("koordinator", SCHEDULER), found.label(QUOTA))
    group = beside.find("scheduling.sigs.k8s.io", "PodGroup", found, called)
    if group is None:
        return missing(found, "PodGroup", called)
    tied = [str(each).rpartition("/")[2] for each in _json(group.data, GROUPS) or [called]]
    rules = [each for each in items(_json(group.data, SPEC), "gatherStrategy") if isinstance(each, Mapping)]
    where = namespace(found.workload)
    together = [each for name in dict.fromkeys(tied) for each in beside.having(_group, name, where)]
    must = [rule for rule in rules if text(rule, "strategy") == MUST][-1:]
    cut = [rule for rule in rules if number_in(rule, "podCountMultiple")]
    rest = [rule for rule in rules if rule not in cut and rule not in must and text(rule, "strategy") != MUST]
    required, preferred = ("".join(_label(rule, found.pool) for rule in some[-1:]) for some in (must, rest))
    waits = number_in(group.data, "spec", "minMember") or 0
    minimum = minimum_of_only(found, waits, beside.sharing(found, _group))
    field = (*group.route, "spec", "minMember")
    way = (Step("", required, preferred), *_cuts(found, cut, together))
    return Outcome(Asked(min(tied), group.route, way, minimum, found.label(QUOTA), waits, field=field))


GANG_NAME, MIN_AVAILABLE = (f"gang.scheduling.koordinator.sh/{key}" for key in ("name", "min-available"))
"""Annotations of pods from which Koordinator makes a gang without a PodGroup (1.8, coscheduling/core/gang.go
`tryInitByPodConfig`). It counts pods that ran before as there (`OnceResourceSatisfied`)."""


def _gang(found: PodsFound) -> str:
    return found.annotation(GANG_NAME)


def _group(found: PodsFound) -> str:
    return found.label(POD_GROUP)


def _json(data: Any, key: str) -> Any:
    """The JSON in an annotation; None if it is not valid, which Koordinator ignores."""
    try:
        return json.loads(text(data, "metadata", "annotations", key) or "null")
    except ValueError:
        return None


def _label(rule: Mapping[str, Any], pool: Pool | None) -> str:
    layer = text(rule, "layer")
    levels = (*pool.levels, HOST) if pool else ()
    return next((level.label for level in levels if layer_name(level.name) == layer), layer)


def _cuts(found: PodsFound, rules: Sequence[Mapping[str, Any]], together: Sequence[PodsFound]) -> Iterator[Step]:
    """The units around pods. A multiple of n divides the pods of a gang, sorted by name, into units of n."""
    ordered = sorted(together, key=lambda each: f"{each.name}-")
    for rule in rules:
        size, first = int(rule["podCountMultiple"]), 0
        units: dict[int, list[PodsFound]] = {}
        for each in ordered:
            units.setdefault(first // size, []).append(each)
            first += each.replicas
        mine = next(unit for unit in units.values() if found in unit)
        if found.replicas > size:
            yield Step("", _label(rule, found.pool), size=size)
        else:
            yield Step(_common([each.label(GROUP_LABEL) or each.name for each in mine]), _label(rule, found.pool))


def _common(names: Sequence[str]) -> str:
    """`half-0` of `half-0-quarter-0` and `half-0-quarter-1`: the common words, up to the last number."""
    if len(set(names)) == 1:
        return names[0]
    columns = takewhile(lambda each: len(set(each)) == 1, zip(*(each.split("-") for each in names), strict=False))
    words = [each[0] for each in columns]
    while words and not words[-1].isdigit():
        words.pop()
    return "-".join(words) or min(names)


EXISTING = Existing(table("backends", "koordinator").existing, place, QUOTA, ask)
