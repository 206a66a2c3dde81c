"""The data of a script -> native data -> Workflow: what is read and what `bayplan import` prints is one thing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan.core.diagnostics import Outcome, Route, has_errors
from bayplan.model.formats import Context, Read
from bayplan.model.workflow import GANGS, Workflow
from bayplan.workflows import native
from bayplan.workflows.sbatch import gangs
from bayplan.workflows.sbatch.options import Findings, Spot
from bayplan.workflows.sbatch.script import Script, script

MOST = 1000
"""Findings of one script that are listed."""


def read(data: Mapping[str, Any], context: Context) -> Outcome[Read[Workflow]]:
    """The workflow in the data of a script. W600 to W629."""
    findings = Findings()
    whole = script(data, context.topology, findings)
    made = gangs.document(whole, findings) if whole else None
    ours = whole is not None and whole.remarks is not None
    found = tuple(each for each in findings.all()[:MOST] if not (ours and each.severity == "info"))
    if whole is None or made is None or has_errors(found):
        return Outcome(None, found)
    queue = {"queue": whole.queue} if whole.queue else {}
    document = native.document({"name": whole.name}, {**queue, "gangs": list(made.gangs)})
    return native.finish(document, _origins(whole, made), found, Spot().route)


def _origins(whole: Script, made: gangs.Made) -> dict[Route, Route]:
    origins: dict[Route, Route] = {("workflow", "spec"): Spot().route, ("workflow", "metadata"): Spot().route}
    for own, spot in made.places.items():
        origins[(*GANGS, *own)] = spot.route
    for key, name in (("queue", "partition"), ("name", "job-name")):
        if given := whole.sections[0].options.get(name):
            origins[("workflow", "spec" if key == "queue" else "metadata", key)] = given.spot.route
    return origins
