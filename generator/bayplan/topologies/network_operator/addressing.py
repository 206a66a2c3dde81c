"""The `ipam` of a network: a JSON text, which the operator pastes between single quotes (Network Operator 26.7,
manifests/state-*-network), so that it may hold none of its own, and no value a blank."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bayplan.fabrics import network_of
from bayplan.kube import networks as ip
from bayplan.kube.objects import given
from bayplan.model.topology import ClusterTopology, Fabric, Rail

Made = Mapping[str, Any]


def pool_name(fabric: Fabric, rail: Rail, topology: ClusterTopology) -> str:
    """nv-ipam: rails of one subnet take their addresses from one pool, called like the network of the first."""
    first = next((each for each in fabric.rails if each.subnet == rail.subnet), rail)
    return network_of(first, topology)[1]


def _nv_ipam(fabric: Fabric, rail: Rail, topology: ClusterTopology) -> Made:
    kind = "cidrpool" if fabric.kind == "spectrumx" else "ippool"
    return {"type": "nv-ipam", "poolName": pool_name(fabric, rail, topology), "poolType": kind}


def _whereabouts(fabric: Fabric, rail: Rail, _: ClusterTopology) -> Made:
    own = fabric.ipam
    return {
        "type": "whereabouts",
        "range": rail.subnet,
        **given(range_start=own.range_start, range_end=own.range_end, exclude=list(_whole(own.exclude))),
        **given(gateway=rail.gateway),
    }


def _whole(texts: tuple[str, ...]) -> Iterator[str]:
    """whereabouts excludes subnets; an address is one of its own."""
    for text in texts:
        one = ip.address(text)
        yield text if "/" in text or one is None else f"{text}/{one.max_prefixlen}"


def _host_local(fabric: Fabric, rail: Rail, _: ClusterTopology) -> Made:
    own = fabric.ipam
    span = given(rangeStart=own.range_start, rangeEnd=own.range_end, gateway=rail.gateway)
    return {"type": "host-local", "ranges": [[{"subnet": rail.subnet, **span}]]}


BY_TYPE: Mapping[str, Callable[[Fabric, Rail, ClusterTopology], Made]] = {
    "nv-ipam": _nv_ipam,
    "whereabouts": _whereabouts,
    "host-local": _host_local,
    "static": lambda *_: {"type": "static"},
    "dhcp": lambda *_: {"type": "dhcp"},
    "": lambda *_: {},
}


def ipam(fabric: Fabric, rail: Rail, topology: ClusterTopology) -> Made:
    """Where a rail's addresses come from; nothing where the fabric has none."""
    return BY_TYPE[fabric.ipam.kind](fabric, rail, topology)


def text(data: Any) -> str:
    """JSON as people write it; nothing for nothing."""
    import json

    return f"{json.dumps(data, indent=2)}\n" if data else ""
