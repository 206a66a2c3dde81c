"""The contract of a backend: the value `BACKEND` that each package in `backends/` declares.

A backend omits what its scheduler does not need. bayplan loads two of its modules only on demand: `lint`, whose `RULES`
check existing manifests, and `existing`, whose `EXISTING` places existing workloads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple

from bayplan.core.diagnostics import Diagnostic, Route, Severity
from bayplan.model.manifest import File, Lowered, Manifest, Shape, Workload
from bayplan.model.plan import Plan
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology

# What a plan can need from a scheduler, and how a backend declares its support.

Fidelity = Literal["exact", "approximate", "absent"]
Word = Literal["", "not yet in bayplan", "not yet upstream", "no"]


class Need(NamedTuple):
    """The plan needs this much of a feature. Losing a `preferred` need is a warning, losing another one an error."""

    feature: str
    amount: int
    route: Route
    preferred: bool = False
    subject: str = ""  # what needs it, for the message: 'gang "train"'


class Support(NamedTuple):
    """One row of a backend or of a workload kind. The first row that covers a need's amount and version decides.

    `up_to` bounds the amount (None: any). `since` <= version of `component` < `until`; an empty bound is open.
    `reason` is a sentence whose subject is the scheduler: "Kueue ignores workloads without a queue". Messages print
    it after the subject of the need. Without a reason, messages state only that the scheduler lacks the feature.
    """

    feature: str
    fidelity: Fidelity = "exact"
    up_to: int | None = None
    component: str = ""
    since: str = ""
    until: str = ""
    reason: str = ""  # approximate: what is lost; absent: why
    word: Word = ""  # absent: who could add it, if anybody
    hint: str = ""  # what to do
    report: Severity = "error"  # approximate: how severe the loss of a requirement is
    beside: tuple[str, str, str] = ("", "", "")  # another component, since, until: as above

    def holds(self, target: Target) -> bool:
        """Whether the target's versions are those of the row."""
        bounds = ((self.component, self.since, self.until), self.beside)
        return all(not component or target.between(component, since, until) for component, since, until in bounds)


def exact(*lines: str) -> tuple[Support, ...]:
    """Rows of features, separated by spaces, that the scheduler supports for each amount and version."""
    return tuple(Support(feature) for line in lines for feature in line.split())


def approximate(
    feature: str,
    reason: str,
    hint: str = "",
    report: Severity = "error",
    component: str = "",
    since: str = "",
    until: str = "",
    up_to: int | None = None,
) -> Support:
    """A row of a feature that loses something: what, and what to do."""
    return Support(feature, "approximate", up_to, component, since, until, reason, "", hint, report)


def _absent(
    word: Word, feature: str, reason: str = "", hint: str = "", component: str = "", since: str = "", until: str = ""
) -> Support:
    return Support(feature, "absent", None, component, since, until, reason, word, hint)


never = partial(_absent, "no")
"""A row of a feature that contradicts how the scheduler works."""

not_yet_upstream = partial(_absent, "not yet upstream")
"""A row of a feature that the scheduler could support, but does not yet."""

not_yet_here = partial(_absent, "not yet in bayplan")
"""A row of a feature that the scheduler supports, but that bayplan does not write yet."""


class Feature(NamedTuple):
    """What a feature is, as a noun phrase, and the unit of its amount if rows limit the amount.

    `code` is the code of its loss. Features share a code if a user would `--accept` their losses together. A `firm`
    loss cannot be accepted, because the cluster would refuse the manifests.
    """

    meaning: str
    unit: str = ""
    code: str = ""
    firm: bool = False


LIMITED, UNLIMITED = "limited-copies", "unlimited-copies"
"""Features of schedulers for which one Indexed Job, or one job array of Slurm, makes all copies of a gang. Without an
exact row, each copy has objects of its own. Only approximate rows are reported."""

FEATURES: Mapping[str, Feature] = {
    "gang": Feature("gangs that start as a whole", "pods", "F615"),
    "group-depth": Feature("nested groups with a level each", "nested levels", "F638"),
    "uneven-groups": Feature("groups of different shape or size in one gang", code="F639"),
    "mixed-pod-sets": Feature("several podSets under one placement", "podSets", "F625"),
    "required-level": Feature("a required level", code="F631"),
    "preferred-level": Feature("a preferred level", code="F632"),
    "group-preferred": Feature("a preferred level of groups under another placement", code="F632"),
    "required-and-preferred": Feature("a required and a preferred level on one gang or group", code="F632"),
    "rank-order": Feature("neighbouring ranks in each group", "instances", "F629"),
    "optional-pods": Feature("optional pods (`minReplicas` of a podSet)", code="F680"),
    "optional-pods-placed": Feature("room for optional pods in the domain of the others", code="F636"),
    "optional-groups": Feature("optional groups (`minReplicas` of a group)", code="F604"),
    "separate": Feature("one group instance per domain (`separate`)", code="F602"),
    "mixed-pools": Feature("one placement over pools with different levels", code="F603"),
    "repeated-values": Feature("level values that repeat under several parents", code="F628"),
    "compute-domain": Feature("ComputeDomains for NVLink between nodes", code="F681"),
    "several-compute-domains": Feature("several ComputeDomains in one gang", code="F626"),
    "compute-domain-each": Feature("a ComputeDomain for each group (`computeDomain: group`)", code="F626"),
    "gpu-claim": Feature("GPUs claimed through DRA", code="F605"),
    "network-cards": Feature("network cards as extended resources", code="F750"),
    "network-claim": Feature("network cards claimed through DRA", code="F605"),
    "pod-network": Feature("secondary networks of pods", code="F752"),
    "fixed-address": Feature("a fixed address of rank 0 on a secondary network", code="F753", firm=True),
    "numa": Feature("NUMA alignment (`numa`)", code="F630"),
    "queue": Feature("queues", code="F683"),
    "no-queue": Feature("workloads without a queue", code="F601", firm=True),
    "priority": Feature("priority classes (`priorityClassName`)", code="F683"),
    "preemptible": Feature("preemptibility (`preemptible`)", code="F683"),
    "depends-on": Feature("gangs that wait for others (`dependsOn`)", "predecessors", "F606", True),
    "starts-after": Feature("podSets that start after others (`startsAfter`)", "podSets", "F787"),
    "at-once": Feature("copies that wait for others (`atOnce`)", "podSet instances a copy", "F606", True),
    "lead": Feature("a podSet that ends the gang (`lead`)", code="F607"),
    "nonlead-failures": Feature("any failure as the end of the gang (`ignoreNonleadFailures: false`)", code="F607"),
    "retries": Feature("pods that start again after an exit code (`retryOnExitCodes`)", code="F695"),
    "gang-retries": Feature("gangs that restart after an exit code (`restartGangOnExitCodes`)", code="F695"),
    "counted-retries": Feature("starts after exit codes that `maxRestarts` does not count", code="F695"),
    "barrier": Feature("pods that wait for each other (`barrier`)", code="F688"),
    "barrier-of-copies": Feature("a barrier in each of several groups (`barrier: group`)", code="F688"),
    "restarts": Feature("restarts of the whole gang (`maxRestarts`)", code="F608"),
    "deadline": Feature("a deadline (`activeDeadlineSeconds`)", code="F609"),
    "ttl": Feature("removal after the end (`ttlSecondsAfterFinished`)", code="F609"),
    "always-restart": Feature("pods that always restart (`restartPolicy: Always`)", code="F769", firm=True),
    "clients": Feature("Services for clients (`service`)", code="F773"),
    "autoscale": Feature("copies that an autoscaler adds and removes (`autoscale`)", code="F774"),
    "rollout": Feature("copies that change one after another (`rollout`)", code="F775"),
    "rollout-apart": Feature("a `rollout` of copies that are objects of their own", code="F775"),
    "new-versions": Feature("new versions that replace ranks by themselves", code="F775"),
    "ready-ranks": Feature("a `readinessProbe` of rank 0 and other ranks", code="F785"),
    "pods-a-copy": Feature("several pods in each copy", "pods", "F769", True),
    "pod-names": Feature("pods with names (`hosts`)", code="F769", firm=True),
    "label-key-length": Feature("long keys of level labels", "characters", "F613", True),
    "node-name-length": Feature("long node names", "characters", "F612"),
    "level-count": Feature("many levels in one pool", "levels with the host level", "F614", True),
    "pod-name-length": Feature("long pod names", "characters", "F613", True),
    "workload-job": Feature("Jobs", "podSets", "F616"),
    "workload-jobset": Feature("JobSets", "podSets", "F616"),
    "workload-pods": Feature("bare pods", code="F616"),
    "workload-volcano-job": Feature("Volcano Jobs", code="F616"),
    "workload-sbatch": Feature("sbatch scripts", code="F616"),
    "service": Feature("gangs that never end (`lifecycle: service`)", code="F769", firm=True),
    "end": Feature("gangs that end (`lifecycle: job`)", code="F769", firm=True),
    "pod-templates": Feature("several pod templates in each copy", "pod templates", "F769", True),
    "leader": Feature("a first podSet of several pods beside another one", "pods", "F769", True),
    "separate-ranks": Feature("ranks in each of several groups (`rendezvous: group`)", code="F769", firm=True),
    "missing-pods": Feature("copies that start without some pods (`minReplicas`)", code="F769", firm=True),
    "one-launcher": Feature("gangs other than one podSet with a launcher", code="F781", firm=True),
    "adopt": Feature("cleanup by adoption (`cleanup: adopt`)", code="F609"),
    LIMITED: Feature("one object for all copies of a gang, with `atOnce`", "copies", "F768"),
    UNLIMITED: Feature("one object for all copies of a gang", "copies", "F768"),
}
"""Every feature that a plan may need from any scheduler: one row of `bayplan schedulers` each. The `FEATURES` of a
backend have those that concern only this scheduler, such as the length of a name that it derives."""

CHAINED = "chained-copies"
"""The feature of backends that cannot admit copies one after another in one workload (`atOnce`)."""

Folding = Literal["alike", "all"]
Lower = Callable[[Plan, Shape, Target], Lowered]


def _nothing(*_: object) -> tuple[Any, ...]:
    return ()


class Declaration(NamedTuple):
    """What a scheduler is, and what it supports.

    `component` is its key in `versions:`. `support` has rows for all `FEATURES`, and for `features`, which concern only
    this scheduler. `kinds` are workload kinds, in the order in which `workload: auto` tries them. `folds` are the kinds
    in which the instances of a group become one: "alike" if only their ranks differ, "all" if their ComputeDomains
    become one too. `kind_needs` are those of a workload of one kind; `needs` of the backend hold for every kind.
    """

    name: str
    component: str
    support: tuple[Support, ...]
    features: Mapping[str, Feature] = {}
    kinds: tuple[str, ...] = ("jobset", "job", "pods")
    folds: Mapping[str, Folding] = {}
    kind_needs: Callable[[Plan, Workload], Iterable[Need]] = _nothing


class Cluster(NamedTuple):
    """The cluster-scoped objects that workflows refer to, and what these need from a scheduler."""

    objects: Callable[[ClusterTopology, Target], tuple[Manifest | File, ...]] = _nothing
    needs: Callable[[ClusterTopology], Iterable[Need]] = _nothing


class Backend(NamedTuple):
    """One scheduler: data and pure functions.

    `lower` makes the scheduler's documents and marks; it never fails, never warns and never drops anything. `needs` are
    those of the declaration's own `features`. `prove` reports placements that exist but that the scheduler does not
    find. `notices` report settings of the cluster that the manifests depend on.
    """

    declared: Declaration
    lower: Lower
    needs: Callable[[Plan], Iterable[Need]] = _nothing
    prove: Callable[[Plan, Target], Iterable[Diagnostic]] = _nothing
    notices: Callable[[Plan, Shape, Target], Iterable[Diagnostic]] = _nothing
    cluster: Cluster = Cluster()
