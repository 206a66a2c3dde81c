"""StatefulSet (apps/v1): a gang of one podSet, whose ordinals are ranks, and its headless Service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan.kube.kinds import GANG_LABEL, NO_JOBS, Piece, instances, meta, name_rows, services
from bayplan.kube.ranks import Numbers, running_number, running_on
from bayplan.model.backend import Support, approximate, never
from bayplan.model.manifest import Manifest, Workload
from bayplan.model.plan import GangPlan, Pods, one_version

TITLE = "StatefulSet"
SERVICE = False  # the controller itself sets hostname and subdomain (Kubernetes 1.37, stateful_set_utils.go)
COPY_LABEL = ""
INDEX = "metadata.labels['apps.kubernetes.io/pod-index']"
INDEX_VARIABLE = "POD_INDEX"
WHOLE = False
FIELDS: Mapping[str, str] = {}
HASH = "-xxxxxxxxxx"
USE_LWS = "use `workload: lws`"
SUPPORT = (
    *NO_JOBS,
    Support("pod-templates", up_to=1),
    never("pod-templates", "a StatefulSet has one pod template", f"{USE_LWS}, which has one for the leader too"),
    never("missing-pods", "a StatefulSet is one gang of all its pods", "remove `minReplicas`"),
    Support("barrier"),
    Support("separate-ranks"),
    never(
        "barrier-of-copies",
        "the pods of all groups are in one StatefulSet, and have no label of their group",
        "use `barrier: gang`",
    ),
    never(
        "autoscale",
        "a StatefulSet is one gang, and an autoscaler would add pods to it instead of copies",
        f"{USE_LWS}, or `workload: deployment` for copies of one pod",
    ),
    never(
        "rollout",
        "each copy is a StatefulSet of its own, and nothing changes them one after another",
        f"{USE_LWS}, or remove `rollout`",
    ),
    approximate(
        "new-versions",
        "a StatefulSet replaces its pods one by one, and ranks of two versions cannot work together, so bayplan writes"
        " `updateStrategy: OnDelete`",
        f"delete the pods of a copy together after each change, or {USE_LWS}, which replaces a copy as a whole",
        report="info",
    ),
    never(
        "adopt",
        "a StatefulSet owns only its pods, and bayplan does not make it the owner of the other objects",
        "remove `cleanup: adopt`",
    ),
    *name_rows(
        "a pod is called <statefulset>-<index>, and its label controller-revision-hash has the name of the StatefulSet"
        " and 11 more characters; both have at most 63"
    ),
)


def longest_name(workload: Workload, gang: GangPlan, pods: Pods) -> str:
    """The name of a pod, or of the revision in its label (Kubernetes 1.37, `history.ControllerRevisionName`)."""
    return max(workload.name + HASH, f"{workload.name}-{pods.total - 1}", key=len)


def numbers(gang: GangPlan, pods: Pods) -> Numbers:
    """The ordinal counts over all copies of a group. Pods have it as a label since Kubernetes 1.28."""
    field = {"name": INDEX_VARIABLE, "valueFrom": {"fieldRef": {"fieldPath": INDEX}}}
    return running_on(INDEX_VARIABLE, pods)._replace(env=(field,))


def host(workload: Workload, gang: GangPlan, pods: Pods, copy: int | str, number: int) -> str:
    """`<statefulset>-<ordinal>.<service>`."""
    return f"{workload.name}-{running_number(pods, copy, number)}.{gang.name}"


def write(workload: Workload, pieces: Mapping[tuple[str, str], Piece]) -> Iterator[Manifest]:
    """The headless Service, without which the pods have no names in DNS (`serviceName` in apps/v1), then the
    StatefulSet, which starts all pods at once."""
    yield from services(workload, pieces, always=True)
    gang, pods = next(instances(workload))
    piece = pieces[gang.name, pods.name]
    yield {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": meta(workload.name, piece.owner),
        "spec": {
            **piece.owner.spec,
            "replicas": pods.total,
            "serviceName": gang.name,
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "OnDelete" if one_version(gang) else "RollingUpdate"},
            "selector": {"matchLabels": {GANG_LABEL: gang.name}},
            "template": piece.template,
        },
    }
