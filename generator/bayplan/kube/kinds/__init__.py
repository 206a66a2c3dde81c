"""One file per workload kind: how it is named and written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bayplan.core.values import Modules, NamedTuple
from bayplan.kube.ranks import Numbers
from bayplan.model.backend import Support, never
from bayplan.model.manifest import Manifest, Many, Meta, Workload
from bayplan.model.plan import GangPlan, Plan, Pods, all_pods

SBATCH = "sbatch"
"""The kind that runs outside Kubernetes."""

GANG_LABEL = "bayplan.dev/gang"
GROUP_LABEL = "bayplan.dev/group"
POD_SET_LABEL = "bayplan.dev/pod-set"
WORKFLOW_LABEL = "bayplan.dev/workflow"
INDEX_ANNOTATION = "batch.kubernetes.io/job-completion-index"
INDEX_FIELD = f"metadata.annotations['{INDEX_ANNOTATION}']"
INDEX_VARIABLE = "JOB_COMPLETION_INDEX"

NAME_COLUMN, RANK_COLUMN, NUMBER_COLUMN = 0, 1, 2
"""Columns of the rows of bare pods: name, rank, number in its podSet."""

ENDS = never(
    "always-restart", "pods of a Job must be able to end", "set restartPolicy OnFailure, or use `workload: pods`"
)
"""Of the kinds that are made of Jobs."""


def name_rows(why: str) -> tuple[Support, ...]:
    """Pod names, and so hostnames, are DNS labels (RFC 1123)."""
    feature = "pod-name-length"
    return Support(feature, up_to=63), never(feature, why, "shorten the names of workflow, gang, group or podSet")


class Piece(NamedTuple):
    """One podSet instance ready to be written: its pod template, and what its owners carry besides."""

    template: Manifest
    owner: Meta = Meta()
    job: Meta = Meta()


def gang_labels(plan: Plan, gang: GangPlan) -> dict[str, str]:
    """What every object of a gang carries."""
    return {WORKFLOW_LABEL: plan.workflow.name, GANG_LABEL: gang.name}


def instances(workload: Workload) -> Iterator[tuple[GangPlan, Pods]]:
    """Every podSet instance of a workload with its gang, in rank order."""
    for gang in workload.gangs:
        for pods in all_pods(gang.root):
            yield gang, pods


def meta(name: str, *metas: Meta) -> dict[str, Any]:
    """Object metadata: the name, and all labels and annotations there are."""
    labels = {key: value for each in metas for key, value in each.labels.items()}
    annotations = {key: value for each in metas for key, value in each.annotations.items()}
    head = {"name": name} if name else {}
    return head | ({"labels": labels} if labels else {}) | ({"annotations": annotations} if annotations else {})


def job_spec(gang: GangPlan, replicas: int, template: Manifest) -> dict[str, Any]:
    """An Indexed Job that fails with its first pod: whether the gang starts again is not the Job's to say."""
    deadline = gang.gang.active_deadline_seconds
    whole = template["spec"].get("restartPolicy") != "OnFailure"  # there, each restart of a container would count
    return {
        "parallelism": replicas,
        "completions": replicas,
        "completionMode": "Indexed",
        **({"backoffLimit": 0} if whole else {}),
        **({} if deadline is None else {"activeDeadlineSeconds": deadline}),
        "template": template,
    }


def pod_deadline(gang: GangPlan, spec: Manifest) -> dict[str, int]:
    """Where pods alone have a deadline: the gang's, or the template's where it is sooner. In a Job both would hold."""
    deadlines = [each for each in (gang.gang.active_deadline_seconds, spec.get("activeDeadlineSeconds")) if each]
    return {"activeDeadlineSeconds": min(deadlines)} if deadlines else {}


def service_name(gang: GangPlan) -> str:
    """The headless Service of a gang whose pods look each other up, and of no other."""
    return gang.name if gang.gang.rendezvous != "none" or gang.gang.hosts else ""


def services(workload: Workload, pieces: Mapping[tuple[str, str], Piece]) -> Iterator[Manifest]:
    """The headless Services that give pods their DNS names, before they are ready too: rank 0 is looked up while all
    start."""
    for gang in filter(service_name, workload.gangs):
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


if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object  # a real one takes longer to make than a workflow to read


class Kind(Protocol):
    """What a module in this folder offers."""

    @property
    def TITLE(self) -> str:  # noqa: N802
        """What people call it."""

    @property
    def SUPPORT(self) -> tuple[Support, ...]:  # noqa: N802
        """What it can hold."""

    @property
    def SERVICE(self) -> bool:  # noqa: N802
        """Whether bayplan writes the gang's headless Service, and pods name it; else the kind brings its own."""

    @property
    def INDEX(self) -> str:  # noqa: N802
        """Where a pod finds its own number: a field of its own, or empty when every pod is written out."""

    def longest_name(self, workload: Workload, gang: GangPlan, pods: Pods, /) -> str:
        """The longest pod name that will be derived."""

    def numbers(self, pods: Pods, /) -> Numbers:
        """How a shell in a pod computes its number and that of its copy."""

    def host(self, workload: Workload, gang: GangPlan, pods: Pods, copy: int | str, number: int, /) -> str:
        """The DNS name of one pod, as its siblings reach it; a piece of shell where only a shell knows the copy."""

    def write(self, workload: Workload, pieces: Mapping[tuple[str, str], Piece], /) -> Iterator[Manifest | Many]:
        """The documents of the workload."""


KINDS: Mapping[str, Kind] = Modules(__name__, ("jobset", "job", "pods", "volcano-job", SBATCH))
