"""kube-scheduler and existing workloads: the pods of each pod template name one PodGroup.

A CRD drops `schedulingGroup` from its pod templates unless it knows the field: JobSet since 0.12, LeaderWorkerSet since
0.9, TrainingRuntime since 2.3 (their CRDs). None of these CRDs keeps `workloadRef` of Kubernetes 1.35. That of MPIJob
keeps only the latter, since mpi-operator 0.8 (manifests/base/kubeflow.org_mpijobs.yaml, v0.8.0 and v0.8.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan.backends.native.groups import lower, marks_of
from bayplan.backends.table import table
from bayplan.core.diagnostics import Outcome
from bayplan.kube.asked import Asked, Beside, PodsFound, Step, first, minimum_of_only, missing
from bayplan.kube.objects import group, items, name, number_in, text
from bayplan.model.existing import (
    Existing,
    for_default_scheduler,
    single_pods,
    without_group,
)
from bayplan.model.manifest import Lowered, Object, Shape
from bayplan.model.plan import Plan
from bayplan.model.target import Target


def place(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """The same objects as for workloads that bayplan writes: no two groups share a template. Copies need no group."""
    if single_pods(shape):
        return without_group(plan, marks_of(plan, {}))
    return for_default_scheduler(lower(plan, shape, target))


# What manifests request already.

API = "scheduling.k8s.io"
FROM: Mapping[str, Any] = {"alive": True, "stated": True}
"""The scheduler does not see pods that ended (Kubernetes 1.37, pkg/scheduler/scheduler.go `NewInformerFactory`, and
framework/plugins/gangscheduling/gangscheduling.go)."""


def ask(found: PodsFound, beside: Beside) -> Outcome[Asked] | None:
    """The PodGroup that pods name with the groups around it or, for Kubernetes 1.35, the Workload."""
    called = text(found.template, "spec", "schedulingGroup", "podGroupName")
    counted = text(found.template, "spec", "workloadRef", "name")
    if counted and not called:
        return _counted(found, beside, counted)
    if not called:
        return None
    pod_group = beside.find(API, "PodGroup", found, called)
    if pod_group is None:
        return missing(found, "PodGroup", called)
    chain = [pod_group]
    while parent := text(chain[0].data, "spec", "parentCompositePodGroupName"):
        above = beside.find(API, "CompositePodGroup", found, parent)
        if above is None or above in chain:
            return missing(found, "CompositePodGroup", parent)
        chain.insert(0, above)
    gang = _workload_of(chain[0])
    steps = [_step(one, gang, _least(one, chain, beside)) for one in chain]
    if steps[0].name:
        steps.insert(0, Step())
    same = beside.sharing(found, _group)
    least = number_in(pod_group.data, "spec", "schedulingPolicy", "gang", "minCount")
    minimum = None if least is None else minimum_of_only(found, least, same)
    field = (*pod_group.route, "spec", "schedulingPolicy", "gang", "minCount")
    more: Any = {"waits": least or 0, "unit": called, "units": int(any(each.least for each in steps)), "field": field}
    return Outcome(Asked(gang, chain[0].route, tuple(steps), minimum, **more, **FROM))


def _group(found: PodsFound) -> str:
    return text(found.template, "spec", "schedulingGroup", "podGroupName")


def _workload(found: PodsFound) -> str:
    return text(found.template, "spec", "workloadRef", "name")


def _workload_of(one: Object) -> str:
    """The Workload of a group, in the words of 1.37 or 1.36; the group itself if it has none."""
    own = text(one.data, "spec", "workloadRef", "workloadName")
    return own or text(one.data, "spec", "podGroupTemplateRef", "workload", "workloadName") or name(one)


def _step(one: Object, gang: str, least: int) -> Step:
    level = text(first(one.data, "spec", "schedulingConstraints", "topology"), "key")
    return Step(name(one).removeprefix(gang).removeprefix("-"), level, least=least)


def _least(one: Object, chain: list[Object], beside: Beside) -> int:
    """How many of the groups next to this one must start; 0: all."""
    parent = text(one.data, "spec", "parentCompositePodGroupName")
    above = next((each for each in chain if parent and name(each) == parent), None)
    least = number_in(above.data, "spec", "schedulingPolicy", "gang", "minGroupCount") if above else None
    listed = (each for each in beside.objects if group(each) == API)
    others = [each for each in listed if text(each.data, "spec", "parentCompositePodGroupName") == parent]
    return least if least is not None and least < len(others) else 0


def _counted(found: PodsFound, beside: Beside, called: str) -> Outcome[Asked]:
    workload = beside.find(API, "Workload", found, called)
    if workload is None:
        return missing(found, "Workload", called)
    counts = [number_in(each, "policy", "gang", "minCount") or 0 for each in items(workload.data, "spec", "podGroups")]
    least = minimum_of_only(found, sum(counts), beside.sharing(found, _workload)) if counts else None
    return Outcome(Asked(called, workload.route, least=least, waits=sum(counts), **FROM))


EXISTING = Existing(table("backends", "native").existing, place, ask=ask)
