"""What a plan can need of a scheduler, and how a backend declares what it supports."""

from __future__ import annotations

from typing import Literal, NamedTuple

from bayplan.diagnostics import Route

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


FEATURES = {
    "gang": "all pods of a gang start or none",
    "group-depth": "nested groups with levels of their own (amount: levels of nesting)",
    "uneven-groups": "groups of different shape or size under one gang",
    "required-level": "pods that must share one domain (amount: constrained units)",
    "preferred-level": "pods that should share one domain",
    "required-and-preferred": "both on one gang or group",
    "optional-pods": "a podSet that may start with minReplicas",
    "optional-groups": "a group that may start with minReplicas of its instances",
    "separate": "one group instance a domain",
    "mixed-pools": "one placement over pods of several pools whose levels differ",
    "compute-domain": "NVLink domains of their own (amount: ComputeDomains a gang)",
    "gpu-claim": "GPUs claimed through DRA",
    "queue": "a queue",
    "no-queue": "work without a queue",
    "unit-name-length": "long names of group instances (amount: characters)",
    "timings": "delays before preemption or eviction",
    "priority": "a priority class",
    "preemptible": "a stated preemptibility",
    "depends-on": "gangs that wait for others (amount: predecessors)",
    "lead": "a podSet whose success is the gang's",
    "restarts": "the gang restarts as a whole (amount: restarts)",
    "deadline": "an active deadline",
    "ttl": "removal some time after the end",
    "always-restart": "pods with restartPolicy Always",
    "label-key-length": "long level labels (amount: characters)",
    "node-name-length": "long node names (amount: characters)",
    "level-count": "levels in one pool (amount: levels, the host level included)",
    "pod-name-length": "long generated pod names (amount: characters)",
    "workload-job": "a Kubernetes Job",
    "workload-jobset": "a JobSet",
    "workload-pods": "bare pods",
    "workload-lws": "a LeaderWorkerSet",
    "workload-volcano-job": "a Volcano Job",
    "adopt": "cleanup: adopt",
}
"""Every feature and its meaning: one row of `bayplan schedulers`."""
