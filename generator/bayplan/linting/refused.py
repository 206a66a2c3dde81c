"""Values in pods that the API server refuses, and devices of nodes that pods need no privilege for."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, error, info
from bayplan.kube import values
from bayplan.kube.safe import items, text
from bayplan.kube.templates import PodTemplate, containers
from bayplan.linting.world import World

RDMA = "/dev/infiniband"


def check(world: World) -> Iterator[Diagnostic]:
    """W571 (rule TX02), W598 (rule TX01), W599."""
    for template in world.templates:
        for label in values.labels(template.labels):
            yield error("W598", (*template.route, "metadata", "labels", *label.path), label.message, hint=label.hint)
        for each in values.references(template.spec):
            yield error("W599", (*template.spec_route, *each.path), each.message, hint=each.hint)
        yield from _devices(template)


def _devices(template: PodTemplate) -> Iterator[Diagnostic]:
    """W571: RDMA devices of the node by a folder."""
    paths = {text(each, "name"): text(each, "hostPath", "path") for each in items(template.spec, "volumes")}
    for route, container in containers(template):
        for number, mount in enumerate(items(container, "volumeMounts")):
            path = paths.get(text(mount, "name"), "")
            if path == RDMA or path.startswith(f"{RDMA}/"):
                message = f'"{path}" of the node is mounted: without a privileged container nobody may open the devices'
                hint = "ask for the resource of an RDMA device plugin, which gives the container its devices"
                yield info("W571", (*route, "volumeMounts", number), message, hint=hint)
