"""Of every podSet, on a fabric or not: networks attached by hand, extended resources, Gloo's interface."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.checks.attachments.said import GLOO, said
from bayplan.checks.places import Place, pod_sets
from bayplan.diagnostics import KEY, Diagnostic, Route, error, warning
from bayplan.kube import quantity
from bayplan.kube.multus import NETWORKS
from bayplan.kube.pod import HOST_DNS
from bayplan.kube.safe import mapping, text
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import Workflow
from bayplan.words import suggest

WHOLE = 1000
"""Amounts are in thousandths."""

NATIVE = ("kubernetes.io/", "hugepages-", "attachable-volumes-")
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
    if read.fault:
        yield error("W522", route, f"Multus cannot read the annotation: {read.fault}", hint="see the grammar of Multus")
    for each in read.selections:
        name = each.title if each.namespace else f"{space}/{each.name}"
        if name not in known and each.title not in known:
            message = f'no fabric of the topology has a network "{name}"'
            elsewhere = next((one for one in sorted(known) if one.rpartition("/")[2] == each.name), "")
            hint = f"write {elsewhere}" if elsewhere else suggest(name, known, "networks")
            yield error("W522", route, message, hint=hint or "add it as a rail of a fabric")


def _amounts(place: Place) -> Iterator[Diagnostic]:
    """W528."""
    for name, amount in place.pods.resources.items():
        if _extended(name) and _parts(amount):
            yield _broken(name, amount, (*place.route, "resources", name))
    for kind in ("containers", "initContainers"):
        listed = mapping(place.pods.template, "spec").get(kind)
        for index, each in enumerate(listed if isinstance(listed, list) else ()):
            at: Route = (*place.route, "template", "spec", kind, index, "resources")
            yield from _unequal(mapping(each, "resources"), at)


def _unequal(resources: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    limits, requests = mapping(resources, "limits"), mapping(resources, "requests")
    for name in filter(_extended, {**requests, **limits}):
        for key, held in (("requests", requests), ("limits", limits)):
            if _parts(held.get(name)):
                yield _broken(name, held[name], (*route, key, name))
        lonely = name in requests and name not in limits
        if lonely or (name in requests and _number(requests[name]) != _number(limits[name])):
            message = f"of {name} a container must ask for as much as its limit is"
            message += f": {requests[name]} and {'none' if lonely else limits[name]}"
            yield error("W528", (*route, "requests", name), message, hint="leave the request out: it is the limit")


def _extended(name: Any) -> bool:
    return isinstance(name, str) and "/" in name and not name.startswith(NATIVE)


def _number(value: Any) -> int | None:
    try:
        return quantity.parse(str(value))
    except ValueError:
        return None


def _parts(value: Any) -> bool:
    """Whether it is an amount, and no whole one."""
    amount = None if value is None else _number(value)
    return amount is not None and amount % WHOLE != 0


def _broken(name: str, value: Any, route: Route) -> Diagnostic:
    message = f"Kubernetes counts {name} in whole numbers, not {value}"
    return error("W528", route, message, hint="ask for a whole number")


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
