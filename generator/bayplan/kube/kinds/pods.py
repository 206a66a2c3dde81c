"""Bare Pods: one document per pod, and one headless Service for the gang. Nothing restarts them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.core.diagnostics import Route
from bayplan.kube.kinds import (
    ENDING,
    NAME_COLUMN,
    SERVICE_LABEL,
    Piece,
    has_first,
    instances,
    meta,
    name_rows,
    pod_deadline,
    services,
)
from bayplan.kube.ranks import Numbers
from bayplan.model.backend import Support, approximate, never
from bayplan.model.manifest import Manifest, Many, Meta, Slot, Workload
from bayplan.model.plan import GangPlan, Pods

TITLE = "set of bare pods"
SERVICE = True
COPY_LABEL = ""
INDEX = ""
WHOLE = False
FIELDS: Mapping[str, str] = {}
NO_CONTROLLER = "no controller starts, restarts, ends or deletes bare pods together"
SUPPORT = (
    never("depends-on", NO_CONTROLLER, "render the gangs separately with `--gang NAME`, and start one after the other"),
    never("at-once", NO_CONTROLLER, "use a JobSet if the scheduler supports it, or remove `atOnce`"),
    approximate(
        "lead",
        "no controller ends the other bare pods when the lead ends, so they keep their nodes until you delete them",
        "use a JobSet if the scheduler supports it, or delete the pods when the lead has ended",
        report="warning",
    ),
    Support("barrier"),
    Support("barrier-of-copies"),
    approximate(
        "nonlead-failures",
        "no controller ends the other bare pods when a pod fails, so the gang goes on without it",
        "use a JobSet if the scheduler supports it",
        report="warning",
    ),
    never("restarts", NO_CONTROLLER, "remove `maxRestarts`, or use a JobSet if the scheduler supports it"),
    Support("counted-retries"),
    approximate(
        "deadline",
        "the deadline of a bare pod begins when it starts on a node, so nothing limits how long the gang waits",
        "use a Job or JobSet if the scheduler supports it, or delete pods that wait too long",
        report="info",
    ),
    never(
        "ttl",
        NO_CONTROLLER,
        "remove `ttlSecondsAfterFinished`, or use a Job or JobSet if the scheduler supports it",
    ),
    approximate(
        "retries",
        "no controller makes a bare pod again, so the pod fails with these exit codes",
        "use a JobSet if the scheduler supports it, or retry inside the command",
        report="warning",
    ),
    approximate(
        "gang-retries",
        "no controller restarts bare pods, so the pod fails with these exit codes",
        "use a JobSet if the scheduler supports it",
        report="warning",
    ),
    Support("always-restart"),
    *ENDING,
    never(
        "adopt",
        "a pod is only a part of its gang, so it cannot own the gang's objects",
        "remove `cleanup: adopt`, or use a JobSet",
    ),
    *name_rows("the pod's name is also its hostname, which has at most 63 characters"),
)


def pod_name(gang: GangPlan, pods: Pods, number: int) -> str:
    """The name and hostname of one pod."""
    return f"{gang.name}-{pods.name}-{number}"


def longest_name(workload: Workload, gang: GangPlan, pods: Pods) -> str:
    """The last pod's name."""
    return pod_name(gang, pods, pods.total - 1)


def numbers(gang: GangPlan, pods: Pods) -> Numbers:
    """Nothing to compute: bayplan writes every pod."""
    return Numbers("0")


def host(workload: Workload, gang: GangPlan, pods: Pods, copy: int | str, number: int) -> str:
    """`<pod>.<service>`."""
    return f"{pod_name(gang, pods, int(copy) * pods.replicas + number)}.{gang.name}"


def write(workload: Workload, pieces: Mapping[tuple[str, str], Piece]) -> Iterator[Manifest | Many]:
    """The Services of the gangs, then their pods, as one skeleton for each podSet instance."""
    yield from services(workload, pieces)
    before: dict[tuple[str, Route], int] = {}
    for gang, pods in instances(workload):
        number = before.get((gang.name, pods.route), 0)
        rows, skeleton = _rows(gang, pods, number), _skeleton(gang, pieces[gang.name, pods.name])
        first = 1 if SERVICE_LABEL in skeleton["metadata"].get("labels", {}) and has_first(pods) else len(rows)
        yield Many(skeleton, rows[:first])
        if rows[first:]:  # of pods with ranks, only rank 0 answers clients
            yield Many(_unanswering(skeleton), rows[first:])
        before[gang.name, pods.route] = number + pods.replicas


def _skeleton(gang: GangPlan, piece: Piece) -> dict[str, Any]:
    own = piece.template["metadata"]
    carried = Meta(own.get("labels", {}), own.get("annotations", {}))
    spec = piece.template["spec"]
    named = {"hostname": Slot(NAME_COLUMN, "name")} if "subdomain" in spec else {}
    deadline = pod_deadline(gang, spec)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": Slot(NAME_COLUMN, "name"), **meta("", piece.owner, piece.job, carried)},
        "spec": {**named, **deadline, **spec, **deadline},
    }


def _unanswering(skeleton: dict[str, Any]) -> dict[str, Any]:
    metadata = skeleton["metadata"]
    labels = {key: value for key, value in metadata["labels"].items() if key != SERVICE_LABEL}
    return {**skeleton, "metadata": {**metadata, "labels": labels}}


def _rows(gang: GangPlan, pods: Pods, before: int) -> tuple[tuple[str | int, ...], ...]:
    """Name, rank, and the number among all pods of the podSet in the gang."""
    first = pods.ranks.first if pods.ranks else 0
    return tuple((pod_name(gang, pods, n), first + n, before + n) for n in range(pods.replicas))
