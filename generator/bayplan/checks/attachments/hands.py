"""What a podSet says itself of what its fabric brings: a second word for one thing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.checks.attachments.said import written
from bayplan.checks.attachments.seen import Seen
from bayplan.diagnostics import Diagnostic, Route, error
from bayplan.fabrics import amounts, on_host
from bayplan.fabrics.hanging import NETWORKED
from bayplan.kube.multus import NETWORKS
from bayplan.kube.safe import items, mapping

OURS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(NETWORKED, (NETWORKS,)),
    "gke": ("networking.gke.io/default-interface", "networking.gke.io/interfaces"),
}
"""Kind -> the annotations that it writes."""


def check(seen: Seen) -> Iterator[Diagnostic]:
    """W525, W526, W536."""
    yield from _resources(seen)
    yield from _annotations(seen)
    yield from _host(seen)


def _resources(seen: Seen) -> Iterator[Diagnostic]:
    """W525: devices that the fabric asks for already; more of them than attachments would stand idle, fewer fail."""
    ours = amounts(seen.place.pods, seen.topology)
    for name, amount, route in _asked(seen):
        if name in ours:
            message = f"{seen.fabric} asks for {ours[name]} {name} already, as many as it attaches; here it is {amount}"
            yield error("W525", route, message, hint="remove it: resources of rails come with `fabric`")


def _asked(seen: Seen) -> Iterator[tuple[str, Any, Route]]:
    """Extended resources that the workflow writes itself. Of templates that were there before, those are the point."""
    pods, route = seen.place.pods, seen.place.route
    yield from ((name, amount, (*route, "resources", name)) for name, amount in pods.resources.items())
    if not pods.image and seen.place.owner.gang.rendezvous == "none":
        return
    for kind in ("containers", "initContainers"):
        for index, each in enumerate(items(pods.template, "spec", kind)):
            for key in ("limits", "requests"):
                at: Route = (*route, "template", "spec", kind, index, "resources", key)
                yield from ((name, amount, (*at, name)) for name, amount in mapping(each, "resources", key).items())


def _annotations(seen: Seen) -> Iterator[Diagnostic]:
    """W526: an annotation that would take the place of ours."""
    for template, route, what in seen.layers():
        for key in OURS.get(seen.asked.fabric.kind, ()):
            if mapping(template, "metadata", "annotations").get(key) is not None:
                message = f"the {what} has the annotation {key}, which would take the place of that for {seen.fabric}"
                hint = "remove it, and make its networks rails of the fabric"
                yield error("W526", (*route, "metadata", "annotations", key), message, hint=hint)


def _host(seen: Seen) -> Iterator[Diagnostic]:
    """W536: Multus does nothing for pods in their node's network."""
    kind = seen.asked.fabric.kind
    if kind in (*NETWORKED, "gke") and on_host(seen.place.pods, seen.asked.fabric, seen.asked.pool):
        _, route = written(seen.layers(), "spec", "hostNetwork")
        message = f"{seen.title} uses its node's network, and so no network of {seen.fabric} is attached"
        hint = "remove `hostNetwork`, or use a fabric of kind hostnetwork"
        yield error("W536", route, message, hint=hint)
