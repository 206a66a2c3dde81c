"""FAB11 of a workflow: addresses that its pods take at once, of a range for the whole cluster or of a node's block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from bayplan.checks.networks.addresses import available
from bayplan.checks.places import Place, pod_sets
from bayplan.diagnostics import Diagnostic, Route, error, warning
from bayplan.fabrics.hanging import nodes_of
from bayplan.fabrics.wanted import rails_of
from bayplan.kube import addresses as ip
from bayplan.model.fabric import Rail
from bayplan.model.topology import ClusterTopology, Pool
from bayplan.model.workflow import GANGS, Gang, PodSet, Workflow
from bayplan.planning.pools import gang_pools


def check(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """T606."""
    yield from _of_cluster(workflow, topology)
    yield from _of_nodes(workflow, topology)


def _of_cluster(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """Ranges for the whole cluster (whereabouts)."""
    taken: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], tuple[Route, Rail]] = {}
    for place in pod_sets(workflow):
        asked = place.pods.fabric
        fabric = topology.fabrics.get(asked.name) if asked else None
        if asked is None or fabric is None or fabric.ipam.kind != "whereabouts":
            continue
        for rail in rails_of(asked, fabric):
            if ip.subnet(rail.subnet) is not None:
                taken[fabric.name, rail.subnet] += pods(place)
                first.setdefault((fabric.name, rail.subnet), ((*place.route, "fabric"), rail))
    for (name, subnet), needed in taken.items():
        route, rail = first[name, subnet]
        free = available(topology.fabrics[name], rail)
        if needed > free:
            message = f"the workflow's pods take {needed} addresses of {subnet}, which has {free} for pods"
            yield error("T606", route, message, hint="take a larger range, exclude less, or attach fewer pods")


def _of_nodes(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """Blocks of one node (nv-ipam), for pods that share a card: as many as its accelerators or shares let in.

    Of cards of their own the topology alone says how many are used at once (T606 there).
    """
    pools = {
        route: name
        for index, gang in enumerate(workflow.gangs)
        for route, name in gang_pools(workflow, gang, (*GANGS, index), topology).items()
    }
    for place in pod_sets(workflow):
        asked, name = place.pods.fabric, pools.get(place.route)
        fabric = topology.fabrics.get(asked.name) if asked else None
        pool = topology.pool(name) if isinstance(name, str) else None
        if asked and fabric and pool and fabric.shared and fabric.ipam.kind == "nv-ipam" and fabric.ipam.per_node:
            many = min(pods(place), _beside(place.pods, pool), fabric.shares or pods(place))
            rails = rails_of(asked, fabric)
            most = max((sum(one.subnet == each.subnet for one in rails) for each in rails if each.subnet), default=0)
            needed = many * most + any(rail.gateway for rail in rails)
            has = fabric.ipam.per_node
            if needed > has:
                message = f"a node runs up to {many} of these pods, which take {needed} addresses, and it has {has}"
                hint = f"`perNode: {needed}`, larger pods, or `wholeNode: true`"
                lost = pods(place) * most > has * nodes_of(topology, fabric.name)
                yield (error if lost else warning)("T606", (*place.route, "fabric"), message, hint=hint)


def _beside(spec: PodSet, pool: Pool) -> int:
    """How many pods of a podSet a node's accelerators are enough for; 1 where nobody can tell."""
    if spec.whole_node or not spec.accelerator or not spec.accelerator.per_pod:
        return 1
    return max(1, pool.node.accelerators // spec.accelerator.per_pod)


def pods(place: Place) -> int:
    """How many pods a podSet comes to, in all copies of its gang."""
    total = place.pods.replicas
    for each in (*place.owner.above, place.owner.node):
        total *= each.replicas if isinstance(each, Gang) or not each.size else 1
    return total
