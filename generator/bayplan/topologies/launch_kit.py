"""The cluster configuration of NVIDIA's Kubernetes Launch Kit: `l8k discover` writes it, `l8k generate` reads it.

k8s-launch-kit for Network Operator 26.1 to 26.7 (docs/reference/configuration.md, profiles/). A group of nodes has one
kind of machine; a rail is a network port for traffic between nodes (`traffic: east-west`). Networks and resources have
the names that its profiles give them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.diagnostics import Diagnostic, Outcome, Route, error, has_errors, info, warning
from bayplan.kube.safe import get, items, mapping, number, text
from bayplan.model.fabric import Fabric, Rail
from bayplan.model.formats import Asked, Part, SourceFile
from bayplan.model.topology import ClusterTopology, Domain, NodeShape, Pool
from bayplan.topologies import grouping

NAME = "launch-kit"
FRAME = True
WORD = "clusterConfig"
RESOURCES: Mapping[str, tuple[str, str, str, str]] = {
    "hostdevice": ("hostdev", "hostdev-network", "hostdev", "nvidia.com/hostdev_resource"),
    "sriov": ("sriov", "sriov-network", "sriov", "nvidia.com/sriov_resource"),
    "macvlan": ("macvlan", "macvlan-network", "rdmaShared", "rdma/rdma_shared_resource"),
    "ipoib": ("ipoib", "ipoib-network", "rdmaShared", "rdma/rdma_shared_resource"),
}
"""How pods are attached -> section of `networkName` and its default, section of `resourceName` and its default."""


def sniff(source: SourceFile) -> bool:
    """Whether a document lists groups of machines with their network ports."""
    return WORD in source.head and any(_groups(each.data) for each in source.documents)


def _groups(data: Any) -> Sequence[Any]:
    listed = items(data, WORD)
    return listed if any("pfs" in mapping(each) or "machineType" in mapping(each) for each in listed) else ()


def new(source: SourceFile, asked: Asked) -> Outcome[Part]:
    """A pool for each group, with its node selector, its nodes and what a rail of its fabric asks for."""
    documents = [(number, each.data) for number, each in enumerate(source.documents) if _groups(each.data)]
    if not documents:
        message = "there is no `clusterConfig` with groups of machines in it"
        return Outcome(None, (error("T569", source.at(), message, hint=HINT),))
    place, data = documents[0]
    at: Route = (*source.at(place), WORD)
    found: list[Diagnostic] = []
    taken: set[str] = set()
    pools = [pool for n, each in enumerate(_groups(data)) for pool in _pool(each, (*at, n), taken, found)]
    fabrics = _fabrics(data, at, found)
    if has_errors(tuple(found)):
        return Outcome(None, tuple(found))
    topology = ClusterTopology("cluster", tuple(pools), fabrics=fabrics)
    places = {node: (*at, n) for n, pool in enumerate(pools) for node in pool.nodes()}
    return Outcome(Part(topology, places, source=source.name), tuple(found))


HINT = "give the cluster-config.yaml that `l8k discover` writes"


def _pool(data: Any, at: Route, taken: set[str], found: list[Diagnostic]) -> Iterator[Pool]:
    if not isinstance(data, dict):
        found.append(error("T569", at, "a group of machines is a mapping", hint=HINT))
        return
    selector = {str(key): _label(value) for key, value in mapping(data, "nodeSelector").items()}
    name = grouping.word(text(data, "identifier") or text(data, "machineType")) or "nodes"
    nodes = tuple(dict.fromkeys(each for each in items(data, "workerNodes") if isinstance(each, str) and each))
    if text(data, "gpuType"):
        message = f'pool "{name}" has {text(data, "gpuType")[:80]}, and how many of them a node has is not said'
        found.append(info("T569", at, message, hint="give the nodes beside, or write `accelerator` and `count`"))
    yield Pool(grouping.free(name, taken), NodeShape(node_selector=selector), (), (Domain((), nodes),) if nodes else ())


def _label(value: Any) -> str:
    """A label's value: those who write `true` without quotes mean the word."""
    return str(value).lower() if isinstance(value, bool) else grouping.said(value)


def _fabrics(data: Any, at: Route, found: list[Diagnostic]) -> dict[str, Fabric]:
    """The one fabric of the profile. Groups with the same GPUs and number of rails share its networks; what networks of
    others are called depends on what is generated together (docs/user/heterogeneous-clusters.md)."""
    groups = _groups(data)
    links = {text(each, "linkType").lower() for each in groups} - {""}
    link = text(data, "profile", "fabric") or (links.pop() if len(links) == 1 else "")
    kind = _kind(data, link)
    rails = [sorted(_rails(each)) for each in groups]
    if not kind or not any(rails):
        what = "no profile says how pods are attached" if not kind else "no port is for traffic between nodes"
        message = f"{what}, so the topology has no fabric"
        found.append(info("T569", at, message, hint="write `profile: {fabric: ..., deployment: ...}` into the file"))
        return {}
    buckets = {(text(each, "gpuType") or n, len(own)) for n, (each, own) in enumerate(zip(groups, rails, strict=True))}
    if len(buckets) > 1:
        message = f"{len(buckets)} groups of machines differ in GPUs or rails; networks may have their names at the end"
        found.append(warning("T569", at, message, hint="compare with `kubectl get network-attachment-definitions -A`"))
    most = max(rails, key=len)
    multirail = get(data, "profile", "multirail")
    numbers = [rail for rail, _ in most] if multirail or (multirail is None and len(most) > 1) else [None]
    made = [_rail(data, kind, rail, dict(most).get(rail or 0, "")) for rail in numbers]
    return {"rails": Fabric("rails", kind, link if link in LINKS else "", rails=tuple(made))}


LINKS = ("infiniband", "ethernet")


def _kind(data: Any, link: str) -> str:
    """How pods are attached: by the profile's deployment."""
    if get(data, "profile", "spectrumX", "enable") is True:
        return "spectrumx"
    shared = "ipoib" if link == "infiniband" else "macvlan"
    known = {"host_device": "hostdevice", "sriov": "sriov", "rdma_shared": shared}
    return known.get(text(data, "profile", "deployment"), "")


def _rails(group: Any) -> Iterator[tuple[int, str]]:
    """Rail and RDMA device of each port for traffic between nodes."""
    for place, port in enumerate(items(group, "pfs")):
        if text(port, "traffic") == "east-west":
            rail = number(port, "rail")
            yield (place if rail is None else rail), text(port, "rdmaDevice")


def _rail(data: Any, kind: str, rail: int | None, device: str) -> Rail:
    """What a pod asks for on one rail; with one network for all ports, on that."""
    space = next((each for each in items(data, "networkNamespaces") if isinstance(each, str) and each), "default")
    if kind == "spectrumx":
        name = f"rail{rail or 0}"
        return Rail(f"{space}/{name}", f"nvidia.com/{name}")
    network, network_default, resource, resource_default = RESOURCES[kind]
    prefix, _, plain = resource_default.partition("/")
    name = text(data, network, "networkName") or network_default
    asked = text(data, resource, "resourceName") or plain
    if rail is None:
        return Rail(f"{space}/{name}", f"{prefix}/{asked}")
    hca = "" if _renamed(data) else device
    return Rail(f"{space}/{name}-rail-{rail}", f"{prefix}/{asked}_rail_{rail}", hca)


def _renamed(data: Any) -> bool:
    """Whether devices get other names than those that were discovered."""
    return get(data, "nicConfigurationOperator", "deployNicInterfaceNameTemplate") is True
