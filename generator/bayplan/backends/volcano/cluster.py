"""Volcano's cluster-scoped objects: HyperNodes, or what its discovery is to be told, and Queues."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.model.manifest import Manifest
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.topologies.hypernodes import writing

BUILT_IN = ("root", "default")
"""Queues that Volcano makes itself."""


def cluster_objects(topology: ClusterTopology, target: Target) -> tuple[Manifest, ...]:
    """The tree of HyperNodes, and the queues that the topology file names."""
    return (*writing.write(topology, target), *_queues(topology))


def _queues(topology: ClusterTopology) -> Iterator[Manifest]:
    """Queues without limits: what they may use is the cluster administrator's to set."""
    default = topology.defaults.get("queue")
    for name in topology.queues or ((default,) if default else ()):
        if name not in BUILT_IN:
            yield {
                "apiVersion": "scheduling.volcano.sh/v1beta1",
                "kind": "Queue",
                "metadata": {"name": name},
                "spec": {"weight": 1, "reclaimable": True},
            }
