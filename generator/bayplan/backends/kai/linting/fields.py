"""Fields that KAI's CRDs do not have, or not yet: an API server drops them without a word (M814)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from bayplan.backends.kai.linting.parts import API, KAI_TOPOLOGY, pod_groups, root, subgroups
from bayplan.core.diagnostics import Diagnostic, Route, error, warning
from bayplan.core.phrases import did_you_mean, listing
from bayplan.kube.objects import get, items, mapping
from bayplan.linting.objects import LintContext

Since = Mapping[str, tuple[str, str]]
"""Field -> the first version that has it, and the first that has it no more; empty: always."""

ALWAYS = ("", "")
POD_GROUP: Since = {
    **dict.fromkeys(("markUnschedulable", "minMember", "preemptibility", "priorityClassName", "queue"), ALWAYS),
    **dict.fromkeys(("schedulingBackoff", "subGroups", "topologyConstraint"), ALWAYS),
    **dict.fromkeys(("backoffLimit", "completions", "parallelism"), ("", "0.15")),
    "minSubGroup": ("0.15", ""),
    **dict.fromkeys(("preemptionDelay", "stalenessGracePeriod"), ("0.17", "")),
}
SUB_GROUP: Since = {
    **dict.fromkeys(("minMember", "name", "parent", "topologyConstraint"), ALWAYS),
    "minSubGroup": ("0.15", ""),
}
CONSTRAINT: Since = dict.fromkeys(("topology", "requiredTopologyLevel", "preferredTopologyLevel"), ALWAYS)
QUEUE: Since = dict.fromkeys(
    ("displayName", "parentQueue", "preemptMinRuntime", "priority", "reclaimMinRuntime", "resources"), ALWAYS
)
RESOURCES: Since = dict.fromkeys(("cpu", "gpu", "memory"), ALWAYS)
RESOURCE: Since = dict.fromkeys(("limit", "overQuotaWeight", "quota"), ALWAYS)
LEVEL: Since = {"nodeLabel": ALWAYS, "alias": ("0.17", "")}

DURATION = re.compile(r"[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+)")

CHOICES: Mapping[str, Sequence[object]] = {
    "preemptibility": ("preemptible", "non-preemptible"),
    "schedulingBackoff": (-1, 1),
}


def check(context: LintContext) -> Iterator[Diagnostic]:
    """M814. Source: the CRDs of v0.10.5 to v0.17.0."""
    for group in pod_groups(context):
        for node in (root(group), *subgroups(group)):
            yield from _known(node.data, SUB_GROUP if node.name else POD_GROUP, node.route, context)
            own = mapping(node.data, "topologyConstraint")
            yield from _known(own, CONSTRAINT, (*node.route, "topologyConstraint"), context)
        yield from _chosen(group.data, (*group.route, "spec"))
        yield from _lasting(group.data, (*group.route, "spec"))
    for one in context.of(API, "Queue"):
        route: Route = (*one.route, "spec")
        yield from _known(mapping(one.data, "spec"), QUEUE, route, context)
        own = mapping(one.data, "spec", "resources")
        yield from _known(own, RESOURCES, (*route, "resources"), context)
        for key in RESOURCES:
            yield from _known(mapping(own, key), RESOURCE, (*route, "resources", key), context)
    for one in context.of(*KAI_TOPOLOGY):
        for index, each in enumerate(items(one.data, "spec", "levels")):
            later = (
                mapping(each) if context.target.since("kai", "0.17") else {k: 0 for k in mapping(each) if k != "alias"}
            )
            yield from _known(later, LEVEL, (*one.route, "spec", "levels", index), context)


def _known(data: Mapping[str, object], known: Since, route: Route, context: LintContext) -> Iterator[Diagnostic]:
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


def _lasting(data: object, route: Route) -> Iterator[Diagnostic]:
    """Go's durations."""
    for key in ("preemptionDelay", "stalenessGracePeriod"):
        value = get(data, "spec", key)
        if value is not None and not (isinstance(value, str) and DURATION.fullmatch(value[:40])):
            yield error(
                "M814", (*route, key), f"`{key}` must be a duration", hint='write for instance "90s" or "1h30m"'
            )


def _chosen(data: object, route: Route) -> Iterator[Diagnostic]:
    for key, choices in CHOICES.items():
        value = get(data, "spec", key)
        if value is not None and value not in choices:
            message = (
                f"`{key}` cannot be {value!r}" if not isinstance(value, str) else f'`{key}` cannot be "{value[:60]}"'
            )
            yield error("M814", (*route, key), message, hint=f"known: {listing(map(str, choices), 'and')}")
