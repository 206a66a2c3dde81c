"""Nodes, GPUs and fabrics from ResourceSlices (`resource.k8s.io` v1alpha3 to v1), which DRA drivers publish.

NVIDIA's driver lists the GPUs of a node, and not its place (dra-driver-nvidia-gpu 25.12). dranet lists network cards,
and on CoreWeave their fabric, superpod and leaf group (dranet 1.4, pkg/apis/attributes.go,
pkg/cloudprovider/coreweave). A rail is a card with RDMA that is not virtual; its GPU is the one on the same PCIe root.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.plugin import (
    Diagnostic,
    Fabric,
    Level,
    Note,
    Outcome,
    Part,
    Rail,
    ReadOptions,
    Route,
    SourceFile,
    SourceNode,
    error,
    get,
    grouped,
    grouping,
    has_errors,
    info,
    is_kind,
    items,
    kube_objects,
    listing,
    mapping,
    number_in,
    text,
    warning,
)

PREFIX = "dra.net"
ROOT = "resource.kubernetes.io/pcieRoot"
FABRIC = "dranet"
LINKS = {"infiniband": "infiniband", "ether": "ethernet"}


class Card(NamedTuple):
    """A network card with RDMA."""

    rail: Rail
    root: str = ""
    links: str = ""


def attributes(device: Any) -> Mapping[str, Any]:
    """The attributes of a device, in every version of the API."""
    return mapping(device, "attributes") or mapping(device, "basic", "attributes")


def card_of(device: Any) -> Card | None:
    """The network card, if it can carry a job's traffic."""
    held = attributes(device)

    def string(key: str) -> Any:
        return get(held.get(f"{PREFIX}/{key}"), "string")

    def marked(key: str) -> bool:
        return get(held.get(f"{PREFIX}/{key}"), "bool") is True

    if not marked("rdma") or marked("virtual"):
        return None
    names = [each if isinstance(each, str) and NAMED.fullmatch(each) else "" for each in map(string, KEYS)]
    numa = number_in(held.get(f"{PREFIX}/numaNode"), "int")
    sound = numa if numa is not None and 0 <= numa < 1024 else None
    root = text(held.get(ROOT), "string")
    rail = Rail(hca=names[0], device=names[1][:15] if len(names[1]) <= 15 else "", numa=sound)
    return Card(rail, root, LINKS.get(str(string("encapsulation")), "")) if any(names) else None


KEYS = ("rdmaDevice", "ifName")
NAMED = re.compile(r"[A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?")


def gpu_of(device: Any) -> tuple[str, int] | None:
    """The PCIe root of a GPU and its number, if its name has one: `gpu-3`."""
    match = re.fullmatch(r"gpu-(\d{1,3})", text(device, "name"))
    root = text(attributes(device).get(ROOT), "string")
    return (root, int(match[1])) if match and root else None


def rails(cards: Sequence[Card], gpus: Sequence[tuple[str, int]]) -> tuple[Rail, ...]:
    """The rails of a node by the names of their cards, each with the one GPU that shares its root."""
    counted = Counter(root for root, _ in gpus)
    near = {root: number_ for root, number_ in gpus if counted[root] == 1}
    alone = Counter(each.root for each in cards)
    result = [each.rail._replace(gpu=near.get(each.root) if alone[each.root] == 1 else None) for each in cards]
    return tuple(sorted(result, key=lambda rail: [grouping.natural(rail.hca), grouping.natural(rail.device)]))


def fabrics(nodes: Mapping[str, tuple[Route, tuple[Rail, ...], str]], issues: list[Diagnostic]) -> dict[str, Fabric]:
    """The fabric of the cards that most nodes have: node -> place, rails, links."""
    having = {name: each for name, each in nodes.items() if each[1]}
    if not having:
        return {}
    usual = Counter(rails_ for _, rails_, _ in having.values()).most_common(1)[0][0]
    issues += _others(having, usual)
    links = {each for _, rails_, each in having.values() if rails_ == usual}
    here = next(route for route, rails_, _ in having.values() if rails_ == usual)
    message = "the source does not name the DeviceClass of the network cards; claims use the class dranet"
    issues.append(info("T617", here, message, hint="add `deviceClass:` if your class has another name"))
    return {FABRIC: Fabric(FABRIC, "dranet", links.pop() if len(links) == 1 else "", rails=usual)}


def _others(having: Mapping[str, tuple[Route, tuple[Rail, ...], str]], usual: tuple[Rail, ...]) -> Iterator[Diagnostic]:
    """T514."""
    others = [name for name, (_, rails_, _) in having.items() if rails_ != usual]
    if others:
        message = (
            f"{len(others)} of {len(having)} nodes have other network cards than the rest: {listing(others, 'and', 3)}"
        )
        hint = "describe their cards as another fabric, and set `node.fabrics`: a fabric has equal rails on all nodes"
        yield warning("T514", having[others[0]][0], message, hint=hint)


GROUP, KIND = "resource.k8s.io", "ResourceSlice"
GPUS, CLASS = "gpu.nvidia.com", "gpu.nvidia.com"
CARDS = "dra.net"
COREWEAVE = "coreweave.dra.net"
LEVELS = (
    ("fabric", Level("fabric", "backend.coreweave.cloud/fabric")),
    ("superpod", Level("superpod", "backend.coreweave.cloud/superpod", unique="parent")),
    ("leafgroup", Level("leaf", "backend.coreweave.cloud/leafgroup")),
)
"""Attribute -> the level, whose label is on the node."""


class Slice(NamedTuple):
    """A slice that a node's driver published."""

    route: Route
    driver: str
    node: str
    pool: str
    generation: int
    wanted: int  # number of slices of the pool
    devices: Sequence[Any]


def sniff(source: SourceFile) -> bool:
    """Whether the file has ResourceSlices."""
    return KIND in source.head and any(is_kind(data, GROUP, KIND) for _, data in kube_objects(source))


def new(source: SourceFile, options: ReadOptions) -> Outcome[Part]:
    """The nodes by their GPUs, and by their place if the network's driver gives it."""
    issues: list[Diagnostic] = []
    slices = list(_newest([_slice(route, data) for route, data in kube_objects(source) if is_kind(data, GROUP, KIND)]))
    issues += _partial(slices)
    nodes = list(_nodes([each for each in slices if each.node], issues))
    fabrics = _fabrics([each for each in slices if each.node], issues) if nodes else {}
    if not nodes and not issues:
        message = "no slice has a node with a GPU or a place in a network"
        issues.append(error("T530", slices[0].route if slices else source.at(), message, hint=HINT))
    if has_errors(issues):
        return Outcome(None, tuple(issues))
    part = grouping.part("cluster", grouping.in_order(nodes), source, options)
    return Outcome(part._replace(topology=_claimed(part.topology)._replace(fabrics=fabrics)), tuple(issues))


HINT = "use the complete output of `kubectl get resourceslices -o json`"


def _claimed(topology: Any) -> Any:
    """The topology with accelerators that DRA allocates."""
    kinds = topology.accelerators.items()
    return topology._replace(
        accelerators={name: kind._replace(allocators=("dra",), device_class=CLASS) for name, kind in kinds}
    )


def _fabrics(slices: Sequence[Slice], issues: list[Diagnostic]) -> dict[str, Fabric]:
    """The rails of dranet's cards, with the GPUs next to them."""
    held: dict[str, tuple[Route, list[Card], list[tuple[str, int]]]] = {}
    for each in slices:
        _, nics, gpus = held.setdefault(each.node, (each.route, [], []))
        for device in each.devices:
            if each.driver == CARDS and (nic := card_of(device)):
                nics.append(nic)
            if each.driver == GPUS and (gpu := gpu_of(device)):
                gpus.append(gpu)
    links = {name: {nic.links for nic in nics} for name, (_, nics, _) in held.items()}
    by_node = {
        name: (route, rails(nics, gpus), "".join(links[name]) if len(links[name]) == 1 else "")
        for name, (route, nics, gpus) in held.items()
    }
    return fabrics(by_node, issues)


def _slice(route: Route, data: Any) -> Slice:
    spec = mapping(data, "spec")
    pool = mapping(spec, "pool")
    driver, node = text(spec, "driver"), text(spec, "nodeName")
    count = number_in(pool, "resourceSliceCount") or 1
    return Slice(
        route, driver, node, text(pool, "name"), number_in(pool, "generation") or 0, count, items(spec, "devices")
    )


def _newest(slices: Sequence[Slice]) -> Iterator[Slice]:
    """The slices of the newest generation of each pool. Kubernetes deletes older ones."""
    newest: dict[tuple[str, str], int] = {}
    for each in slices:
        key = each.driver, each.pool
        newest[key] = max(newest.get(key, 0), each.generation)
    yield from (each for each in slices if each.generation == newest[each.driver, each.pool])


def _partial(slices: Sequence[Slice]) -> Iterator[Diagnostic]:
    """T529: pools with missing slices have too few devices."""
    for (driver, pool), held in grouped(((each.driver, each.pool), each) for each in slices).items():
        if len(held) < held[0].wanted and driver in (GPUS, CARDS):
            message = f'the file has only {len(held)} of {held[0].wanted} slices of pool "{pool}" of {driver}'
            yield error("T529", held[0].route, message, hint=HINT)


class Node(NamedTuple):
    """The content of the slices of one node."""

    route: Route
    products: dict[str, None]
    gpus: dict[str, None]  # names of whole GPUs, and of partitioned GPUs
    unhealthy: list[str]
    places: dict[tuple[str, ...], Route]
    cards: list[str]  # network cards with RDMA


def _nodes(slices: Sequence[Slice], issues: list[Diagnostic]) -> Iterator[SourceNode]:
    nodes: dict[str, Node] = {}
    for each in slices:
        if each.driver in (GPUS, CARDS):
            node = nodes.setdefault(each.node, Node(each.route, {}, {}, [], {}, []))
            for index, device in enumerate(each.devices):
                _device(node, each, device, (*each.route, "spec", "devices", index))
    for name, node in nodes.items():
        issues += _report(name, node)
        if node.gpus or node.places or node.cards:
            yield _node(name, node)


def _device(node: Node, each: Slice, device: Any, route: Route) -> None:
    held = attributes(device)
    if each.driver == CARDS:
        path = tuple(_value(held, f"{COREWEAVE}/{key}") for key, _ in LEVELS)
        if all(path):
            node.places.setdefault(path, route)
        if card_of(device):
            node.cards.append(text(device, "name"))
        return
    kind = _value(held, "type")
    if kind not in ("gpu", "mig", "vfio"):
        return
    card = _value(held, "parentUUID") if kind == "mig" else _value(held, "uuid")
    card = card or _value(held, f"{GROUP.replace('k8s.io', 'kubernetes.io')}/pciBusID") or text(device, "name")
    node.gpus[card] = None
    node.products[_value(held, "productName")] = None
    if any(text(taint, "effect") in ("NoSchedule", "NoExecute") for taint in items(device, "taints")):
        node.unhealthy.append(text(device, "name"))


def _value(attributes: Mapping[str, Any], name: str) -> str:
    """An attribute. Drivers can omit their own domain in its name."""
    content = attributes.get(name, attributes.get(f"{GPUS}/{name}"))
    return grouping.text_of(get(content, "string") or get(content, "version") or get(content, "int"))


def _report(name: str, node: Node) -> Iterator[Diagnostic]:
    if len(node.places) > 1:
        (one, _), (other, route) = list(node.places.items())[:2]
        message = f'network cards of node "{name}" report two places, {"/".join(one)} and {"/".join(other)}'
        notes = (Note("a card with the first place is here", node.places[one]),)
        yield error("T401", route, message, notes=notes, hint="correct the labels of the node: it has one place")
    if len(node.products) > 1:
        message = f'node "{name}" has {len(node.products)} kinds of GPU: {", ".join(sorted(node.products))}'
        yield warning("T555", node.route, message, hint="describe such nodes by hand: a pool has one kind")
    if node.unhealthy:
        message = f'listed node "{name}" as unhealthy, because GPUs such as {node.unhealthy[0]} have taints'
        yield info("T513", node.route, message, hint="import again when the driver has removed the taints")


def _node(name: str, node: Node) -> SourceNode:
    path = next(iter(node.places), ())
    levels = tuple(level for _, level in LEVELS) if path else ()
    product = next(iter(node.products), "") if len(node.products) < 2 else "gpu"
    values = tuple(grouping.value(each) or "none" for each in path)
    return SourceNode(
        name, node.route, product, len(node.gpus), {}, levels, values, "unhealthy" if node.unhealthy else ""
    )
