"""A role's devices and networks -> the fabric of the topology that has them, and the remaining devices.

TorchX has extended resources (`Resource.devices`) and, in overlays, the annotation of Multus. A fabric of the topology
defines which of them belong together. bayplan attaches the fabric to the role, and the fabric adds the rest.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.plugin import (
    NAMED,
    Annotation,
    ClusterTopology,
    Diagnostic,
    Fabric,
    Pool,
    Rail,
    Route,
    Selection,
    count,
    error,
    info,
    listing,
    warning,
)

INSTANCE = "node.kubernetes.io/instance-type"
EFA = "vpc.amazonaws.com/efa"
CARDS = ("rdma/", EFA)
"""Common prefixes of the resources of network cards."""


class FabricRequest(NamedTuple):
    """The devices and networks that a role requests."""

    devices: Mapping[str, int]
    networks: tuple[Selection, ...]
    device_route: Route
    network_route: Route
    namespace: str = ""
    fabrics: tuple[str, ...] | None = None  # the fabrics of the role's pool


class FabricAttachment(NamedTuple):
    """The attachment as native data (empty: none), remaining devices, and whether it covers the annotation."""

    fabric: Any = ""
    devices: Mapping[str, int] = {}
    covered: bool = False
    findings: tuple[Diagnostic, ...] = ()


def attach_fabric(requested: FabricRequest, topology: ClusterTopology | None) -> FabricAttachment:
    """The fabric of devices and networks.

    W595: cards without a fabric; W595: devices and networks do not match, or there are several shares; W595: settings
    of a network other than its name.

    Networks without a fabric stay in the template, where W522 reports them.
    """
    devices = {name: count for name, count in requested.devices.items() if count}
    if topology is None or not (devices or requested.networks):
        return FabricAttachment("", devices)
    fabrics = [f for name, f in topology.fabrics.items() if requested.fabrics is None or name in requested.fabrics]
    chosen = _chosen(fabrics, requested._replace(devices=devices))
    if chosen is None:
        return FabricAttachment("", devices, False, tuple(_unknown(requested, devices)))
    return _attach(chosen, requested._replace(devices=devices))


def _chosen(fabrics: Iterable[Fabric], requested: FabricRequest) -> Fabric | None:
    """The fabric with the most of the devices, then of the networks."""
    scored = [(_score(each, requested), -number, each) for number, each in enumerate(fabrics)]
    best = max(scored, default=None, key=lambda each: each[:2])
    return best[2] if best and max(best[0]) else None


def _score(fabric: Fabric, requested: FabricRequest) -> tuple[int, int]:
    resources = {rail.resource for rail in fabric.rails}
    attached = sum(any(_is_of(each, rail, requested) for rail in fabric.rails) for each in requested.networks)
    return sum(name in resources for name in requested.devices), attached


def _is_of(network: Selection, rail: Rail, requested: FabricRequest) -> bool:
    """Whether a network belongs to the rail. Both default to the namespace of the pods."""
    namespace, _, name = rail.network.rpartition("/")
    pods = requested.namespace
    return name == network.name and (namespace or pods) == (network.namespace or pods or namespace)


def _attach(fabric: Fabric, requested: FabricRequest) -> FabricAttachment:
    resources = {rail.resource for rail in fabric.rails if rail.resource}
    own = {name: count for name, count in requested.devices.items() if name in resources}
    rest = {name: count for name, count in requested.devices.items() if name not in own}
    rails, lost = _by_network(fabric, requested) if requested.networks else (_by_count(fabric, own), ())
    wrong = tuple(_mismatch(fabric, own, rails, lost, requested))
    whole = len(rails) == len(fabric.rails)
    data = fabric.name if whole else {"name": fabric.name, "rails": sorted(rails)}
    return FabricAttachment(
        "" if wrong else data,
        rest,
        True,
        (*wrong, *_shares(fabric, own, requested), *_lost_annotations(fabric, rails, requested)),
    )


def _by_count(fabric: Fabric, own: Mapping[str, int]) -> list[int]:
    """The first rails of each resource, as many as requested; all rails of a shared fabric."""
    remaining = Counter({name: len(fabric.rails) if fabric.shared else count for name, count in own.items()})
    rails = []
    for number, rail in enumerate(fabric.rails):
        if remaining[rail.resource] > 0:
            remaining[rail.resource] -= 1
            rails.append(number)
    return rails


def _by_network(fabric: Fabric, requested: FabricRequest) -> tuple[list[int], tuple[Selection, ...]]:
    """A rail for each network, and the networks without a rail."""
    rails: list[int] = []
    without: list[Selection] = []
    for network in requested.networks:
        matching = (n for n, rail in enumerate(fabric.rails) if n not in rails and _is_of(network, rail, requested))
        number = next(matching, None)
        if number is None:
            without.append(network)
        else:
            rails.append(number)
    return rails, tuple(without)


def _mismatch(
    fabric: Fabric, own: Mapping[str, int], rails: Sequence[int], lost: Sequence[Selection], requested: FabricRequest
) -> Iterator[Diagnostic]:
    """W595 for each resource whose count differs from the rails, and for networks without a rail."""
    if lost:
        names = listing([each.title for each in lost], "and")
        message = f'fabric "{fabric.name}" has no rail left for the network {names}'
        hint = "remove it, or add a rail with it to the fabric in the topology"
        yield error("W595", requested.network_route, message, hint=hint)
    counted = Counter(fabric.rails[number].resource for number in rails)
    for name, amount in own.items():
        if not fabric.shared and counted[name] != amount:
            whose = "its networks use" if requested.networks else f'fabric "{fabric.name}" has'
            message = f'the role requests {amount} of "{name}", but {whose} {count(counted[name], "rail")} with it'
            hint = f"request {counted[name]}" if counted[name] else "remove it from `devices`"
            if requested.networks:
                hint += ", or attach one of its networks for each device"
            elif amount > counted[name]:
                hint += ", or add rails with it to the fabric in the topology"
            yield error("W595", (*requested.device_route, name), message, hint=hint)


def _shares(fabric: Fabric, own: Mapping[str, int], requested: FabricRequest) -> Iterator[Diagnostic]:
    for name, amount in own.items():
        if fabric.shared and amount > 1:
            message = f'the role requests {amount} of "{name}"; bayplan requests 1, which gives all devices of the pool'
            hint = "request 1: shares do not count devices"
            yield warning("W595", (*requested.device_route, name), message, hint=hint)


def _lost_annotations(fabric: Fabric, rails: Sequence[int], requested: FabricRequest) -> Iterator[Diagnostic]:
    """W595: bayplan uses only the networks of an annotation; the fabric defines order and interface names."""
    if more := sorted({key for each in requested.networks for key in each.data if key not in NAMED}):
        message = f"the fabric attaches the networks; bayplan ignores {listing(more, 'and')} of the annotation"
        hint = f"remove {listing(more, 'and')}, or import the application, and set `template` instead of `fabric`"
        yield warning("W595", requested.network_route, message, hint=hint)
    if len(rails) == len(requested.networks) and (
        other := tuple(_renamed_interfaces(fabric, rails, requested.networks))
    ):
        message = f"the fabric defines the order and interfaces of its networks: {', '.join(other)}"
        hint = "set `interface` of the rails in the topology, and list the networks in the order of the rails"
        yield warning("W595", requested.network_route, message, hint=hint)


def _renamed_interfaces(fabric: Fabric, rails: Sequence[int], networks: Sequence[Selection]) -> Iterator[str]:
    """The networks whose interface gets another name than in the annotation."""
    names = {rail: fabric.rails[rail].interface or f"net{place}" for place, rail in enumerate(sorted(rails), 1)}
    for rail, network, interface in zip(rails, networks, Annotation(tuple(networks)).interfaces(), strict=True):
        if interface != names[rail]:
            yield f'"{network.title}" gets "{names[rail]}" instead of "{interface}"'


def _unknown(requested: FabricRequest, devices: Mapping[str, int]) -> Iterator[Diagnostic]:
    for name in devices:
        if requested.networks or name.startswith(CARDS):
            message = f'no fabric of the topology has the resource "{name}": pods get only the devices'
            hint = "describe the cards in `fabrics` of the topology to get networks, IPC_LOCK and NCCL variables"
            yield info("W595", (*requested.device_route, name), message, hint=hint)


# Names of TorchX -> DNS labels, which Kubernetes requires.

LONGEST = 40
"""The maximum length of a name: a pod's name has the names of workflow and role and two numbers in 63 characters."""


def label(name: str) -> str:
    """Lowercase letters, digits and hyphens. A changed name ends with a hash to stay unique."""
    plain = re.sub(r"[_./ -]+", "-", name.lower()).strip("-")
    name_label = re.sub(r"-+", "-", re.sub(r"[^a-z0-9-]", "-", plain)).strip("-")
    if name_label == plain and name_label and len(name_label) <= LONGEST:
        return name_label
    return _hashed(name_label[: LONGEST - 5].strip("-") or "app", name)


def labels(names: Sequence[str]) -> tuple[str, ...]:
    """Unique labels of names."""
    result: list[str] = []
    for name in names:
        short, whole = label(name), name
        while short in result:
            short, whole = _hashed(label(name)[: LONGEST - 5].strip("-"), whole), f"{whole}'"
        result.append(short)
    return tuple(result)


def _hashed(stem: str, name: str) -> str:
    from hashlib import sha256

    return f"{stem}-{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:4]}"


# The pool that a role runs in, and how much of a node it may request there.

MEGA = 10**6
RESERVED_MILLICPU, RESERVED_MB = 100, 1024
"""The reserve for the node: TorchX assumes that roles request whole nodes (0.7, kubernetes_scheduler.py)."""


class PoolChoice(NamedTuple):
    """The pool (empty: not chosen), additional node labels, diagnostics."""

    name: str = ""
    selector: Mapping[str, str] = {}
    findings: tuple[Diagnostic, ...] = ()


def choose_pool(
    resource: Mapping[str, Any], selector: Mapping[str, str], topology: ClusterTopology | None, at: Route
) -> PoolChoice:
    """The pool whose nodes have the instance type, or the labels of an overlay's nodeSelector.

    W465: no pool has the instance type, or several have it.
    """
    kind = str((resource.get("capabilities") or {}).get(INSTANCE) or "")
    labels = {**({INSTANCE: kind} if kind else {}), **selector}
    if topology is None or not labels:
        return PoolChoice("", labels)
    fitting = [pool.name for pool in topology.pools if labels.items() <= dict(pool.node.node_selector).items()]
    if len(fitting) == 1 or not kind:
        return PoolChoice(fitting[0]) if len(fitting) == 1 else PoolChoice("", labels)
    fitting = fitting or [pool.name for pool in topology.pools if pool.node.node_selector.get(INSTANCE) == kind]
    if len(fitting) == 1:  # the topology does not describe the labels of the role's selector
        return PoolChoice(fitting[0], selector)
    if named := next((pool for pool in topology.pools if pool.name in (kind, label(kind))), None):
        return PoolChoice(named.name, selector)
    route: Route = (*at, "capabilities", INSTANCE)
    names = fitting or [pool.name for pool in topology.pools]
    if len(names) == 1:
        message = f'no pool has nodes of instance type "{kind}"; the pods run in the only pool, "{names[0]}"'
        hint = f"add {INSTANCE}: {kind} to the pool's nodeSelector"
        return PoolChoice(names[0], selector, (warning("W465", route, message, hint=hint),))
    quoted = listing(names, "and")
    message = f'no pool has nodes of instance type "{kind}"; the pools are {quoted}'
    hint = f"add {INSTANCE}: {kind} to the nodeSelector of exactly one pool"
    if fitting:
        message = f'several pools have nodes of instance type "{kind}": {quoted}'
        hint = f"keep {INSTANCE}: {kind} in the nodeSelector of only one pool"
    return PoolChoice("", {}, (error("W465", route, message, hint=hint),))


class Amounts(NamedTuple):
    """CPU and memory as quantities, the size of /dev/shm (empty: not set), diagnostics."""

    resources: Mapping[str, str]
    shm: str
    findings: tuple[Diagnostic, ...] = ()


def amounts(resource: Mapping[str, Any], pool: Pool | None, reserved: tuple[int, int], at: Route) -> Amounts:
    """The role's request, minus the reserve of TorchX if only the rest fits a node (W592)."""
    milli, mega = round(1000 * (resource.get("cpu") or 0)), int(resource.get("memMB") or 0)
    findings: list[Diagnostic] = []
    quantities: dict[str, str] = {}
    if milli > 0:
        own = _within(milli, reserved[0], pool.node.resources.get("cpu") if pool else None)
        quantities["cpu"] = str(own // 1000) if own % 1000 == 0 else f"{own}m"
        findings += [_less("CPU", quantities["cpu"], f"{milli}m", (*at, "cpu"))] if own != milli else []
    if mega > 0:
        offer = pool.node.resources.get("memory") if pool else None
        own = _within(mega, reserved[1], None if offer is None else offer // (1000 * MEGA))
        quantities["memory"] = f"{own}M"
        findings += [_less("memory", quantities["memory"], f"{mega}M", (*at, "memMB"))] if own != mega else []
    return Amounts(quantities, quantities.get("memory", ""), tuple(findings))


def _within(requested: int, reserved: int, offer: int | None) -> int:
    return requested - reserved if offer is not None and requested - reserved <= offer < requested else requested


def _less(what: str, quantity: str, requested: str, route: Route) -> Diagnostic:
    message = f"the pods request {quantity} {what} instead of {requested}, to leave room for system pods"
    return info("W592", route, message, hint="to get an exact amount, request what a node offers")


def certain_pool(choice: PoolChoice, accelerated: bool, topology: ClusterTopology | None) -> Pool | None:
    """The only pool that a role can run in, if there is one."""
    if topology is None or choice.name:
        return topology.pool(choice.name) if topology else None
    able = [pool for pool in topology.pools if bool(pool.node.accelerator) == accelerated]
    return able[0] if len(able) == 1 else topology.pools[0] if len(topology.pools) == 1 else None


# Parts of a translation: native data, their origins, and diagnostics.

ROOT: Route = ("workflow",)
ROLES: Route = ("workflow", "roles")


class PodSetPart(NamedTuple):
    """Some keys of a podSet; route below the podSet -> route in the application; diagnostics."""

    data: Mapping[str, Any] = {}
    origins: Mapping[Route, Route] = {}
    findings: tuple[Diagnostic, ...] = ()


def without_empty(**parts: Any) -> dict[str, Any]:
    """The parts that are not empty."""
    return {key: value for key, value in parts.items() if value not in (None, "", {}, [], ())}
