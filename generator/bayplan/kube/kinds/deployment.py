"""Deployment (apps/v1): the copies of a gang of one pod, which come and go one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan.kube.kinds import GANG_LABEL, NO_JOBS, Piece, apart, autoscaler, instances, meta, replicas, rollout
from bayplan.kube.ranks import Numbers
from bayplan.model.backend import Support, never
from bayplan.model.manifest import Manifest, Workload
from bayplan.model.plan import GangPlan, Pods

TITLE = "Deployment"
API_VERSION = "apps/v1"
SERVICE = False
COPY_LABEL = ""
INDEX = ""
WHOLE = False
FIELDS: Mapping[str, str] = {}
USE_LWS = "use `workload: lws`"
SUPPORT = (
    *NO_JOBS,
    Support("pods-a-copy", up_to=1),
    never(
        "pods-a-copy",
        "a Deployment adds and replaces its pods one by one, so no two of them can be a gang",
        f"{USE_LWS}, or for pods that need no others set `replicas` on the gang instead of the podSet",
    ),
    never("pod-names", "the pods of a Deployment have random names", f"{USE_LWS}, or reach them by a `service`"),
    *(Support(feature) for feature in ("barrier", "barrier-of-copies", "autoscale", "rollout", "adopt")),
    apart(TITLE),
    Support("pod-name-length"),  # Kubernetes cuts the names of the pods (1.37, apiserver/pkg/storage/names/generate.go)
)


def longest_name(workload: Workload, gang: GangPlan, pods: Pods) -> str:
    """`<deployment>-<10 letters>-<5 letters>`."""
    return f"{workload.name}-xxxxxxxxxx-xxxxx"


def numbers(gang: GangPlan, pods: Pods) -> Numbers:
    """Nothing to compute: no pod has a number."""
    return Numbers("0")


def host(workload: Workload, gang: GangPlan, pods: Pods, copy: int | str, number: int) -> str:
    """No pod has a DNS name of its own, so this is the workload's. `pod-names` refuses `hosts`."""
    return workload.name


def write(workload: Workload, pieces: Mapping[tuple[str, str], Piece]) -> Iterator[Manifest]:
    """The Deployment, and its autoscaler."""
    gang, pods = next(instances(workload))
    piece = pieces[gang.name, pods.name]
    yield {
        "apiVersion": API_VERSION,
        "kind": "Deployment",
        "metadata": meta(workload.name, piece.owner),
        "spec": {
            **piece.owner.spec,
            **replicas(workload),
            "strategy": {"type": "RollingUpdate", "rollingUpdate": rollout(gang)},
            "selector": {"matchLabels": {GANG_LABEL: gang.name}},
            "template": piece.template,
        },
    }
    yield from autoscaler(workload, piece.owner.labels, API_VERSION, "Deployment")
