"""How gangs, groups and podSets hang together, and how many pods they make."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.checks.places import Owner, Place, instances, owners, pod_sets
from bayplan.diagnostics import Diagnostic, Route, error
from bayplan.kube.counts import MOST_PODS
from bayplan.kube.pod import container_name
from bayplan.model.workflow import Gang, Group, Workflow


def check(workflow: Workflow) -> Iterator[Diagnostic]:
    """W303 to W310."""
    for owner in owners(workflow):
        yield from _holds(owner)
        yield from _size(owner)
        yield from _minimum(owner)
    for place in pod_sets(workflow):
        yield from _pods(place)
    total = sum(_count(gang) for gang in workflow.gangs)
    if total > MOST_PODS:
        message = f"the workflow makes {total} pods; the most that can be planned is {MOST_PODS}"
        yield error("W309", ("workflow", "spec", "gangs"), message, hint="check every replicas")


def _holds(owner: Owner) -> Iterator[Diagnostic]:
    node = owner.node
    if bool(node.groups) == bool(node.pod_sets):
        found = "both groups and podSets" if node.groups else "neither groups nor podSets"
        hint = "put the podSets into a group of their own" if node.groups else 'add "podSets:"'
        message = f"{owner.title()} has {found}, expected one of them"
        yield error("W303", (*owner.route, "groups") if node.groups else owner.route, message, hint=hint)


def _size(owner: Owner) -> Iterator[Diagnostic]:
    group = owner.node
    if not isinstance(group, Group) or group.size is None:
        return
    route: Route = (*owner.route, "size")
    if len(group.pod_sets) != 1:
        message = f"{owner.title()} has a size and {len(group.pod_sets)} podSets; a size cuts exactly one podSet"
        yield error("W304", route, message, hint="use `replicas`, and say in each podSet how many pods an instance has")
    elif group.replicas != 1:
        message = f"{owner.title()} has both a size and replicas"
        yield error("W304", route, message, hint="remove `replicas`: the podSet's pods are cut until none is left")
    elif group.pod_sets[0].min_replicas is not None:
        message = f"{owner.title()} has a size, and its podSet has minReplicas, which no instance could say alone"
        yield error("W304", (*owner.route, "podSets", 0, "minReplicas"), message, hint="use the group's minReplicas")


def _minimum(owner: Owner) -> Iterator[Diagnostic]:
    group = owner.node
    if isinstance(group, Group) and group.min_replicas and group.min_replicas > instances(group):
        found = f"{owner.title()} has {instances(group)} instances, of which {group.min_replicas} must start"
        yield error("W308", (*owner.route, "minReplicas"), found, hint=f"use {instances(group)} or less")


def _pods(place: Place) -> Iterator[Diagnostic]:
    pods, route, _ = place
    if pods.min_replicas and pods.min_replicas > pods.replicas:
        message = f'podSet "{pods.name}" has {pods.replicas} pods, of which {pods.min_replicas} must start'
        yield error("W308", (*route, "minReplicas"), message, hint=f"use {pods.replicas} or less")
    if not pods.image and not _template_image(place):
        yield error("W310", route, f'podSet "{pods.name}" has no image', hint='add "image:"')


def _template_image(place: Place) -> bool:
    containers = (place.pods.template.get("spec") or {}).get("containers") or []
    if not isinstance(containers, list) or not all(isinstance(each, dict) for each in containers):
        return True  # W315 says what is wrong with it
    main = container_name(place.pods)
    return any(each.get("image") for each in containers if each.get("name", main) == main)


def _count(node: Gang | Group) -> int:
    below = sum(_count(group) for group in node.groups) + sum(pods.replicas for pods in node.pod_sets)
    return below * (1 if isinstance(node, Group) and node.size else node.replicas)
