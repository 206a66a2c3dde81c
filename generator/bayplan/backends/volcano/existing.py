"""Volcano and existing workloads: a PodGroup from bayplan, or the fields of a Volcano Job.

Volcano distinguishes groups from one pod template only by a label that their controller writes. Read from
Volcano 1.14.3 and 1.15.1, pkg/scheduler/api/{job_info,sub_job_info}.go and pkg/controllers/job.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.backends.volcano import pod_group
from bayplan.backends.volcano.pod_group import VOLCANO_JOB, Policy, network_topology, policies, subgroup_of_podset
from bayplan.kube.kinds.jobset import JOB_INDEX
from bayplan.kube.objects import non_empty
from bayplan.model.backend import Support
from bayplan.model.existing import PLAIN, Existing, carries, refuses
from bayplan.model.manifest import Lowered, Marks, Meta, Shape
from bayplan.model.plan import GangPlan, Plan, all_pods
from bayplan.model.target import Target

KINDS = (*PLAIN, VOLCANO_JOB)
SEPARATE_TEMPLATES = (
    "write a pod template for each group (a replicatedJob, a worker group), or make each group a Job of a JobSet"
)
SUPPORT: tuple[Support, ...] = (
    *carries("place", *KINDS),
    *refuses(
        "place",
        "Volcano cannot make a gang of the pods of this kind, which come and go one by one",
        "use a LeaderWorkerSet or a JobSet",
        but=KINDS,
    ),
    *carries("copies", "jobset"),
    *refuses(
        "copies",
        "Volcano cannot identify the copies, because the pods do not carry the number of their copy",
        "use a JobSet",
        but=("jobset",),
    ),
    *carries("ranks", VOLCANO_JOB),
    *refuses(
        "ranks",
        "Volcano makes subgroups from labels of pods, and all pods of one template have the same labels",
        f"{SEPARATE_TEMPLATES}, or use a Volcano Job, whose tasks Volcano partitions itself",
        but=(VOLCANO_JOB,),
    ),
    *refuses(
        "gangs",
        "Volcano reads the PodGroup from the pod template, so all pods of one template are one gang",
        "write a workload for each gang",
    ),
)


def place(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """The gang's PodGroup with a subgroup for each group; the controller of a Volcano Job creates its own."""
    workload, gang = shape.workloads[0], plan.gangs[0]
    if workload.kind == VOLCANO_JOB:
        return Lowered((), dict(_tasks(plan, workload.gangs[0])))
    from_one_template = [policy for policy in policies(gang.root) if len(policy.units) > 1]
    keys = {
        policy.name: JOB_INDEX if policy in from_one_template else pod_group.SUBGROUP for policy in policies(gang.root)
    }
    document = pod_group.pod_group(plan, gang)
    return Lowered((_with_label_keys(document, keys),), dict(_marks(plan, gang, from_one_template)))


def _with_label_keys(document: Any, keys: dict[str, str]) -> Any:
    """The PodGroup, whose policies use the labels of the existing pod templates."""
    spec = document["spec"]
    policies_by_label = [
        {**policy, "matchLabelKeys": [keys[policy["name"]]]} for policy in spec.get("subGroupPolicy", ())
    ]
    return {**document, "spec": {**spec, **non_empty(subGroupPolicy=policies_by_label)}}


def _marks(plan: Plan, gang: GangPlan, from_one_template: list[Policy]) -> Iterator[tuple[tuple[str, str], Marks]]:
    """The marks of a PodGroup; pods of one template do not carry the name of their subgroup."""
    places = subgroup_of_podset(policies(gang.root))
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


EXISTING = Existing(SUPPORT, place, "scheduling.volcano.sh/queue-name")
