"""KAI and existing workloads: bayplan writes a PodGroup if each pod template is one subgroup.

Otherwise workloads get the annotations from which KAI's own podgrouper creates PodGroups.

Read from KAI v0.15.3 to v0.17.0, pkg/podgrouper/podgrouper/plugins: jobset, leaderworkerset, pytorch.
"""

from __future__ import annotations

from typing import Any

from bayplan.backends.kai import pod_group
from bayplan.backends.kai.pod_group import POD_GROUP, QUEUE, SKIP, SUBGROUP, topology_of
from bayplan.backends.table import table
from bayplan.core.diagnostics import Outcome
from bayplan.kube.asked import Asked, Beside, PodsFound, Step, counted, minimum_of_only, missing
from bayplan.kube.kinds import instances
from bayplan.kube.objects import items, mapping, non_empty, number_in, text
from bayplan.model.existing import Existing, single_pods, without_group
from bayplan.model.manifest import Absent, Lowered, Marks, Meta, PodParts, Shape, Workload
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
    one = len(workload.gangs) == 1 and not varies(workload.gangs[0].gang)
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
        return Outcome(_of_annotations(found)) if mine else None
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
    together = beside.sharing(found, lambda each: (each.annotation(POD_GROUP), each.label(SUBGROUP)))
    least = number_in(mapping(subgroups, leaf) or spec, "minMember")
    queue = text(spec, "queue")
    kept = [each for each in way if not _only_counts(each, way)]
    minimum = None if least is None else minimum_of_only(found, least, together)
    return Outcome(Asked(called, group.route, (_step("", spec, 0), *kept), minimum, queue))


def _step(name: str, part: Any, least: int) -> Step:
    constraint = mapping(part, "topologyConstraint")
    required = text(constraint, "requiredTopologyLevel")
    preferred = text(constraint, "preferredTopologyLevel")
    return Step(name, required, "" if preferred == required else preferred, least=least)


def _only_counts(step: Step, way: list[Step]) -> bool:
    """Whether a subgroup only says how many of those inside it must start."""
    inside = [each.name for each in way if each.least and each.name.startswith(f"{step.name}-")]
    return bool(inside) and not (step.required or step.preferred) and inside[0].removeprefix(f"{step.name}-").isdigit()


def _of_annotations(found: PodsFound) -> Asked:
    """One gang of the workload, and its segments."""
    segments = [
        Step("", found.own(SEGMENT_REQUIRED), found.own(SEGMENT_PREFERRED), size)
        for size in counted(found.own(SEGMENT))
    ]
    whole = Step("", found.own(REQUIRED), found.own(PREFERRED))
    name = text(found.workload.data, "metadata", "name")
    return Asked(name, found.workload.route, (whole, *segments), queue=found.own(QUEUE))


EXISTING = Existing(table("backends", "kai").existing, place, QUEUE, ask)
