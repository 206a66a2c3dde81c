"""A gang as a PodGroup (`scheduling.sigs.k8s.io/v1alpha1`) with Koordinator's annotations; marks of its pods."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bayplan.kube.kinds import gang_labels
from bayplan.kube.objects import non_empty
from bayplan.model.manifest import Lowered, Manifest, Marks, PodParts, Shape
from bayplan.model.plan import (
    GangPlan,
    Plan,
    Pods,
    Unit,
    all_pods,
    gang_queue,
    has_several_minimums,
    once,
    uses_dra,
    walk,
)
from bayplan.model.target import Target
from bayplan.model.topology import HOST_LEVEL
from bayplan.topologies.koordinator import layer_name, longest

PREFIX = "gang.scheduling.koordinator.sh/"
TOTAL, MODE, MATCH, GROUPS, SPEC = (
    f"{PREFIX}{name}" for name in ("total-number", "mode", "match-policy", "groups", "network-topology-spec")
)
POD_GROUP = "pod-group.scheduling.sigs.k8s.io"
QUOTA = "quota.scheduling.koordinator.sh/name"
PREEMPTIBLE = "quota.scheduling.koordinator.sh/preemptible"
SCHEDULER = "koord-scheduler"
MUST, PREFER = "MustGather", "PreferGather"


def lower(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """The PodGroups of each gang; its name, the quota and the scheduler on its pods."""
    groups = [each for gang in plan.gangs for each in pod_groups(plan, gang, target)]
    marks = {(gang.name, pods.name): _marks(plan, gang, pods) for gang in plan.gangs for pods in all_pods(gang.root)}
    return Lowered(tuple(groups), marks)


def pod_group_name(gang: GangPlan, pods: Pods) -> str:
    """The PodGroup of a podSet instance: one PodGroup has one minimum for all of its pods."""
    return f"{gang.name}-{pods.name}" if has_several_minimums(gang.root) else gang.name


def pod_groups(plan: Plan, gang: GangPlan, target: Target) -> Iterator[Manifest]:
    """One PodGroup, or one for each podSet instance and all of them in one gang group, which starts as a whole.

    Koordinator takes the network-topology-spec from whichever gang of the group comes first, so all carry the same.
    """
    pods_by_group: dict[str, list[Pods]] = {}
    for pods in all_pods(gang.root):
        pods_by_group.setdefault(pod_group_name(gang, pods), []).append(pods)
    gang_group = (
        {GROUPS: compact([f"{plan.namespace}/{name}" for name in pods_by_group])} if len(pods_by_group) > 1 else {}
    )
    for name, members in pods_by_group.items():
        yield {
            "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
            "kind": "PodGroup",
            "metadata": {
                "name": name,
                "labels": gang_labels(plan, gang),
                "annotations": {
                    TOTAL: str(sum(pods.replicas for pods in members)),
                    MODE: "Strict",
                    MATCH: match_policy(plan, gang),
                    **gang_group,
                    **topology_spec(plan, gang, target),
                },
            },
            "spec": {
                "minMember": sum(pods.minimum for pods in members),
                **non_empty(scheduleTimeoutSeconds=_own_settings(gang).get("scheduleTimeoutSeconds")),
            },
        }


def match_policy(plan: Plan, gang: GangPlan) -> str:
    """Which pods count when the gang starts again.

    Koordinator's default, once-satisfied, ignores the gang after its first start: it would place the pods of a
    restarted JobSet one by one, without any topology (core.go BeforePreFilter, 1.7 and 1.8). With only-waiting it plans
    a gang with a placement again as a whole, and never places a single pod outside the domain of the others. Without a
    required level a restarted pod may join those that run.
    """
    return str(
        _own_settings(gang).get("matchPolicy")
        or ("only-waiting" if gather_strategy(plan, gang).strict else "waiting-and-running")
    )


def _own_settings(gang: GangPlan) -> Any:
    return gang.gang.backends.get("koordinator", {})


def topology_spec(plan: Plan, gang: GangPlan, target: Target) -> dict[str, str]:
    """The annotation network-topology-spec as generated JSON: Koordinator silently ignores invalid JSON."""
    rules = list(gather_rules(plan, gather_strategy(plan, gang), target))
    return {SPEC: compact({"gatherStrategy": rules})} if rules else {}


def gather_rules(plan: Plan, wanted: GatherStrategy, target: Target) -> Iterator[dict[str, Any]]:
    """One rule for each level, coarse to fine. Only the deepest MustGather counts, so there is one."""
    multiples = wanted.multiples if target.since("koordinator", "1.8") else {}
    for level in (*longest(plan.topology), HOST_LEVEL):
        if level in (wanted.required, wanted.preferred) or level in multiples:
            yield {
                "layer": layer_name(level),
                "strategy": MUST if level == wanted.required else PREFER,
                **({"podCountMultiple": multiples[level]} if level in multiples else {}),
            }


def compact(data: Any) -> str:
    """JSON without spaces."""
    return json.dumps(data, separators=(",", ":"))


def _marks(plan: Plan, gang: GangPlan, pods: Pods) -> Marks:
    parts = common_parts(plan, gang)
    return Marks(pod=parts._replace(labels={POD_GROUP: pod_group_name(gang, pods), **parts.labels}))


def common_parts(plan: Plan, gang: GangPlan) -> PodParts:
    """What all pods of a gang have: the quota, whether they may be preempted, and the scheduler."""
    preemptible = {} if gang.gang.preemptible is None else {PREEMPTIBLE: "true" if gang.gang.preemptible else "false"}
    return PodParts(
        labels={**non_empty(**{QUOTA: gang_queue(plan, gang)}), **preemptible},
        spec={"schedulerName": plan.topology.scheduler_name("koordinator", SCHEDULER)},
    )


# The part of a gang's placement that one network-topology-spec can express.
#
# Koordinator plans all pods of a gang at once (network_topology_solver.go, 1.7 and 1.8):
#
# 1. It looks for the *deepest* domain with room for all of them, below the deepest layer that is `MustGather`. So the
#    required level of the whole gang holds, and any preferred one holds wherever it can.
# 2. It assigns nodes domain by domain, and since 1.8 every domain of a layer with `podCountMultiple: n` gets a
#    multiple of n pods.
# 3. It sorts the pods by name and gives them the nodes in that order.
#
# If the names of each group's pods follow one another and every group has n pods, 2 and 3 keep each group in one domain
# of that layer, because each domain gets a multiple of n pods. Several groups may share a domain, as everywhere in
# bayplan. This is true for several layers at once, because the pods of an outer group are a multiple of those of an
# inner one.


class GatherStrategy(NamedTuple):
    """A gang's placement by level name. `multiples` are coarse to fine as the groups nest: level -> pods in a group."""

    required: str
    preferred: str
    multiples: Mapping[str, int]

    @property
    def placed(self) -> bool:
        """Whether the gang has a placement."""
        return bool(self.required or self.preferred or self.multiples)

    @property
    def strict(self) -> bool:
        """Whether a level must hold."""
        return bool(self.required or self.multiples)


def gather_strategy(plan: Plan, gang: GangPlan) -> GatherStrategy:
    """The placement of a gang: the deepest level around all of its pods, and the multiples of the groups inside.

    Without the preference if the planner would miscount, because the gang would then never start.
    """
    if has_no_requirement(gang) and is_miscounted(plan, gang):
        return GatherStrategy("", "", {})
    outer = list(units_with_all_pods(gang.root))
    required = next((unit.required for unit in reversed(outer) if unit.required), "")
    preferred = next((unit.preferred for unit in reversed(outer) if unit.preferred), "")
    multiples = {level: sizes[0] for level, sizes in group_sizes(gang).items() if _is_uniform(gang, sizes)}
    return GatherStrategy(required, "" if preferred == required else preferred, multiples)


def has_no_requirement(gang: GangPlan) -> bool:
    """Whether nothing of the gang has a required level."""
    return not any(unit.required for unit in walk(gang.root))


def is_miscounted(plan: Plan, gang: GangPlan) -> bool:
    """Whether the planner counts free places incorrectly for this gang."""
    return bool(
        has_unequal_pods(plan, gang)
        or optional_pods(gang)
        or any(uses_dra(pods, plan.topology) for pods in all_pods(gang.root))
    )


def optional_pods(gang: GangPlan) -> int:
    """How many pods the gang may start without."""
    return sum(pods.replicas - pods.minimum for pods in all_pods(gang.root))


def has_unequal_pods(plan: Plan, gang: GangPlan) -> bool:
    """Whether the number of pods that fit on a node depends on which pods of the gang they are."""
    return len({_node_share(plan, pods) for pods in once(all_pods(gang.root))}) > 1


def _node_share(plan: Plan, pods: Pods) -> object:
    """The key for how many fit on a node. A pod that takes more than half of its cards has the node for itself."""
    accelerator, pool = pods.spec.accelerator, plan.topology.pool(pods.pool)
    if accelerator and pool and 2 * accelerator.per_pod > pool.node.accelerators:
        return pods.pool
    return pods.pool, accelerator, tuple(sorted(pods.spec.resources.items())), pods.spec.fabric


def units_with_all_pods(root: Unit) -> Iterator[Unit]:
    """The units with all pods of the gang: the gang, and each group that is the only one in its parent."""
    yield root
    if len(root.groups) == 1 and len(root.groups[0].members) == 1:
        yield from units_with_all_pods(root.groups[0].members[0])


def group_sizes(gang: GangPlan) -> dict[str, list[int]]:
    """Level -> the pods of each group that requires it."""
    sizes: dict[str, list[int]] = {}
    for unit in placed_groups(gang):
        sizes.setdefault(unit.required, []).append(pod_count(unit))
    return sizes


def placed_groups(gang: GangPlan) -> Iterator[Unit]:
    """The parts of the gang with a level that no unit around them requires already, parents first."""
    outer = list(units_with_all_pods(gang.root))
    return (unit for unit in _placed_groups(outer[-1], frozenset(each.required for each in outer)))


def _placed_groups(unit: Unit, enclosing: frozenset[str]) -> Iterator[Unit]:
    for units in unit.groups:
        for member in units.members:
            if member.required and member.required not in enclosing:
                yield member
            yield from _placed_groups(member, enclosing | {member.required})


def inner_units(root: Unit) -> list[Unit]:
    """The units with only a part of the gang, parents first."""
    outer = list(units_with_all_pods(root))
    return list(walk(outer[-1]))[1:]


def pod_count(unit: Unit) -> int:
    """How many pods a unit has."""
    return sum(pods.replicas for pods in all_pods(unit))


def has_unequal_groups(gang: GangPlan) -> bool:
    """Whether a multiple cannot keep the groups of some level whole."""
    return any(not _is_uniform(gang, sizes) for sizes in group_sizes(gang).values())


def _is_uniform(gang: GangPlan, sizes: list[int]) -> bool:
    """One size, and no pods beside the groups."""
    return len(set(sizes)) == 1 and sum(sizes) == pod_count(gang.root)


def interleaved_level(gang: GangPlan) -> str:
    """The level of groups whose pod names do not follow one another in the sorted pod names of the gang; or empty.

    In each kind a pod name is `<gang, or JobSet and gang>-<podSet instance>-<numbers>`, and "-" sorts before letters
    and digits, so the order of the podSet instances' names decides. Pods mix only if one name continues with a number
    after the end of another one.
    """
    for level in group_sizes(gang):
        units = [unit for unit in placed_groups(gang) if unit.required == level]
        owner = {pods.name + "-": unit.name for unit in units for pods in all_pods(unit)}
        if is_interleaved(owner):
            return level
    return ""


def is_interleaved(owner: Mapping[str, str]) -> bool:
    """Whether pods of one owner are between those of another. The keys are the beginnings of their pod names."""
    names = sorted(owner)
    begun: set[str] = set()
    for before, name in zip(("", *names), names, strict=False):
        if owner.get(before) == owner[name]:
            continue
        runs_on = bool(before) and name.startswith(before) and name[len(before)].isdigit()
        if owner[name] in begun or runs_on:
            return True
        begun.add(owner[name])
    return False
