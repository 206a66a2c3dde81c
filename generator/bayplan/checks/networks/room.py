"""FAB11 of a workflow: addresses that its pods take at once, out of one range or of the blocks of nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from bayplan.checks.networks.addresses import available
from bayplan.checks.places import Place, pod_sets
from bayplan.diagnostics import Diagnostic, Route, error, warning
from bayplan.fabrics.hanging import nodes_of, pools_of
from bayplan.fabrics.wanted import fabric_of, rails_of
from bayplan.kube import addresses as ip
from bayplan.model.fabric import Fabric, Rail
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import Group, Workflow
from bayplan.words import count

FROM_RANGE, FROM_BLOCKS = "whereabouts", "nv-ipam"


def check(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """T606."""
    taken: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], tuple[Route, Rail]] = {}
    for place in pod_sets(workflow):
        asked, fabric = place.pods.fabric, fabric_of(place.pods, topology)
        if asked is None or fabric is None or not limited(fabric):
            continue
        rails = [rail for rail in rails_of(asked, fabric) if ip.subnet(rail.subnet) is not None]
        for rail in rails:
            taken[fabric.name, rail.subnet] += pods(place)
            first.setdefault((fabric.name, rail.subnet), ((*place.route, "fabric"), rail))
        yield from _beside(place, fabric, rails, topology)
    for (name, subnet), needed in taken.items():
        route, rail = first[name, subnet]
        free, where = room(topology, topology.fabrics[name], rail)
        if needed > free:
            message = f"the workflow's pods take {needed} addresses of {subnet}, which has {free} for pods{where}"
            hint = "take a larger range, exclude less, or attach fewer pods"
            larger = "take a larger `perNode`, or attach fewer pods"
            yield error("T606", route, message, hint=larger if where else hint)


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


def _beside(place: Place, fabric: Fabric, rails: list[Rail], topology: ClusterTopology) -> Iterator[Diagnostic]:
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
    asked = place.pods.accelerator
    if asked is None or not asked.whole or asked.per_pod < 1:
        return 1
    kinds = [each.node for each in pools_of(topology, fabric.name) if each.node.accelerator == asked.name]
    return max((node.accelerators // asked.per_pod for node in kinds), default=1)


def pods(place: Place) -> int:
    """How many pods a podSet comes to."""
    total = place.pods.replicas
    for each in (*place.owner.above, place.owner.node):
        total *= 1 if isinstance(each, Group) and each.size else each.replicas
    return total
