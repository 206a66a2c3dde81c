"""Variables by which NCCL and Gloo choose their interfaces (FAB12).

Sources: NCCL 2.30 user guide (NCCL_SOCKET_IFNAME takes prefixes, `=` makes them exact), PyTorch's Gloo (one name).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.diagnostics import Diagnostic, Route, error, warning
from bayplan.kube.objects import namespace
from bayplan.kube.safe import get, items, text
from bayplan.kube.templates import containers
from bayplan.linting.networks.scene import Asking, Scene
from bayplan.linting.world import World
from bayplan.words import listing

GLOO, NCCL, GID = "GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "NCCL_IB_GID_INDEX"
PRIMARY = "eth0"


def check(world: World, known: Scene) -> Iterator[Diagnostic]:
    """M852."""
    asking = {each.template.route: each for each in known.asking}
    for template in world.templates:
        for route, container in containers(template):
            for index, each in enumerate(items(container, "env")):
                here = (*route, "env", index, "value")
                if text(each, "value"):
                    yield from _variable(world, asking.get(template.route), each, here)


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
