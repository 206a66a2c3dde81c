"""Variables by which NCCL and Gloo choose their interfaces (FAB12).

Sources: NCCL 2.30 user guide (NCCL_SOCKET_IFNAME takes prefixes, `=` makes them exact), PyTorch's Gloo (one name).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.diagnostics import Diagnostic, Route, error, warning
from bayplan.fabrics.pods import MASTERS, hca_difference
from bayplan.kube import addresses as ip
from bayplan.kube.multus import NETWORKS, read
from bayplan.kube.objects import namespace
from bayplan.kube.safe import get, items, text
from bayplan.kube.templates import PodTemplate, containers
from bayplan.linting.networks.scene import Asking, Scene
from bayplan.linting.world import World
from bayplan.words import listing

GLOO, NCCL, GID, HCA = "GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "NCCL_IB_GID_INDEX", "NCCL_IB_HCA"
MNNVL = "NCCL_MNNVL_ENABLE"
PRIMARY = "eth0"


def check(world: World, known: Scene) -> Iterator[Diagnostic]:
    """M852, M861, M863."""
    asking = {each.template.route: each for each in known.asking}
    for template in world.templates:
        for route, container in containers(template):
            for index, each in enumerate(items(container, "env")):
                here = (*route, "env", index, "value")
                if text(each, "value"):
                    yield from _variable(world, asking.get(template.route), each, here)
                    yield from _nvlink(template, each, here)


def _variable(world: World, asking: Asking | None, entry: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    name, value = text(entry, "name"), text(entry, "value")
    if name == GLOO and value[0] in "=^":
        message = f'Gloo takes the name of one interface, and "{value}" is none'
        yield error("M852", route, message, hint=f"write {value.lstrip('=^') if value[0] == '=' else PRIMARY}")
    elif name == GID and not any(GID in each.env for each in world.topology.fabrics.values()):
        message = "NCCL finds the GID by itself since 2.21; a number that is right on one node is wrong on another"
        yield warning("M852", route, message, hint="take the variable out")
    elif name in (GLOO, NCCL) and asking is not None and get(asking.template.spec, "hostNetwork") is not True:
        yield from _interfaces(world, asking, name, value, route)
    elif name == HCA and asking is not None:
        yield from _devices(asking, value, route)
    elif name in MASTERS and asking is not None:
        yield from _master(world, asking, name, value, route)


def _devices(asking: Asking, value: str, route: Route) -> Iterator[Diagnostic]:
    """The list against the rails of the topology that are attached."""
    rails = [one.rail for one in asking.found if one and one.rail and one.rail.hca]
    there = tuple(rail.hca for rail in rails) if rails and len(rails) == len(asking.found) else ()
    if value[0] not in "=^":
        first = value.partition(",")[0]
        message = f'NCCL takes "{first}" in {HCA} for the beginning of a name: "{first}0" is meant, too'
        hint = f'write "={",".join(there)}"' if there else 'write "=" before the whole names'
        yield warning("M852", route, message, hint=hint)
    if there and (why := hca_difference(value, there)):
        message = f"{HCA} and the rails that the pod is on differ: {why}"
        yield error("M852", route, message, hint=f'write "={",".join(there)}"')


def _master(world: World, asking: Asking, name: str, value: str, route: Route) -> Iterator[Diagnostic]:
    """M861: an address on a rail, which nobody is known to have."""
    host = ip.address(value.rpartition(":")[0] or value)
    nets = [net for one in asking.found if one and one.rail and (net := ip.subnet(one.rail.subnet))]
    if host and any(host in net for net in nets) and host not in _fixed(world):
        message = f"{name} is {host}, an address of a rail, and no pod is known to have it"
        hint = "name the Service of rank 0: RDMA does not follow it; or have rank 0 ask for the address (`ips`)"
        yield error("M861", route, message, hint=hint)


def _fixed(world: World) -> frozenset[Any]:
    """Addresses that some pod asks for."""
    given = (text(each.annotations, NETWORKS) for each in world.templates)
    ips = (one for each in filter(None, given) for found in read(each).selections for one in items(found.data, "ips"))
    return frozenset(ip.address(one.partition("/")[0]) for one in ips if isinstance(one, str))


def _nvlink(template: PodTemplate, entry: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    """M863: channels of a ComputeDomain are claimed, so a pod without claims is in none (NCCL 2.30, `env.rst`)."""
    if text(entry, "name") == MNNVL and text(entry, "value") == "1" and not items(template.spec, "resourceClaims"):
        message = f"{MNNVL}=1 fails outside of a ComputeDomain, and the pod claims no channel of one"
        hint = "leave it out: NCCL uses NVLink between nodes wherever there is any"
        yield warning("M863", route, message, hint=hint)


def _interfaces(world: World, asking: Asking, name: str, value: str, route: Route) -> Iterator[Diagnostic]:
    exact = value.startswith("=") or name == GLOO
    if value.startswith("^") or asking.annotation.faults:  # M842: how its networks are counted is not known
        return
    words = [each for each in value.lstrip("=").split(",") if each]
    home = world.topology.namespaces.get(namespace(asking.template.object))
    there = [home.primary_interface if home and home.primary_interface else PRIMARY, *asking.annotation.interfaces()]
    lost = [each for each in words if not any(one == each if exact else one.startswith(each) for one in there)]
    if lost:
        message = f'{name} names "{lost[0]}", and the pod has {listing(there, "and", 4)}'
        yield error("M852", route, message, hint="name an interface that the pod has")
    elif not exact:
        message = f'{name} means every interface that begins with "{words[0] if words else value}"'
        yield warning("M852", route, message, hint=f'write "={value}"')
