"""Kueue and existing workloads: annotations on their pod templates, the queue on the workload.

Kueue's webhooks suspend or gate everything that names a queue, so bayplan suspends nothing here. Read from Kueue
v0.14.0 to v0.19.0, pkg/controller/jobs and pkg/controller/tas/topology_ungater.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.backends.kueue.lower import (
    LAYERS,
    POD_GROUP,
    POD_SET_GROUP,
    PREFERRED,
    PRIORITY_CLASS,
    QUEUE,
    REQUIRED,
    SLICE_LEVEL,
    SLICE_SIZE,
    TOPOLOGY_ANNOTATIONS,
    Request,
    requests,
    topology_annotations,
)
from bayplan.backends.table import table
from bayplan.core.diagnostics import Diagnostic, Outcome, info
from bayplan.kube.asked import Asked, Beside, PodsFound, Step, counted
from bayplan.kube.kinds import GANG_LABEL, GROUP_LABEL, instances
from bayplan.kube.objects import non_empty, number_in, text
from bayplan.model.existing import (
    TITLES,
    Existing,
    single_pods,
    without_group,
)
from bayplan.model.manifest import Absent, Lowered, Marks, Meta, PodParts, Shape
from bayplan.model.plan import Plan
from bayplan.model.target import Target

OVERRIDES, PATCHES = "0.14.8", "0.17"
"""The first versions that write `podTemplateOverrides` of Trainer 2.1, and `runtimePatches` of Trainer 2.2 (Kueue
v0.14.8 and v0.18.2, pkg/controller/jobs/trainjob/trainjob_controller.go)."""


def place(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """No documents. The gangs of a LeaderWorkerSet are equal, and each is a Workload of its own.

    So is each pod of a Deployment, to which Kueue's webhook hands the queue (`deployment_webhook.go`, 0.14 to 0.19).
    """
    workload, first = shape.workloads[0], plan.gangs[0]
    requested = requests(plan, first)
    own = {"shutdownAfterJobFinishes": True} if workload.kind == "rayjob" else {}  # required by the webhook
    priority_class = non_empty(**{PRIORITY_CLASS: first.gang.backends.get("kueue", {}).get("priorityClass", "")})
    owner = Meta({QUEUE: plan.queue, **priority_class}, spec=own)
    if single_pods(shape):
        return without_group(plan, Marks(owner))
    marks = {
        (gang.name, pods.name): Marks(owner, pod=PodParts(annotations=_annotations(plan, requested[pods.name])))
        for gang, pods in instances(workload)
    }
    return Lowered((), marks)


def _annotations(plan: Plan, request: Request) -> dict[str, Any]:
    """The requested annotations; removes all others, because Kueue refuses or ignores some combinations."""
    return {
        **dict.fromkeys(TOPOLOGY_ANNOTATIONS, Absent()),
        **topology_annotations(_named_after_workload(plan, request)),
    }


def _named_after_workload(plan: Plan, request: Request) -> Request:
    """The request with a pair named after the workload: all gangs of one template have the same annotations."""
    if not request.pod_set_group:
        return request
    return request._replace(pod_set_group=plan.workflow.name + request.pod_set_group.removeprefix(plan.gangs[0].name))


BEFORE_0_16, SINCE_0_19 = ("", "0.16"), ("0.19", "")
"""From which version, below which version: an integration is off by default."""

OFF_BY_DEFAULT = {
    "pod": ("`pod`", BEFORE_0_16),
    "deployment": ("`pod` and `deployment`", BEFORE_0_16),
    "statefulset": ("`pod` and `statefulset`", BEFORE_0_16),
    "lws": ("`pod` and `leaderworkerset.x-k8s.io/leaderworkerset`", BEFORE_0_16),
    "pytorchjob": ("`kubeflow.org/pytorchjob`", SINCE_0_19),
}
"""Kind -> `integrations.frameworks` that Kueue's default configuration leaves out, in which versions."""


def switched_off(shape: Shape, target: Target) -> Iterator[Diagnostic]:
    """F689: an integration that is not on by default (Kueue v0.14.0 to v0.19.0, controller_manager_config.yaml)."""
    workload = shape.workloads[0]
    name, (since, until) = OFF_BY_DEFAULT.get(workload.kind, ("", BEFORE_0_16))
    if name and target.between("kueue", since, until):
        version, at = target.version("kueue"), workload.gangs[0].route
        message = f"Kueue {version} ignores {TITLES[workload.kind]} unless its configuration enables the integration"
        default = f", as the default configuration does since Kueue {until}" if until else ""
        yield info("F689", at, message, hint=f"add {name} to `integrations.frameworks`{default}")


# What manifests request already.


def ask(found: PodsFound, beside: Beside) -> Outcome[Asked] | None:
    """The levels of the podSet, of its pair or, if it has all pods, of the gang; then those of its slices.

    Kueue admits the object and not its pods, whose order does not matter. It admits groups of pods that a StatefulSet
    makes with the first of them (v0.19, statefulset_webhook.go: pod-group-fast-admission).
    """
    if not found.own(QUEUE):
        return None
    members = beside.sharing(found, _gang)
    pair = found.annotation(POD_SET_GROUP)
    peers = [each for each in members if pair and each.annotation(POD_SET_GROUP) == pair] or [found]
    levels = (found.annotation(REQUIRED), found.annotation(PREFERRED))
    whole = len(peers) == len(members)
    name = pair if len(peers) > 1 else found.label(GROUP_LABEL) or found.name
    around = (Step("", *levels),) if whole else (Step(), *((Step(name, *levels),) if any(levels) else ()))
    slices = [(found.annotation(SLICE_LEVEL), size) for size in counted(found.annotation(SLICE_SIZE))]
    slices += _layers(found.annotation(LAYERS))
    way = (*around, *(Step("", level, size=size) for level, size in slices))
    return Outcome(Asked(_gang(found), found.workload.route, way, queue=found.own(QUEUE), waits=0))


def _gang(found: PodsFound) -> str:
    return found.label(GANG_LABEL) or found.label(POD_GROUP) or text(found.workload.data, "metadata", "name")


def _layers(value: str) -> list[tuple[str, int]]:
    import json

    try:
        listed = json.loads(value or "[]")
    except ValueError:
        return []
    sized = ((text(each, "topology"), number_in(each, "size") or 0) for each in listed if isinstance(each, dict))
    return [(level, size) for level, size in sized if size > 0]


EXISTING = Existing(table("backends", "kueue").existing, place, QUEUE, ask)
