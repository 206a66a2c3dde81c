"""Workloads that others wrote for Kueue: where their marks stand, and what holds between their pod templates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bayplan.backends.kueue.linting import placement
from bayplan.backends.kueue.linting.ladders import ladders
from bayplan.backends.kueue.linting.templates import Template, templates
from bayplan.backends.kueue.words import (
    LAYERS,
    PLACEMENT,
    POD_COUNT,
    POD_GROUP,
    PREFERRED,
    QUEUE,
    REQUIRED,
    SLICE_LEVEL,
    SLICE_SIZE,
    TOGETHER,
)
from bayplan.core.diagnostics import KEY, Diagnostic, Route, error, warning
from bayplan.core.phrases import listing, suggest
from bayplan.kube.objects import get, items, mapping, text
from bayplan.model.manifest import Object
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology

EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
ANNOTATIONS: Route = ("metadata", "annotations")
LABELS: Route = ("metadata", "labels")


def rules(objects: Sequence[Object], topology: ClusterTopology, target: Target) -> Iterator[Diagnostic]:
    """Everything that is wrong with the workloads among the objects."""
    known = ladders(objects, topology)
    gates: dict[str, bool] = dict(topology.gates("kueue"))
    queues = _queues(objects, topology)
    for each in objects:
        found = templates(each.data)
        for template in found:
            route = (*each.route, *template.path, *ANNOTATIONS)
            yield from placement.rules(placement.Place(route, template, known, target, gates))
        yield from _places(each, found, target)
        yield from _queue(each, found, queues)
        yield from _exclusive(each, found)
        yield from _groups(each, found)
        yield from _pod_group(each)
        yield from _many(each, found, target)


def _queues(objects: Sequence[Object], topology: ClusterTopology) -> tuple[str, ...] | None:
    """The queues that exist, where the manifests or the topology say so."""
    written = [text(each.data, "metadata", "name") for each in objects if each.data.get("kind") == "LocalQueue"]
    if topology.queues is None and not written:
        return None
    return tuple(dict.fromkeys([*written, *(topology.queues or ())]))


def _marked(template: Template) -> bool:
    return any(key in template.annotations for key in PLACEMENT)


def _places(each: Object, found: Sequence[Template], target: Target) -> Iterator[Diagnostic]:
    """M752, M753: marks that stand where Kueue does not look."""
    if not found:
        return
    own = mapping(each.data, *ANNOTATIONS) if found[0].path else {}
    for key in (key for key in PLACEMENT if key in own):
        message = f'"{key}" stands on the {each.data["kind"]}; Kueue reads it on the pod template only'
        yield error("M752", (*each.route, *ANNOTATIONS, key, KEY), message, hint="move it to the pod template")
    for template in found:
        for key in (key for key in PLACEMENT if key in mapping(template.data, *LABELS)):
            message = f'"{key}" is an annotation, not a label'
            yield error("M752", (*each.route, *template.path, *LABELS, key, KEY), message)
    yield from _queue_places(each, found, target)


def _queue_places(each: Object, found: Sequence[Template], target: Target) -> Iterator[Diagnostic]:
    on = f"the {each.data['kind']}"
    if QUEUE in mapping(each.data, *ANNOTATIONS):
        old = not target.since("kueue", "0.15")
        gone = "Kueue 0.15 reads it no more" if old else "Kueue reads the label only since 0.15"
        report = warning if old or QUEUE in mapping(each.data, *LABELS) else error
        message = f'"{QUEUE}" is an annotation of {on}; {gone}'
        yield report("M753", (*each.route, *ANNOTATIONS, QUEUE, KEY), message, hint="make it a label")
    if QUEUE in mapping(each.data, *LABELS):
        return
    for template in found:
        if template.path and QUEUE in mapping(template.data, *LABELS):
            message = f'"{QUEUE}" stands on the pod template; Kueue would take every pod by itself, not {on}'
            route = (*each.route, *template.path, *LABELS, QUEUE, KEY)
            yield error("M753", route, message, hint=f"move it to the labels of {on}")


def _queue(each: Object, found: Sequence[Template], queues: tuple[str, ...] | None) -> Iterator[Diagnostic]:
    """M753: placed work that Kueue does not manage. M747: a queue that is not there."""
    labels = mapping(each.data, *LABELS)
    marked = next((template for template in found if _marked(template)), None)
    misplaced = QUEUE in mapping(each.data, *ANNOTATIONS) or any(QUEUE in mapping(t.data, *LABELS) for t in found)
    if marked and QUEUE not in labels and not misplaced:
        message = f'annotations of Kueue without the label "{QUEUE}": Kueue leaves such work alone'
        hint = "unless its namespace has a LocalQueue called default; name the queue"
        yield warning("M753", (*each.route, *marked.path, *ANNOTATIONS), message, hint=hint)
    name = labels.get(QUEUE)
    if found and isinstance(name, str) and queues is not None and name not in queues:
        message = f'there is no queue "{name}"'
        yield error("M747", (*each.route, *LABELS, QUEUE), message, hint=suggest(name, queues, "queues"))


def _exclusive(each: Object, found: Sequence[Template]) -> Iterator[Diagnostic]:
    """M755: JobSet would pin each of its Jobs to a domain of its own choice, against Kueue's."""
    if each.data.get("kind") != "JobSet" or not any(map(_marked, found)):
        return
    jobs = range(len(items(each.data, "spec", "replicatedJobs")))
    places: list[Route] = [ANNOTATIONS, *(("spec", "replicatedJobs", n, "template", *ANNOTATIONS) for n in jobs)]
    for place in (place for place in places if EXCLUSIVE in mapping(each.data, *place)):
        message = f'"{EXCLUSIVE}" fights with the placement that Kueue chooses: no pod may ever fit both'
        yield error("M755", (*each.route, *place, EXCLUSIVE, KEY), message, hint="leave one of them out")


def _groups(each: Object, found: Sequence[Template]) -> Iterator[Diagnostic]:
    """M756: two podSets that share a domain, one of them of one pod (`tas_validation.go`)."""
    together: dict[str, list[Template]] = {}
    for template in found:
        name = template.annotations.get(TOGETHER)
        if isinstance(name, str):
            together.setdefault(name, []).append(template)
    for name, members in together.items():
        for fault in (*_group_faults(name, members, each.data.get("kind")), *_alone(members)):
            yield error("M756", (*each.route, *members[0].path, *ANNOTATIONS, TOGETHER), fault)


def _group_faults(name: str, members: Sequence[Template], kind: Any) -> Iterator[str]:
    if name.isdigit():
        yield f'the name of a group of podSets is no number, as "{name}" is'
    if len(members) != 2:
        yield f'group "{name}" has {len(members)} podSets; Kueue takes groups of exactly 2'
        return
    counts = [member.pods for member in members]
    if None not in counts and 1 not in counts:
        yield f'one of the 2 podSets in group "{name}" must have one pod; they have {counts[0]} and {counts[1]}'
    levels = [[member.annotations.get(key) for key in (REQUIRED, PREFERRED)] for member in members]
    if levels[0] != levels[1]:
        yield f'the podSets of group "{name}" ask for different levels'


def _alone(members: Sequence[Template]) -> Iterator[str]:
    sliced = (SLICE_LEVEL, SLICE_SIZE, LAYERS)
    if clash := [key for key in sliced if any(key in member.annotations for member in members)]:
        yield f"podSets in a group have no slices, so {listing(clash, 'and')} must go"
    if not all({REQUIRED, PREFERRED} & set(member.annotations) for member in members):
        yield "podSets in a group need a required or a preferred level"


def _pod_group(each: Object) -> Iterator[Diagnostic]:
    """M757: a bare pod's group needs a name and a count, both (`pod_webhook.go`)."""
    if each.data.get("kind") != "Pod":
        return
    named, counted = POD_GROUP in mapping(each.data, *LABELS), POD_COUNT in mapping(each.data, *ANNOTATIONS)
    if POD_GROUP in mapping(each.data, *ANNOTATIONS):
        return
    if named and not counted:
        message = f'the label "{POD_GROUP}" without the annotation "{POD_COUNT}"'
        yield error("M757", (*each.route, *LABELS, POD_GROUP, KEY), message, hint="Kueue refuses such a pod")
    if counted and not named:
        message = f'the annotation "{POD_COUNT}" without the label "{POD_GROUP}"'
        yield error("M757", (*each.route, *ANNOTATIONS, POD_COUNT, KEY), message, hint="Kueue refuses such a pod")
    count = get(each.data, *ANNOTATIONS, POD_COUNT)
    if counted and not (isinstance(count, str) and count.isascii() and count.isdigit() and int(count) > 0):
        yield error("M757", (*each.route, *ANNOTATIONS, POD_COUNT), "the count of a pod group is a number in quotes")


def _many(each: Object, found: Sequence[Template], target: Target) -> Iterator[Diagnostic]:
    """M758: a Workload holds 8 podSets, 10 since 0.18, 18 since 0.19 (`workload_types.go`)."""
    most = 18 if target.since("kueue", "0.19") else 10 if target.since("kueue", "0.18") else 8
    if len(found) > most and QUEUE in mapping(each.data, *LABELS):
        version = target.version("kueue")
        message = f"{len(found)} pod templates; a Workload of Kueue {version} has {most} podSets at most"
        yield error("M758", (*each.route, "spec"), message, hint="merge equal ones into one of more replicas")
