"""Volcano Job (batch.volcano.sh/v1alpha1): a task for each podSet instance. It has its own PodGroup and Service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.kube.kinds import ENDING, Piece, instances, meta, name_rows, pod_deadline, service_name
from bayplan.kube.objects import non_empty
from bayplan.kube.ranks import Numbers, running_number, running_on
from bayplan.model.backend import Support, approximate, never, not_yet_here
from bayplan.model.manifest import Manifest, Workload
from bayplan.model.plan import GangPlan, Pods

TITLE = "Volcano Job"
SERVICE = False  # the plugin `svc` creates the Service and names it in the pods
API_VERSION = "batch.volcano.sh/v1alpha1"
TASK_INDEX = "volcano.sh/task-index"
COPY_LABEL = ""
INDEX = f"metadata.annotations['{TASK_INDEX}']"
WHOLE = False
FIELDS: Mapping[str, str] = {}
INDEX_VARIABLE = "VC_TASK_INDEX"
PLUGINS = {"svc": ["--publish-not-ready-addresses=true", "--disable-network-policy=true"], "env": []}
"""The Service finds rank 0 before it is ready. Without the second flag, only pods of the same Job could reach the pods
(Volcano 1.15, job/plugins/svc/svc.go)."""

SUPPORT = (
    not_yet_here(
        "depends-on",
        "each gang is a Volcano Job of its own, and its tasks can wait only for tasks of the same Job",
        "use `workload: jobset`, or render the gangs apart with `--gang NAME`",
    ),
    never(
        "at-once",
        "each copy is a Volcano Job of its own, and its tasks can wait only for tasks of the same Job",
        "use `workload: jobset`, or remove `atOnce`",
    ),
    not_yet_here(
        "lead",
        "the end of a task can end the Job, but not before each task of the lead has ended",
        "use `workload: jobset`",
    ),
    Support("barrier"),
    never(
        "barrier-of-copies",
        "the pods of all groups are in one task, and have no label of their group",
        "use a JobSet if the scheduler supports it, or `barrier: gang`",
    ),
    Support("nonlead-failures"),
    Support("restarts"),
    Support("deadline"),
    Support("ttl"),
    Support("retries", component="volcano", since="1.15"),
    not_yet_here(
        "retries",
        "bayplan writes retries of single pods for Volcano 1.15 and later",
        "use `workload: jobset`, or retry inside the command",
    ),
    Support("gang-retries"),
    approximate(
        "counted-retries",
        "Volcano counts each start after these exit codes as a restart of the gang (`maxRestarts`)",
        "remove `maxRestarts`, or use `workload: jobset`",
        report="warning",
    ),
    Support("always-restart"),
    *ENDING,
    not_yet_here(
        "adopt",
        "only a JobSet owns the objects of its gang",
        "use `workload: jobset`, or leave `cleanup` out",
    ),
    *name_rows("a pod is called <job>-<task>-<number>, and its hostname is a DNS label of 63 characters at most"),
)


def pod_name(gang: GangPlan, pods: Pods, number: str) -> str:
    """`<job>-<task>-<number>` (Volcano 1.15, job/helpers `MakePodName`)."""
    return f"{gang.name}-{pods.name}-{number}"


def longest_name(workload: Workload, gang: GangPlan, pods: Pods) -> str:
    """The last pod's name."""
    return pod_name(gang, pods, str(pods.total - 1))


def numbers(gang: GangPlan, pods: Pods) -> Numbers:
    """The plugin `env` counts the pods of a task over all copies."""
    return running_on(INDEX_VARIABLE, pods)


def host(workload: Workload, gang: GangPlan, pods: Pods, copy: int | str, number: int) -> str:
    """The plugin `svc` gives each pod its name as hostname, and the Job's as subdomain."""
    return f"{pod_name(gang, pods, running_number(pods, copy, number))}.{gang.name}"


def write(workload: Workload, pieces: Mapping[tuple[str, str], Piece]) -> Iterator[Manifest]:
    """One Job for each gang."""
    for gang in workload.gangs:
        tasks = [(pods, pieces[gang.name, pods.name]) for own, pods in instances(workload) if own is gang]
        owner = tasks[0][1].owner
        ttl = gang.gang.ttl_seconds_after_finished
        yield {
            "apiVersion": API_VERSION,
            "kind": "Job",
            "metadata": meta(gang.name, owner),
            "spec": {
                **owner.spec,
                **({} if ttl is None else {"ttlSecondsAfterFinished": ttl}),
                "plugins": {name: words for name, words in PLUGINS.items() if name != "svc" or service_name(gang)},
                **_policies(gang, tasks),
                "tasks": [_task(gang, pods, piece) for pods, piece in tasks],
            },
        }


UNLIMITED = 2**31 - 1
"""The largest `maxRetry`."""


def _policies(gang: GangPlan, tasks: list[tuple[Pods, Piece]]) -> dict[str, Any]:
    """The gang ends or restarts with its first pod that fails.

    Volcano compares the count before a restart, so n restarts need a maxRetry of n + 1. It would change 0 to 3 (Volcano
    1.15, job/state/restarting.go and webhooks/admission/jobs/mutate). Restarts of single pods count too.
    """
    restarts = gang.gang.max_restarts
    action = "RestartJob" if restarts else "TerminateJob"
    retried = any(pods.spec.retry_on_exit_codes or pods.spec.restart_gang_on_exit_codes for pods, _ in tasks)
    most = restarts + 1 if restarts else UNLIMITED if retried else None
    retries = {} if most is None else {"maxRetry": most}
    return {**retries, "policies": [{"events": ["PodFailed", "PodEvicted"], "action": action}]}


def _task(gang: GangPlan, pods: Pods, piece: Piece) -> dict[str, Any]:
    spec = piece.template["spec"]
    policies = [  # they come before those of the Job
        *({"exitCode": code, "action": "RestartPod"} for code in sorted(pods.spec.retry_on_exit_codes)),
        *({"exitCode": code, "action": "RestartJob"} for code in sorted(pods.spec.restart_gang_on_exit_codes)),
    ]
    return {
        "name": pods.name,
        "replicas": pods.total,
        **non_empty(policies=policies),
        **piece.job.spec,
        "template": {**piece.template, "spec": {**spec, **pod_deadline(gang, spec)}},
    }
