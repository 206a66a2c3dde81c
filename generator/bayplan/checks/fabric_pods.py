"""Of podSets on a fabric."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Note, Route, error, info, warning
from bayplan.core.phrases import listing
from bayplan.core.values import NamedTuple
from bayplan.fabrics import DRANET, NETWORKED, Wanted, amounts, dranet, on_host, wanted
from bayplan.fabrics import pools_of as requests_pools_of
from bayplan.fabrics.kinds import interfaces
from bayplan.fabrics.pods import MASTERS, MOST_HCAS, NCCL, hca, hca_difference, hcas
from bayplan.kube import networks
from bayplan.kube.networks import bad_interface
from bayplan.kube.objects import items, mapping
from bayplan.kube.pod import NETWORKS
from bayplan.model.topology import ClusterTopology, Fabric, Rail
from bayplan.model.workflow import Place, Workflow, pod_sets
from bayplan.planning.declared import GLOO, Layer, Said, layers, said, written
from bayplan.planning.pools import pools_of

# What the checks of podSets on a fabric look at.


class Seen(NamedTuple):
    """A podSet, what it asks of its fabric, and the cluster."""

    place: Place
    asked: Wanted
    topology: ClusterTopology

    @property
    def title(self) -> str:
        """`podSet "worker"`."""
        return f'podSet "{self.place.pods.name}"'

    @property
    def fabric(self) -> str:
        """`fabric "rails"`."""
        return f'fabric "{self.asked.fabric.name}"'

    @property
    def route(self) -> Route:
        """Where the podSet names its fabric."""
        return (*self.place.route, "fabric")

    @property
    def origin(self) -> Route:
        """Where the fabric stands."""
        return ("topology", "spec", "fabrics", self.asked.fabric.name)

    def layers(self) -> tuple[Layer, ...]:
        """The templates that are laid over its pods."""
        return layers(self.place.pods, self.place.route, self.topology, self.asked.pool.name)

    def variables(self) -> Mapping[str, Said]:
        """What the podSet's libraries are told."""
        return said(self.place.pods, self.place.route, self.topology, self.asked.pool.name)


# Network cards that are claimed through DRA.


def check_claims(seen: Seen) -> Iterator[Diagnostic]:
    """W538 to W540."""
    if seen.asked.fabric.kind != DRANET:
        return
    yield from _twice(seen)
    yield from _aligned(seen)
    asked = dranet.requests(seen.asked)
    if asked > dranet.MOST_REQUESTS:
        message = f"{seen.title} claims {asked} devices one by one, and a claim holds {dranet.MOST_REQUESTS} requests"
        yield error("W540", seen.route, message, hint="attach fewer with `rails`")


def _twice(seen: Seen) -> Iterator[Diagnostic]:
    """W538: one card that two parties hand out."""
    notes = (Note("the fabric is here", seen.origin),)
    if seen.asked.fabric.injector:
        message = "the network-resources-injector adds devices of a plugin to pods whose cards are claimed through DRA"
        yield error("W538", seen.route, message, hint="switch it off, and say `injector: false`", notes=notes)
    for resource, other in _others(seen):
        asked = resource in seen.place.pods.resources
        if asked:
            message = f"{resource} is a card of {seen.fabric}, which is claimed: {other} hands it out as a resource"
            at = (*seen.place.route, "resources", resource)
            yield error("W538", at, message, hint="remove it: one party hands a card out")


def _others(seen: Seen) -> Iterator[tuple[str, str]]:
    """Resources of other fabrics for the cards of this one."""
    mine = {name for rail in seen.asked.fabric.rails for name in _names(rail)}
    for fabric in seen.topology.fabrics.values():
        for rail in fabric.rails if _beside(seen, fabric) else ():
            if rail.resource and mine & set(_names(rail)):
                yield rail.resource, f'fabric "{fabric.name}"'


def _beside(seen: Seen, fabric: Fabric) -> bool:
    return fabric.name != seen.asked.fabric.name


def _names(rail: Rail) -> Iterator[tuple[str, str]]:
    yield from (("hca", rail.hca),) if rail.hca else ()
    yield from (("device", rail.device),) if rail.device else ()


def _aligned(seen: Seen) -> Iterator[Diagnostic]:
    """W539: GPUs and cards that share no PCIe root, and nothing else says which are near each other."""
    asked = seen.asked
    if not asked.together or dranet.neighbours(asked.pool) or asked.cards == asked.pool.node.accelerators:
        return
    bare = [number for number, rail in enumerate(asked.rails) if rail.numa is None and not rail.selectors]
    if bare:
        message = (
            f'in pool "{asked.pool.name}" no GPU shares a PCIe root with a card: a constraint on it is never met, and'
            f" rail {bare[0]} of {seen.fabric} says no NUMA node either"
        )
        notes = (Note("the fabric is here", seen.origin),)
        yield error("W539", seen.route, message, hint="add `numa:` to its rails, or take whole nodes", notes=notes)


# What a podSet says itself of what its fabric brings: a second word for one thing.

OURS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(NETWORKED, (NETWORKS,)),
    "gke": ("networking.gke.io/default-interface", "networking.gke.io/interfaces"),
}
"""Kind -> the annotations that it writes."""


def check_overrides(seen: Seen) -> Iterator[Diagnostic]:
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


# Which rails a podSet has, and how their interfaces are called.


def numbers(seen: Seen) -> Iterator[Diagnostic]:
    """W520: rails that there are not."""
    rails = seen.asked.fabric.rails
    for index, number in enumerate(seen.asked.asked.rails):
        if number >= len(rails):
            message = f"{seen.fabric} has no rail {number}: it has {len(rails)}, counted from 0"
            notes = (Note("the fabric is here", seen.origin),)
            hint = "leave `rails` out for all of them"
            yield error("W520", (*seen.route, "rails", index), message, hint=hint, notes=notes)


def check_rails(seen: Seen) -> Iterator[Diagnostic]:
    """W521, W527, W544."""
    yield from _pool(seen)
    yield from _interfaces(seen)
    yield from _rails_host(seen)


def _pool(seen: Seen) -> Iterator[Diagnostic]:
    """W521: nodes that hang on other fabrics."""
    pool = seen.asked.pool
    if pool.node.fabrics is None or seen.asked.fabric.name in pool.node.fabrics:
        return
    able = [each.name for each in requests_pools_of(seen.topology, seen.asked.fabric.name)]
    has = listing(pool.node.fabrics, "and") if pool.node.fabrics else "none"
    message = f'{seen.title} runs in pool "{pool.name}", whose nodes are not on {seen.fabric}: they have {has}'
    hint = f"choose the pool {listing(able)}" if able else "add the fabric to `fabrics` of the pool's node"
    yield error("W521", seen.route, message, hint=hint)


def _interfaces(seen: Seen) -> Iterator[Diagnostic]:
    """W527: names that no interface can have beside the others."""
    if seen.asked.fabric.kind not in (*NETWORKED, "gke", "dranet"):
        return
    taken = {seen.asked.primary: "the primary network"}
    for number, name in enumerate(interfaces(seen.asked)):
        why = bad_interface(name) if name not in taken else f"is that of {taken[name]}"
        if why:
            message = f'{seen.title}: the name "{name}" of the interface on rail {number} {why}'
            notes = (Note("the fabric is here", seen.origin),)
            hint = "give each rail an `interface` of its own, or none any"
            yield error("W527", seen.route, message, hint=hint, notes=notes)
        taken.setdefault(name, f"rail {number}")


def _rails_host(seen: Seen) -> Iterator[Diagnostic]:
    """W544: nobody knows the node's interface."""
    told = seen.variables().keys() & {"GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"}
    if seen.asked.fabric.kind == "hostnetwork" and seen.asked.asked.bootstrap == "primary" and not told:
        message = f"{seen.fabric} does not say which interface of the node NCCL and Gloo start on: they choose one"
        hint = "say GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME in `env` of the fabric"
        yield info("W544", seen.route, message, hint=hint)


# Where processes meet.
#
# Services and DNS know a pod by its primary address alone, so a rendezvous over a fabric needs an address that is
# known beforehand: a fixed one of rank 0.

FIXED = ("nv-ipam", "static", "host-local")
"""IPAM plugins that give a pod the address it asks for (nvidia-k8s-ipam, docs/static-ip.md; CNI plugins static and
host-local, `ips` among the arguments). whereabouts and DHCP choose themselves."""

DYNAMIC = re.compile(r"rdzv[-_]backend[=\s]+['\"]?(c10d|etcd)")


def check_rendezvous(seen: Seen) -> Iterator[Diagnostic]:
    """W533 to W535."""
    if seen.asked.asked.address:
        yield from _fixed(seen)
    if seen.asked.asked.bootstrap == "fabric" and not interfaces(seen.asked):
        message = f"{seen.fabric} of kind {seen.asked.fabric.kind} gives pods no interface whose name is known"
        hint = "leave `bootstrap` out: what is sent by RDMA does not follow it"
        yield error("W534", (*seen.route, "bootstrap"), message, hint=hint)
    yield from _masters(seen)


def _fixed(seen: Seen) -> Iterator[Diagnostic]:
    """W533: why rank 0 cannot have the address, or why nobody would find it there."""
    asked, route = seen.asked, (*seen.route, "address")
    rail = asked.rails[0] if asked.rails else None
    if asked.fabric.kind not in NETWORKED or not rail or not rail.network:
        yield _refused(route, f"{seen.fabric} of kind {asked.fabric.kind} has no network with addresses of its own")
        return
    if asked.fabric.ipam.kind not in FIXED:
        told = asked.fabric.ipam.kind or "nobody says which"
        hint = f"use an `ipam` of type {listing(FIXED)}, or leave `address` out"
        yield _refused(route, f"the addresses of {seen.fabric} are given out by {told}, not asked for", hint)
    if seen.place.pods.replicas != 1:
        hint = "give rank 0 a podSet of its own with `replicas: 1`, before the others"
        yield _refused(route, f"{seen.title} has {seen.place.pods.replicas} pods, and an address is one pod's", hint)
    yield from _in_subnet(seen, route)
    yield from _backend(seen, route)


def _in_subnet(seen: Seen, route: Route) -> Iterator[Diagnostic]:
    text, rail = seen.asked.asked.address, seen.asked.rails[0]
    own, whole, net = networks.address(text), networks.subnet(text), networks.subnet(rail.subnet)
    if own is None or whole is None:
        yield _refused(route, f'"{text}" is no address with a prefix', "such as 10.0.0.10/24")
    elif net and (own not in net or whole != net):
        yield _refused(route, f"{text} is not in {rail.subnet}, the subnet of rail 0", f"choose one of {rail.subnet}")
    elif net and not networks.hosts(net).holds(own):
        yield _refused(route, f"{own} is not an address that a pod of {rail.subnet} can have", "choose another")
    elif own == networks.address(rail.gateway):
        yield _refused(route, f"{own} is the gateway of rail 0", "choose another")


def _backend(seen: Seen, route: Route) -> Iterator[Diagnostic]:
    """Which process hosts a c10d store is found by comparing the endpoint with the host's own names and addresses, and
    those of a second network are missed (PyTorch, torch/distributed/elastic/rendezvous/utils.py)."""
    words = " ".join((*seen.place.pods.command, *seen.place.pods.args))
    if DYNAMIC.search(words) and "is_host" not in words:
        message = "with c10d no process would know that rank 0 is to host the store: the address is of a second network"
        hint = "leave the backend out: torchrun's static one is given all that it needs"
        yield _refused(route, message, hint)


def _masters(seen: Seen) -> Iterator[Diagnostic]:
    """W535: an address on a rail that no pod is known to have."""
    nets = [net for rail in seen.asked.rails if (net := networks.subnet(rail.subnet))]
    for name, one in seen.variables().items():
        host = networks.address(one.value.rpartition(":")[0] or one.value) if name in MASTERS else None
        fixed = networks.address(seen.asked.asked.address) if seen.asked.asked.address else None
        if host and host != fixed and any(host in net for net in nets):
            message = f"{name} is {host}, an address of {seen.fabric}, and no pod is known to have it"
            hint = "leave it out: rank 0 is found by name, and RDMA does not follow it; or see `address` of `fabric`"
            yield error("W535", one.route, message, hint=hint)


def _refused(route: Route, why: str, hint: str = "leave `address` out: rank 0 is found by name") -> Diagnostic:
    return error("W533", route, f"no rendezvous over the fabric: {why}", hint=hint)


# What NCCL and Gloo are told, against what is attached (NCCL 2.30, `env.rst`).

SOCKET, DEVICES, GID = "NCCL_SOCKET_IFNAME", "NCCL_IB_HCA", "NCCL_IB_GID_INDEX"


def check_sockets(seen: Seen) -> Iterator[Diagnostic]:
    """W530 to W532, W543, W546."""
    told = seen.variables()
    for name, there in ((SOCKET, (seen.asked.primary, *interfaces(seen.asked))), (DEVICES, hcas(seen.asked))):
        if name in told and told[name].value[:1] not in ("=", "^"):
            yield from _loose(name, told[name], there)
    if GID in told and not told[GID].topology:
        message = f"{GID} is the number of a row in a table of the node, which need not be the same on all of them"
        hint = (
            "leave it out: since 2.21 NCCL finds the row itself; what the cluster needs goes into `env` of the fabric"
        )
        yield warning("W531", told[GID].route, message, hint=hint)
    yield from _sockets_interfaces(seen, told.get(SOCKET), told.get(GLOO))
    yield from _devices(seen, told.get(DEVICES))


def _loose(name: str, one: Said, there: tuple[str, ...]) -> Iterator[Diagnostic]:
    """W530. The hint is what is meant, of what the pods have."""
    first = one.value.partition(",")[0]
    begun = [each for part in one.value.split(",") for each in _meant_by(part, there)]
    if not one.value:
        message = f"an empty {name} names nothing, and NCCL chooses among all that it sees"
        yield warning("W530", one.route, message, hint="leave it out: bayplan says which are the pod's")
    elif begun or not there:
        message = f'NCCL takes "{first}" in {name} for the beginning of a name: "{first}0" is meant, too'
        exact = ",".join(dict.fromkeys(begun)) or one.value
        yield warning("W530", one.route, message, hint=f'write "={exact}"')


def _meant_by(part: str, there: tuple[str, ...]) -> Iterator[str]:
    """The name itself, where there is one, else those that begin with it; a port (mlx5_0:1) goes with it."""
    plain, colon, port = part.partition(":")
    names = [plain] if plain in there else [each for each in there if each.startswith(plain)]
    return (f"{each}{colon}{port}" for each in names)


def _sockets_interfaces(seen: Seen, *told: Said | None) -> Iterator[Diagnostic]:
    """W532. What the interfaces of a node are called is not known, nor those of claimed cards that nobody names."""
    own = interfaces(seen.asked)
    unknown = seen.asked.fabric.kind == "dranet" and len(own) < len(seen.asked.rails)
    if seen.asked.fabric.kind == "hostnetwork" or unknown:
        return
    there = (seen.asked.primary, *own)
    for one in (each for each in told if each and each.value):
        if one is told[-1] and one.value[0] in "=^":
            continue  # that is no name at all (W529)
        names = one.value.lstrip("=").split(",")
        exact = one.value[:1] == "=" or one is told[-1]
        lost = [name for name in names if not _meant(name, there, exact)]
        if lost and one.value[:1] != "^":
            message = f'{seen.title} has no interface "{lost[0]}": it has {listing(there, "and")}'
            yield error("W532", one.route, message, hint="name one of them, or leave the variable out")


def _meant(name: str, there: tuple[str, ...], exact: bool) -> bool:
    plain = name.partition(":")[0]
    return plain in there if exact else any(each.startswith(plain) for each in there)


def _devices(seen: Seen, told: Said | None) -> Iterator[Diagnostic]:
    """W543: the list and the rails differ; W546: a list that NCCL does not read to its end."""
    asked = seen.asked
    known = all(hca(asked, number) for number in range(len(asked.rails)))
    there = hcas(asked)
    if told and told.value and known and asked.rails and (why := hca_difference(told.value, there)):
        message = f"NCCL_IB_HCA and the rails of {seen.title} differ: {why}"
        hint = "leave it out: bayplan lists the devices of the rails that are attached"
        yield error("W543", told.route, message, hint=hint)
    if not told and len(there) > MOST_HCAS and asked.vendor in NCCL:
        message = f"{seen.title} has {len(there)} RDMA devices, and NCCL reads {MOST_HCAS} of NCCL_IB_HCA"
        yield error("W546", seen.route, message, hint="attach fewer with `rails`")


CHECKS = (check_rails, check_overrides, check_sockets, check_rendezvous, check_claims)


def check_fabric_pods(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """What is wrong with each of them."""
    for seen in _seen(workflow, topology):
        wrong = tuple(numbers(seen))
        yield from wrong or (found for each in CHECKS for found in each(seen))


def _seen(workflow: Workflow, topology: ClusterTopology) -> Iterator[Seen]:
    """PodSets whose fabric there is, with their pool as far as it is known."""
    namespace = workflow.namespace or topology.defaults.get("namespace", "")
    known = pools_of(workflow, topology)
    for place in pod_sets(workflow):
        pool = known.get(place.route)
        asked = wanted(place.pods, topology, namespace, pool) if pool else None
        if asked:
            yield Seen(place, asked, topology)
