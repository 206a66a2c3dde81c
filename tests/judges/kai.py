"""KAI's admission webhooks, by version.

Sources: kai-scheduler pkg/apis/scheduling/v2alpha2/podgroup_webhook.go, pkg/apis/scheduling/v2 (Queue),
pkg/admission/webhook/topologyhooks/topology_validator.go, tags v0.10.5 to v0.17.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from judges.syntax import is_label
from judges.versions import NEWEST, at_least

Document = Mapping[str, Any]


def judge(document: Document, target: Mapping[str, str]) -> list[str]:
    """Complaints of the webhooks about one object; none about kinds that are not KAI's."""
    kind = (document["apiVersion"].rpartition("/")[0], document["kind"])
    rules = {
        ("scheduling.run.ai", "PodGroup"): pod_group,
        ("scheduling.run.ai", "Queue"): queue,
        ("kai.scheduler", "Topology"): topology,
    }
    return list(rules[kind](document.get("spec") or {}, target.get("kai", NEWEST["kai"]))) if kind in rules else []


def pod_group(spec: Mapping[str, Any], version: str) -> Iterator[str]:
    """The PodGroup webhook: since 0.10 the tree, since 0.15 which node carries which minimum."""
    groups = {group.get("name"): group for group in spec.get("subGroups") or ()}
    yield from tree(spec.get("subGroups") or [], groups)
    yield from constraint("spec", spec.get("topologyConstraint"), version)
    for name, group in groups.items():
        if not is_label(name):
            yield f"subgroup name {name!r} is no DNS label of at most 63 characters"
        yield from constraint(f"subgroup {name!r}", group.get("topologyConstraint"), version)
    if at_least("kai", version, "0.15"):
        yield from minimums(spec, groups)


def tree(listed: list[Mapping[str, Any]], groups: Mapping[Any, Mapping[str, Any]]) -> Iterator[str]:
    """Names are unique, parents exist, nothing is its own ancestor."""
    if len(listed) != len(groups):
        yield "duplicate subgroup name"
    for name, group in groups.items():
        if group.get("parent") and group["parent"] not in groups:
            yield f"subgroup {name!r} has the unknown parent {group['parent']!r}"
        seen, parent = {name}, group.get("parent")
        while parent and parent in groups and parent not in seen:
            seen.add(parent)
            parent = groups[parent].get("parent")
        if parent in seen:
            yield f"subgroup {name!r} is part of a cycle"


def minimums(spec: Mapping[str, Any], groups: Mapping[Any, Mapping[str, Any]]) -> Iterator[str]:
    """Which of minMember and minSubGroup a node may carry (0.15 and later)."""
    children = {name: [g for g in groups.values() if g.get("parent") == name] for name in groups}
    if "minMember" in spec and "minSubGroup" in spec:
        yield "minMember and minSubGroup are both set"
    direct = [group for group in groups.values() if not group.get("parent")]
    if spec.get("minSubGroup", 0) > len(direct):
        yield f"minSubGroup {spec['minSubGroup']} of {len(direct)} direct subgroups: never ready"
    for name, group in groups.items():
        if "minMember" in group and "minSubGroup" in group:
            yield f"subgroup {name!r}: minMember and minSubGroup are both set"
        if children[name] and "minMember" in group:
            yield f"subgroup {name!r} has children and minMember"
        if not children[name] and ("minMember" not in group or "minSubGroup" in group):
            yield f"leaf subgroup {name!r} needs minMember and no minSubGroup"
        if group.get("minSubGroup", 0) > len(children[name]):
            yield f"subgroup {name!r}: minSubGroup {group['minSubGroup']} of {len(children[name])}: never ready"


def constraint(where: str, value: Mapping[str, Any] | None, version: str) -> Iterator[str]:
    """Half a constraint: taken by the webhook, and then silently ignored or pending for ever."""
    if value is None:
        return
    levels = [value.get(f"{kind}TopologyLevel") for kind in ("required", "preferred")]
    if bool(value.get("topology")) != any(levels):
        yield f"{where}: a topologyConstraint needs a topology and a level: {dict(value)!r}"
    if all(levels) and levels[0] == levels[1] and not at_least("kai", version, "0.13"):
        yield f"{where}: equal required and preferred levels are an error before 0.13"


def queue(spec: Mapping[str, Any], version: str) -> Iterator[str]:
    """The Queue webhook: since 0.14 resources are required."""
    if at_least("kai", version, "0.14") and not spec.get("resources"):
        yield "spec.resources is required"


def topology(spec: Mapping[str, Any], version: str) -> Iterator[str]:
    """The Topology webhook: since 0.17 aliases are unique and no level's label."""
    aliases = [level["alias"] for level in spec.get("levels") or () if level.get("alias")]
    labels = {level.get("nodeLabel") for level in spec.get("levels") or ()}
    if at_least("kai", version, "0.17") and len(set(aliases)) != len(aliases):
        yield "two levels share an alias"
    if at_least("kai", version, "0.17") and labels & set(aliases):
        yield f"the alias {sorted(labels & set(aliases))[0]!r} is also a nodeLabel"
