"""Workloads that are given to several schedulers at once (M706)."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, Note, Route, warning
from bayplan.kube.safe import text
from bayplan.kube.templates import PodTemplate
from bayplan.linting.schedulers import DEFAULT, asked
from bayplan.linting.world import World, grouped, kind, title

LED = ("MPIJob", "RayCluster")
"""Kinds whose launcher or head is often left to another scheduler, on purpose."""


def check(world: World) -> Iterator[Diagnostic]:
    """M706: whoever starts gangs sees a part of the workload, and waits for the rest or starts without it."""
    owned = [each for each in world.templates if each.owned and kind(each.object) not in LED]
    for templates in grouped(lambda each: each.object.route, owned).values():
        first = templates[0]
        for other in templates[1:]:
            if asked(other) != asked(first):
                message = f'pods of {title(first.object)} are given to "{asked(other)}", others to "{asked(first)}"'
                note = Note("the others are here", _scheduler(first))
                hint = f"no scheduler sees the whole: set `schedulerName` everywhere ({DEFAULT} has what names none)"
                yield warning("M706", _scheduler(other), message, hint=hint, notes=(note,))
                break


def _scheduler(template: PodTemplate) -> Route:
    return (*template.spec_route, "schedulerName") if text(template.spec, "schedulerName") else template.spec_route
