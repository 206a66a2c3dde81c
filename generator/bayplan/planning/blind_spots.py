"""What narrows the choice of nodes and is not part of the proof: a warning each, since the fit is then only likely."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, warning
from bayplan.model.plan import Plan, Pods, all_pods, once
from bayplan.model.topology import ClusterTopology

KEYS = ("nodeSelector", "affinity")
"""Fields of a pod's spec by which Kubernetes leaves out nodes (Kubernetes, "Assigning Pods to Nodes")."""


def unseen(plan: Plan) -> Iterator[Diagnostic]:
    """For each podSet the fields of its template that leave out nodes which the proof counts."""
    for pods in once(pods for gang in plan.gangs for pods in all_pods(gang.root)):
        for key in _own(pods, plan.topology):
            what = f'the proof does not see the {key} in the template of podSet "{pods.spec.name}"'
            message = f'{what}; it counts every usable node of pool "{pods.pool}"'
            hint = "make the nodes that it selects a pool of the topology, and name that with `pool`"
            yield warning("P518", (*pods.route, "template", "spec", key), message, hint=hint)


def _own(pods: Pods, topology: ClusterTopology) -> Iterator[str]:
    """The keys that say more than the pool does: every node of a pool has the pool's labels."""
    spec = pods.spec.template.get("spec") or {}
    pool = topology.pool(pods.pool)
    known = pool.node.node_selector if pool else {}
    for key in KEYS:
        if spec.get(key) and not (key == "nodeSelector" and spec[key].items() <= known.items()):
            yield key
