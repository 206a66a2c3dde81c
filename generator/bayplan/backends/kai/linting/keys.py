"""Labels and annotations for KAI: misspelt, of the wrong sort, or where nobody reads them (M815)."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.backends.kai.linting.parts import for_kai, group_of
from bayplan.backends.kai.pod_group import NODE_POOL, POD_GROUP, QUEUE, SKIP, SUBGROUP
from bayplan.core.diagnostics import KEY, Diagnostic, Route, error, warning
from bayplan.core.phrases import did_you_mean, listing
from bayplan.kube.objects import get, group, mapping, text
from bayplan.kube.templates import PodTemplate
from bayplan.linting.objects import LintContext

PREFIX = "kai.scheduler/"
PLACEMENT = tuple(
    f"{PREFIX}{word}" for word in ("topology", "topology-required-placement", "topology-preferred-placement")
)
LEAST = f"{PREFIX}batch-min-member"
SEGMENTS = tuple(
    f"{PREFIX}segment-{word}" for word in ("size", "topology-required-placement", "topology-preferred-placement")
)
PREEMPTIBILITY = f"{PREFIX}preemptibility"

LABELS = (QUEUE, NODE_POOL, SUBGROUP, PREEMPTIBILITY)
ANNOTATIONS = (
    *(POD_GROUP, SKIP, *PLACEMENT, LEAST, *SEGMENTS),
    *(f"{PREFIX}preemption-delay", f"{PREFIX}staleness-grace-period"),
)
KAIS_OWN = tuple(
    f"{PREFIX}{word}"
    for word in (
        *(
            "accounting",
            "ignore-workload-api",
            "last-eviction-timestamp",
            "last-start-timestamp",
            "task-priority",
            "type",
        ),
        *("numa-placement-observed", "numa-placement-predicted", "stale-podgroup-timestamp", "top-owner-metadata"),
    )
)
"""Written by KAI, or for its tests (a search of its Go files at v0.17)."""

FORMER = {"runai/queue": QUEUE, "runai/node-pool": NODE_POOL}
"""What KAI read until 0.5, and reads no more unless its configuration says so."""

AT_THE_TOP = {
    ("apps", "Deployment"),
    ("batch", "Job"),
    ("jobset.x-k8s.io", "JobSet"),
    ("apps", "StatefulSet"),
    ("apps", "ReplicaSet"),
}
"""Kinds whose placement is read from their own annotations (JobSets: also from their Job templates')."""

SEGMENTED = {("kubeflow.org", "PyTorchJob"), ("leaderworkerset.x-k8s.io", "LeaderWorkerSet")}


def check(context: LintContext) -> Iterator[Diagnostic]:
    """M815."""
    places: dict[Route, object] = {}
    for one in context.objects:
        places[one.route] = one.data
    for template in context.templates:
        for depth in (len(template.path), 4 if get(template.object.data, "kind") == "JobSet" else len(template.path)):
            path = template.path[:depth]
            places[(*template.object.route, *path)] = get(template.object.data, *path)
        if for_kai(template, context) and template.owned and not group_of(template):
            yield from _unread(template)
            yield from _segments(template)
    for route, data in places.items():
        yield from _sort(data, (*route, "metadata"))
        yield from _least(get(data, "metadata", "annotations", LEAST), (*route, "metadata", "annotations", LEAST))


def _sort(data: object, route: Route) -> Iterator[Diagnostic]:
    """Keys of one metadata."""
    known = {"labels": LABELS, "annotations": ANNOTATIONS}
    for kind, other in (("labels", "annotations"), ("annotations", "labels")):
        for key in mapping(data, "metadata", kind):
            here: Route = (*route, kind, key, KEY)
            if key in known[other] and key not in mapping(data, "metadata", other):
                message = f'KAI reads "{key}" as {_ONE[other]}, and here it is {_ONE[kind]}'
                yield error("M815", here, message, hint=f"move it to `{other}`")
            elif key in FORMER:
                message = f'KAI reads "{FORMER[key]}", and "{key}" only if it is configured so'
                yield warning("M815", here, message, hint=f"use {FORMER[key]}")
            elif key not in (*LABELS, *ANNOTATIONS, *KAIS_OWN):
                yield from _misspelt(key, here)


_ONE = {"labels": "a label", "annotations": "an annotation"}


def _misspelt(key: str, route: Route) -> Iterator[Diagnostic]:
    prefix, slash, _ = key.partition("/")
    if key.startswith(PREFIX):
        near = did_you_mean(key, (*LABELS, *ANNOTATIONS))
        known = listing([each.removeprefix(PREFIX) for each in (*LABELS, *ANNOTATIONS)], "and")
        yield warning("M815", route, f'KAI knows no "{key}"', hint=near or f"after {PREFIX} it knows {known}")
    elif slash and "kai" in prefix.lower() and did_you_mean(prefix, (PREFIX[:-1],)):
        name = key.partition("/")[2]
        if f"{PREFIX}{name}" in (*LABELS, *ANNOTATIONS):
            yield warning("M815", route, f'KAI knows no "{key}"', hint=f'did you mean "{PREFIX}{name}"?')


def _unread(template: PodTemplate) -> Iterator[Diagnostic]:
    """The podgrouper reads the workload's own annotations, not its pods' (default_grouper.go, job_grouper.go)."""
    kind = (group(template.object), text(template.object.data, "kind"))
    for key in (*PLACEMENT, LEAST) if kind in AT_THE_TOP else ():
        if key in template.annotations and get(template.object.data, "metadata", "annotations", key) is None:
            message = f'KAI reads "{key}" from the {kind[1]}, not from its pods'
            where = "the JobSet, or to that of the Job template" if kind[1] == "JobSet" else f"the {kind[1]}"
            hint = f"move it to the `metadata` of {where}: here it is ignored without a word"
            yield error("M815", (*template.route, "metadata", "annotations", key, KEY), message, hint=hint)


def _segments(template: PodTemplate) -> Iterator[Diagnostic]:
    kind = (group(template.object), text(template.object.data, "kind"))
    places = ((template.object.route, template.object.data), (template.route, template.data))
    for route, data in places if kind not in SEGMENTED else ():
        for key in SEGMENTS:
            if get(data, "metadata", "annotations", key) is not None:
                message = f"KAI cuts PyTorchJobs and LeaderWorkerSets into segments, not a {kind[1] or 'nameless kind'}"
                hint = "write a PodGroup with one subgroup a segment"
                yield warning("M815", (*route, "metadata", "annotations", key, KEY), message, hint=hint)


def _least(value: object, route: Route) -> Iterator[Diagnostic]:
    """A text that is no number, or not above 0, makes the podgrouper fail."""
    if value is not None and whole(value) < 1:
        yield error("M815", route, "this must be a whole number in quotes, 1 or more", hint='write for instance "8"')


def whole(value: object) -> int:
    """The number that a text of digits is; 0 for anything else."""
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10 else 0
