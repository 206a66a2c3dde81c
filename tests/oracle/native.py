"""The way back from Workloads and their groups to intent, and the intent of a plan in the same words.

Both are brought into one form: a unit that places nothing and needs all that is in it says nothing, so its contents
count as its parent's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.backends.native.groups import COMPONENT, GROUP, SINCE_LEVELS
from bayplan.core.diagnostics import Diagnostic, Outcome, error
from bayplan.model.manifest import Manifest
from bayplan.model.plan import Plan
from bayplan.model.target import Target
from oracle.intent import GangIntent, PodsIntent, UnitIntent, claimed_domains, gang_intent, in_order
from oracle.manifests import Channels, PodsRead, by, channels, found_pods, merged, pods_read

Fields = Mapping[str, Any]
Key = tuple[str, str]  # namespace, name


def intent(plan: Plan, target: Target) -> tuple[GangIntent, ...]:
    """What the manifests of a plan must say. Queues, preferred levels and preemptibility have no words here."""
    return tuple(
        own._replace(queue="", preemptible=None, root=plain(_told(own.root, target.since(COMPONENT, SINCE_LEVELS))))
        for own in (gang_intent(plan, gang) for gang in plan.gangs)
    )


def _told(unit: UnitIntent, levels: bool) -> UnitIntent:
    """A unit without what has no words; below 1.36 there are none for levels."""
    required = unit.required if levels else ""
    return unit._replace(required=required, preferred="", units=tuple(_told(each, levels) for each in unit.units))


def plain(unit: UnitIntent) -> UnitIntent:
    """The unit with all units dissolved that say nothing."""
    inside = [plain(each) for each in unit.units]
    if len(inside) == 1 and not (inside[0].required or unit.pods or unit.minimum) and inside[0].minimum:
        return unit._replace(minimum=inside[0].minimum, units=inside[0].units, pods=inside[0].pods)
    units: list[UnitIntent] = []
    pods = list(unit.pods)
    for each in inside:
        silent = not (each.required or each.minimum or each.pods)
        if unit.minimum and silent and len(each.units) == 1:
            units += each.units
        elif each.required or each.minimum or unit.minimum:
            units.append(each)
        else:
            units += each.units
            pods += each.pods
    return unit._replace(units=in_order(units), pods=tuple(sorted(pods)))


class Found(NamedTuple):
    """All that was read, each by what it hangs on."""

    children: Mapping[Key, Sequence[Fields]]  # CompositePodGroup -> its groups
    pods: Mapping[Key, Sequence[PodsRead]]  # PodGroup, or in 1.35 Workload -> podSet instances
    domains: Channels


def read(documents: Sequence[Manifest]) -> Outcome[tuple[GangIntent, ...]]:
    """The gangs that groups without a parent describe, in the order of their names."""
    own = [each for each in documents if str(each.get("apiVersion", "")).startswith(f"{GROUP}/")]
    groups = [each for each in own if each["kind"] in ("PodGroup", "CompositePodGroup")]
    found = Found(_children(groups), _pods(documents), channels(documents))
    counted = [each for each in own if each["kind"] == "Workload" and "podGroups" in each["spec"]]
    roots = [each for each in groups if not each["spec"].get("parentCompositePodGroupName")]
    alone = {key: len(made) for key, made in by(_made_from, roots).items()}
    gangs = [_gang(each, found, alone) for each in roots] + [_counted_gang(each, found) for each in counted]
    return Outcome(tuple(sorted(gangs, key=lambda gang: (gang.name, gang.namespace))), tuple(_lost(found, own)))


def key(document: Fields) -> Key:
    """Namespace and name."""
    return document["metadata"].get("namespace", ""), document["metadata"]["name"]


def _children(groups: Sequence[Fields]) -> dict[Key, list[Fields]]:
    return by(lambda each: (key(each)[0], each["spec"].get("parentCompositePodGroupName", "")), groups)


def _made_from(group: Fields) -> Key:
    """The Workload of a group, by 1.37's or 1.36's words; the group itself where it has none."""
    spec = group["spec"]
    reference = spec.get("workloadRef") or (spec.get("podGroupTemplateRef") or {}).get("workload") or {}
    return key(group)[0], reference.get("workloadName", key(group)[1])


def _pods(documents: Sequence[Fields]) -> dict[Key, list[PodsRead]]:
    return {group: merged(found) for group, found in by(_group, found_pods(documents)).items()}


def _group(pods: PodsRead) -> Key:
    """The group that pods name; with none, no name."""
    spec = pods.template["spec"]
    named = (spec.get("schedulingGroup") or {}).get("podGroupName") or (spec.get("workloadRef") or {}).get("name", "")
    return pods.owner.get("namespace", ""), named


def _gang(root: Fields, found: Found, alone: Mapping[Key, int]) -> GangIntent:
    """One gang: named after its Workload, if nothing else was made from it."""
    workload = _made_from(root)
    name = workload[1] if alone[workload] == 1 else key(root)[1]
    unit = _unit(root, found, name)
    if key(root)[1] != name:
        unit = UnitIntent("", units=(unit,))
    return _intent(name, root, plain(unit._replace(name="") if key(root)[1] == name else unit), _below(root, found))


def _counted_gang(workload: Fields, found: Found) -> GangIntent:
    """1.35: one count for all pods that name the Workload."""
    mine = found.pods.get(key(workload), ())
    least = sum(each["policy"]["gang"]["minCount"] for each in workload["spec"]["podGroups"])
    return _intent(key(workload)[1], workload, UnitIntent("", pods=_podsets(mine, least, found)), mine)


def _below(group: Fields, found: Found) -> list[PodsRead]:
    """All podSet instances of a group and of those inside it."""
    if group["kind"] == "PodGroup":
        return list(found.pods.get(key(group), ()))
    return [pods for child in found.children.get(key(group), ()) for pods in _below(child, found)]


def _intent(name: str, document: Fields, root: UnitIntent, everyone: Sequence[PodsRead]) -> GangIntent:
    return GangIntent(
        name=name,
        namespace=key(document)[0],
        queue="",
        priority_class=next((pods.template["spec"].get("priorityClassName", "") for pods in everyone), ""),
        preemptible=None,
        topology="",
        root=root,
        compute_domains=claimed_domains(root),
    )


def _unit(group: Fields, found: Found, gang: str) -> UnitIntent:
    """One group, named as it is within its gang."""
    spec, name = group["spec"], key(group)[1].removeprefix(f"{gang}-")
    levels = (spec.get("schedulingConstraints") or {}).get("topology") or [{}]
    policy = (spec.get("schedulingPolicy") or {}).get("gang") or {}
    children = found.children.get(key(group), ()) if group["kind"] == "CompositePodGroup" else ()
    units = [_unit(child, found, gang) for child in children]
    least = policy.get("minGroupCount", 0)
    pods = () if units else _podsets(found.pods.get(key(group), ()), policy.get("minCount", 0), found)
    return UnitIntent(
        name=name,
        required=levels[0].get("key", ""),
        minimum=least if least < len(units) else 0,
        units=in_order(units),
        pods=pods,
    )


def _podsets(mine: Sequence[PodsRead], least: int, found: Found) -> tuple[PodsIntent, ...]:
    """The podSets of a group. Its count tells a minimum of theirs only where there is one, or all must start."""
    return tuple(sorted(pods_read(each, least if len(mine) == 1 else each.replicas, found.domains) for each in mine))


def _lost(found: Found, own: Sequence[Fields]) -> Iterator[Diagnostic]:
    """Pods of a group that is not there: they would never start."""
    names = {key(each) for each in own if each["kind"] == "PodGroup" or "podGroups" in each.get("spec", ())}
    for group, pods in found.pods.items():
        if group[1] and group not in names:
            message = f'pods "{pods[0].name}" name the group "{group[1]}", which is not there; they would wait for ever'
            hint = "name a PodGroup of their namespace"
            yield error("M707", ("manifest", "spec", "schedulingGroup", "podGroupName"), message, hint=hint)
