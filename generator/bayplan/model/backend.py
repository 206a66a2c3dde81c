"""The contract of a backend: the value `BACKEND` that each package in `backends/` declares.

What a scheduler does not need is left out. Its rules about manifests of others (`RULES` in a module `lint`) and what it
does with workloads that exist already (`EXISTING` in a module `existing`) are loaded only when they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Literal

from bayplan.core.diagnostics import Diagnostic, Route, Severity
from bayplan.core.values import NamedTuple
from bayplan.model.manifest import File, Lowered, Manifest, Shape
from bayplan.model.plan import Plan
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology

# What a plan can need of a scheduler, and how a backend declares its support.

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
    report: Severity = "error"  # approximate: how grave the loss is where the need is a requirement


def exact(*lines: str) -> tuple[Support, ...]:
    """Rows of features, separated by spaces, that are carried whatever the amount and the version."""
    return tuple(Support(feature) for line in lines for feature in line.split())


def approximate(
    feature: str,
    reason: str,
    hint: str = "",
    report: Severity = "error",
    component: str = "",
    since: str = "",
    until: str = "",
) -> Support:
    """A row of a feature of which something is lost: what, and the way out."""
    return Support(feature, "approximate", None, component, since, until, reason, "", hint, report)


def _absent(
    word: Word, feature: str, reason: str, hint: str = "", component: str = "", since: str = "", until: str = ""
) -> Support:
    return Support(feature, "absent", None, component, since, until, reason, word, hint)


never = partial(_absent, "never")
"""A row of a feature that the scheduler does not carry, and why: it contradicts what the scheduler is."""

not_yet_upstream = partial(_absent, "not yet upstream")
"""The same where the scheduler could carry it, and has no field for it yet."""

not_yet_here = partial(_absent, "not yet here")
"""The same where the scheduler carries it, and bayplan does not write it yet."""


class Feature(NamedTuple):
    """What a feature is, and in what its amount is counted; without a unit the amount says nothing of interest.

    `code` is that of its loss, so that `--accept` can name one gap. `firm`: the loss cannot be accepted, because
    upstream would refuse what came out.
    """

    meaning: str
    unit: str = ""
    code: str = ""
    firm: bool = False


FEATURES: Mapping[str, Feature] = {
    "gang": Feature("all pods of a gang start or none", code="F615"),
    "group-depth": Feature("nested groups with levels of their own", "nested levels", "F638"),
    "uneven-groups": Feature("groups of different shape or size under one gang", code="F639"),
    "mixed-pod-sets": Feature("several podSets under one placement", "podSets", "F625"),
    "required-level": Feature("pods that must share one domain", code="F631"),
    "preferred-level": Feature("pods that should share one domain", code="F632"),
    "group-preferred": Feature("groups inside a placement that should share one domain each", code="F624"),
    "required-and-preferred": Feature("both on one gang or group", code="F633"),
    "rank-order": Feature("neighbouring ranks in one domain", "group instances", "F629"),
    "optional-pods": Feature("a podSet that may start with minReplicas", code="F680"),
    "optional-pods-placed": Feature("pods beyond the minimum in a domain that the others have chosen", code="F636"),
    "optional-groups": Feature("a group that may start with minReplicas of its instances", code="F604"),
    "separate": Feature("one group instance a domain", code="F602"),
    "mixed-pools": Feature("one placement over pools of several lists of levels", code="F603"),
    "repeated-values": Feature("level values that repeat under other parents", code="F628"),
    "compute-domain": Feature("NVLink domains of their own", "a gang", "F681"),
    "several-compute-domains": Feature("a ComputeDomain for each of several groups", "ComputeDomains", "F626"),
    "compute-domain-each": Feature("a ComputeDomain for each group instance, as asked", "ComputeDomains", "F627"),
    "gpu-claim": Feature("GPUs claimed through DRA", code="F605"),
    "network-cards": Feature("network cards as extended resources", "a pod", code="F750"),
    "network-claim": Feature("network cards claimed through DRA", "a pod", code="F751"),
    "pod-network": Feature("secondary networks of pods", "networks", code="F752"),
    "fixed-address": Feature("a fixed address of rank 0 on a secondary network", code="F753", firm=True),
    "numa": Feature("a NUMA alignment of the podSet's own", code="F630"),
    "queue": Feature("a queue", code="F682"),
    "no-queue": Feature("work without a queue", code="F601", firm=True),
    "priority": Feature("a priority class", code="F683"),
    "preemptible": Feature("a stated preemptibility", code="F684"),
    "depends-on": Feature("gangs that wait for others", "predecessors", "F606", True),
    "lead": Feature("a podSet whose success is the gang's", code="F607"),
    "restarts": Feature("the gang restarts as a whole", "restarts", "F608"),
    "deadline": Feature("an active deadline", code="F609"),
    "ttl": Feature("removal some time after the end", code="F610"),
    "always-restart": Feature("pods with restartPolicy Always", code="F611", firm=True),
    "label-key-length": Feature("long level labels", "characters", "F623", True),
    "node-name-length": Feature("long node names", "characters", "F612"),
    "level-count": Feature("levels in one pool", "levels with the host level", "F614", True),
    "pod-name-length": Feature("long generated pod names", "characters", "F613", True),
    "workload-job": Feature("a Kubernetes Job", code="F616"),
    "workload-jobset": Feature("a JobSet", code="F617"),
    "workload-pods": Feature("bare pods", code="F618"),
    "workload-lws": Feature("a LeaderWorkerSet", code="F619"),
    "workload-volcano-job": Feature("a Volcano Job", code="F620"),
    "workload-sbatch": Feature("an sbatch script", code="F685"),
    "adopt": Feature("cleanup: adopt", code="F621"),
}
"""Every feature that a plan may need of any scheduler: one row of `bayplan schedulers`. What only one of them is asked
for (the length of a name that it derives) stands in the `FEATURES` of its backend."""

Folding = Literal["alike", "all"]
Lower = Callable[[Plan, Shape, Target], Lowered]


class Declaration(NamedTuple):
    """What a scheduler is, and what it carries.

    `component` is its key in `versions:`. `support` has rows for all features that plans may need, and for those that
    only this scheduler is asked for, such as the length of names that it derives; `features` has the latter. `kinds`
    are workload kinds, in the order in which `workload: auto` tries them. `folds` are those in which the instances of
    a group become one. "alike": where only their ranks differ; "all": their ComputeDomains become one too.
    """

    name: str
    component: str
    support: tuple[Support, ...]
    features: Mapping[str, Feature] = {}
    kinds: tuple[str, ...] = ("jobset", "job", "pods")
    folds: Mapping[str, Folding] = {}


def _nothing(*_: object) -> tuple[Any, ...]:
    return ()


class Cluster(NamedTuple):
    """The cluster-scoped objects that workflows refer to, and what they need of a scheduler, whatever runs there."""

    objects: Callable[[ClusterTopology, Target], tuple[Manifest | File, ...]] = _nothing
    needs: Callable[[ClusterTopology], Iterable[Need]] = _nothing


class Backend(NamedTuple):
    """One scheduler. All of it is data and pure functions.

    lower     the scheduler's documents and marks. Total: never fails, never warns, never drops.
    needs     how much a plan needs of the declaration's own `features`
    prove     where the scheduler is known not to find a placement that exists
    notices   what must be switched on in the cluster for the manifests to mean what they say
    """

    declared: Declaration
    lower: Lower
    needs: Callable[[Plan], Iterable[Need]] = _nothing
    prove: Callable[[Plan, Target], Iterable[Diagnostic]] = _nothing
    notices: Callable[[Plan, Shape, Target], Iterable[Diagnostic]] = _nothing
    cluster: Cluster = Cluster()
