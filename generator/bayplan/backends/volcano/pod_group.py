"""A gang as a PodGroup (scheduling.volcano.sh/v1beta1) and the marks of its pods, or as a Volcano Job with partitions.

Read from Volcano 1.14.3 and 1.15.1, pkg/scheduler/api/{job_info,sub_job_info}.go: a pod belongs to the first policy of
its PodGroup whose selector matches, if the pod has all of its `matchLabelKeys`. A policy without keys matches no pod.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bayplan.backends.volcano.search import Policy, order
from bayplan.core.diagnostics import Diagnostic, Route, error
from bayplan.kube.kinds import GROUP_LABEL, gang_labels
from bayplan.kube.objects import non_empty
from bayplan.model.manifest import Lowered, Manifest, Marks, Meta, PodParts, Shape
from bayplan.model.plan import GangPlan, Plan, Pods, Unit, Units, all_pods, allocator, gang_queue, minimum
from bayplan.model.target import Target
from bayplan.model.topology import HOST_LEVEL, Pool

VOLCANO_JOB = "volcano-job"
MOST_CHARACTERS = 63
SCHEDULER = "volcano"


def lower(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """One PodGroup for each gang; its name, policy and subgroup on the gang's pods. Volcano Jobs create their own."""
    documents: list[Manifest] = []
    marks: dict[tuple[str, str], Marks] = {}
    for workload in shape.workloads:
        for gang in workload.gangs:
            if workload.kind == VOLCANO_JOB:
                marks.update(job_marks(plan, gang))
            else:
                documents.append(pod_group(plan, gang))
                marks.update(pod_marks(plan, gang))
    return Lowered(tuple(documents), marks)


API_VERSION = "scheduling.volcano.sh/v1beta1"
POD_GROUP = "scheduling.k8s.io/group-name"
PREEMPTABLE = "volcano.sh/preemptable"
ROLE = "volcano.sh/task-spec"
NUMA = "volcano.sh/numa-topology-policy"
"""The policy of the plugin `numaaware`, which Volcano reads from pods (Volcano 1.14, `GetPodTopologyInfo`)."""

POLICY = "bayplan.dev/subgroup-policy"
SUBGROUP = "bayplan.dev/subgroup"


def pod_group(plan: Plan, gang: GangPlan) -> Manifest:
    """The gang's PodGroup."""
    return {
        "apiVersion": API_VERSION,
        "kind": "PodGroup",
        "metadata": {
            "name": gang.name,
            "labels": gang_labels(plan, gang),
            **non_empty(annotations=preemptable(gang)),
        },
        "spec": {
            **non_empty(queue=gang_queue(plan, gang), priorityClassName=plan.workflow.priority_class),
            "minMember": minimum(gang.root),
            **non_empty(minTaskMember=task_minimums(gang.root)),
            **network_topology(plan, gang.root),
            **non_empty(subGroupPolicy=[_subgroup_policy(plan, each) for each in ordered_policies(plan, gang)]),
        },
    }


def _subgroup_policy(plan: Plan, policy: Policy) -> dict[str, Any]:
    """Always with minSubGroups: with its default of 0, the gang would start without any whole subgroup."""
    return {
        "name": policy.name,
        "subGroupSize": policy.size,
        "minSubGroups": policy.minimum,
        "labelSelector": {"matchLabels": {POLICY: policy.name}},
        "matchLabelKeys": [GROUP_LABEL if policy.flat else SUBGROUP],
        **network_topology(plan, policy.units[0]),
    }


def preemptable(gang: GangPlan) -> dict[str, str]:
    """Without the annotation Volcano may preempt any pod (`GetPodPreemptable`, pod_info.go)."""
    wanted = gang.gang.preemptible
    return {} if wanted is None else {PREEMPTABLE: "true" if wanted else "false"}


def pod_marks(plan: Plan, gang: GangPlan) -> Iterator[tuple[tuple[str, str], Marks]]:
    """The marks of the gang's pods: the name of the PodGroup, and labels for policy and subgroup."""
    subgroup_of, minimums = subgroup_of_podset(ordered_policies(plan, gang)), task_minimums(gang.root)
    for pods in all_pods(gang.root):
        annotations = {
            POD_GROUP: gang.name,
            **({ROLE: pods.name} if pods.name in minimums else {}),
            **preemptable(gang),
            **non_empty(**{NUMA: pods.spec.numa}),
        }
        labels = _subgroup_labels(*subgroup_of[pods.name]) if pods.name in subgroup_of else {}
        spec = {"schedulerName": plan.topology.scheduler_name("volcano", SCHEDULER)}
        yield (gang.name, pods.name), Marks(pod=PodParts(labels=labels, annotations=annotations, spec=spec))


def _subgroup_labels(policy: Policy, unit: Unit) -> dict[str, str]:
    return {POLICY: policy.name, **({} if policy.flat else {SUBGROUP: unit.name})}


# Volcano Jobs: the Job itself declares gang, partitions and levels, and its controller creates the PodGroup.
#
# Read from Volcano 1.14.3 and 1.15.1, pkg/controllers/job/job_controller_{actions,util}.go: a pod's partition is its
# number divided by `partitionSize`, so neighbouring ranks share one.

HINT = "use `workload: jobset`, for which bayplan writes the PodGroup"


def job_marks(plan: Plan, gang: GangPlan) -> Iterator[tuple[tuple[str, str], Marks]]:
    """The fields of the Job and of each of its tasks. The gang may be folded."""
    owner = Meta(
        annotations=preemptable(gang),
        spec={
            "schedulerName": plan.topology.scheduler_name("volcano", SCHEDULER),
            **non_empty(queue=gang_queue(plan, gang), priorityClassName=plan.workflow.priority_class),
            "minAvailable": _total_minimum(gang.root),
            **network_topology(plan, gang.root),
        },
    )
    policies_of_tasks = partitions(plan, gang.root)
    for pods in all_pods(gang.root):
        own = {
            "minAvailable": pods.minimum * pods.copies,
            **non_empty(topologyPolicy=pods.spec.numa),
            **policies_of_tasks.get(pods.name, {}),
        }
        yield (gang.name, pods.name), Marks(owner, Meta(spec=own), _scheduled(plan, pods))


def _scheduled(plan: Plan, pods: Pods) -> PodParts:
    """A pod has the scheduler of its Job only if it names none (`createJobPod`). With HAMi's cards, it names one."""
    accelerator = pods.spec.accelerator
    kind = plan.topology.accelerators.get(accelerator.name) if accelerator else None
    if accelerator is None or kind is None or allocator(accelerator, kind) != "hami":
        return PodParts()
    return PodParts(spec={"schedulerName": plan.topology.scheduler_name("volcano", SCHEDULER)})


def _total_minimum(root: Unit) -> int:
    """The minimum of pods of the gang; a folded group counts for all of its instances."""
    folded = any(pods.instances for pods in all_pods(root))
    return sum(pods.minimum * pods.copies for pods in all_pods(root)) if folded else minimum(root)


def partitions(plan: Plan, root: Unit) -> Mapping[str, Mapping[str, Any]]:
    """The `partitionPolicy` of each podSet that is in a placed group."""
    return {
        pods.name: {
            "partitionPolicy": {
                "totalPartitions": instance.copies,
                "partitionSize": pods.total // instance.copies,
                "minPartitions": instance.copies,
                **network_topology(plan, instance.unit),
            }
        }
        for instance in subgroups(root)
        for pods in all_pods(instance.unit)
    }


def job_gaps(gang: GangPlan) -> Iterator[Diagnostic]:
    """What a Volcano Job cannot express, although a PodGroup could."""
    seen: set[Route] = set()
    for instance in group_instances(gang.root):
        if instance.is_subgroup and instance.unit.route not in seen:
            seen.add(instance.unit.route)
            yield from _partition_gaps(gang, instance)


def _partition_gaps(gang: GangPlan, instance: GroupInstance) -> Iterator[Diagnostic]:
    unit, pod_sets = instance.unit, list(all_pods(instance.unit))
    group = f'group "{instance.stem}" of gang "{gang.gang.name}" in a Volcano Job'
    if len(pod_sets) > 1:
        message = (
            f"{group}: Volcano makes partitions of one task, so it may separate several podSets under one placement"
        )
        yield error("F616", (*unit.route, "podSets"), message, hint=HINT)
    if any(pods.elastic for pods in pod_sets):
        message = f"{group}: Volcano starts a partition only as a whole, so it ignores `minReplicas` of its podSet"
        yield error("F616", (*pod_sets[0].route, "minReplicas"), message, hint=HINT)
    if instance.units.optional:
        message = f"{group}: Volcano has optional partitions only in one task, and each of these groups is a task"
        yield error("F616", (*unit.route, "minReplicas"), message, hint=HINT)


# Levels as tiers: numbers counted from the finest level up, and the groups that use them


def tier(pool: Pool, level: str) -> int:
    """1 for the finest level above the host. The host would be tier 0, but there are no HyperNodes of single nodes."""
    return len(pool.levels) - pool.depth(level)


def network_topology(plan: Plan, unit: Unit) -> dict[str, Any]:
    """A unit's placement for Volcano: the number of the highest tier, never its name.

    Volcano only logs an unknown name and then has no constraint at all (Volcano 1.15, session.go
    `adjustNetworkTopologySpec`). Soft mode ignores the number; it documents the placement in the manifest.
    """
    level = unit.required or unit.preferred
    pool = plan.topology.pool(next(all_pods(unit)).pool)
    if not level or level == HOST_LEVEL or pool is None:
        return {}
    mode = "hard" if unit.required else "soft"
    return {"networkTopology": {"mode": mode, "highestTierAllowed": tier(pool, level)}}


class GroupInstance(NamedTuple):
    """One instance of a group, and what Volcano needs to know about the group."""

    stem: str  # the group's name without the numbers of instances above it
    units: Units
    unit: Unit
    enclosing: int  # how many instances around it are subgroups
    copies: int  # how many instances of the group this folded instance represents, in the whole gang
    needed: bool = True  # whether it must start: of an optional group around it, the first instances count

    @property
    def is_subgroup(self) -> bool:
        """Whether the instance must be a subgroup: it has a placement, or the gang may start without it."""
        return bool(self.unit.required or self.unit.preferred) or self.units.optional


def group_instances(
    unit: Unit, stem: str = "", enclosing: int = 0, copies: int = 1, needed: bool = True
) -> Iterator[GroupInstance]:
    """All group instances below a unit, parents first."""
    for units in unit.groups:
        own = units.name.removeprefix(unit.name).removeprefix("-")
        path = f"{stem}-{own}" if stem else own
        for number, each in enumerate(units.members):
            instance = GroupInstance(path, units, each, enclosing, copies * each.copies, needed)
            yield instance
            inside = needed and number < units.minimum
            yield from group_instances(each, path, enclosing + instance.is_subgroup, instance.copies, inside)


def subgroups(root: Unit) -> Iterator[GroupInstance]:
    """The group instances that are subgroups. If subgroups are nested (a gap that the user has accepted), only the
    innermost ones, because NVLink depends on them."""
    return (
        each
        for each in group_instances(root)
        if each.is_subgroup and not any(own.is_subgroup for own in group_instances(each.unit))
    )


def policies(root: Unit) -> tuple[Policy, ...]:
    """The subgroups of a gang: those of one group and one size together."""
    instances_by_policy: dict[tuple[str, str, int], list[GroupInstance]] = {}
    for instance in subgroups(root):
        prefix = instance.units.name if instance.units.optional else ""
        instances_by_policy.setdefault((instance.stem, prefix, minimum(instance.unit)), []).append(instance)
    stems = [stem for stem, _, _ in instances_by_policy]
    return tuple(
        Policy(
            name=(prefix or stem) + (f".{size}" if not prefix and stems.count(stem) > 1 else ""),
            units=tuple(each.unit for each in group),
            minimum=min(len(group), group[0].units.minimum) if prefix else sum(each.needed for each in group),
            size=size,
        )
        for (stem, prefix, size), group in instances_by_policy.items()
    )


def ordered_policies(plan: Plan, gang: GangPlan) -> tuple[Policy, ...]:
    """The policies with names in whose order Volcano finds domains for their subgroups."""
    own = policies(gang.root)
    found = search_order(plan, gang) or own
    if [policy.name for policy in found] == sorted(policy.name for policy in own):
        return own
    names = {policy.name: f"{number:0{len(str(len(own) - 1))}}-{policy.name}" for number, policy in enumerate(found)}
    fits = max(map(len, names.values())) <= MOST_CHARACTERS
    return tuple(policy._replace(name=names[policy.name]) for policy in own) if fits else own


def search_order(plan: Plan, gang: GangPlan) -> tuple[Policy, ...] | None:
    """The policies in an order in which Volcano finds domains; None if bayplan knows of none."""
    own = policies(gang.root)
    if len(own) < 2 or not any(policy.units[0].required for policy in own):
        return tuple(sorted(own, key=lambda policy: policy.name))
    return order(plan, gang, own)


def subgroup_of_podset(policies: tuple[Policy, ...]) -> dict[str, tuple[Policy, Unit]]:
    """Name of each podSet instance in a subgroup -> its policy and unit."""
    return {pods.name: (policy, unit) for policy in policies for unit in policy.units for pods in all_pods(unit)}


def task_minimums(root: Unit) -> dict[str, int]:
    """The minimum of each podSet instance, if the minimum of the gang does not determine which pods must start.

    Without the pods of optional groups: it is not known in advance which of these groups start.
    """
    pod_sets = list(all_pods(root))
    optional = {pods.name for each in group_instances(root) if each.units.optional for pods in all_pods(each.unit)}
    if len(pod_sets) == 1 or not (optional or any(pods.elastic for pods in pod_sets)):
        return {}
    return {pods.name: pods.minimum for pods in pod_sets if pods.name not in optional}
