"""Volcano and workloads that are there: a PodGroup of ours, or what a Volcano Job says itself.

Groups whose pods come of one template are told apart by a label that their controller writes, or not at all. Read from
Volcano 1.14.3 and 1.15.1, pkg/scheduler/api/{job_info,sub_job_info}.go and pkg/controllers/job.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.backends.volcano import pod_group, task
from bayplan.backends.volcano.lowering import VOLCANO_JOB
from bayplan.backends.volcano.tiers import Policy, network_topology, policies, policy_of
from bayplan.kube.kinds.jobset import JOB_INDEX
from bayplan.kube.objects import given
from bayplan.model.features import Support
from bayplan.model.given import PLAIN, carries, refuses
from bayplan.model.manifest import Lowered, Marks, Meta, Shape
from bayplan.model.plan import GangPlan, Plan, Unit, all_pods
from bayplan.model.target import Target

PLACED = (*PLAIN, VOLCANO_JOB)
APART = "write a pod template for each group (a replicatedJob, a worker group), or let each group be a Job of a JobSet"
GIVEN: tuple[Support, ...] = (
    *carries("place", *PLACED),
    *refuses(
        "place",
        "its pods come and go one by one, so that they make no gang",
        "use a LeaderWorkerSet or a JobSet",
        but=PLACED,
    ),
    *carries("copies", "jobset"),
    *refuses("copies", "its pods carry no number of a copy", "use a JobSet", but=("jobset",)),
    *carries("ranks", VOLCANO_JOB),
    *refuses(
        "ranks",
        "Volcano makes subgroups by labels of pods, and all pods of one template carry the same",
        f"{APART}, or use a Volcano Job, whose tasks Volcano cuts itself",
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
    shared = [policy for policy in policies(gang.root) if _shared(policy)]
    keys = {policy.name: JOB_INDEX if policy in shared else pod_group.SUBGROUP for policy in policies(gang.root)}
    document = pod_group.pod_group(plan, gang)
    return Lowered((_keyed(document, keys),), dict(_marks(plan, gang, shared)))


def _shared(policy: Policy) -> bool:
    """Whether its units come of one template."""
    return len(policy.units) > 1


def _keyed(document: Any, keys: dict[str, str]) -> Any:
    """The PodGroup, whose policies go by the labels that pods of given templates have."""
    spec = document["spec"]
    told = [{**policy, "matchLabelKeys": [keys[policy["name"]]]} for policy in spec.get("subGroupPolicy", ())]
    return {**document, "spec": {**spec, **given(subGroupPolicy=told)}}


def _marks(plan: Plan, gang: GangPlan, shared: list[Policy]) -> Iterator[tuple[tuple[str, str], Marks]]:
    """Those of a PodGroup; pods of one template carry no name of their subgroup."""
    found = policy_of(policies(gang.root))
    for key, marks in pod_group.marks(plan, gang):
        labels = _labels(found[key[1]], shared) if key[1] in found else {}
        yield key, marks._replace(pod=marks.pod._replace(labels=labels))


def _labels(place: tuple[Policy, Unit], shared: list[Policy]) -> dict[str, str]:
    policy, unit = place
    own = {} if policy in shared else {pod_group.SUBGROUP: unit.name}
    return {pod_group.POLICY: policy.name, **own}


def _tasks(plan: Plan, gang: GangPlan) -> Iterator[tuple[tuple[str, str], Marks]]:
    """What the Job and its tasks must say. How many pods may be missing is the Job's to say, but a partition starts
    whole: there, Volcano wants both numbers to agree (webhooks/admission/jobs/validate)."""
    owner = Meta(
        spec={
            "schedulerName": pod_group.scheduler_name(plan),
            **given(queue=plan.queue, priorityClassName=plan.workflow.priority_class),
            **network_topology(plan, gang.root),
        }
    )
    partitions = task.partitions(plan, gang.root)
    for pods in all_pods(gang.root):
        cut = partitions.get(pods.name, {})
        yield (gang.name, pods.name), Marks(owner, Meta(spec={"minAvailable": pods.total, **cut} if cut else {}))
