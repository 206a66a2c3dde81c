"""LeaderWorkerSet (`leaderworkerset.x-k8s.io/v1`): a leader and workers for each copy of a gang.

Its controller makes the headless Service, a StatefulSet of the leaders, and a StatefulSet for the workers of each
leader. Read from LWS 0.7 to 0.9: pkg/controllers, pkg/webhooks and pkg/utils/pod. `ready-ranks`: `getReplicaStates` and
`rollingUpdatePartition` in pkg/controllers/leaderworkerset_controller.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan.kube.kinds import (
    NO_JOBS,
    READY_RANKS,
    Piece,
    apart,
    autoscaler,
    before,
    instances,
    meta,
    name_rows,
    replicas,
    rollout,
)
from bayplan.kube.ranks import Numbers, running_on
from bayplan.model.backend import Support, approximate, never, not_yet_here
from bayplan.model.manifest import Manifest, Workload
from bayplan.model.plan import GangPlan, Pods, all_pods
from bayplan.model.workflow import most_copies, varies

TITLE = "LeaderWorkerSet"
SERVICE = False
API_VERSION = "leaderworkerset.x-k8s.io/v1"
PREFIX = "leaderworkerset.sigs.k8s.io/"
COPY_LABEL = ""
INDEX = f"metadata.labels['{PREFIX}worker-index']"
INDEX_VARIABLE = "LWS_WORKER_INDEX"
WHOLE = True
COPY_VARIABLE = "GANG_INDEX"
FIELDS: Mapping[str, str] = {COPY_VARIABLE: f"metadata.labels['{PREFIX}group-index']"}
HASH = "-xxxxxxxxxx"
"""What a StatefulSet adds to its name in the label `controller-revision-hash` of its pods: a number of 32 bits
(Kubernetes 1.37, pkg/controller/history/controller_history.go)."""

SUPPORT = (
    *NO_JOBS,
    Support("autoscale"),
    Support("rollout"),
    apart(TITLE),
    Support("new-versions"),
    Support("ready-ranks", up_to=1),
    approximate(
        "ready-ranks",
        "a copy is ready when all of its pods are, and a rollout waits for that, so it stops if the `readinessProbe`"
        " fails on other ranks than 0",
        READY_RANKS,
        report="warning",
    ),
    not_yet_here("barrier", "all copies have the same pod template", "remove `barrier`"),
    not_yet_here("barrier-of-copies", "all copies have the same pod template", "remove `barrier`"),
    Support("pod-templates", up_to=2),
    never(
        "pod-templates",
        "a LeaderWorkerSet has one template for its leader and one for its workers",
        "put pods that differ only in their number into one podSet, or make each podSet a gang",
    ),
    Support("leader", up_to=1),
    never(
        "leader",
        "a copy has one leader, and all other pods have the template of the workers",
        "make the first podSet one pod, or give all pods one podSet",
    ),
    never(
        "separate-ranks",
        "the name of a leader has no number, so a pod cannot compute the name of the first pod of its group",
        "make each group a gang, or set `rendezvous: gang`",
    ),
    never(
        "missing-pods", "the controller makes all pods of a copy, and restarts them together", "remove `minReplicas`"
    ),
    not_yet_here("adopt", "only a JobSet owns the objects of its gang", "leave `cleanup` out"),
    *name_rows("a pod is called <name>-<copy>-<number>, and the label of its revision has at most 63 characters"),
)


def longest_name(workload: Workload, gang: GangPlan, pods: Pods) -> str:
    """`<lws>-<copy>-<number>`, or the revision of the StatefulSet `<lws>-<copy>`."""
    leader = f"{workload.name}-{most_copies(gang.gang, len(workload.gangs)) - 1}"
    return max(f"{leader}-{before(gang, pods) + pods.total - 1}", leader + HASH, key=len)


def numbers(gang: GangPlan, pods: Pods) -> Numbers:
    """The number that the controller gives pods counts all of a copy, from the leader on."""
    first = before(gang, pods)
    if not first:
        return running_on(INDEX_VARIABLE, pods)
    return running_on(f"({INDEX_VARIABLE}-{first})" if pods.copies > 1 else f"{INDEX_VARIABLE}-{first}", pods)


def host(workload: Workload, gang: GangPlan, pods: Pods, copy: int | str, number: int) -> str:
    """`<lws>-<copy>-<number>.<lws>`; the leader has no number (subdomainPolicy Shared, which is the default)."""
    several = gang.gang.replicas > 1 or varies(gang.gang)
    leader = f"{workload.name}-$({COPY_VARIABLE})" if several else f"{workload.name}-0"
    first = before(gang, pods) + number
    index = first + copy * pods.replicas if isinstance(copy, int) else f"$(({copy}*{pods.replicas}+{first}))"
    return f"{leader}-{index}.{workload.name}" if index else f"{leader}.{workload.name}"


def write(workload: Workload, pieces: Mapping[tuple[str, str], Piece]) -> Iterator[Manifest]:
    """One LeaderWorkerSet. Without a template of its own, the leader is made from that of the workers."""
    gang = workload.gangs[0]
    parts = [pieces[gang.name, pods.name] for _, pods in instances(workload)]
    roles = ("leaderTemplate", "workerTemplate")[-len(parts) :]
    yield {
        "apiVersion": API_VERSION,
        "kind": "LeaderWorkerSet",
        "metadata": meta(workload.name, *(each.owner for each in parts)),
        "spec": {
            **parts[0].owner.spec,
            **replicas(workload),
            "startupPolicy": "LeaderCreated",
            "rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration": rollout(gang)},
            "leaderWorkerTemplate": {
                "size": sum(pods.total for pods in all_pods(gang.root)),
                "restartPolicy": "RecreateGroupOnPodRestart",
                **{role: each.template for role, each in zip(roles, parts, strict=True)},
            },
        },
    }
    yield from autoscaler(workload, parts[0].owner.labels, API_VERSION, "LeaderWorkerSet")
