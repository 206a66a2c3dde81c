"""Networks that a cluster has -> fabrics: what `kubectl get ... -o yaml` prints of the Network Operator's objects.

MacvlanNetworks, IPoIBNetworks, HostDeviceNetworks, networks of SR-IOV and Spectrum-X, or the
NetworkAttachmentDefinitions that they become; with them the policies and pools that say which port a rail is, which
resource it has and which addresses. Networks of one kind are the rails of one fabric.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bayplan.core.diagnostics import Diagnostic, Outcome, Route, error, has_errors, info, warning
from bayplan.core.phrases import listing
from bayplan.kube.networks import MULTUS, NVIDIA, SRIOV, Network, networks, parsed
from bayplan.kube.objects import get, group, items, kind, mapping, number_in, text, title
from bayplan.model.formats import Asked, Part, SourceFile
from bayplan.model.manifest import Object
from bayplan.model.topology import ClusterTopology, Fabric, NodeShape, Pool, Rail
from bayplan.topologies.kube_objects import kube_objects
from bayplan.topologies.network_operator import ports, ranges

NAME = "network-operator"
FRAME = True
SPECTRUM = "spectrumx.nvidia.com"
GROUPS = (NVIDIA, SRIOV, MULTUS, SPECTRUM)
MARKS = ("mellanox.com", "k8s.cni.cncf.io", "sriovnetwork.openshift.io", "spectrumx.nvidia.com")
HINT = "give what `kubectl get macvlannetworks,hostdevicenetworks,ippools.nv-ipam.nvidia.com -A -o yaml` prints"
LINKS = {"macvlan": "ethernet", "ipoib": "infiniband", "spectrumx": "ethernet"}
ALONE = "rails"
"""What the fabric is called where there is one."""


def sniff(source: SourceFile) -> bool:
    """Whether the file holds objects of these operators."""
    return any(mark in source.head for mark in MARKS) and any(
        group(each) in GROUPS for each in _objects(source) if isinstance(each.data, dict)
    )


def _objects(source: SourceFile) -> list[Object]:
    return [Object(route, data) for route, data in kube_objects(source) if isinstance(data, dict)]


def new(source: SourceFile, asked: Asked) -> Outcome[Part]:
    """A fabric for each kind of network. Of nodes they say nothing, so the one pool has none."""
    objects = _objects(source)
    found: list[Diagnostic] = list(_broken(objects))
    if has_errors(found):
        return Outcome(None, tuple(found))
    known = [*_distinct(networks(objects)), *_spectrum(objects)]
    fabrics = _fabrics(known, objects, found)
    if not fabrics:
        found.append(error("T616", source.at(), "there is no network in it that pods could be attached to", hint=HINT))
        return Outcome(None, tuple(found))
    topology = ClusterTopology("cluster", (Pool("nodes", NodeShape()),), fabrics=fabrics)
    return Outcome(Part(topology, source=source.name), tuple(found))


def _broken(objects: Sequence[Object]) -> Iterator[Diagnostic]:
    """T616: texts in objects that are no JSON."""
    for one in objects:
        for path in (("spec", "ipam"), ("spec", "config")) if group(one) in GROUPS else ():
            given = text(one.data, *path)
            if given.strip() and not isinstance(parsed(given), dict):
                route: Route = (*one.route, *path)
                message = f"`{path[-1]}` of {title(one)} is no JSON"
                yield error("T616", route, message, hint="`bayplan lint` says more of such objects")


def _distinct(found: Iterator[Network]) -> Iterator[Network]:
    """An operator's object and the definition that it makes of it are one network: the first is taken that knows its
    kind, definitions last."""
    kept: dict[tuple[str, str], Network] = {}
    for each in sorted(found, key=lambda one: group(one.object) == MULTUS):
        before = kept.setdefault((each.namespace, each.name), each)
        if before is not each and not before.resource:
            kept[each.namespace, each.name] = before._replace(resource=each.resource)
    yield from kept.values()


def _spectrum(objects: Sequence[Object]) -> Iterator[Network]:
    """The rails of Spectrum-X: their operator gives policy, network and resource one name."""
    for one in objects:
        if group(one) != SPECTRUM or kind(one) != "SpectrumXRailPoolConfig":
            continue
        space = text(one.data, "spec", "networkNamespace")
        for index, rail in enumerate(items(one.data, "spec", "railTopology")):
            called, pool = text(rail, "name"), text(rail, "cidrPoolRef")
            ipam = f'{{"type": "nv-ipam", "poolName": "{pool}"}}' if pool else text(rail, "ipam") or None
            route = (*one.route, "spec", "railTopology", index)
            port = next((each for each in items(rail, "nicSelector", "pfNames") if isinstance(each, str)), "")
            yield Network(
                *(one, "spectrumx", called, space, "ethernet", f"nvidia.com/{called}", port),
                mtu=number_in(rail, "mtu") or 0,
                ipam=ipam,
                ipam_route=route,
            )


def _fabrics(known: Sequence[Network], objects: Sequence[Object], found: list[Diagnostic]) -> dict[str, Fabric]:
    rails = {(each.namespace, each.name) for each in known if each.kind == "spectrumx" and group(each.object) != SRIOV}
    kinds: dict[tuple[str, str], list[Network]] = {}
    for each in known:
        if not each.kind:
            found.append(_unknown(each))
        elif group(each.object) == SPECTRUM or (each.namespace, each.name) not in rails:
            kinds.setdefault((each.kind, LINKS.get(each.kind, each.link_type)), []).append(each)
    names = list(_names(list(kinds)))
    return dict(
        sorted(
            (name, _fabric(name, *key, sorted(mine, key=_natural), objects, found))
            for name, (key, mine) in zip(names, kinds.items(), strict=True)
        )
    )


def _unknown(one: Network) -> Diagnostic:
    plugin = text(parsed(text(one.object.data, "spec", "config")), "type") or "a plugin that is not named"
    message = f'network "{one.title}" is left out: {plugin} attaches pods to no fabric that is known here'
    return info("T617", (*one.object.route, "spec"), message, hint="it may be a network for something else")


def _names(kinds: Sequence[tuple[str, str]]) -> Iterator[str]:
    for fabric, links in kinds:
        several = sum(other == fabric for other, _ in kinds) > 1
        yield ALONE if len(kinds) == 1 else f"{fabric}-{links or 'any'}" if several else fabric


def _natural(one: Network) -> tuple[str, list[tuple[int, str]]]:
    """`rail-2` before `rail-10`."""
    parts = re.split(r"(\d+)", one.name)
    return one.namespace, [(int(part[:18]), "") if part.isdigit() else (-1, part) for part in parts]


def _fabric(
    name: str,
    kind_: str,
    links: str,
    mine: Sequence[Network],
    objects: Sequence[Object],
    found: list[Diagnostic],
) -> Fabric:
    told = ports.told(kind_, mine, objects)
    rails = [
        Rail(
            network=each.title,
            resource=told.resources.get(each.title, ""),
            device=told.devices.get(each.title, "") or each.master,
        )
        for each in mine
    ]
    addressed = ranges.addressed(kind_, mine, rails, objects, found)
    routed = ["sbr" in each.chained for each in mine]
    found += _open(name, kind_, mine, addressed.rails, routed)
    return Fabric(
        name,
        kind_,
        links or told.link_type,
        "exclusive" if told.shares == 1 else "",
        addressed.rails,
        ipam=addressed.ipam,
        source_routing=all(routed),
        mtu=told.mtu or max(each.mtu for each in mine),
        device_ids=told.device_ids,
        vendor_ids=told.vendor_ids,
        shares=told.shares if told.shares > 1 else 0,
    )


def _open(
    name: str, kind_: str, mine: Sequence[Network], rails: Sequence[Rail], routed: Sequence[bool]
) -> Iterator[Diagnostic]:
    """T617: what a workflow's pods would need and no object says."""
    here: Route = mine[0].object.route
    message = f'which RDMA devices the rails of fabric "{name}" have is not said'
    yield info("T617", here, message, hint="add `hca:` to each rail, as `ibdev2netdev` or `rdma link` shows it")
    lacking = [each.title for each, rail in zip(mine, rails, strict=True) if not rail.resource]
    if lacking:
        message = f"no policy says by which resource pods get the cards of {listing(lacking, 'and', 3)}"
        yield warning("T617", here, message, hint="give the NicClusterPolicy in the same file, or add `resource:`")
    if any(routed) and not all(routed):
        message = f'some networks of fabric "{name}" route by source, and others do not'
        yield warning("T617", here, message, hint="chain the plugins tuning and sbr behind all of them")
    if kind_ == "sriov" and any(get(mapping(each.object.data, "spec"), "resourceName") for each in mine):
        message = "the prefix of SR-IOV resources is set in their operator; nvidia.com is taken"
        yield info(
            "T617", here, message, hint="correct `resource:` if `kubectl get nodes` shows another, such as openshift.io"
        )
