"""PodSets on fabrics: attached networks, other requested devices, and the variables of their libraries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.core.diagnostics import KEY, Diagnostic, Route, error, warning
from bayplan.core.phrases import suggest
from bayplan.fabrics import MOVING, amounts, fabric_of, on_host
from bayplan.kube import quantity
from bayplan.kube.objects import items, mapping
from bayplan.kube.pod import HOST_DNS, NETWORKS
from bayplan.model.topology import ClusterTopology, Pool
from bayplan.model.workflow import Place, Workflow, pod_sets
from bayplan.planning.declared import GLOO, Layer, declared_values, layers, template_value
from bayplan.planning.pools import pools_of


def check(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """W521 to W548. Most of it is loaded only if there is a fabric or a template attaches networks itself."""
    yield from dict.fromkeys(check_pod_sets(workflow, topology))
    if any(place.pods.fabric for place in pod_sets(workflow)):
        from bayplan.checks import fabric_pods as asked

        yield from dict.fromkeys(asked.check_fabric_pods(workflow, topology))


# Checks of every podSet, on a fabric or not: networks in templates, extended resources, Gloo's interface.

NATIVE = ("kubernetes.io/",)
"""Prefixes of resources that are not extended resources: Kubernetes itself counts them ("Extended resources")."""


def check_pod_sets(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """W522, W598, W532, W536."""
    if NETWORKS in workflow.annotations:
        message = (
            "Multus does not read this annotation: bayplan puts a workflow's annotations on the objects around pods"
        )
        hint = "remove it, and attach pods with `fabric:` on their podSet"
        yield error("W522", ("workflow", "metadata", "annotations", NETWORKS, KEY), message, hint=hint)
    pools = pools_of(workflow, topology) if any(pool.template for pool in topology.pools) or topology.fabrics else {}
    for place in pod_sets(workflow):
        pool = pools.get(place.route, "")
        templates = layers(place.pods, place.route, topology, pool)
        yield from _by_hand(workflow, place, topology, templates)
        for each in templates:
            yield from _amounts(each, amounts(place.pods, topology))
        # Gloo opens the interface of that name; several are separated by commas (PyTorch, torch.distributed)
        gloo = declared_values(place.pods, place.route, topology, pool).get(GLOO)
        if gloo and any(not name or name[0] in "=^" for name in gloo.value.split(",")):
            message = f'Gloo needs the exact name of an interface, and "{gloo.value}" is not one'
            hint = 'write only the name, such as "eth0": "=" and "^" are for NCCL'
            yield error("W532", gloo.route, message, hint=hint)
        yield from _dns(place, topology, templates, topology.pool(pool))


def _by_hand(
    workflow: Workflow, place: Place, topology: ClusterTopology, templates: tuple[Layer, ...]
) -> Iterator[Diagnostic]:
    """W522: a template's own annotation, if the topology has networks."""
    network_names = {rail.network for fabric in topology.fabrics.values() for rail in fabric.rails if rail.network}
    own, route = template_value(templates, "metadata", "annotations", NETWORKS)
    if not network_names or not isinstance(own, str) or not own:
        return
    from bayplan.kube import networks as multus

    read, space = multus.read(own), workflow.namespace or topology.defaults.get("namespace", "")
    for fault in read.faults:
        hint = "write NAMESPACE/NAME@INTERFACE, or a JSON list as the documentation of Multus describes"
        yield error("W522", route, f"Multus cannot read the annotation: {fault}", hint=hint)
    for each in read.selections:
        name = each.title if each.namespace else f"{space}/{each.name}"
        if name not in network_names and each.title not in network_names:
            message = f'no fabric of the topology has a network "{name}"'
            elsewhere = next((one for one in sorted(network_names) if one.rpartition("/")[2] == each.name), "")
            hint = f"write {elsewhere}" if elsewhere else suggest(name, network_names, "networks")
            yield error("W522", route, message, hint=hint or "add it as a rail of a fabric")
    titles = [each.title if each.namespace else f"{space}/{each.name}" for each in read.selections]
    yield from check_devices(place, topology, templates, titles, route)


def _amounts(layer: Layer, ours: Mapping[str, int]) -> Iterator[Diagnostic]:
    """W598: Kubernetes refuses a container whose request and limit of a device differ. What the fabric requests
    (`ours`) gets its limit from the fabric."""
    for kind in ("containers", "initContainers"):
        for index, each in enumerate(items(layer.template, "spec", kind)):
            at: Route = (*layer.route, "spec", kind, index, "resources", "requests")
            limits, requests = mapping(each, "resources", "limits"), mapping(each, "resources", "requests")
            for name in filter(_extended, requests):
                bare = limits.get(name) is None
                if (name not in ours) if bare else _number(requests[name]) != _number(limits[name]):
                    limit = "has no limit" if bare else f"its limit is {limits[name]}"
                    message = f"a container requests {requests[name]} of {name} and {limit}"
                    yield error("W598", (*at, name), message, hint="write only the limit: the request becomes the same")


def _extended(name: Any) -> bool:
    return isinstance(name, str) and "/" in name and not name.startswith(NATIVE)


def _number(value: Any) -> int | None:
    try:
        return quantity.parse(str(value))
    except ValueError:
        return None


def _dns(
    place: Place, topology: ClusterTopology, templates: tuple[Layer, ...], pool: Pool | None
) -> Iterator[Diagnostic]:
    """W536."""
    policy, at = template_value(templates, "spec", "dnsPolicy")
    if policy not in (None, HOST_DNS) and on_host(place.pods, fabric_of(place.pods, topology), pool):
        message = f"a pod in its node's network with dnsPolicy {policy} cannot resolve the names of other pods"
        yield warning("W536", at, message, hint=f"remove it: bayplan sets {HOST_DNS}")


# Networks that a template attaches itself, compared with the devices that its pods request.


def check_devices(
    place: Place, topology: ClusterTopology, templates: tuple[Layer, ...], titles: Sequence[str], route: Route
) -> Iterator[Diagnostic]:
    """W522: Multus gives each of these networks a device that the pod requests. Without one the pod never starts."""
    # network -> the resource of which each of its attachments takes a device, unless the injector requests it
    fabrics = (each for each in topology.fabrics.values() if each.kind in MOVING and not each.injector)
    rails = (rail for fabric in fabrics for rail in fabric.rails if rail.network and rail.resource)
    taking = {rail.network: rail.resource for rail in rails}
    needed = Counter(taking[title] for title in titles if title in taking)
    requested = _requested_devices(place, topology, templates) if needed else {}
    for resource, networks in needed.items():
        devices = requested.get(resource, 0)
        if devices < networks:
            message = (
                f'the annotation needs {networks} of "{resource}", one for each network, but a pod requests {devices}'
            )
            hint = f"attach them with `fabric:`, which requests the devices, or add the limit {resource}: {networks}"
            yield error("W522", route, message, hint=hint)


def _requested_devices(place: Place, topology: ClusterTopology, templates: tuple[Layer, ...]) -> Mapping[str, int]:
    """Extended resources that a pod requests: the podSet's, its fabric's, and those of containers in templates."""
    total: Counter[str] = Counter(amounts(place.pods, topology))
    texts: list[Mapping[str, Any]] = [place.pods.resources]
    texts += [
        mapping(each, "resources", "limits") for one in templates for each in items(one.template, "spec", "containers")
    ]
    for each in texts:
        extended = {name: amount for name, amount in each.items() if "/" in str(name) and amount is not None}
        total.update({name: quantity.parse(str(amount)) // 1000 for name, amount in extended.items()})
    return total
