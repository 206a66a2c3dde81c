"""One row for each cloud: how its answer is told, where its instances stand in it, and what their levels are called.

Labels are those that the cloud puts on its Kubernetes nodes, where it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from bayplan.core.diagnostics import Route
from bayplan.core.values import NamedTuple
from bayplan.kube.objects import get, items, mapping
from bayplan.model.topology import Level
from bayplan.topologies import grouping
from bayplan.topologies.grouping import UNKNOWN

Walk = Iterator[tuple[Route, Any]]


class Entry(NamedTuple):
    """One instance. No `name`: it is none; no `path`: the cloud does not say where it stands."""

    route: Route
    name: str
    path: tuple[str, ...] = ()
    levels: tuple[Level, ...] = ()
    aliases: tuple[str, ...] = ()
    reason: str = ""


class Cloud(NamedTuple):
    """`word` is in every answer; `more` are keys of an answer that has further pages; `nodes`: instances have their
    nodes' names."""

    name: str
    word: str
    entries: Callable[[Any], Iterator[Entry]]
    more: tuple[str, ...]
    nodes: bool = False


def said(data: Any, *keys: str) -> str:
    """The first of some keys that has a text or a number; clouds spell them camelCase, snake_case and kebab-case."""
    return next((found for key in keys if (found := grouping.said(get(data, *key.split("."))))), "")


def _listed(data: Any, key: str) -> Walk:
    yield from (((key, number), each) for number, each in enumerate(items(data, key)))


def aws(data: Any) -> Iterator[Entry]:
    """`NetworkNodes` names 3 or 4 layers, the top first."""
    for route, each in _listed(data, "Instances"):
        if "NetworkNodes" in mapping(each):
            path = tuple(node for node in items(each, "NetworkNodes") if isinstance(node, str) and node)
            yield Entry(route, said(each, "InstanceId"), path, _layers(len(path)))


@cache
def _layers(depth: int) -> tuple[Level, ...]:
    return tuple(Level(f"layer-{n}", f"topology.k8s.aws/network-node-layer-{n}") for n in range(1, depth + 1))


def gcp(data: Any) -> Iterator[Entry]:
    """Of instances of one answer, each has `physicalHostTopology` or none has; the host is the node itself."""
    walk = list(_gcp(data))
    if not any(mapping(each, "resourceStatus", "physicalHostTopology") for _, each in walk):
        return
    for route, each in walk:
        place = mapping(each, "resourceStatus", "physicalHostTopology")
        known = [(level, said(place, key)) for level, key in GCP_LEVELS if said(place, key)]
        levels, path = tuple(level for level, _ in known), tuple(value for _, value in known)
        stopped = "" if said(each, "status") in ("", "RUNNING") else "notReady"
        yield Entry(route, said(each, "name"), path, levels, (said(each, "id"),), stopped)


def _gcp(data: Any) -> Walk:
    """A list as gcloud prints it, a page of `instances.list`, or one of `instances.aggregatedList`."""
    if isinstance(data, list):
        yield from (((number,), each) for number, each in enumerate(data))
    for zone, held in mapping(data, "items").items():
        yield from ((("items", zone, *route), each) for route, each in _listed(held, "instances"))
    yield from _listed(data, "items")


GCP_LEVELS = (
    (Level("cluster", f"{UNKNOWN}/cluster", apply=True), "cluster"),
    (Level("block", "cloud.google.com/gce-topology-block"), "block"),
    (Level("subblock", "cloud.google.com/gce-topology-subblock"), "subblock"),
)


def oci(data: Any) -> Iterator[Entry]:
    """Hosts of a capacity topology, as the API or the command line spells them; a host without an instance is none."""
    for at in ((), ("data",)):
        for route, each in _listed(get(data, *at) if at else data, "items"):
            if said(each, "hpcIslandId", "hpc-island-id", "localBlockId", "local-block-id"):
                known = [(level, said(each, *keys)) for level, keys in OCI_LEVELS if said(each, *keys)]
                name = said(each, "instanceId", "instance-id")
                path = tuple(_tail(value) for _, value in known) if name else ()
                sick = "unhealthy" if said(each, "health").upper() == "UNHEALTHY" else ""
                levels = tuple(level for level, _ in known)
                yield Entry((*at, *route), name or said(each, "id"), path, levels, (), sick)


def _tail(ocid: str) -> str:
    """`ocid1.networkblock.oc1.iad.<id>`: what is before the id says nothing."""
    return ocid.rpartition(".")[2] if ocid.startswith("ocid1.") else ocid


OCI_LEVELS = (
    (Level("island", f"{UNKNOWN}/island", apply=True), ("hpcIslandId", "hpc-island-id")),
    (Level("network-block", f"{UNKNOWN}/network-block", apply=True), ("networkBlockId", "network-block-id")),
    (Level("local-block", f"{UNKNOWN}/local-block", apply=True), ("localBlockId", "local-block-id")),
    (
        Level("gpu-memory-fabric", f"{UNKNOWN}/gpu-memory-fabric", nvlink=True, apply=True),
        ("gpuMemoryFabricId", "gpu-memory-fabric-id"),
    ),
)


def nebius(data: Any) -> Iterator[Entry]:
    """`infinibandTopologyPath` names three tiers, the top first; the NVLink group is the finest."""
    for route, each in _listed(data, "items"):
        place = get(each, "status", "infinibandTopologyPath") or get(each, "status", "infiniband_topology_path")
        if place is None and not mapping(each, "status"):
            continue
        path = tuple(node for node in items(place, "path") if isinstance(node, str) and node)
        group = said(each, "spec.nvlInstanceGroupId", "spec.nvl_instance_group_id") if path else ""
        tiers = [_tier(height) for height in range(len(path), 0, -1)] + ([_tier(0)] if group else [])
        whole = (*path, group) if group else path
        name, other = said(each, "metadata.id"), said(each, "metadata.name")
        yield Entry(route, name, whole, tuple(tiers), (other,) if other else ())


def _tier(height: int) -> Level:
    return Level(f"tier-{height}", f"topology.nebius.com/tier-{height}", nvlink=height == 0)


def lambdai(data: Any) -> Iterator[Entry]:
    """`networkPath` names the leaf first; several cliques of one NVLink domain cannot reach each other."""
    for route, each in _listed(data, "data"):
        listed = items(each, "networkPath") or items(each, "network_path")
        if not listed and "nvlink" not in mapping(each):
            continue
        path = tuple(said(node, "id") for node in reversed(listed))
        levels = [Level(f"switch-{n}", f"{UNKNOWN}/switch-{n}", apply=True) for n in range(len(path) - 1, -1, -1)]
        domain, clique = (
            said(each, "nvlink.domain_id", "nvlink.domainId"),
            said(each, "nvlink.clique_id", "nvlink.cliqueId"),
        )
        if domain:
            path = (*path, f"{domain}.{clique}" if clique else domain)
            levels.append(Level("nvlink", f"{UNKNOWN}/nvlink", nvlink=True, apply=True))
        yield Entry(route, said(each, "id"), path if all(path) else (), tuple(levels))


CLOUDS = (
    Cloud("aws", '"NetworkNodes"', aws, ("NextToken",)),
    Cloud("gcp", '"physicalHostTopology"', gcp, ("nextPageToken",), nodes=True),
    Cloud("oci", "ocalBlockId", oci, ("opc-next-page", "opcNextPage")),
    Cloud("oci", "local-block-id", oci, ("opc-next-page", "opcNextPage")),
    Cloud("nebius", "infinibandTopologyPath", nebius, ("nextPageToken", "next_page_token")),
    Cloud("nebius", "infiniband_topology_path", nebius, ("nextPageToken", "next_page_token")),
    Cloud("lambda", "networkPath", lambdai, ("page_token", "pageToken")),
    Cloud("lambda", "network_path", lambdai, ("page_token", "pageToken")),
)
"""In the order in which they are tried."""
