"""The way back from Koordinator's manifests to intent, and the intent of a plan in the same words.

Levels are layers. Groups have no names here: a multiple of n cuts the pods, sorted by name, into groups of n, just as
the scheduler does. A group is called after the first podSet instance in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bayplan.backends.koordinator.pod_group import (
    GROUPS,
    MUST,
    POD_GROUP,
    PREEMPTIBLE,
    QUOTA,
    SPEC,
    gather_rules,
    gather_strategy,
)
from bayplan.core.diagnostics import Diagnostic, Outcome, error
from bayplan.kube.kinds import GANG_LABEL
from bayplan.model.manifest import Manifest
from bayplan.model.plan import GangPlan, Plan, Unit, all_pods
from bayplan.model.target import Target
from bayplan.topologies.koordinator import layer_name
from oracle.intent import GangIntent, PodsIntent, UnitIntent, gang_intent, pods_intent
from oracle.manifests import Channels, PodsRead, channels, found_pods, label_of, merged, pods_read, priority_class

Fields = Mapping[str, Any]
Key = tuple[str, str]  # namespace, name
Layers = Sequence[tuple[str, int]]  # layer, pods a group; coarse to fine


def intent(plan: Plan, target: Target) -> tuple[GangIntent, ...]:
    """What Koordinator's manifests of the plan must say."""
    return tuple(_gang_intent(plan, gang, target) for gang in plan.gangs)


def _gang_intent(plan: Plan, gang: GangPlan, target: Target) -> GangIntent:
    wanted = gather_strategy(plan, gang)
    kept = {rule["layer"] for rule in gather_rules(plan, wanted, target) if "podCountMultiple" in rule}
    levels = [level for level in wanted.multiples if layer_name(level) in kept]
    preferred = "" if wanted.preferred in levels else wanted.preferred
    root = _unit_intent(gang.root, "", layer_name(wanted.required) if wanted.required else "", levels)
    return gang_intent(plan, gang)._replace(root=root._replace(preferred=layer_name(preferred) if preferred else ""))


def _unit_intent(unit: Unit, name: str, required: str, levels: Sequence[str]) -> UnitIntent:
    """The unit, in it the groups of the coarsest level that has a multiple, and so on."""
    if not levels:
        return UnitIntent(name, required, pods=tuple(sorted(map(pods_intent, all_pods(unit)))))
    inside = _outermost(unit, levels[0])
    units = [_unit_intent(each, _first(each), layer_name(levels[0]), levels[1:]) for each in inside]
    return UnitIntent(name, required, units=tuple(sorted(units)))


def _outermost(unit: Unit, level: str) -> Iterator[Unit]:
    """The units inside that require the level, without those inside them."""
    for units in unit.groups:
        for member in units.members:
            yield from [member] if member.required == level else _outermost(member, level)


def _first(unit: Unit) -> str:
    return min((pods.name for pods in all_pods(unit)), key=_order)


def _order(name: str) -> str:
    """Pods are called after the podSet instance, a dash and numbers."""
    return name + "-"


def read(documents: Sequence[Manifest]) -> Outcome[tuple[GangIntent, ...]]:
    """The gangs that PodGroups and marked pods describe, in the order of their names."""
    domains = channels(documents)
    found: dict[Key, list[PodsRead]] = {}
    for pods in found_pods(documents):
        found.setdefault(_owner(pods), []).append(pods)
    groups = {_key(d["metadata"]): d for d in documents if _is_group(d)}
    gangs: dict[tuple[Key, ...], list[Fields]] = {}
    for key in sorted(groups):
        gangs.setdefault(_tied(groups[key]), []).append(groups[key])
    made = [_read_gang(members, found, domains) for members in gangs.values()]
    return Outcome(tuple(sorted(made, key=lambda gang: (gang.namespace, gang.name))), tuple(_lost(found, groups)))


def _is_group(document: Fields) -> bool:
    return document.get("kind") == "PodGroup" and str(document["apiVersion"]).startswith("scheduling.sigs.k8s.io/")


def _key(metadata: Fields) -> Key:
    return metadata.get("namespace", ""), metadata["name"]


def _owner(pods: PodsRead) -> Key:
    return pods.owner.get("namespace", ""), label_of(pods, POD_GROUP)


def _annotations(group: Fields) -> Fields:
    return group["metadata"].get("annotations") or {}


def _tied(group: Fields) -> tuple[Key, ...]:
    """The gang group: itself where it names none."""
    listed = json.loads(_annotations(group).get(GROUPS, "[]"))
    return tuple(sorted((space, name) for space, _, name in (each.partition("/") for each in listed))) or (
        _key(group["metadata"]),
    )


def _lost(found: Mapping[Key, Sequence[PodsRead]], groups: Mapping[Key, Fields]) -> Iterator[Diagnostic]:
    """Pods whose PodGroup is missing: they wait for it."""
    for key, pods in found.items():
        if key[1] and key not in groups:
            message = f'pods "{pods[0].name}" name the PodGroup "{key[1]}", which is not there; they wait for it'
            yield error("M707", ("manifest", "metadata", "labels", POD_GROUP), message, hint="name one that is there")


def _read_gang(groups: Sequence[Fields], found: Mapping[Key, Sequence[PodsRead]], domains: Channels) -> GangIntent:
    """One gang from its PodGroups: all of a gang group carry the same placement."""
    metadata = groups[0]["metadata"]
    rules = json.loads(_annotations(groups[0]).get(SPEC, "{}")).get("gatherStrategy", ())
    mine = [pods for group in groups for pods in found.get(_key(group["metadata"]), ())]
    pods = [each for group in groups for each in _read_pods(group, found.get(_key(group["metadata"]), ()), domains)]
    quota, preemptible = (label_of(mine[0], key) if mine else "" for key in (QUOTA, PREEMPTIBLE))
    return GangIntent(
        name=(metadata.get("labels") or {}).get(GANG_LABEL, metadata["name"]) if groups[1:] else metadata["name"],
        namespace=metadata.get("namespace", ""),
        queue=quota,
        priority_class=priority_class(mine),
        preemptible={"true": True, "false": False}.get(preemptible),
        topology="",
        root=_read_root(rules, sorted(pods, key=lambda each: _order(each.name))),
        compute_domains=tuple(sorted({each.compute_domain for each in pods} - {""})),
    )


def _read_root(rules: Sequence[Fields], pods: Sequence[PodsIntent]) -> UnitIntent:
    """Only the deepest MustGather counts; rules are written coarse to fine."""
    must = [rule["layer"] for rule in rules if rule["strategy"] == MUST]
    layers = [(rule["layer"], rule["podCountMultiple"]) for rule in rules if "podCountMultiple" in rule]
    preferred = [rule["layer"] for rule in rules if rule["layer"] not in (*must, *(layer for layer, _ in layers))]
    root = _cut("", must[-1] if must else "", layers, pods)
    return root._replace(preferred=preferred[-1] if preferred else "")


def _cut(name: str, required: str, layers: Layers, pods: Sequence[PodsIntent]) -> UnitIntent:
    if not layers:
        return UnitIntent(name, required, pods=tuple(sorted(pods)))
    (layer, size), *rest = layers
    units = [_cut(part[0].name, layer, rest, part) for part in _pieces(pods, size)]
    return UnitIntent(name, required, units=tuple(sorted(units)))


def _pieces(pods: Iterable[PodsIntent], size: int) -> list[list[PodsIntent]]:
    """Runs of so many pods, in the order given; an instance that crosses a border is in both."""
    made: list[list[PodsIntent]] = []
    room = 0
    for each in pods:
        left = each.replicas
        while left:
            if not room:
                made.append([])
                room = size
            taken = min(left, room)
            made[-1].append(each._replace(replicas=taken, minimum=min(each.minimum, taken)))
            left, room = left - taken, room - taken
    return made


def _read_pods(group: Fields, found: Sequence[PodsRead], domains: Channels) -> Iterator[PodsIntent]:
    """The podSet instances of one PodGroup. With several in one PodGroup there is one minimum for all, which says
    something of each only where it is all of them."""
    instances = merged(found)
    least = group["spec"].get("minMember", 0)
    for pods in instances:
        yield pods_read(pods, least if len(instances) == 1 else pods.replicas, domains)
