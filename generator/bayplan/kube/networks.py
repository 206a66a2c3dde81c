"""Secondary networks as their objects describe them: one type for the six kinds of objects.

Sources: Network Operator 26.7 (manifests/state-*-network: what each becomes), SR-IOV Network Operator
(api/v1/helper.go), Multus 4.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, NamedTuple

from bayplan.core.diagnostics import Route
from bayplan.kube.objects import get, group, items, kind, mapping, name, namespace, text
from bayplan.kube.objects import text as text_of
from bayplan.model.manifest import Object

# The annotation by which pods request networks of Multus, read as Multus 4.3 does (`pkg/k8sclient/k8sclient.go`).
#
# A string with a bracket, a brace or a quote is a JSON list; any other is a list of
# `[NAMESPACE/]NAME[@INTERFACE]`.

RESOURCE = "k8s.v1.cni.cncf.io/resourceName"
"""On a NetworkAttachmentDefinition: the extended resource whose device the network moves into the pod."""

KEYS = (
    *("name", "namespace", "ips", "mac", "infiniband-guid", "interface", "portMappings", "bandwidth", "cni-args"),
    *("default-route", "ipam-claim-reference"),
)
"""Keys of a JSON entry. Multus ignores others without a message."""

NAMED = ("name", "namespace", "interface")
"""Keys that the short form also has."""

LONGEST = 15
"""The most characters of an interface's name (Linux, IFNAMSIZ without the end)."""

LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
NAME = r"[a-z0-9]([-.a-z0-9]*[a-z0-9])?"


class Selection(NamedTuple):
    """One network that a pod requests."""

    name: str
    namespace: str = ""  # empty: the pod's
    interface: str = ""
    data: Mapping[str, Any] = {}  # the entry, if it is JSON

    @property
    def title(self) -> str:
        """`fabric/rail-0`."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Annotation(NamedTuple):
    """The networks, and the reasons why Multus refuses the annotation, so that its pods never start."""

    selections: tuple[Selection, ...] = ()
    faults: tuple[str, ...] = ()

    @property
    def fault(self) -> str:
        """The first fault, which is the one that Multus reports."""
        return self.faults[0] if self.faults else ""

    def interfaces(self) -> tuple[str, ...]:
        """The name of each interface in the pod: `net1`, `net2`, ... by place, unless the entry names it."""
        return tuple(each.interface or f"net{place}" for place, each in enumerate(self.selections, 1))


def read(text: str) -> Annotation:
    """The networks of an annotation."""
    if any(mark in text for mark in '[{"'):
        return _json(text)
    return _annotation([_short(each.strip()) for each in text.split(",")] if text.strip() else [])


def _annotation(entries: Sequence[Selection | str]) -> Annotation:
    sound = tuple(each for each in entries if not isinstance(each, str))
    return Annotation(sound, tuple(dict.fromkeys(each for each in entries if isinstance(each, str))))


def _short(text: str) -> Selection | str:
    """`fabric/rail-0@net1`."""
    front, at, interface = text.partition("@")
    parts = front.split("/")
    if len(parts) > 2 or "@" in interface or (at and not interface):
        return f'"{text}" does not have the form [NAMESPACE/]NAME[@INTERFACE]'
    name, space = parts[-1], parts[0] if len(parts) == 2 else ""
    return _sound(Selection(name, space, interface), len(parts) == 2)


def _sound(one: Selection, placed: bool) -> Selection | str:
    if not re.fullmatch(NAME, one.name):
        return f'"{one.name}" is not the name of a network, which has lower-case letters, digits and dashes'
    if placed and not re.fullmatch(LABEL, one.namespace):
        return f'"{one.namespace}" is not the name of a namespace'
    return one


def _json(text: str) -> Annotation:
    import json

    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as reason:
        return Annotation(faults=(f"it is not valid JSON: {reason}",))
    if not isinstance(data, list):
        return Annotation(faults=("JSON must be a list with one mapping for each network",))
    return _annotation([_entry(each) for each in data])


def _entry(data: Any) -> Selection | str:
    if not isinstance(data, dict):
        return "an entry of the list is not a mapping"
    wrong = [key for key in ("name", "namespace", "interface") if not isinstance(data.get(key, ""), str)]
    if wrong or not data.get("name"):
        return f"`{wrong[0] if wrong else 'name'}` of an entry must be a string"
    space = text_of(data, "namespace")
    return _sound(Selection(data["name"], space, text_of(data, "interface"), data), bool(space))


def same(one: Any, other: Any) -> bool:
    """Whether two annotations attach the same networks under the same names, in any form."""
    if not isinstance(one, str) or not isinstance(other, str) or one == other:
        return bool(one == other)
    left, right = read(one), read(other)
    return not (left.fault or right.fault) and _plain(left) == _plain(right)


def _plain(read: Annotation) -> list[Any]:
    """Each network with its interface and the other keys of its entry."""
    other_keys = ({key: value for key, value in each.data.items() if key not in NAMED} for each in read.selections)
    return list(zip((each.title for each in read.selections), read.interfaces(), other_keys, strict=True))


def unknown_keys(selections: Sequence[Selection]) -> Iterator[str]:
    """Keys that Multus does not know."""
    yield from dict.fromkeys(key for each in selections for key in each.data if key not in KEYS)


def bad_interface(name: str) -> str:
    """The reason why a second interface of a pod cannot have the name, as the end of a sentence; empty if it can."""
    if len(name) > LONGEST:
        return f"has {len(name)} characters; Linux allows at most {LONGEST}"
    if "/" in name or any(each.isspace() for each in name) or not name.isprintable() or name in (".", ".."):
        return "is not valid: it has a slash or a blank, or is a dot"
    return "is the one of the pod's own interface" if name in ("eth0", "lo") else ""


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
"""API group and kind -> the kind of fabric, and its links if the kind determines them."""

DEFINITION = (MULTUS, "NetworkAttachmentDefinition")

DEFAULT_SPACE = ("MacvlanNetwork", "IPoIBNetwork")
"""Kinds whose network is in `default` if the object has no namespace (Network Operator, pkg/state)."""


class Network(NamedTuple):
    """A network that pods can request."""

    object: Object
    kind: str  # of fabric; empty: unknown
    name: str
    namespace: str = ""
    link_type: str = ""
    resource: str = ""  # the extended resource of its devices; for SR-IOV networks without a prefix
    master: str = ""
    mtu: int = 0
    ipam: str | None = None  # JSON as a string
    ipam_route: Route = ()
    chained: tuple[str, ...] = ()  # plugins after the first

    @property
    def title(self) -> str:
        """`fabric/rail-0`."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def networks(objects: Iterable[Object]) -> Iterator[Network]:
    """Every network among some objects; several objects may describe one network."""
    for one in objects:
        if (known := (group(one), kind(one))) in KINDS:
            yield _wanted(one)
        elif known == DEFINITION:
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
    """The types of plugins of a list without its brackets."""
    data = parsed(f"[{meta}]")
    return tuple(text(each, "type") for each in data if text(each, "type")) if isinstance(data, list) else ()


def parsed(source: str) -> Any:
    """The data of a JSON string; None if it is not JSON."""
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
    return Network(
        one,
        PLUGINS.get(plugin, ""),
        name(one),
        namespace(one),
        {"ipoib": "infiniband", "ib-sriov": "infiniband", "sriov": "ethernet"}.get(plugin, ""),
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


# Addresses of secondary networks: subnets, and the addresses that pods can get from them.

Address = IPv4Address | IPv6Address
Subnet = IPv4Network | IPv6Network


class Span(NamedTuple):
    """Addresses from one to another, both included, as numbers."""

    first: int
    last: int

    @property
    def size(self) -> int:
        """The number of addresses."""
        return max(0, self.last - self.first + 1)

    def holds(self, address: Address) -> bool:
        """Whether the span includes the address."""
        return self.first <= int(address) <= self.last


def subnet(text: str) -> Subnet | None:
    """The subnet of a string (`10.0.0.5/24` is in 10.0.0.0/24); None if it has no prefix or is not valid."""
    try:
        return ip_network(text, strict=False) if "/" in text else None
    except ValueError:
        return None


def address(text: str) -> Address | None:
    """The address, without a prefix length; None if it is not valid."""
    try:
        return ip_address(text.partition("/")[0])
    except ValueError:
        return None


def host_bits(text: str) -> bool:
    """Whether a subnet is written with an address inside it instead of its first address."""
    net, start = subnet(text), address(text)
    return net is not None and start is not None and start != net.network_address


def hosts(net: Subnet) -> Span:
    """The addresses for pods: all of a point-to-point link; otherwise not the first and, for IPv4, not the last
    (`nvidia-k8s-ipam` v1alpha1 helpers.go, GetPossibleIPCount; whereabouts 0.9 does the same)."""
    first, last = int(net.network_address), int(net.broadcast_address)
    if net.prefixlen >= net.max_prefixlen - 1:
        return Span(first, last)
    return Span(first + 1, last - 1 if net.version == 4 else last)


def within(net: Subnet, start: str = "", end: str = "") -> Span:
    """The part of a subnet between two addresses, if they are given."""
    whole, low, high = hosts(net), address(start), address(end)
    return Span(max(whole.first, int(low)) if low else whole.first, min(whole.last, int(high)) if high else whole.last)


def left(span: Span, excluded: Iterable[Span]) -> int:
    """The number of addresses of a span that are not excluded."""
    return span.size - sum(each.size for each in _merged(span, excluded))


def _merged(span: Span, excluded: Iterable[Span]) -> Iterator[Span]:
    """The excluded addresses of the span, each once."""
    reached = span.first - 1
    for each in sorted(Span(max(each.first, span.first), min(each.last, span.last)) for each in excluded):
        first = max(each.first, reached + 1)
        if each.last >= first:
            yield Span(first, each.last)
            reached = each.last


def excluded(texts: Sequence[str]) -> Iterator[Span]:
    """Excluded addresses, and all addresses of excluded subnets."""
    for each in texts:
        net, one = subnet(each), address(each)
        if net is not None:
            yield Span(int(net.network_address), int(net.broadcast_address))
        elif one is not None:
            yield Span(int(one), int(one))


def block(net: Subnet, addresses: int, gateway: bool) -> int:
    """The length of the longest prefix whose subnet has this many addresses for pods, and one for a gateway."""
    wanted = addresses + gateway
    for length in range(net.max_prefixlen, -1, -1):
        size = 1 << (net.max_prefixlen - length)
        if (size if size < 3 else size - (2 if net.version == 4 else 1)) >= wanted:
            return length
    return 0
