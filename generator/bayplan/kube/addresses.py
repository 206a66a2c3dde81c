"""Addresses of secondary networks: subnets, what of them can be given out, and who gives it out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from bayplan.values import NamedTuple

Address = IPv4Address | IPv6Address
Subnet = IPv4Network | IPv6Network


class Span(NamedTuple):
    """Addresses from one to another, both among them, as numbers."""

    first: int
    last: int

    @property
    def size(self) -> int:
        """How many they are."""
        return max(0, self.last - self.first + 1)

    def holds(self, address: Address) -> bool:
        """Whether the address is among them."""
        return self.first <= int(address) <= self.last


def subnet(text: str) -> Subnet | None:
    """The subnet that holds what the text says (`10.0.0.5/24` is in 10.0.0.0/24); None where it is no subnet."""
    try:
        return ip_network(text, strict=False) if "/" in text else None
    except ValueError:
        return None


def address(text: str) -> Address | None:
    """The address; a prefix length behind it is left out. None where it is none."""
    try:
        return ip_address(text.partition("/")[0])
    except ValueError:
        return None


def host_bits(text: str) -> bool:
    """Whether a subnet is written with an address inside it rather than with its first."""
    found, start = subnet(text), address(text)
    return found is not None and start is not None and start != found.network_address


def hosts(net: Subnet) -> Span:
    """What can be given to pods: all of a point-to-point link, else neither the first nor, of IPv4, the last
    (nvidia-k8s-ipam v1alpha1 helpers.go, GetPossibleIPCount; whereabouts 0.9 does the same)."""
    first, last = int(net.network_address), int(net.broadcast_address)
    if net.prefixlen >= net.max_prefixlen - 1:
        return Span(first, last)
    return Span(first + 1, last - 1 if net.version == 4 else last)


def within(net: Subnet, start: str = "", end: str = "") -> Span:
    """The part of a subnet between two addresses, where those are given."""
    whole, low, high = hosts(net), address(start), address(end)
    first = max(whole.first, int(low)) if low else whole.first
    return Span(first, min(whole.last, int(high)) if high else whole.last)


def left(span: Span, excluded: Iterable[Span]) -> int:
    """How many addresses of a span are outside of all that is excluded."""
    return span.size - sum(each.size for each in _merged(span, excluded))


def _merged(span: Span, excluded: Iterable[Span]) -> Iterator[Span]:
    """What of the span is excluded, each address once."""
    cut = sorted(Span(max(each.first, span.first), min(each.last, span.last)) for each in excluded)
    reached = span.first - 1
    for each in cut:
        first = max(each.first, reached + 1)
        if each.last >= first:
            yield Span(first, each.last)
            reached = each.last


def excluded(texts: Sequence[str]) -> Iterator[Span]:
    """Addresses, and all addresses of subnets, that are not given out."""
    for text in texts:
        net, one = subnet(text), address(text)
        if net is not None:
            yield Span(int(net.network_address), int(net.broadcast_address))
        elif one is not None:
            yield Span(int(one), int(one))


def block(net: Subnet, addresses: int, gateway: bool) -> int:
    """The length of the longest prefix whose subnet has so many addresses for pods, and one for a gateway."""
    wanted = addresses + gateway
    for length in range(net.max_prefixlen, -1, -1):
        size = 1 << (net.max_prefixlen - length)
        if (size if size < 3 else size - (2 if net.version == 4 else 1)) >= wanted:
            return length
    return 0
