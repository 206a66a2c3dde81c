"""The native ClusterTopology format. Reading assumes that the schema accepted the data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Outcome, Route, error
from bayplan.kube import quantity
from bayplan.kube.objects import non_empty
from bayplan.model.encoding import decode, decode_named, encode, ordered
from bayplan.model.formats import Context, Part, Read, ReadOptions, SourceFile
from bayplan.model.topology import ClusterTopology, DataMover, Domain, Level, NodeShape, Pool, Queue, Quota
from bayplan.topologies import hostlist

NAME = "native"
API_VERSION = "bayplan.dev/v1alpha1"
KIND = SCHEMA = "ClusterTopology"

PODS = 110
"""Default limit of pods of a kubelet (`kubernetes/pkg/kubelet/apis/config/v1beta1/defaults.go`)."""

UNDESCRIBED = NodeShape(resources={"pods": PODS * 1000})
"""Nodes that a source does not describe."""

ORDER = (
    *("read", "platform", "clusterDomain", "versions", "defaults", "queues", "priorityClasses", "images"),
    *("dataMovers", "dataStore", "schedulers"),
    *("pools", "accelerators", "fabrics", "namespaces"),
)
"""The order of the keys of `spec`: pools first, then what they refer to."""

OWN_KEYS = ("cpu", "memory", "pods")
"""Resources that are keys of a node; all others are under its `resources`."""


def sniff(data: Any) -> bool:
    """Whether the data has bayplan's apiVersion. The schema checks the kind."""
    return isinstance(data, dict) and str(data.get("apiVersion", "")).startswith("bayplan.dev/")


def read(data: Any, _context: Context = Context()) -> Outcome[Read[ClusterTopology]]:  # noqa: B008
    """The topology, or diagnostics for every invalid hostlist and quantity."""
    spec = data["spec"]
    issues = hostlist.Issues()
    pools = tuple(_pool(each, ("topology", "spec", "pools", index), issues) for index, each in enumerate(spec["pools"]))
    if names := spec.get("schedulers", {}).get("slurm", {}).get("names"):
        issues += _names(names, [node for pool in pools for node in pool.nodes()])
    listed = spec.get("queues")
    queues = None if listed is None else tuple(_queue(each, i, issues) for i, each in enumerate(listed))
    if issues:
        return Outcome(None, tuple(issues))
    return Outcome(Read(decode(ClusterTopology, spec, name=data["metadata"]["name"], pools=pools, queues=queues)))


def part(read: Outcome[ClusterTopology], source: SourceFile, options: ReadOptions) -> Outcome[Part]:
    """The topology of a source without labels, as a part of a cluster."""
    topology = read.value
    if topology is None:
        return Outcome(None, read.diagnostics)
    pools = tuple(map(_repeating, topology.pools))
    topology = topology._replace(
        pools=pools, defaults=ordered(topology.defaults), schedulers=ordered(topology.schedulers)
    )
    return Outcome(Part(planned(topology, options.plan), source=source.name), read.diagnostics)


def _repeating(pool: Pool) -> Pool:
    """The pool with `unique: parent` on levels with repeated values: the tree of such a source identifies domains."""
    levels = []
    for depth, level in enumerate(pool.levels):
        paths = {domain.path[: depth + 1] for domain in pool.domains}
        twice = len({path[-1] for path in paths if path}) < len(paths)
        levels.append(level._replace(unique="parent") if twice else level)
    return pool._replace(levels=tuple(levels))


def planned(topology: ClusterTopology, plan: int) -> ClusterTopology:
    """The topology with `plan` on each finest level, if `plan` is not 0."""
    if not plan:
        return topology
    finest = (tuple(level._replace(plan=plan) for level in pool.levels[-1:]) for pool in topology.pools)
    pools = zip(topology.pools, finest, strict=True)
    return topology._replace(pools=tuple(pool._replace(levels=pool.levels[:-1] + last) for pool, last in pools))


def write(topology: ClusterTopology) -> dict[str, Any]:
    """The native document; `read(write(t))` gives t."""
    data = {**encode(topology), "pools": list(map(pool_document, topology.pools))}
    if topology.queues is not None:
        data["queues"] = list(map(_queue_document, topology.queues))
    for kind in data.get("accelerators", {}).values():
        if len(kind.get("allocator", ())) == 1:
            (kind["allocator"],) = kind["allocator"]
    spec = {key: data[key] for key in ORDER if key in data}
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": topology.name}, "spec": spec}


def _pool(data: Any, route: Route, issues: list[Diagnostic]) -> Pool:
    return Pool(
        name=data["name"],
        node=_node(data["node"], (*route, "node"), issues),
        levels=tuple(decode(Level, level) for level in data.get("levels", ())),
        domains=tuple(_domains(data["domains"], (*route, "domains"), issues)),
        unusable={
            reason: names
            for reason, nodes in sorted(data.get("unusable", {}).items())
            if (names := _expand(nodes, (*route, "unusable", reason), issues))
        },
        template=ordered(data.get("template", {})),
        data_movers=decode_named(DataMover, data.get("dataMovers", {})),
        data_store=data.get("dataStore", ""),
    )


def _domains(data: list[Any], route: Route, issues: list[Diagnostic]) -> Iterator[Domain]:
    for index, each in enumerate(data):
        path = each.get("path")
        values = tuple(path.split("/")) if path else ()
        nodes = _expand(each["nodes"], (*route, index, "nodes"), issues)
        leaves = _expand(each["leaves"], (*route, index, "leaves"), issues) if "leaves" in each else ()
        yield Domain(values, nodes, each.get("nvlinkDomain", ""), leaves)


def _expand(text: str, route: Route, issues: list[Diagnostic]) -> tuple[str, ...]:
    try:
        return hostlist.expand_of_file(text, issues)
    except ValueError as reason:
        hint = 'write it like "gb-n[01-18],login2"'
        issues.append(error("T414", route, f"cannot read the hostlist: {reason}", hint=hint))
        return ()


def _names(rules: list[Any], nodes: list[str]) -> Iterator[Diagnostic]:
    """T537: rules for names in Slurm that Python cannot read, or that could take forever."""
    import re
    import warnings

    from bayplan.text.patterns import MOST_STEPS, steps

    longest, total = max(map(len, nodes), default=0), 0.0
    for number, rule in enumerate(rules):
        at: Route = ("topology", "spec", "schedulers", "slurm", "names", number)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                pattern = re.compile(rule["from"])
        except (re.error, OverflowError, RecursionError) as reason:
            hint = 'write a regular expression of Python, such as "gb-(.+)"'
            yield error("T537", (*at, "from"), f"cannot read the pattern: {reason}", hint=hint)
            continue
        try:
            pattern.sub(rule["to"], "")
        except (re.error, IndexError) as reason:
            hint = "refer to groups of the pattern by their numbers, such as \\1"
            yield error("T537", (*at, "to"), f"cannot read the name: {reason}", hint=hint)
        needed = steps(rule["from"], longest, whole=True)
        total += needed * len(nodes)
        if needed > MOST_STEPS or total > MOST_OF_ALL_NAMES:
            message = f"Python could need very long to match the pattern with {len(nodes)} names of nodes"
            hint = "remove repeats of groups, and end each repeat with a character that it does not match: ([^-]+)-"
            yield error("T537", (*at, "from"), message, hint=hint)


MOST_OF_ALL_NAMES = 2_000_000_000
"""Steps of all rules with the names of all nodes, about ten seconds."""


def _node(data: Any, route: Route, issues: list[Diagnostic]) -> NodeShape:
    own = {key: ((*route, key), data[key]) for key in OWN_KEYS if key in data}
    more = {key: ((*route, "resources", key), value) for key, value in data.get("resources", {}).items()}
    for key in [key for key in more if key in OWN_KEYS]:
        message = f'"{key}" is not a key of "resources"'
        issues.append(error("T412", more[key][0], message, hint=f'write "{key}" directly under "node"'))
    amounts = {"pods": ((*route, "pods"), PODS), **more, **own}
    resources = {key: _amount(value, place, issues) for key, (place, value) in sorted(amounts.items())}
    return decode(NodeShape, data, resources=resources)


def _amount(value: Any, route: Route, issues: list[Diagnostic]) -> int:
    try:
        amount = quantity.parse(value if isinstance(value, str) else str(int(value)))
    except ValueError as reason:
        issues.append(error("T412", route, str(reason), hint='write it like "140", "500m" or "900Gi"'))
        return 0
    if amount < 0:
        issues.append(error("T412", route, f'"{value}" is negative', hint="write the amount that pods can use"))
    return amount


def _queue(data: Any, number: int, issues: list[Diagnostic]) -> Queue:
    if isinstance(data, str):
        return Queue(data)
    at: Route = ("topology", "spec", "queues", number, "quotas")
    quotas = []
    for index, row in enumerate(data.get("quotas", ())):
        amounts = {key: _amount(row[key], (*at, index, key), issues) for key in ("guaranteed", "limit") if key in row}
        quotas.append(Quota(row["resource"], row.get("pool", ""), **amounts))
    return Queue(data["name"], data.get("parent", ""), tuple(quotas))


def _queue_document(queue: Queue) -> Any:
    if queue == Queue(queue.name):
        return queue.name
    return {"name": queue.name, **non_empty(parent=queue.parent, quotas=list(map(quota_document, queue.quotas)))}


def quota_document(quota: Quota) -> dict[str, Any]:
    """A quota in the native format."""
    amounts = {"guaranteed": quota.guaranteed, "limit": quota.limit}
    shown = {key: quantity.show(amount) for key, amount in amounts.items() if amount is not None}
    return {"resource": quota.resource, **non_empty(pool=quota.pool), **shown}


def pool_document(pool: Pool) -> dict[str, Any]:
    """A pool in the native format."""
    return {
        "name": pool.name,
        "node": node_document(pool.node),
        **non_empty(template=encode(pool.template), dataMovers=encode(pool.data_movers), dataStore=pool.data_store),
        **non_empty(levels=encode(pool.levels)),
        "domains": [domain_document(domain) for domain in pool.domains],
        **non_empty(unusable={reason: hostlist.compress(names) for reason, names in pool.unusable.items()}),
    }


def domain_document(domain: Domain) -> dict[str, Any]:
    """A domain in the native format."""
    return {
        **non_empty(path="/".join(domain.path)),
        "nodes": hostlist.compress(domain.nodes),
        **non_empty(nvlinkDomain=domain.nvlink_domain, leaves=hostlist.compress(domain.leaves)),
    }


def node_document(node: NodeShape) -> dict[str, Any]:
    """What nodes offer, in the native format."""
    fields = encode(node)
    amounts = {name: quantity.show(amount) for name, amount in node.resources.items()}
    own: dict[str, Any] = {key: amounts.pop(key) for key in ("cpu", "memory") if key in amounts}
    if node.resources.get("pods", PODS * 1000) != PODS * 1000:
        own["pods"] = node.resources["pods"] // 1000
    amounts.pop("pods", None)
    head: dict[str, Any] = {key: fields.pop(key) for key in ("accelerator", "count") if key in fields}
    return {**head, **own, **non_empty(resources=amounts), **fields}
