"""FAB11: addresses of rails against the nodes that need them.

Sources: nvidia-k8s-ipam v1alpha1 (ippool_validate.go, helpers.go), whereabouts 0.9 (pkg/config/config.go: a gateway
outside the range is read and never looked at), host-local (each node counts for itself).
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
    """T605 to T608."""
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
                message = "host-local counts addresses on each node alone, so pods of fabric"
                message += f' "{fabric.name}" may have the same'
                hint = "use nv-ipam or whereabouts, or a subnet for each node"
                yield warning("T606", (*FABRICS, fabric.name, "ipam", "type"), message, hint=hint)


def _written(fabric: Fabric) -> Iterator[Diagnostic]:
    """T605: what is no address, or is none of the subnet."""
    route: Route = (*FABRICS, fabric.name)
    for index, rail in enumerate(fabric.rails):
        here = (*route, "rails", index)
        if rail.subnet and ip.subnet(rail.subnet) is None:
            yield error("T605", (*here, "subnet"), f'"{rail.subnet}" is no subnet', hint="such as 10.0.0.0/24")
        elif ip.host_bits(rail.subnet):
            net = ip.subnet(rail.subnet)
            yield error("T605", (*here, "subnet"), f'"{rail.subnet}" is an address within {net}', hint=f"write {net}")
        if rail.gateway and ip.address(rail.gateway) is None:
            yield error("T605", (*here, "gateway"), f'"{rail.gateway}" is no address', hint="such as 10.0.0.1")
    own = fabric.ipam
    for key, text in (("rangeStart", own.range_start), ("rangeEnd", own.range_end)):
        if text and ip.address(text) is None:
            yield error("T605", (*route, "ipam", key), f'"{text}" is no address', hint="such as 10.0.0.10")
    for index, text in enumerate(own.exclude):
        if ip.address(text) is None or ("/" in text and ip.subnet(text) is None):
            here = (*route, "ipam", "exclude", index)
            yield error("T605", here, f'"{text}" is no address and no subnet', hint="such as 10.0.0.1 or 10.0.0.0/28")


def span(fabric: Fabric, rail: Rail) -> ip.Span | None:
    """What is given out of a rail's subnet."""
    net = ip.subnet(rail.subnet)
    return None if net is None else ip.within(net, fabric.ipam.range_start, fabric.ipam.range_end)


def available(fabric: Fabric, rail: Rail) -> int:
    """How many addresses pods can get on a rail: the range less what is excluded and, in it, the gateway."""
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
    message = f"the gateway {gateway} is outside of {net}, so that no pod can reach it"
    hint = f"the addresses of {net} are {net.network_address} to {net.broadcast_address}"
    report = error if fabric.ipam.kind == "nv-ipam" else warning
    yield report("T605", (*route, "gateway"), message, hint=hint)


def _enough(fabric: Fabric, rail: Rail, nodes: int, route: Route) -> Iterator[Diagnostic]:
    """T606: each node needs an address for each rail of the subnet, or a block of them."""
    own, net = fabric.ipam, ip.subnet(rail.subnet)
    if net is None or own.kind in ("static", "dhcp", "host-local"):
        return
    if own.kind == "nv-ipam" and own.per_node and fabric.kind == "spectrumx":
        yield from _prefixes(fabric, rail, net, nodes, route)
    elif own.kind == "nv-ipam" and own.per_node:
        room = ip.hosts(net).size
        if nodes * own.per_node > room:
            wanted = f"{count(nodes, 'node')} of {own.per_node} addresses need {nodes * own.per_node}"
            hint = "take a larger subnet, or a smaller `perNode`; `node.fabrics` says which pools hang on the fabric"
            yield error("T606", route, f"{wanted}, and {rail.subnet} has {room}", hint=hint)
    elif (free := available(fabric, rail)) < (needed := nodes * _beside(fabric, rail)):
        message = f"{rail.subnet} has {free} for pods, and {count(nodes, 'node')} hang on it, which need {needed}"
        hint = "take a larger subnet, or exclude less: a job on all nodes would never start"
        report = warning if free else error
        yield report("T606", route, message, hint=hint)


def _prefixes(fabric: Fabric, rail: Rail, net: ip.Subnet, nodes: int, route: Route) -> Iterator[Diagnostic]:
    """On Spectrum-X each node gets a subnet of its own (CIDRPool)."""
    prefix = ip.block(net, fabric.ipam.per_node, bool(rail.gateway))
    room = 1 << max(0, prefix - net.prefixlen)
    if prefix < net.prefixlen or room < nodes:
        held = 0 if prefix < net.prefixlen else room
        message = f"each of {count(nodes, 'node')} takes a subnet of /{prefix}, and {rail.subnet} holds {held} of them"
        yield error("T606", route, message, hint="take a larger subnet, or a smaller `perNode`")


def _beside(fabric: Fabric, rail: Rail) -> int:
    """Rails that have the subnet of one, itself among them."""
    return sum(each.subnet == rail.subnet for each in fabric.rails)


def _block(topology: ClusterTopology, fabric: Fabric) -> Iterator[Diagnostic]:
    """T606: what a node's block holds against the pods of a node that are on the rail at once."""
    own = fabric.ipam
    if own.kind != "nv-ipam" or not own.per_node:
        return
    pools = pools_of(topology, fabric.name)
    for rail in fabric.rails:
        at_once = max((_at_once(fabric, rail, pool.node.resources) for pool in pools), default=1)
        gateway = bool(rail.gateway) and fabric.kind != "spectrumx"  # there a node's gateway is beside its block
        needed = at_once * _beside(fabric, rail) + gateway
        if own.per_node < needed:
            message = f"a node gets {own.per_node} addresses of a subnet, and may need {needed}"
            message += ", with the gateway among those of one node" if gateway else ""
            yield error("T606", (*FABRICS, fabric.name, "ipam", "perNode"), message, hint=f"{needed} or more")
            return


def _at_once(fabric: Fabric, rail: Rail, resources: Mapping[str, int]) -> int:
    """Pods of a node that are on a rail at the same time, as far as the file says: one for each device."""
    return 1 if fabric.shared else max(1, resources.get(rail.resource, ONE) // ONE)


def _overlapping(fabric: Fabric) -> Iterator[Diagnostic]:
    """T608: several rails in one subnet break ARP and routing without plugins that see to it (nccl#2158)."""
    if fabric.source_routing:
        return
    nets = [(index, net) for index, rail in enumerate(fabric.rails) if (net := ip.subnet(rail.subnet))]
    for (first, one), (second, other) in combinations(nets, 2):
        if one.version == other.version and (other.network_address in one or one.network_address in other):
            message = f"rails {first} and {second} are both in {one if one.prefixlen < other.prefixlen else other}"
            notes = (Note("the other is here", (*FABRICS, fabric.name, "rails", first, "subnet")),)
            hint = "give each rail a subnet, or `sourceRouting: true` if the networks have the plugins sbr and tuning"
            yield warning("T608", (*FABRICS, fabric.name, "rails", second, "subnet"), message, notes=notes, hint=hint)
            return


# FAB11 of a workflow: the addresses that its pods take at the same time, from one range or from the blocks of nodes.

FROM_RANGE, FROM_BLOCKS = "whereabouts", "nv-ipam"


def check_address_room(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """T606."""
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
            message = f"the workflow's pods take {needed} addresses of {subnet}, which has {free} for pods{where}"
            hint = "take a larger range, exclude less, or attach fewer pods"
            yield error("T606", route, message, hint="take a larger `perNode`, or attach fewer pods" if where else hint)


def limited(fabric: Fabric) -> bool:
    """Whether it is known how many addresses pods can get. On Spectrum-X blocks are subnets, of a pod or two."""
    blocks = fabric.ipam.kind == FROM_BLOCKS and fabric.ipam.per_node > 0 and fabric.kind != "spectrumx"
    return blocks or fabric.ipam.kind == FROM_RANGE


def room(topology: ClusterTopology, fabric: Fabric, rail: Rail) -> tuple[int, str]:
    """How many addresses pods can get on a rail, and in whose hands they are, where it is not one."""
    free, nodes = available(fabric, rail), nodes_of(topology, fabric.name)
    blocks = nodes * fabric.ipam.per_node - bool(rail.gateway)
    if fabric.ipam.kind == FROM_RANGE or not nodes or blocks >= free:
        return free, ""
    return blocks, f", {fabric.ipam.per_node} on each of {count(nodes, 'node')}"


def _room_beside(place: Place, fabric: Fabric, rails: list[Rail], topology: ClusterTopology) -> Iterator[Diagnostic]:
    """Pods that find room on one node, and too few addresses there: schedulers do not count those."""
    block = fabric.ipam.per_node
    on_one = min(pods(place), _most(place, fabric, topology))
    shared = Counter(rail.subnet for rail in rails)
    if fabric.ipam.kind == FROM_BLOCKS and on_one * max(shared.values(), default=0) > block:
        message = f"{on_one} of these pods fit on a node, which has {block} addresses of a subnet to give"
        hint = f"write `perNode: {on_one * max(shared.values())}` or more, or have pods take more of a node"
        yield warning("T606", (*place.route, "fabric"), message, hint=hint)


def _most(place: Place, fabric: Fabric, topology: ClusterTopology) -> int:
    """Pods of a podSet that a node has cards for; as good as none where cards are shared, or none are asked for."""
    accelerator = place.pods.accelerator
    if accelerator is None or not accelerator.whole or accelerator.per_pod < 1:
        return 1
    kinds = [each.node for each in pools_of(topology, fabric.name) if each.node.accelerator == accelerator.name]
    return max((node.accelerators // accelerator.per_pod for node in kinds), default=1)


def pods(place: Place) -> int:
    """How many pods a podSet comes to."""
    total = place.pods.replicas
    for each in (*place.owner.above, place.owner.node):
        total *= 1 if isinstance(each, Group) and each.size else each.replicas
    return total
