"""What narrows the choice of nodes and is not part of the proof: a warning each, since the fit is then only likely."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.diagnostics import Diagnostic, warning
from bayplan.kube.safe import text
from bayplan.model.plan import Plan, Pods, all_pods, once
from bayplan.model.topology import ClusterTopology
from bayplan.planning.portions import cut

KEYS = ("nodeSelector", "affinity", "topologySpreadConstraints")
"""Fields of a pod's spec by which Kubernetes leaves out nodes (Kubernetes, "Assigning Pods to Nodes")."""

POOL = "make the nodes that it selects a pool of the topology, and name that with `pool`"
SPREAD = "pods that are to share a domain cannot be spread over several: remove it, or use `ScheduleAnyway`"


SHARES = "ask for shares of one size, each pod of one card; give the memory of a card in the topology"


def unseen(plan: Plan) -> Iterator[Diagnostic]:
    """For each podSet the fields of its template that leave out nodes which the proof counts; cards that are cut."""
    ragged = cut(plan.workflow, plan.topology)
    for pods in once(pods for gang in plan.gangs for pods in all_pods(gang.root)):
        asked = pods.spec.accelerator
        if asked and asked.name in ragged and not asked.whole:
            message = (
                f'the proof adds up the parts of cards that podSet "{pods.spec.name}" takes; it does not cut cards'
            )
            yield warning("W564", (*pods.route, "accelerator"), message, hint=SHARES)
        for key in _own(pods, plan.topology):
            what = f'the proof does not see the {key} in the template of podSet "{pods.spec.name}"'
            message = f'{what}; it counts every usable node of pool "{pods.pool}"'
            hint = SPREAD if key == "topologySpreadConstraints" else POOL
            yield warning("P518", (*pods.route, "template", "spec", key), message, hint=hint)


def _own(pods: Pods, topology: ClusterTopology) -> Iterator[str]:
    """The keys that say more than the pool does: every node of a pool has the pool's labels."""
    spec = pods.spec.template.get("spec") or {}
    pool = topology.pool(pods.pool)
    known = pool.node.node_selector if pool else {}
    for key in KEYS:
        found = spec.get(key)
        if found and not (key == "nodeSelector" and found.items() <= known.items()):
            yield from [key] if key != "topologySpreadConstraints" or any(map(_strict, found)) else []


def _strict(constraint: Any) -> bool:
    """Whether a constraint leaves out nodes, rather than to like some better."""
    return text(constraint, "whenUnsatisfiable") != "ScheduleAnyway"
