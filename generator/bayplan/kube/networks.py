"""Secondary networks as their objects describe them, whoever wrote them: one shape for the six kinds of objects.

Sources: Network Operator 26.7 (manifests/state-*-network: what each becomes), SR-IOV Network Operator
(api/v1/helper.go), Multus 4.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bayplan.diagnostics import Route
from bayplan.kube.multus import RESOURCE
from bayplan.kube.objects import group, kind, name, namespace
from bayplan.kube.safe import get, items, mapping, text
from bayplan.model.manifest import Object
from bayplan.values import NamedTuple

NVIDIA, SRIOV, MULTUS = "mellanox.com", "sriovnetwork.openshift.io", "k8s.cni.cncf.io"
PLUGINS = {"macvlan": "macvlan", "ipoib": "ipoib", "host-device": "hostdevice", "sriov": "sriov", "ib-sriov": "sriov"}
"""CNI plugin -> the kind of fabric that it attaches pods to."""

KINDS: Mapping[tuple[str, str], tuple[str, str]] = {
    (NVIDIA, "MacvlanNetwork"): ("macvlan", ""),
    (NVIDIA, "IPoIBNetwork"): ("ipoib", "infiniband"),
    (NVIDIA, "HostDeviceNetwork"): ("hostdevice", ""),
    (SRIOV, "SriovNetwork"): ("sriov", "ethernet"),
    (SRIOV, "SriovIBNetwork"): ("sriov", "infiniband"),
    (SRIOV, "OVSNetwork"): ("spectrumx", "ethernet"),
}
"""API group and kind -> the kind of fabric, and its links where the object says them."""

DEFAULT_SPACE = ("MacvlanNetwork", "IPoIBNetwork")
"""Kinds whose network stands in `default` where the object names no namespace (Network Operator, pkg/state)."""


class Network(NamedTuple):
    """A network that pods can ask for."""

    object: Object
    kind: str  # of fabric; empty: none that is known
    name: str
    namespace: str = ""
    link_type: str = ""
    resource: str = ""  # the extended resource that its devices are of; of SR-IOV networks without a prefix
    master: str = ""
    mtu: int = 0
    ipam: str | None = None  # as text: JSON
    ipam_route: Route = ()
    chained: tuple[str, ...] = ()  # plugins behind the first

    @property
    def title(self) -> str:
        """`fabric/rail-0`."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def networks(objects: Iterable[Object]) -> Iterator[Network]:
    """Every network among some objects; several objects may stand for one network."""
    for one in objects:
        if (group(one), kind(one)) in KINDS:
            yield _wanted(one)
        elif (group(one), kind(one)) == (MULTUS, "NetworkAttachmentDefinition"):
            yield _attachment(one)


def _wanted(one: Object) -> Network:
    fabric, links = KINDS[group(one), kind(one)]
    spec = mapping(one.data, "spec")
    resource = text(spec, "resourceName")
    if fabric == "hostdevice" and resource:
        resource = f"nvidia.com/{resource}"
    space = text(spec, "networkNamespace") or ("default" if kind(one) in DEFAULT_SPACE else "")
    mtu = get(spec, "mtu")
    return Network(
        one,
        fabric,
        name(one),
        space or (namespace(one) if group(one) == SRIOV else ""),
        links,
        resource,
        text(spec, "master"),
        mtu if isinstance(mtu, int) else 0,
        get(spec, "ipam") if isinstance(get(spec, "ipam"), str) else None,
        (*one.route, "spec", "ipam"),
        chained(text(spec, "metaPlugins")),
    )


def chained(meta: str) -> tuple[str, ...]:
    """The types of plugins that stand one behind the other, without the brackets of a list."""
    data = parsed(f"[{meta}]")
    return tuple(text(each, "type") for each in data if text(each, "type")) if isinstance(data, list) else ()


def parsed(source: str) -> Any:
    """The data of a JSON text; None where it is none."""
    import json

    try:
        return json.loads(source)
    except (ValueError, RecursionError):
        return None


def _attachment(one: Object) -> Network:
    """A NetworkAttachmentDefinition: its `config` is one plugin, or a list of them."""
    route = (*one.route, "spec", "config")
    config = parsed(text(one.data, "spec", "config"))
    plugins = items(config, "plugins") or ([config] if isinstance(config, dict) else ())
    first = plugins[0] if plugins else None
    plugin, mtu = text(first, "type"), get(first, "mtu")
    links = {"ipoib": "infiniband", "ib-sriov": "infiniband", "sriov": "ethernet"}.get(plugin, "")
    return Network(
        one,
        PLUGINS.get(plugin, ""),
        name(one),
        namespace(one),
        links,
        text(one.data, "metadata", "annotations", RESOURCE),
        text(first, "master"),
        mtu if isinstance(mtu, int) else 0,
        _dumped(get(first, "ipam")),
        route,
        tuple(text(each, "type") for each in plugins[1:]),
    )


def _dumped(ipam: Any) -> str | None:
    if not isinstance(ipam, dict) or not ipam:
        return None
    import json

    return json.dumps(ipam)
