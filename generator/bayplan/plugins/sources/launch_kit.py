"""The cluster configuration of NVIDIA's Kubernetes Launch Kit: `l8k discover` writes it, `l8k generate` reads it.

`k8s-launch-kit` for Network Operator 26.1 to 26.7 (docs/reference/configuration.md, profiles/). A group of nodes has
one kind of machine; a rail is a network port for traffic between nodes (`traffic: east-west`). Its profiles give the
names of networks and resources.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.plugin import (
    SHARING,
    ClusterTopology,
    Diagnostic,
    Domain,
    Fabric,
    Ipam,
    NodeShape,
    Outcome,
    Part,
    Pool,
    Rail,
    ReadOptions,
    Route,
    SourceFile,
    error,
    get,
    grouping,
    has_errors,
    info,
    items,
    mapping,
    number_in,
    text,
    warning,
)
from bayplan.plugins.sources.network_operator import NAMESPACE

WORD = "clusterConfig"
RESOURCES: Mapping[str, tuple[str, str, str, str]] = {
    "hostdevice": ("hostdev", "hostdev-network", "hostdev", "nvidia.com/hostdev_resource"),
    "sriov": ("sriov", "sriov-network", "sriov", "nvidia.com/sriov_resource"),
    "macvlan": ("macvlan", "macvlan-network", "rdmaShared", "rdma/rdma_shared_resource"),
    "ipoib": ("ipoib", "ipoib-network", "rdmaShared", "rdma/rdma_shared_resource"),
}
"""Kind of fabric -> section of `networkName` and its default, section of `resourceName` and its default."""


def sniff(source: SourceFile) -> bool:
    """Whether a document lists groups of machines with their network ports."""
    return WORD in source.head and any(_groups(each.data) for each in source.documents)


def _groups(data: Any) -> Sequence[Any]:
    listed = items(data, WORD)
    return listed if any("pfs" in mapping(each) or "machineType" in mapping(each) for each in listed) else ()


def new(source: SourceFile, options: ReadOptions) -> Outcome[Part]:
    """A pool for each group with its node selector and nodes, and the fabric of the profile."""
    documents = [(number, each.data) for number, each in enumerate(source.documents) if _groups(each.data)]
    if not documents:
        message = "the file has no `clusterConfig` with groups of machines"
        return Outcome(None, (error("T530", source.at(), message, hint=HINT),))
    place, data = documents[0]
    at: Route = (*source.at(place), WORD)
    issues: list[Diagnostic] = []
    taken: set[str] = set()
    pools = [pool for n, each in enumerate(_groups(data)) for pool in _pool(each, (*at, n), taken, issues)]
    fabrics = _fabrics(data, at, issues)
    if has_errors(tuple(issues)):
        return Outcome(None, tuple(issues))
    topology = ClusterTopology("cluster", tuple(pools), fabrics=fabrics, versions=_versions(data) if fabrics else {})
    places = {node: (*at, n) for n, pool in enumerate(pools) for node in pool.nodes()}
    return Outcome(Part(topology, places, source=source.name), tuple(issues))


HINT = "use the cluster-config.yaml of `l8k discover`"


def _pool(data: Any, at: Route, taken: set[str], issues: list[Diagnostic]) -> Iterator[Pool]:
    if not isinstance(data, dict):
        issues.append(error("T530", at, "a group of machines must be a mapping", hint=HINT))
        return
    selector = {str(key): _label(value) for key, value in mapping(data, "nodeSelector").items()}
    name = grouping.dns_label(text(data, "identifier") or text(data, "machineType")) or "nodes"
    nodes = tuple(dict.fromkeys(each for each in items(data, "workerNodes") if isinstance(each, str) and each))
    if text(data, "gpuType"):
        message = f'pool "{name}" has {text(data, "gpuType")[:80]}, but no number of GPUs per node'
        issues.append(info("T617", at, message, hint="also import the nodes, or write `accelerator` and `count`"))
    yield Pool(grouping.free(name, taken), NodeShape(node_selector=selector), (), (Domain((), nodes),) if nodes else ())


def _label(value: Any) -> str:
    """A label's value. `true` without quotes is the string."""
    return str(value).lower() if isinstance(value, bool) else grouping.text_of(value)


def _fabrics(data: Any, at: Route, issues: list[Diagnostic]) -> dict[str, Fabric]:
    """The one fabric of the profile. Groups with the same GPUs and number of rails share its networks. The names of
    other networks depend on what the kit generates together (docs/user/heterogeneous-clusters.md)."""
    groups = _groups(data)
    links = {text(each, "linkType").lower() for each in groups} - {""}
    link = text(data, "profile", "fabric") or (links.pop() if len(links) == 1 else "")
    kind = _kind(data, link)
    rails = [sorted(_rails(each), key=lambda pair: pair[0]) for each in groups]
    if not kind or not any(rails):
        what = "no profile gives a deployment" if not kind else "no port is for traffic between nodes"
        message = f"{what}, so the topology has no fabric"
        issues.append(info("T617", at, message, hint="add `profile: {fabric: ..., deployment: ...}` to the file"))
        return {}
    buckets = {(text(each, "gpuType") or n, len(own)) for n, (each, own) in enumerate(zip(groups, rails, strict=True))}
    if len(buckets) > 1:
        message = f"{len(buckets)} groups of machines differ in GPUs or rails, so network names may have suffixes"
        hint = "compare the networks with `kubectl get network-attachment-definitions -A`"
        issues.append(warning("T617", at, message, hint=hint))
    longest = max(rails, key=len)
    most = dict(longest)
    multirail = get(data, "profile", "multirail")
    numbers = list(most) if multirail or (multirail is None and len(most) > 1) else [None]
    result = [_rail(data, kind, rail, most.get(rail or 0, {})) for rail in numbers]
    ids = dict.fromkeys(text(port, "deviceID") for each in rails for _, port in each)
    return {
        "rails": Fabric(
            *("rails", kind, link if link in LINKS else ""),
            rails=tuple(_addressed(data, result)),
            ipam=_ipam(data),
            mtu=number_in(data, "sriov", f"{link}Mtu") or 0 if kind == "sriov" else 0,
            device_ids=tuple(each for each in ids if re.fullmatch("[0-9a-f]{4}", each)),
            shares=max(0, number_in(data, "rdmaShared", "hcaMax") or 0) if kind in SHARING else 0,
        )
    }


def _versions(data: Any) -> dict[str, str]:
    """The operator's release, if the file has one."""
    release = text(data, "networkOperator", "selectedRelease") or text(data, "networkOperator", "version")
    match = re.match(r"v?(\d{1,4}\.\d{1,4})(\.\d{1,4})?", release)
    return {"networkOperator": match[1]} if match else {}


def _ipam(data: Any) -> Ipam:
    """The kit's networks get addresses from nv-ipam. The kit computes the number of addresses per node itself."""
    if not mapping(data, "nvIpam"):
        return Ipam()
    space = text(data, "networkOperator", "namespace")
    return Ipam("nv-ipam", namespace=space if space != NAMESPACE and grouping.dns_label(space) == space else "")


def _addressed(data: Any, rails: Sequence[Rail]) -> Iterator[Rail]:
    """The rails with their subnets, if the file lists one for each."""
    listed = items(data, "nvIpam", "subnets")
    for place, rail in enumerate(rails):
        subnet = text(listed[place], "subnet") if len(listed) == len(rails) else ""
        gateway = text(listed[place], "gateway") if subnet else ""
        sound = "/" in subnet and SUBNET.fullmatch(subnet)
        yield rail._replace(subnet=subnet, gateway=gateway if SUBNET.fullmatch(gateway) else "") if sound else rail


SUBNET = re.compile(r"[0-9A-Fa-f:.]{2,60}(/[0-9]{1,3})?")
LINKS = ("infiniband", "ethernet")


def _kind(data: Any, link: str) -> str:
    """The kind of fabric, from the profile's deployment."""
    if get(data, "profile", "spectrumX", "enable") is True:
        return "spectrumx"
    shared = "ipoib" if link == "infiniband" else "macvlan"
    kinds = {"host_device": "hostdevice", "sriov": "sriov", "rdma_shared": shared}
    return kinds.get(text(data, "profile", "deployment"), "")


def _rails(group: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Rail and port of each port for traffic between nodes."""
    for place, port in enumerate(items(group, "pfs")):
        if text(port, "traffic") == "east-west":
            rail = number_in(port, "rail")
            yield (place if rail is None else rail), mapping(port)


def _rail(data: Any, kind: str, rail: int | None, port: Mapping[str, Any]) -> Rail:
    """The network and resource of one rail, or of the one network for all ports."""
    space = next((each for each in items(data, "networkNamespaces") if isinstance(each, str) and each), "default")
    if kind == "spectrumx":
        name = f"rail{rail or 0}"
        return Rail(f"{space}/{name}", f"nvidia.com/{name}")
    network, network_default, resource, resource_default = RESOURCES[kind]
    prefix, _, plain = resource_default.partition("/")
    name = text(data, network, "networkName") or network_default
    options = text(data, resource, "resourceName") or plain
    if rail is None:
        return Rail(f"{space}/{name}", f"{prefix}/{options}")
    hca, interface = _called(data, "rdma", rail, port), _called(data, "netdev", rail, port)
    device = text(port, "pciAddress") if kind == "hostdevice" else interface
    return Rail(
        *(f"{space}/{name}-rail-{rail}", f"{prefix}/{options}_rail_{rail}", hca),
        device=device if PORT.fullmatch(device) else "",
    )


PORT = re.compile(r"[-._:A-Za-z0-9]{0,15}")
NAMES = {"rdma": ("rdmaDevice", "rdma_r%rail%"), "netdev": ("networkInterface", "eth_r%rail%")}


def _called(data: Any, what: str, rail: int, port: Mapping[str, Any]) -> str:
    """The name of a device: the discovered name, or the new name from the NIC Configuration Operator."""
    key, usual = NAMES[what]
    if get(data, "nicConfigurationOperator", "deployNicInterfaceNameTemplate") is not True:
        return text(port, key)
    result = (text(data, "nicConfigurationOperator", f"{what}Prefix") or usual).replace("%rail%", str(rail))
    return result if re.fullmatch(r"[-._A-Za-z0-9]{1,63}", result) else ""
