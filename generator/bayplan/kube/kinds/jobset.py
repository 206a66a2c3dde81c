"""JobSet (`jobset.x-k8s.io/v1alpha2`): a replicatedJob for each podSet instance, with a Job for each copy of it.

It has its own Service.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.kube.kinds import (
    ENDING,
    ENDS,
    INDEX_FIELD,
    INDEX_VARIABLE,
    Piece,
    copies_spec,
    instances,
    job_spec,
    meta,
    name_rows,
)
from bayplan.kube.ranks import Numbers
from bayplan.model.backend import Support, not_yet_upstream
from bayplan.model.manifest import Manifest, Workload
from bayplan.model.plan import GangPlan, Pods, all_pods, awaited, predecessors

TITLE = "JobSet"
SERVICE = False
API_VERSION = "jobset.x-k8s.io/v1alpha2"
JOB_INDEX = "jobset.sigs.k8s.io/job-index"
COPY_LABEL = JOB_INDEX
INDEX = INDEX_FIELD
WHOLE = False
FIELDS: Mapping[str, str] = {}
COPY_VARIABLE = "JOBSET_JOB_INDEX"
APART = "render the gangs separately with `--gang NAME`, and start one after the other"
SUPPORT = (
    Support("depends-on", up_to=1, component="jobset", until="0.9"),
    Support("depends-on", up_to=5, component="jobset", since="0.9"),
    not_yet_upstream(
        "depends-on",
        "a replicatedJob has at most 5 predecessors (1 below JobSet 0.9), and each podSet instance is one",
        APART,
    ),
    Support("at-once", up_to=1, component="jobset", until="0.9"),
    Support("at-once", up_to=5, component="jobset", since="0.9"),
    not_yet_upstream(
        "at-once",
        "a replicatedJob has at most 5 predecessors (1 below JobSet 0.9), and each podSet instance of a copy is one",
        "remove `atOnce`",
    ),
    Support("lead"),
    Support("barrier"),
    Support("barrier-of-copies"),
    Support("nonlead-failures"),
    Support("restarts"),
    Support("counted-retries"),
    Support("deadline"),
    Support("ttl"),
    Support("retries"),
    Support("gang-retries"),
    ENDS,
    *ENDING,
    Support("adopt"),
    *name_rows(
        "a pod is called <jobset>-<replicatedJob>-<job>-<index>-<5 letters>, and this name has at most 63 characters"
    ),
)


def replicated_job(workload: Workload, gang: GangPlan, pods: Pods) -> str:
    """The replicatedJob of a podSet instance. In a shared JobSet its name includes the gang's."""
    if len(workload.gangs) == 1:
        return pods.name
    copy = f"-{gang.copy}" if gang.gang.replicas > 1 and gang.copies == 1 else ""
    return f"{gang.gang.name}{copy}-{pods.name}"


def longest_name(workload: Workload, gang: GangPlan, pods: Pods) -> str:
    """`<jobset>-<replicatedJob>-<job>-<index>-<5 letters>` (JobSet 0.12 webhook)."""
    last = f"{pods.copies - 1}-{pods.replicas - 1}"
    return f"{workload.name}-{replicated_job(workload, gang, pods)}-{last}-xxxxx"


def numbers(gang: GangPlan, pods: Pods) -> Numbers:
    """Copies are Jobs of one replicatedJob; JobSet sets their number on their pods (JobSet 0.8 to 0.12)."""
    if pods.copies == 1:
        return Numbers(INDEX_VARIABLE)
    field = {"fieldRef": {"fieldPath": f"metadata.annotations['{JOB_INDEX}']"}}
    return Numbers(INDEX_VARIABLE, COPY_VARIABLE, env=({"name": COPY_VARIABLE, "valueFrom": field},))


def host(workload: Workload, gang: GangPlan, pods: Pods, copy: int | str, number: int) -> str:
    """`<jobset>-<replicatedJob>-<job>-<index>.<subdomain>`; the subdomain is the JobSet's name."""
    job = copy if isinstance(copy, int) else f"$(({copy}))"
    return f"{workload.name}-{replicated_job(workload, gang, pods)}-{job}-{number}.{workload.name}"


def write(workload: Workload, pieces: Mapping[tuple[str, str], Piece]) -> Iterator[Manifest]:
    """One JobSet."""
    gangs = ordered(workload.gangs)
    spec = gangs[-1].gang
    ttl, failures = spec.ttl_seconds_after_finished, _failure_policy(workload)
    parts = [(gang, pods) for gang in gangs for pods in all_pods(gang.root)]
    named = {gang.name: gang for gang in gangs}
    yield {
        "apiVersion": API_VERSION,
        "kind": "JobSet",
        "metadata": meta(workload.name, *(pieces[gang.name, pods.name].owner for gang, pods in parts)),
        "spec": {
            **pieces[parts[0][0].name, parts[0][1].name].owner.spec,
            **({} if ttl is None else {"ttlSecondsAfterFinished": ttl}),
            "network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True},
            **_success_policy(workload),
            **({"failurePolicy": failures} if failures else {}),
            "replicatedJobs": [_replicated_job(workload, gang, pods, pieces, named) for gang, pods in parts],
        },
    }


def ordered(gangs: tuple[GangPlan, ...]) -> list[GangPlan]:
    """Predecessors come first: the first replicatedJob cannot wait for another (JobSet webhook)."""
    done: dict[str, GangPlan] = {}
    names = {gang.name for gang in gangs}
    while len(done) < len(gangs):
        ready = [g for g in gangs if g.name not in done and all(n in done or n not in names for n in g.after)]
        done[ready[0].name] = ready[0]
    return list(done.values())


def _rule(name: str, action: str, reason: str) -> dict[str, Any]:
    return {"name": name, "action": action, "onJobFailureReasons": [reason]}


DEADLINE_RULE = _rule("deadline", "FailJobSet", "DeadlineExceeded")
EXIT_CODE_RULE = _rule("exitCode", "RestartJobSetAndIgnoreMaxRestarts", "PodFailurePolicy")


def _failure_policy(workload: Workload) -> dict[str, Any]:
    """Restarts. A gang that exceeds its deadline ends; by default it would restart (JobSet 0.12, failure_policy.go).

    Copies of one Job restart by themselves. If one fails in the end, a restart would run all of them again.
    """
    again = any(pods.spec.restart_gang_on_exit_codes for _, pods in instances(workload))
    restarts = max((gang.gang.max_restarts for gang in workload.gangs if gang.copies == 1), default=0)
    if not (restarts or again):
        return {}
    limited = any(gang.gang.active_deadline_seconds is not None for gang in workload.gangs if gang.copies == 1)
    copies = [replicated_job(workload, gang, pods) for gang, pods in instances(workload) if gang.copies > 1]
    rules = [
        *([{"name": "copies", "action": "FailJobSet", "targetReplicatedJobs": copies}] if copies else []),
        *([DEADLINE_RULE] if limited else []),
        *([EXIT_CODE_RULE] if again else []),
    ]
    return {"maxRestarts": restarts, **({"rules": rules} if rules else {})}


def _success_policy(workload: Workload) -> dict[str, Any]:
    """The lead's success is its gang's success; other gangs must succeed as a whole."""
    if not any(gang.gang.lead for gang in workload.gangs):
        return {}
    counted = [
        replicated_job(workload, gang, pods)
        for gang, pods in instances(workload)
        if gang.gang.lead in ("", pods.spec.name)
    ]
    return {"successPolicy": {"operator": "All", "targetReplicatedJobs": counted}}


def _replicated_job(
    workload: Workload,
    gang: GangPlan,
    pods: Pods,
    pieces: Mapping[tuple[str, str], Piece],
    gangs: Mapping[str, GangPlan],
) -> dict[str, Any]:
    before = [  # a gang is complete when its lead is
        {"name": replicated_job(workload, other, each), "status": "Complete"}
        for other in predecessors(gang, gangs)
        for each in awaited(other)
    ]
    piece = pieces[gang.name, pods.name]
    metadata = meta("", piece.job)
    return {
        "name": replicated_job(workload, gang, pods),
        "replicas": pods.copies,
        **({"dependsOn": before} if before else {}),
        "template": {
            **({"metadata": metadata} if metadata else {}),
            "spec": (
                copies_spec(gang, pods, piece.template)
                if gang.copies > 1
                else job_spec(gang, pods, pods.replicas, piece.template)
            ),
        },
    }
