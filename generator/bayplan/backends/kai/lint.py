"""Rules about KAI's objects and pods for KAI: fields, labels, annotations and claims here, the rest beside it.

Sources: KAI scheduler v0.10 to v0.17, CRDs in deployments/kai-scheduler/crds, webhooks in pkg/apis/scheduling and
pkg/admission/webhook, the rest in pkg/podgrouper and pkg/scheduler. What KAI's webhooks refuse is found here too, since
a webhook speaks only in the cluster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from bayplan.backends.kai.lint_groups import (
    API,
    KAI_TOPOLOGY,
    check_members,
    check_minimums,
    check_pods,
    check_subgroups,
    for_kai,
    group_of,
    pod_groups,
    root,
    subgroups,
    whole,
)
from bayplan.backends.kai.lint_topology import check_constraints, check_queues, check_topologies, check_unsatisfiable
from bayplan.backends.kai.pod_group import NODE_POOL, POD_GROUP, QUEUE, SKIP, SUBGROUP
from bayplan.core.diagnostics import KEY, Diagnostic, Note, Route, error, warning
from bayplan.core.phrases import did_you_mean, listing
from bayplan.kube.objects import get, group, items, mapping, named, namespace, text, title
from bayplan.kube.templates import PodTemplate
from bayplan.linting.claims import claims
from bayplan.linting.objects import LintContext, Rule
from bayplan.model.manifest import Object

# Fields that the CRDs do not have, or not yet: an API server drops them without a word (M814)

Versions = Mapping[str, tuple[str, str]]
"""Field -> the first version that has it, and the first that has it no more; empty: always."""

ALWAYS = ("", "")
POD_GROUP_FIELDS: Versions = {
    **dict.fromkeys(("markUnschedulable", "minMember", "preemptibility", "priorityClassName", "queue"), ALWAYS),
    **dict.fromkeys(("schedulingBackoff", "subGroups", "topologyConstraint"), ALWAYS),
    **dict.fromkeys(("backoffLimit", "completions", "parallelism"), ("", "0.15")),
    "minSubGroup": ("0.15", ""),
    **dict.fromkeys(("preemptionDelay", "stalenessGracePeriod"), ("0.17", "")),
}
SUB_GROUP_FIELDS: Versions = {
    **dict.fromkeys(("minMember", "name", "parent", "topologyConstraint"), ALWAYS),
    "minSubGroup": ("0.15", ""),
}
CONSTRAINT_FIELDS: Versions = dict.fromkeys(("topology", "requiredTopologyLevel", "preferredTopologyLevel"), ALWAYS)
QUEUE_FIELDS: Versions = dict.fromkeys(
    ("displayName", "parentQueue", "preemptMinRuntime", "priority", "reclaimMinRuntime", "resources"), ALWAYS
)
RESOURCES_FIELDS: Versions = dict.fromkeys(("cpu", "gpu", "memory"), ALWAYS)
RESOURCE_FIELDS: Versions = dict.fromkeys(("limit", "overQuotaWeight", "quota"), ALWAYS)
LEVEL_FIELDS: Versions = {"nodeLabel": ALWAYS, "alias": ("0.17", "")}

DURATION = re.compile(r"[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+)")

CHOICES: Mapping[str, Sequence[object]] = {
    "preemptibility": ("preemptible", "non-preemptible"),
    "schedulingBackoff": (-1, 1),
}


def check_fields(context: LintContext) -> Iterator[Diagnostic]:
    """M814. Source: the CRDs of v0.10.5 to v0.17.0."""
    for pod_group in pod_groups(context):
        for node in (root(pod_group), *subgroups(pod_group)):
            yield from _known_fields(
                node.data, SUB_GROUP_FIELDS if node.name else POD_GROUP_FIELDS, node.route, context
            )
            own = mapping(node.data, "topologyConstraint")
            yield from _known_fields(own, CONSTRAINT_FIELDS, (*node.route, "topologyConstraint"), context)
        yield from _choices(pod_group.data, (*pod_group.route, "spec"))
        yield from _durations(pod_group.data, (*pod_group.route, "spec"))
    for one in context.of(API, "Queue"):
        route: Route = (*one.route, "spec")
        yield from _known_fields(mapping(one.data, "spec"), QUEUE_FIELDS, route, context)
        own = mapping(one.data, "spec", "resources")
        yield from _known_fields(own, RESOURCES_FIELDS, (*route, "resources"), context)
        for key in RESOURCES_FIELDS:
            yield from _known_fields(mapping(own, key), RESOURCE_FIELDS, (*route, "resources", key), context)
    for one in context.of(*KAI_TOPOLOGY):
        for index, each in enumerate(items(one.data, "spec", "levels")):
            later = (
                mapping(each) if context.target.since("kai", "0.17") else {k: 0 for k in mapping(each) if k != "alias"}
            )
            yield from _known_fields(later, LEVEL_FIELDS, (*one.route, "spec", "levels", index), context)


def _known_fields(
    data: Mapping[str, object], known: Versions, route: Route, context: LintContext
) -> Iterator[Diagnostic]:
    version = context.target.version("kai")
    for key in data:
        since, until = known.get(key, ALWAYS)
        if key not in known:
            hint = did_you_mean(key, known) or f"known: {listing(known, 'and')}"
            yield error("M814", (*route, key), f'KAI has no field "{key}" here, and an API server drops it', hint=hint)
        elif since and not context.target.since("kai", since):
            message = f'KAI {version} has no "{key}", and an API server drops it'
            yield warning("M814", (*route, key), message, hint=f"it came with KAI {since}")
        elif until and context.target.since("kai", until):
            message = f'KAI {version} has no "{key}" any more, and an API server drops it'
            yield warning("M814", (*route, key), message, hint=f"it went with KAI {until}; remove it")


def _durations(data: object, route: Route) -> Iterator[Diagnostic]:
    """Go's durations."""
    for key in ("preemptionDelay", "stalenessGracePeriod"):
        value = get(data, "spec", key)
        if value is not None and not (isinstance(value, str) and DURATION.fullmatch(value[:40])):
            yield error(
                "M814", (*route, key), f"`{key}` must be a duration", hint='write for instance "90s" or "1h30m"'
            )


def _choices(data: object, route: Route) -> Iterator[Diagnostic]:
    for key, choices in CHOICES.items():
        value = get(data, "spec", key)
        if value is not None and value not in choices:
            message = (
                f"`{key}` cannot be {value!r}" if not isinstance(value, str) else f'`{key}` cannot be "{value[:60]}"'
            )
            yield error("M814", (*route, key), message, hint=f"known: {listing(map(str, choices), 'and')}")


# Labels and annotations: misspelt, of the wrong sort, or where nobody reads them (M815)

PREFIX = "kai.scheduler/"
PLACEMENT = tuple(
    f"{PREFIX}{word}" for word in ("topology", "topology-required-placement", "topology-preferred-placement")
)
MIN_MEMBER = f"{PREFIX}batch-min-member"
SEGMENTS = tuple(
    f"{PREFIX}segment-{word}" for word in ("size", "topology-required-placement", "topology-preferred-placement")
)
PREEMPTIBILITY = f"{PREFIX}preemptibility"

LABELS = (QUEUE, NODE_POOL, SUBGROUP, PREEMPTIBILITY)
ANNOTATIONS = (
    *(POD_GROUP, SKIP, *PLACEMENT, MIN_MEMBER, *SEGMENTS),
    *(f"{PREFIX}preemption-delay", f"{PREFIX}staleness-grace-period"),
)
WRITTEN_BY_KAI = tuple(
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

DEPRECATED = {"runai/queue": QUEUE, "runai/node-pool": NODE_POOL}
"""What KAI read until 0.5, and reads no more unless its configuration says so."""

READ_FROM_OWNER = {
    ("apps", "Deployment"),
    ("batch", "Job"),
    ("jobset.x-k8s.io", "JobSet"),
    ("apps", "StatefulSet"),
    ("apps", "ReplicaSet"),
}
"""Kinds whose placement is read from their own annotations (JobSets: also from their Job templates')."""

SEGMENTED = {("kubeflow.org", "PyTorchJob"), ("leaderworkerset.x-k8s.io", "LeaderWorkerSet")}


def check_keys(context: LintContext) -> Iterator[Diagnostic]:
    """M815."""
    places: dict[Route, object] = {}
    for one in context.objects:
        places[one.route] = one.data
    for template in context.templates:
        for depth in (len(template.path), 4 if get(template.object.data, "kind") == "JobSet" else len(template.path)):
            path = template.path[:depth]
            places[(*template.object.route, *path)] = get(template.object.data, *path)
        if for_kai(template, context) and template.owned and not group_of(template):
            yield from _unread_annotations(template)
            yield from _segments(template)
    for route, data in places.items():
        yield from _metadata_keys(data, (*route, "metadata"))
        yield from _min_member(
            get(data, "metadata", "annotations", MIN_MEMBER), (*route, "metadata", "annotations", MIN_MEMBER)
        )


def _metadata_keys(data: object, route: Route) -> Iterator[Diagnostic]:
    """Keys of one metadata."""
    known = {"labels": LABELS, "annotations": ANNOTATIONS}
    for kind, other in (("labels", "annotations"), ("annotations", "labels")):
        for key in mapping(data, "metadata", kind):
            here: Route = (*route, kind, key, KEY)
            if key in known[other] and key not in mapping(data, "metadata", other):
                message = f'KAI reads "{key}" as {_NOUN[other]}, and here it is {_NOUN[kind]}'
                yield error("M815", here, message, hint=f"move it to `{other}`")
            elif key in DEPRECATED:
                message = f'KAI reads "{DEPRECATED[key]}", and "{key}" only if it is configured so'
                yield warning("M815", here, message, hint=f"use {DEPRECATED[key]}")
            elif key not in (*LABELS, *ANNOTATIONS, *WRITTEN_BY_KAI):
                yield from _misspelt(key, here)


_NOUN = {"labels": "a label", "annotations": "an annotation"}


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


def _unread_annotations(template: PodTemplate) -> Iterator[Diagnostic]:
    """The podgrouper reads the workload's own annotations, not its pods' (default_grouper.go, job_grouper.go)."""
    kind = (group(template.object), text(template.object.data, "kind"))
    for key in (*PLACEMENT, MIN_MEMBER) if kind in READ_FROM_OWNER else ():
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


def _min_member(value: object, route: Route) -> Iterator[Diagnostic]:
    """A text that is no number, or not above 0, makes the podgrouper fail."""
    if value is not None and whole(value) < 1:
        yield error("M815", route, "this must be a whole number in quotes, 1 or more", hint='write for instance "8"')


# Claims of pods: forms that the allocator does not know, and shared claims without a queue (M819)

CLAIM_API = "resource.k8s.io"


def check_claims(context: LintContext) -> Iterator[Diagnostic]:
    """KAI#2100: up to 0.17 the allocator is built with no feature of DRA but the plain request."""
    seen: set[Route] = set()
    for template in context.templates:
        if not for_kai(template, context):
            continue
        for route, each in claims(template):
            for kind, key in (
                ("ResourceClaimTemplate", "resourceClaimTemplateName"),
                ("ResourceClaim", "resourceClaimName"),
            ):
                asked = text(each, key)
                found = context.find(CLAIM_API, kind, asked, namespace(template.object)) if asked else []
                for one in found[:1]:
                    if one.route not in seen:
                        seen.add(one.route)
                        yield from _unsupported_requests(one, route, context)
                        yield from _shared_claim(one, route, context)


def _unsupported_requests(one: Object, used_at: Route, context: LintContext) -> Iterator[Diagnostic]:
    if context.target.since("kai", "0.18"):
        return
    inner = ("spec", "spec", "devices") if text(one.data, "kind") == "ResourceClaimTemplate" else ("spec", "devices")
    note = Note("pods for KAI claim it here", used_at)
    for index, each in enumerate(items(one.data, *inner, "requests")):
        for path in (("firstAvailable",), ("adminAccess",), ("exactly", "adminAccess"), ("exactly", "capacity")):
            if get(each, *path) not in (None, False):
                route = (*one.route, *inner, "requests", index, *path)
                message = f"KAI up to 0.17 does not allocate requests with `{path[-1]}`"
                yield error("M819", route, message, hint="ask for one class with `exactly`", notes=(note,))


def _shared_claim(one: Object, used_at: Route, context: LintContext) -> Iterator[Diagnostic]:
    """Since 0.13 a claim that pods share counts for the queue that its label names."""
    if text(one.data, "kind") != "ResourceClaim" or not context.target.since("kai", "0.13"):
        return
    classes = [
        text(each, *path)
        for each in items(one.data, "spec", "devices", "requests")
        for path in (("deviceClassName",), ("exactly", "deviceClassName"))
    ]
    if any("gpu" in each for each in classes) and not get(one.data, "metadata", "labels", QUEUE):
        message = f"{title(one)} is shared by pods for KAI and names no queue"
        note = Note("pods for KAI claim it here", used_at)
        yield error("M819", named(one), message, hint=f"label it {QUEUE} with the queue of the pods", notes=(note,))


RULES: tuple[Rule, ...] = (
    check_members,
    check_topologies,
    check_subgroups,
    check_minimums,
    check_constraints,
    check_unsatisfiable,
    check_queues,
    check_fields,
    check_keys,
    check_pods,
    check_claims,
)
