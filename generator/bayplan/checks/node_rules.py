"""Pods of manifests that no node of the topology takes: what they select, and taints that they do not tolerate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.checks.gangs import Members
from bayplan.core.diagnostics import Diagnostic, error
from bayplan.core.phrases import listing
from bayplan.kube.asked import PodsFound, requests
from bayplan.kube.objects import items, mapping, text, title
from bayplan.kube.pod_fields import covers
from bayplan.model.topology import ClusterTopology, Pool
from bayplan.planning.node_selection import selection

TAINTS = ("NoSchedule", "NoExecute", "")
"""Effects of taints that keep pods off a node."""


def check(every: Members, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """P502, for pods with GPUs. Others may run on nodes that the topology does not have."""
    for found in {each.found.route: each.found for each in every.members}.values():
        yield from _no_node(found, topology)


def _no_node(found: PodsFound, topology: ClusterTopology) -> Iterator[Diagnostic]:
    spec, asked = mapping(found.template, "spec"), requests(found)
    counts = {name: kind.count_resource for name, kind in topology.accelerators.items()}
    pools = [pool for pool in topology.pools if asked.get(counts.get(pool.node.accelerator, ""), 0)]
    chosen = [(pool, selection(spec, pool)) for pool in pools]
    left = [pool for pool, nodes in chosen if not nodes.none]
    if pools and not left:
        by = chosen[0][1].by
        message = f"the pods of {title(found.workload)} select nodes with {by}, but no pool with their cards has them"
        hint = f"correct the selection, or add these nodes to the topology; it has {listing([p.name for p in pools])}"
        yield error("P502", (*found.route, "spec", *(by.field if by else ())), message, hint=hint)
    lacking = [taint for pool in left for taint in untolerated(spec, pool, frozenset(asked))[:1]]
    if left and len(lacking) == len(left):
        key = text(lacking[0], "key")
        message = f'the pods of {title(found.workload)} do not tolerate the taint "{key}" of the nodes with their cards'
        yield error("P502", (*found.route, "spec"), message, hint=f'add a toleration for "{key}" to the pod template')


def untolerated(spec: Any, pool: Pool, resources: frozenset[str]) -> list[Any]:
    """The tolerations of a pool that pods need and lack. The API server may add those for taints that are called like a
    resource of the pods (Kubernetes 1.37, plugin/pkg/admission/extendedresourcetoleration)."""
    own = items(spec, "tolerations")
    needed = (each for each in pool.node.tolerations if text(each, "effect") in TAINTS)
    missing = (each for each in needed if not any(covers(one, each) for one in own))
    return [each for each in missing if text(each, "key") not in resources]
