"""The objects behind the fabrics of a topology: for who sets up the cluster's networks, not for who runs jobs.

Network Operator 25.7 to 26.7 (api/v1alpha1, manifests/state-*-network), nvidia-k8s-ipam v1alpha1, SR-IOV Network
Operator v1, spectrum-x-operator v1alpha2, dranet 1.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from bayplan.core.diagnostics import Diagnostic, has_errors
from bayplan.model.manifest import Manifest
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology, Fabric
from bayplan.topologies.network_operator import attachments, judging, policy, pools, slices, spectrum, sriov

NAME = "network-operator"
Write = Callable[[Fabric, ClusterTopology, Target], Iterator[Manifest]]

NETWORKS: Mapping[str, Write] = {
    "macvlan": attachments.macvlan,
    "ipoib": attachments.ipoib,
    "hostdevice": attachments.host_device,
    "sriov": sriov.write,
    "spectrumx": spectrum.write,
    "dranet": slices.write,
}
"""Kind of fabric -> its networks. The others are the cloud's, or none."""


def write(topology: ClusterTopology, target: Target) -> tuple[Manifest, ...]:
    """The policy of the operator, pools of addresses, then networks. Each object once: rails may share them."""
    made: list[Manifest] = [*policy.write(topology, target)]
    for fabric in topology.fabrics.values():
        made += pools.write(fabric, topology)
    for fabric in topology.fabrics.values():
        if fabric.kind in NETWORKS:
            made += NETWORKS[fabric.kind](fabric, topology, target)
    return tuple({_key(each): each for each in made}.values())


def _key(one: Manifest) -> tuple[str, str, str]:
    return one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]


def judge(topology: ClusterTopology, target: Target) -> tuple[Diagnostic, ...]:
    """What the file would have to say first, and what the operator's version does not take."""
    found = tuple(judging.judge(topology, target))
    found += () if has_errors(found) else tuple(_collisions(topology, target))
    return found if has_errors(found) else (*found, *judging.beside(topology, target))


def _collisions(topology: ClusterTopology, target: Target) -> Iterator[Diagnostic]:
    """Two networks that want one object: these are cluster-scoped, and called like the network."""
    made: list[tuple[str, Manifest]] = []
    for fabric in topology.fabrics.values():
        if fabric.kind in NETWORKS:
            made += [(fabric.name, each) for each in NETWORKS[fabric.kind](fabric, topology, target)]
    yield from judging.collisions([(name, _key(each), each) for name, each in made])
