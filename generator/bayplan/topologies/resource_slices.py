"""ResourceSlices (resource.k8s.io v1alpha3 to v1): what DRA drivers publish of each node's devices.

NVIDIA's driver tells the GPUs of a node and nothing of where it stands (dra-driver-nvidia-gpu 25.12). dranet tells of
CoreWeave's network cards which fabric, superpod and leaf group they hang on (dranet 1.4, pkg/cloudprovider/coreweave).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Note, Outcome, Route, error, has_errors, info, warning
from bayplan.core.values import NamedTuple
from bayplan.kube.objects import get, is_kind, items, mapping, number_in, text
from bayplan.model.formats import Asked, Part, SourceFile
from bayplan.model.topology import Fabric, Level
from bayplan.topologies import cards, grouping
from bayplan.topologies.grouping import Known
from bayplan.topologies.kube_objects import kube_objects

NAME = "resource-slices"
GROUP, KIND = "resource.k8s.io", "ResourceSlice"
GPUS, CLASS = "gpu.nvidia.com", "gpu.nvidia.com"
CARDS = "dra.net"
COREWEAVE = "coreweave.dra.net"
LEVELS = (
    ("fabric", Level("fabric", "backend.coreweave.cloud/fabric")),
    ("superpod", Level("superpod", "backend.coreweave.cloud/superpod", unique="parent")),
    ("leafgroup", Level("leaf", "backend.coreweave.cloud/leafgroup")),
)
"""Attribute -> the level whose label the node carries."""


class Slice(NamedTuple):
    """A slice that a node's driver published."""

    route: Route
    driver: str
    node: str
    pool: str
    generation: int
    wanted: int  # slices of the pool
    devices: Sequence[Any]


def sniff(source: SourceFile) -> bool:
    """Whether the file holds ResourceSlices."""
    return KIND in source.head and any(is_kind(data, GROUP, KIND) for _, data in kube_objects(source))


def new(source: SourceFile, asked: Asked) -> Outcome[Part]:
    """The nodes by the GPUs that they have, and by their place where the network's driver tells it."""
    found: list[Diagnostic] = []
    slices = list(_newest([_slice(route, data) for route, data in kube_objects(source) if is_kind(data, GROUP, KIND)]))
    found += _partial(slices)
    nodes = list(_nodes([each for each in slices if each.node], found))
    fabrics = _fabrics([each for each in slices if each.node], found) if nodes else {}
    if not nodes and not found:
        message = "no slice names a node and a GPU, or a place in a network"
        found.append(error("T560", slices[0].route if slices else source.at(), message, hint=HINT))
    if has_errors(found):
        return Outcome(None, tuple(found))
    part = grouping.part("cluster", grouping.in_order(nodes), source, asked)
    return Outcome(part._replace(topology=_claimed(part.topology)._replace(fabrics=fabrics)), tuple(found))


HINT = "give what `kubectl get resourceslices -o json` prints"


def _claimed(topology: Any) -> Any:
    """Its accelerators are what DRA allocates."""
    kinds = topology.accelerators.items()
    return topology._replace(
        accelerators={name: kind._replace(allocators=("dra",), device_class=CLASS) for name, kind in kinds}
    )


def _fabrics(slices: Sequence[Slice], found: list[Diagnostic]) -> dict[str, Fabric]:
    """The rails that dranet's cards make, with the GPUs next to them."""
    held: dict[str, tuple[Route, list[cards.Card], list[tuple[str, int]]]] = {}
    for each in slices:
        _, nics, gpus = held.setdefault(each.node, (each.route, [], []))
        for device in each.devices:
            if each.driver == CARDS and (nic := cards.card(device)):
                nics.append(nic)
            if each.driver == GPUS and (gpu := cards.gpu(device)):
                gpus.append(gpu)
    links = {name: {nic.links for nic in nics} for name, (_, nics, _) in held.items()}
    told = {
        name: (route, cards.rails(nics, gpus), "".join(links[name]) if len(links[name]) == 1 else "")
        for name, (route, nics, gpus) in held.items()
    }
    return cards.fabrics(told, found)


def _slice(route: Route, data: Any) -> Slice:
    spec = mapping(data, "spec")
    pool = mapping(spec, "pool")
    driver, node = text(spec, "driver"), text(spec, "nodeName")
    count = number_in(pool, "resourceSliceCount") or 1
    return Slice(
        route, driver, node, text(pool, "name"), number_in(pool, "generation") or 0, count, items(spec, "devices")
    )


def _newest(slices: Sequence[Slice]) -> Iterator[Slice]:
    """Those of the newest generation of each pool: older ones wait to be deleted."""
    newest: dict[tuple[str, str], int] = {}
    for each in slices:
        key = each.driver, each.pool
        newest[key] = max(newest.get(key, 0), each.generation)
    yield from (each for each in slices if each.generation == newest[each.driver, each.pool])


def _partial(slices: Sequence[Slice]) -> Iterator[Diagnostic]:
    """T561: pools of which slices are missing hold too few devices."""
    pools: dict[tuple[str, str], list[Slice]] = {}
    for each in slices:
        pools.setdefault((each.driver, each.pool), []).append(each)
    for (driver, pool), held in pools.items():
        if len(held) < held[0].wanted and driver in (GPUS, CARDS):
            message = f'{len(held)} of {held[0].wanted} slices of pool "{pool}" of {driver} are here'
            yield error("T561", held[0].route, message, hint=HINT)


class Node(NamedTuple):
    """What the slices say of one node."""

    route: Route
    products: dict[str, None]
    gpus: dict[str, None]  # names of whole cards, and of those that are cut up
    sick: list[str]
    places: dict[tuple[str, ...], Route]
    cards: list[str]  # network cards with RDMA


def _nodes(slices: Sequence[Slice], found: list[Diagnostic]) -> Iterator[Known]:
    nodes: dict[str, Node] = {}
    for each in slices:
        if each.driver in (GPUS, CARDS):
            node = nodes.setdefault(each.node, Node(each.route, {}, {}, [], {}, []))
            for index, device in enumerate(each.devices):
                _device(node, each, device, (*each.route, "spec", "devices", index))
    for name, node in nodes.items():
        found += _told(name, node)
        if node.gpus or node.places or node.cards:
            yield _known(name, node)


def _device(node: Node, each: Slice, device: Any, route: Route) -> None:
    attributes = mapping(device, "attributes") or mapping(device, "basic", "attributes")
    if each.driver == CARDS:
        path = tuple(_value(attributes, f"{COREWEAVE}/{key}") for key, _ in LEVELS)
        if all(path):
            node.places.setdefault(path, route)
        if cards.card(device):
            node.cards.append(text(device, "name"))
        return
    kind = _value(attributes, "type")
    if kind not in ("gpu", "mig", "vfio"):
        return
    card = _value(attributes, "parentUUID") if kind == "mig" else _value(attributes, "uuid")
    card = card or _value(attributes, f"{GROUP.replace('k8s.io', 'kubernetes.io')}/pciBusID") or text(device, "name")
    node.gpus[card] = None
    node.products[_value(attributes, "productName")] = None
    if any(text(taint, "effect") in ("NoSchedule", "NoExecute") for taint in items(device, "taints")):
        node.sick.append(text(device, "name"))


def _value(attributes: Mapping[str, Any], name: str) -> str:
    """An attribute; drivers may leave their own domain out of its name."""
    found = attributes.get(name, attributes.get(f"{GPUS}/{name}"))
    return grouping.said(get(found, "string") or get(found, "version") or get(found, "int"))


def _told(name: str, node: Node) -> Iterator[Diagnostic]:
    if len(node.places) > 1:
        (one, _), (other, route) = list(node.places.items())[:2]
        message = f'network cards of node "{name}" are at {"/".join(one)} and at {"/".join(other)}'
        notes = (Note("one of the first is here", node.places[one]),)
        yield error("T564", route, message, notes=notes, hint="a node has one place; correct its labels")
    if len(node.products) > 1:
        message = f'node "{name}" has {len(node.products)} kinds of GPU: {", ".join(sorted(node.products))}'
        yield warning("T553", node.route, message, hint="a pool has one kind; describe such nodes by hand")
    if node.sick:
        message = f'node "{name}" has tainted GPUs, such as {node.sick[0]}, and is taken for unhealthy'
        yield info("T562", node.route, message, hint="import again when the taints are gone")


def _known(name: str, node: Node) -> Known:
    path = next(iter(node.places), ())
    levels = tuple(level for _, level in LEVELS) if path else ()
    product = next(iter(node.products), "") if len(node.products) < 2 else "gpu"
    values = tuple(grouping.value(each) or "none" for each in path)
    return Known(name, node.route, product, len(node.gpus), {}, levels, values, "unhealthy" if node.sick else "")
