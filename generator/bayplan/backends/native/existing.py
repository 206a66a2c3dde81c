"""kube-scheduler and existing workloads: the pods of each pod template name one PodGroup.

A CRD drops `schedulingGroup` from its pod templates unless it knows the field: JobSet since 0.12, LeaderWorkerSet since
0.9, TrainingRuntime since 2.3 (their CRDs). None of these CRDs keeps `workloadRef` of Kubernetes 1.35.
"""

from __future__ import annotations

from bayplan.backends.native.groups import COMPONENT, SINCE_LEVELS, SINCE_WORKLOADS, lower
from bayplan.model.backend import Support, never
from bayplan.model.existing import TITLES, Existing, carries, for_default_scheduler, refuses
from bayplan.model.manifest import Lowered, Shape
from bayplan.model.plan import Plan
from bayplan.model.target import TITLES as COMPONENTS
from bayplan.model.target import Target

BUILT_IN = ("job", "statefulset", "deployment", "pod")
"""Kinds of Kubernetes itself."""

CRD_SINCE = {"jobset": "0.12", "lws": "0.9"}
"""Kind, which is its component too -> the version since which its CRD keeps the field."""


NO_WORKLOAD_REF = (
    "Kubernetes 1.35 reads `workloadRef` of the pods, which the CRD of this kind drops from its pod templates"
)
USE_1_36 = "target Kubernetes 1.36 or later, or use a Job"


def _crd_kinds(kind: str, since: str) -> tuple[Support, ...]:
    early = never(f"place-{kind}", NO_WORKLOAD_REF, USE_1_36, component=COMPONENT, until=SINCE_LEVELS)
    late = never(
        f"place-{kind}",
        f"{COMPONENTS[kind]} below {since} silently drops `schedulingGroup` from its pod templates",
        f"target version {since} or later (`versions: {{{kind}: ...}}`)",
    )
    return early, Support(f"place-{kind}", component=kind, since=since), late


def _trainjob() -> tuple[Support, ...]:
    """The CRDs of the runtime and of the JobSet that the Trainer creates from it must keep the field."""
    late = "Trainer below 2.3 and JobSet below 0.12 silently drop `schedulingGroup` from their pod templates"
    hint = "target Trainer 2.3 and JobSet 0.12 or later, or use a JobSet"
    lost = never("place-trainjob", late, hint)
    return (
        never("place-trainjob", NO_WORKLOAD_REF, USE_1_36, component=COMPONENT, until=SINCE_LEVELS),
        lost._replace(component="jobset", until="0.12"),
        Support("place-trainjob", component="trainer", since="2.3"),
        lost,
    )


ONE_POD_GROUP = "kube-scheduler reads the PodGroup from the pod template, so all pods of one template are in one group"
SUPPORT: tuple[Support, ...] = (
    *carries("place", *BUILT_IN, component=COMPONENT, since=SINCE_WORKLOADS),
    *(row for kind, since in CRD_SINCE.items() for row in _crd_kinds(kind, since)),
    *_trainjob(),
    *refuses(
        "place",
        "Kubernetes below 1.35 does not group pods",
        "target Kubernetes 1.35 or later",
        but=tuple(refused for refused in TITLES if refused not in BUILT_IN),
    ),
    *refuses(
        "place",
        "the CRD of this kind silently drops unknown fields, and bayplan does not know whether it keeps"
        " `schedulingGroup`",
        "use a Job, a StatefulSet, a JobSet or a LeaderWorkerSet",
        word="not yet in bayplan",
        but=(*BUILT_IN, *CRD_SINCE, "trainjob"),
    ),
    *refuses("copies", ONE_POD_GROUP, "write a replicatedJob for each group"),
    *refuses("ranks", ONE_POD_GROUP, "write a pod template for each group, such as a replicatedJob of a JobSet"),
    *refuses("gangs", ONE_POD_GROUP, "write a workload for each gang"),
)


def place(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """The same objects as for workloads that bayplan writes: no two groups share a template."""
    return for_default_scheduler(lower(plan, shape, target))


EXISTING = Existing(SUPPORT, place)
