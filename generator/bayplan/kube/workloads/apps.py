"""StatefulSet and Deployment (apps/v1)."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, Outcome, error
from bayplan.kube.objects import title
from bayplan.kube.safe import number, text
from bayplan.kube.workloads.parts import Objects, one_by_one, roster, seat
from bayplan.model.augment import Roster
from bayplan.model.manifest import Object


def stateful_set(one: Object, _: Objects) -> Outcome[Roster]:
    """One podSet, called `worker`."""
    return roster("statefulset", one, [seat(one, "worker", ("spec", "template"))], _in_order(one))


def _in_order(one: Object) -> Iterator[Diagnostic]:
    """W512: without a word, each pod waits until the one before is ready."""
    if text(one.data, "spec", "podManagementPolicy") != "Parallel" and (number(one.data, "spec", "replicas") or 1) > 1:
        what = "each pod starts when the one before it is ready"
        route = (*one.route, "spec", "podManagementPolicy")
        yield one_by_one(one, route, what, "set `podManagementPolicy: Parallel`; the field cannot be changed later")


def deployment(one: Object, _: Objects) -> Outcome[Roster]:
    """W501."""
    message = (
        f"{title(one)} makes no gang: a rollout replaces its pods one by one, from one ReplicaSet to the next, "
        "and schedulers take each of its pods for a gang of its own"
    )
    hint = "use a LeaderWorkerSet for servers of several nodes, or a JobSet; else leave the placement out"
    return Outcome(None, (error("W501", (*one.route, "kind"), message, hint=hint),))
