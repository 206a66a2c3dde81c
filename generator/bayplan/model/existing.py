"""Workloads that exist already: what placing them can need of a scheduler, and what a scheduler does with them.

Their pod templates are what they are: whatever differs between two groups whose pods come of one template cannot be
written into it, so only what the scheduler itself can tell apart is of use.
"""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.core.values import NamedTuple
from bayplan.model.backend import Feature, Lower, Support, Word
from bayplan.model.manifest import Absent, Lowered, Marks, Shape
from bayplan.model.plan import Plan
from bayplan.model.target import Target

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
}
"""Kinds of workloads that are read, and what messages call them."""

PLAIN = ("job", "jobset", "lws", "statefulset", "pytorchjob", "mpijob", "trainjob", "raycluster", "rayjob", "pod")
"""Kinds whose pods are scheduled as their templates say: no scheduler and no PodGroup comes with them."""

LED = "lws-led"
"""A LeaderWorkerSet whose leader has a pod template of its own: where its workers are cut, the leader may count."""

UNNUMBERED = "unnumbered"
"""Pods without a number of their own from 0 on: those of a Job that is not Indexed, of workers beside a launcher that
is the first of them."""

RANKED: Mapping[str, str] = {
    **{kind: f"one pod template of {title}" for kind, title in TITLES.items()},
    LED: "the workers of a LeaderWorkerSet beside a leader of another template",
    UNNUMBERED: "pods that carry no number from 0 on",
}
"""What groups of ranks are cut from."""


def _features(word: str, unit: str, meaning: str, objects: Mapping[str, str], code: str) -> dict[str, Feature]:
    return {f"{word}-{kind}": Feature(meaning.format(what), unit, code, firm=True) for kind, what in objects.items()}


FEATURES: Mapping[str, Feature] = {
    **_features("place", "pod templates", "the placement of {} that exists already", TITLES, "F740"),
    **_features("copies", "groups", "groups that are copies of one pod template of {}", TITLES, "F741"),
    **_features("ranks", "groups", "groups of neighbouring ranks of {}", RANKED, "F742"),
    **_features("gangs", "gangs", "several gangs with one pod template of {}", TITLES, "F743"),
}
"""Losing one cannot be accepted: there is no manifest that would say even a part of it."""


def carries(feature: str, *kinds: str, component: str = "", since: str = "") -> tuple[Support, ...]:
    """Rows of `place`, `copies`, `ranks` or `gangs` for kinds of workloads that are carried."""
    return tuple(Support(f"{feature}-{kind}", component=component, since=since) for kind in kinds)


def refuses(
    feature: str, reason: str, hint: str, *, word: Word = "no", but: tuple[str, ...] = ()
) -> tuple[Support, ...]:
    """Rows for all other kinds: with `but`, those that stand in rows before."""
    return tuple(
        Support(f"{feature}-{kind}", "absent", word=word, reason=reason, hint=hint)
        for kind in (RANKED if feature == "ranks" else TITLES)
        if kind not in but
    )


def for_default_scheduler(lowered: Lowered) -> Lowered:
    """The same, for pods that must name no scheduler, or the default one: another would heed none of it."""
    return lowered._replace(marks={key: _unnamed(marks) for key, marks in lowered.marks.items()})


def _unnamed(marks: Marks) -> Marks:
    spec = {"schedulerName": Absent(("default-scheduler",)), **marks.pod.spec}
    return marks._replace(pod=marks.pod._replace(spec=spec))


def _nothing(plan: Plan, shape: Shape, target: Target) -> Lowered:
    return Lowered((), {})


class Existing(NamedTuple):
    """What a scheduler does with workloads that exist already.

    `place` lowers like a backend's `lower`, but for pod templates that are what they are: the plan's groups are
    instances, the shape's are folded. Marks may be keyed by either, and are the same for all of one podSet.
    """

    support: tuple[Support, ...]
    place: Lower = _nothing
    queue_label: str = ""  # by which such a workload names its queue; empty where there is none


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
"""A scheduler that places none."""
