"""Where processes meet.

Services and DNS know a pod by its primary address alone, so a rendezvous over a fabric needs an address that is known
beforehand: a fixed one of rank 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from bayplan.checks.attachments.seen import Seen
from bayplan.diagnostics import Diagnostic, Route, error
from bayplan.fabrics.hanging import NETWORKED
from bayplan.fabrics.kinds import interfaces
from bayplan.fabrics.pods import MASTERS
from bayplan.kube import addresses
from bayplan.words import listing

FIXED = ("nv-ipam", "static", "host-local")
"""IPAM plugins that give a pod the address it asks for (nvidia-k8s-ipam, docs/static-ip.md; CNI plugins static and
host-local, `ips` among the arguments). whereabouts and DHCP choose themselves."""

DYNAMIC = re.compile(r"rdzv[-_]backend[=\s]+['\"]?(c10d|etcd)")


def check(seen: Seen) -> Iterator[Diagnostic]:
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
    own, whole, net = addresses.address(text), addresses.subnet(text), addresses.subnet(rail.subnet)
    if own is None or whole is None:
        yield _refused(route, f'"{text}" is no address with a prefix', "such as 10.0.0.10/24")
    elif net and (own not in net or whole != net):
        yield _refused(route, f"{text} is not in {rail.subnet}, the subnet of rail 0", f"choose one of {rail.subnet}")
    elif net and not addresses.hosts(net).holds(own):
        yield _refused(route, f"{own} is not an address that a pod of {rail.subnet} can have", "choose another")
    elif own == addresses.address(rail.gateway):
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
    nets = [net for rail in seen.asked.rails if (net := addresses.subnet(rail.subnet))]
    for name, one in seen.variables().items():
        host = addresses.address(one.value.rpartition(":")[0] or one.value) if name in MASTERS else None
        fixed = addresses.address(seen.asked.asked.address) if seen.asked.asked.address else None
        if host and host != fixed and any(host in net for net in nets):
            message = f"{name} is {host}, an address of {seen.fabric}, and no pod is known to have it"
            hint = "leave it out: rank 0 is found by name, and RDMA does not follow it; or see `address` of `fabric`"
            yield error("W535", one.route, message, hint=hint)


def _refused(route: Route, why: str, hint: str = "leave `address` out: rank 0 is found by name") -> Diagnostic:
    return error("W533", route, f"no rendezvous over the fabric: {why}", hint=hint)
