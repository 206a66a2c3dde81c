"""LeaderWorkerSet (leaderworkerset.x-k8s.io): each of its groups is a gang."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, Outcome
from bayplan.kube.counts import amount
from bayplan.kube.safe import mapping, text
from bayplan.kube.workloads.parts import Objects, one_by_one, roster, seat
from bayplan.model.augment import Path, Roster, Seat
from bayplan.model.manifest import Object

GANG = "leaderworkerset.sigs.k8s.io/group-index"
TEMPLATE: Path = ("spec", "leaderWorkerTemplate")


def leader_worker_set(one: Object, _: Objects) -> Outcome[Roster]:
    """The podSets `leader` and `worker`; without a leader's template the leader is a worker."""
    found = tuple(_seats(one))
    gangs = amount(one.data, (*TEMPLATE, "workerTemplate")).copies
    return roster("lws", one, found, _in_order(one), gangs=gangs or 0, gang_label=GANG)


def _seats(one: Object) -> Iterator[Seat | Diagnostic]:
    """In the order of the pods' numbers. Copies are gangs here."""
    names = {"leaderTemplate": "leader", "workerTemplate": "worker"}
    for key, called in names.items():
        if key == "workerTemplate" or mapping(one.data, *TEMPLATE, key):
            found = seat(one, called, (*TEMPLATE, key))
            yield found._replace(copies=1) if isinstance(found, Seat) else found


def _in_order(one: Object) -> Iterator[Diagnostic]:
    """W512."""
    if (
        text(one.data, "spec", "startupPolicy") == "LeaderReady"
        and amount(one.data, (*TEMPLATE, "workerTemplate")).replicas
    ):
        route = (*one.route, "spec", "startupPolicy")
        yield one_by_one(one, route, "workers start when their leader is ready", "use `startupPolicy: LeaderCreated`")
