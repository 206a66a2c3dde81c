"""FAB11 of a workflow: addresses that its pods take at once, where they come out of one range for the whole cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from bayplan.checks.networks.addresses import available
from bayplan.checks.places import Place, pod_sets
from bayplan.diagnostics import Diagnostic, Route, error
from bayplan.fabrics.wanted import rails_of
from bayplan.kube import addresses as ip
from bayplan.model.fabric import Rail
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import Group, Workflow


def check(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """T606."""
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


def pods(place: Place) -> int:
    """How many pods a podSet comes to."""
    total = place.pods.replicas
    for each in (*place.owner.above, place.owner.node):
        total *= each.replicas if isinstance(each, Group) and not each.size else 1
    return total
