"""KAI and existing workloads: bayplan writes a PodGroup if each pod template is one subgroup.

Otherwise workloads get the annotations from which KAI's own podgrouper creates PodGroups.

Read from KAI v0.15.3 to v0.17.0, pkg/podgrouper/podgrouper/plugins: jobset, leaderworkerset, pytorch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bayplan.backends.kai import pod_group
from bayplan.backends.kai.pod_group import POD_GROUP, QUEUE, SKIP, SUBGROUP, topology_of
from bayplan.backends.table import table
from bayplan.core.diagnostics import Diagnostic, Outcome
from bayplan.kube.asked import Asked, Beside, PodsFound, Step, counted, minimum_of_only, missing, unmet
from bayplan.kube.kinds import instances
from bayplan.kube.objects import items, kind, mapping, non_empty, number_in, text
from bayplan.model.existing import Existing, single_pods, without_group
from bayplan.model.manifest import Absent, Lowered, Marks, Meta, Object, PodParts, Shape, Workload
from bayplan.model.plan import GangPlan, Plan, Pods, Unit, all_pods, walk
from bayplan.model.target import Target
from bayplan.model.workflow import OF_GROVE, varies

TOPOLOGY = "kai.scheduler/topology"
REQUIRED, PREFERRED = "kai.scheduler/topology-required-placement", "kai.scheduler/topology-preferred-placement"
PREEMPTIBILITY = "kai.scheduler/preemptibility"
TIMED = {
    "preemptionDelay": "kai.scheduler/preemption-delay",
    "stalenessGracePeriod": "kai.scheduler/staleness-grace-period",
}
"""Fields of PodGroups, and the annotations from which the podgrouper sets them (KAI 0.17, plugins/constants)."""

SEGMENT = "kai.scheduler/segment-size"
SEGMENT_REQUIRED = "kai.scheduler/segment-topology-required-placement"
SEGMENT_PREFERRED = "kai.scheduler/segment-topology-preferred-placement"

MIN_MEMBER = "kai.scheduler/batch-min-member"
"""How many pods must start in a Job or a JobSet."""

"""The label that the podgrouper reads from pods (`constants.go`, v0.10.0 to v0.17.0)."""


def place(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """PodGroups and their marks, or annotations if pods of one template belong to several subgroups."""
    workload = shape.workloads[0]
    if workload.kind in OF_GROVE:
        from bayplan.backends.kai.grove import place as place_cliques  # few plans need it

        return place_cliques(plan, workload, target)
    if single_pods(shape):
        return without_group(plan, _of_single_pods(plan, plan.gangs[0], target))
    made = workload.in_order and workload.kind in ("lws", "jobset")  # only the podgrouper knows what comes first
    one = len(workload.gangs) == 1 and not varies(workload.gangs[0].gang) and not made
    if one and not any(unit.copies > 1 for unit in walk(workload.gangs[0].root)):
        return pod_group.lower(plan, shape, target)
    marks = {(gang.name, pods.name): _marks(plan, gang, pods, workload, target) for gang, pods in instances(workload)}
    return Lowered((), marks)


def _marks(plan: Plan, gang: GangPlan, pods: Pods, workload: Workload, target: Target) -> Marks:
    """What the podgrouper reads: on the workload, on the Job template (JobSets), on the pod template (segments).

    The podgrouper ignores pods that name a PodGroup or have the skip mark, which an earlier run may have left.
    """
    queue = {QUEUE: plan.queue, **pod_group.node_pool(plan, gang)}
    unit = next((unit for unit in walk(gang.root) if unit.copies > 1 and pods in all_pods(unit)), None)
    jobs = workload.kind == "jobset"
    return Marks(
        owner=Meta(
            {**queue, **_preemptibility(gang)},
            {**_absent(SKIP, MIN_MEMBER), **_placement(plan, gang, gang.root), **_timings(gang, target)},
        ),
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


def _preemptibility(gang: GangPlan) -> dict[str, str]:
    return non_empty(**{PREEMPTIBILITY: pod_group.preemptibility(gang).get("preemptibility", "")})


def _timings(gang: GangPlan, target: Target) -> dict[str, str]:
    own = gang.gang.backends.get("kai", {}) if target.since("kai", "0.17") else {}
    return {annotation: str(own[key]) for key, annotation in TIMED.items() if key in own}


def _of_single_pods(plan: Plan, gang: GangPlan, target: Target) -> Marks:
    """KAI's podgrouper makes a PodGroup of each pod of a Deployment (`deployment_grouper.go`, v0.10.0 to v0.17.0).

    Without a priority class it gives them that of inference, whose pods KAI does not preempt.
    """
    queue = {QUEUE: plan.queue, **pod_group.node_pool(plan, gang)}
    scheduler = plan.topology.scheduler_name("kai", pod_group.SCHEDULER)
    owner = Meta({**queue, **_preemptibility(gang)}, _timings(gang, target))
    return Marks(owner, pod=PodParts(labels=queue, spec={"schedulerName": scheduler}))


def _absent(*keys: str) -> dict[str, Any]:
    return dict.fromkeys(keys, Absent())


def _placement(plan: Plan, gang: GangPlan, unit: Unit) -> dict[str, str]:
    """A required level is also preferred, as in PodGroups: otherwise KAI misses domains that hold all nodes."""
    pool = next(all_pods(unit)).pool
    required, preferred = _levels(plan, unit, pool)
    topology = topology_of(plan, gang, pool) if preferred else ""
    return non_empty(**{TOPOLOGY: topology, REQUIRED: required, PREFERRED: preferred})


def _segments(plan: Plan, gang: GangPlan, unit: Unit, pods: Pods) -> dict[str, str]:
    """Groups of neighbouring ranks, which the podgrouper makes from annotations of the workers' pod template."""
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


# What manifests request already.


def ask(found: PodsFound, beside: Beside) -> Outcome[Asked] | None:
    """The PodGroup that pods name, with their subgroup and those around it; without one, what the podgrouper reads."""
    called = found.annotation(POD_GROUP)
    if not called:
        mine = found.scheduler == beside.topology.scheduler_name("kai", pod_group.SCHEDULER)
        return Outcome(_of_annotations(found, beside.target)) if mine else None
    group = beside.find("scheduling.run.ai", "PodGroup", found, called)
    if group is None:
        return missing(found, "PodGroup", called)
    spec = mapping(group.data, "spec")
    subgroups = {text(each, "name"): each for each in items(spec, "subGroups")}
    leaf = found.label(SUBGROUP)
    if leaf and leaf not in subgroups:
        return missing(found, "subgroup", leaf)
    way: list[Step] = []
    name, above = leaf, mapping(subgroups, leaf)
    while name and len(way) <= len(subgroups):
        parent = text(above, "parent")
        around = mapping(subgroups, parent) if parent else spec
        if not (name == leaf and leaf == found.name and len(subgroups) > 1):  # a podSet, not a unit
            way.insert(0, _step(name, above, number_in(around, "minSubGroup") or 0))
        name, above = parent, around
    together = beside.sharing(found, _leaf)
    least = number_in(mapping(subgroups, leaf) or spec, "minMember")
    queue = text(spec, "queue")
    kept = [each for each in way if not _only_counts(each, way)]
    minimum = None if least is None else minimum_of_only(found, least, together)
    some = any(each.least for each in way) or number_in(spec, "minSubGroup") is not None
    whole = (_step("", spec, 0), *kept)
    at = next((n for n, each in enumerate(items(spec, "subGroups")) if text(each, "name") == leaf), None)
    field = (*group.route, "spec", *(() if at is None else ("subGroups", at)), "minMember")
    asked = Asked(
        called, group.route, whole, minimum, queue, least or 1, unit=leaf, units=1 if some else 0, field=field
    )
    empty = () if some or kind(found.workload).lower() in OF_GROVE else _leaves(group, beside.sharing(found, _group))
    return Outcome(asked._replace(alive=True, stated=True), tuple(empty))


def _leaves(group: Object, pods: Sequence[PodsFound]) -> Iterator[Diagnostic]:
    """W642: a subgroup for pods that has none."""
    subgroups = items(group.data, "spec", "subGroups")
    parents, named = {text(each, "parent") for each in subgroups}, [(p.label(SUBGROUP), p.replicas) for p in pods]
    hint = f"set the label `{SUBGROUP}` on its pods, or remove the subgroup"
    for number, each in enumerate(subgroups):
        called, least = text(each, "name"), number_in(each, "minMember") or 0
        if called not in parents:
            field = ("spec", "subGroups", number, "minMember")
            yield from unmet(group, f'subgroup "{called}"', least, field, named, called, hint)


def _group(found: PodsFound) -> str:
    return found.annotation(POD_GROUP)


def _leaf(found: PodsFound) -> tuple[str, str]:
    return found.annotation(POD_GROUP), found.label(SUBGROUP)


def _step(name: str, part: Any, least: int) -> Step:
    constraint = mapping(part, "topologyConstraint")
    required = text(constraint, "requiredTopologyLevel")
    preferred = text(constraint, "preferredTopologyLevel")
    return Step(name, required, "" if preferred == required else preferred, least=least)


def _only_counts(step: Step, way: list[Step]) -> bool:
    """Whether a subgroup only says how many of those inside it must start."""
    inside = [each.name for each in way if each.least and each.name.startswith(f"{step.name}-")]
    return bool(inside) and not (step.required or step.preferred) and inside[0].removeprefix(f"{step.name}-").isdigit()


def _of_annotations(found: PodsFound, target: Target) -> Asked:
    """One gang of the workload, and its segments."""
    segments = [
        Step("", found.own(SEGMENT_REQUIRED), found.own(SEGMENT_PREFERRED), size)
        for size in counted(found.own(SEGMENT))
    ]
    whole = Step("", found.own(REQUIRED), found.own(PREFERRED))
    name = text(found.workload.data, "metadata", "name")
    asked = Asked(name, found.workload.route, (whole, *segments), queue=found.own(QUEUE), alive=True)
    return _counted(asked, found, target)


def _counted(asked: Asked, found: PodsFound, target: Target) -> Asked:
    """With how many pods the podgrouper lets the gang start (KAI 0.17, pkg/podgrouper/podgrouper/plugins).

    Pods that ended do not count (pkg/scheduler/api/podgroup_info/subgroup_info/podset.go `IsReadyForScheduling`).
    `job`: 1, or the annotation. `jobset`: since 0.16 all replicatedJobs with their `parallelism`, or one if they start
    in order; in 0.15 one pod; before, a PodGroup each. `leaderworkerset`: all pods of a group, or at first only the
    leader that workers wait for. `kubeflow`: `minAvailable`, or all. `ray`: the least workers. Others: 1.
    """
    what, data = kind(found.workload), found.workload.data
    stated = next(counted(text(data, "metadata", "annotations", MIN_MEMBER)), 0)
    if what == "Job":
        return asked._replace(waits=stated or 1, stated=True)
    if what in ("JobSet", "TrainJob"):
        own = asked._replace(unit=found.slot, units=1)
        if not target.since("kai", "0.16"):
            return own._replace(waits=1) if target.since("kai", "0.15") else own
        job = mapping(data, *found.route[len(found.workload.route) : -1])
        parallel = number_in(job, "parallelism") if what == "JobSet" else None
        waits = parallel * (found.replicas // found.size if found.size else 1) if parallel else None
        in_order = text(data, "spec", "startupPolicy", "startupPolicyOrder") == "InOrder"
        in_order |= found.late is not None and found.late.route[-1] == "startupPolicyOrder"
        return own._replace(waits=waits, units=stated or (1 if in_order else 0))
    if what == "LeaderWorkerSet":
        return asked._replace(waits=1) if text(data, "spec", "startupPolicy") == "LeaderReady" else asked
    if what in ("PyTorchJob", "MPIJob"):
        return asked._replace(waits=number_in(data, "spec", "runPolicy", "schedulingPolicy", "minAvailable"))
    return asked if what in ("RayCluster", "RayJob") else asked._replace(waits=0 if what == "Deployment" else 1)


EXISTING = Existing(table("backends", "kai").existing, place, QUEUE, ask)
