"""Names of extended resources and of interfaces, by whoever defines them.

Sources: Network Operator 26.7 api/v1alpha1/validator (its webhook is off by default, so that a bad name shows up only
when pods wait), k8s-rdma-shared-dev-plugin, SR-IOV Network Device Plugin 3.11 pkg/utils (ValidResourceName), SR-IOV
Network Operator pkg/webhook/validate.go, spectrum-x-operator v1alpha2.
"""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.checks.networks.kinds import FABRICS
from bayplan.diagnostics import Diagnostic, Route, error, info, warning
from bayplan.kube.multus import bad_interface
from bayplan.model.fabric import Fabric, Rail

EFA = "vpc.amazonaws.com/efa"
NVIDIA = "nvidia.com"
SHARED = "rdma"


def check(fabric: Fabric) -> Iterator[Diagnostic]:
    """T600 (FAB05), once for each resource, and T611 (FAB04)."""
    told: set[tuple[str, str]] = set()
    for index, rail in enumerate(fabric.rails):
        route: Route = (*FABRICS, fabric.name, "rails", index)
        one = (rail.resource, rail.network if fabric.kind == "spectrumx" else "")
        if rail.resource and one not in told:
            told.add(one)
            yield from _resource(fabric, rail, (*route, "resource"))
        if rail.interface and fabric.kind != "hostnetwork":
            yield from _interface(fabric, rail.interface, (*route, "interface"))


def _resource(fabric: Fabric, rail: Rail, route: Route) -> Iterator[Diagnostic]:
    prefix, slash, name = rail.resource.rpartition("/")
    if not slash:
        message = f'"{rail.resource}" is no extended resource: it has no prefix'
        yield error("T600", route, message, hint=f"such as {NVIDIA}/{rail.resource}")
        return
    if fabric.kind in ("hostdevice", "spectrumx"):
        yield from _nvidia(fabric.kind, rail, prefix, name, route)
    elif fabric.kind == "sriov" and "." in name:
        yield from _plugin(rail.resource, name, route)
    elif fabric.kind == "none" and not fabric.shared:
        yield from _verbs(rail.resource, prefix, name, route)
    elif fabric.kind in ("macvlan", "ipoib") and prefix != SHARED and "." not in prefix:
        message = f'the shared device plugin has the prefix "{SHARED}", and "{prefix}" is no domain'
        yield warning("T600", route, message, hint=f"write {SHARED}/{name}")
    elif fabric.kind == "efa" and rail.resource != EFA:
        yield warning("T600", route, f'AWS calls its cards {EFA}, not "{rail.resource}"', hint=f"write {EFA}")


def _nvidia(kind: str, rail: Rail, prefix: str, name: str, route: Route) -> Iterator[Diagnostic]:
    if prefix != NVIDIA:
        why = "HostDeviceNetworks" if kind == "hostdevice" else "the networks of Spectrum-X"
        message = f'{why} take devices of {NVIDIA}/, never of "{prefix}/"'
        yield error("T600", route, message, hint=f"write {NVIDIA}/{name}, and `resourcePrefix: {NVIDIA}` in the plugin")
        return
    if kind == "spectrumx":
        network = rail.network.rpartition("/")[2]
        if network and network != name:
            message = f'a rail of Spectrum-X gives its network and its resource one name; here "{network}" and "{name}"'
            yield error("T600", route, message, hint=f"write {NVIDIA}/{network}")
        return
    yield from _plugin(rail.resource, name, route)


def _verbs(resource: str, prefix: str, name: str, route: Route) -> Iterator[Diagnostic]:
    if "." not in prefix:
        message = f'the prefix of "{resource}" is no domain: the Network Operator\'s webhook refuses it where it is on'
        yield info("T600", route, message, hint="fine as AKS has it, without the webhook; else such as nvidia.com")
    yield from _plugin(resource, name, route)


def _plugin(resource: str, name: str, route: Route) -> Iterator[Diagnostic]:
    """The SR-IOV plugin takes no dots and may have dashes; the Network Operator's webhook, which judges the plugin's
    configuration in its policy, the other way round. The SR-IOV operator writes a configuration of its own."""
    if "." in name:
        message = f'the SR-IOV device plugin refuses "{resource}": the name has a dot'
        yield error("T600", route, message, hint=f'write "{name.replace(".", "_")}"')
    elif "-" in name:
        message = (
            f'the Network Operator\'s webhook refuses the dash in "{resource}" of the SR-IOV plugin where it is on'
        )
        yield warning("T600", route, message, hint=f'write "{name.replace("-", "_")}"')


def _interface(fabric: Fabric, name: str, route: Route) -> Iterator[Diagnostic]:
    why = bad_interface(name)
    if why and not (fabric.kind == "gke" and name == "eth0"):
        yield error("T611", route, f'the interface "{name}" {why}', hint="such as net1")
