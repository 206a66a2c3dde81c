"""Existing workloads: the features that their placement can need of a scheduler, and what a scheduler does with them.

bayplan does not change their pod templates. If the pods of two groups come from one template, the template cannot
contain a difference between the groups, so the scheduler itself must be able to distinguish them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from bayplan.model.backend import Feature, Lower, Support, Word
from bayplan.model.manifest import Absent, Lowered, Marks, Shape
from bayplan.model.plan import Plan, all_pods
from bayplan.model.target import Target
from bayplan.model.workflow import OF_GROVE, serves

TITLES: Mapping[str, str] = {
    "job": "a Job",
    "jobset": "a JobSet",
    "lws": "a LeaderWorkerSet",
    "statefulset": "a StatefulSet",
    "deployment": "a Deployment",
    "pytorchjob": "a PyTorchJob",
    "mpijob": "an MPIJob",
    "trainjob": "a TrainJob",
    "raycluster": "a RayCluster",
    "rayjob": "a RayJob",
    "volcano-job": "a Volcano Job",
    "pod": "a bare Pod",
    "podcliqueset": "a PodCliqueSet",
    "dynamographdeployment": "a DynamoGraphDeployment",
}
"""Kinds of workloads that bayplan reads, and their names in messages."""

ONLY_KAI = "Grove gives levels only to KAI: it refuses them with Volcano, and gives kube-scheduler no gangs"
"""Why no other scheduler places the kinds of Grove (v0.1.0-alpha.12, operator/internal/scheduler)."""

SOLE = "sole-deployment"
"""A Deployment of one pod, which needs no gang."""

SINGLE_PODS = "single-pods"
"""A Deployment whose pods are copies of a gang of one pod. bayplan writes it, and nothing groups its pods."""

PLACED: Mapping[str, str] = {
    **TITLES,
    SOLE: "a Deployment of one pod",
    SINGLE_PODS: "a Deployment of independent pods",
}
"""Kind -> what is placed."""

PLAIN = (
    *("job", "jobset", "lws", "statefulset", "deployment", "pytorchjob", "mpijob", "trainjob", "raycluster", "rayjob"),
    "pod",
)
"""Kinds whose pods are scheduled as their templates say: they do not bring a scheduler or a PodGroup."""

LED = "lws-led"
"""A LeaderWorkerSet whose leader has a pod template of its own: groups of its workers may count the leader."""

UNNUMBERED = "unnumbered"
"""Pods without a number from 0 on: those of a Job that is not Indexed, and workers of a launcher that is their first
one."""

SPANNING = "several-jobs"
"""Groups that consist of several Jobs of one replicatedJob, or of parts of them."""

RANKED: Mapping[str, str] = {
    **{kind: f"one pod template of {title}" for kind, title in TITLES.items()},
    LED: "the workers of a LeaderWorkerSet whose leader has another template",
    UNNUMBERED: "pods without a number from 0 on",
    SPANNING: "several Jobs of a replicatedJob",
}
"""Kind -> what groups of ranks consist of."""


def _features(word: str, unit: str, meaning: str, objects: Mapping[str, str], code: str) -> dict[str, Feature]:
    return {f"{word}-{kind}": Feature(meaning.format(what), unit, code, firm=True) for kind, what in objects.items()}


FEATURES: Mapping[str, Feature] = {
    **_features("place", "pod templates", "the placement of {} that exists already", PLACED, "F740"),
    **_features("copies", "groups", "groups that are copies of one pod template of {}", TITLES, "F741"),
    **_features("ranks", "groups", "groups of neighbouring ranks of {}", RANKED, "F741"),
    **_features("gangs", "gangs", "several gangs with one pod template of {}", TITLES, "F741"),
}
"""Users cannot accept the loss of one of these, because no manifest expresses even a part of it."""


def carries(feature: str, *kinds: str, component: str = "", since: str = "") -> tuple[Support, ...]:
    """Rows of `place`, `copies`, `ranks` or `gangs` for the kinds of workloads that the scheduler supports."""
    more = (SOLE,) if feature == "place" and "deployment" in kinds else ()
    return tuple(Support(f"{feature}-{kind}", component=component, since=since) for kind in (*kinds, *more))


def refuses(
    feature: str, reason: str, hint: str, *, word: Word = "no", but: tuple[str, ...] = ()
) -> tuple[Support, ...]:
    """Rows for all other kinds. `but`: kinds that earlier rows cover."""
    return tuple(
        Support(f"{feature}-{kind}", "absent", word="not yet upstream", reason=ONLY_KAI, hint="use `-s kai`")
        if kind in OF_GROVE
        else Support(f"{feature}-{kind}", "absent", word=word, reason=reason, hint=hint)
        for kind in (RANKED if feature == "ranks" else PLACED if feature == "place" else TITLES)
        if kind not in but and not (kind == SOLE and "deployment" in but)
    )


def single_pods(shape: Shape) -> bool:
    """Whether the pods are copies of a gang of one pod, so that the scheduler places each by itself."""
    workload = shape.workloads[0]
    return workload.kind == "deployment" and serves(workload.gangs[0].gang)


def without_group(plan: Plan, marks: Marks) -> Lowered:
    """The same marks for the only pod of each copy, and no group."""
    return Lowered((), {(gang.name, pods.name): marks for gang in plan.gangs for pods in all_pods(gang.root)})


def for_default_scheduler(lowered: Lowered) -> Lowered:
    """The same for pods that must name the default scheduler or none: another one would ignore the marks."""
    return lowered._replace(marks={key: _unnamed(marks) for key, marks in lowered.marks.items()})


def _unnamed(marks: Marks) -> Marks:
    spec = {"schedulerName": Absent(("default-scheduler",)), **marks.pod.spec}
    return marks._replace(pod=marks.pod._replace(spec=spec))


def _nothing(plan: Plan, shape: Shape, target: Target) -> Lowered:
    return Lowered((), {})


class Existing(NamedTuple):
    """What a scheduler does with existing workloads.

    `place` lowers like a backend's `lower`, but for pod templates that bayplan does not change: the plan's groups are
    instances, and the shape's are folded. Marks may have keys of either, and are the same for all pods of a podSet.
    """

    support: tuple[Support, ...]
    place: Lower = _nothing
    queue_label: str = ""  # the label that names the queue of such a workload; empty if it has no such label
    ask: Callable[..., Any] | None = None  # what manifests request already: an `Ask` of kube/asked.py


NOT_YET = Existing(
    tuple(
        row
        for feature in ("place", "copies", "ranks", "gangs")
        for row in refuses(
            feature,
            "bayplan cannot place existing workloads with this scheduler",
            "use `-s kai`",
            word="not yet in bayplan",
        )
    )
)
"""The support of a scheduler for which bayplan places no existing workloads."""
