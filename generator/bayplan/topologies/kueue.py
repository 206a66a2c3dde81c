"""Kueue's cluster objects of a topology: Topology, ResourceFlavor, ClusterQueue and LocalQueue (Kueue 0.14 to 0.19).

What upstream refuses by CRD: more than 16 levels; a flavor with a topologyName and no nodeLabels; more than 8 node
labels or tolerations; a flavor that does not list exactly the covered resources, in their order
(Kueue `topology_types.go`, `resourceflavor_types.go`, `clusterqueue_webhook.go`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Outcome, Route, error
from bayplan.core.phrases import suggest
from bayplan.core.values import NamedTuple
from bayplan.kube import quantity
from bayplan.kube.objects import get, items, mapping, non_empty, text
from bayplan.model.formats import Asked, Part, SourceFile
from bayplan.model.manifest import Manifest
from bayplan.model.target import Target
from bayplan.model.topology import HOST, HOST_LEVEL, HOSTNAME_LABEL, ClusterTopology, Level, NodeShape, Pool
from bayplan.topologies import native
from bayplan.topologies.grouping import CLIQUE, dns_label, free

EVERY_NODE = {"kubernetes.io/os": "linux"}
"""A label that every kubelet sets: the flavor of a pool that has no nodeSelector, for a flavor must name a label."""

UNLIMITED = {"cpu": "1M", "memory": "1Pi", "ephemeral-storage": "1Pi"}
"""The quota of what a topology need not state. Any pod may ask for it, and a queue that does not cover it is no use."""

NO_QUOTA = ("pods",)
"""Node resources that pods do not ask for: Kueue keeps the name for itself."""


def write(topology: ClusterTopology, target: Target) -> tuple[Manifest, ...]:
    """One Topology for each list of levels, a flavor for each pool; with queues, what stands behind them."""
    api = api_version(target)
    queues = (_cluster_queue(topology, api), *_local_queues(topology, api)) if queue_names(topology) else ()
    return (*_topologies(topology, api), *_flavors(topology, api), *queues)


def api_version(target: Target) -> str:
    """v1beta2 is served since 0.15; 0.14 has v1beta1 alone, and v1alpha1 (Topology) is gone since 0.14."""
    return "kueue.x-k8s.io/v1beta2" if target.since("kueue", "0.15") else "kueue.x-k8s.io/v1beta1"


def _topologies(topology: ClusterTopology, api: str) -> Iterator[Manifest]:
    """With the host level last: only then does Kueue see taints, and replace a single node."""
    for name, pool in {topology_name(topology, pool.name): pool for pool in reversed(topology.pools)}.items():
        yield {
            "apiVersion": api,
            "kind": "Topology",
            "metadata": {"name": name},
            "spec": {"levels": [{"nodeLabel": level.label} for level in (*pool.levels, HOST)]},
        }


def _flavors(topology: ClusterTopology, api: str) -> Iterator[Manifest]:
    for pool in topology.pools:
        tolerations = [dict(each) for each in pool.node.tolerations]
        yield {
            "apiVersion": api,
            "kind": "ResourceFlavor",
            "metadata": {"name": flavor_name(topology, pool.name)},
            "spec": {
                "nodeLabels": dict(node_labels(pool)),
                **({"tolerations": tolerations} if tolerations else {}),
                "topologyName": topology_name(topology, pool.name),
            },
        }


def node_labels(pool: Pool) -> Mapping[str, str]:
    """The labels that tell a pool's nodes from others."""
    return pool.node.node_selector or EVERY_NODE


def _cluster_queue(topology: ClusterTopology, api: str) -> Manifest:
    """One queue over all pools, open to every namespace, with what all nodes offer as its quota."""
    covered = covered_resources(topology)
    return {
        "apiVersion": api,
        "kind": "ClusterQueue",
        "metadata": {"name": cluster_queue_name(topology)},
        "spec": {
            "namespaceSelector": {},
            "resourceGroups": [
                {
                    "coveredResources": list(covered),
                    "flavors": [_quotas(topology, pool, covered) for pool in topology.pools],
                }
            ],
        },
    }


def _quotas(topology: ClusterTopology, pool: Pool, covered: tuple[str, ...]) -> dict[str, Any]:
    quota = {**UNLIMITED, **{name: quantity.show(amount) for name, amount in _offered(topology, pool).items()}}
    return {
        "name": flavor_name(topology, pool.name),
        "resources": [{"name": name, "nominalQuota": quota.get(name, "0")} for name in covered],
    }


def _offered(topology: ClusterTopology, pool: Pool) -> dict[str, int]:
    """What all nodes of a pool offer, in thousandths: their resources, their cards, their channels where mapped."""
    nodes = sum(len(domain.nodes) for domain in pool.domains)
    own = {name: amount for name, amount in pool.node.resources.items() if name not in NO_QUOTA}
    channels = dict.fromkeys(mapped_resources(topology), 1000)
    return {name: amount * nodes for name, amount in {**own, **_cards(topology, pool), **channels}.items()}


def _cards(topology: ClusterTopology, pool: Pool) -> dict[str, int]:
    """A node's GPUs, and parts of them, by the names under which pods ask for them; claims through DRA ask for none."""
    kind = topology.accelerators.get(pool.node.accelerator)
    if kind is None or not {"device-plugin", "hami"} & set(kind.allocators):
        return {}
    if "hami" in kind.allocators:
        from bayplan.accelerators import hami as shares

        return {name: amount * 1000 for name, amount in shares.quota(kind, pool.node.accelerators).items()}
    return {kind.resources.get("count", "nvidia.com/gpu"): pool.node.accelerators * 1000}


def covered_resources(topology: ClusterTopology) -> tuple[str, ...]:
    """What every container may ask for, then whatever any pool offers."""
    offered = {name for pool in topology.pools for name in _offered(topology, pool)}
    return (*UNLIMITED, *sorted(offered - set(UNLIMITED)))


def mapped_resources(topology: ClusterTopology) -> tuple[str, ...]:
    """The resources that Kueue's configuration counts device classes as (`deviceClassMappings`)."""
    own: Mapping[str, str] = topology.schedulers.get("kueue", {}).get("deviceClassMappings", {})
    return tuple(dict.fromkeys(own.values()))


def _local_queues(topology: ClusterTopology, api: str) -> Iterator[Manifest]:
    """Each queue in each namespace that the topology describes; where it describes none, in that of the workflow."""
    for namespace in tuple(topology.namespaces) or ("",):
        for name in queue_names(topology):
            yield {
                "apiVersion": api,
                "kind": "LocalQueue",
                "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
                "spec": {"clusterQueue": cluster_queue_name(topology)},
            }


def queue_names(topology: ClusterTopology) -> tuple[str, ...]:
    """The queues that the topology file names."""
    default = topology.defaults.get("queue")
    return topology.queues or ((default,) if default else ())


def cluster_queue_name(topology: ClusterTopology) -> str:
    """The ClusterQueue behind the queues."""
    return str(topology.schedulers.get("kueue", {}).get("clusterQueue") or topology.name)


def flavor_name(topology: ClusterTopology, pool: str) -> str:
    """The ResourceFlavor of a pool."""
    base = topology.schedulers.get("kueue", {}).get("flavor")
    if not base:
        return pool
    return str(base) if len(topology.pools) == 1 else f"{base}-{pool}"


def topology_name(topology: ClusterTopology, pool: str) -> str:
    """The Topology that holds a pool's levels: pools with the same levels share one."""
    base = str(topology.schedulers.get("kueue", {}).get("topology") or topology.name)
    alike: dict[tuple[str, ...], str] = {}
    for each in topology.pools:
        alike.setdefault(_level_labels(each), each.name)
    if len(alike) == 1:
        return base
    return f"{base}-{alike[_level_labels(next(p for p in topology.pools if p.name == pool))]}"


def _level_labels(pool: Pool) -> tuple[str, ...]:
    return tuple(level.label for level in pool.levels)


# Kueue's Topology, ResourceFlavor and LocalQueue objects, read as a cluster topology and written from one.
#
# They name no node, so a topology that is read from them has pools and levels and empty `domains`. A level is called
# after the last part of its node label; which one is NVLink is known of the label that NVIDIA's drivers set.

API = "kueue.x-k8s.io/"
KINDS = ("Topology", "ResourceFlavor", "ClusterQueue", "LocalQueue")


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
    labels = _topology_labels(topology)
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


def _topology_labels(topology: Found) -> list[str]:
    return [text(level, "nodeLabel") for level in items(topology.data, "spec", "levels")]


def _pools(topologies: list[Found], flavors: list[Found]) -> tuple[list[dict[str, Any]], list[Diagnostic]]:
    """One pool for each flavor with a topology; a Topology that no flavor names is a pool of its own."""
    known = {each.name: each for each in topologies}
    pools, lost, used, names = [], [], set(), set[str]()
    for flavor in flavors:
        wanted = text(flavor.data, "spec", "topologyName")
        if wanted in known:
            used.add(wanted)
            pools.append(
                _pool(free(dns_label(flavor.name) or "pool", names), _topology_labels(known[wanted]), _node(flavor))
            )
        elif wanted:
            message = f'ResourceFlavor "{flavor.name}" names the Topology "{wanted}", which is not among the objects'
            lost.append(error("T462", (*flavor.route, "spec", "topologyName"), message, hint=suggest(wanted, known)))
    for each in topologies:
        if each.name not in used:
            pools.append(_pool(free(dns_label(each.name) or "pool", names), _topology_labels(each), {}))
    return pools, lost


def _pool(name: str, labels: list[str], node: dict[str, Any]) -> dict[str, Any]:
    used: set[str] = {HOST_LEVEL}
    levels = [_level(label, used) for label in labels if label != HOSTNAME_LABEL]
    return {"name": name, "node": node, **({"levels": levels} if levels else {}), "domains": []}


def _level(label: str, used: set[str]) -> dict[str, Any]:
    nvlink = {"nvlink": True} if label == CLIQUE else {}
    return {"name": free(level_name(label), used), "label": label, **nvlink}


def label_pool(name: str, labels: Iterable[str], taken: set[str], aliases: Mapping[str, str] = {}) -> Pool:
    """A pool without nodes, of which a scheduler's object lists the labels of levels, coarse to fine."""
    used = {HOST_LEVEL}
    levels = tuple(
        Level(free(aliases.get(label) or level_name(label), used), label, label == CLIQUE)
        for label in labels
        if label != HOSTNAME_LABEL
    )
    return Pool(free(dns_label(name) or "nodes", taken), NodeShape(), levels)


def level_name(label: str) -> str:
    """`cloud.provider.com/topology-rack` -> `rack`; NVIDIA's clique label names what is a rack."""
    if label == CLIQUE:
        return "rack"
    return dns_label(label.rpartition("/")[2].lower().removeprefix("topology-")) or "level"


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
    spec = {"defaults": defaults, **non_empty(queues=queues, schedulers={"kueue": own} if own else {}), "pools": pools}
    return native.document(dns_label(first) or "cluster", spec)


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
