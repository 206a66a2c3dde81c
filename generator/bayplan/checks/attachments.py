"""PodSets on fabrics: what is attached, what they ask for beside it, what their libraries are told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.core.diagnostics import KEY, Diagnostic, Route, error, warning
from bayplan.core.phrases import count, suggest
from bayplan.fabrics import MOVING, amounts, fabric_of, on_host
from bayplan.kube import quantity
from bayplan.kube.objects import items, mapping
from bayplan.kube.pod import HOST_DNS, NETWORKS
from bayplan.model.topology import ClusterTopology, Pool
from bayplan.model.workflow import Place, Workflow, pod_sets
from bayplan.planning.declared import GLOO, Layer, declared_values, layers, template_value
from bayplan.planning.pools import pools_of


def check(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """W520 to W548. Most of it is loaded where there is a fabric, and where templates attach networks themselves."""
    yield from dict.fromkeys(check_pod_sets(workflow, topology))
    if any(place.pods.fabric for place in pod_sets(workflow)):
        from bayplan.checks import fabric_pods as asked

        yield from dict.fromkeys(asked.check_fabric_pods(workflow, topology))


# Checks of every podSet, on a fabric or not: networks in templates, extended resources, Gloo's interface.

NATIVE = ("kubernetes.io/",)
"""Resources that are no extended ones: Kubernetes itself counts them (Kubernetes, "Extended resources")."""


def check_pod_sets(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """W522, W523, W528, W529, W537, W547."""
    if NETWORKS in workflow.annotations:
        message = "an annotation of the workflow goes on objects around the pods, where Multus does not look"
        hint = "attach pods with `fabric:` on their podSet"
        yield error("W523", ("workflow", "metadata", "annotations", NETWORKS, KEY), message, hint=hint)
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
            message = f'Gloo takes the name of an interface as it is, and there is none called "{gloo.value}"'
            hint = 'write the name alone, such as "eth0": "=" and "^" are for NCCL'
            yield error("W529", gloo.route, message, hint=hint)
        yield from _dns(place, topology, templates, topology.pool(pool))


def _by_hand(
    workflow: Workflow, place: Place, topology: ClusterTopology, templates: tuple[Layer, ...]
) -> Iterator[Diagnostic]:
    """W522: a template's own annotation, where the file says which networks there are; W547."""
    network_names = {rail.network for fabric in topology.fabrics.values() for rail in fabric.rails if rail.network}
    own, route = template_value(templates, "metadata", "annotations", NETWORKS)
    if not network_names or not isinstance(own, str) or not own:
        return
    from bayplan.kube import networks as multus

    read, space = multus.read(own), workflow.namespace or topology.defaults.get("namespace", "")
    for fault in read.faults:
        yield error("W522", route, f"Multus cannot read the annotation: {fault}", hint="see the grammar of Multus")
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
    """W528: Kubernetes refuses a container that may use more or less of a device than it asks for. What the fabric asks
    for (`ours`) has its limit from there."""
    for kind in ("containers", "initContainers"):
        for index, each in enumerate(items(layer.template, "spec", kind)):
            at: Route = (*layer.route, "spec", kind, index, "resources", "requests")
            limits, requests = mapping(each, "resources", "limits"), mapping(each, "resources", "requests")
            for name in filter(_extended, requests):
                bare = limits.get(name) is None
                if (name not in ours) if bare else _number(requests[name]) != _number(limits[name]):
                    limit = "it has no limit" if bare else f"its limit is {limits[name]}"
                    message = f"of {name} a container asks for {requests[name]}, and {limit}"
                    yield error("W528", (*at, name), message, hint="leave the request out: it is the limit")


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
    """W537."""
    policy, at = template_value(templates, "spec", "dnsPolicy")
    if policy not in (None, HOST_DNS) and on_host(place.pods, fabric_of(place.pods, topology), pool):
        message = f"in the node's network, a pod with dnsPolicy {policy} does not find the names of other pods"
        yield warning("W537", at, message, hint=f"leave it out: then it is {HOST_DNS}")


# Networks that a template attaches itself, compared with the devices that its pods request.


def check_devices(
    place: Place, topology: ClusterTopology, templates: tuple[Layer, ...], titles: Sequence[str], route: Route
) -> Iterator[Diagnostic]:
    """W547: Multus hands each of these networks a device that the pod asked for, and without one the pod never
    starts."""
    # network -> the resource of which each of its attachments takes a device, unless the injector asks for it
    fabrics = (each for each in topology.fabrics.values() if each.kind in MOVING and not each.injector)
    rails = (rail for fabric in fabrics for rail in fabric.rails if rail.network and rail.resource)
    taking = {rail.network: rail.resource for rail in rails}
    needed = Counter(taking[title] for title in titles if title in taking)
    requested = _requested_devices(place, topology, templates) if needed else {}
    for resource, networks in needed.items():
        devices = requested.get(resource, 0)
        if devices < networks:
            verb = "takes" if networks == 1 else "take"
            message = f'{count(networks, "network")} here {verb} a device of "{resource}", and pods ask for {devices}'
            hint = f"attach them with `fabric:`, which asks for what they take, or add {resource}: {networks}"
            yield error("W547", route, message, hint=hint)


def _requested_devices(place: Place, topology: ClusterTopology, templates: tuple[Layer, ...]) -> Mapping[str, int]:
    """Extended resources that a pod asks for: the podSet's, its fabric's, and those of containers in templates."""
    total: Counter[str] = Counter(amounts(place.pods, topology))
    texts: list[Mapping[str, Any]] = [place.pods.resources]
    texts += [
        mapping(each, "resources", "limits") for one in templates for each in items(one.template, "spec", "containers")
    ]
    for each in texts:
        extended = {name: amount for name, amount in each.items() if "/" in str(name) and amount is not None}
        total.update({name: quantity.parse(str(amount)) // 1000 for name, amount in extended.items()})
    return total
