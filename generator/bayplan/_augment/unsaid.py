"""What a workload must say itself, and what it says that no shell understands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan import fabrics
from bayplan._augment.case import Case
from bayplan._augment.dressed import asked_of
from bayplan.diagnostics import Diagnostic, info
from bayplan.kube.safe import get, items, mapping, text
from bayplan.kube.templates import PodTemplate
from bayplan.model.augment import Roster
from bayplan.model.plan import Pods, all_pods
from bayplan.pipeline import Planned
from bayplan.words import listing
from bayplan.workflows.torchx.broken import broken


def dashes(roster: Roster) -> Iterator[Diagnostic]:
    """W573 of the first pod template that TorchX wrote so: there is one for each replica."""
    for seat in roster.seats:
        data = get(roster.object.data, *seat.path)
        if found := tuple(broken(PodTemplate(roster.object, seat.path, data, None))):
            yield found[0]
            return


def unsaid(case: Case, planned: Planned) -> Iterator[Diagnostic]:
    """W545: variables of a workload are its own, and those that its fabric takes are told to whoever wrote it."""
    plan = planned.plan
    everyone = {pods.spec.name: (gang, pods) for gang in plan.gangs for pods in all_pods(gang.root)}
    told: dict[tuple[str, ...], list[tuple[str, Pods]]] = {}
    for seat in case.roster.seats:
        found = everyone.get(seat.name)
        asked = asked_of(plan, *found) if found else None
        if found and asked:
            spec = mapping(case.roster.object.data, *seat.path, "spec")
            if lacking := tuple(_lacking(asked, spec)):
                told.setdefault(lacking, []).append((seat.name, found[1]))
    for lacking, sets in told.items():
        names = listing([name for name, _ in sets], "and", 5)
        message = f"variables of a workload are its own, and on a fabric {names} should have {len(lacking)} more"
        yield info("W545", (*sets[0][1].route, "fabric"), message, hint=f"set {'; '.join(lacking)}")


def _lacking(asked: fabrics.Wanted, spec: Mapping[str, Any]) -> Iterator[str]:
    """Variables that no container sets. torchrun, which an image may run by
    itself, tells others its full name, and that need not resolve."""
    containers = items(spec, "containers")
    there = {text(entry, "name") for each in containers for entry in items(each, "env")}
    if "PET_LOCAL_ADDR" not in there:
        yield "PET_LOCAL_ADDR from the field status.podIP"
    for entry in fabrics.parts(asked).env:
        if entry["name"] not in there:
            yield f'{entry["name"]}: "{entry["value"]}"'
