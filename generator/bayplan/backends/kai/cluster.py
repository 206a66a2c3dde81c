"""KAI's cluster-scoped objects: Topologies and Queues."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.model.manifest import Manifest
from bayplan.model.target import Target
from bayplan.model.topology import HOST, ClusterTopology, Pool


def cluster_objects(topology: ClusterTopology, target: Target) -> tuple[Manifest, ...]:
    """One Topology for each list of levels, and the queues that the topology file names."""
    return (*_topologies(topology, target), *_queues(topology))


def _topologies(topology: ClusterTopology, target: Target) -> Iterator[Manifest]:
    for pool in {topology_name(topology, pool.name): pool for pool in reversed(topology.pools)}.values():
        yield {
            "apiVersion": topology_api(target),
            "kind": "Topology",
            "metadata": {"name": topology_name(topology, pool.name)},
            "spec": {"levels": [{"nodeLabel": level.label} for level in (*pool.levels, HOST)]},
        }


def topology_api(target: Target) -> str:
    """KAI has a Topology of its own since 0.12; before, it read Kueue's."""
    return "kai.scheduler/v1alpha1" if target.since("kai", "0.12") else "kueue.x-k8s.io/v1alpha1"


def _queues(topology: ClusterTopology) -> Iterator[Manifest]:
    """Queues without limits: quotas are the cluster administrator's to set."""
    own = topology.schedulers.get("kai", {})
    unlimited = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    default = topology.defaults.get("queue")
    for name in topology.queues or ((default,) if default else ()):
        yield {
            "apiVersion": "scheduling.run.ai/v2",
            "kind": "Queue",
            "metadata": {"name": name},
            "spec": {
                **({"parentQueue": own["parentQueue"]} if own.get("parentQueue") else {}),
                "resources": {each: dict(unlimited) for each in ("gpu", "cpu", "memory")},
            },
        }


def topology_name(topology: ClusterTopology, pool: str) -> str:
    """The Topology that holds a pool's levels: pools with the same levels share one."""
    base = str(topology.schedulers.get("kai", {}).get("topology") or topology.name)
    alike: dict[tuple[str, ...], str] = {}
    for each in topology.pools:
        alike.setdefault(_labels(each), each.name)
    if len(alike) == 1:
        return base
    return f"{base}-{alike[_labels(next(p for p in topology.pools if p.name == pool))]}"


def _labels(pool: Pool) -> tuple[str, ...]:
    return tuple(level.label for level in pool.levels)
