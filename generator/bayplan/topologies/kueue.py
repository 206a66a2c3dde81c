"""Kueue's cluster objects of a topology: Topology, ResourceFlavor, ClusterQueue and LocalQueue (Kueue 0.14 to 0.19).

Kueue refuses more than 16 levels, a flavor with a topologyName and no nodeLabels, and more than 8 node labels or
tolerations. A flavor must list exactly the covered resources in their order (`topology_types.go`,
`resourceflavor_types.go`, `clusterqueue_webhook.go`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Outcome, error
from bayplan.core.phrases import suggest
from bayplan.kube import quantity
from bayplan.kube.objects import get, group, items, kind, mapping, name, namespace, non_empty, text
from bayplan.model.encoding import ordered
from bayplan.model.formats import Part, ReadOptions, SourceFile
from bayplan.model.manifest import Manifest, Object
from bayplan.model.target import Target
from bayplan.model.topology import (
    GPU,
    HOST,
    HOST_LEVEL,
    HOSTNAME_LABEL,
    ClusterTopology,
    Level,
    NodeShape,
    Pool,
    Queue,
    Quota,
    leaves,
)
from bayplan.topologies import native
from bayplan.topologies.grouping import CLIQUE, dns_label, free, kube_objects, toleration

EVERY_NODE = {"kubernetes.io/os": "linux"}
"""A label that every kubelet sets. A flavor must name a label, so a pool without nodeSelector uses this one."""

UNLIMITED = {"cpu": "1M", "memory": "1Pi", "ephemeral-storage": "1Pi"}
"""The quota of resources that a topology can omit. Every pod can request them, and a queue must cover them."""

NO_QUOTA = ("pods",)
"""Node resources that pods do not request: Kueue reserves the name."""


def write(topology: ClusterTopology, target: Target) -> tuple[Manifest, ...]:
    """One Topology for each list of levels, and a flavor for each pool; with queues, also their objects."""
    api = api_version(target)
    return (*_topologies(topology, api), *_flavors(topology, api), *_queue_objects(topology, api))


def api_version(target: Target) -> str:
    """v1beta2 exists since 0.15; 0.14 has only v1beta1, and v1alpha1 (Topology) is gone since 0.14."""
    return "kueue.x-k8s.io/v1beta2" if target.since("kueue", "0.15") else "kueue.x-k8s.io/v1beta1"


def _topologies(topology: ClusterTopology, api: str) -> Iterator[Manifest]:
    """The labels with the host level last: only then does Kueue use taints and replace a single node."""
    for title, pool in {topology_name(topology, pool.name): pool for pool in reversed(topology.pools)}.items():
        yield {
            "apiVersion": api,
            "kind": "Topology",
            "metadata": {"name": title},
            "spec": {"levels": [{"nodeLabel": level.label} for level in (*pool.levels, HOST)]},
        }


def _flavors(topology: ClusterTopology, api: str) -> Iterator[Manifest]:
    for pool in topology.pools:
        yield {
            "apiVersion": api,
            "kind": "ResourceFlavor",
            "metadata": {"name": flavor_name(topology, pool.name)},
            "spec": {
                "nodeLabels": dict(node_labels(pool)),
                **non_empty(tolerations=list(map(dict, pool.node.tolerations))),
                "topologyName": topology_name(topology, pool.name),
            },
        }


def node_labels(pool: Pool) -> Mapping[str, str]:
    """The labels that separate a pool's nodes from others."""
    return pool.node.node_selector or EVERY_NODE


def _queue_objects(topology: ClusterTopology, api: str) -> Iterator[Manifest]:
    """A ClusterQueue for each queue with numbers and each parent of other queues, and one for all queues without.

    A parent of ClusterQueues is their cohort. Each queue that workflows can name has LocalQueues.
    """
    listed = topology.queues_or_default
    own = {each.name: each for each in listed}
    behind = {name: _cluster_queue_of(own[name], listed) for name in leaves(listed)}
    for each in dict.fromkeys(behind.values()):
        yield _cluster_queue(topology, own.get(each), each or cluster_queue_name(topology), api)
    for where in tuple(topology.namespaces) or ("",):
        for queue, each in behind.items():
            yield {
                "apiVersion": api,
                "kind": "LocalQueue",
                "metadata": {"name": queue, **non_empty(namespace=where)},
                "spec": {"clusterQueue": each or cluster_queue_name(topology)},
            }


def _cluster_queue_of(queue: Queue, queues: Sequence[Queue]) -> str:
    """The ClusterQueue behind a queue: itself, its parent unless that is a cohort, or "" for the common one."""
    cohorts = {each.parent for each in queues if each.quotas or each.name not in leaves(queues)}
    return queue.name if queue.quotas or queue.parent in cohorts else queue.parent


def _cluster_queue(topology: ClusterTopology, queue: Queue | None, name: str, api: str) -> Manifest:
    """A queue for all pools and every namespace. What it does not state is the sum of what all nodes offer."""
    covered = covered_resources(topology)
    cohort = queue.parent if queue else ""
    return {
        "apiVersion": api,
        "kind": "ClusterQueue",
        "metadata": {"name": name},
        "spec": {
            **non_empty(**{"cohortName" if api.endswith("v1beta2") else "cohort": cohort}),
            "namespaceSelector": {},
            "resourceGroups": [
                {
                    "coveredResources": list(covered),
                    "flavors": [_quotas(topology, queue, pool, covered) for pool in topology.pools],
                }
            ],
        },
    }


def _quotas(topology: ClusterTopology, queue: Queue | None, pool: Pool, covered: tuple[str, ...]) -> dict[str, Any]:
    quota = {**UNLIMITED, **{name: quantity.show(amount) for name, amount in _offered(topology, pool).items()}}
    stated = _stated(topology, queue, pool) if queue else {}
    return {
        "name": flavor_name(topology, pool.name),
        "resources": [
            {"name": name, **(stated.get(name) or {"nominalQuota": quota.get(name, "0")})} for name in covered
        ],
    }


def _stated(topology: ClusterTopology, queue: Queue, pool: Pool) -> dict[str, dict[str, str]]:
    """The quotas that a queue states for a pool. A queue without a cohort has nobody to borrow from."""
    found: dict[str, dict[str, str]] = {}
    for quota in queue.quotas:
        if quota.pool == pool.name or (not quota.pool and len(topology.pools) == 1):
            own, most = quota.guaranteed, quota.limit
            nominal = (own or 0) if queue.parent else most if most is not None else own
            borrows = queue.parent and most is not None
            limit = {"borrowingLimit": quantity.show((most or 0) - (own or 0))} if borrows else {}
            for name in (*_cards(topology, pool),) if quota.resource == GPU else (quota.resource,):
                found[name] = {"nominalQuota": quantity.show(nominal or 0), **limit}
    return found


def _offered(topology: ClusterTopology, pool: Pool) -> dict[str, int]:
    """The sum of what all nodes of a pool offer, in thousandths: resources, GPUs, and mapped channels."""
    nodes = sum(len(domain.nodes) for domain in pool.domains)
    own = {name: amount for name, amount in pool.node.resources.items() if name not in NO_QUOTA}
    channels = dict.fromkeys(mapped_resources(topology), 1000)
    return {name: amount * nodes for name, amount in {**own, **_cards(topology, pool), **channels}.items()}


def _cards(topology: ClusterTopology, pool: Pool) -> dict[str, int]:
    """A node's GPUs and parts of them, by the resources that pods request. Claims through DRA request no resource."""
    kind = topology.accelerators.get(pool.node.accelerator)
    if kind is None or not {"device-plugin", "hami"} & set(kind.allocators):
        return {}
    if "hami" in kind.allocators:
        from bayplan.accelerators import hami as shares

        return {name: amount * 1000 for name, amount in shares.quota(kind, pool.node.accelerators).items()}
    return {kind.count_resource: pool.node.accelerators * 1000}


def covered_resources(topology: ClusterTopology) -> tuple[str, ...]:
    """The resources that every container can request, then all resources that any pool offers."""
    offered = {name for pool in topology.pools for name in _offered(topology, pool)}
    offered |= {each.resource for queue in topology.queues or () for each in queue.quotas if each.resource != GPU}
    return (*UNLIMITED, *sorted(offered - set(UNLIMITED)))


def mapped_resources(topology: ClusterTopology) -> tuple[str, ...]:
    """The resources that Kueue's configuration counts device classes as (`deviceClassMappings`)."""
    own: Mapping[str, str] = topology.schedulers.get("kueue", {}).get("deviceClassMappings", {})
    return tuple(dict.fromkeys(own.values()))


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
    """The Topology with a pool's levels. Pools with the same levels share one."""
    base = str(topology.schedulers.get("kueue", {}).get("topology") or topology.name)
    alike: dict[tuple[str, ...], str] = {}
    for each in topology.pools:
        alike.setdefault(_level_labels(each), each.name)
    if len(alike) == 1:
        return base
    return f"{base}-{alike[_level_labels(next(p for p in topology.pools if p.name == pool))]}"


def _level_labels(pool: Pool) -> tuple[str, ...]:
    return tuple(level.label for level in pool.levels)


# Reads Kueue's objects. They name no node, so the topology has pools and levels without domains. The last part of its
# node label is the name of a level; the label of NVIDIA's drivers is the NVLink level.

GROUP = "kueue.x-k8s.io"
KINDS = ("Topology", "ResourceFlavor", "ClusterQueue", "LocalQueue", "Cohort")


def sniff(source: SourceFile) -> bool:
    """Whether the file has objects that describe a cluster to Kueue, single or in lists."""
    return any(map(_of_kueue, kube_objects(source)))


def _of_kueue(one: Object) -> bool:
    return group(one) == GROUP and kind(one) in KINDS


def new(source: SourceFile, options: ReadOptions) -> Outcome[Part]:
    """The pools and levels in a file of Kueue's objects."""
    return native.part(_read([each for each in kube_objects(source) if _of_kueue(each)]), source, options)


def _read(objects: Sequence[Object]) -> Outcome[ClusterTopology]:
    """The topology in Kueue's objects; None without a Topology."""
    topologies, flavors, cluster_queues, queues, cohorts = (
        [each for each in objects if kind(each) == one] for one in KINDS
    )
    if not topologies:
        route = next((each.route for one in (flavors, cluster_queues, queues) for each in one), ("source:0:0",))
        hint = "also include the Topology: `kubectl get topologies.kueue.x-k8s.io,resourceflavors -o yaml`"
        return Outcome(None, (error("T461", route, "the file has Kueue's objects without a Topology", hint=hint),))
    faults = [
        *(d for each in topologies for d in _faults(each)),
        *(d for each in flavors for d in _flavor_faults(each)),
    ]
    pools = dict(_pools(topologies, flavors, faults))
    named = _read_queues(cluster_queues, queues, cohorts, {flavor: pool.name for flavor, pool in pools.items()})
    result = None if faults else _topology(topologies, tuple(pools.values()), queues, named)
    return Outcome(result, tuple(faults))


def _faults(topology: Object) -> Iterator[Diagnostic]:
    """Faults that Kueue's CRD refuses, and levels without a label."""
    labels = _labels(topology)
    fault = wrong_order(labels) if labels and all(labels) else "every level needs a nodeLabel"
    if fault:
        message = f'Kueue does not accept Topology "{name(topology)}": {fault}'
        hint = "list different node labels, coarse to fine"
        yield error("T461", (*topology.route, "spec", "levels"), message, hint=hint)


def wrong_order(labels: Sequence[str]) -> str:
    """Why schedulers do not accept these labels as levels; empty if they do."""
    if len(set(labels)) < len(labels):
        return "its levels repeat a node label"
    return f'"{HOSTNAME_LABEL}" can only be its lowest level' if HOSTNAME_LABEL in labels[:-1] else ""


def _flavor_faults(flavor: Object) -> Iterator[Diagnostic]:
    """Invalid labels, taints and tolerations."""
    wrong = f'Kueue does not accept ResourceFlavor "{name(flavor)}"'
    for key in ("nodeTaints", "tolerations"):
        for number, each in enumerate(items(flavor.data, "spec", key)):
            if not _of_texts(each):
                message = f"{wrong}: an entry of {key} is not valid"
                yield error("T461", (*flavor.route, "spec", key, number), message, hint="write strings in quotes")
    if not _of_texts(get(flavor.data, "spec", "nodeLabels") or {}):
        yield error("T461", (*flavor.route, "spec", "nodeLabels"), f"{wrong}: nodeLabels must be a mapping of strings")


def _of_texts(data: Any) -> bool:
    """Whether the data is a mapping of strings. A toleration can also have a number of seconds."""
    return isinstance(data, dict) and all(
        isinstance(each, str) or (key == "tolerationSeconds" and isinstance(each, int)) for key, each in data.items()
    )


def _labels(topology: Object) -> list[str]:
    return [text(level, "nodeLabel") for level in items(topology.data, "spec", "levels")]


def _pools(
    topologies: Sequence[Object], flavors: Sequence[Object], faults: list[Diagnostic]
) -> Iterator[tuple[str, Pool]]:
    """One pool for each flavor with a topology. A Topology without a flavor becomes a separate pool."""
    by_name = {name(each): each for each in topologies}
    used, names = set(), set[str]()
    for flavor in flavors:
        wanted = text(flavor.data, "spec", "topologyName")
        if wanted in by_name:
            used.add(wanted)
            pool = label_pool(dns_label(name(flavor)) or "pool", _labels(by_name[wanted]), names)
            yield name(flavor), pool._replace(node=_node(flavor.data))
        elif wanted:
            message = f'ResourceFlavor "{name(flavor)}" names the unknown Topology "{wanted}"'
            route = (*flavor.route, "spec", "topologyName")
            faults.append(error("T461", route, message, hint=suggest(wanted, by_name)))
    for each in topologies:
        if name(each) not in used:
            pool = label_pool(dns_label(name(each)) or "pool", _labels(each), names)
            yield f"topology/{name(each)}", pool._replace(node=native.UNDESCRIBED)


def label_pool(title: str, labels: Iterable[str], taken: set[str], aliases: Mapping[str, str] = {}) -> Pool:
    """A pool without nodes from a scheduler's object that lists the labels of levels, coarse to fine."""
    used = {HOST_LEVEL}
    levels = tuple(
        Level(free(aliases.get(label) or level_name(label), used), label, label == CLIQUE)
        for label in labels
        if label != HOSTNAME_LABEL
    )
    return Pool(free(dns_label(title) or "nodes", taken), NodeShape(), levels)


def level_name(label: str) -> str:
    """`cloud.provider.com/topology-rack` -> `rack`. NVIDIA's clique label becomes `rack` too."""
    if label == CLIQUE:
        return "rack"
    return dns_label(label.rpartition("/")[2].lower().removeprefix("topology-")) or "level"


def _node(flavor: Any) -> NodeShape:
    """The nodes that the flavor selects, and the taints that its pods must tolerate."""
    selector = mapping(flavor, "spec", "nodeLabels")
    taints = (
        toleration(text(each, "key"), text(each, "value"), text(each, "effect"))
        for each in items(flavor, "spec", "nodeTaints")
    )
    return native.UNDESCRIBED._replace(
        node_selector={} if selector == EVERY_NODE else ordered(selector),
        tolerations=tuple(map(ordered, (*taints, *items(flavor, "spec", "tolerations")))),
    )


def _topology(
    topologies: Sequence[Object], pools: tuple[Pool, ...], queues: Sequence[Object], named: tuple[Queue, ...]
) -> ClusterTopology:
    names = tuple(dict.fromkeys(map(name, queues)))
    namespaces = {namespace(each) for each in queues}
    cluster_queues = {text(each.data, "spec", "clusterQueue") for each in queues}
    first = name(topologies[0])
    defaults = non_empty(
        scheduler="kueue",
        namespace=min(namespaces) if len(namespaces) == 1 else "",
        queue=names[0] if len(names) == 1 else "",
    )
    own = non_empty(
        topology=first if len(topologies) == 1 else "",
        clusterQueue=min(cluster_queues) if len(cluster_queues) == 1 else "",
    )
    return ClusterTopology(
        dns_label(first) or "cluster", pools, defaults=defaults, queues=named or None, schedulers=non_empty(kueue=own)
    )


# Queues: workflows name LocalQueues. A ClusterQueue is their parent and has the numbers, or both are one queue if they
# have one name. A cohort is the parent of ClusterQueues, which borrow from it (Kueue 0.14 to 0.19,
# `clusterqueue_types.go`, `cohort_types.go`).


def _read_queues(
    cluster_queues: Sequence[Object], queues: Sequence[Object], cohorts: Sequence[Object], pools: Mapping[str, str]
) -> tuple[Queue, ...]:
    """The queues with their numbers. `pools`: flavor -> pool. A name of several queues has no numbers."""
    own = {name(each): each for each in cluster_queues}
    behind: dict[str, set[str]] = {}
    for each in queues:
        behind.setdefault(name(each), set()).add(text(each.data, "spec", "clusterQueue"))
    clear = {local: min(names) for local, names in behind.items() if len(names) == 1 and names <= own.keys()}
    used = {each for local, each in clear.items() if each == local or each not in behind}
    above = {each: _cohort(own[each]) for each in used}
    parents = {
        name(each): text(each.data, "spec", "parentName") or text(each.data, "spec", "parent") for each in cohorts
    }
    tops = dict.fromkeys(
        top for each in above.values() for top in _upwards(each, parents) if top not in {*own, *behind}
    )
    total = _totals(cluster_queues, cohorts, parents, pools)
    return (
        *(Queue(top, parents.get(top, ""), () if parents.get(top) else _sum(total.get(top, {}))) for top in tops),
        *(Queue(each, above[each] if above[each] in tops else "", _rows(own[each], pools)) for each in sorted(used)),
        *(Queue(local, clear[local] if clear.get(local) in used else "") for local in behind if local not in used),
    )


def _cohort(queue: Object) -> str:
    """The cohort of a ClusterQueue: `cohortName` in v1beta2, `cohort` in v1beta1."""
    return text(queue.data, "spec", "cohortName") or text(queue.data, "spec", "cohort")


def _upwards(cohort: str, parents: Mapping[str, str]) -> Iterator[str]:
    seen: set[str] = set()
    while cohort and cohort not in seen:
        seen.add(cohort)
        yield cohort
        cohort = parents.get(cohort, "")


Totals = dict[tuple[str, str], int | None]
"""(pool, resource) -> the sum of nominal quotas; None if one of them stands for no quota."""


def _totals(
    cluster_queues: Sequence[Object], cohorts: Sequence[Object], parents: Mapping[str, str], pools: Mapping[str, str]
) -> dict[str, Totals]:
    """Cohort -> all nominal quotas in it, by resource and pool."""
    total: dict[str, Totals] = {}
    for each in (*cluster_queues, *cohorts):
        for cohort in _upwards(_cohort(each) if kind(each) == "ClusterQueue" else name(each), parents):
            for pool, resource, nominal, _ in _nominal(each, pools):
                amounts = total.setdefault(cohort, {})
                before = amounts.get((pool, resource), 0)
                amounts[pool, resource] = None if nominal is None or before is None else before + nominal
    return total


def _sum(total: Totals) -> tuple[Quota, ...]:
    limits = ((key, _limit(amount)) for key, amount in sorted(total.items()) if amount is not None)
    return tuple(Quota(resource, pool, limit=amount) for (pool, resource), amount in limits if amount is not None)


def _rows(queue: Object, pools: Mapping[str, str]) -> tuple[Quota, ...]:
    alone = not _cohort(queue)
    return tuple(
        Quota(resource, pool, nominal, nominal if alone else None if borrowed is None else _limit(nominal + borrowed))
        for pool, resource, nominal, borrowed in sorted(_nominal(queue, pools), key=lambda row: row[:2])
        if nominal is not None
    )


UNBOUNDED = quantity.parse("8E")
"""No cluster has so much, and larger amounts are not quantities."""


def _limit(amount: int) -> int | None:
    return amount if amount < UNBOUNDED else None


def _nominal(owner: Object, pools: Mapping[str, str]) -> Iterator[tuple[str, str, int | None, int | None]]:
    """Pool, resource, nominal quota (None: one that stands for no quota) and borrowing limit."""
    for resources in items(owner.data, "spec", "resourceGroups"):
        for flavor in items(resources, "flavors"):
            for row in items(flavor, "resources"):
                amount, borrowed = (_amount(get(row, key)) for key in ("nominalQuota", "borrowingLimit"))
                resource, pool = text(row, "name"), pools.get(text(flavor, "name"), "")
                if resource and pool and amount is not None:
                    unlimited = amount >= quantity.parse(UNLIMITED.get(resource, "8E"))
                    yield pool, resource, None if unlimited else amount, borrowed


def _amount(value: Any) -> int | None:
    """Thousandths; None for what the API server would refuse."""
    try:
        amount = quantity.parse(str(value))
    except ValueError:
        return None
    return amount if amount >= 0 else None


def as_written(topology: ClusterTopology, target: Target) -> ClusterTopology:
    """The topology with the queues that its objects have: those without numbers share what all nodes offer."""
    return _written(
        topology, target, {pool.name: dns_label(flavor_name(topology, pool.name)) for pool in topology.pools}
    )


def enforced(topology: ClusterTopology, target: Target) -> ClusterTopology:
    """The same with the topology's own names of pools. Kueue has no quota over several flavors."""
    return _written(topology, target, {pool.name: pool.name for pool in topology.pools})


def _written(topology: ClusterTopology, target: Target, titles: Mapping[str, str]) -> ClusterTopology:
    objects = [Object(("topology",), each) for each in write(topology, target)]
    local, own = ([each for each in objects if kind(each) == one] for one in ("LocalQueue", "ClusterQueue"))
    pools = {flavor_name(topology, pool): title for pool, title in titles.items()}
    return topology._replace(queues=_read_queues(own, local, (), pools) or None)
