"""Koordinator's ClusterNetworkTopology, both ways.

Koordinator 1.7 and 1.8 read the one object named `default` (pkg/scheduler/frameworkext/networktopology/tree.go): a
chain of layers, each with the labels that name its domains, which ends in `NodeTopologyLayer`. Nothing checks it on the
way in; a chain that is broken leaves the scheduler without a tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.core.diagnostics import Diagnostic, Outcome, Route, error, has_errors, warning
from bayplan.kube import objects
from bayplan.model.formats import Part, ReadOptions, SourceFile
from bayplan.model.manifest import Manifest
from bayplan.model.target import Target
from bayplan.model.topology import HOST_LEVEL, ClusterTopology, Level, Pool
from bayplan.topologies import native

API_VERSION = "scheduling.koordinator.sh/v1alpha1"
KIND = "ClusterNetworkTopology"
TOPOLOGY_KIND = ("scheduling.koordinator.sh", KIND)
OBJECT = "default"
NODE_LAYER = "NodeTopologyLayer"
CLUSTER_LAYER = "ClusterTopologyLayer"
END = "Layer"


class Layer(NamedTuple):
    """One layer of a chain. Any of the labels can name a node's domain."""

    name: str
    labels: tuple[str, ...] = ()
    parent: str = ""
    place: int = 0  # position in the list


def layer_name(level: str) -> str:
    """`gpu-block` -> `GpuBlockLayer`. The host level has Koordinator's own name."""
    if level == HOST_LEVEL:
        return NODE_LAYER
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[-._]", level)) + END


def level_name(layer: str) -> str:
    """`GpuBlockLayer` -> `gpu-block`: the inverse of `layer_name`, except for parts with one letter."""
    stem = layer[: -len(END)] if layer.endswith(END) and layer != END else layer
    parts = re.findall(r"[A-Z]{2,}(?![a-z0-9])|[A-Z]?[^A-Z]+|[A-Z]", stem)
    return re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-")


def chain(topology: ClusterTopology) -> tuple[Layer, ...]:
    """The layers of a cluster, coarse to fine: the levels of its deepest pool, with the labels of all pools."""
    names = longest(topology)
    labels: dict[str, dict[str, None]] = {name: {} for name in names}
    for pool in topology.pools:
        for level in pool.levels:
            labels.get(level.name, {})[level.label] = None
    result = [Layer(layer_name(name), tuple(labels[name])) for name in names]
    return (*result, Layer(NODE_LAYER))


def longest(topology: ClusterTopology) -> tuple[str, ...]:
    """The level names of the deepest pool."""
    return max((level_names(pool) for pool in topology.pools), key=len, default=())


def level_names(pool: Pool) -> tuple[str, ...]:
    """The pool's levels, without the host level."""
    return tuple(level.name for level in pool.levels)


def write(topology: ClusterTopology, target: Target) -> tuple[Manifest, ...]:
    """The ClusterNetworkTopology of a cluster; None if no pool has levels."""
    layers = chain(topology)
    parents = ("", *(layer.name for layer in layers))
    spec = [
        {
            "topologyLayer": layer.name,
            **({"parentTopologyLayer": parent} if parent else {}),
            **({"labelKey": list(layer.labels)} if layer.labels else {}),
        }
        for layer, parent in zip(layers, parents, strict=False)
    ]
    if len(layers) == 1:
        return ()
    return (
        {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": {"name": OBJECT},
            "spec": {"networkTopologySpec": spec},
        },
    )


def is_topology(data: Any) -> bool:
    """Whether the data is a ClusterNetworkTopology."""
    return objects.is_kind(data, *TOPOLOGY_KIND)


def sniff(source: SourceFile) -> bool:
    """Whether a document of the source is a ClusterNetworkTopology."""
    return any(is_topology(each.data) for each in source.documents)


def new(source: SourceFile, options: ReadOptions) -> Outcome[Part]:
    """The levels of the ClusterNetworkTopology. It names no nodes, so the one pool has no domains yet."""
    return native.part(_topology(source), source, options)


def _topology(source: SourceFile) -> Outcome[ClusterTopology]:
    number = next((i for i, each in enumerate(source.documents) if is_topology(each.data)), None)
    if number is None:
        hint = "use the output of `kubectl get clusternetworktopologies -o yaml`"
        return Outcome(None, (error("T461", source.at(), "the file has no ClusterNetworkTopology", hint=hint),))
    route: Route = (*source.at(number), "spec", "networkTopologySpec")
    layers = list(read_layers(source.documents[number].data))
    sorted_layers, broken = ordered(layers)
    if broken:
        hint = "make one chain from NodeTopologyLayer up by parentTopologyLayer, with every entry once"
        return Outcome(None, (error("T461", route, f"the layers do not form a chain: {broken}", hint=hint),))
    issues = tuple(_label_findings(sorted_layers, route))
    if has_errors(issues):
        return Outcome(None, issues)
    levels = (Level(level_name(each.name), each.labels[0]) for each in sorted_layers if each.name != NODE_LAYER)
    pool = Pool("nodes", native.UNDESCRIBED, tuple(levels))
    return Outcome(ClusterTopology(OBJECT, (pool,), defaults={"scheduler": "koordinator"}), issues)


def _label_findings(layers: Sequence[Layer], route: Route) -> Iterator[Diagnostic]:
    for each in layers:
        at = (*route, each.place, "labelKey")
        if each.name != NODE_LAYER and not each.labels:
            hint = "add the node label that names the domain"
            yield error("T461", (*route, each.place), f'layer "{each.name}" has no labelKey', hint=hint)
        elif len(each.labels) > 1:
            message = f'layer "{each.name}" has {len(each.labels)} labels; bayplan uses "{each.labels[0]}"'
            yield warning("T555", at, message, hint="if nodes have another label, give them a pool with its own levels")


def read_layers(data: Mapping[str, Any]) -> Iterator[Layer]:
    """The layers of an object, valid or not."""
    for place, each in enumerate(objects.items(data, "spec", "networkTopologySpec")):
        labels = tuple(key for key in objects.items(each, "labelKey") if isinstance(key, str))
        name, parent = (objects.text(each, key) for key in ("topologyLayer", "parentTopologyLayer"))
        yield Layer(name, labels, parent, place)


def ordered(layers: Sequence[Layer]) -> tuple[tuple[Layer, ...], str]:
    """The layers coarse to fine, or none and what breaks the chain (`sortNetworkTopologySpecFromParentToChild`)."""
    names = [layer.name for layer in layers]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        return (), f'"{twice[0]}" is listed twice'
    if NODE_LAYER not in names:
        return (), f"{NODE_LAYER} is missing"
    by_name = {layer.name: layer for layer in layers}
    walked: list[Layer] = []
    current = NODE_LAYER
    while current in by_name and by_name[current] not in walked:
        walked.insert(0, by_name[current])
        current = by_name[current].parent
    if current in names:
        return (), f'"{current}" is above itself'
    if len(walked) < len(layers):
        beside = next(layer.name for layer in layers if layer not in walked)
        return (), f'"{beside}" is not above {NODE_LAYER}'
    return tuple(walked), ""
