"""Checks of podSets on a fabric."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bayplan.core.diagnostics import Diagnostic, Note, Route, error, info, warning
from bayplan.core.phrases import listing
from bayplan.fabrics import DRANET, NETWORKED, FabricRequest, amounts, dranet, fabric_request, on_host
from bayplan.fabrics import pools_of as fabric_pools
from bayplan.fabrics.kinds import interfaces
from bayplan.fabrics.pods import MASTERS, MOST_HCAS, NCCL, hca, hca_difference, hcas
from bayplan.kube import networks
from bayplan.kube.networks import bad_interface
from bayplan.kube.objects import items, mapping
from bayplan.kube.pod import NETWORKS
from bayplan.model.topology import ClusterTopology, Rail
from bayplan.model.workflow import Place, Workflow, pod_sets
from bayplan.planning.declared import GLOO, DeclaredValue, Layer, declared_values, layers, template_value
from bayplan.planning.pools import pools_of

# The input of the checks of podSets on a fabric.


class FabricPods(NamedTuple):
    """A podSet, what it requests of its fabric, and the cluster."""

    place: Place
    request: FabricRequest
    topology: ClusterTopology

    @property
    def title(self) -> str:
        """`podSet "worker"`."""
        return f'podSet "{self.place.pods.name}"'

    @property
    def fabric(self) -> str:
        """`fabric "rails"`."""
        return f'fabric "{self.request.fabric.name}"'

    @property
    def route(self) -> Route:
        """Where the podSet names its fabric."""
        return (*self.place.route, "fabric")

    @property
    def origin(self) -> Route:
        """Where the topology declares the fabric."""
        return ("topology", "spec", "fabrics", self.request.fabric.name)

    def layers(self) -> tuple[Layer, ...]:
        """The templates that are merged into its pods."""
        return layers(self.place.pods, self.place.route, self.topology, self.request.pool.name)

    def variables(self) -> Mapping[str, DeclaredValue]:
        """The variables of the podSet's libraries."""
        return declared_values(self.place.pods, self.place.route, self.topology, self.request.pool.name)


# Network cards that are claimed through DRA.


def check_claims(attached: FabricPods) -> Iterator[Diagnostic]:
    """W522 to W539, for fabrics of the kind dranet."""
    if attached.request.fabric.kind != DRANET:
        return
    yield from _claimed_twice(attached)
    yield from _aligned(attached)
    requests = dranet.requests(attached.request)
    if requests > dranet.MOST_REQUESTS:
        message = (
            f"{attached.title} claims {requests} devices, one request each; a claim has at most {dranet.MOST_REQUESTS}"
        )
        yield error("W539", attached.route, message, hint="attach fewer rails with `rails`")


def _claimed_twice(attached: FabricPods) -> Iterator[Diagnostic]:
    """W522: a card that both DRA and a device plugin allocate."""
    notes = (Note("the fabric is here", attached.origin),)
    if attached.request.fabric.injector:
        message = "the network-resources-injector adds a device plugin's resources to pods that claim cards with DRA"
        hint = "switch the injector off, and set `injector: false` on the fabric"
        yield error("W522", attached.route, message, hint=hint, notes=notes)
    for resource, other in _others(attached):
        if resource in attached.place.pods.resources:
            message = f"{attached.title} claims the cards of {attached.fabric}, and requests {resource}"
            message = f"{message}, by which {other} allocates the same cards"
            at = (*attached.place.route, "resources", resource)
            yield error("W522", at, message, hint=f"remove {resource} from `resources`: the claim is enough")


def _others(attached: FabricPods) -> Iterator[tuple[str, str]]:
    """Resources of other fabrics for the cards of this one."""
    own = {name for rail in attached.request.fabric.rails for name in _names(rail)}
    for fabric in attached.topology.fabrics.values():
        for rail in fabric.rails if fabric.name != attached.request.fabric.name else ():
            if rail.resource and own & set(_names(rail)):
                yield rail.resource, f'fabric "{fabric.name}"'


def _names(rail: Rail) -> Iterator[tuple[str, str]]:
    yield from (("hca", rail.hca),) if rail.hca else ()
    yield from (("device", rail.device),) if rail.device else ()


def _aligned(attached: FabricPods) -> Iterator[Diagnostic]:
    """W539: GPUs and cards that do not share a PCIe root, on a fabric that does not declare their NUMA nodes."""
    request = attached.request
    if not request.together or dranet.neighbours(request.pool) or request.cards == request.pool.node.accelerators:
        return
    bare = [number for number, rail in enumerate(request.rails) if rail.numa is None and not rail.selectors]
    if bare:
        message = (
            f'{attached.title} needs GPUs next to their cards, but in pool "{request.pool.name}" they share no PCIe'
            f" root, and rail {bare[0]} of {attached.fabric} has no `numa`"
        )
        notes = (Note("the fabric is here", attached.origin),)
        yield error("W539", attached.route, message, hint="add `numa` to its rails, or take whole nodes", notes=notes)


# Settings of a podSet that repeat or override what its fabric sets.

OURS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(NETWORKED, (NETWORKS,)),
    "gke": ("networking.gke.io/default-interface", "networking.gke.io/interfaces"),
}
"""Kind -> the annotations that it writes."""


def _resources(attached: FabricPods) -> Iterator[Diagnostic]:
    """W522: devices that the fabric already requests. With more of them than attachments some are idle, with fewer the
    pod does not start."""
    ours = amounts(attached.place.pods, attached.topology)
    for name, amount, route in _own_resources(attached):
        if name in ours:
            message = (
                f"{attached.title} requests {amount} of {name}, and {attached.fabric} already requests {ours[name]}"
            )
            yield error("W522", route, message, hint="remove it: `fabric` requests the resources of its rails")


def _own_resources(attached: FabricPods) -> Iterator[tuple[str, Any, Route]]:
    """Extended resources that the workflow requests itself, except in the templates of existing workloads."""
    pods, route = attached.place.pods, attached.place.route
    yield from ((name, amount, (*route, "resources", name)) for name, amount in pods.resources.items())
    if not pods.image and attached.place.owner.gang.rendezvous == "none":
        return
    for kind in ("containers", "initContainers"):
        for index, each in enumerate(items(pods.template, "spec", kind)):
            for key in ("limits", "requests"):
                at: Route = (*route, "template", "spec", kind, index, "resources", key)
                yield from ((name, amount, (*at, name)) for name, amount in mapping(each, "resources", key).items())


def _annotations(attached: FabricPods) -> Iterator[Diagnostic]:
    """W522: an annotation that would replace the fabric's."""
    for template, route, what in attached.layers():
        for key in OURS.get(attached.request.fabric.kind, ()):
            if mapping(template, "metadata", "annotations").get(key) is not None:
                message = f"the {what} has the annotation {key}, which would replace the one of {attached.fabric}"
                hint = "remove it, and make its networks rails of the fabric"
                yield error("W522", (*route, "metadata", "annotations", key), message, hint=hint)


def _host_network(attached: FabricPods) -> Iterator[Diagnostic]:
    """W536: Multus attaches nothing to pods in their node's network."""
    kind = attached.request.fabric.kind
    if kind in (*NETWORKED, "gke") and on_host(attached.place.pods, attached.request.fabric, attached.request.pool):
        _, route = template_value(attached.layers(), "spec", "hostNetwork")
        message = (
            f"{attached.title} has `hostNetwork`, and Multus attaches no network of {attached.fabric} to such pods"
        )
        yield error("W536", route, message, hint="remove `hostNetwork`, or use a fabric of the kind hostnetwork")


# The rails of a podSet, and the names of their interfaces.


def numbers(attached: FabricPods) -> Iterator[Diagnostic]:
    """W323: rails that the fabric does not have."""
    rails = attached.request.fabric.rails
    for index, number in enumerate(attached.request.attachment.rails):
        if number >= len(rails):
            message = f"{attached.fabric} has no rail {number}: it has {len(rails)}, and rails count from 0"
            notes = (Note("the fabric is here", attached.origin),)
            hint = "correct the number, or remove `rails` to get all of them"
            yield error("W323", (*attached.route, "rails", index), message, hint=hint, notes=notes)


def _pool(attached: FabricPods) -> Iterator[Diagnostic]:
    """W521: nodes that are on other fabrics."""
    pool = attached.request.pool
    if pool.node.fabrics is None or attached.request.fabric.name in pool.node.fabrics:
        return
    able = [each.name for each in fabric_pools(attached.topology, attached.request.fabric.name)]
    has = listing(pool.node.fabrics, "and") if pool.node.fabrics else "none"
    message = f'{attached.title} runs in pool "{pool.name}", which is not on {attached.fabric}; its fabrics: {has}'
    hint = f"choose the pool {listing(able)}" if able else "add the fabric to `fabrics` of the pool's node"
    yield error("W521", attached.route, message, hint=hint)


def _interfaces(attached: FabricPods) -> Iterator[Diagnostic]:
    """W527: interface names that are not valid or that are taken."""
    if attached.request.fabric.kind not in (*NETWORKED, "gke", "dranet"):
        return
    taken = {attached.request.primary: "the primary network"}
    for number, name in enumerate(interfaces(attached.request)):
        why = bad_interface(name) if name not in taken else f"is also the one of {taken[name]}"
        if why:
            message = f'{attached.title}: interface name "{name}" of rail {number} {why}'
            notes = (Note("the fabric is here", attached.origin),)
            named = any(rail.interface for rail in attached.request.fabric.rails)
            hint = "set a unique `interface` on each rail" + (", or on none of them" if named else "")
            yield error("W527", attached.route, message, hint=hint, notes=notes)
        taken.setdefault(name, f"rail {number}")


def _host_interface(attached: FabricPods) -> Iterator[Diagnostic]:
    """W544: the topology does not name the interface of the node."""
    if (
        attached.request.fabric.kind == "hostnetwork"
        and attached.request.attachment.bootstrap == "primary"
        and not (attached.variables().keys() & {"GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"})
    ):
        message = (
            f"{attached.fabric} does not name the node's interface for NCCL and Gloo, so they choose one themselves"
        )
        hint = "set GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME in `env` of the fabric"
        yield info("W544", attached.route, message, hint=hint)


# Rendezvous over a fabric.
#
# Services and DNS know only the primary address of a pod. A rendezvous over a fabric needs a fixed address of rank 0.

FIXED = ("nv-ipam", "static", "host-local")
"""IPAM plugins that give a pod the address that it requests (`nvidia-k8s-ipam`, docs/static-ip.md; the CNI plugins
static and host-local, with `ips` in the arguments). whereabouts and DHCP choose addresses themselves."""

DYNAMIC = re.compile(r"rdzv[-_]backend[=\s]+['\"]?(c10d|etcd)")


def check_rendezvous(attached: FabricPods) -> Iterator[Diagnostic]:
    """W533."""
    if attached.request.attachment.address:
        yield from _fixed(attached)
    if attached.request.attachment.bootstrap == "fabric" and not interfaces(attached.request):
        kind = attached.request.fabric.kind
        message = f"`bootstrap: fabric` needs an interface, and {attached.fabric} of the kind {kind} has no known one"
        hint = "remove `bootstrap`: RDMA traffic does not follow it"
        yield error("W533", (*attached.route, "bootstrap"), message, hint=hint)
    yield from _masters(attached)


def _fixed(attached: FabricPods) -> Iterator[Diagnostic]:
    """W533: why rank 0 cannot have the address, or why other pods would not find it there."""
    request, route = attached.request, (*attached.route, "address")
    rail = request.rails[0] if request.rails else None
    if request.fabric.kind not in NETWORKED or not rail or not rail.network:
        yield _refused(route, f"{attached.fabric} of the kind {request.fabric.kind} has no network with addresses")
        return
    if request.fabric.ipam.kind not in FIXED:
        declared = request.fabric.ipam.kind or "an unknown plugin"
        hint = f"use an `ipam` of type {listing(FIXED)}, or remove `address`"
        why = f"{declared} chooses the addresses of {attached.fabric}, so a pod cannot request one"
        yield _refused(route, why, hint)
    if attached.place.pods.replicas != 1:
        hint = "give rank 0 a podSet of its own with `replicas: 1`, before the others"
        why = f"{attached.title} has {attached.place.pods.replicas} pods, and only one pod can have the address"
        yield _refused(route, why, hint)
    yield from _in_subnet(attached, route)
    # A process learns that it hosts the c10d store by comparing the endpoint with its host's names and addresses, which
    # leave out those of a second network (PyTorch, torch/distributed/elastic/rendezvous/utils.py).
    words = " ".join((*attached.place.pods.command, *attached.place.pods.args))
    if DYNAMIC.search(words) and "is_host" not in words:
        message = "with c10d rank 0 would not host the store, because it does not know addresses of a second network"
        hint = "remove the rendezvous backend: bayplan sets all variables that torchrun's static one needs"
        yield _refused(route, message, hint)


def _in_subnet(attached: FabricPods, route: Route) -> Iterator[Diagnostic]:
    text, rail = attached.request.attachment.address, attached.request.rails[0]
    own, whole, net = networks.address(text), networks.subnet(text), networks.subnet(rail.subnet)
    if own is None or whole is None:
        yield _refused(route, f'"{text}" is not an address with a prefix', "write it like 10.0.0.10/24")
    elif net and (own not in net or whole != net):
        hint = f"choose an address of {rail.subnet}, with the same prefix"
        yield _refused(route, f"{text} is not in {rail.subnet}, the subnet of rail 0", hint)
    elif net and not networks.hosts(net).holds(own):
        yield _refused(route, f"{own} is not an address that a pod in {rail.subnet} can have", "choose another")
    elif own == networks.address(rail.gateway):
        yield _refused(route, f"{own} is the gateway of rail 0", "choose another")


def _masters(attached: FabricPods) -> Iterator[Diagnostic]:
    """W533: an address on a rail of which the pod is not known."""
    nets = [net for rail in attached.request.rails if (net := networks.subnet(rail.subnet))]
    for name, one in attached.variables().items():
        host = networks.address(one.value.rpartition(":")[0] or one.value) if name in MASTERS else None
        fixed = networks.address(attached.request.attachment.address) if attached.request.attachment.address else None
        if host and host != fixed and any(host in net for net in nets):
            message = f"{name} is {host}, an address of {attached.fabric}, and bayplan does not know which pod gets it"
            hint = "remove it: pods find rank 0 by name, and RDMA does not follow it; or set `address` of `fabric`"
            yield error("W533", one.route, message, hint=hint)


def _refused(route: Route, why: str, hint: str = "remove `address`: pods find rank 0 by name") -> Diagnostic:
    return error("W533", route, f"the rendezvous cannot use the fabric: {why}", hint=hint)


# Variables of NCCL and Gloo, compared with the attached interfaces and devices (NCCL 2.30, `env.rst`).

SOCKET, DEVICES, GID = "NCCL_SOCKET_IFNAME", "NCCL_IB_HCA", "NCCL_IB_GID_INDEX"


def check_sockets(attached: FabricPods) -> Iterator[Diagnostic]:
    """W532, W539."""
    declared = attached.variables()
    for name, present in (
        (SOCKET, (attached.request.primary, *interfaces(attached.request))),
        (DEVICES, hcas(attached.request)),
    ):
        if name in declared and declared[name].value[:1] not in ("=", "^"):
            yield from _prefix_match(name, declared[name], present)
    if GID in declared and not declared[GID].topology:
        message = f"{GID} is a row of each node's address table, and the right row may differ between nodes"
        hint = "remove it: since 2.21 NCCL finds the row itself; if the cluster needs it, set it in `env` of the fabric"
        yield warning("W532", declared[GID].route, message, hint=hint)
    yield from _socket_interfaces(attached, declared.get(SOCKET), declared.get(GLOO))
    yield from _devices(attached, declared.get(DEVICES))


def _prefix_match(name: str, one: DeclaredValue, present: tuple[str, ...]) -> Iterator[Diagnostic]:
    """W532. The hint names the interfaces or devices of the pod that match."""
    first = one.value.partition(",")[0]
    begun = [each for part in one.value.split(",") for each in _meant_by(part, present)]
    if not one.value:
        message = f"{name} is empty, so NCCL chooses among all that it sees"
        yield warning("W532", one.route, message, hint="remove it: bayplan sets it to those of the pod")
    elif begun or not present:
        message = f'NCCL reads "{first}" in {name} as a prefix, which also matches "{first}0"'
        exact = ",".join(dict.fromkeys(begun)) or one.value
        yield warning("W532", one.route, message, hint=f'write "={exact}" for exact names')


def _meant_by(part: str, present: tuple[str, ...]) -> Iterator[str]:
    """The name itself if the pod has it, otherwise those that begin with it. A port (mlx5_0:1) stays with the name."""
    plain, colon, port = part.partition(":")
    names = [plain] if plain in present else [each for each in present if each.startswith(plain)]
    return (f"{each}{colon}{port}" for each in names)


def _socket_interfaces(attached: FabricPods, *declared: DeclaredValue | None) -> Iterator[Diagnostic]:
    """W532. bayplan does not know the interfaces of a node or of claimed cards without an `interface`."""
    own = interfaces(attached.request)
    unknown = attached.request.fabric.kind == "dranet" and len(own) < len(attached.request.rails)
    if attached.request.fabric.kind == "hostnetwork" or unknown:
        return
    present = (attached.request.primary, *own)
    for one in (each for each in declared if each and each.value):
        if one is declared[-1] and one.value[0] in "=^":
            continue  # `attachments.py` reports that this is not a name
        exact = one.value[:1] == "=" or one is declared[-1]
        lost = [name for name in one.value.lstrip("=").split(",") if not _meant(name, present, exact)]
        if lost and one.value[:1] != "^":
            message = f'{attached.title} has no interface "{lost[0]}"; its interfaces: {listing(present, "and")}'
            yield error("W532", one.route, message, hint="name one of them, or remove the variable")


def _meant(name: str, present: tuple[str, ...], exact: bool) -> bool:
    plain = name.partition(":")[0]
    return plain in present if exact else any(each.startswith(plain) for each in present)


def _devices(attached: FabricPods, declared: DeclaredValue | None) -> Iterator[Diagnostic]:
    """W532: the list and the rails differ; W539: the list has more names than NCCL reads."""
    request = attached.request
    all_named = all(hca(request, number) for number in range(len(request.rails)))
    present = hcas(request)
    if declared and declared.value and all_named and request.rails and (why := hca_difference(declared.value, present)):
        message = f"NCCL_IB_HCA does not match the rails of {attached.title}: {why}"
        hint = "remove it: bayplan sets it to the devices of the attached rails"
        yield error("W532", declared.route, message, hint=hint)
    if not declared and len(present) > MOST_HCAS and request.vendor in NCCL:
        message = f"{attached.title} has {len(present)} RDMA devices, and NCCL reads at most {MOST_HCAS} in NCCL_IB_HCA"
        yield error("W539", attached.route, message, hint="attach fewer rails with `rails`")


CHECKS = (
    *(_pool, _interfaces, _host_interface, _resources, _annotations, _host_network),
    *(check_sockets, check_rendezvous, check_claims),
)


def check_fabric_pods(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """All findings about podSets on a fabric."""
    for attached in _fabric_pods(workflow, topology):
        yield from tuple(numbers(attached)) or (diagnostic for each in CHECKS for diagnostic in each(attached))


def _fabric_pods(workflow: Workflow, topology: ClusterTopology) -> Iterator[FabricPods]:
    """PodSets whose fabric and pool exist."""
    namespace = workflow.namespace or topology.defaults.get("namespace", "")
    pools = pools_of(workflow, topology)
    for place in pod_sets(workflow):
        pool = pools.get(place.route)
        request = fabric_request(place.pods, topology, namespace, pool) if pool else None
        if request:
            yield FabricPods(place, request, topology)
