"""Objects of the SR-IOV operator: what its webhook refuses, and networks against the policies behind them.

Source: SR-IOV Network Operator, pkg/webhook/validate.go and the CRDs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Note, Route, error, warning
from bayplan.core.phrases import did_you_mean, listing
from bayplan.core.values import NamedTuple
from bayplan.kube.networks import NVIDIA, SRIOV, parsed
from bayplan.kube.objects import get, items, kind, mapping, namespace, number_in, text, title
from bayplan.linting.objects import LintContext, same_namespace
from bayplan.model.manifest import Object

NAME = re.compile(r"[a-zA-Z0-9]([a-zA-Z0-9_-]*[a-zA-Z0-9])?")
SELECTORS = ("vendor", "deviceID", "pfNames", "rootDevices", "netFilter")
LINKS = {"SriovNetwork": "eth", "SriovIBNetwork": "ib"}
REQUIRED = ("resourceName", "nodeSelector", "numVfs", "nicSelector")


def check_sriov(context: LintContext) -> Iterator[Diagnostic]:
    """M848, M850."""
    policies = context.of(SRIOV, "SriovNetworkNodePolicy")
    for one in policies:
        yield from _policy(one)
    for each in LINKS:
        for one in context.of(SRIOV, each):
            yield from _name(one)
            yield from _policy_of(one, [policy for policy in policies if _serves(policy, one)], bool(policies))


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
    yield from _virtual_functions(one)


def _virtual_functions(one: Object) -> Iterator[Diagnostic]:
    """Ranges of functions in names of ports: `ens1f0#0-3`."""
    spec, route = mapping(one.data, "spec"), (*one.route, "spec")
    most = number_in(spec, "numVfs")
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


def _serves(policy: Object, network: Object) -> bool:
    found = text(policy.data, "spec", "resourceName") == text(network.data, "spec", "resourceName")
    return found and same_namespace(namespace(policy), namespace(network))


def _policy_of(one: Object, policies: list[Object], policies_exist: bool) -> Iterator[Diagnostic]:
    name = text(one.data, "spec", "resourceName")
    route: Route = (*one.route, "spec", "resourceName")
    if policies_exist and not policies:
        message = f'no policy here makes functions of the resource "{name}"'
        yield warning("M850", route, message, hint="add a SriovNetworkNodePolicy with that `resourceName`")
    for policy in policies:
        links = text(policy.data, "spec", "linkType").lower()
        if links and links != LINKS[kind(one)]:
            other = next(each for each in LINKS if each != kind(one))
            message = f'{title(one)} is a network over {LINKS[kind(one)]}, and its functions have the links "{links}"'
            notes = (Note("they are made here", (*policy.route, "spec", "linkType")),)
            yield error("M848", (*one.route, "kind"), message, hint=f"make it a {other}", notes=notes)


# The configurations of both device plugins, JSON texts in a policy, and resources that networks take from them.
#
# Sources: schemas of the Network Operator's webhook (26.7, off by default), SR-IOV Network Device Plugin 3.11
# (ValidResourceName), k8s-rdma-shared-dev-plugin.

DOMAIN = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z]{2,})+")
ACCEPTED = re.compile(r"[A-Za-z0-9_-]+")


class Plugin(NamedTuple):
    """A device plugin: key of its list, selectors, the names that the webhook takes."""

    entries: str
    selectors: tuple[str, ...]
    names: re.Pattern[str]
    prefix: str


PLUGINS: Mapping[str, Plugin] = {
    "rdmaSharedDevicePlugin": Plugin(
        "configList",
        ("vendors", "deviceIDs", "drivers", "ifNames", "linkTypes"),
        re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"),
        "rdma",
    ),
    "sriovDevicePlugin": Plugin(
        "resourceList",
        (
            *("vendors", "devices", "drivers", "pciAddresses", "pfNames", "rootDevices", "linkTypes", "ddpProfiles"),
            *("isRdma", "needVhostNet", "vdpaType", "auxTypes", "acpiIndexes", "pKeys"),
        ),
        re.compile(r"([A-Za-z0-9][A-Za-z0-9_.]*)?[A-Za-z0-9]"),
        "intel.com",
    ),
}


def check_plugins(context: LintContext) -> Iterator[Diagnostic]:
    """M851, and M850 for networks whose resource no plugin offers."""
    offered: dict[str, set[str]] = {}
    sriov_config = False
    for policy in ("NicClusterPolicy", "NicNodePolicy"):
        for one in context.of(NVIDIA, policy):
            for key, plugin in PLUGINS.items():
                config = get(one.data, "spec", key, "config")
                if config is not None:
                    yield from _config(one, key, plugin, config)
                    sriov_config |= key == "sriovDevicePlugin"
                    _offer(offered, plugin, parsed(config) if isinstance(config, str) else None)
    for one in context.of(NVIDIA, "HostDeviceNetwork") if sriov_config else ():
        yield from _offered(one, offered)


def _offer(offered: dict[str, set[str]], plugin: Plugin, config: Any) -> None:
    for each in items(config, plugin.entries):
        prefix = text(each, "resourcePrefix") or plugin.prefix
        offered.setdefault(text(each, "resourceName"), set()).add(prefix)


def _offered(one: Object, offered: Mapping[str, set[str]]) -> Iterator[Diagnostic]:
    """FAB05: the operator writes nvidia.com/ before the name, whatever the plugin does."""
    name, route = text(one.data, "spec", "resourceName"), (*one.route, "spec", "resourceName")
    if name and name not in offered:
        message = f'no device plugin here offers "{name}"'
        hint = did_you_mean(name, offered) or f"offered: {listing(sorted(offered), 'and', 4)}"
        yield warning("M850", route, message, hint=hint)
    elif name and "nvidia.com" not in offered[name]:
        has = sorted(offered[name])[0]
        message = f"{title(one)} takes nvidia.com/{name}, and the plugin offers {has}/{name}"
        yield error("M850", route, message, hint="add `resourcePrefix: nvidia.com` to the plugin's configuration")


def _config(one: Object, key: str, plugin: Plugin, config: Any) -> Iterator[Diagnostic]:
    route: Route = (*one.route, "spec", key, "config")
    data = parsed(config) if isinstance(config, str) else None
    if not isinstance(data, dict):
        message = f"`{key}.config` of {title(one)} is no JSON, and the plugin does not start"
        yield error("M851", route, message, hint=f'write {{"{plugin.entries}": [...]}}')
        return
    if not items(data, plugin.entries):
        message = f"`{key}.config` lists no resources"
        yield error("M851", route, message, hint=f"add `{plugin.entries}`")
    for number, each in enumerate(items(data, plugin.entries)):
        for message, hint, grave in _entry(key, plugin, each):
            severity = error if grave else warning
            yield severity("M851", route, f"entry {number} of `{key}.config`: {message}", hint=hint)


def _entry(key: str, plugin: Plugin, entry: Any) -> Iterator[tuple[str, str, bool]]:
    name, prefix = text(entry, "resourceName"), text(entry, "resourcePrefix")
    sriov = key == "sriovDevicePlugin"
    if not name:
        yield "it names no resource", "add `resourceName`", True
    elif sriov and not ACCEPTED.fullmatch(name):
        yield f'the plugin refuses the name "{name}"', "letters, digits, dashes and underscores", True
    elif not plugin.names.fullmatch(name):
        yield f'the operator\'s webhook, where it is on, refuses the name "{name}"', "such as rail_0", False
    if prefix and not DOMAIN.fullmatch(prefix):
        hint = "such as nvidia.com"
        yield f'the operator\'s webhook, where it is on, refuses the prefix "{prefix}": it is no domain', hint, False
    if not sriov and (number_in(entry, "rdmaHcaMax") or 0) < 1:
        yield "it says not how many pods may share a card", "add `rdmaHcaMax`, such as 63", True
    yield from _selectors(plugin, entry, sriov)


def _selectors(plugin: Plugin, entry: Any, sriov: bool) -> Iterator[tuple[str, str, bool]]:
    given = get(entry, "selectors")
    listed = items(entry, "selectors") if isinstance(given, list) else [given] if isinstance(given, dict) else []
    named = [key for each in listed for key in mapping(each) if get(each, key) not in (None, [], "", False)]
    if not named and not items(entry, "devices"):
        yield "it selects no card", f"add `selectors` with any of {', '.join(plugin.selectors[:5])}", True
    for key in dict.fromkeys(key for each in listed for key in mapping(each)):
        if key not in plugin.selectors:
            hint = did_you_mean(key, plugin.selectors) or f"it has {', '.join(plugin.selectors[:9])}"
            yield f'the plugin has no selector "{key}"', hint, True
