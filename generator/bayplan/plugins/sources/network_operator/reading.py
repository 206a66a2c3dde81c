"""Fabrics from the objects of the Network Operator and of Multus, as `kubectl get ... -o yaml` prints them.

The objects are MacvlanNetworks, IPoIBNetworks, HostDeviceNetworks, networks of SR-IOV and Spectrum-X, or their
NetworkAttachmentDefinitions. Policies and pools name the port, the resource and the addresses of each rail. Networks of
one kind are the rails of one fabric.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from ipaddress import summarize_address_range
from typing import Any, NamedTuple

from bayplan.plugin import (
    MULTUS,
    NVIDIA,
    SRIOV,
    ClusterTopology,
    Diagnostic,
    Fabric,
    Ipam,
    Network,
    NodeShape,
    Object,
    Outcome,
    Part,
    Pool,
    Rail,
    ReadOptions,
    Route,
    SourceFile,
    error,
    get,
    group,
    has_errors,
    info,
    items,
    kind,
    kube_objects,
    listing,
    mapping,
    name,
    namespace,
    natural,
    networks,
    number_in,
    parsed,
    text,
    title,
    warning,
)
from bayplan.plugin import pod_networks as ip
from bayplan.plugins.sources.network_operator import NAMESPACE

VENDOR = "15b3"
PREFIX = {"rdmaSharedDevicePlugin": "rdma", "sriovDevicePlugin": "intel.com"}
ENTRIES = {"rdmaSharedDevicePlugin": "configList", "sriovDevicePlugin": "resourceList"}


class Declared(NamedTuple):
    """The networks of one fabric."""

    resources: Mapping[str, str] = {}  # by title of the network, as the next
    devices: Mapping[str, str] = {}
    vendor_ids: tuple[str, ...] = ()
    device_ids: tuple[str, ...] = ()
    shares: int = 0
    mtu: int = 0
    link_type: str = ""


class Offer(NamedTuple):
    """A resource that a plugin or a policy makes from some devices."""

    resource: str
    ports: tuple[str, ...] = ()
    vendors: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    shares: int = 0
    mtu: int = 0


def _declared_ports(fabric: str, mine: Sequence[Network], objects: Sequence[Object]) -> Declared:
    if fabric in BY_KIND:
        return BY_KIND[fabric](mine, objects)
    return Declared(resources={each.title: each.resource for each in mine})


def _shared(mine: Sequence[Network], objects: Sequence[Object]) -> Declared:
    """The network names its port. The pool of the shared plugin names ports, or uses all devices of a kind."""
    offers = list(_offers("rdmaSharedDevicePlugin", objects))
    whole = [each for each in offers if not each.ports]
    chosen: dict[str, Offer] = {}
    for network in mine:
        named = [each for each in offers if network.master in each.ports]
        if named or len(whole) == 1:
            chosen[network.title] = (named or whole)[0]
    return _of(chosen, {})


def _exclusive(mine: Sequence[Network], objects: Sequence[Object]) -> Declared:
    by_name = {each.resource: each for each in _offers("sriovDevicePlugin", objects)}
    chosen = {each.title: by_name[each.resource] for each in mine if each.resource in by_name}
    result = _of(chosen, _ports_in_order(chosen))
    return result._replace(resources={each.title: each.resource for each in mine})


def _functions(mine: Sequence[Network], objects: Sequence[Object]) -> Declared:
    """SR-IOV: the network has the resource's name without the prefix, and so has the policy."""
    by_name = {each.resource: each for each in _policies(objects)}
    plain = {each.title: each.resource.rpartition("/")[2] for each in mine}
    chosen = {title: by_name[name] for title, name in plain.items() if name in by_name}
    result = _of(chosen, _ports_in_order(chosen))
    names = {each.title: each.resource if "/" in each.resource else f"nvidia.com/{each.resource}" for each in mine}
    return result._replace(resources={title: name for title, name in names.items() if plain[title]})


BY_KIND: Mapping[str, Callable[[Sequence[Network], Sequence[Object]], Declared]] = {
    "macvlan": _shared,
    "ipoib": _shared,
    "hostdevice": _exclusive,
    "sriov": _functions,
}


def _of(chosen: Mapping[str, Offer], devices: Mapping[str, str]) -> Declared:
    offers = list(dict.fromkeys(chosen.values()))
    vendors = tuple(dict.fromkeys(each for offer in offers for each in offer.vendors))
    return Declared(
        {network: offer.resource for network, offer in chosen.items()},
        devices,
        () if vendors == (VENDOR,) else vendors,
        tuple(dict.fromkeys(each for offer in offers for each in offer.devices)),
        max((offer.shares for offer in offers), default=0),
        max((offer.mtu for offer in offers), default=0),
    )


def _ports_in_order(chosen: Mapping[str, Offer]) -> dict[str, str]:
    """Ports of a resource, dealt out to its networks where there is one for each."""
    result: dict[str, str] = {}
    for offer in dict.fromkeys(chosen.values()):
        mine = [network for network, other in chosen.items() if other == offer]
        if len(mine) == len(offer.ports):
            result.update(zip(mine, offer.ports, strict=True))
    return result


def _offers(plugin: str, objects: Sequence[Object]) -> Iterator[Offer]:
    for one in objects:
        if group(one) == NVIDIA and kind(one) in ("NicClusterPolicy", "NicNodePolicy"):
            config = parsed(text(one.data, "spec", plugin, "config"))
            for each in items(config, ENTRIES[plugin]):
                prefix = text(each, "resourcePrefix") or PREFIX[plugin]
                yield _offer(f"{prefix}/{text(each, 'resourceName')}", each)


def _offer(resource: str, entry: Any) -> Offer:
    chosen = get(entry, "selectors")
    selectors = mapping(items(entry, "selectors")[0]) if isinstance(chosen, list) and chosen else mapping(chosen)
    ports = (*_texts(selectors, "ifNames", "pciAddresses", "pfNames", "rootDevices"), *_texts(entry, "devices"))
    return Offer(
        resource,
        ports,
        tuple(_texts(selectors, "vendors")),
        tuple(_texts(selectors, "deviceIDs", "devices")),
        number_in(entry, "rdmaHcaMax") or 0,
    )


def _policies(objects: Sequence[Object]) -> Iterator[Offer]:
    for one in objects:
        if (group(one), kind(one)) == (SRIOV, "SriovNetworkNodePolicy"):
            spec = mapping(one.data, "spec")
            chosen = mapping(spec, "nicSelector")
            vendor, device = text(chosen, "vendor"), text(chosen, "deviceID")
            ports = tuple(each.partition("#")[0] for each in _texts(chosen, "pfNames", "rootDevices"))
            own = ((vendor,) if vendor else (), (device,) if device else ())
            yield Offer(text(spec, "resourceName"), ports, *own, mtu=number_in(spec, "mtu") or 0)


def _texts(data: Any, *keys: str) -> Iterator[str]:
    return (each for key in keys for each in items(data, key) if isinstance(each, str))


# Subnets, gateways and blocks of networks, from their `ipam` and from the pools that it names.

POOLS = "nv-ipam.nvidia.com"
TYPES = ("nv-ipam", "whereabouts", "static", "host-local", "dhcp")


class Addressed(NamedTuple):
    """Rails with their subnets, and what gives out the addresses."""

    rails: tuple[Rail, ...]
    ipam: Ipam


class Range(NamedTuple):
    """The addresses of one network."""

    ipam: Ipam = Ipam()
    subnet: str = ""
    gateway: str = ""


def with_addresses(
    fabric: str, mine: Sequence[Network], rails: Sequence[Rail], objects: Sequence[Object], issues: list[Diagnostic]
) -> Addressed:
    """The rails with the addresses of their networks. T617 if these differ in more than subnets."""
    pools = {name(one): one for one in objects if group(one) == POOLS}
    ranges = [_range(each, pools) for each in mine]
    result = tuple(
        rail._replace(subnet=each.subnet, gateway=each.gateway) for rail, each in zip(rails, ranges, strict=True)
    )
    return Addressed(result, _common(mine, [each.ipam for each in ranges], issues))


def _common(mine: Sequence[Network], all_: Sequence[Ipam], issues: list[Diagnostic]) -> Ipam:
    first = all_[0]
    differing = [key for key in Ipam._fields if key != "exclude" and len({getattr(each, key) for each in all_}) > 1]
    if differing:
        names = {"kind": "type", "per_node": "addresses a node", "range_start": "first address"}
        names |= {"range_end": "last address"}
        what = listing([names.get(key, key) for key in differing], "and")
        message = f"networks of one fabric differ in {what}; bayplan uses that of {mine[0].title}"
        route = mine[0].ipam_route or mine[0].object.route
        issues.append(warning("T617", route, message, hint="make the networks equal, or correct the imported fabric"))
        if {"range_start", "range_end"} & {*differing}:
            first = first._replace(range_start="", range_end="")
    return first._replace(exclude=tuple(dict.fromkeys(each for one in all_ for each in one.exclude)))


def _range(one: Network, pools: Mapping[str, Object]) -> Range:
    config = parsed(one.ipam) if one.ipam else None
    kind_ = text(config, "type")
    if kind_ not in TYPES:
        return Range()
    if kind_ == "nv-ipam":
        return _pool(pools.get(text(config, "poolName")))
    if kind_ == "whereabouts":
        return _whereabouts(config)
    if kind_ == "host-local":
        return _host_local(config)
    return Range(Ipam(kind_))


def _pool(one: Object | None) -> Range:
    """An IPPool has blocks, a CIDRPool a prefix for each node."""
    if one is None:
        return Range(Ipam("nv-ipam"))
    spec = mapping(one.data, "spec")
    own = Ipam("nv-ipam", number_in(spec, "perNodeBlockSize") or 0, tuple(_excluded(spec)), namespace=_space(one))
    if kind(one) != "CIDRPool":
        return Range(own, _subnet(text(spec, "subnet")), text(spec, "gateway"))
    cidr, prefix, index = (
        _subnet(text(spec, "cidr")),
        number_in(spec, "perNodeNetworkPrefix"),
        number_in(spec, "gatewayIndex"),
    )
    net = ip.subnet(cidr)
    if net is None or prefix is None or not net.prefixlen <= prefix <= net.max_prefixlen:
        return Range(own, cidr)
    block = ip.subnet(f"{net.network_address}/{prefix}")
    gateway = str(net.network_address + index) if index is not None and 0 <= index < net.num_addresses else ""
    held = ip.hosts(block).size if block else 0
    return Range(own._replace(per_node=max(1, held - bool(gateway))), cidr, gateway)


def _space(one: Object) -> str:
    """The namespace of the pool, unless it is the operator's default."""
    space = namespace(one)
    return "" if space == NAMESPACE else space


def _excluded(spec: Any) -> Iterator[str]:
    for each in items(spec, "exclusions"):
        start, end = ip.address(text(each, "startIP")), ip.address(text(each, "endIP"))
        if start is not None and end is not None and start.version == end.version and start <= end:  # type: ignore[operator]
            for net in summarize_address_range(start, end):
                yield str(net.network_address) if net.prefixlen == net.max_prefixlen else str(net)


def _whereabouts(config: Any) -> Range:
    addresses = text(config, "range") or text(config, "ipRanges", 0, "range")
    start, dash, rest = addresses.partition("-")
    own = Ipam(
        "whereabouts",
        exclude=tuple(_plain(each) for each in items(config, "exclude") if isinstance(each, str)),
        range_start=text(config, "range_start") or (start if dash else ""),
        range_end=text(config, "range_end") or (rest.partition("/")[0] if dash else ""),
    )
    return Range(own, _subnet(rest if dash else addresses), text(config, "gateway"))


def _host_local(config: Any) -> Range:
    first = mapping(config, "ranges", 0, 0) or mapping(config)
    own = Ipam("host-local", range_start=text(first, "rangeStart"), range_end=text(first, "rangeEnd"))
    return Range(own, _subnet(text(first, "subnet")), text(first, "gateway"))


def _plain(text_: str) -> str:
    """A subnet of one address as that address."""
    net = ip.subnet(text_)
    return str(net.network_address) if net is not None and net.prefixlen == net.max_prefixlen else text_


def _subnet(text_: str) -> str:
    net = ip.subnet(text_)
    return str(net) if net is not None else ""


SPECTRUM = "spectrumx.nvidia.com"
GROUPS = (NVIDIA, SRIOV, MULTUS, SPECTRUM)
MARKS = ("mellanox.com", "k8s.cni.cncf.io", "sriovnetwork.openshift.io", "spectrumx.nvidia.com")
HINT = "give what `kubectl get macvlannetworks,hostdevicenetworks,ippools.nv-ipam.nvidia.com -A -o yaml` prints"
LINKS = {"macvlan": "ethernet", "ipoib": "infiniband", "spectrumx": "ethernet"}
ALONE = "rails"
"""The name of the fabric if there is only one."""


def sniff(source: SourceFile) -> bool:
    """Whether the file has objects of these operators."""
    return any(mark in source.head for mark in MARKS) and any(
        group(each) in GROUPS for each in _objects(source) if isinstance(each.data, dict)
    )


def _objects(source: SourceFile) -> list[Object]:
    return [Object(route, data) for route, data in kube_objects(source) if isinstance(data, dict)]


def new(source: SourceFile, options: ReadOptions) -> Outcome[Part]:
    """A fabric for each kind of network, and one pool without nodes, because network objects do not name nodes."""
    objects = _objects(source)
    issues: list[Diagnostic] = list(_broken(objects))
    if has_errors(issues):
        return Outcome(None, tuple(issues))
    listed = [*_distinct(networks(objects)), *_spectrum(objects)]
    fabrics = _fabrics(listed, objects, issues)
    if not fabrics:
        issues.append(error("T530", source.at(), "the file has no network for pods", hint=HINT))
        return Outcome(None, tuple(issues))
    topology = ClusterTopology("cluster", (Pool("nodes", NodeShape()),), fabrics=fabrics)
    return Outcome(Part(topology, source=source.name), tuple(issues))


def _broken(objects: Sequence[Object]) -> Iterator[Diagnostic]:
    """T530: strings in objects that are not valid JSON."""
    for one in objects:
        for path in (("spec", "ipam"), ("spec", "config")) if group(one) in GROUPS else ():
            content = text(one.data, *path)
            if content.strip() and not isinstance(parsed(content), dict):
                route: Route = (*one.route, *path)
                message = f"`{path[-1]}` of {title(one)} is not a JSON object"
                yield error("T530", route, message, hint="correct it; `bayplan lint` reports more about such objects")


def _distinct(listed: Iterator[Network]) -> Iterator[Network]:
    """The networks without duplicates. An operator's object and the definition that it creates are one network; the
    operator's object wins."""
    kept: dict[tuple[str, str], Network] = {}
    for each in sorted(listed, key=lambda one: group(one.object) == MULTUS):
        before = kept.setdefault((each.namespace, each.name), each)
        if before is not each and not before.resource:
            kept[each.namespace, each.name] = before._replace(resource=each.resource)
    yield from kept.values()


def _spectrum(objects: Sequence[Object]) -> Iterator[Network]:
    """The rails of Spectrum-X, whose operator gives policy, network and resource one name."""
    for one in objects:
        if group(one) != SPECTRUM or kind(one) != "SpectrumXRailPoolConfig":
            continue
        space = text(one.data, "spec", "networkNamespace")
        for index, rail in enumerate(items(one.data, "spec", "railTopology")):
            called, pool = text(rail, "name"), text(rail, "cidrPoolRef")
            ipam = f'{{"type": "nv-ipam", "poolName": "{pool}"}}' if pool else text(rail, "ipam") or None
            route = (*one.route, "spec", "railTopology", index)
            port = next((each for each in items(rail, "nicSelector", "pfNames") if isinstance(each, str)), "")
            yield Network(
                *(one, "spectrumx", called, space, "ethernet", f"nvidia.com/{called}", port),
                mtu=number_in(rail, "mtu") or 0,
                ipam=ipam,
                ipam_route=route,
            )


def _fabrics(listed: Sequence[Network], objects: Sequence[Object], issues: list[Diagnostic]) -> dict[str, Fabric]:
    rails = {(each.namespace, each.name) for each in listed if each.kind == "spectrumx" and group(each.object) != SRIOV}
    kinds: dict[tuple[str, str], list[Network]] = {}
    for each in listed:
        if not each.kind:
            issues.append(_unknown(each))
        elif group(each.object) == SPECTRUM or (each.namespace, each.name) not in rails:
            kinds.setdefault((each.kind, LINKS.get(each.kind, each.link_type)), []).append(each)
    names = list(_names(list(kinds)))
    return dict(
        sorted(
            (
                name,
                _fabric(name, *key, sorted(mine, key=lambda one: (one.namespace, natural(one.name))), objects, issues),
            )
            for name, (key, mine) in zip(names, kinds.items(), strict=True)
        )
    )


def _unknown(one: Network) -> Diagnostic:
    plugin = text(parsed(text(one.object.data, "spec", "config")), "type") or "without a type"
    message = f'left out network "{one.title}": bayplan knows no kind of fabric for the plugin {plugin}'
    return info("T617", (*one.object.route, "spec"), message, hint="no action needed if it is not a fabric for GPUs")


def _names(kinds: Sequence[tuple[str, str]]) -> Iterator[str]:
    for fabric, links in kinds:
        several = sum(other == fabric for other, _ in kinds) > 1
        yield ALONE if len(kinds) == 1 else f"{fabric}-{links or 'any'}" if several else fabric


def _fabric(
    name: str,
    kind_: str,
    links: str,
    mine: Sequence[Network],
    objects: Sequence[Object],
    issues: list[Diagnostic],
) -> Fabric:
    declared = _declared_ports(kind_, mine, objects)
    rails = [
        Rail(
            network=each.title,
            resource=declared.resources.get(each.title, ""),
            device=declared.devices.get(each.title, "") or each.master,
        )
        for each in mine
    ]
    addressed = with_addresses(kind_, mine, rails, objects, issues)
    routed = ["sbr" in each.chained for each in mine]
    issues += _open(name, kind_, mine, addressed.rails, routed)
    return Fabric(
        name,
        kind_,
        links or declared.link_type,
        "exclusive" if declared.shares == 1 else "",
        addressed.rails,
        ipam=addressed.ipam,
        source_routing=all(routed),
        mtu=declared.mtu or max(each.mtu for each in mine),
        device_ids=declared.device_ids,
        vendor_ids=declared.vendor_ids,
        shares=declared.shares if declared.shares > 1 else 0,
    )


def _open(
    name: str, kind_: str, mine: Sequence[Network], rails: Sequence[Rail], routed: Sequence[bool]
) -> Iterator[Diagnostic]:
    """T617: facts that a workflow's pods need and no object gives."""
    here: Route = mine[0].object.route
    message = f'the objects do not name the RDMA devices of the rails of fabric "{name}"'
    yield info("T617", here, message, hint="add `hca:` to each rail; `ibdev2netdev` or `rdma link` shows it")
    lacking = [each.title for each, rail in zip(mine, rails, strict=True) if not rail.resource]
    if lacking:
        message = f"no policy names the resource for devices of {listing(lacking, 'and', 3)}"
        yield warning("T617", here, message, hint="add the NicClusterPolicy to the same file, or add `resource:`")
    if any(routed) and not all(routed):
        message = f'only some networks of fabric "{name}" route by source'
        yield warning("T617", here, message, hint="chain the plugins tuning and sbr after all of them")
    if kind_ == "sriov" and any(get(mapping(each.object.data, "spec"), "resourceName") for each in mine):
        message = "the SR-IOV operator sets the prefix of its resources; bayplan assumes nvidia.com"
        hint = "correct `resource:` if `kubectl get nodes` shows another prefix, such as openshift.io"
        yield info("T617", here, message, hint=hint)
