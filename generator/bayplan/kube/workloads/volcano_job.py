"""Volcano's Job (batch.volcano.sh): a podSet for each task."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, Outcome
from bayplan.kube.safe import get, items, text
from bayplan.kube.workloads.parts import Found, Objects, fewer, one_by_one, roster, seat
from bayplan.model.augment import Roster, Seat
from bayplan.model.manifest import Object


def volcano_job(one: Object, _: Objects) -> Outcome[Roster]:
    """The podSets are called as the tasks are."""
    seats = tuple(_seats(one))
    said, queue = (*_in_order(one), *_fewer(one, seats)), text(one.data, "spec", "queue")
    return roster("volcano-job", one, seats, said, queue=queue)


def _seats(one: Object) -> Iterator[Seat | Diagnostic]:
    """A task without a name is `default` and its number (Volcano 1.15, webhooks/admission/jobs/mutate)."""
    for index, each in enumerate(items(one.data, "spec", "tasks")):
        called = f"default{index}" if get(each, "name") in (None, "") else text(each, "name")
        yield seat(one, called, ("spec", "tasks", index, "template"), job=("spec", "tasks", index))


def _fewer(one: Object, seats: Found) -> Iterator[Diagnostic]:
    """W506: of the Job, else of its tasks, whose numbers are added up."""
    if get(one.data, "spec", "minAvailable"):
        yield from fewer(one, ("spec", "minAvailable"), seats)
        return
    for each in seats:
        if isinstance(each, Seat):
            yield from fewer(one, (*each.path[:-1], "minAvailable"), (each,))


def _in_order(one: Object) -> Iterator[Diagnostic]:
    for index, each in enumerate(items(one.data, "spec", "tasks")):
        if get(each, "dependsOn"):
            route = (*one.route, "spec", "tasks", index, "dependsOn")
            what = f'task "{text(each, "name")}" waits for another'
            yield one_by_one(one, route, what, "make a Job of its own of what runs before, and leave `dependsOn` out")
