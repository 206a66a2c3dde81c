"""MPIJob (`kubeflow.org/v2beta1`): the first pod is the launcher, and the others are its workers.

mpi-operator makes the Service and the ssh key, and cleans up. The launcher runs ranks too (`runLauncherAsWorker`), so
that there are as many pods as without the operator. `kube/mpi.sh` runs in all of them: sshd by itself would not give
ranks the environment of their pod, and the launcher would start before its workers. Read from mpi-operator v0.6.0 to
v0.8.2, pkg/controller/mpi_job_controller.go and pkg/apis/kubeflow/validation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.kube.kinds import ENDING, Piece, instances, meta, name_rows
from bayplan.kube.objects import non_empty
from bayplan.kube.pod import MPI_KEYS, mpi_slots
from bayplan.kube.ranks import Numbers
from bayplan.model.backend import Support, approximate, never
from bayplan.model.manifest import Manifest, Workload
from bayplan.model.plan import GangPlan, PodRef, Pods, all_pods

TITLE = "MPIJob"
SERVICE = False
API_VERSION = "kubeflow.org/v2beta1"
COPY_LABEL = ""
INDEX = "metadata.name"
WHOLE = False
FIELDS: Mapping[str, str] = {}
LAUNCHER, WORKER = "launcher", "worker"
NUMBER_VARIABLE = "MPI_POD"
"""The name of a worker's pod, which ends with its number. Labels have it too, but from 1 on since version 0.7."""

SEPARATE = "mpi-operator starts and ends each MPIJob by itself"
USE_JOBSET = "use `workload: jobset`"
SUPPORT = (
    never("depends-on", SEPARATE, f"{USE_JOBSET}, or render the gangs separately with `--gang NAME`"),
    never("at-once", SEPARATE, f"{USE_JOBSET}, or remove `atOnce`"),
    never("lead", "the launcher leads its MPIJob", "remove `lead`, which names the only podSet"),
    Support("barrier"),
    never("barrier-of-copies", "an MPIJob has no groups", USE_JOBSET),
    approximate(
        "nonlead-failures",
        "mpi-operator ignores the end of a worker, so the MPIJob ends when mpirun misses the worker",
        USE_JOBSET,
        report="info",
    ),
    approximate(
        "restarts",
        "mpi-operator starts the launcher again, and the workers' pods stay",
        "let the command repeat in pods that an earlier start has used, or use `workload: jobset`",
        report="info",
    ),
    Support("counted-retries"),
    Support("deadline"),
    approximate(
        "ttl",
        "mpi-operator deletes the Job of the launcher after this time, and the MPIJob stays",
        f"delete the MPIJob yourself, or {USE_JOBSET}",
        report="info",
    ),
    approximate(
        "retries",
        "mpi-operator has no rules for exit codes, so each failure of the launcher counts",
        USE_JOBSET,
        report="warning",
    ),
    approximate(
        "gang-retries",
        "mpi-operator has no rules for exit codes, so each failure of the launcher counts",
        USE_JOBSET,
        report="warning",
    ),
    *ENDING,
    Support("pod-templates", up_to=2),
    Support("leader", up_to=1),
    never(
        "one-launcher",
        "an MPIJob has one launcher, whose workers all have the same pod template",
        "give the gang one podSet with `launcher: mpi` and no groups, or use `workload: jobset`",
    ),
    never("missing-pods", "mpirun needs all pods of its hostfile", "remove `minReplicas`"),
    never("always-restart", "an MPIJob must be able to end", "set restartPolicy OnFailure"),
    never("adopt", "mpi-operator owns the pods of an MPIJob", "remove `cleanup: adopt`, or use a JobSet"),
    *name_rows("a pod is called <job>-worker-<number>, and its hostname has at most 63 characters"),
)


def complete(gang: GangPlan) -> bool:
    """Whether the gang has one podSet with a launcher, or is split already."""
    parts = gang.root.pods
    alike = not gang.root.groups and len({pods.route for pods in parts}) == 1
    return alike and parts[0].spec.launcher == "mpi" and parts[0].ranks is not None


def split(gang: GangPlan) -> GangPlan:
    """The gang with its first pod as `launcher` and the others as `worker`, which share files and claims.

    A gang that does not have one podSet with a launcher stays as it is.
    """
    (pods, *_) = all_pods(gang.root)
    if pods.ranks is None or not complete(gang):
        return gang
    ranks = pods.ranks._replace(master=PodRef(gang.name, LAUNCHER, 0))
    left = pods.replicas - 1
    parts = (
        pods._replace(name=LAUNCHER, replicas=1, minimum=1, ranks=ranks),
        pods._replace(name=WORKER, replicas=left, minimum=left, ranks=ranks._replace(first=1)),
    )
    return gang._replace(root=gang.root._replace(pods=parts if left else parts[:1]))


def longest_name(workload: Workload, gang: GangPlan, pods: Pods) -> str:
    """The last worker, or the launcher's Job with the letters of its pod."""
    return f"{gang.name}-{WORKER}-{pods.replicas - 1}" if pods.name == WORKER else f"{gang.name}-{LAUNCHER}-xxxxx"


def numbers(gang: GangPlan, pods: Pods) -> Numbers:
    """The number at the end of the pod's name, also with `hostNetwork`."""
    name = {"name": NUMBER_VARIABLE, "valueFrom": {"fieldRef": {"fieldPath": INDEX}}}
    return Numbers(f"${{{NUMBER_VARIABLE}##*-}}", env=(name,))


def host(workload: Workload, gang: GangPlan, pods: Pods, copy: int | str, number: int) -> str:
    """mpi-operator sets hostname and subdomain of each pod; the subdomain is the MPIJob's name."""
    return f"{gang.name}-{LAUNCHER if pods.name == LAUNCHER else f'{WORKER}-{number}'}.{gang.name}"


def write(workload: Workload, pieces: Mapping[tuple[str, str], Piece]) -> Iterator[Manifest]:
    """One MPIJob for each gang. mpi-operator restarts the launcher `backoffLimit` times, 6 by default."""
    for gang in workload.gangs:
        parts = [(pods, pieces[gang.name, pods.name]) for own, pods in instances(workload) if own is gang]
        first, piece = parts[0]
        limits = {
            "activeDeadlineSeconds": gang.gang.active_deadline_seconds,
            "ttlSecondsAfterFinished": gang.gang.ttl_seconds_after_finished,
        }
        yield {
            "apiVersion": API_VERSION,
            "kind": "MPIJob",
            "metadata": meta(gang.name, piece.owner, piece.job),
            "spec": {
                **piece.owner.spec,
                "slotsPerWorker": mpi_slots(first.spec),
                "runLauncherAsWorker": True,
                "sshAuthMountPath": MPI_KEYS,
                "runPolicy": {
                    "cleanPodPolicy": "Running",
                    "backoffLimit": gang.gang.max_restarts,
                    **{key: value for key, value in limits.items() if value is not None},
                },
                "mpiReplicaSpecs": {pods.name.capitalize(): _replicas(pods, each) for pods, each in parts},
            },
        }


def _replicas(pods: Pods, piece: Piece) -> dict[str, Any]:
    """mpi-operator replaces the restart policy of a pod template by that of its replicas."""
    spec = piece.template["spec"]
    kept = {key: value for key, value in spec.items() if key != "restartPolicy"}
    return {
        "replicas": pods.replicas,
        **non_empty(restartPolicy=spec.get("restartPolicy")),
        "template": {**piece.template, "spec": kept},
    }
