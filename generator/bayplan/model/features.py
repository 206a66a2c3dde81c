"""What a plan can need of a scheduler, and how a backend declares what it supports."""

from collections.abc import Mapping
from typing import Literal

from bayplan.diagnostics import Route
from bayplan.values import NamedTuple

Fidelity = Literal["exact", "approximate", "absent"]
Word = Literal["", "not yet here", "not yet upstream", "never"]


class Need(NamedTuple):
    """The plan needs this much of a feature. Where `preferred`, losing it is a warning, else an error."""

    feature: str
    amount: int
    route: Route
    preferred: bool = False
    subject: str = ""  # what needs it, for the message: 'gang "train"'


class Support(NamedTuple):
    """One row of a backend or of a workload kind. The first row that covers a need's amount and version decides.

    `up_to` bounds the amount (None: any). `since` <= version of `component` < `until`; an empty bound is open.
    """

    feature: str
    fidelity: Fidelity = "exact"
    up_to: int | None = None
    component: str = ""
    since: str = ""
    until: str = ""
    reason: str = ""  # approximate: what is lost; absent: why
    word: Word = ""  # absent: not yet here | not yet upstream | never
    hint: str = ""  # the way out


class Feature(NamedTuple):
    """What a feature is, and in what its amount is counted; without a unit the amount says nothing of interest."""

    meaning: str
    unit: str = ""


FEATURES: Mapping[str, Feature] = {
    "gang": Feature("all pods of a gang start or none"),
    "group-depth": Feature("nested groups with levels of their own", "nested levels"),
    "uneven-groups": Feature("groups of different shape or size under one gang"),
    "required-level": Feature("pods that must share one domain"),
    "preferred-level": Feature("pods that should share one domain"),
    "required-and-preferred": Feature("both on one gang or group"),
    "optional-pods": Feature("a podSet that may start with minReplicas"),
    "optional-pods-placed": Feature("pods beyond the minimum in a domain that the others have chosen"),
    "optional-groups": Feature("a group that may start with minReplicas of its instances"),
    "separate": Feature("one group instance a domain"),
    "mixed-pools": Feature("one placement over pods of several pools whose levels differ"),
    "compute-domain": Feature("NVLink domains of their own", "a gang"),
    "gpu-claim": Feature("GPUs claimed through DRA"),
    "uncounted-claim": Feature("GPUs claimed by a device class that is not counted"),
    "queue": Feature("a queue"),
    "no-queue": Feature("work without a queue"),
    "parentless-queue": Feature("a queue without a parent"),
    "unit-name-length": Feature("long names of group instances", "characters"),
    "timings": Feature("delays before preemption or eviction"),
    "priority": Feature("a priority class"),
    "preemptible": Feature("a stated preemptibility"),
    "depends-on": Feature("gangs that wait for others", "predecessors"),
    "lead": Feature("a podSet whose success is the gang's"),
    "restarts": Feature("the gang restarts as a whole", "restarts"),
    "deadline": Feature("an active deadline"),
    "ttl": Feature("removal some time after the end"),
    "always-restart": Feature("pods with restartPolicy Always"),
    "label-key-length": Feature("long level labels", "characters"),
    "node-name-length": Feature("long node names", "characters"),
    "level-count": Feature("levels in one pool", "levels with the host level"),
    "pod-name-length": Feature("long generated pod names", "characters"),
    "workload-job": Feature("a Kubernetes Job"),
    "workload-jobset": Feature("a JobSet"),
    "workload-pods": Feature("bare pods"),
    "workload-lws": Feature("a LeaderWorkerSet"),
    "workload-volcano-job": Feature("a Volcano Job"),
    "adopt": Feature("cleanup: adopt"),
}
"""Every feature: one row of `bayplan schedulers`."""
