"""What an export of fabrics needs to be told first, and what an operator's version does not take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bayplan.core.diagnostics import Diagnostic, Route, error, info, warning
from bayplan.core.phrases import listing
from bayplan.fabrics import NETWORKED, network_of, shares_verbs
from bayplan.model.manifest import Manifest
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology, Fabric
from bayplan.topologies.network_operator import policy
from bayplan.topologies.network_operator.attachments import CHAINING, chains

FABRICS: Route = ("topology", "spec", "fabrics")
RANGES = ("nv-ipam", "whereabouts", "host-local")
OURS = (*NETWORKED, "dranet", "none")
RAIL_POOLS, GLOBAL = "26.4", "26.1"


def judge(topology: ClusterTopology, target: Target) -> Iterator[Diagnostic]:
    """T613 and T614."""
    for fabric in topology.fabrics.values():
        route: Route = (*FABRICS, fabric.name)
        if fabric.kind not in OURS:
            message = f'whoever runs the cluster makes the networks of the {fabric.kind} fabric "{fabric.name}"'
            yield info("T613", route, message, hint="nothing is written for it")
            continue
        if fabric.kind in NETWORKED:
            yield from _placed(fabric, topology, route)
            yield from _ranges(fabric, route)
        yield from _ports(fabric, route)
        yield from _versions(fabric, target, route)


def beside(topology: ClusterTopology, target: Target) -> Iterator[Diagnostic]:
    """T615, of what is written."""
    yield from _one_policy(topology, target)
    yield from _prefixes(topology)


def _placed(fabric: Fabric, topology: ClusterTopology, route: Route) -> Iterator[Diagnostic]:
    for index, rail in enumerate(fabric.rails):
        if not network_of(rail, topology)[0]:
            message = f'nobody says in which namespace the network "{rail.network}" is'
            hint = f"write namespace/{rail.network}, or `defaults: {{namespace: ...}}`"
            yield error("T613", (*route, "rails", index, "network"), message, hint=hint)


def _ranges(fabric: Fabric, route: Route) -> Iterator[Diagnostic]:
    own = fabric.ipam
    if own.kind == "nv-ipam" and not own.per_node:
        message = "nv-ipam needs the number of addresses that each node gets"
        yield error("T613", (*route, "ipam"), message, hint="add `perNode:`, pods of a node on one rail and one more")
    for index, rail in enumerate(fabric.rails):
        if own.kind in RANGES and not rail.subnet:
            message = f"{own.kind} needs the subnet of the rail"
            yield error("T613", (*route, "rails", index), message, hint="add `subnet:`, such as 10.0.0.0/24")
    if own.kind == "host-local" and own.exclude:
        yield warning("T613", (*route, "ipam", "exclude"), "host-local excludes nothing", hint="use `rangeStart`")
    if not own.kind and any(rail.subnet for rail in fabric.rails):
        message = f'the rails of fabric "{fabric.name}" have subnets, and nobody gives out their addresses'
        yield warning("T613", route, message, hint="add `ipam: {type: nv-ipam, perNode: 16}`")


def _ports(fabric: Fabric, route: Route) -> Iterator[Diagnostic]:
    """Which port a rail is."""
    resources = {rail.resource for rail in fabric.rails}
    needed = fabric.kind in ("macvlan", "ipoib", "spectrumx")
    told = len(resources) > 1 and (fabric.kind in ("hostdevice", "sriov", "none") or shares_verbs(fabric))
    for index, rail in enumerate(fabric.rails):
        if not rail.device and (needed or told):
            why = "" if needed else ", and several resources must be told apart"
            message = f"nobody says which port of the nodes the rail is{why}"
            hint = "add `device:`, the port's interface on the nodes, such as ens1f0np0"
            yield error("T613", (*route, "rails", index), message, hint=hint)
        elif ":" in rail.device and fabric.kind not in ("hostdevice", "sriov", "none"):
            message = f"{fabric.kind} finds a port by the name of its interface, not by a PCI address"
            yield error("T613", (*route, "rails", index, "device"), message, hint="such as ens1f0np0")
    named = [n for n, rail in enumerate(fabric.rails) if rail.device and ":" not in rail.device]
    if named and fabric.kind in ("hostdevice", "none") and not fabric.shared:
        message = f'"{fabric.rails[named[0]].device}" stands for the virtual functions of the port, not for the port'
        hint = "where pods get whole ports, write PCI addresses: `device: 0000:1a:00.0`"
        yield info("T613", (*route, "rails", named[0], "device"), message, hint=hint)
    if fabric.kind == "spectrumx" and not fabric.mtu:
        yield error("T613", route, "rails of Spectrum-X need an MTU", hint="add `mtu: 9000`")


def _versions(fabric: Fabric, target: Target, route: Route) -> Iterator[Diagnostic]:
    """T614."""
    said = target.versions.get("networkOperator", "")
    if fabric.kind == "spectrumx" and not target.since("networkOperator", RAIL_POOLS):
        message = f"the Network Operator {said} has no SpectrumXRailPoolConfig; {RAIL_POOLS} is the first that has"
        yield error("T614", (*route, "kind"), message, hint="upgrade, or describe the rails as the kind sriov")
    if fabric.source_routing and fabric.kind in ("macvlan", "hostdevice") and not chains(target):
        which = f"the Network Operator {said} takes" if said else f"Network Operators before {CHAINING} take"
        message = f"{which} no `metaPlugins`, so NetworkAttachmentDefinitions are written instead"
        hint = f'they are what later ones make; with {CHAINING}, write `versions: {{networkOperator: "{CHAINING}"}}`'
        yield info("T614", (*route, "sourceRouting"), message, hint=hint)


def _one_policy(topology: ClusterTopology, target: Target) -> Iterator[Diagnostic]:
    """T615: the policy's parts lack what no topology knows."""
    if not any(policy.write(topology, target)):
        return
    message = "the NicClusterPolicy has parts alone, without registry and version of their images"
    hint = "`kubectl apply --server-side` puts them into the cluster's; there, `global` says registry and version"
    if not target.since("networkOperator", GLOBAL):
        hint = "add `repository` and `version` to each part, as in the policy that the cluster has"
    yield info("T615", ("topology", "spec", "fabrics"), message, hint=hint)


def _prefixes(topology: ClusterTopology) -> Iterator[Diagnostic]:
    """T615: the SR-IOV operator gives all its resources one prefix."""
    for fabric in topology.fabrics.values():
        found = sorted({rail.resource.rpartition("/")[0] for rail in fabric.rails})
        usual = "openshift.io" if topology.platform == "openshift" else "nvidia.com"
        if fabric.kind == "sriov" and found != [usual]:
            message = f"the SR-IOV operator calls its resources {usual}/..., and the file {listing(found, 'and')}"
            hint = f"set its `resourcePrefix` to {found[0]}, or correct the rails' resources"
            yield warning("T615", (*FABRICS, fabric.name, "rails", 0, "resource"), message, hint=hint)


def collisions(made: Sequence[tuple[str, tuple[str, str, str], Manifest]]) -> Iterator[Diagnostic]:
    """T613: objects of one kind and name that are not the same."""
    first: dict[tuple[str, str, str], Manifest] = {}
    for fabric, key, one in made:
        if first.setdefault(key, one) != one:
            message = f'two networks would be the {key[0]} "{key[2]}"'
            hint = "objects of networks are called like the network, whatever its namespace: rename one"
            yield error("T613", (*FABRICS, fabric), message, hint=hint)
