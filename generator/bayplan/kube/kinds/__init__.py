"""One file per workload kind: its names and its objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from bayplan import plugins
from bayplan.core.package_data import table
from bayplan.core.values import Modules
from bayplan.kube.pod import BARRIER_SCRIPT, container_name
from bayplan.kube.ranks import Numbers
from bayplan.model.backend import Support, approximate, never
from bayplan.model.manifest import Manifest, Many, Meta, Workload
from bayplan.model.plan import GangPlan, Plan, Pods, Unit, all_pods, minimum, walk
from bayplan.model.workflow import Rollout

JOB, JOBSET = "job", "jobset"
SBATCH = "sbatch"
"""The kind that runs outside Kubernetes."""

CONTROLLED = ("lws", "statefulset", "deployment", "mpijob", "trainjob", "podcliqueset")
"""Kinds whose controller makes the pods from one pod template for each role. bayplan places them like those that others
wrote (`backends/*/existing.py`)."""

MPIJOB = "mpijob"
"""The kind of mpi-operator, whose first pod has a template of its own."""

TRAINJOB = "trainjob"
"""The kind of Kubeflow Trainer."""

SINGLE = "deployment"
"""The kind whose pods are copies of a gang of one pod. Nothing groups them: they come and go one by one."""

STATEFULSET = "statefulset"
"""The kind whose pods are one gang: each copy is an object of its own."""

SERVING = (SINGLE, "lws", STATEFULSET, "podcliqueset")
"""Kinds of services, in the order of `workload: auto`. Copies are `replicas` of one object, but for StatefulSets."""

GROVE = "podcliqueset"
"""The kind of Grove, whose cliques and scaling groups are the podSets and groups of a gang."""

GANG_LABEL = "bayplan.dev/gang"
GROUP_LABEL = "bayplan.dev/group"
POD_SET_LABEL = "bayplan.dev/pod-set"
SERVICE_LABEL = "bayplan.dev/service"
WORKFLOW_LABEL = "bayplan.dev/workflow"
INDEX_ANNOTATION = "batch.kubernetes.io/job-completion-index"
INDEX_FIELD = f"metadata.annotations['{INDEX_ANNOTATION}']"
INDEX_VARIABLE = "JOB_COMPLETION_INDEX"

NAME_COLUMN, RANK_COLUMN, NUMBER_COLUMN = 0, 1, 2
"""Columns of the rows of bare pods: name, rank, number in its podSet."""

NO_ORDER = never(
    "starts-after",
    "nothing makes pods of a gang wait for others once all of them have nodes",
    "remove `startsAfter`, and wait in `initContainers`",
)

ENDING = (
    NO_ORDER,
    never(
        "service", "nothing replaces a copy that ends", "remove `workload`, so that bayplan chooses a kind for services"
    ),
    *(
        never(feature, "no controller changes how many copies there are, or replaces them", "remove `workload`")
        for feature in ("autoscale", "rollout")
    ),
    Support("clients"),
)
"""The rows of kinds whose pods end."""

NO_JOBS = (
    NO_ORDER,
    *(Support(feature) for feature in ("service", "always-restart", "clients")),
    *(
        never(feature, "its controller starts pods again when they end", "set `lifecycle: service`, or use a JobSet")
        for feature in ("end", "at-once", "lead", "nonlead-failures", "restarts", "deadline", "ttl")
    ),
    *(
        never(feature, "its controller starts pods again after any exit code", "remove the exit codes")
        for feature in ("retries", "gang-retries", "counted-retries")
    ),
)
"""The rows of kinds of services."""


def apart(title: str) -> Support:
    """The row of copies that are objects of their own, each with one replica."""
    return approximate(
        "rollout-apart",
        f"each copy is a {title} of its own, so a new version replaces all copies at once",
        "apply the objects of one copy after another, or remove `rollout`",
        report="warning",
    )


READY_RANKS = "make rank 0 a podSet of its own, or ignore this if every rank passes the probe"
"""What to do where one template has a probe for all ranks."""

ENDS = never(
    "always-restart", "pods of a Job must be able to end", "set restartPolicy OnFailure, or use `workload: pods`"
)
"""The row of kinds that consist of Jobs."""


def name_rows(why: str) -> tuple[Support, ...]:
    """Pod names, and so hostnames, are DNS labels (RFC 1123)."""
    feature = "pod-name-length"
    return Support(feature, up_to=63), never(feature, why, "shorten the names of workflow, gang, group or podSet")


class Piece(NamedTuple):
    """One podSet instance with its pod template, and the labels and annotations of its owners."""

    template: Manifest
    owner: Meta = Meta()
    job: Meta = Meta()


def gang_labels(plan: Plan, gang: GangPlan) -> dict[str, str]:
    """The labels of every object of a gang."""
    return {WORKFLOW_LABEL: plan.workflow.name, GANG_LABEL: gang.name}


def instances(workload: Workload) -> Iterator[tuple[GangPlan, Pods]]:
    """Every podSet instance of a workload with its gang, in rank order."""
    for gang in workload.gangs:
        for pods in all_pods(gang.root):
            yield gang, pods


def before(gang: GangPlan, pods: Pods) -> int:
    """How many pods of the gang come before a podSet instance."""
    every = list(all_pods(gang.root))
    return sum(each.total for each in every[: [each.name for each in every].index(pods.name)])


def start(kind: Kind, gang: GangPlan, pods: Pods) -> int:
    """The number that the first pod of a podSet instance has in `INDEX`."""
    return before(gang, pods) if kind.WHOLE else 0


def meta(name: str, *metas: Meta) -> dict[str, Any]:
    """Object metadata: the name, and all labels and annotations there are."""
    labels = {key: value for each in metas for key, value in each.labels.items()}
    annotations = {key: value for each in metas for key, value in each.annotations.items()}
    head = {"name": name} if name else {}
    return head | ({"labels": labels} if labels else {}) | ({"annotations": annotations} if annotations else {})


def job_spec(gang: GangPlan, pods: Pods, replicas: int, template: Manifest) -> dict[str, Any]:
    """An Indexed Job that fails with its first pod: the Job does not decide whether the gang restarts.

    It makes pods again that end with a code of `retryOnExitCodes`, and does not count them. After a code of
    `restartGangOnExitCodes` it fails with the reason PodFailurePolicy, for which JobSets have a rule (batch/v1,
    Kubernetes 1.31).
    """
    deadline = gang.gang.active_deadline_seconds
    whole = template["spec"].get("restartPolicy") != "OnFailure"  # with it, each container restart would count
    return {
        "parallelism": replicas,
        "completions": replicas,
        "completionMode": "Indexed",
        **({"backoffLimit": 0} if whole else {}),
        **_failure_policy(pods),
        **({} if deadline is None else {"activeDeadlineSeconds": deadline}),
        "template": template,
    }


def copies_spec(gang: GangPlan, pods: Pods, template: Manifest) -> dict[str, Any]:
    """An Indexed Job whose pods are the copies of a gang. A copy that fails ends no other.

    Each copy restarts by itself (`backoffLimitPerIndex`: beta and on by default since Kubernetes 1.29, stable since
    1.33). The Job fails in the end if a copy did, because there is no `maxFailedIndexes` that would end it earlier. The
    deadline of a gang is that of each pod.
    """
    spec = template["spec"]
    return {
        "parallelism": gang.gang.at_once or gang.copies,
        "completions": gang.copies,
        "completionMode": "Indexed",
        "backoffLimitPerIndex": gang.gang.max_restarts,
        **_failure_policy(pods),
        "template": {**template, "spec": {**spec, **pod_deadline(gang, spec)}},
    }


def _failure_policy(pods: Pods) -> dict[str, Any]:
    spec = pods.spec
    rules = [
        {"action": action, "onExitCodes": {"containerName": container_name(spec), "operator": "In", "values": codes}}
        for action, codes in (
            ("Ignore", sorted(spec.retry_on_exit_codes)),
            ("FailJob", sorted(spec.restart_gang_on_exit_codes)),
        )
        if codes
    ]
    return {"podFailurePolicy": {"rules": rules}} if rules else {}


def pod_deadline(gang: GangPlan, spec: Manifest) -> dict[str, int]:
    """The deadline of bare pods: the gang's, or the template's if it is shorter. In a Job both would apply."""
    deadlines = [each for each in (gang.gang.active_deadline_seconds, spec.get("activeDeadlineSeconds")) if each]
    return {"activeDeadlineSeconds": min(deadlines)} if deadlines else {}


def service_name(gang: GangPlan) -> str:
    """The headless Service of a gang whose pods look each other up; empty for other gangs."""
    if gang.copies > 1:
        return ""
    return gang.name if gang.gang.rendezvous != "none" or gang.gang.hosts else ""


def services(workload: Workload, pieces: Mapping[tuple[str, str], Piece], always: bool = False) -> Iterator[Manifest]:
    """The headless Services that give pods their DNS names, also before they are ready: all pods look up rank 0 when
    they start. `always`: also where bayplan needs no names."""
    for gang in (each for each in workload.gangs if always or service_name(each)):
        labels = pieces[gang.name, next(all_pods(gang.root)).name].owner.labels
        yield {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": gang.name, "labels": dict(labels)},
            "spec": {
                "clusterIP": "None",
                "publishNotReadyAddresses": True,
                "selector": {GANG_LABEL: gang.name},
            },
        }


def answering(gang: GangPlan) -> list[Pods]:
    """The podSet instances that answer the gang's clients. In a podSet with rank 0 of a rendezvous, those without do
    not."""
    service = gang.gang.service
    everyone = list(all_pods(gang.root)) if service else []
    name = (service.pod_set if service else "") or (everyone[0].spec.name if everyone else "")
    named = [pods for pods in everyone if pods.spec.name == name]
    return list(filter(has_first, named)) or named


def has_first(pods: Pods) -> bool:
    """Whether a podSet instance has rank 0 of its rendezvous."""
    return pods.ranks is not None and pods.ranks.master.pods == pods.name


def _answers_whole(pods: Pods) -> bool:
    """Whether each pod of a podSet instance answers clients: it is the only one, rank 0, or has no rank."""
    return pods.ranks is None or (pods.replicas if pods.ranks.each else pods.total) == 1


def of_first(kind: Kind, gang: GangPlan) -> Mapping[str, str] | None:
    """The labels that only rank 0 has among the pods that answer the gang's clients. Empty: all of them answer, or
    bayplan writes each pod. None: no label tells rank 0 from the others.

    Each controller writes the number of a pod to a label. Kubernetes 1.37: job/indexed_job_utils.go and
    statefulset/stateful_set_utils.go. JobSet 0.8 to 0.12: jobset_controller.go. LWS 0.7 to 0.9: pod_webhook.go.
    Volcano 1.15: job_controller_util.go. Grove: components/pod/pod.go.
    """
    instances = answering(gang)
    label = kind.INDEX.partition("'")[2].rstrip("']")
    if gang.copies > 1 or all(map(_answers_whole, instances)):
        return {}
    if not all(map(has_first, instances)):
        return None
    if any(pods.ranks and pods.ranks.each and pods.copies > 1 and not kind.COPY_LABEL for pods in instances):
        return None  # the number counts over all copies, and each has a rank 0
    found = {(start(kind, gang, pods), pods.copies > 1 and not (pods.ranks and pods.ranks.each)) for pods in instances}
    if len(found) > 1:
        return None
    ((number, first_copy),) = found
    copy = {kind.COPY_LABEL: "0"} if first_copy and kind.COPY_LABEL else {}
    return {label: str(number), **copy} if label else {}


def replicas(workload: Workload) -> dict[str, int]:
    """The copies of a service, unless an autoscaler counts them: each `kubectl apply` would set them back."""
    gang = workload.gangs[0].gang
    return {} if gang.autoscale else {"replicas": gang.replicas}


def rollout(gang: GangPlan) -> dict[str, int]:
    """How many copies change at the same time, in numbers: of a percentage, Kubernetes would round up the surge."""
    surge, unavailable = gang.gang.rollout or Rollout()
    return {"maxUnavailable": unavailable, "maxSurge": surge}


def autoscaler(workload: Workload, labels: Mapping[str, str], api_version: str, kind: str) -> Iterator[Manifest]:
    """The HorizontalPodAutoscaler (autoscaling/v2) of a workload whose `scale` subresource counts copies.

    Without metrics, Kubernetes aims at 80 % of the requested CPU (`HorizontalPodAutoscalerSpec.Metrics`, 1.37).
    """
    wanted = workload.gangs[0].gang.autoscale
    if wanted is None:
        return
    cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": wanted.cpu_percent}}
    metrics = [*([{"type": "Resource", "resource": cpu}] if wanted.cpu_percent else []), *wanted.metrics]
    yield {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": workload.name, "labels": dict(labels)},
        "spec": {
            "scaleTargetRef": {"apiVersion": api_version, "kind": kind, "name": workload.name},
            "minReplicas": wanted.min_replicas,
            "maxReplicas": wanted.max_replicas,
            **({"metrics": metrics} if metrics else {}),
        },
    }


class Barrier(NamedTuple):
    """Pods that wait for each other: the start of their Services' names, their labels, and how many start at least.

    `copies`: how many group instances are folded into these pods, and wait separately. `label`: the one of their pods
    that has the number of the instance.
    """

    name: str
    labels: Mapping[str, str]
    least: int
    copies: int = 1
    label: str = ""

    def service(self, copy: int | str) -> str:
        """The name of the Service of an instance. Its number may be a variable of the pod."""
        return f"{self.name}-ready" if self.copies == 1 else f"{self.name}-{copy}-ready"


def barriers(gang: GangPlan, kind: str, least: int) -> dict[str, Barrier]:
    """The barriers of a gang by `Pods.name`, without pods that would wait only for themselves.

    `least`: how many pods of the gang start at least, before folding.
    """
    spread = gang.gang.barrier
    if spread == "none" or kind == SBATCH:
        return {}
    if spread == "gang":
        whole = Barrier(gang.name, {GANG_LABEL: gang.name}, least)
        return {pods.name: whole for pods in all_pods(gang.root) if least > 1}
    each = ((unit, _group_barrier(gang, unit, kind)) for unit in walk(gang.root) if unit.pods)
    return {pods.name: barrier for unit, barrier in each if barrier.least > 1 for pods in unit.pods}


def _group_barrier(gang: GangPlan, unit: Unit, kind: str) -> Barrier:
    name = f"{gang.name}-{unit.name}" if unit.name else gang.name
    labels = {GANG_LABEL: gang.name, **({GROUP_LABEL: unit.name} if unit.name else {})}
    least = sum(pods.minimum for pods in unit.pods)
    return Barrier(name, labels, least, unit.pods[0].copies, KINDS[kind].COPY_LABEL)


def workload_barriers(plan: Plan, workload: Workload) -> Iterator[tuple[GangPlan, dict[str, Barrier]]]:
    """The gangs of a workload with their barriers."""
    barred = any(gang.gang.barrier == "gang" for gang in workload.gangs)
    least = {gang.name: minimum(gang.root) for gang in plan.gangs if gang.gang.barrier == "gang"} if barred else {}
    return ((gang, barriers(gang, workload.kind, least.get(gang.name, 0))) for gang in workload.gangs)


def barrier_script_name(gang: GangPlan) -> str:
    """The ConfigMap with the script that waits."""
    return f"{gang.name}-ready"


def barrier_objects(plan: Plan, workload: Workload) -> Iterator[Manifest]:
    """The script of each gang with barriers, and the headless Services that list the pods whose containers run."""
    for gang, found in workload_barriers(plan, workload):
        if found:
            yield {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": barrier_script_name(gang), "labels": gang_labels(plan, gang)},
                "data": {BARRIER_SCRIPT.rpartition("/")[2]: table("kube", "barrier.sh")},
            }
        for each in {barrier.name: barrier for barrier in found.values()}.values():
            for copy in range(each.copies):
                number = {each.label: str(copy)} if each.copies > 1 else {}
                yield {
                    "apiVersion": "v1",
                    "kind": "Service",
                    "metadata": {"name": each.service(copy), "labels": gang_labels(plan, gang)},
                    "spec": {"clusterIP": "None", "selector": {**each.labels, **number}},
                }


class Kind(Protocol):
    """What a module in this folder offers."""

    @property
    def TITLE(self) -> str:  # noqa: N802
        """Its name in messages."""

    @property
    def SUPPORT(self) -> tuple[Support, ...]:  # noqa: N802
        """Its rows of support."""

    @property
    def SERVICE(self) -> bool:  # noqa: N802
        """Whether bayplan writes the gang's headless Service and pods name it. Otherwise the kind has its own."""

    @property
    def COPY_LABEL(self) -> str:  # noqa: N802
        """The label with the number of a folded group instance on its pods; empty if there is none."""

    @property
    def INDEX(self) -> str:  # noqa: N802
        """The field with a pod's own number; empty if bayplan writes every pod."""

    @property
    def WHOLE(self) -> bool:  # noqa: N802
        """Whether this number counts all pods of a gang, in the order of its podSets, not only those of the podSet."""

    @property
    def FIELDS(self) -> Mapping[str, str]:  # noqa: N802
        """Variables that `host` refers to, and the fields of the pod that have their values."""

    def longest_name(self, workload: Workload, gang: GangPlan, pods: Pods, /) -> str:
        """The longest derived pod name."""

    def numbers(self, gang: GangPlan, pods: Pods, /) -> Numbers:
        """How a shell in a pod computes its number and that of its copy."""

    def host(self, workload: Workload, gang: GangPlan, pods: Pods, copy: int | str, number: int, /) -> str:
        """`<pod>.<service>`: the DNS name of one pod in its namespace; a piece of shell if only a shell knows the
        copy. For Slurm: the name of its node."""

    def write(self, workload: Workload, pieces: Mapping[tuple[str, str], Piece], /) -> Iterator[Manifest | Many]:
        """The documents of the workload."""


_OF_CORE = (JOBSET, JOB, "pods", "volcano-job", "lws", "statefulset", SINGLE, MPIJOB, TRAINJOB, GROVE)

KINDS: Mapping[str, Kind] = Modules(
    {name: f"{__name__}.{name.replace('-', '_')}" for name in _OF_CORE} | plugins.modules("kinds")
)
