"""Workloads that are there -> the same with their placement: selected, planned and proven as workflows are; adorned.

select        annotations and policy name the workloads, each read as a Workflow of one gang
plan          the pipeline's own, with the shape that the workload has
place         the backend's marks for pod templates that are shared, and its objects
adorn         marks on the workload; what it says already is kept, and what contradicts is an error
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from bayplan import pipeline, reading
from bayplan._augment.case import case_of
from bayplan._augment.cluster import Cluster, cluster_of
from bayplan._augment.devices import refused
from bayplan._augment.dressed import dress
from bayplan._augment.news import news
from bayplan._augment.planned import Known, planned
from bayplan._augment.unsaid import dashes, unsaid
from bayplan.adorn import Adorned, adorned
from bayplan.diagnostics import Diagnostic, Note, Outcome, Route, error, has_errors, origin
from bayplan.kube.objects import identity
from bayplan.model.augment import Augmented, AugmentRequest, Change
from bayplan.model.policy import Policy
from bayplan.pipeline import Origins, Planned
from bayplan.selection import select_target
from bayplan.words import lined
from bayplan.workflows import manifests
from bayplan.workflows.manifests import Selected


def augment(request: AugmentRequest) -> tuple[Outcome[Augmented], Origins]:
    """What changes in the objects of a request, and what is new beside them; nothing where anything is wrong."""
    topology, origins = pipeline.check_topology(request.topology)
    policy = reading.policy(request.policy) if request.policy else reading.Read[Policy](Policy())
    found = (*topology.diagnostics, *policy.diagnostics)
    if policy.value is None:
        return Outcome(None, found), origins
    picked = manifests.select(request.objects, policy.value, request.hooks, request.namespace, request.shared)
    found += picked.diagnostics
    if topology.value is None or picked.value is None or has_errors(found):
        return Outcome(None, found), origins
    target = select_target(request.target, topology.value)
    found += target.diagnostics
    if target.value is None:
        return Outcome(None, found), origins
    cluster = cluster_of(request, topology.value, target.value)
    known: Known = {}
    results = [_placed(each, request, cluster, known) for each in picked.value]
    found += tuple(dict.fromkeys(lined(d) for each in results for d in each.diagnostics))
    found += tuple(_shared(picked.value, results))
    return Outcome(None if has_errors(found) else _joined(each.value for each in results if each.value), found), origins


def _placed(selected: Selected, request: AugmentRequest, cluster: Cluster, known: Known) -> Outcome[Augmented]:
    """One workload. Routes of the workflow are led back to where they were said."""
    case = case_of(selected, cluster)
    made = planned(case, request, cluster, known)
    found = (*dashes(case.roster), *(_led_back(each, selected) for each in made.diagnostics))
    if made.value is None:
        return Outcome(None, found)
    found += tuple(_led_back(each, selected) for each in unsaid(case, made.value))
    dressed, documents = dress(case, made.value)
    every = adorned(selected.roster, dressed, cluster.topology, selected.adopt)
    found += tuple(refused(case, every, cluster))
    fresh, more = news(selected.roster, documents, cluster)
    found += (*(d for each in every for d in _contradictions(selected, each, made.value)), *more)
    changed = tuple(Change(each.object.route, each.data) for each in every if each.data != each.object.data)
    return Outcome(None if has_errors(found) else Augmented((*changed, *fresh.changes), fresh.added), found)


def _led_back(found: Diagnostic, selected: Selected) -> Diagnostic:
    notes = tuple(note._replace(route=_back(note.route, selected)) for note in found.notes)
    return found._replace(route=_back(found.route, selected), notes=notes)


def _back(route: Route, selected: Selected) -> Route:
    """The place in the workload or the policy; where nobody said it, the workload's name."""
    if route[:1] != ("workflow",):
        return route
    led = origin(route, selected.origins)
    return (*led[0], *led[1]) if led else (*selected.roster.placed.route, "metadata", "name")


def _contradictions(selected: Selected, whole: Adorned, planned: Planned) -> Iterator[Diagnostic]:
    """A950: what the workload says against what it was to be given."""
    one = whole.object
    said = next((route for route in selected.origins.values() if _is_wish(route)), one.route)
    for path, there, wanted in whole.conflicts:
        field = ".".join(str(key) for key in path)
        scheduler = planned.backend.declared.name
        message = f"{field} is {_shown(there)}, and its placement by {scheduler} needs {_shown(wanted)}"
        notes = (Note("the placement is asked for here", said),)
        hint = "remove it, or let a rule of a policy with `adopt: true` replace it"
        yield error("A950", (*one.route, *path), message, hint=hint, notes=notes)


def _shown(value: Any) -> str:
    """A text in quotes, anything else as JSON."""
    return f'"{value}"' if isinstance(value, str) else json.dumps(value, default=str)


def _is_wish(route: Route) -> bool:
    """Whether somebody asks for a placement there, rather than describes a workload."""
    return route[:1] == ("policy",) or "annotations" in route


def _joined(each: Iterable[Augmented]) -> Augmented:
    """All of them as one."""
    parts = list(each)
    changes = tuple(change for part in parts for change in part.changes)
    return Augmented(changes, tuple(new for part in parts for new in part.added))


def _shared(picked: Iterable[Selected], results: Iterable[Outcome[Augmented]]) -> Iterator[Diagnostic]:
    """A952: objects that two workloads want."""
    owners: dict[tuple[str, str, str, str], Route] = {}
    for selected, each in zip(picked, results, strict=True):
        own = (*selected.roster.placed.route, "metadata", "name")
        added, changes = (each.value.added, each.value.changes) if each.value else ((), ())
        for key in (*(identity(one.data) for one in added), *(identity(one.data) for one in changes)):
            if owners.setdefault(key, own) != own:
                yield _wanted_twice(key[1], key[3], own, owners[key])


def _wanted_twice(kind: str, name: str, own: Route, other: Route) -> Diagnostic:
    message = f'{kind} "{name}" of this workload would be that of another workload, too'
    notes = (Note("the other workload is here", other),)
    return error("A952", own, message, hint="objects are called after their workloads: rename one", notes=notes)
