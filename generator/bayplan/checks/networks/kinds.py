"""What each kind of fabric needs, what it cannot use, and which links it can have.

Sources: Network Operator 26.7, Multus 4.3; macvlan over an InfiniBand port fails with "invalid argument"
(network-operator#1017); without a network of its own a pod has no address, and RoCE needs one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan.diagnostics import Diagnostic, Route, error, warning
from bayplan.fabrics.hanging import NETWORKED
from bayplan.model.fabric import SHARING, Fabric, Ipam, Rail
from bayplan.values import NamedTuple
from bayplan.words import listing

FABRICS: Route = ("topology", "spec", "fabrics")


class Kind(NamedTuple):
    """Keys of a rail that a kind needs, and that it has no use for; whether it must have rails; links it can have."""

    needs: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    empty: bool = False
    links: tuple[str, ...] = ("ethernet", "infiniband")
    why: str = ""


DRA_ONLY = ("selectors",)
KINDS: Mapping[str, Kind] = {
    "macvlan": Kind(("network",), DRA_ONLY, links=("ethernet",), why="macvlan needs an Ethernet port; use ipoib"),
    "ipoib": Kind(("network",), DRA_ONLY, links=("infiniband",), why="ipoib needs an InfiniBand port; use macvlan"),
    "hostdevice": Kind(("network", "resource"), DRA_ONLY),
    "sriov": Kind(("network", "resource"), DRA_ONLY),
    "spectrumx": Kind(("network", "resource"), DRA_ONLY, links=("ethernet",), why="Spectrum-X is Ethernet"),
    "dranet": Kind((), ("network", "subnet", "gateway"), empty=True),
    "efa": Kind(("resource",), ("network", "subnet", "gateway", *DRA_ONLY), links=(), why="EFA is neither"),
    "gke": Kind(("network", "interface"), DRA_ONLY, links=("ethernet",), why="GKE's networks are Ethernet"),
    "hostnetwork": Kind((), ("network", "subnet", "gateway", *DRA_ONLY), empty=True),
    "none": Kind(("resource",), ("network", "subnet", "gateway", *DRA_ONLY)),
}

ONLY: Mapping[str, tuple[str, ...]] = {
    "ipam": NETWORKED,
    "source_routing": ("macvlan", "hostdevice", "sriov"),
    "injector": ("hostdevice", "sriov", "spectrumx", "macvlan", "ipoib"),
    "device_class": ("dranet",),
    "privileged": ("hostnetwork",),
    "mtu": ("macvlan", "sriov", "spectrumx", "dranet"),
}
"""Field -> the kinds for which it says something. IPoIBNetworks take no plugins behind the first, and
the networks of ipoib and hostdevice no MTU."""

ALONE = ("hostdevice", "sriov", "spectrumx", "dranet", "efa")
"""Kinds that give each pod devices of its own."""

BY_PLUGIN = ("macvlan", "ipoib", "hostnetwork")
"""Kinds whose RDMA devices a pod gets by a device plugin, or not at all unless it is privileged."""

PINNING = ("macvlan", "ipoib", "hostdevice", "sriov", "spectrumx", "dranet", "none", "hostnetwork")
"""Kinds whose pods get IPC_LOCK with RDMA unless the file says otherwise."""

KEYS = {"source_routing": "sourceRouting", "device_class": "deviceClass"}


def check(fabric: Fabric) -> Iterator[Diagnostic]:
    """T601, T602, T604, T620, T621."""
    route, kind = (*FABRICS, fabric.name), KINDS[fabric.kind]
    yield from _links(fabric, kind, route)
    if not fabric.rails and not kind.empty:
        hint = f"add `rails:` with {listing(kind.needs, 'and')} of each network card"
        yield error("T602", route, f'fabric "{fabric.name}" has no rails', hint=hint)
    for index, rail in enumerate(fabric.rails):
        yield from _rail(fabric, rail, kind, (*route, "rails", index))
    yield from _unreached(fabric, route)
    yield from _idle_keys(fabric, kind, route)
    yield from _idle(fabric, route)
    yield from _shared(fabric, route)
    yield from _locked(fabric, route)


def _links(fabric: Fabric, kind: Kind, route: Route) -> Iterator[Diagnostic]:
    """FAB10."""
    if fabric.link_type and fabric.link_type not in kind.links:
        message = f'fabric "{fabric.name}" is {fabric.kind} over {fabric.link_type}; {kind.why}'
        yield error("T601", (*route, "linkType"), message, hint="correct the kind or the link type")
    if fabric.kind == "none" and fabric.link_type == "ethernet" and _verbs(fabric):
        message = f'fabric "{fabric.name}" gives pods RDMA devices over Ethernet and no network interface'
        hint = "RoCE goes by IP addresses: give each rail a network of the kind macvlan, hostdevice or sriov"
        yield error("T601", (*route, "kind"), message, hint=hint)


def _verbs(fabric: Fabric) -> bool:
    return any(rail.hca or rail.resource.startswith("rdma/") for rail in fabric.rails)


def _rail(fabric: Fabric, rail: Rail, kind: Kind, route: Route) -> Iterator[Diagnostic]:
    for key in kind.needs:
        if not getattr(rail, key):
            message = f'a rail of the {fabric.kind} fabric "{fabric.name}" has no `{key}`'
            yield error("T602", route, message, hint=f"add `{key}:`")


def _unreached(fabric: Fabric, route: Route) -> Iterator[Diagnostic]:
    """T602: RDMA devices that pods have no way to; said of the first."""
    bare = [number for number, rail in enumerate(fabric.rails) if rail.hca and not rail.resource]
    if bare and fabric.kind in BY_PLUGIN and not fabric.privileged:
        device = fabric.rails[bare[0]].hca
        message = f'a rail of fabric "{fabric.name}" has the RDMA device "{device}" and no resource to get it by'
        hint = "add `resource:`, a pool of the shared device plugin such as rdma/rail_0; without it pods have TCP alone"
        hint += ", unless they are `privileged`" if fabric.kind == "hostnetwork" else ""
        yield warning("T602", (*route, "rails", bare[0], "hca"), message, hint=hint)


def _idle_keys(fabric: Fabric, kind: Kind, route: Route) -> Iterator[Diagnostic]:
    """T604 of rails: once for each key."""
    for key in kind.idle:
        index = next((number for number, rail in enumerate(fabric.rails) if getattr(rail, key)), None)
        if index is not None:
            message = f'`{key}` of a rail says nothing for the {fabric.kind} fabric "{fabric.name}"'
            yield warning("T604", (*route, "rails", index, key), message, hint="take it out, or correct the kind")


def _idle(fabric: Fabric, route: Route) -> Iterator[Diagnostic]:
    for field, kinds in ONLY.items():
        given = getattr(fabric, field)
        if given and given != Ipam() and fabric.kind not in kinds:
            key = KEYS.get(field, field)
            message = f'`{key}` says nothing for the {fabric.kind} fabric "{fabric.name}"'
            yield warning("T604", (*route, key), message, hint=f"it is for {listing(kinds, 'and')}")
    if fabric.shares and not fabric.shared:
        message = f'`shares` of fabric "{fabric.name}" says how many pods share a card, and here a card is one pod\'s'
        way = "take it out" if fabric.kind in ALONE else "add `attach: shared`, or take it out"
        yield warning("T604", (*route, "shares"), message, hint=way)


def _shared(fabric: Fabric, route: Route) -> Iterator[Diagnostic]:
    """T620: several attachments would be handed one device, and all but the first none (FAB03)."""
    if fabric.attach == "shared" and fabric.kind in ALONE:
        message = f'pods cannot share cards of the {fabric.kind} fabric "{fabric.name}": each takes devices of its own'
        yield error("T620", (*route, "attach"), message, hint=f"take it out, or use {listing(SHARING)}")


def _locked(fabric: Fabric, route: Route) -> Iterator[Diagnostic]:
    """T621: RDMA pins memory, and 8 MiB of it is what a pod may pin without the capability (FAB07)."""
    if fabric.ipc_lock is False and fabric.memlock != "unlimited" and fabric.kind in PINNING and _verbs(fabric):
        message = f'fabric "{fabric.name}" has RDMA devices, and its pods get no IPC_LOCK to pin memory with'
        hint = "take it out, or raise LimitMEMLOCK on the nodes and say so: `memlock: unlimited`"
        yield warning("T621", (*route, "ipcLock"), message, hint=hint)
