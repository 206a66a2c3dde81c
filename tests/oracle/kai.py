"""The way back from KAI manifests to intent, and the intent of a plan in the same words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.backends.kai.pod_group import POD_GROUP, SUBGROUP, pod_group_name, topology_of
from bayplan.core.diagnostics import Diagnostic, Outcome, error
from bayplan.model.manifest import Manifest
from bayplan.model.plan import GangPlan, Plan, all_pods, walk
from bayplan.model.target import Target
from oracle.intent import GangIntent, UnitIntent, claimed_domains, gang_intent, in_order
from oracle.manifests import Channels, PodsRead, annotation_of, by, channels, found_pods, label_of, merged, pods_read

Fields = Mapping[str, Any]
Key = tuple[str, str]  # namespace, name


class Parts(NamedTuple):
    """What belongs to one PodGroup, each by what it hangs on."""

    children: Mapping[str, Sequence[Fields]]  # parent ("": the root) -> subgroups
    pods: Mapping[str, Sequence[PodsRead]]  # subgroup ("": the root) -> podSet instances
    domains: Channels


def intent(plan: Plan, target: Target) -> tuple[GangIntent, ...]:
    """What KAI manifests of the plan must say."""
    return tuple(_gang_intent(plan, gang, target) for gang in plan.gangs)


def _gang_intent(plan: Plan, gang: GangPlan, target: Target) -> GangIntent:
    placed = [unit for unit in walk(gang.root) if unit.required or unit.preferred]
    topologies = {topology_of(plan, gang, next(all_pods(unit)).pool) for unit in placed}
    own = gang_intent(plan, gang)
    return own._replace(name=pod_group_name(plan, gang, target), topology=",".join(sorted(topologies)))


def read(documents: Sequence[Manifest]) -> Outcome[tuple[GangIntent, ...]]:
    """The gangs that PodGroups, ComputeDomains and marked pods describe, in the order of their names."""
    domains = channels(documents)
    found = by(_owner, found_pods(documents))
    groups = [d for d in documents if d.get("kind") == "PodGroup" and "scheduling.run.ai/" in d["apiVersion"]]
    gangs, lost = [], []
    for group in sorted(groups, key=lambda d: _key(d["metadata"])):
        mine = merged(found.get(_key(group["metadata"]), ()))
        lost += _unplaced(group, mine)
        children = by(lambda each: str(each.get("parent", "")), group["spec"].get("subGroups") or ())
        gangs.append(_read_gang(group, Parts(children, by(_subgroup, mine), domains)))
    return Outcome(tuple(gangs), tuple(lost))


def _key(metadata: Fields) -> Key:
    return metadata.get("namespace", ""), metadata["name"]


def _owner(pods: PodsRead) -> Key:
    """The PodGroup that the pods' annotation names; with no annotation, none."""
    return pods.owner.get("namespace", ""), annotation_of(pods, POD_GROUP)


def _subgroup(pods: PodsRead) -> str:
    return label_of(pods, SUBGROUP)


def _unplaced(group: Fields, found: Sequence[PodsRead]) -> list[Diagnostic]:
    """Pods whose subgroup the PodGroup lacks: KAI leaves them out without a word."""
    names = {each["name"] for each in group["spec"].get("subGroups") or ()} or {""}
    route = ("manifest", "metadata", "labels", SUBGROUP)
    return [
        error(
            "M707",
            route,
            f'pods "{pods.name}" name the subgroup "{_subgroup(pods)}", which PodGroup'
            f' "{group["metadata"]["name"]}" lacks; KAI would never count them',
            hint="name a leaf subgroup of that PodGroup",
        )
        for pods in found
        if _subgroup(pods) not in names
    ]


def _read_gang(group: Fields, parts: Parts) -> GangIntent:
    spec, metadata = group["spec"], group["metadata"]
    placed = [each["topologyConstraint"] for each in (spec, *(spec.get("subGroups") or ())) if _constrained(each)]
    root = _read_unit({**spec, "name": ""}, parts)
    return GangIntent(
        name=metadata["name"],
        namespace=metadata.get("namespace", ""),
        queue=spec.get("queue", ""),
        priority_class=spec.get("priorityClassName", ""),
        preemptible={"preemptible": True, "non-preemptible": False}.get(spec.get("preemptibility", "")),
        topology=",".join(sorted({constraint.get("topology", "") for constraint in placed})),
        root=root,
        compute_domains=claimed_domains(root),
    )


def _constrained(part: Fields) -> bool:
    return bool(part.get("topologyConstraint"))


def _read_unit(own: Fields, parts: Parts) -> UnitIntent:
    """One subgroup. A leaf below it that is named like its podSet is a podSet of the unit, not a unit."""
    children = parts.children.get(own["name"], ())
    leaves = {each["name"]: pods for each in children for pods in parts.pods.get(each["name"], ()) if _named(pods)}
    pods = [
        pods_read(leaves[each["name"]], each["minMember"], parts.domains) for each in children if each["name"] in leaves
    ]
    if not children:
        pods = [pods_read(each, own.get("minMember", 0), parts.domains) for each in parts.pods.get(own["name"], ())]
    constraint = own.get("topologyConstraint") or {}
    required, preferred = (constraint.get(f"{word}TopologyLevel", "") for word in ("required", "preferred"))
    return UnitIntent(
        name=own["name"],
        required=required,
        preferred="" if preferred == required else preferred,
        minimum=own.get("minSubGroup", 0),
        units=in_order([_read_unit(child, parts) for child in children if child["name"] not in leaves]),
        pods=tuple(sorted(pods)),
    )


def _named(pods: PodsRead) -> bool:
    return pods.name == _subgroup(pods)
