"""ClusterQueues and LocalQueues that others wrote (Kueue 0.14 to 0.19, `clusterqueue_webhook.go`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bayplan.core.diagnostics import KEY, Diagnostic, Route, error, warning
from bayplan.core.phrases import listing, suggest
from bayplan.kube.objects import get, items, mapping, text
from bayplan.model.manifest import Object

MOST_GROUPS = 16
MOST = 64


def cluster_queue(each: Object, objects: Sequence[Object]) -> Iterator[Diagnostic]:
    """M746: what the webhook refuses, a queue that nobody may use, and flavors that are not there."""
    spec = mapping(each.data, "spec")
    at = (*each.route, "spec")
    if "namespaceSelector" not in spec:
        message = "a ClusterQueue without namespaceSelector takes work from no namespace"
        yield warning("M746", at, message, hint="write `namespaceSelector: {}` for all")
    groups = items(spec, "resourceGroups")
    if len(groups) > MOST_GROUPS:
        yield error("M746", (*at, "resourceGroups"), f"{len(groups)} resource groups; Kueue takes {MOST_GROUPS}")
    for number, group in enumerate(groups):
        yield from _group(group, (*at, "resourceGroups", number), borrows="cohort" in spec or "cohortName" in spec)
    yield from _twice(groups, (*at, "resourceGroups"))
    yield from _unknown(groups, (*at, "resourceGroups"), objects)


def _group(group: Any, at: Route, *, borrows: bool) -> Iterator[Diagnostic]:
    covered = [each for each in items(group, "coveredResources") if isinstance(each, str)]
    if not (1 <= len(covered) <= MOST and 1 <= len(items(group, "flavors")) <= MOST):
        yield error("M746", at, f"a resource group covers 1 to {MOST} resources with 1 to {MOST} flavors")
    for number, flavor in enumerate(items(group, "flavors")):
        route = (*at, "flavors", number, "resources")
        named = [text(each, "name") for each in items(flavor, "resources")]
        if named != covered:
            same = "in another order" if sorted(named) == sorted(covered) else "as others"
            message = (
                f'flavor "{text(flavor, "name")}" lists its resources {same} than coveredResources; Kueue refuses it'
            )
            yield error("M746", route, message, hint=f"list {listing(covered, 'and')}")
        for index, each in enumerate(items(flavor, "resources")):
            if get(each, "borrowingLimit") is not None and not borrows:
                message = "a borrowingLimit without a cohort to borrow from; Kueue refuses it"
                yield error(
                    "M746", (*route, index, "borrowingLimit", KEY), message, hint="name the cohort, or leave it out"
                )


def _twice(groups: Sequence[Any], at: Route) -> Iterator[Diagnostic]:
    """Each flavor and each resource belongs to one group."""
    flavors = [text(flavor, "name") for group in groups for flavor in items(group, "flavors")]
    resources = [each for group in groups for each in items(group, "coveredResources") if isinstance(each, str)]
    for what, names in (("flavor", flavors), ("resource", resources)):
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield error("M746", at, f'{what} "{name}" stands there twice; Kueue refuses it')


def _unknown(groups: Sequence[Any], at: Route, objects: Sequence[Object]) -> Iterator[Diagnostic]:
    known = [text(each.data, "metadata", "name") for each in objects if each.data.get("kind") == "ResourceFlavor"]
    for i, group in enumerate(groups):
        for j, flavor in enumerate(items(group, "flavors")):
            name = text(flavor, "name")
            if known and name not in known:
                message = (
                    f'there is no ResourceFlavor "{name}" among the manifests; the queue is inactive until there is'
                )
                yield error("M746", (*at, i, "flavors", j, "name"), message, hint=suggest(name, known, "flavors"))


def local_queue(each: Object, objects: Sequence[Object]) -> Iterator[Diagnostic]:
    """M747: a ClusterQueue that is not there."""
    known = [text(other.data, "metadata", "name") for other in objects if other.data.get("kind") == "ClusterQueue"]
    name = text(each.data, "spec", "clusterQueue")
    if known and name not in known:
        message = f'there is no ClusterQueue "{name}" among the manifests'
        yield error("M747", (*each.route, "spec", "clusterQueue"), message, hint=suggest(name, known, "ClusterQueues"))
