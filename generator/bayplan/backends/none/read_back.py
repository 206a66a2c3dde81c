"""The way back from plain manifests: units by the labels of their pods, levels by the terms of their affinity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bayplan.backends.none.affinity import PREFERRED, innermost, keys, steps
from bayplan.diagnostics import Outcome
from bayplan.kube.kinds import KINDS, PodsRead
from bayplan.kube.kinds.parts import GANG_LABEL, GROUP_LABEL
from bayplan.kube.names import COMPUTE_DOMAIN_API
from bayplan.kube.pod import REQUIRED
from bayplan.model.intent import GangIntent, PodsIntent, UnitIntent
from bayplan.model.manifest import Manifest
from bayplan.model.plan import Plan, Unit
from bayplan.planning.intent import gang_intent, in_order, pods_intent
from bayplan.values import NamedTuple

ALONE = 1
"""Every pod starts by itself, whatever its podSet's minimum."""


def intent(plan: Plan) -> tuple[GangIntent, ...]:
    """The plan's intent less the declared gaps: queue, preemptibility, minimums, and outer levels, preferences here."""
    return tuple(
        gang_intent(plan, gang)._replace(queue="", preemptible=None, root=_unit_intent(plan, gang.root))
        for gang in plan.gangs
    )


def _unit_intent(plan: Plan, unit: Unit) -> UnitIntent:
    held = any(innermost(way) is unit for _, way in steps(unit))
    required, preferred = (unit.required, unit.preferred) if held or not unit.required else ("", unit.required)
    return UnitIntent(
        name=unit.name,
        required="".join(keys(plan, unit, required)[-1:]),
        preferred="".join(keys(plan, unit, preferred)[-1:]),
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
    domains = {_channel(d): d["metadata"]["name"] for d in documents if d.get("apiVersion") == COMPUTE_DOMAIN_API}
    gangs: dict[tuple[str, str], list[PodsRead]] = {}
    for pods in (each for document in documents for kind in KINDS.values() for each in kind.read(document)):
        if gang := _labels(pods).get(GANG_LABEL):
            gangs.setdefault((pods.owner.get("namespace", ""), gang), []).append(pods)
    return Outcome(tuple(_gang(*key, _merged(mine), domains) for key, mine in sorted(gangs.items())))


def _channel(domain: Mapping[str, Any]) -> tuple[str, str]:
    return domain["metadata"].get("namespace", ""), domain["spec"]["channel"]["resourceClaimTemplate"]["name"]


def _labels(pods: PodsRead) -> Mapping[str, str]:
    return (pods.template.get("metadata") or {}).get("labels") or {}


def _merged(found: Iterable[PodsRead]) -> list[PodsRead]:
    """Bare pods of one podSet instance as one."""
    merged: dict[str, PodsRead] = {}
    for pods in found:
        before = merged.get(pods.name)
        merged[pods.name] = pods._replace(replicas=pods.replicas + (before.replicas if before else 0))
    return list(merged.values())


def _gang(namespace: str, name: str, mine: Sequence[PodsRead], domains: Mapping[tuple[str, str], str]) -> GangIntent:
    found = [_found(pods, namespace, domains) for pods in mine]
    classes = {str(pods.template["spec"].get("priorityClassName", "")) for pods in mine}
    return GangIntent(
        name=name,
        namespace=namespace,
        queue="",
        priority_class=next(iter(classes)),
        preemptible=None,
        topology="",
        root=_unit("", 0, found),
        compute_domains=tuple(sorted({each.pods.compute_domain for each in found if each.pods.compute_domain})),
    )


def _found(pods: PodsRead, namespace: str, domains: Mapping[tuple[str, str], str]) -> Found:
    claims = pods.template["spec"].get("resourceClaims") or ()
    channels = (domains.get((namespace, claim.get("resourceClaimTemplateName", ""))) for claim in claims)
    affinity = (pods.template["spec"].get("affinity") or {}).get("podAffinity") or {}
    wishes = [each["podAffinityTerm"] for each in affinity.get(PREFERRED) or ()]
    return Found(
        PodsIntent(pods.name, pods.replicas, ALONE, next(filter(None, channels), "")),
        tuple(_way(_labels(pods))),
        dict(map(_term, affinity.get(REQUIRED) or ())),  # of one unit the finest comes last
        dict(reversed([*map(_term, wishes)])),  # of one unit the required comes first
    )


def _way(labels: Mapping[str, str]) -> Iterator[str]:
    depth = 1
    while name := labels.get(f"{GROUP_LABEL}-{depth}"):
        yield name
        depth += 1
    yield from filter(None, [labels.get(GROUP_LABEL)])


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
