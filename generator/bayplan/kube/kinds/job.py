"""Job (batch/v1): one Indexed Job for each podSet instance, and one headless Service for the gang."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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
    services,
)
from bayplan.kube.ranks import Numbers, running_number, running_on
from bayplan.model.backend import Support, approximate, never
from bayplan.model.manifest import Manifest, Workload
from bayplan.model.plan import GangPlan, Pods

TITLE = "Job"
SERVICE = True
COPY_LABEL = ""
INDEX = INDEX_FIELD
WHOLE = False
FIELDS: Mapping[str, str] = {}
SEPARATE = "nothing starts or ends several Jobs together, as a JobSet does"
SUPPORT = (
    never("depends-on", SEPARATE, "use `workload: jobset`, or render the gangs separately with `--gang NAME`"),
    never("at-once", SEPARATE, "use `workload: jobset`, or remove `atOnce`"),
    never("lead", SEPARATE, "use `workload: jobset`"),
    Support("barrier"),
    never(
        "barrier-of-copies",
        "the pods of all groups are in one Job, and have no label of their group",
        "use a JobSet if the scheduler supports it, or `barrier: gang`",
    ),
    approximate(
        "nonlead-failures",
        "nothing ends the other Jobs when a pod fails",
        "use `workload: jobset`",
        report="warning",
    ),
    never("restarts", "a Job restarts single pods, not the gang", "use `workload: jobset`, or remove `maxRestarts`"),
    Support("counted-retries"),
    Support("deadline"),
    Support("ttl"),
    Support("retries"),
    approximate(
        "gang-retries",
        "nothing restarts several Jobs together, so the Job fails with these exit codes",
        "use `workload: jobset`",
        report="warning",
    ),
    ENDS,
    *ENDING,
    never(
        "adopt",
        "a Job is only a part of its gang, so it cannot own the gang's objects",
        "remove `cleanup: adopt`, or use a JobSet",
    ),
    *name_rows("a pod is called <job>-<index>-<5 letters>, and its hostname has at most 63 characters"),
)


def job_name(gang: GangPlan, pods: Pods) -> str:
    """The Job of a podSet instance."""
    return f"{gang.name}-{pods.name}"


def longest_name(workload: Workload, gang: GangPlan, pods: Pods) -> str:
    """`<job>-<index>-<5 letters>`."""
    return f"{job_name(gang, pods)}-{pods.total - 1}-xxxxx"


def numbers(gang: GangPlan, pods: Pods) -> Numbers:
    """The completion index counts over all copies."""
    return running_on(INDEX_VARIABLE, pods)


def host(workload: Workload, gang: GangPlan, pods: Pods, copy: int | str, number: int) -> str:
    """The hostname of an Indexed Job's pod is `<job>-<index>` (Kubernetes Job controller)."""
    return f"{job_name(gang, pods)}-{running_number(pods, copy, number)}.{gang.name}"


def write(workload: Workload, pieces: Mapping[tuple[str, str], Piece]) -> Iterator[Manifest]:
    """The Services of the gangs, then their Jobs."""
    yield from services(workload, pieces)
    for gang, pods in instances(workload):
        piece = pieces[gang.name, pods.name]
        ttl = gang.gang.ttl_seconds_after_finished
        yield {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": meta(job_name(gang, pods), piece.owner, piece.job),
            "spec": {
                **piece.owner.spec,
                **({} if ttl is None else {"ttlSecondsAfterFinished": ttl}),
                **(
                    copies_spec(gang, pods, piece.template)
                    if gang.copies > 1
                    else job_spec(gang, pods, pods.total, piece.template)
                ),
            },
        }
