"""A role's devices and networks -> the fabric of the topology that they are of, and what stays as it is.

TorchX knows extended resources (`Resource.devices`) and, in overlays, the annotation of Multus; a topology's fabric
knows which of both belong together. So a role gets the fabric, and the fabric brings the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bayplan.diagnostics import Diagnostic, Route, error, info, warning
from bayplan.model.fabric import Fabric
from bayplan.model.topology import ClusterTopology
from bayplan.values import NamedTuple
from bayplan.words import listing
from bayplan.workflows.torchx.translate.networks import Network

CARDS = ("rdma/", "vpc.amazonaws.com/efa")
"""How the resources of network cards begin that everybody calls so."""


class Asked(NamedTuple):
    """What a role asks for."""

    devices: Mapping[str, int]
    networks: tuple[Network, ...]
    device_route: Route
    network_route: Route
    namespace: str = ""
    fabrics: tuple[str, ...] | None = None  # those that the role's pool has


class Attached(NamedTuple):
    """The attachment as native data (empty: none), devices that stay resources, whether the annotation is done with."""

    fabric: Any = ""
    devices: Mapping[str, int] = {}
    covered: bool = False
    found: tuple[Diagnostic, ...] = ()


def attached(asked: Asked, topology: ClusterTopology | None) -> Attached:
    """W594: cards that no fabric has; W595: devices and networks do not go together; W596: more shares than one;
    W597: more of a network than its name.

    Networks that no fabric has stay in the template, where W522 finds them.
    """
    devices = {name: count for name, count in asked.devices.items() if count}
    if topology is None or not (devices or asked.networks):
        return Attached("", devices)
    fabrics = [f for name, f in topology.fabrics.items() if asked.fabrics is None or name in asked.fabrics]
    chosen = _chosen(fabrics, asked._replace(devices=devices))
    if chosen is None:
        return Attached("", devices, False, tuple(_unknown(asked, devices)))
    return _attach(chosen, asked._replace(devices=devices))


def _chosen(fabrics: Iterable[Fabric], asked: Asked) -> Fabric | None:
    """The fabric with the most of the devices, then of the networks."""
    scored = [(_score(each, asked), -number, each) for number, each in enumerate(fabrics)]
    best = max(scored, default=None, key=lambda each: each[:2])
    return best[2] if best and max(best[0]) else None


def _score(fabric: Fabric, asked: Asked) -> tuple[int, int]:
    resources = {rail.resource for rail in fabric.rails}
    known = sum(any(each.means(r.network, asked.namespace) for r in fabric.rails) for each in asked.networks)
    return sum(name in resources for name in asked.devices), known


def _attach(fabric: Fabric, asked: Asked) -> Attached:
    resources = {rail.resource for rail in fabric.rails if rail.resource}
    own = {name: count for name, count in asked.devices.items() if name in resources}
    rest = {name: count for name, count in asked.devices.items() if name not in own}
    rails, lost = _by_network(fabric, asked) if asked.networks else (_by_count(fabric, own), ())
    wrong = tuple(_mismatch(fabric, own, rails, lost, asked))
    whole = len(rails) == len(fabric.rails)
    data = fabric.name if whole else {"name": fabric.name, "rails": sorted(rails)}
    return Attached(
        "" if wrong else data, rest, True, (*wrong, *_shares(fabric, own, asked), *_said(fabric, rails, asked))
    )


def _by_count(fabric: Fabric, own: Mapping[str, int]) -> list[int]:
    """The first rails of each resource, as many as are asked for; of a shared card's pool all."""
    left = Counter({name: len(fabric.rails) if fabric.shared else count for name, count in own.items()})
    made = []
    for number, rail in enumerate(fabric.rails):
        if left[rail.resource] > 0:
            left[rail.resource] -= 1
            made.append(number)
    return made


def _by_network(fabric: Fabric, asked: Asked) -> tuple[list[int], tuple[Network, ...]]:
    """A rail for each network, and the networks for which there is none (left)."""
    made: list[int] = []
    lost: list[Network] = []
    for network in asked.networks:
        fitting = (n for n, r in enumerate(fabric.rails) if n not in made and network.means(r.network, asked.namespace))
        number = next(fitting, None)
        if number is None:
            lost.append(network)
        else:
            made.append(number)
    return made, tuple(lost)


def _mismatch(
    fabric: Fabric, own: Mapping[str, int], rails: Sequence[int], lost: Sequence[Network], asked: Asked
) -> Iterator[Diagnostic]:
    """W595 for each resource whose cards are not those of the rails, and for networks without a rail."""
    hint = (
        "attach as many networks as devices are asked for; the fabric's rails in the topology say which belong together"
    )
    if lost:
        names = listing([str(each) for each in lost], "and")
        message = f'fabric "{fabric.name}" has no rail left for the network {names}'
        yield error("W595", asked.network_route, message, hint=hint)
    counted = Counter(fabric.rails[number].resource for number in rails)
    for name, count in own.items():
        if not fabric.shared and counted[name] != count:
            whose = "are attached" if asked.networks else f'are in fabric "{fabric.name}"'
            message = f'{count} of "{name}" are asked for, and {counted[name]} rails with it {whose}'
            yield error("W595", (*asked.device_route, name), message, hint=hint)


def _shares(fabric: Fabric, own: Mapping[str, int], asked: Asked) -> Iterator[Diagnostic]:
    for name, count in own.items():
        if fabric.shared and count > 1:
            message = f'{count} of "{name}" are asked for; one share brings all cards of the pool, so one is taken'
            hint = "ask for 1: shares are places at the cards, not cards"
            yield warning("W596", (*asked.device_route, name), message, hint=hint)


def _said(fabric: Fabric, rails: Sequence[int], asked: Asked) -> Iterator[Diagnostic]:
    """W597: of an attachment only its network comes along; the fabric says the order, and the interfaces' names."""
    hint = "say it in the topology's fabric, or use `template`"
    if more := sorted({key for each in asked.networks for key in each.more}):
        verb = "are" if len(more) > 1 else "is"
        message = f"the fabric attaches the networks; {listing(more, 'and')} of the annotation {verb} left out"
        yield warning("W597", asked.network_route, message, hint=hint)
    if len(rails) == len(asked.networks) and (other := tuple(_called_otherwise(fabric, rails, asked.networks))):
        message = f"the fabric says the order and the interfaces of its networks: {', '.join(other)}"
        hint = "say `interface` of the rails in the topology, and write the networks in the order of the rails"
        yield warning("W597", asked.network_route, message, hint=hint)


def _called_otherwise(fabric: Fabric, rails: Sequence[int], given: Sequence[Network]) -> Iterator[str]:
    """Where a network's interface in the pod has another name than in the annotation."""
    names = {rail: fabric.rails[rail].interface or f"net{place}" for place, rail in enumerate(sorted(rails), 1)}
    for place, (rail, network) in enumerate(zip(rails, given, strict=True), 1):
        meant = network.interface or f"net{place}"
        if meant != names[rail]:
            yield f'"{network}" becomes "{names[rail]}" in place of "{meant}"'


def _unknown(asked: Asked, devices: Mapping[str, int]) -> Iterator[Diagnostic]:
    for name in devices:
        if asked.networks or name.startswith(CARDS):
            message = (
                f'no fabric of the topology has the resource "{name}": pods ask for it and get nothing else with it'
            )
            hint = "describe the cards in the topology's `fabrics`, and IPC_LOCK and NCCL's variables come along"
            yield info("W594", (*asked.device_route, name), message, hint=hint)
