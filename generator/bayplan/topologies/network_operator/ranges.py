"""Subnets, gateways and blocks of networks: out of their `ipam`, and out of the pools that it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import summarize_address_range
from typing import Any

from bayplan.core.diagnostics import Diagnostic, warning
from bayplan.core.phrases import listing
from bayplan.core.values import NamedTuple
from bayplan.kube import networks as ip
from bayplan.kube.networks import Network, parsed
from bayplan.kube.objects import group, items, kind, mapping, name, namespace, number_in, text
from bayplan.model.manifest import Object
from bayplan.model.topology import Ipam, Rail
from bayplan.topologies.network_operator.pools import NAMESPACE

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


def addressed(
    fabric: str, mine: Sequence[Network], rails: Sequence[Rail], objects: Sequence[Object], found: list[Diagnostic]
) -> Addressed:
    """The rails with what their networks say of addresses. Where these differ in more than subnets, T617 tells."""
    pools = {name(one): one for one in objects if group(one) == POOLS}
    ranges = [_range(each, pools) for each in mine]
    made = tuple(
        rail._replace(subnet=each.subnet, gateway=each.gateway) for rail, each in zip(rails, ranges, strict=True)
    )
    return Addressed(made, _common(mine, [each.ipam for each in ranges], found))


def _common(mine: Sequence[Network], all_: Sequence[Ipam], found: list[Diagnostic]) -> Ipam:
    first = all_[0]
    differing = [key for key in Ipam._fields if key != "exclude" and len({getattr(each, key) for each in all_}) > 1]
    if differing:
        names = {"kind": "type", "per_node": "addresses a node", "range_start": "first address"}
        names |= {"range_end": "last address"}
        what = listing([names.get(key, key) for key in differing], "and")
        message = f"networks of one fabric differ in {what}; what {mine[0].title} has is taken"
        found.append(warning("T617", mine[0].ipam_route or mine[0].object.route, message, hint="compare them"))
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
    """Where the pool is, unless that is where the operator usually is."""
    found = namespace(one)
    return "" if found == NAMESPACE else found


def _excluded(spec: Any) -> Iterator[str]:
    for each in items(spec, "exclusions"):
        start, end = ip.address(text(each, "startIP")), ip.address(text(each, "endIP"))
        if start is not None and end is not None and start.version == end.version and start <= end:  # type: ignore[operator]
            for net in summarize_address_range(start, end):
                yield str(net.network_address) if net.prefixlen == net.max_prefixlen else str(net)


def _whereabouts(config: Any) -> Range:
    given = text(config, "range") or text(config, "ipRanges", 0, "range")
    start, dash, rest = given.partition("-")
    own = Ipam(
        "whereabouts",
        exclude=tuple(_plain(each) for each in items(config, "exclude") if isinstance(each, str)),
        range_start=text(config, "range_start") or (start if dash else ""),
        range_end=text(config, "range_end") or (rest.partition("/")[0] if dash else ""),
    )
    return Range(own, _subnet(rest if dash else given), text(config, "gateway"))


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
