"""Gangs that wait for others, and the podSet that speaks for its gang."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan.checks.places import pod_sets
from bayplan.diagnostics import Diagnostic, Route, error
from bayplan.model.workflow import GANGS, Workflow
from bayplan.words import suggest


def check(workflow: Workflow) -> Iterator[Diagnostic]:
    """W305 to W307."""
    names = {gang.name: gang.depends_on for gang in workflow.gangs}
    for index, gang in enumerate(workflow.gangs):
        route: Route = (*GANGS, index, "dependsOn")
        for position, name in enumerate(gang.depends_on):
            if name not in names:
                others = [other for other in names if other != gang.name]
                message = f'gang "{gang.name}" waits for "{name}", and there is no such gang'
                yield error("W305", (*route, position), message, hint=suggest(name, others, "gangs") or "remove it")
        circle = _circle(gang.name, names)
        if circle and gang.name == min(circle):
            way = " -> ".join(f'"{name}"' for name in (*circle, gang.name))
            yield error("W306", route, f"these gangs wait for each other: {way}", hint="remove one of them")
    yield from _leads(workflow)


def _circle(start: str, names: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The shortest way from a gang back to itself, without its end; empty when there is none."""
    ways: list[tuple[str, ...]] = [(start,)]
    seen: set[str] = set()
    for way in ways:
        for name in names.get(way[-1], ()):
            if name == start:
                return way
            if name not in seen:
                seen.add(name)
                ways.append((*way, name))
    return ()


def _leads(workflow: Workflow) -> Iterator[Diagnostic]:
    below: dict[Route, list[str]] = {}
    for place in pod_sets(workflow):
        below.setdefault(place.owner.route[:4], []).append(place.pods.name)
    for index, gang in enumerate(workflow.gangs):
        names = below.get((*GANGS, index), [])
        if gang.lead and gang.lead not in names:
            message = f'gang "{gang.name}" is led by "{gang.lead}", and has no such podSet'
            yield error(
                "W307", (*GANGS, index, "lead"), message, hint=suggest(gang.lead, names, "podSets") or "remove it"
            )
