"""Volcano and existing workloads: a PodGroup from bayplan, or the fields of a Volcano Job.

Volcano distinguishes groups from one pod template only by a label that their controller writes. Read from
Volcano 1.14.3 and 1.15.1, pkg/scheduler/api/{job_info,sub_job_info}.go and pkg/controllers/job.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bayplan.backends.table import table
from bayplan.backends.volcano import pod_group
from bayplan.backends.volcano.pod_group import (
    VOLCANO_JOB,
    network_topology,
    ordered_policies,
    subgroup_of_podset,
)
from bayplan.backends.volcano.search import Policy
from bayplan.core.diagnostics import Diagnostic, Outcome
from bayplan.kube.asked import Asked, Beside, PodsFound, Step, minimum_of_only, missing, of_labels, single, unmet
from bayplan.kube.kinds.jobset import JOB_INDEX
from bayplan.kube.objects import get, is_kind, items, kind, mapping, non_empty, number_in, text
from bayplan.model.existing import Existing, single_pods, without_group
from bayplan.model.manifest import Lowered, Marks, Meta, Object, PodParts, Shape
from bayplan.model.plan import GangPlan, Plan, all_pods
from bayplan.model.target import Target
from bayplan.model.topology import Pool

QUEUE = "scheduling.volcano.sh/queue-name"


def place(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """The gang's PodGroup with a subgroup for each group; the controller of a Volcano Job creates its own."""
    workload, gang = shape.workloads[0], plan.gangs[0]
    if single_pods(shape):
        return without_group(plan, _of_single_pods(plan, gang))
    if workload.kind == VOLCANO_JOB:
        return Lowered((), dict(_tasks(plan, workload.gangs[0])))
    from_one_template = [policy for policy in ordered_policies(plan, gang) if len(policy.units) > 1]
    keys = {
        policy.name: JOB_INDEX if policy in from_one_template else pod_group.SUBGROUP
        for policy in ordered_policies(plan, gang)
    }
    document = pod_group.pod_group(plan, gang)
    return Lowered((_with_label_keys(document, keys),), dict(_marks(plan, gang, from_one_template)))


def _of_single_pods(plan: Plan, gang: GangPlan) -> Marks:
    """Volcano makes one PodGroup with a minimum of one pod for each ReplicaSet, so those of a rollout do not share it
    (`pg_controller_handler.go`, 1.14.3 and 1.15.1)."""
    annotations = {**non_empty(**{QUEUE: plan.queue}), **pod_group.preemptable(gang)}
    scheduler = plan.topology.scheduler_name("volcano", pod_group.SCHEDULER)
    return Marks(pod=PodParts(annotations=annotations, spec={"schedulerName": scheduler}))


def _with_label_keys(document: Any, keys: dict[str, str]) -> Any:
    """The PodGroup, whose policies use the labels of the existing pod templates."""
    spec = document["spec"]
    policies_by_label = [
        {**policy, "matchLabelKeys": [keys[policy["name"]]]} for policy in spec.get("subGroupPolicy", ())
    ]
    return {**document, "spec": {**spec, **non_empty(subGroupPolicy=policies_by_label)}}


def _marks(plan: Plan, gang: GangPlan, from_one_template: list[Policy]) -> Iterator[tuple[tuple[str, str], Marks]]:
    """The marks of a PodGroup; pods of one template do not carry the name of their subgroup."""
    places = subgroup_of_podset(ordered_policies(plan, gang))
    for key, marks in pod_group.pod_marks(plan, gang):
        labels = {}
        if key[1] in places:
            policy, unit = places[key[1]]
            own = {} if policy in from_one_template else {pod_group.SUBGROUP: unit.name}
            labels = {pod_group.POLICY: policy.name, **own}
        yield key, marks._replace(pod=marks.pod._replace(labels=labels))


def _tasks(plan: Plan, gang: GangPlan) -> Iterator[tuple[tuple[str, str], Marks]]:
    """The fields of the Job and of its tasks. The Job states how many pods may be missing. A partition starts as a
    whole, so Volcano requires both numbers to agree (webhooks/admission/jobs/validate)."""
    owner = Meta(
        spec={
            "schedulerName": plan.topology.scheduler_name("volcano", pod_group.SCHEDULER),
            **non_empty(queue=plan.queue, priorityClassName=plan.workflow.priority_class),
            **network_topology(plan, gang.root),
        }
    )
    partitions = pod_group.partitions(plan, gang.root)
    for pods in all_pods(gang.root):
        partition = partitions.get(pods.name, {})
        yield (
            (gang.name, pods.name),
            Marks(owner, Meta(spec={"minAvailable": pods.total, **partition} if partition else {})),
        )


# What manifests request already.


def ask(found: PodsFound, beside: Beside) -> Outcome[Asked] | None:
    """The Volcano Job with the partitions of a task, or the PodGroup with the subgroup of the pods."""
    if is_kind(found.workload.data, "batch.volcano.sh", "Job"):
        return Outcome(_of_job(found))
    called = found.annotation(pod_group.POD_GROUP)
    name = beside.topology.scheduler_name("volcano", pod_group.SCHEDULER)
    groups = not called and found.scheduler == name and kind(found.workload) == "LeaderWorkerSet"
    if groups or found.made == "volcano":
        return Outcome(_made(found))
    if not called:
        return single(found, name, found.annotation(QUEUE))
    group = beside.find("scheduling.volcano.sh", "PodGroup", found, called)
    if group is None:
        return missing(found, "PodGroup", called)
    spec = mapping(group.data, "spec")
    policy_name = found.label(pod_group.POLICY)
    policy = next((each for each in items(spec, "subGroupPolicy") if text(each, "name") == policy_name), None)
    if policy_name and policy is None:
        return missing(found, "subGroupPolicy", policy_name)
    mine = beside.sharing(found, _named)
    inner = () if policy is None else _subgroup(found, policy, mine)
    least = number_in(spec, "minTaskMember", found.annotation(pod_group.ROLE))
    if least is None and policy is None:
        least = minimum_of_only(found, number_in(spec, "minMember") or 0, mine)
    elif least is None and inner and inner[0].name:
        same = [each for each in mine if _unit(each, policy) == _unit(found, policy)]
        least = minimum_of_only(found, number_in(policy, "subGroupSize") or 0, same)
    way = (_step(spec, found.pool), *inner)
    waits = number_in(spec, "minMember") or 0
    field = (*group.route, "spec", "minMember")
    asked = Asked(called, group.route, way, least or None, text(spec, "queue"), waits, field=field)
    return Outcome(asked, tuple(_roles(group, mine)))


def _named(found: PodsFound) -> str:
    return found.annotation(pod_group.POD_GROUP)


def _roles(group: Object, mine: Sequence[PodsFound]) -> Iterator[Diagnostic]:
    """W642: a task of `minTaskMember` of which the group has fewer pods.

    Volcano then starts none, unless `minMember` is lower than the sum (1.15, pkg/scheduler/api/job_info.go
    `CheckTaskValid`).
    """
    wanted = mapping(group.data, "spec", "minTaskMember")
    numbers = {role: number_in(wanted, role) or 0 for role in wanted}
    if (number_in(group.data, "spec", "minMember") or 0) < sum(numbers.values()):
        return
    there = [(each.annotation(pod_group.ROLE), each.replicas) for each in mine]
    hint = f"set the annotation `{pod_group.ROLE}` on the pods of this task, or lower the number"
    for role, number in numbers.items():
        yield from unmet(group, f'task "{role}"', number, ("spec", "minTaskMember", role), there, role, hint)


def _made(found: PodsFound) -> Asked:
    """The PodGroup that the workload's own controller makes for each gang.

    LWS 0.7 to 0.9 (pkg/schedulerprovider/volcano_provider.go): all pods of a group; with LeaderReady, 1. Trainer 2.1 to
    2.3 (pkg/runtime/framework/plugins/volcano/volcano.go): all pods of all replicatedJobs, also those that wait.
    """
    asked, ready = of_labels(found), text(found.workload.data, "spec", "startupPolicy") == "LeaderReady"
    return asked._replace(queue=found.own(QUEUE), waits=1 if ready else None)


def _subgroup(found: PodsFound, policy: Any, mine: list[PodsFound]) -> tuple[Step, ...]:
    step = _step(policy, found.pool)
    if get(policy, "matchLabelKeys", 0) == JOB_INDEX:
        return (step._replace(size=number_in(policy, "subGroupSize") or found.replicas),)
    same = {_unit(each, policy) for each in mine if each.label(pod_group.POLICY) == text(policy, "name")}
    least = number_in(policy, "minSubGroups") or 0
    return (step._replace(name=_unit(found, policy), least=least if least < len(same) else 0),)


def _unit(found: PodsFound, policy: Any) -> str:
    return found.label(str(get(policy, "matchLabelKeys", 0)))


def _of_job(found: PodsFound) -> Asked:
    spec = mapping(found.workload.data, "spec")
    task = mapping(spec, *found.route[-3:-1])
    partition = mapping(task, "partitionPolicy")
    size = number_in(partition, "partitionSize")
    inner = (_step(partition, found.pool)._replace(size=size),) if size else ()
    least = number_in(task, "minAvailable")
    name = text(found.workload.data, "metadata", "name")
    queue = text(spec, "queue")
    minimum = None if least is None or least >= found.replicas or inner else least
    tasks = (number_in(each, "minAvailable") or number_in(each, "replicas") or 0 for each in items(spec, "tasks"))
    waits = number_in(spec, "minAvailable") or sum(tasks)
    way, field = (_step(spec, found.pool), *inner), (*found.workload.route, "spec", "minAvailable")
    return Asked(name, found.workload.route, way, minimum, queue, waits, field=field)


def _step(spec: Any, pool: Pool | None) -> Step:
    """A unit at the tier of a `networkTopology`. Tiers count the levels of the pool from the finest one up."""
    topology = mapping(spec, "networkTopology")
    highest = number_in(topology, "highestTierAllowed")
    depth = -1 if pool is None or highest is None else len(pool.levels) - highest
    label = pool.levels[depth].label if pool and 0 <= depth < len(pool.levels) else ""
    if topology and not label:
        label = f"tier {highest}"
    return Step(preferred=label) if topology.get("mode") == "soft" else Step(required=label)


EXISTING = Existing(table("backends", "volcano").existing, place, QUEUE, ask)
