"""Objects of the SR-IOV operator: what its webhook refuses, and networks against the policies behind them.

Source: SR-IOV Network Operator, pkg/webhook/validate.go and the CRDs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, Note, Route, error, warning
from bayplan.kube.networks import SRIOV
from bayplan.kube.objects import kind, namespace, title
from bayplan.kube.safe import get, items, mapping, number, text
from bayplan.linting.world import World, together
from bayplan.model.manifest import Object

NAME = re.compile(r"[a-zA-Z0-9]([a-zA-Z0-9_-]*[a-zA-Z0-9])?")
SELECTORS = ("vendor", "deviceID", "pfNames", "rootDevices", "netFilter")
LINKS = {"SriovNetwork": "eth", "SriovIBNetwork": "ib"}
REQUIRED = ("resourceName", "nodeSelector", "numVfs", "nicSelector")


def check(world: World) -> Iterator[Diagnostic]:
    """M848, M850."""
    policies = world.of(SRIOV, "SriovNetworkNodePolicy")
    for one in policies:
        yield from _policy(one)
    for each in LINKS:
        for one in world.of(SRIOV, each):
            yield from _name(one)
            yield from _behind(one, [policy for policy in policies if _same(policy, one)], bool(policies))


def _name(one: Object) -> Iterator[Diagnostic]:
    name = text(one.data, "spec", "resourceName")
    route: Route = (*one.route, "spec", "resourceName")
    if "/" in name:
        message = f'the operator puts its prefix before "{name}" by itself'
        yield error("M850", route, message, hint=f"write {name.rpartition('/')[2]}")
    elif not NAME.fullmatch(name):
        message = f'"{name}" is no name of a resource here: letters, digits, dashes and underscores'
        yield error("M850", route, message, hint="such as rail_0")


def _policy(one: Object) -> Iterator[Diagnostic]:
    spec, route = mapping(one.data, "spec"), (*one.route, "spec")
    for key in REQUIRED:
        if get(spec, key) is None:
            yield error("M850", route, f"{title(one)} has no `{key}`, which its CRD requires", hint=f"add `{key}`")
    if "resourceName" in spec:
        yield from _name(one)
    if "nicSelector" in spec and not any(get(spec, "nicSelector", key) for key in SELECTORS):
        message = f"{title(one)} selects no card"
        yield error("M850", (*route, "nicSelector"), message, hint="name a vendor, a device, ports or their addresses")
    if text(spec, "deviceType") == "vfio-pci" and get(spec, "isRdma") is True:
        message = "`deviceType: vfio-pci` takes the card away from the kernel, and `isRdma: true` needs it there"
        yield error("M850", (*route, "deviceType"), message, hint="write netdevice")
    if text(spec, "linkType").lower() == "ib" and text(spec, "eSwitchMode") == "switchdev":
        message = "`eSwitchMode: switchdev` is for Ethernet links"
        yield error("M850", (*route, "eSwitchMode"), message, hint="take it out")
    yield from _functions(one)


def _functions(one: Object) -> Iterator[Diagnostic]:
    """Ranges of functions in names of ports: `ens1f0#0-3`."""
    spec, route = mapping(one.data, "spec"), (*one.route, "spec")
    most = number(spec, "numVfs")
    if most == 0:
        message = f"{title(one)} makes no virtual functions"
        yield error("M850", (*route, "numVfs"), message, hint="1 or more")
    for index, each in enumerate(items(spec, "nicSelector", "pfNames")):
        found = re.fullmatch(r"[^#]+#(\d{1,4})-(\d{1,4})", each) if isinstance(each, str) and "#" in each else None
        if (
            isinstance(each, str)
            and "#" in each
            and (found is None or int(found[1]) > int(found[2]) or (most is not None and int(found[2]) >= most))
        ):
            message = f'"{each}" names no functions of a port that has {most}, counted from 0'
            yield error("M850", (*route, "nicSelector", "pfNames", index), message, hint="such as ens1f0#0-3")


def _same(policy: Object, network: Object) -> bool:
    found = text(policy.data, "spec", "resourceName") == text(network.data, "spec", "resourceName")
    return found and together(namespace(policy), namespace(network))


def _behind(one: Object, policies: list[Object], any_: bool) -> Iterator[Diagnostic]:
    name = text(one.data, "spec", "resourceName")
    route: Route = (*one.route, "spec", "resourceName")
    if any_ and not policies:
        message = f'no policy here makes functions of the resource "{name}"'
        yield warning("M850", route, message, hint="add a SriovNetworkNodePolicy with that `resourceName`")
    for policy in policies:
        links = text(policy.data, "spec", "linkType").lower()
        if links and links != LINKS[kind(one)]:
            other = next(each for each in LINKS if each != kind(one))
            message = f'{title(one)} is a network over {LINKS[kind(one)]}, and its functions have the links "{links}"'
            notes = (Note("they are made here", (*policy.route, "spec", "linkType")),)
            yield error("M848", (*one.route, "kind"), message, hint=f"make it a {other}", notes=notes)
