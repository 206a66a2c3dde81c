"""FAB11: addresses of rails, compared with the nodes that need them.

Sources: `nvidia-k8s-ipam` v1alpha1 (ippool_validate.go, helpers.go), whereabouts 0.9 (pkg/config/config.go reads a
gateway outside the range and does not use it), host-local (each node has its own addresses).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations

from bayplan.checks.fabrics import FABRICS
from bayplan.core.diagnostics import Diagnostic, Note, Route, error, warning
from bayplan.core.phrases import count
from bayplan.fabrics import NETWORKED, fabric_of, nodes_of, pools_of, rails_of
from bayplan.kube import networks as ip
from bayplan.model.topology import ClusterTopology, Fabric, Rail
from bayplan.model.workflow import Group, Place, Workflow, pod_sets

ONE = 1000


def check_addresses(topology: ClusterTopology) -> Iterator[Diagnostic]:
    """T603, T605."""
    for fabric in topology.fabrics.values():
        faults = list(_written(fabric))
        yield from faults
        if not any(each.severity == "error" for each in faults) and fabric.kind in NETWORKED:
            nodes = nodes_of(topology, fabric.name)
            for index, rail in enumerate(fabric.rails):
                yield from _gateway(fabric, rail, (*FABRICS, fabric.name, "rails", index))
                if rail.subnet and nodes:
                    yield from _enough(fabric, rail, nodes, (*FABRICS, fabric.name, "rails", index, "subnet"))
            yield from _block(topology, fabric)
            yield from _overlapping(fabric)
            if fabric.ipam.kind == "host-local":
                message = "host-local assigns addresses on each node separately, so two pods of fabric"
                message += f' "{fabric.name}" may get the same address'
                hint = "use nv-ipam or whereabouts"
                yield warning("T605", (*FABRICS, fabric.name, "ipam", "type"), message, hint=hint)


def _written(fabric: Fabric) -> Iterator[Diagnostic]:
    """T605: values that are not addresses or subnets."""
    route: Route = (*FABRICS, fabric.name)
    for index, rail in enumerate(fabric.rails):
        here = (*route, "rails", index)
        if rail.subnet and ip.subnet(rail.subnet) is None:
            message = f'"{rail.subnet}" is not a subnet'
            yield error("T605", (*here, "subnet"), message, hint="write it like 10.0.0.0/24")
        elif ip.host_bits(rail.subnet):
            net = ip.subnet(rail.subnet)
            message = f'"{rail.subnet}" is an address in a subnet, not a subnet'
            yield error("T605", (*here, "subnet"), message, hint=f"write {net}")
        if rail.gateway and ip.address(rail.gateway) is None:
            message = f'"{rail.gateway}" is not an address'
            yield error("T605", (*here, "gateway"), message, hint="write it like 10.0.0.1")
    own = fabric.ipam
    for key, text in (("rangeStart", own.range_start), ("rangeEnd", own.range_end)):
        if text and ip.address(text) is None:
            message = f'"{text}" is not an address'
            yield error("T605", (*route, "ipam", key), message, hint="write it like 10.0.0.10")
    for index, text in enumerate(own.exclude):
        if ip.address(text) is None or ("/" in text and ip.subnet(text) is None):
            here = (*route, "ipam", "exclude", index)
            message = f'"{text}" is not an address or a subnet'
            yield error("T605", here, message, hint="write it like 10.0.0.1 or 10.0.0.0/28")


def span(fabric: Fabric, rail: Rail) -> ip.Span | None:
    """The addresses of a rail's subnet that pods may get."""
    net = ip.subnet(rail.subnet)
    return None if net is None else ip.within(net, fabric.ipam.range_start, fabric.ipam.range_end)


def available(fabric: Fabric, rail: Rail) -> int:
    """How many addresses pods can get on a rail: the range without excluded addresses and the gateway."""
    whole, gateway = span(fabric, rail), ip.address(rail.gateway)
    if whole is None:
        return 0
    out = list(ip.excluded(fabric.ipam.exclude))
    return ip.left(whole, [*out, *([ip.Span(int(gateway), int(gateway))] if gateway else [])])


def _gateway(fabric: Fabric, rail: Rail, route: Route) -> Iterator[Diagnostic]:
    """T605."""
    net, gateway = ip.subnet(rail.subnet), ip.address(rail.gateway)
    if net is None or gateway is None or (gateway.version == net.version and gateway in net):
        return
    message = f"the gateway {gateway} is outside of the subnet {net}, so pods cannot reach it"
    inner = net.num_addresses > 2  # without the addresses of the network and of broadcasts
    hint = f"use an address of {net}: {net[inner]} to {net[-1 - inner]}"
    report = error if fabric.ipam.kind == "nv-ipam" else warning
    yield report("T605", (*route, "gateway"), message, hint=hint)


def _enough(fabric: Fabric, rail: Rail, nodes: int, route: Route) -> Iterator[Diagnostic]:
    """T605: each node needs an address for each rail of the subnet, or a block of them."""
    own, net = fabric.ipam, ip.subnet(rail.subnet)
    if net is None or own.kind in ("static", "dhcp", "host-local"):
        return
    if own.kind == "nv-ipam" and own.per_node and fabric.kind == "spectrumx":
        yield from _prefixes(fabric, rail, net, nodes, route)
    elif own.kind == "nv-ipam" and own.per_node:
        room = ip.hosts(net).size
        if nodes * own.per_node > room:
            message = f"{count(nodes, 'node')} with {own.per_node} addresses each need {nodes * own.per_node} addresses"
            message += f", and {rail.subnet} has {room}"
            hint = "use a larger subnet or a smaller `perNode`; or list the fabric in `node.fabrics` of fewer pools"
            yield error("T605", route, message, hint=hint)
    elif (free := available(fabric, rail)) < (needed := nodes * _beside(fabric, rail)):
        message = f"{count(nodes, 'node')} need {needed} addresses of {rail.subnet}, which has {free} for pods"
        less = " or exclude less" if own.exclude else ""
        hint = f"use a larger subnet{less}; otherwise a job on all nodes never starts"
        report = warning if free else error
        yield report("T605", route, message, hint=hint)


def _prefixes(fabric: Fabric, rail: Rail, net: ip.Subnet, nodes: int, route: Route) -> Iterator[Diagnostic]:
    """On Spectrum-X each node gets a subnet of its own (CIDRPool)."""
    prefix = ip.block(net, fabric.ipam.per_node, bool(rail.gateway))
    room = 1 << max(0, prefix - net.prefixlen)
    if prefix < net.prefixlen or room < nodes:
        held = 0 if prefix < net.prefixlen else room
        message = f"{count(nodes, 'node')} need one /{prefix} subnet each, and {rail.subnet} has {held} of them"
        yield error("T605", route, message, hint="use a larger subnet, or a smaller `perNode`")


def _beside(fabric: Fabric, rail: Rail) -> int:
    """The number of rails with the rail's subnet, itself included."""
    return sum(each.subnet == rail.subnet for each in fabric.rails)


def _block(topology: ClusterTopology, fabric: Fabric) -> Iterator[Diagnostic]:
    """T605: the addresses of a node's block, compared with the pods of a node that use the rail at the same time."""
    own = fabric.ipam
    if own.kind != "nv-ipam" or not own.per_node:
        return
    pools = pools_of(topology, fabric.name)
    for rail in fabric.rails:
        at_once = max((_at_once(fabric, rail, pool.node.resources) for pool in pools), default=1)
        gateway = bool(rail.gateway) and fabric.kind != "spectrumx"  # its gateway is not in the node's block
        needed = at_once * _beside(fabric, rail) + gateway
        if own.per_node < needed:
            message = f"`perNode` is {own.per_node}, but the pods of a node may need {needed} addresses of a subnet"
            message += ": the addresses of one node include the gateway" if gateway else ""
            hint = f"set `perNode: {needed}` or more"
            yield error("T605", (*FABRICS, fabric.name, "ipam", "perNode"), message, hint=hint)
            return


def _at_once(fabric: Fabric, rail: Rail, resources: Mapping[str, int]) -> int:
    """Pods of a node that use a rail at the same time: one for each device of the topology."""
    return 1 if fabric.shared else max(1, resources.get(rail.resource, ONE) // ONE)


def _overlapping(fabric: Fabric) -> Iterator[Diagnostic]:
    """T603: several rails in one subnet break ARP and routing without plugins for it (nccl#2158)."""
    if fabric.source_routing:
        return
    nets = [(index, net) for index, rail in enumerate(fabric.rails) if (net := ip.subnet(rail.subnet))]
    for (first, one), (second, other) in combinations(nets, 2):
        if one.version == other.version and (other.network_address in one or one.network_address in other):
            message = f"rails {first} and {second} are both in {one if one.prefixlen < other.prefixlen else other}"
            notes = (Note("the other is here", (*FABRICS, fabric.name, "rails", first, "subnet")),)
            hint = (
                "give each rail a subnet; or set `sourceRouting: true` if the networks have the plugins sbr and tuning"
            )
            yield warning("T603", (*FABRICS, fabric.name, "rails", second, "subnet"), message, notes=notes, hint=hint)
            return


# FAB11 of a workflow: the addresses that its pods use at the same time, from one range or from the blocks of nodes.

FROM_RANGE, FROM_BLOCKS = "whereabouts", "nv-ipam"


def check_address_room(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """T605."""
    taken: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], tuple[Route, Rail]] = {}
    for place in pod_sets(workflow):
        attachment, fabric = place.pods.fabric, fabric_of(place.pods, topology)
        if attachment is None or fabric is None or not limited(fabric):
            continue
        rails = [rail for rail in rails_of(attachment, fabric) if ip.subnet(rail.subnet) is not None]
        for rail in rails:
            taken[fabric.name, rail.subnet] += pods(place)
            first.setdefault((fabric.name, rail.subnet), ((*place.route, "fabric"), rail))
        yield from _room_beside(place, fabric, rails, topology)
    for (name, subnet), needed in taken.items():
        route, rail = first[name, subnet]
        free, where = room(topology, topology.fabrics[name], rail)
        if needed > free:
            message = f"the pods of the workflow need {needed} addresses; {subnet} has {free} for pods{where}"
            hint = "use a larger range, exclude less, or attach fewer pods"
            yield error("T605", route, message, hint="use a larger `perNode`, or attach fewer pods" if where else hint)


def limited(fabric: Fabric) -> bool:
    """Whether the number of addresses for pods is known. On Spectrum-X blocks are subnets for a pod or two."""
    blocks = fabric.ipam.kind == FROM_BLOCKS and fabric.ipam.per_node > 0 and fabric.kind != "spectrumx"
    return blocks or fabric.ipam.kind == FROM_RANGE


def room(topology: ClusterTopology, fabric: Fabric, rail: Rail) -> tuple[int, str]:
    """How many addresses pods can get on a rail, and how nodes divide them, for the end of a message."""
    free, nodes = available(fabric, rail), nodes_of(topology, fabric.name)
    blocks = nodes * fabric.ipam.per_node - bool(rail.gateway)
    if fabric.ipam.kind == FROM_RANGE or not nodes or blocks >= free:
        return free, ""
    return blocks, f", {fabric.ipam.per_node} on each of {count(nodes, 'node')}"


def _room_beside(place: Place, fabric: Fabric, rails: list[Rail], topology: ClusterTopology) -> Iterator[Diagnostic]:
    """Pods that fit on one node whose block has too few addresses: schedulers do not count addresses."""
    block = fabric.ipam.per_node
    on_one = min(pods(place), _most(place, fabric, topology))
    shared = Counter(rail.subnet for rail in rails)
    if fabric.ipam.kind == FROM_BLOCKS and on_one * max(shared.values(), default=0) > block:
        message = f"{on_one} of these pods fit on a node, which has only {block} addresses of a subnet for them"
        hint = f"set `perNode: {on_one * max(shared.values())}` or more, or let each pod take more of a node"
        yield warning("T605", (*place.route, "fabric"), message, hint=hint)


def _most(place: Place, fabric: Fabric, topology: ClusterTopology) -> int:
    """Pods of a podSet that a node has cards for; 1 if the pods share cards or request none."""
    accelerator = place.pods.accelerator
    if accelerator is None or not accelerator.whole or accelerator.per_pod < 1:
        return 1
    kinds = [each.node for each in pools_of(topology, fabric.name) if each.node.accelerator == accelerator.name]
    return max((node.accelerators // accelerator.per_pod for node in kinds), default=1)


def pods(place: Place) -> int:
    """The number of pods of a podSet, over all its instances."""
    total = place.pods.replicas
    for each in (*place.owner.above, place.owner.node):
        total *= 1 if isinstance(each, Group) and each.size else each.replicas
    return total
