"""The data of a script -> native data -> Workflow: what is read and what `bayplan import` prints is one thing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan import schemas
from bayplan.core.diagnostics import AT, Diagnostic, Outcome, Route, has_errors, origin
from bayplan.model.formats import Context, Read
from bayplan.model.workflow import GANGS, Workflow
from bayplan.workflows import native
from bayplan.workflows.sbatch import gangs
from bayplan.workflows.sbatch.options import SUBJECT, Findings, Spot
from bayplan.workflows.sbatch.script import Script, script

MOST = 1000
"""Findings of one script that are listed."""


def read(data: Mapping[str, Any], context: Context) -> Outcome[Read[Workflow]]:
    """The workflow in the data of a script. W600 to W629."""
    findings = Findings()
    read_ = script(data, context.topology, findings)
    made = gangs.document(read_, findings) if read_ else None
    ours = read_ is not None and read_.remarks is not None
    found = tuple(each for each in findings.all()[:MOST] if not (ours and each.severity == "info"))
    if made is None or has_errors(found):
        return Outcome(None, found)
    native_data, origins = _document(read_, made) if read_ else ({}, {})
    found += _invalid(native_data, origins)
    if has_errors(found):
        return Outcome(None, found)
    value = native.read(native_data).value
    return Outcome(value and Read(value.value, {**value.origins, **origins}), found)


def _document(read_: Script, made: gangs.Made) -> tuple[dict[str, Any], dict[Route, Route]]:
    whole: Route = (SUBJECT, AT, 1, 1)
    origins: dict[Route, Route] = {("workflow", "spec"): whole, ("workflow", "metadata"): whole}
    for own, spot in made.places.items():
        origins[(*GANGS, *own)] = spot.route
    for key, name in (("queue", "partition"), ("name", "job-name")):
        if given := read_.sections[0].options.get(name):
            origins[("workflow", "spec" if key == "queue" else "metadata", key)] = given.spot.route
    queue = {"queue": read_.queue} if read_.queue else {}
    spec = {**queue, "gangs": list(made.gangs)}
    metadata = {"name": read_.name}
    return {"apiVersion": native.API_VERSION, "kind": native.KIND, "metadata": metadata, "spec": spec}, origins


def _invalid(data: Mapping[str, Any], origins: Mapping[Route, Route]) -> tuple[Diagnostic, ...]:
    """What the native format cannot hold, at its place in the script."""

    def placed(each: Diagnostic) -> Diagnostic:
        found = origin(each.route, origins)
        return each._replace(route=found[0] if found else Spot().route)

    return tuple(map(placed, schemas.validate("Workflow", data, SUBJECT)))
