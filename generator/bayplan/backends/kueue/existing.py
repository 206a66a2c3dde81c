"""Kueue and workloads that exist already: annotations on their pod templates, the queue on the workload.

Kueue's webhooks suspend or gate everything that names a queue, so nothing is suspended here. Read from Kueue v0.14.0 to
v0.19.0, pkg/controller/jobs and pkg/controller/tas/topology_ungater.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.backends.kueue.lower import QUEUE, TOPOLOGY_ANNOTATIONS, Request, requests, topology_annotations
from bayplan.core.diagnostics import Diagnostic, info
from bayplan.kube.kinds import instances
from bayplan.model.backend import Support, never, not_yet_upstream
from bayplan.model.existing import LED, TITLES, UNNUMBERED, Existing, carries, refuses
from bayplan.model.manifest import Absent, Lowered, Marks, Meta, PodParts, Shape
from bayplan.model.plan import Plan
from bayplan.model.target import Target

FEW_TEMPLATES = ("job", "statefulset", "pod", "lws")
"""Kinds of one or two pod templates."""

MANY_TEMPLATES = {"jobset": 0, "pytorchjob": 0, "mpijob": 0, "raycluster": 0, "rayjob": 1, "trainjob": 0}
"""Kinds of any number of pod templates -> the podSets that Kueue makes besides: the pod that submits a RayJob."""

MOST_POD_SETS = (("", 8), ("0.18", 10), ("0.19", 18))
"""Since which version a Workload holds so many podSets (CRD workloads.kueue.x-k8s.io)."""

RUNTIME_PATCHES = "0.17"
"""The first version that knows `runtimePatches` of Trainer 2.2."""

SLICED = ("job", "jobset", "statefulset", "lws", "pytorchjob", "mpijob", "trainjob")
"""Kinds whose pods carry an index by which Kueue deals them out."""


def _placed_kinds() -> Iterator[Support]:
    yield from carries("place", *FEW_TEMPLATES)
    for kind, extra in MANY_TEMPLATES.items():
        for since, most in MOST_POD_SETS:
            first = max(since, RUNTIME_PATCHES) if kind == "trainjob" else since
            yield Support(f"place-{kind}", up_to=most - extra, component="kueue" if first else "", since=first)
    yield not_yet_upstream(
        "place-trainjob",
        "Kueue below 0.17 speaks to Trainer 2.0 and 2.1 alone, whose TrainJobs have no `runtimePatches`",
        "target Kueue 0.17 or later, or use a JobSet",
        component="kueue",
        until=RUNTIME_PATCHES,
    )
    for kind in MANY_TEMPLATES:
        yield never(
            f"place-{kind}",
            "it has more pod templates than a Workload of Kueue holds podSets",
            "merge equal pod templates into one of more pods, or split the workload",
        )


SUPPORT: tuple[Support, ...] = (
    *_placed_kinds(),
    *refuses(
        "place",
        "Kueue has no integration that takes its pods as one gang",
        "use a JobSet or a Job, or leave the placement out",
        but=(*FEW_TEMPLATES, *MANY_TEMPLATES),
    ),
    *carries("copies", "jobset", "trainjob"),
    *refuses("copies", "its pods carry no number of a copy", "use a JobSet", but=("jobset", "trainjob")),
    *carries("ranks", *SLICED),
    not_yet_upstream(
        f"ranks-{LED}",
        "beside a leader of another template the workers count from 1, and Kueue would cut groups of any pods",
        "leave the leader's template out where it may be a worker's, or give the groups no size",
    ),
    never(
        f"ranks-{UNNUMBERED}",
        "Kueue tells neighbours by an index from 0 on, and would cut groups of any pods",
        "set `completionMode: Indexed`; of an MPIJob, leave `runLauncherAsWorker` out; or give the groups no size",
    ),
    *refuses(
        "ranks",
        "its pods carry no index by which Kueue could tell neighbours, so a group would be any pods",
        "give each group a pod template of its own, such as a worker group, or use a JobSet",
        word="not yet upstream",
        but=(*SLICED, LED, UNNUMBERED),
    ),
    *carries("gangs", "lws"),
    *refuses("gangs", "its pods are one Workload of Kueue", "write a workload for each gang", but=("lws",)),
)


def place(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """No documents. Gangs of a LeaderWorkerSet are alike, and each is a Workload of its own."""
    workload, first = shape.workloads[0], plan.gangs[0]
    requested = requests(plan, first)
    own = {"shutdownAfterJobFinishes": True} if workload.kind == "rayjob" else {}  # else the webhook refuses it
    owner = Meta({QUEUE: plan.queue}, spec=own)
    marks = {
        (gang.name, pods.name): Marks(owner, pod=PodParts(annotations=_annotations(plan, requested[pods.name])))
        for gang, pods in instances(workload)
    }
    return Lowered((), marks)


def _annotations(plan: Plan, request: Request) -> dict[str, Any]:
    """What is asked for, and nothing else of the kind: of several, Kueue refuses some and heeds one of others."""
    return {
        **dict.fromkeys(TOPOLOGY_ANNOTATIONS, Absent()),
        **topology_annotations(_named_after_workload(plan, request)),
    }


def _named_after_workload(plan: Plan, request: Request) -> Request:
    """Pairs are called after the workload: all gangs of one template have the same annotations."""
    if not request.pod_set_group:
        return request
    return request._replace(pod_set_group=plan.workflow.name + request.pod_set_group.removeprefix(plan.gangs[0].name))


BEFORE_0_16, SINCE_0_19 = ("", "0.16"), ("0.19", "")
"""From which version, below which version: an integration is off where nobody has switched it on."""

OFF_BY_DEFAULT = {
    "pod": ("pod", BEFORE_0_16),
    "statefulset": ("pod and statefulset", BEFORE_0_16),
    "lws": ("pod and leaderworkerset.x-k8s.io/leaderworkerset", BEFORE_0_16),
    "pytorchjob": ("kubeflow.org/pytorchjob", SINCE_0_19),
}
"""Kind -> `integrations.frameworks` that Kueue's default configuration leaves out, in which versions."""


def switched_off(shape: Shape, target: Target) -> Iterator[Diagnostic]:
    """F689: an integration that is not on by default (Kueue v0.14.0 to v0.19.0, controller_manager_config.yaml)."""
    workload = shape.workloads[0]
    name, (since, until) = OFF_BY_DEFAULT.get(workload.kind, ("", BEFORE_0_16))
    if name and target.between("kueue", since, until):
        version, at = target.version("kueue"), workload.gangs[0].route
        message = f"Kueue {version} leaves {TITLES[workload.kind]} alone unless its configuration says so"
        yield info("F689", at, message, hint=f"add {name} to `integrations.frameworks`")


EXISTING = Existing(SUPPORT, place, QUEUE)
