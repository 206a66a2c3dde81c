"""Volcano and workloads that exist already: a PodGroup of ours, or what a Volcano Job says itself.

Groups whose pods come of one template are told apart by a label that their controller writes, or not at all. Read from
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
    "write a pod template for each group (a replicatedJob, a worker group), or let each group be a Job of a JobSet"
)
SUPPORT: tuple[Support, ...] = (
    *carries("place", *KINDS),
    *refuses(
        "place",
        "its pods come and go one by one, so that they make no gang",
        "use a LeaderWorkerSet or a JobSet",
        but=KINDS,
    ),
    *carries("copies", "jobset"),
    *refuses("copies", "its pods carry no number of a copy", "use a JobSet", but=("jobset",)),
    *carries("ranks", VOLCANO_JOB),
    *refuses(
        "ranks",
        "Volcano makes subgroups by labels of pods, and all pods of one template carry the same",
        f"{SEPARATE_TEMPLATES}, or use a Volcano Job, whose tasks Volcano cuts itself",
        but=(VOLCANO_JOB,),
    ),
    *refuses(
        "gangs",
        "a PodGroup is named in the pod template, so all pods of it are one gang",
        "write a workload for each gang",
    ),
)


def place(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """The gang's PodGroup with a subgroup for each group; a Volcano Job brings its own."""
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
    """The PodGroup, whose policies go by the labels that pods of given templates have."""
    spec = document["spec"]
    policies_by_label = [
        {**policy, "matchLabelKeys": [keys[policy["name"]]]} for policy in spec.get("subGroupPolicy", ())
    ]
    return {**document, "spec": {**spec, **non_empty(subGroupPolicy=policies_by_label)}}


def _marks(plan: Plan, gang: GangPlan, from_one_template: list[Policy]) -> Iterator[tuple[tuple[str, str], Marks]]:
    """Those of a PodGroup; pods of one template carry no name of their subgroup."""
    places = subgroup_of_podset(policies(gang.root))
    for key, marks in pod_group.pod_marks(plan, gang):
        labels = {}
        if key[1] in places:
            policy, unit = places[key[1]]
            own = {} if policy in from_one_template else {pod_group.SUBGROUP: unit.name}
            labels = {pod_group.POLICY: policy.name, **own}
        yield key, marks._replace(pod=marks.pod._replace(labels=labels))


def _tasks(plan: Plan, gang: GangPlan) -> Iterator[tuple[tuple[str, str], Marks]]:
    """What the Job and its tasks must say. How many pods may be missing is the Job's to say, but a partition starts
    whole: there, Volcano wants both numbers to agree (webhooks/admission/jobs/validate)."""
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
