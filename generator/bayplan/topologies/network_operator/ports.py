"""Which port a rail is and which resource it has: what policies and device plugins say of the networks' cards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from bayplan.core.values import NamedTuple
from bayplan.kube.networks import NVIDIA, SRIOV, Network, parsed
from bayplan.kube.objects import get, group, items, kind, mapping, number_in, text
from bayplan.model.manifest import Object

VENDOR = "15b3"
PREFIX = {"rdmaSharedDevicePlugin": "rdma", "sriovDevicePlugin": "intel.com"}
ENTRIES = {"rdmaSharedDevicePlugin": "configList", "sriovDevicePlugin": "resourceList"}


class Told(NamedTuple):
    """What is said of the networks of one fabric."""

    resources: Mapping[str, str] = {}  # by title of the network, as the next
    devices: Mapping[str, str] = {}
    vendor_ids: tuple[str, ...] = ()
    device_ids: tuple[str, ...] = ()
    shares: int = 0
    mtu: int = 0
    link_type: str = ""


class Offer(NamedTuple):
    """A resource that a plugin or a policy makes of some cards."""

    resource: str
    ports: tuple[str, ...] = ()
    vendors: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    shares: int = 0
    mtu: int = 0


def told(fabric: str, mine: Sequence[Network], objects: Sequence[Object]) -> Told:
    """By the kind of fabric."""
    return BY_KIND.get(fabric, _nothing)(mine, objects)


def _nothing(mine: Sequence[Network], objects: Sequence[Object]) -> Told:
    return Told(resources={each.title: each.resource for each in mine})


def _shared(mine: Sequence[Network], objects: Sequence[Object]) -> Told:
    """The network names its port, and the pool of the shared plugin names ports, or takes all cards of a kind."""
    offers = list(_offers("rdmaSharedDevicePlugin", objects))
    whole = [each for each in offers if not each.ports]
    chosen: dict[str, Offer] = {}
    for network in mine:
        named = [each for each in offers if network.master in each.ports]
        if named or len(whole) == 1:
            chosen[network.title] = (named or whole)[0]
    return _of(chosen, {})


def _exclusive(mine: Sequence[Network], objects: Sequence[Object]) -> Told:
    by_name = {each.resource: each for each in _offers("sriovDevicePlugin", objects)}
    chosen = {each.title: by_name[each.resource] for each in mine if each.resource in by_name}
    made = _of(chosen, _dealt(chosen))
    return made._replace(resources={each.title: each.resource for each in mine})


def _functions(mine: Sequence[Network], objects: Sequence[Object]) -> Told:
    """SR-IOV: the network has the resource's name without the prefix, and so has the policy."""
    by_name = {each.resource: each for each in _policies(objects)}
    plain = {each.title: each.resource.rpartition("/")[2] for each in mine}
    chosen = {title: by_name[name] for title, name in plain.items() if name in by_name}
    made = _of(chosen, _dealt(chosen))
    names = {each.title: each.resource if "/" in each.resource else f"nvidia.com/{each.resource}" for each in mine}
    return made._replace(resources={title: name for title, name in names.items() if plain[title]})


BY_KIND: Mapping[str, Callable[[Sequence[Network], Sequence[Object]], Told]] = {
    "macvlan": _shared,
    "ipoib": _shared,
    "hostdevice": _exclusive,
    "sriov": _functions,
}


def _of(chosen: Mapping[str, Offer], devices: Mapping[str, str]) -> Told:
    offers = list(dict.fromkeys(chosen.values()))
    vendors = tuple(dict.fromkeys(each for offer in offers for each in offer.vendors))
    return Told(
        {network: offer.resource for network, offer in chosen.items()},
        devices,
        () if vendors == (VENDOR,) else vendors,
        tuple(dict.fromkeys(each for offer in offers for each in offer.devices)),
        max((offer.shares for offer in offers), default=0),
        max((offer.mtu for offer in offers), default=0),
    )


def _dealt(chosen: Mapping[str, Offer]) -> dict[str, str]:
    """Ports of a resource, dealt out to its networks where there is one for each."""
    made: dict[str, str] = {}
    for offer in dict.fromkeys(chosen.values()):
        mine = [network for network, other in chosen.items() if other == offer]
        if len(mine) == len(offer.ports):
            made.update(zip(mine, offer.ports, strict=True))
    return made


def _offers(plugin: str, objects: Sequence[Object]) -> Iterator[Offer]:
    for one in objects:
        if group(one) == NVIDIA and kind(one) in ("NicClusterPolicy", "NicNodePolicy"):
            config = parsed(text(one.data, "spec", plugin, "config"))
            for each in items(config, ENTRIES[plugin]):
                prefix = text(each, "resourcePrefix") or PREFIX[plugin]
                yield _offer(f"{prefix}/{text(each, 'resourceName')}", each)


def _offer(resource: str, entry: Any) -> Offer:
    given = get(entry, "selectors")
    selectors = mapping(items(entry, "selectors")[0]) if isinstance(given, list) and given else mapping(given)
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
