"""Of podSets on a fabric."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.checks.attachments import claims, hands, rails, rendezvous, sockets
from bayplan.checks.attachments.seen import Seen
from bayplan.checks.places import pod_sets
from bayplan.diagnostics import Diagnostic
from bayplan.fabrics import wanted
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import Workflow
from bayplan.planning.pools import pools_of

CHECKS = (rails.check, hands.check, sockets.check, rendezvous.check, claims.check)


def check(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """What is wrong with each of them."""
    for seen in _seen(workflow, topology):
        wrong = tuple(rails.numbers(seen))
        yield from wrong or (found for each in CHECKS for found in each(seen))


def _seen(workflow: Workflow, topology: ClusterTopology) -> Iterator[Seen]:
    """PodSets whose fabric there is, with their pool as far as it is known."""
    namespace = workflow.namespace or topology.defaults.get("namespace", "")
    known = pools_of(workflow, topology)
    for place in pod_sets(workflow):
        pool = known.get(place.route)
        asked = wanted(place.pods, topology, namespace, pool) if pool else None
        if asked:
            yield Seen(place, asked, topology)
