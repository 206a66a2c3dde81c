"""Devices that ResourceClaims hold (`resource.k8s.io` v1beta1 to v1), as amounts of their node."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from bayplan import accelerators
from bayplan.core.diagnostics import Route
from bayplan.fabrics import DRANET
from bayplan.fabrics.dranet import DRIVER as CARDS
from bayplan.model.plan import BOUNDED, CHANNEL, ONE, accelerator
from bayplan.model.topology import ClusterTopology, Fabric, Pool

DOMAINS = "compute-domain."
"""The beginning of the driver of ComputeDomains. Its other devices are daemons (dra-driver-nvidia-gpu 25.3 to 0.4)."""

CHANNELS = "channel"
PROFILE = re.compile(r"\.profile\s*==\s*['\"]([1-9][0-9]?[cg]\.[0-9a-z.+]{1,20})['\"]")
SLICE = "-mig-"
"""What follows the name of the card in the name of a slice: `gpu-0-mig-1g10gb-0` (dra-driver-nvidia-gpu)."""


class Claimed(NamedTuple):
    """An allocated claim. `pods`: namespace/name of its users; `node`: empty if only they say where its devices are."""

    name: str
    pods: tuple[str, ...]
    node: str
    devices: tuple[Device, ...]
    place: Route


class Device(NamedTuple):
    """A device of a claim. `selectors`: the CEL expressions of its request."""

    driver: str
    name: str
    device_class: str = ""
    selectors: tuple[str, ...] = ()


def amounts(topology: ClusterTopology, pool: Pool, devices: Iterable[Device]) -> dict[str, int]:
    """Cards of the pool's accelerator, channels, and network cards that dranet gives to pods."""
    kind = topology.accelerators.get(pool.node.accelerator)
    total: dict[str, int] = {}
    cards: set[str] = set()
    network = []
    for each in devices:
        key, amount = "", ONE
        if each.driver.startswith(DOMAINS):
            key = CHANNEL if each.name.startswith(CHANNELS) else ""
        elif each.driver == CARDS:
            network.append(each)
        elif kind and ("gpu" in each.driver or each.device_class == kind.device_class):
            key = accelerator(kind.name)
            card, slice_, _ = each.name.partition(SLICE)
            if slice_:
                profile = next((match[1] for text in each.selectors if (match := PROFILE.search(text))), "")
                amount = accelerators.portion(profile) if profile else ONE * (card not in cards)
                cards.add(card)
        if key and amount:
            total[key] = total.get(key, 0) + amount
    for fabric in topology.fabrics.values():
        if network and fabric.kind == DRANET and (pool.node.fabrics is None or fabric.name in pool.node.fabrics):
            for key in _rails(fabric, network):
                total[key] = total.get(key, 0) + ONE
    return total


def _rails(fabric: Fabric, devices: Iterable[Device]) -> Iterator[str]:
    """The keys of `fabrics.bounded` for network cards. A card whose name is that of no rail counts as the first free
    rail, because a pod usually attaches all of them."""
    free = dict(enumerate(fabric.rails))
    for each in devices:
        named = (n for n, rail in free.items() if each.name in (rail.hca, rail.hca.replace("_", "-"), rail.device))
        number = next(named, next(iter(free), None))
        if number is not None:
            rail = free.pop(number)
            own = rail.hca or rail.device or rail.selectors
            name = f"1:rail {number} of {fabric.name}" if own else f"{len(fabric.rails)}:rail of {fabric.name}"
            yield BOUNDED + name
