"""Kueue's cluster objects of a topology: Topology, ResourceFlavor, ClusterQueue and LocalQueue (Kueue 0.14 to 0.19).

What upstream refuses by CRD: more than 16 levels; a flavor with a topologyName and no nodeLabels; more than 8 node
labels or tolerations; a flavor that does not list exactly the covered resources, in their order
(Kueue `topology_types.go`, `resourceflavor_types.go`, `clusterqueue_webhook.go`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.kube import quantity
from bayplan.model.manifest import Manifest
from bayplan.model.target import Target
from bayplan.model.topology import HOST, ClusterTopology, Pool

EVERY_NODE = {"kubernetes.io/os": "linux"}
"""A label that every kubelet sets: the flavor of a pool that has no nodeSelector, for a flavor must name a label."""

UNLIMITED = {"cpu": "1M", "memory": "1Pi", "ephemeral-storage": "1Pi"}
"""The quota of what a topology need not state. Any pod may ask for it, and a queue that does not cover it is no use."""

NO_QUOTA = ("pods",)
"""Node resources that pods do not ask for: Kueue keeps the name for itself."""


def cluster_objects(topology: ClusterTopology, target: Target) -> tuple[Manifest, ...]:
    """One Topology for each list of levels, a flavor for each pool; with queues, what stands behind them."""
    api = api_version(target)
    queues = (_cluster_queue(topology, api), *_local_queues(topology, api)) if queue_names(topology) else ()
    return (*_topologies(topology, api), *_flavors(topology, api), *queues)


def api_version(target: Target) -> str:
    """v1beta2 is served since 0.15; 0.14 has v1beta1 alone, and v1alpha1 (Topology) is gone since 0.14."""
    return "kueue.x-k8s.io/v1beta2" if target.since("kueue", "0.15") else "kueue.x-k8s.io/v1beta1"


def _topologies(topology: ClusterTopology, api: str) -> Iterator[Manifest]:
    """With the host level last: only then does Kueue see taints, and replace a single node."""
    for name, pool in {topology_name(topology, pool.name): pool for pool in reversed(topology.pools)}.items():
        yield {
            "apiVersion": api,
            "kind": "Topology",
            "metadata": {"name": name},
            "spec": {"levels": [{"nodeLabel": level.label} for level in (*pool.levels, HOST)]},
        }


def _flavors(topology: ClusterTopology, api: str) -> Iterator[Manifest]:
    for pool in topology.pools:
        tolerations = [dict(each) for each in pool.node.tolerations]
        yield {
            "apiVersion": api,
            "kind": "ResourceFlavor",
            "metadata": {"name": flavor_name(topology, pool.name)},
            "spec": {
                "nodeLabels": dict(node_labels(pool)),
                **({"tolerations": tolerations} if tolerations else {}),
                "topologyName": topology_name(topology, pool.name),
            },
        }


def node_labels(pool: Pool) -> Mapping[str, str]:
    """The labels that tell a pool's nodes from others."""
    return pool.node.node_selector or EVERY_NODE


def _cluster_queue(topology: ClusterTopology, api: str) -> Manifest:
    """One queue over all pools, open to every namespace, with what all nodes offer as its quota."""
    covered = covered_resources(topology)
    return {
        "apiVersion": api,
        "kind": "ClusterQueue",
        "metadata": {"name": cluster_queue_name(topology)},
        "spec": {
            "namespaceSelector": {},
            "resourceGroups": [
                {
                    "coveredResources": list(covered),
                    "flavors": [_quotas(topology, pool, covered) for pool in topology.pools],
                }
            ],
        },
    }


def _quotas(topology: ClusterTopology, pool: Pool, covered: tuple[str, ...]) -> dict[str, Any]:
    quota = {**UNLIMITED, **{name: quantity.show(amount) for name, amount in _offered(topology, pool).items()}}
    return {
        "name": flavor_name(topology, pool.name),
        "resources": [{"name": name, "nominalQuota": quota.get(name, "0")} for name in covered],
    }


def _offered(topology: ClusterTopology, pool: Pool) -> dict[str, int]:
    """What all nodes of a pool offer, in thousandths: their resources, their cards, their channels where mapped."""
    nodes = sum(len(domain.nodes) for domain in pool.domains)
    own = {name: amount for name, amount in pool.node.resources.items() if name not in NO_QUOTA}
    channels = dict.fromkeys(mapped_resources(topology), 1000)
    return {name: amount * nodes for name, amount in {**own, **_cards(topology, pool), **channels}.items()}


def _cards(topology: ClusterTopology, pool: Pool) -> dict[str, int]:
    """A node's GPUs, and parts of them, by the names under which pods ask for them; claims through DRA ask for none."""
    kind = topology.accelerators.get(pool.node.accelerator)
    if kind is None or not {"device-plugin", "hami"} & set(kind.allocators):
        return {}
    if "hami" in kind.allocators:
        from bayplan.accelerators import hami as shares

        return {name: amount * 1000 for name, amount in shares.quota(kind, pool.node.accelerators).items()}
    return {kind.resources.get("count", "nvidia.com/gpu"): pool.node.accelerators * 1000}


def covered_resources(topology: ClusterTopology) -> tuple[str, ...]:
    """What every container may ask for, then whatever any pool offers."""
    offered = {name for pool in topology.pools for name in _offered(topology, pool)}
    return (*UNLIMITED, *sorted(offered - set(UNLIMITED)))


def mapped_resources(topology: ClusterTopology) -> tuple[str, ...]:
    """The resources that Kueue's configuration counts device classes as (`deviceClassMappings`)."""
    own: Mapping[str, str] = topology.schedulers.get("kueue", {}).get("deviceClassMappings", {})
    return tuple(dict.fromkeys(own.values()))


def _local_queues(topology: ClusterTopology, api: str) -> Iterator[Manifest]:
    """Each queue in each namespace that the topology describes; where it describes none, in that of the workflow."""
    for namespace in tuple(topology.namespaces) or ("",):
        for name in queue_names(topology):
            yield {
                "apiVersion": api,
                "kind": "LocalQueue",
                "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
                "spec": {"clusterQueue": cluster_queue_name(topology)},
            }


def queue_names(topology: ClusterTopology) -> tuple[str, ...]:
    """The queues that the topology file names."""
    default = topology.defaults.get("queue")
    return topology.queues or ((default,) if default else ())


def cluster_queue_name(topology: ClusterTopology) -> str:
    """The ClusterQueue behind the queues."""
    return str(topology.schedulers.get("kueue", {}).get("clusterQueue") or topology.name)


def flavor_name(topology: ClusterTopology, pool: str) -> str:
    """The ResourceFlavor of a pool."""
    base = topology.schedulers.get("kueue", {}).get("flavor")
    if not base:
        return pool
    return str(base) if len(topology.pools) == 1 else f"{base}-{pool}"


def topology_name(topology: ClusterTopology, pool: str) -> str:
    """The Topology that holds a pool's levels: pools with the same levels share one."""
    base = str(topology.schedulers.get("kueue", {}).get("topology") or topology.name)
    alike: dict[tuple[str, ...], str] = {}
    for each in topology.pools:
        alike.setdefault(_labels(each), each.name)
    if len(alike) == 1:
        return base
    return f"{base}-{alike[_labels(next(p for p in topology.pools if p.name == pool))]}"


def _labels(pool: Pool) -> tuple[str, ...]:
    return tuple(level.label for level in pool.levels)
