"""The way back from KAI manifests to intent, and the intent of a plan in the same words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bayplan.backends.kai.cluster import level_label, topology_name
from bayplan.backends.kai.pod_group import POD_GROUP, SUBGROUP, pod_group_name
from bayplan.diagnostics import Diagnostic, Outcome, error
from bayplan.kube.kinds import KINDS, PodsRead
from bayplan.kube.names import COMPUTE_DOMAIN_API
from bayplan.model.intent import GangIntent, PodsIntent, UnitIntent
from bayplan.model.manifest import Manifest
from bayplan.model.plan import GangPlan, Plan, Pods, Unit, all_pods, walk
from bayplan.model.target import Target

Fields = Mapping[str, Any]


def intent(plan: Plan, target: Target) -> tuple[GangIntent, ...]:
    """What KAI manifests of the plan must say."""
    return tuple(_gang_intent(plan, gang, target) for gang in plan.gangs)


def _gang_intent(plan: Plan, gang: GangPlan, target: Target) -> GangIntent:
    placed = [unit for unit in walk(gang.root) if unit.required or unit.preferred]
    topologies = {topology_name(plan.topology, next(all_pods(unit)).pool) for unit in placed}
    return GangIntent(
        name=pod_group_name(plan, gang, target),
        namespace=plan.namespace,
        queue=plan.queue,
        priority_class=plan.workflow.priority_class,
        preemptible=gang.gang.preemptible,
        topology=",".join(sorted(topologies)),
        root=_unit_intent(plan, gang.root),
        compute_domains=tuple(sorted(domain.name for domain in gang.compute_domains)),
    )


def _unit_intent(plan: Plan, unit: Unit) -> UnitIntent:
    units: list[UnitIntent] = []
    for group in unit.groups:
        members = tuple(_unit_intent(plan, member) for member in group.members)
        optional = group.minimum < len(members)
        units += [UnitIntent(group.name, minimum=group.minimum, units=_sorted(members))] if optional else members
    pool = next(all_pods(unit)).pool
    return UnitIntent(
        name=unit.name,
        required=level_label(plan.topology, pool, unit.required),
        preferred=level_label(plan.topology, pool, unit.preferred),
        units=_sorted(units),
        pods=tuple(sorted(_pods_intent(pods) for pods in unit.pods)),
    )


def _pods_intent(pods: Pods) -> PodsIntent:
    return PodsIntent(pods.name, pods.replicas, pods.minimum, pods.compute_domain)


def _sorted(units: Sequence[UnitIntent]) -> tuple[UnitIntent, ...]:
    return tuple(sorted(units, key=lambda unit: unit.name))


def read(documents: Sequence[Manifest]) -> Outcome[tuple[GangIntent, ...]]:
    """The gangs that PodGroups, ComputeDomains and marked pods describe, in the order of their names."""
    domains = {_channel(d): d["metadata"]["name"] for d in documents if d.get("apiVersion") == COMPUTE_DOMAIN_API}
    found = [pods for document in documents for kind in KINDS.values() for pods in kind.read(document)]
    groups = [d for d in documents if d.get("kind") == "PodGroup" and "scheduling.run.ai/" in d["apiVersion"]]
    gangs, lost = [], []
    for group in sorted(groups, key=lambda d: (d["metadata"].get("namespace", ""), d["metadata"]["name"])):
        mine = _merged([pods for pods in found if _annotation(pods) == group["metadata"]["name"]])
        lost += _unplaced(group, mine)
        gangs.append(_read_gang(group, mine, domains))
    return Outcome(tuple(gangs), tuple(lost))


def _channel(domain: Fields) -> str:
    return str(domain["spec"]["channel"]["resourceClaimTemplate"]["name"])


def _annotation(pods: PodsRead) -> str:
    return str(((pods.template.get("metadata") or {}).get("annotations") or {}).get(POD_GROUP, ""))


def _subgroup(pods: PodsRead) -> str:
    return str(((pods.template.get("metadata") or {}).get("labels") or {}).get(SUBGROUP, ""))


def _merged(found: Sequence[PodsRead]) -> list[PodsRead]:
    """Bare pods of one podSet instance as one."""
    merged: dict[str, PodsRead] = {}
    for pods in found:
        before = merged.get(pods.name)
        merged[pods.name] = pods._replace(replicas=pods.replicas + (before.replicas if before else 0))
    return list(merged.values())


def _unplaced(group: Fields, found: Sequence[PodsRead]) -> list[Diagnostic]:
    """Pods whose subgroup the PodGroup lacks: KAI leaves them out without a word."""
    names = {each["name"] for each in group["spec"].get("subGroups") or ()} or {""}
    route = ("manifest", "metadata", "labels", SUBGROUP)
    return [
        error(
            "M701",
            route,
            f'pods "{pods.name}" name the subgroup "{_subgroup(pods)}", which PodGroup'
            f' "{group["metadata"]["name"]}" lacks; KAI would never count them',
            hint="name a leaf subgroup of that PodGroup",
        )
        for pods in found
        if _subgroup(pods) not in names
    ]


def _read_gang(group: Fields, found: Sequence[PodsRead], domains: Mapping[str, str]) -> GangIntent:
    spec, metadata = group["spec"], group["metadata"]
    parts = [spec, *(spec.get("subGroups") or ())]
    topologies = {part["topologyConstraint"].get("topology", "") for part in parts if part.get("topologyConstraint")}
    root = _read_unit({**spec, "name": ""}, spec.get("subGroups") or (), found, domains)
    names = sorted({pods.compute_domain for unit in _walk(root) for pods in unit.pods if pods.compute_domain})
    return GangIntent(
        name=metadata["name"],
        namespace=metadata.get("namespace", ""),
        queue=spec.get("queue", ""),
        priority_class=spec.get("priorityClassName", ""),
        preemptible={"preemptible": True, "non-preemptible": False}.get(spec.get("preemptibility", "")),
        topology=",".join(sorted(topologies)),
        root=root,
        compute_domains=tuple(names),
    )


def _walk(unit: UnitIntent) -> list[UnitIntent]:
    return [unit, *(each for child in unit.units for each in _walk(child))]


def _read_unit(
    own: Fields, groups: Sequence[Fields], found: Sequence[PodsRead], domains: Mapping[str, str]
) -> UnitIntent:
    """One subgroup. A leaf below it that is named like its podSet is a podSet of the unit, not a unit."""
    children = [group for group in groups if group.get("parent", "") == own["name"]]
    pods_of = {pods.name: pods for pods in found}
    leaves = [c for c in children if c["name"] in pods_of and _subgroup(pods_of[c["name"]]) == c["name"]]
    pods = [_read_pods(pods_of[leaf["name"]], leaf["minMember"], domains) for leaf in leaves]
    if not children:
        pods = [_read_pods(p, own.get("minMember", 0), domains) for p in found if _subgroup(p) == own["name"]]
    constraint = own.get("topologyConstraint") or {}
    required, preferred = (constraint.get(f"{word}TopologyLevel", "") for word in ("required", "preferred"))
    units = [_read_unit(child, groups, found, domains) for child in children if child not in leaves]
    return UnitIntent(
        name=own["name"],
        required=required,
        preferred="" if preferred == required else preferred,
        minimum=own.get("minSubGroup", 0),
        units=_sorted(units),
        pods=tuple(sorted(pods)),
    )


def _read_pods(pods: PodsRead, minimum: int, domains: Mapping[str, str]) -> PodsIntent:
    claims = [claim.get("resourceClaimTemplateName", "") for claim in pods.template["spec"].get("resourceClaims") or ()]
    channel = next((domains[claim] for claim in claims if claim in domains), "")
    return PodsIntent(pods.name, pods.replicas, minimum, channel)
