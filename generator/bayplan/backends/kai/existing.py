"""KAI and workloads that exist already: a PodGroup of ours where each pod template is one subgroup.

Elsewhere they get the annotations by which KAI's own podgrouper makes PodGroups.

Read from KAI v0.15.3 to v0.17.0, pkg/podgrouper/podgrouper/plugins: jobset, leaderworkerset, pytorch.
"""

from __future__ import annotations

from typing import Any

from bayplan.backends.kai import pod_group
from bayplan.backends.kai.pod_group import POD_GROUP, QUEUE, SKIP, SUBGROUP, topology_of
from bayplan.kube.kinds import instances
from bayplan.kube.objects import non_empty
from bayplan.model.backend import Support
from bayplan.model.existing import Existing, carries, refuses
from bayplan.model.manifest import Absent, Lowered, Marks, Meta, PodParts, Shape, Workload
from bayplan.model.plan import GangPlan, Plan, Pods, Unit, all_pods, walk
from bayplan.model.target import Target

TOPOLOGY = "kai.scheduler/topology"
REQUIRED, PREFERRED = "kai.scheduler/topology-required-placement", "kai.scheduler/topology-preferred-placement"
SEGMENT = "kai.scheduler/segment-size"
SEGMENT_REQUIRED = "kai.scheduler/segment-topology-required-placement"
SEGMENT_PREFERRED = "kai.scheduler/segment-topology-preferred-placement"

MIN_MEMBER = "kai.scheduler/batch-min-member"
"""With how many pods a Job or a JobSet may start."""

KINDS = ("job", "jobset", "lws", "statefulset", "pytorchjob", "mpijob", "raycluster", "rayjob", "trainjob")
SUPPORT: tuple[Support, ...] = (
    *carries("place", *KINDS, component="kai", since="0.15"),
    *carries("place", "pod"),
    *refuses(
        "place",
        "its pods have a scheduler or a podgrouper of their own, which takes no PodGroup of ours",
        "place a Job, a JobSet or another workload whose pods KAI takes as they are",
        but=(*KINDS, "pod"),
    ),
    *refuses(
        "place",
        "the podgrouper below KAI 0.15 gives the pods of every controller a PodGroup of its own making",
        "target KAI 0.15 or later",
        word="not yet upstream",
        but=("pod",),
    ),
    *carries("copies", "jobset", component="kai", since="0.16"),
    *refuses(
        "copies",
        "only the podgrouper of KAI 0.16 and later makes a subgroup of each Job of a JobSet",
        "target KAI 0.16, or write a replicatedJob for each group",
        word="not yet upstream",
    ),
    *carries("ranks", "lws", "pytorchjob", component="kai", since="0.15"),
    *refuses(
        "ranks",
        "pods are told apart by labels, and all pods of one template carry the same",
        "write a pod template for each group (a replicatedJob of a JobSet), let each group be a Job of a replicatedJob"
        " (KAI 0.16), or use a Workflow",
        but=("lws", "pytorchjob"),
    ),
    *carries("gangs", "lws", component="kai", since="0.15"),
)


def place(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """PodGroups and their marks; where pods of one template belong to several subgroups, annotations instead."""
    workload = shape.workloads[0]
    if len(workload.gangs) == 1 and not any(unit.copies > 1 for unit in walk(workload.gangs[0].root)):
        return pod_group.lower(plan, shape, target)
    gang = workload.gangs[0]
    marks = {(each.name, pods.name): _marks(plan, gang, pods, workload, target) for each, pods in instances(workload)}
    return Lowered((), marks)


def _marks(plan: Plan, gang: GangPlan, pods: Pods, workload: Workload, target: Target) -> Marks:
    """What the podgrouper reads: on the workload, on the Job template (JobSets), on the pod template (segments).

    With a PodGroup's name or the skip mark, which an earlier run may have left, it would not look at the pods at all.
    """
    queue = {QUEUE: plan.queue, **pod_group.node_pool(plan, gang)}
    unit = next((unit for unit in walk(gang.root) if unit.copies > 1 and pods in all_pods(unit)), None)
    jobs = workload.kind == "jobset"
    return Marks(
        owner=Meta(queue, {**_absent(SKIP, MIN_MEMBER), **_placement(plan, gang, gang.root)}),
        job=Meta(annotations=_placement(plan, gang, unit)) if jobs and unit else Meta(),
        pod=PodParts(
            labels={**queue, **_absent(SUBGROUP)},
            annotations={
                **_absent(SKIP, POD_GROUP),
                **(_segments(plan, gang, unit, pods) if unit and not jobs else {}),
            },
            spec={"schedulerName": plan.topology.scheduler_name("kai", pod_group.SCHEDULER)},
        ),
    )


def _absent(*keys: str) -> dict[str, Any]:
    return dict.fromkeys(keys, Absent())


def _placement(plan: Plan, gang: GangPlan, unit: Unit) -> dict[str, str]:
    """A required level is preferred too, as in PodGroups: without that KAI misses domains that hold all nodes."""
    pool = next(all_pods(unit)).pool
    required, preferred = _levels(plan, unit, pool)
    topology = topology_of(plan, gang, pool) if preferred else ""
    return non_empty(**{TOPOLOGY: topology, REQUIRED: required, PREFERRED: preferred})


def _segments(plan: Plan, gang: GangPlan, unit: Unit, pods: Pods) -> dict[str, str]:
    """Groups of neighbouring ranks: the podgrouper cuts them itself, by what the workers' pod template says."""
    required, preferred = _levels(plan, unit, pods.pool)
    return {
        TOPOLOGY: topology_of(plan, gang, pods.pool),
        SEGMENT: str(pods.replicas),
        **non_empty(**{SEGMENT_REQUIRED: required, SEGMENT_PREFERRED: preferred}),
    }


def _levels(plan: Plan, unit: Unit, pool: str) -> tuple[str, str]:
    """Required and preferred, as node labels."""
    required = plan.topology.level_label(pool, unit.required)
    return required, plan.topology.level_label(pool, unit.preferred) or required


EXISTING = Existing(SUPPORT, place, QUEUE)
