"""Labels that schedulers read and nodes do not have yet, for a topology from another source.

Each document is a Node with only labels, for `kubectl apply --server-side`. It keeps the labels of others, and removes
labels that an earlier version of the file had (Kubernetes 1.22 and later, field managers).
"""

from __future__ import annotations

from bayplan.model.manifest import Many, Slot
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology, Domain, Pool


def write(topology: ClusterTopology, target: Target) -> tuple[Many, ...]:
    """The labels of the levels with `apply`, or all labels of nodes if no level has it.

    A file without `apply` describes existing labels, and its export makes equal nodes for a simulated cluster.
    """
    marked = any(level.apply for pool in topology.pools for level in pool.levels)
    result = (_nodes(pool, domain, marked) for pool in topology.pools for domain in pool.domains if domain.nodes)
    return tuple(each for each in result if each.skeleton["metadata"]["labels"])


def _nodes(pool: Pool, domain: Domain, marked: bool) -> Many:
    """One skeleton for all nodes of a domain."""
    own = {} if marked else pool.node.node_selector
    levels = zip(pool.levels, domain.path, strict=False)
    labels = {**own, **{level.label: value for level, value in levels if level.apply or not marked}}
    skeleton = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": Slot(0, "name"), "labels": labels}}
    return Many(skeleton, tuple((node,) for node in domain.nodes))
