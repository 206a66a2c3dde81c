"""Kueue's Topology, ResourceFlavor and LocalQueue objects, read as a cluster topology and written from one.

They name no node, so a topology that is read from them has pools and levels and empty `domains`. A level is called
after the last part of its node label; which one is NVLink is known of the label that NVIDIA's drivers set.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Outcome, Route, error
from bayplan.core.phrases import suggest
from bayplan.core.values import NamedTuple
from bayplan.kube.objects import get, items, mapping, text
from bayplan.model.formats import Asked, Part, SourceFile
from bayplan.model.topology import HOST_LEVEL, HOSTNAME_LABEL
from bayplan.topologies import native
from bayplan.topologies.kueue.objects import EVERY_NODE
from bayplan.topologies.kueue.objects import cluster_objects as write

NAME = "kueue"
FRAME = True
API = "kueue.x-k8s.io/"
KINDS = ("Topology", "ResourceFlavor", "ClusterQueue", "LocalQueue")
NVLINK_LABEL = "nvidia.com/gpu.clique"
LABEL_NAME = 63

__all__ = ["NAME", "new", "sniff", "write"]


class Found(NamedTuple):
    """One of Kueue's objects and where it stands."""

    route: Route
    data: Mapping[str, Any]
    kind: str
    name: str


def of_kueue(data: Any) -> bool:
    """Whether the data is one of the objects that describe a cluster to Kueue."""
    return text(data, "apiVersion").startswith(API) and get(data, "kind") in KINDS


def read_objects(objects: Iterable[Found]) -> Outcome[dict[str, Any]]:
    """The native topology in Kueue's objects; none without a Topology."""
    by_kind: dict[str, list[Found]] = {kind: [] for kind in KINDS}
    for each in objects:
        by_kind[each.kind].append(each)
    if not by_kind["Topology"]:
        route = next((each.route for kinds in by_kind.values() for each in kinds), ("source:0:0",))
        hint = "give the Topology too: `kubectl get topologies.kueue.x-k8s.io,resourceflavors -o yaml`"
        return Outcome(None, (error("T460", route, "there is no Topology among Kueue's objects", hint=hint),))
    found = [d for each in by_kind["Topology"] for d in _faults(each)]
    found += [d for each in by_kind["ResourceFlavor"] for d in _flavor_faults(each)]
    pools, lost = _pools(by_kind["Topology"], by_kind["ResourceFlavor"])
    return Outcome(None if found + lost else _document(by_kind, pools), (*found, *lost))


def _faults(topology: Found) -> Iterator[Diagnostic]:
    """What Kueue's CRD refuses, and levels without a label."""
    labels = _labels(topology)
    at = (*topology.route, "spec", "levels")
    fault = ""
    if not labels or not all(labels):
        fault = "every level needs a nodeLabel"
    elif len(set(labels)) < len(labels):
        fault = "its levels repeat a node label"
    elif HOSTNAME_LABEL in labels[:-1]:
        fault = f'"{HOSTNAME_LABEL}" can only be its lowest level'
    if fault:
        yield error("T461", at, f'Topology "{topology.name}" is none that Kueue takes: {fault}')


def _flavor_faults(flavor: Found) -> Iterator[Diagnostic]:
    """Labels, taints and tolerations that are none."""
    for key in ("nodeTaints", "tolerations"):
        for number, each in enumerate(items(flavor.data, "spec", key)):
            if not _of_texts(each):
                message = f'ResourceFlavor "{flavor.name}" is none that Kueue takes: an entry of {key} is not one'
                yield error("T461", (*flavor.route, "spec", key, number), message)
    if not _of_texts(get(flavor.data, "spec", "nodeLabels") or {}):
        message = f'ResourceFlavor "{flavor.name}" is none that Kueue takes: nodeLabels are a mapping of strings'
        yield error("T461", (*flavor.route, "spec", "nodeLabels"), message)


def _of_texts(data: Any) -> bool:
    """Whether it is a mapping of strings; a toleration has a number of seconds too."""
    return isinstance(data, dict) and all(
        isinstance(each, str) or (key == "tolerationSeconds" and isinstance(each, int)) for key, each in data.items()
    )


def _labels(topology: Found) -> list[str]:
    return [text(level, "nodeLabel") for level in items(topology.data, "spec", "levels")]


def _pools(topologies: list[Found], flavors: list[Found]) -> tuple[list[dict[str, Any]], list[Diagnostic]]:
    """One pool for each flavor with a topology; a Topology that no flavor names is a pool of its own."""
    known = {each.name: each for each in topologies}
    pools, lost, used, names = [], [], set(), set[str]()
    for flavor in flavors:
        wanted = text(flavor.data, "spec", "topologyName")
        if wanted in known:
            used.add(wanted)
            pools.append(_pool(_free(dns_label(flavor.name) or "pool", names), _labels(known[wanted]), _node(flavor)))
        elif wanted:
            message = f'ResourceFlavor "{flavor.name}" names the Topology "{wanted}", which is not among the objects'
            lost.append(error("T462", (*flavor.route, "spec", "topologyName"), message, hint=suggest(wanted, known)))
    for each in topologies:
        if each.name not in used:
            pools.append(_pool(_free(dns_label(each.name) or "pool", names), _labels(each), {}))
    return pools, lost


def _pool(name: str, labels: list[str], node: dict[str, Any]) -> dict[str, Any]:
    used: set[str] = {HOST_LEVEL}
    levels = [_level(label, used) for label in labels if label != HOSTNAME_LABEL]
    return {"name": name, "node": node, **({"levels": levels} if levels else {}), "domains": []}


def _level(label: str, used: set[str]) -> dict[str, Any]:
    nvlink = {"nvlink": True} if label == NVLINK_LABEL else {}
    return {"name": _free(level_name(label), used), "label": label, **nvlink}


def level_name(label: str) -> str:
    """`cloud.provider.com/topology-rack` -> `rack`; NVIDIA's clique label names what is a rack."""
    if label == NVLINK_LABEL:
        return "rack"
    return dns_label(label.rpartition("/")[2].lower().removeprefix("topology-")) or "level"


def dns_label(name: str) -> str:
    """The text as a DNS label."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower())[:LABEL_NAME].strip("-")


def _free(name: str, used: set[str]) -> str:
    """The name, with a number where it is taken."""
    free = name
    number = 2
    while free in used:
        free, number = f"{name[: LABEL_NAME - 3]}-{number}", number + 1
    used.add(free)
    return free


def _node(flavor: Found) -> dict[str, Any]:
    """Which nodes the flavor selects, and the taints that its pods must bear."""
    selector = dict(mapping(flavor.data, "spec", "nodeLabels"))
    tolerations = [
        *(_toleration(taint) for taint in items(flavor.data, "spec", "nodeTaints")),
        *(dict(mapping(each)) for each in items(flavor.data, "spec", "tolerations")),
    ]
    return {
        **({"nodeSelector": selector} if selector and selector != EVERY_NODE else {}),
        **({"tolerations": tolerations} if tolerations else {}),
    }


def _toleration(taint: Any) -> dict[str, Any]:
    value = text(taint, "value")
    how = {"operator": "Equal", "value": value} if value else {"operator": "Exists"}
    effect = text(taint, "effect")
    return {"key": text(taint, "key"), **how, **({"effect": effect} if effect else {})}


def _document(by_kind: Mapping[str, list[Found]], pools: list[dict[str, Any]]) -> dict[str, Any]:
    queues = list(dict.fromkeys(each.name for each in by_kind["LocalQueue"]))
    spaces = {text(each.data, "metadata", "namespace") for each in by_kind["LocalQueue"]}
    behind = {text(each.data, "spec", "clusterQueue") for each in by_kind["LocalQueue"]}
    first = by_kind["Topology"][0].name
    defaults = {
        "scheduler": "kueue",
        **({"namespace": min(spaces)} if len(spaces) == 1 and all(spaces) else {}),
        **({"queue": queues[0]} if len(queues) == 1 else {}),
    }
    own = {
        **({"topology": first} if len(by_kind["Topology"]) == 1 else {}),
        **({"clusterQueue": min(behind)} if len(behind) == 1 and all(behind) else {}),
    }
    return {
        "apiVersion": "bayplan.dev/v1alpha1",
        "kind": "ClusterTopology",
        "metadata": {"name": dns_label(first) or "cluster"},
        "spec": {
            "defaults": defaults,
            **({"queues": queues} if queues else {}),
            **({"schedulers": {"kueue": own}} if own else {}),
            "pools": pools,
        },
    }


def sniff(source: SourceFile) -> bool:
    """Whether the file holds objects that describe a cluster to Kueue, alone or in lists."""
    return any(True for _ in _objects(source))


def new(source: SourceFile, asked: Asked) -> Outcome[Part]:
    """The pools and levels in a file of Kueue's objects."""
    return native.part(read_objects(_objects(source)), source, asked)


def _objects(source: SourceFile) -> Iterator[Found]:
    for number, document in enumerate(source.documents):
        route = source.at(number)
        listed = items(document.data, "items")
        nested = [((*route, "items", n), each) for n, each in enumerate(listed)] if listed else [(route, document.data)]
        for at, data in nested:
            if of_kueue(data):
                yield Found(at, data, data["kind"], text(data, "metadata", "name"))
