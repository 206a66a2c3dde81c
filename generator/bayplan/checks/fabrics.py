"""What each kind of fabric needs, which keys it cannot use, and which links it can have.

Sources: Network Operator 26.7, Multus 4.3. macvlan over an InfiniBand port fails with "invalid argument"
(network-operator#1017). Without a network of its own a pod has no address, and RoCE needs one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from bayplan.checks.topology import POOLS, duplicates
from bayplan.core.diagnostics import Diagnostic, Note, Route, error, info, warning
from bayplan.core.phrases import listing, suggest
from bayplan.fabrics import NETWORKED, pools_of
from bayplan.kube import validation
from bayplan.kube.networks import bad_interface
from bayplan.model.topology import SHARING, ClusterTopology, Fabric, Ipam, Rail

FABRICS: Route = ("topology", "spec", "fabrics")


class Kind(NamedTuple):
    """Keys of a rail that a kind needs, and that have no effect; whether it may have no rails; possible links."""

    needs: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    empty: bool = False
    links: tuple[str, ...] = ("ethernet", "infiniband")
    why: str = ""


DRA_ONLY = ("selectors",)
KINDS: Mapping[str, Kind] = {
    "macvlan": Kind(
        ("network",), DRA_ONLY, links=("ethernet",), why="macvlan needs Ethernet; for InfiniBand use ipoib"
    ),
    "ipoib": Kind(
        ("network",), DRA_ONLY, links=("infiniband",), why="ipoib needs InfiniBand; for Ethernet use macvlan"
    ),
    "hostdevice": Kind(("network", "resource"), DRA_ONLY),
    "sriov": Kind(("network", "resource"), DRA_ONLY),
    "spectrumx": Kind(("network", "resource"), DRA_ONLY, links=("ethernet",), why="Spectrum-X is only Ethernet"),
    "dranet": Kind((), ("network", "subnet", "gateway"), empty=True),
    "efa": Kind(("resource",), ("network", "subnet", "gateway", *DRA_ONLY), links=(), why="EFA has no link type"),
    "gke": Kind(("network", "interface"), DRA_ONLY, links=("ethernet",), why="GKE's networks are only Ethernet"),
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
"""Field -> the kinds for which it has an effect. IPoIBNetworks take no plugins behind the first, and
the networks of ipoib and hostdevice take no MTU."""

ALONE = ("hostdevice", "sriov", "spectrumx", "dranet", "efa")
"""Kinds that give each pod devices of its own."""

BY_PLUGIN = ("macvlan", "ipoib", "hostnetwork")
"""Kinds whose RDMA devices a pod gets only from a device plugin, unless it is privileged."""

PINNING = ("macvlan", "ipoib", "hostdevice", "sriov", "spectrumx", "dranet", "none", "hostnetwork")
"""Kinds whose pods get IPC_LOCK with RDMA, unless `ipcLock` is false."""

KEYS = {"source_routing": "sourceRouting", "device_class": "deviceClass"}


def check_kinds(fabric: Fabric) -> Iterator[Diagnostic]:
    """T604, T610, W631."""
    route, kind = (*FABRICS, fabric.name), KINDS[fabric.kind]
    yield from _links(fabric, kind, route)
    if not fabric.rails and not kind.empty:
        hint = f"add `rails` with {listing(kind.needs, 'and')} for each network card"
        yield error("T610", route, f'fabric "{fabric.name}" has no rails', hint=hint)
    for index, rail in enumerate(fabric.rails):
        for key in kind.needs:
            if not getattr(rail, key):
                message = f'a rail of the {fabric.kind} fabric "{fabric.name}" has no `{key}`'
                yield error("T610", (*route, "rails", index), message, hint=f"add `{key}:`")
    yield from _unreached(fabric, route)
    yield from _idle_keys(fabric, kind, route)
    yield from _idle(fabric, route)
    yield from _shared(fabric, route)
    yield from _locked(fabric, route)


def _links(fabric: Fabric, kind: Kind, route: Route) -> Iterator[Diagnostic]:
    """FAB10."""
    if fabric.link_type and fabric.link_type not in kind.links:
        message = f'fabric "{fabric.name}" of the kind {fabric.kind} cannot use {fabric.link_type}: {kind.why}'
        yield error("T604", (*route, "linkType"), message, hint="correct `kind` or `linkType`")
    if fabric.kind == "none" and fabric.link_type == "ethernet" and _verbs(fabric):
        message = f'fabric "{fabric.name}" has RDMA devices over Ethernet, but no network: RoCE needs IP addresses'
        hint = "use the kind macvlan, hostdevice or sriov, and set `network` on each rail"
        yield error("T604", (*route, "kind"), message, hint=hint)


def _verbs(fabric: Fabric) -> bool:
    return any(rail.hca or rail.resource.startswith("rdma/") for rail in fabric.rails)


def _unreached(fabric: Fabric, route: Route) -> Iterator[Diagnostic]:
    """T610: RDMA devices that pods cannot get. Only the first is reported."""
    bare = [number for number, rail in enumerate(fabric.rails) if rail.hca and not rail.resource]
    if bare and fabric.kind in BY_PLUGIN and not fabric.privileged:
        device = fabric.rails[bare[0]].hca
        message = f'a rail of fabric "{fabric.name}" has the RDMA device "{device}", but no `resource` to request it'
        hint = "add `resource`, a pool of the shared device plugin such as rdma/rail_0; without it pods have only TCP"
        hint += ", unless the fabric is `privileged`" if fabric.kind == "hostnetwork" else ""
        yield warning("T610", (*route, "rails", bare[0], "hca"), message, hint=hint)


def _idle_keys(fabric: Fabric, kind: Kind, route: Route) -> Iterator[Diagnostic]:
    """T604 of rails: once for each key."""
    for key in kind.idle:
        index = next((number for number, rail in enumerate(fabric.rails) if getattr(rail, key)), None)
        if index is not None:
            message = f'`{key}` of a rail has no effect for the {fabric.kind} fabric "{fabric.name}"'
            yield warning("T604", (*route, "rails", index, key), message, hint="remove it, or correct the kind")


def _idle(fabric: Fabric, route: Route) -> Iterator[Diagnostic]:
    for field, kinds in ONLY.items():
        value = getattr(fabric, field)
        if value and value != Ipam() and fabric.kind not in kinds:
            key = KEYS.get(field, field)
            message = f'`{key}` has no effect for the {fabric.kind} fabric "{fabric.name}"'
            yield warning(
                "T604", (*route, key), message, hint=f"remove it: it is for fabrics of {listing(kinds, 'and')}"
            )
    if fabric.shares and not fabric.shared:
        message = f'`shares` has no effect for fabric "{fabric.name}", because its pods do not share cards'
        way = "remove it" if fabric.kind in ALONE else "add `attach: shared`, or remove it"
        yield warning("T604", (*route, "shares"), message, hint=way)


def _shared(fabric: Fabric, route: Route) -> Iterator[Diagnostic]:
    """T604: only the first attachment would get the device (FAB03)."""
    if fabric.attach == "shared" and fabric.kind in ALONE:
        message = f'pods cannot share the cards of the {fabric.kind} fabric "{fabric.name}": each pod takes its own'
        yield error("T604", (*route, "attach"), message, hint=f"remove it, or use a fabric of {listing(SHARING)}")


def _locked(fabric: Fabric, route: Route) -> Iterator[Diagnostic]:
    """W631: RDMA pins memory, and without the capability a pod may pin only 8 MiB (FAB07)."""
    if fabric.ipc_lock is False and fabric.memlock != "unlimited" and fabric.kind in PINNING and _verbs(fabric):
        message = f'fabric "{fabric.name}" has RDMA devices, which need pinned memory, but its pods get no IPC_LOCK'
        hint = "remove it; or raise LimitMEMLOCK on the nodes and set `memlock: unlimited`"
        yield warning("W631", (*route, "ipcLock"), message, hint=hint)


# Names of extended resources and of interfaces, by the rules of the component that defines them.
#
# Sources: Network Operator 26.7 api/v1alpha1/validator (its webhook is off by default, so that a bad name shows up
# only when pods wait), `k8s-rdma-shared-dev-plugin`, SR-IOV Network Device Plugin 3.11 pkg/utils (ValidResourceName),
# SR-IOV Network Operator pkg/webhook/validate.go, spectrum-x-operator v1alpha2.

EFA = "vpc.amazonaws.com/efa"
NVIDIA = "nvidia.com"
SHARED = "rdma"


def check_names(fabric: Fabric) -> Iterator[Diagnostic]:
    """T600 (FAB05), once per resource, and W527 (FAB04)."""
    reported: set[tuple[str, str]] = set()
    for index, rail in enumerate(fabric.rails):
        route: Route = (*FABRICS, fabric.name, "rails", index)
        one = (rail.resource, rail.network if fabric.kind == "spectrumx" else "")
        if rail.resource and one not in reported:
            reported.add(one)
            yield from _resource(fabric, rail, (*route, "resource"))
        if rail.interface and fabric.kind != "hostnetwork":
            yield from _interface(fabric, rail.interface, (*route, "interface"))


def _resource(fabric: Fabric, rail: Rail, route: Route) -> Iterator[Diagnostic]:
    prefix, slash, name = rail.resource.rpartition("/")
    if not slash:
        message = f'"{rail.resource}" is not an extended resource: it has no prefix'
        yield error("T600", route, message, hint=f"write it with its prefix, such as {NVIDIA}/{rail.resource}")
        return
    if fabric.kind in ("hostdevice", "spectrumx"):
        yield from _nvidia(fabric.kind, rail, prefix, name, route)
    elif fabric.kind == "sriov" and "." in name:
        yield from _plugin(prefix, name, route)
    elif fabric.kind == "none" and not fabric.shared:
        if "." not in prefix:
            message = (
                f'the prefix of "{rail.resource}" is not a domain; the Network Operator\'s webhook, if on, refuses it'
            )
            hint = "use a domain such as nvidia.com, unless the cluster has no webhook, as on AKS"
            yield info("T600", route, message, hint=hint)
        yield from _plugin(prefix, name, route)
    elif fabric.kind in ("macvlan", "ipoib") and prefix != SHARED and "." not in prefix:
        message = f'the prefix "{prefix}" is not a domain; the shared device plugin uses the prefix "{SHARED}"'
        yield warning("T600", route, message, hint=f"write {SHARED}/{name}")
    elif fabric.kind == "efa" and rail.resource != EFA:
        message = f'"{rail.resource}" is not the resource of EFA cards, which is {EFA}'
        yield warning("T600", route, message, hint=f"write {EFA}")


def _nvidia(kind: str, rail: Rail, prefix: str, name: str, route: Route) -> Iterator[Diagnostic]:
    if prefix != NVIDIA:
        why = "HostDeviceNetworks" if kind == "hostdevice" else "the networks of Spectrum-X"
        message = f'{why} take only devices with the prefix {NVIDIA}/, not "{prefix}/"'
        yield error("T600", route, message, hint=f"write {NVIDIA}/{name}, and `resourcePrefix: {NVIDIA}` in the plugin")
        return
    if kind == "spectrumx":
        network = rail.network.rpartition("/")[2]
        if network and network != name:
            message = f'network "{network}" and resource "{name}" differ: a Spectrum-X rail uses one name for both'
            yield error("T600", route, message, hint=f"write {NVIDIA}/{network}")
        return
    yield from _plugin(prefix, name, route)


def _plugin(prefix: str, name: str, route: Route) -> Iterator[Diagnostic]:
    """The SR-IOV plugin refuses dots and allows dashes. The Network Operator's webhook, which checks the plugin's
    configuration in its policy, does the opposite. The SR-IOV operator writes its own configuration."""
    if "." in name:
        message = f'the SR-IOV device plugin refuses "{prefix}/{name}", because the name has a dot'
        yield error("T600", route, message, hint=f'rename the resource to "{prefix}/{name.replace(".", "_")}"')
    elif "-" in name:
        message = f'the Network Operator\'s webhook, if on, refuses "{prefix}/{name}", because the name has a dash'
        yield warning("T600", route, message, hint=f'rename the resource to "{prefix}/{name.replace("-", "_")}"')


def _interface(fabric: Fabric, name: str, route: Route) -> Iterator[Diagnostic]:
    why = bad_interface(name)
    if why and not (fabric.kind == "gke" and name == "eth0"):
        yield error("W527", route, f'interface name "{name}" {why}', hint="use a name such as net1")


# Rails of one fabric compared with each other: repeated devices, resources that do not distinguish cards.


def check_rails(fabric: Fabric) -> Iterator[Diagnostic]:
    """T603, W565."""
    yield from _selectors(fabric)
    rails: Route = (*FABRICS, fabric.name, "rails")
    for key, what in (("hca", "RDMA device"), ("interface", "interface")):
        values = [getattr(rail, key) for rail in fabric.rails]
        message, hint = f"two rails have the {what}", f"set a different `{key}` on each rail"
        yield from duplicates(values, rails, key, "T603", message, hint, "the other is here")
    yield from _ports(fabric)
    yield from _claimed(fabric)
    yield from _order(fabric)
    some = [index for index, rail in enumerate(fabric.rails) if not rail.hca]
    if 0 < len(some) < len(fabric.rails):
        message = f'some rails of fabric "{fabric.name}" have an RDMA device and others do not'
        hint = "set `hca` on all rails: NCCL uses only the named devices"
        yield warning("T603", (*rails, some[0]), message, hint=hint)


def _selectors(fabric: Fabric) -> Iterator[Diagnostic]:
    """The API server reads the expressions only when it creates a claim."""
    for index, rail in enumerate(fabric.rails):
        for number, text in enumerate(rail.selectors):
            if why := validation.fault(text):
                here = (*FABRICS, fabric.name, "rails", index, "selectors", number)
                yield error("W565", here, f"the CEL expression is not valid: {why}", hint="correct it")


def _claimed(fabric: Fabric) -> Iterator[Diagnostic]:
    """Cards that both DRA and a device plugin allocate: pods would request both."""
    index = next((number for number, rail in enumerate(fabric.rails) if rail.resource), None)
    if fabric.kind == "dranet" and index is not None:
        message = f'pods claim the cards of the dranet fabric "{fabric.name}", but a rail also has a `resource`'
        hint = "remove `resource` from its rails: request a card in one way only"
        yield error("T603", (*FABRICS, fabric.name, "rails", index, "resource"), message, hint=hint)


def _ports(fabric: Fabric) -> Iterator[Diagnostic]:
    """One port can have several rails only for macvlan over several VLANs."""
    counted = Counter(rail.device for rail in fabric.rails if rail.device)
    for index, rail in enumerate(fabric.rails):
        if counted[rail.device] > 1 and fabric.kind != "macvlan":
            message = f'{counted[rail.device]} rails of fabric "{fabric.name}" have the same port "{rail.device}"'
            route = (*FABRICS, fabric.name, "rails", index, "device")
            yield warning("T603", route, message, hint="set a different `device` on each rail")
            counted[rail.device] = 0


def _order(fabric: Fabric) -> Iterator[Diagnostic]:
    """The kubelet allocates devices of one resource in any order, and Multus binds them in the annotation's order
    (multus-cni 4.3, pkg/k8sclient)."""
    if fabric.shared or fabric.kind not in NETWORKED:
        return
    for resource, rails in Counter(rail.resource for rail in fabric.rails if rail.resource).items():
        if rails < 2:
            continue
        subnets = {rail.subnet for rail in fabric.rails if rail.resource == resource}
        index = next(n for n, rail in enumerate(fabric.rails) if rail.resource == resource)
        route = (*FABRICS, fabric.name, "rails", index, "resource")
        message = (
            f'{rails} rails of fabric "{fabric.name}" have the resource "{resource}", so a pod may get their cards in'
            " any order"
        )
        hint = "give each rail a resource of its own: a pool of the device plugin for each port"
        if len(subnets) > 1:
            yield warning("T603", route, f"{message}, with the addresses of other rails", hint=hint)
        else:
            yield info("T603", route, message, hint=hint)


# Fabrics and their nodes: names, GPU numbers, and cards in two fabrics.

GLOBAL = ("default", "openshift-multus", "openshift-sriov-network-operator", "openshift-cnv")
"""Namespaces whose networks all pods of OpenShift may use (namespaceIsolation, on by default)."""


def check_fabric_nodes(topology: ClusterTopology) -> Iterator[Diagnostic]:
    """T610, T612, and T603 for cards of two fabrics."""
    for index, pool in enumerate(topology.pools):
        for place, name in enumerate(pool.node.fabrics or ()):
            if name not in topology.fabrics:
                hint = suggest(name, topology.fabrics, "fabrics")
                message = f'pool "{pool.name}" is on the fabric "{name}", which `fabrics` does not declare'
                yield error("T610", (*POOLS, index, "node", "fabrics", place), message, hint=hint)
    for fabric in topology.fabrics.values():
        yield from _alone(topology, fabric)
        yield from _gpus(topology, fabric)
        if topology.platform == "openshift" and fabric.kind in NETWORKED:
            yield from _isolated(topology, fabric)
    yield from _nodes_shared(topology)


def _alone(topology: ClusterTopology, fabric: Fabric) -> Iterator[Diagnostic]:
    if not pools_of(topology, fabric.name):
        hint = "add it to `node.fabrics` of a pool, or remove `node.fabrics` there"
        yield warning("T610", (*FABRICS, fabric.name), f'no pool is on the fabric "{fabric.name}"', hint=hint)


def _gpus(topology: ClusterTopology, fabric: Fabric) -> Iterator[Diagnostic]:
    counts = [pool.node.accelerators for pool in pools_of(topology, fabric.name) if pool.node.accelerators]
    for index, rail in enumerate(fabric.rails):
        if counts and rail.gpu is not None and rail.gpu >= max(counts):
            message = f"a node on this fabric has no GPU {rail.gpu}: it has {max(counts)}, and GPUs count from 0"
            hint = f"use a number from 0 to {max(counts) - 1}"
            yield error("T610", (*FABRICS, fabric.name, "rails", index, "gpu"), message, hint=hint)


def _isolated(topology: ClusterTopology, fabric: Fabric) -> Iterator[Diagnostic]:
    """On OpenShift, Multus attaches only networks of the pod's namespace and of a few shared namespaces."""
    spaces = {name for name in (*topology.namespaces, topology.defaults.get("namespace", "")) if name}
    for index, rail in enumerate(fabric.rails):
        space = rail.network.rpartition("/")[0]
        if space and space not in GLOBAL and spaces and space not in spaces:
            message = (
                f'on OpenShift, pods of namespace {listing(sorted(spaces), "or", 3)} cannot use networks of "{space}"'
            )
            hint = f"put the network into the pods' namespace, or into {listing(GLOBAL[:1])}"
            yield warning("T612", (*FABRICS, fabric.name, "rails", index, "network"), message, hint=hint)
            return


def _nodes_shared(topology: ClusterTopology) -> Iterator[Diagnostic]:
    """One card serves one type of networking (Network Operator 26.4, deployment guide)."""
    first: dict[tuple[str, str, str], tuple[str, int]] = {}
    for fabric in topology.fabrics.values():
        for index, rail in enumerate(fabric.rails):
            for pool in pools_of(topology, fabric.name):
                for key in ("hca", "device"):
                    value = getattr(rail, key)
                    other, place = first.setdefault((pool.name, key, value), (fabric.name, index))
                    if value and other != fabric.name and topology.fabrics[other].kind != fabric.kind:
                        message = f'card "{value}" of pool "{pool.name}" is in two fabrics of different kinds'
                        notes = (Note("the other is here", (*FABRICS, other, "rails", place, key)),)
                        route = (*FABRICS, fabric.name, "rails", index, key)
                        hint = (
                            "a card can be of one kind only; set `node.fabrics` if the pools are on different fabrics"
                        )
                        yield warning("T603", route, message, notes=notes, hint=hint)
                        return
