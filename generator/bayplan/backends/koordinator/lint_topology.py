"""What is wrong with ClusterNetworkTopologies that others wrote. Koordinator has no webhook for them: it logs and goes
on without (tree.go and tree_manager.go, 1.7 and 1.8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.core.diagnostics import KEY, Diagnostic, error, warning
from bayplan.kube import objects as safe
from bayplan.model.manifest import Object
from bayplan.model.topology import ClusterTopology
from bayplan.topologies.koordinator import CLUSTER_LAYER, NODE_LAYER, OBJECT, Layer, is_topology, ordered, read_layers

FIELDS: Mapping[str, frozenset[str]] = {
    "spec": frozenset({"networkTopologySpec"}),
    "layer": frozenset({"topologyLayer", "parentTopologyLayer", "labelKey"}),
}
LIST = ("spec", "networkTopologySpec")


def lint(objects: Sequence[Object], topology: ClusterTopology) -> Iterator[Diagnostic]:
    """Every ClusterNetworkTopology, alone and against the nodes."""
    for each in objects:
        if is_topology(each.data):
            yield from _name(each)
            yield from _fields(each)
            yield from _chain(each)
            yield from _layers(each, topology)


def _name(each: Object) -> Iterator[Diagnostic]:
    name = safe.text(each.data, "metadata", "name")
    if name != OBJECT:
        message = f'Koordinator reads the ClusterNetworkTopology "{OBJECT}" and no other, not "{name}"'
        yield error("M760", (*each.route, "metadata", "name"), message, hint=f"call it {OBJECT}")


def _fields(each: Object) -> Iterator[Diagnostic]:
    """Fields of early drafts, such as spec.hierarchy: the API server drops them."""
    yield from _unknown((*each.route, "spec"), safe.get(each.data, "spec"), FIELDS["spec"])
    for number, layer in enumerate(safe.items(each.data, *LIST)):
        yield from _unknown((*each.route, *LIST, number), layer, FIELDS["layer"])


def _unknown(route: tuple[str | int, ...], data: Any, known: frozenset[str]) -> Iterator[Diagnostic]:
    for key in safe.mapping(data):
        if key not in known:
            hint = f"known here: {', '.join(sorted(known))}"
            yield error(
                "M763", (*route, str(key), KEY), f'a ClusterNetworkTopology has no field "{key}" here', hint=hint
            )


def _chain(each: Object) -> Iterator[Diagnostic]:
    layers = list(read_layers(each.data))
    if NODE_LAYER not in [layer.name for layer in layers]:
        message = f"{NODE_LAYER} is not listed, so Koordinator builds no tree and no placed gang ever starts"
        yield error("M762", (*each.route, *LIST), message, hint=f"list {NODE_LAYER} with its parentTopologyLayer")
        return
    walked, broken = ordered(layers)
    if broken:
        message = f"the layers are no chain: {broken}; Koordinator builds no tree and no placed gang ever starts"
        hint = f"let parentTopologyLayer lead from {NODE_LAYER} upwards over every entry once"
        yield error("M761", (*each.route, *LIST), message, hint=hint)
    elif walked[0].parent not in ("", CLUSTER_LAYER):
        at = (*each.route, *LIST, walked[0].place, "parentTopologyLayer")
        message = f'the parent "{walked[0].parent}" is not listed; Koordinator takes "{walked[0].name}" as the top'
        yield warning("M761", at, message, hint="list that layer too, or leave the parent out")


def _layers(each: Object, topology: ClusterTopology) -> Iterator[Diagnostic]:
    known = {level.label for pool in topology.pools for level in pool.levels}
    layers, _ = ordered(list(read_layers(each.data)))
    above: Layer | None = None
    for layer in layers:
        at = (*each.route, *LIST, layer.place)
        if layer.name == NODE_LAYER:
            continue
        if not layer.labels:
            message = f'layer "{layer.name}" has no labelKey, so Koordinator leaves every node out'
            yield error("M766", at, message, hint="name the node label that tells the domain")
        elif not known & set(layer.labels):
            message = f'no level of the topology has a label of layer "{layer.name}"; nodes without it are left out'
            hint = f"levels have the labels {', '.join(sorted(known))}" if known else "give the topology's pools levels"
            yield error("M765", (*at, "labelKey"), message, hint=hint)
        elif above is not None and (value := _repeated(topology, layer, above)):
            message = (
                f'the value "{value}" of layer "{layer.name}" occurs under several domains of "{above.name}";'
                " Koordinator makes one domain of it, under the first"
            )
            yield error("M764", (*at, "labelKey"), message, hint="use a label whose values are unique in the cluster")
        above = layer


def _repeated(topology: ClusterTopology, layer: Layer, above: Layer) -> str:
    """A value that occurs below two parents, if there is one."""
    parents: dict[str, str] = {}
    for pool in topology.pools:
        labels = [level.label for level in pool.levels]
        mine = next((labels.index(key) for key in layer.labels if key in labels), None)
        parent = next((labels.index(key) for key in above.labels if key in labels), None)
        for domain in pool.domains if mine is not None and parent is not None else ():
            value = domain.path[mine or 0]
            if parents.setdefault(value, domain.path[parent or 0]) != domain.path[parent or 0]:
                return value
    return ""
