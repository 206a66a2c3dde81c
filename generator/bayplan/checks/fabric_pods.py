"""Of podSets on a fabric."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Note, Route, error, info, warning
from bayplan.core.phrases import listing
from bayplan.core.values import NamedTuple
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
    """A podSet, what it asks of its fabric, and the cluster."""

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
        """Where the fabric stands."""
        return ("topology", "spec", "fabrics", self.request.fabric.name)

    def layers(self) -> tuple[Layer, ...]:
        """The templates that are laid over its pods."""
        return layers(self.place.pods, self.place.route, self.topology, self.request.pool.name)

    def variables(self) -> Mapping[str, DeclaredValue]:
        """What the podSet's libraries are told."""
        return declared_values(self.place.pods, self.place.route, self.topology, self.request.pool.name)


# Network cards that are claimed through DRA.


def check_claims(attached: FabricPods) -> Iterator[Diagnostic]:
    """W538 to W540."""
    if attached.request.fabric.kind != DRANET:
        return
    yield from _claimed_twice(attached)
    yield from _aligned(attached)
    requests = dranet.requests(attached.request)
    if requests > dranet.MOST_REQUESTS:
        message = (
            f"{attached.title} claims {requests} devices one by one, and a claim holds {dranet.MOST_REQUESTS} requests"
        )
        yield error("W540", attached.route, message, hint="attach fewer with `rails`")


def _claimed_twice(attached: FabricPods) -> Iterator[Diagnostic]:
    """W538: a card that both DRA and a device plugin hand out."""
    notes = (Note("the fabric is here", attached.origin),)
    if attached.request.fabric.injector:
        message = "the network-resources-injector adds devices of a plugin to pods whose cards are claimed through DRA"
        yield error("W538", attached.route, message, hint="switch it off, and say `injector: false`", notes=notes)
    for resource, other in _others(attached):
        if resource in attached.place.pods.resources:
            message = f"{resource} is a card of {attached.fabric}, which is claimed: {other} hands it out as a resource"
            at = (*attached.place.route, "resources", resource)
            yield error("W538", at, message, hint="remove it: one party hands a card out")


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
    """W539: GPUs and cards that share no PCIe root, and nothing else says which are near each other."""
    request = attached.request
    if not request.together or dranet.neighbours(request.pool) or request.cards == request.pool.node.accelerators:
        return
    bare = [number for number, rail in enumerate(request.rails) if rail.numa is None and not rail.selectors]
    if bare:
        message = (
            f'in pool "{request.pool.name}" no GPU shares a PCIe root with a card: a constraint on it is never met, and'
            f" rail {bare[0]} of {attached.fabric} says no NUMA node either"
        )
        notes = (Note("the fabric is here", attached.origin),)
        yield error("W539", attached.route, message, hint="add `numa:` to its rails, or take whole nodes", notes=notes)


# Settings of a podSet that repeat or override what its fabric sets.

OURS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(NETWORKED, (NETWORKS,)),
    "gke": ("networking.gke.io/default-interface", "networking.gke.io/interfaces"),
}
"""Kind -> the annotations that it writes."""


def _resources(attached: FabricPods) -> Iterator[Diagnostic]:
    """W525: devices that the fabric asks for already; more of them than attachments would stand idle, fewer fail."""
    ours = amounts(attached.place.pods, attached.topology)
    for name, amount, route in _own_resources(attached):
        if name in ours:
            message = (
                f"{attached.fabric} asks for {ours[name]} {name} already, as many as it attaches; here it is {amount}"
            )
            yield error("W525", route, message, hint="remove it: resources of rails come with `fabric`")


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
    """W526: an annotation that would take the place of ours."""
    for template, route, what in attached.layers():
        for key in OURS.get(attached.request.fabric.kind, ()):
            if mapping(template, "metadata", "annotations").get(key) is not None:
                message = (
                    f"the {what} has the annotation {key}, which would take the place of that for {attached.fabric}"
                )
                hint = "remove it, and make its networks rails of the fabric"
                yield error("W526", (*route, "metadata", "annotations", key), message, hint=hint)


def _host_network(attached: FabricPods) -> Iterator[Diagnostic]:
    """W536: Multus does nothing for pods in their node's network."""
    kind = attached.request.fabric.kind
    if kind in (*NETWORKED, "gke") and on_host(attached.place.pods, attached.request.fabric, attached.request.pool):
        _, route = template_value(attached.layers(), "spec", "hostNetwork")
        message = f"{attached.title} uses its node's network, and so no network of {attached.fabric} is attached"
        yield error("W536", route, message, hint="remove `hostNetwork`, or use a fabric of kind hostnetwork")


# The rails of a podSet, and the names of their interfaces.


def numbers(attached: FabricPods) -> Iterator[Diagnostic]:
    """W520: rails that there are not."""
    rails = attached.request.fabric.rails
    for index, number in enumerate(attached.request.attachment.rails):
        if number >= len(rails):
            message = f"{attached.fabric} has no rail {number}: it has {len(rails)}, counted from 0"
            notes = (Note("the fabric is here", attached.origin),)
            hint = "leave `rails` out for all of them"
            yield error("W520", (*attached.route, "rails", index), message, hint=hint, notes=notes)


def _pool(attached: FabricPods) -> Iterator[Diagnostic]:
    """W521: nodes that hang on other fabrics."""
    pool = attached.request.pool
    if pool.node.fabrics is None or attached.request.fabric.name in pool.node.fabrics:
        return
    able = [each.name for each in fabric_pools(attached.topology, attached.request.fabric.name)]
    has = listing(pool.node.fabrics, "and") if pool.node.fabrics else "none"
    message = f'{attached.title} runs in pool "{pool.name}", whose nodes are not on {attached.fabric}: they have {has}'
    hint = f"choose the pool {listing(able)}" if able else "add the fabric to `fabrics` of the pool's node"
    yield error("W521", attached.route, message, hint=hint)


def _interfaces(attached: FabricPods) -> Iterator[Diagnostic]:
    """W527: names that no interface can have beside the others."""
    if attached.request.fabric.kind not in (*NETWORKED, "gke", "dranet"):
        return
    taken = {attached.request.primary: "the primary network"}
    for number, name in enumerate(interfaces(attached.request)):
        why = bad_interface(name) if name not in taken else f"is that of {taken[name]}"
        if why:
            message = f'{attached.title}: the name "{name}" of the interface on rail {number} {why}'
            notes = (Note("the fabric is here", attached.origin),)
            hint = "give each rail an `interface` of its own, or none any"
            yield error("W527", attached.route, message, hint=hint, notes=notes)
        taken.setdefault(name, f"rail {number}")


def _host_interface(attached: FabricPods) -> Iterator[Diagnostic]:
    """W544: the topology does not say which interface of the node to use."""
    if (
        attached.request.fabric.kind == "hostnetwork"
        and attached.request.attachment.bootstrap == "primary"
        and not (attached.variables().keys() & {"GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"})
    ):
        message = f"{attached.fabric} does not say which interface of the node NCCL and Gloo start on: they choose one"
        hint = "say GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME in `env` of the fabric"
        yield info("W544", attached.route, message, hint=hint)


# Rendezvous over a fabric.
#
# Services and DNS know a pod by its primary address alone, so a rendezvous over a fabric needs an address that is
# known beforehand: a fixed one of rank 0.

FIXED = ("nv-ipam", "static", "host-local")
"""IPAM plugins that give a pod the address it asks for (nvidia-k8s-ipam, docs/static-ip.md; CNI plugins static and
host-local, `ips` among the arguments). whereabouts and DHCP choose themselves."""

DYNAMIC = re.compile(r"rdzv[-_]backend[=\s]+['\"]?(c10d|etcd)")


def check_rendezvous(attached: FabricPods) -> Iterator[Diagnostic]:
    """W533 to W535."""
    if attached.request.attachment.address:
        yield from _fixed(attached)
    if attached.request.attachment.bootstrap == "fabric" and not interfaces(attached.request):
        message = (
            f"{attached.fabric} of kind {attached.request.fabric.kind} gives pods no interface whose name is known"
        )
        hint = "leave `bootstrap` out: what is sent by RDMA does not follow it"
        yield error("W534", (*attached.route, "bootstrap"), message, hint=hint)
    yield from _masters(attached)


def _fixed(attached: FabricPods) -> Iterator[Diagnostic]:
    """W533: why rank 0 cannot have the address, or why nobody would find it there."""
    request, route = attached.request, (*attached.route, "address")
    rail = request.rails[0] if request.rails else None
    if request.fabric.kind not in NETWORKED or not rail or not rail.network:
        yield _refused(
            route, f"{attached.fabric} of kind {request.fabric.kind} has no network with addresses of its own"
        )
        return
    if request.fabric.ipam.kind not in FIXED:
        declared = request.fabric.ipam.kind or "nobody says which"
        hint = f"use an `ipam` of type {listing(FIXED)}, or leave `address` out"
        yield _refused(route, f"the addresses of {attached.fabric} are given out by {declared}, not asked for", hint)
    if attached.place.pods.replicas != 1:
        hint = "give rank 0 a podSet of its own with `replicas: 1`, before the others"
        yield _refused(
            route, f"{attached.title} has {attached.place.pods.replicas} pods, and an address is one pod's", hint
        )
    yield from _in_subnet(attached, route)
    # A process learns that it hosts the c10d store by comparing the endpoint with its host's names and addresses, which
    # leave out those of a second network (PyTorch, torch/distributed/elastic/rendezvous/utils.py).
    words = " ".join((*attached.place.pods.command, *attached.place.pods.args))
    if DYNAMIC.search(words) and "is_host" not in words:
        message = "with c10d no process would know that rank 0 is to host the store: the address is of a second network"
        yield _refused(route, message, "leave the backend out: torchrun's static one is given all that it needs")


def _in_subnet(attached: FabricPods, route: Route) -> Iterator[Diagnostic]:
    text, rail = attached.request.attachment.address, attached.request.rails[0]
    own, whole, net = networks.address(text), networks.subnet(text), networks.subnet(rail.subnet)
    if own is None or whole is None:
        yield _refused(route, f'"{text}" is no address with a prefix', "such as 10.0.0.10/24")
    elif net and (own not in net or whole != net):
        yield _refused(route, f"{text} is not in {rail.subnet}, the subnet of rail 0", f"choose one of {rail.subnet}")
    elif net and not networks.hosts(net).holds(own):
        yield _refused(route, f"{own} is not an address that a pod of {rail.subnet} can have", "choose another")
    elif own == networks.address(rail.gateway):
        yield _refused(route, f"{own} is the gateway of rail 0", "choose another")


def _masters(attached: FabricPods) -> Iterator[Diagnostic]:
    """W535: an address on a rail that no pod is known to have."""
    nets = [net for rail in attached.request.rails if (net := networks.subnet(rail.subnet))]
    for name, one in attached.variables().items():
        host = networks.address(one.value.rpartition(":")[0] or one.value) if name in MASTERS else None
        fixed = networks.address(attached.request.attachment.address) if attached.request.attachment.address else None
        if host and host != fixed and any(host in net for net in nets):
            message = f"{name} is {host}, an address of {attached.fabric}, and no pod is known to have it"
            hint = "leave it out: rank 0 is found by name, and RDMA does not follow it; or see `address` of `fabric`"
            yield error("W535", one.route, message, hint=hint)


def _refused(route: Route, why: str, hint: str = "leave `address` out: rank 0 is found by name") -> Diagnostic:
    return error("W533", route, f"no rendezvous over the fabric: {why}", hint=hint)


# Variables of NCCL and Gloo, compared with the attached interfaces and devices (NCCL 2.30, `env.rst`).

SOCKET, DEVICES, GID = "NCCL_SOCKET_IFNAME", "NCCL_IB_HCA", "NCCL_IB_GID_INDEX"


def check_sockets(attached: FabricPods) -> Iterator[Diagnostic]:
    """W530 to W532, W543, W546."""
    declared = attached.variables()
    for name, present in (
        (SOCKET, (attached.request.primary, *interfaces(attached.request))),
        (DEVICES, hcas(attached.request)),
    ):
        if name in declared and declared[name].value[:1] not in ("=", "^"):
            yield from _prefix_match(name, declared[name], present)
    if GID in declared and not declared[GID].topology:
        message = f"{GID} is the number of a row in a table of the node, which need not be the same on all of them"
        hint = (
            "leave it out: since 2.21 NCCL finds the row itself; what the cluster needs goes into `env` of the fabric"
        )
        yield warning("W531", declared[GID].route, message, hint=hint)
    yield from _socket_interfaces(attached, declared.get(SOCKET), declared.get(GLOO))
    yield from _devices(attached, declared.get(DEVICES))


def _prefix_match(name: str, one: DeclaredValue, present: tuple[str, ...]) -> Iterator[Diagnostic]:
    """W530. The hint is what is meant, of what the pods have."""
    first = one.value.partition(",")[0]
    begun = [each for part in one.value.split(",") for each in _meant_by(part, present)]
    if not one.value:
        message = f"an empty {name} names nothing, and NCCL chooses among all that it sees"
        yield warning("W530", one.route, message, hint="leave it out: bayplan says which are the pod's")
    elif begun or not present:
        message = f'NCCL takes "{first}" in {name} for the beginning of a name: "{first}0" is meant, too'
        exact = ",".join(dict.fromkeys(begun)) or one.value
        yield warning("W530", one.route, message, hint=f'write "={exact}"')


def _meant_by(part: str, present: tuple[str, ...]) -> Iterator[str]:
    """The name itself, where there is one, else those that begin with it; a port (mlx5_0:1) goes with it."""
    plain, colon, port = part.partition(":")
    names = [plain] if plain in present else [each for each in present if each.startswith(plain)]
    return (f"{each}{colon}{port}" for each in names)


def _socket_interfaces(attached: FabricPods, *declared: DeclaredValue | None) -> Iterator[Diagnostic]:
    """W532. What the interfaces of a node are called is not known, nor those of claimed cards that nobody names."""
    own = interfaces(attached.request)
    unknown = attached.request.fabric.kind == "dranet" and len(own) < len(attached.request.rails)
    if attached.request.fabric.kind == "hostnetwork" or unknown:
        return
    present = (attached.request.primary, *own)
    for one in (each for each in declared if each and each.value):
        if one is declared[-1] and one.value[0] in "=^":
            continue  # that is no name at all (W529)
        exact = one.value[:1] == "=" or one is declared[-1]
        lost = [name for name in one.value.lstrip("=").split(",") if not _meant(name, present, exact)]
        if lost and one.value[:1] != "^":
            message = f'{attached.title} has no interface "{lost[0]}": it has {listing(present, "and")}'
            yield error("W532", one.route, message, hint="name one of them, or leave the variable out")


def _meant(name: str, present: tuple[str, ...], exact: bool) -> bool:
    plain = name.partition(":")[0]
    return plain in present if exact else any(each.startswith(plain) for each in present)


def _devices(attached: FabricPods, declared: DeclaredValue | None) -> Iterator[Diagnostic]:
    """W543: the list and the rails differ; W546: a list that NCCL does not read to its end."""
    request = attached.request
    all_named = all(hca(request, number) for number in range(len(request.rails)))
    present = hcas(request)
    if declared and declared.value and all_named and request.rails and (why := hca_difference(declared.value, present)):
        message = f"NCCL_IB_HCA and the rails of {attached.title} differ: {why}"
        hint = "leave it out: bayplan lists the devices of the rails that are attached"
        yield error("W543", declared.route, message, hint=hint)
    if not declared and len(present) > MOST_HCAS and request.vendor in NCCL:
        message = f"{attached.title} has {len(present)} RDMA devices, and NCCL reads {MOST_HCAS} of NCCL_IB_HCA"
        yield error("W546", attached.route, message, hint="attach fewer with `rails`")


CHECKS = (
    *(_pool, _interfaces, _host_interface, _resources, _annotations, _host_network),
    *(check_sockets, check_rendezvous, check_claims),
)


def check_fabric_pods(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """What is wrong with each of them."""
    for attached in _fabric_pods(workflow, topology):
        yield from tuple(numbers(attached)) or (diagnostic for each in CHECKS for diagnostic in each(attached))


def _fabric_pods(workflow: Workflow, topology: ClusterTopology) -> Iterator[FabricPods]:
    """PodSets whose fabric there is, with their pool as far as it is known."""
    namespace = workflow.namespace or topology.defaults.get("namespace", "")
    pools = pools_of(workflow, topology)
    for place in pod_sets(workflow):
        pool = pools.get(place.route)
        request = fabric_request(place.pods, topology, namespace, pool) if pool else None
        if request:
            yield FabricPods(place, request, topology)
