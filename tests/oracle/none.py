"""The way back from plain manifests: units by the labels of their pods, levels by the terms of their affinity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.backends.none import PREFERRED, innermost_required, podset_paths, topology_keys
from bayplan.core.diagnostics import Outcome
from bayplan.kube.kinds import GANG_LABEL, GROUP_LABEL
from bayplan.kube.pod import REQUIRED
from bayplan.model.manifest import Manifest
from bayplan.model.plan import Plan, Unit
from bayplan.model.target import Target
from oracle.intent import GangIntent, PodsIntent, UnitIntent, gang_intent, in_order, pods_intent
from oracle.manifests import Channels, PodsRead, channels, found_pods, label_of, merged, pods_read, priority_class

ALONE = 1
"""Every pod starts by itself, whatever its podSet's minimum."""


def intent(plan: Plan, target: Target) -> tuple[GangIntent, ...]:
    """The plan's intent less the declared gaps: queue, preemptibility, minimums, and outer levels, preferences here."""
    return tuple(
        gang_intent(plan, gang)._replace(queue="", preemptible=None, root=_unit_intent(plan, gang.root))
        for gang in plan.gangs
    )


def _unit_intent(plan: Plan, unit: Unit) -> UnitIntent:
    held = any(innermost_required(way) is unit for _, way in podset_paths(unit))
    required, preferred = (unit.required, unit.preferred) if held or not unit.required else ("", unit.required)
    return UnitIntent(
        name=unit.name,
        required="".join(topology_keys(plan, unit, required)[-1:]),
        preferred="".join(topology_keys(plan, unit, preferred)[-1:]),
        units=in_order([_unit_intent(plan, member) for units in unit.groups for member in units.members]),
        pods=tuple(sorted(pods_intent(pods)._replace(minimum=ALONE) for pods in unit.pods)),
    )


class Found(NamedTuple):
    """One podSet instance: the units around it, outermost first, and what its affinity says of each."""

    pods: PodsIntent
    way: tuple[str, ...]
    required: Mapping[str, str]  # unit ("": the gang) -> node label
    preferred: Mapping[str, str]


def read(documents: Sequence[Manifest]) -> Outcome[tuple[GangIntent, ...]]:
    """The gangs that labelled pods and their affinity describe, in the order of their names."""
    domains = channels(documents)
    gangs: dict[tuple[str, str], list[PodsRead]] = {}
    for pods in found_pods(documents):
        if gang := label_of(pods, GANG_LABEL):
            gangs.setdefault((pods.owner.get("namespace", ""), gang), []).append(pods)
    return Outcome(tuple(_gang(*key, merged(gangs[key]), domains) for key in sorted(gangs)))


def _gang(namespace: str, name: str, mine: Sequence[PodsRead], domains: Channels) -> GangIntent:
    found = [_found(pods, domains) for pods in mine]
    return GangIntent(
        name=name,
        namespace=namespace,
        queue="",
        priority_class=priority_class(mine),
        preemptible=None,
        topology="",
        root=_unit("", 0, found),
        compute_domains=tuple(sorted({each.pods.compute_domain for each in found if each.pods.compute_domain})),
    )


def _found(pods: PodsRead, domains: Channels) -> Found:
    affinity = (pods.template["spec"].get("affinity") or {}).get("podAffinity") or {}
    wishes = [each["podAffinityTerm"] for each in affinity.get(PREFERRED) or ()]
    return Found(
        pods_read(pods, ALONE, domains),
        tuple(_way(pods)),
        dict(map(_term, affinity.get(REQUIRED) or ())),  # of one unit the finest comes last
        dict(reversed([*map(_term, wishes)])),  # of one unit the required comes first
    )


def _way(pods: PodsRead) -> Iterator[str]:
    depth = 1
    while name := label_of(pods, f"{GROUP_LABEL}-{depth}"):
        yield name
        depth += 1
    yield from filter(None, [label_of(pods, GROUP_LABEL)])


def _term(term: Mapping[str, Any]) -> tuple[str, str]:
    """The unit whose pods a term selects, and the node label."""
    chosen = dict((term.get("labelSelector") or {}).get("matchLabels") or {})
    chosen.pop(GANG_LABEL, None)
    return next(iter(chosen.values()), ""), term["topologyKey"]


def _unit(name: str, depth: int, found: Sequence[Found]) -> UnitIntent:
    """A unit of the pods below it; those whose way ends here are its own."""
    inside: dict[str, list[Found]] = {}
    for each in found:
        if len(each.way) > depth:
            inside.setdefault(each.way[depth], []).append(each)
    told = next((each for each in found if name in each.required), found[0])
    return UnitIntent(
        name=name,
        required=told.required.get(name, ""),
        preferred=told.preferred.get(name, ""),
        units=in_order([_unit(unit, depth + 1, below) for unit, below in inside.items()]),
        pods=tuple(sorted(each.pods for each in found if len(each.way) == depth)),
    )
