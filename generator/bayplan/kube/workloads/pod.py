"""A Pod alone: a gang of one."""

from __future__ import annotations

from bayplan.diagnostics import Outcome
from bayplan.kube.workloads.parts import Objects, roster, seat
from bayplan.model.augment import Roster
from bayplan.model.manifest import Object


def pod(one: Object, _: Objects) -> Outcome[Roster]:
    """One podSet, called `worker`."""
    return roster("pod", one, [seat(one, "worker", ())])
