"""Of every podSet, on a fabric or not: networks attached by hand, extended resources, Gloo's interface."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.checks.attachments.said import GLOO, said
from bayplan.checks.places import Place, pod_sets
from bayplan.diagnostics import KEY, Diagnostic, Route, error, warning
from bayplan.kube import quantity
from bayplan.kube.multus import NETWORKS
from bayplan.kube.pod import HOST_DNS
from bayplan.kube.safe import items, mapping, text
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import Workflow
from bayplan.words import suggest

NATIVE = ("kubernetes.io/",)
"""Resources that are no extended ones: Kubernetes itself counts them (Kubernetes, "Extended resources")."""


def check(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """W522, W523, W528, W529, W537."""
    if NETWORKS in workflow.annotations:
        message = "an annotation of the workflow goes on objects around the pods, where Multus does not look"
        hint = "attach pods with `fabric:` on their podSet"
        yield error("W523", ("workflow", "metadata", "annotations", NETWORKS, KEY), message, hint=hint)
    for place in pod_sets(workflow):
        yield from _by_hand(workflow, place, topology)
        yield from _amounts(place)
        yield from _gloo(place)
        yield from _dns(place)


def _by_hand(workflow: Workflow, place: Place, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """W522: a template's own annotation, where the file says which networks there are."""
    known = {rail.network for fabric in topology.fabrics.values() for rail in fabric.rails if rail.network}
    own = text(place.pods.template, "metadata", "annotations", NETWORKS)
    if not known or not own:
        return
    from bayplan.kube import multus

    route: Route = (*place.route, "template", "metadata", "annotations", NETWORKS)
    read, space = multus.read(own), workflow.namespace or topology.defaults.get("namespace", "")
    for fault in read.faults:
        yield error("W522", route, f"Multus cannot read the annotation: {fault}", hint="see the grammar of Multus")
    for each in read.selections:
        name = each.title if each.namespace else f"{space}/{each.name}"
        if name not in known and each.title not in known:
            message = f'no fabric of the topology has a network "{name}"'
            elsewhere = next((one for one in sorted(known) if one.rpartition("/")[2] == each.name), "")
            hint = f"write {elsewhere}" if elsewhere else suggest(name, known, "networks")
            yield error("W522", route, message, hint=hint or "add it as a rail of a fabric")


def _amounts(place: Place) -> Iterator[Diagnostic]:
    """W528: Kubernetes refuses a container that may use more or less of a device than it asks for."""
    for kind in ("containers", "initContainers"):
        for index, each in enumerate(items(place.pods.template, "spec", kind)):
            at: Route = (*place.route, "template", "spec", kind, index, "resources", "requests")
            limits, requests = mapping(each, "resources", "limits"), mapping(each, "resources", "requests")
            for name in filter(_extended, requests):
                if name not in limits or _number(requests[name]) != _number(limits[name]):
                    message = f"of {name} a container asks for {requests[name]}, and its limit is {limits.get(name)}"
                    yield error("W528", (*at, name), message, hint="leave the request out: it is the limit")


def _extended(name: Any) -> bool:
    return isinstance(name, str) and "/" in name and not name.startswith(NATIVE)


def _number(value: Any) -> int | None:
    try:
        return quantity.parse(str(value))
    except ValueError:
        return None


def _gloo(place: Place) -> Iterator[Diagnostic]:
    """W529. Gloo opens the interface of that name; several are separated by commas (PyTorch, torch.distributed)."""
    one = said(place.pods, place.route).get(GLOO)
    if one and any(not each or each[0] in "=^" for each in one.value.split(",")):
        message = f'Gloo takes the name of an interface as it is, and there is none called "{one.value}"'
        yield error("W529", one.route, message, hint='write the name alone, such as "eth0": "=" and "^" are for NCCL')


def _dns(place: Place) -> Iterator[Diagnostic]:
    """W537."""
    spec = mapping(place.pods.template, "spec")
    policy = spec.get("dnsPolicy")
    if spec.get("hostNetwork") is True and policy not in (None, HOST_DNS):
        message = f"in the node's network, a pod with dnsPolicy {policy} does not find the names of other pods"
        at = (*place.route, "template", "spec", "dnsPolicy")
        yield warning("W537", at, message, hint=f"leave it out: then it is {HOST_DNS}")
