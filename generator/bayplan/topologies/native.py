"""The native ClusterTopology format. Reading assumes that the schema accepted the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Outcome, Route, error
from bayplan.kube import quantity
from bayplan.model.encoding import ordered, text
from bayplan.model.formats import Asked, Context, Part, Read, SourceFile
from bayplan.model.topology import (
    AcceleratorKind,
    ClusterTopology,
    Domain,
    Fabric,
    Ipam,
    Level,
    Namespace,
    NodeShape,
    Pool,
    Rail,
)
from bayplan.topologies import hostlist

NAME = "native"
API_VERSION = "bayplan.dev/v1alpha1"
KIND = SCHEMA = "ClusterTopology"

PODS = 110
"""Pods that a kubelet takes unless it is told otherwise (kubernetes pkg/kubelet/apis/config/v1beta1/defaults.go)."""

OWN_KEYS = ("cpu", "memory", "pods")
"""Resources that are keys of a node; all others stand under its `resources`."""


# Tables that say which key of a document is which field of a value, read in both directions.

Row = tuple[str, str, Callable[[Any], Any]]
"""Key in the document, field of the value, and what makes the field of what stands under the key."""

Table = tuple[Row, ...]


def fields(table: Table, data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that the data gives."""
    return {field: make(data[key]) for key, field, make in table if key in data}


def keys(value: Any) -> dict[str, Any]:
    """The document of a NamedTuple: what is not its default, in the order of its table. `fields` gives it back."""
    defaults = type(value)._field_defaults
    given = ((key, getattr(value, field), defaults.get(field)) for key, field, _ in TABLES[type(value)])
    return {key: plain(here) for key, here, default in given if here != default}


def plain(value: Any) -> Any:
    """A value as JSON can hold it: NamedTuples by their tables, tuples as lists."""
    if type(value) in TABLES:
        return keys(value)
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    return value


def texts(value: Mapping[str, Any]) -> dict[str, str]:
    """Text for every value of a mapping."""
    return {key: text(each) for key, each in sorted(value.items())}


def sniff(data: Any) -> bool:
    """Whether the data claims to be one of our documents. Which one, the schema judges."""
    return isinstance(data, dict) and str(data.get("apiVersion", "")).startswith("bayplan.dev/")


def read(data: Any, _context: Context = Context()) -> Outcome[Read[ClusterTopology]]:  # noqa: B008
    """The topology, or every hostlist and quantity in it that cannot be read."""
    spec = data["spec"]
    found: list[Diagnostic] = []
    pools = tuple(_pool(each, ("topology", "spec", "pools", index), found) for index, each in enumerate(spec["pools"]))
    if found:
        return Outcome(None, tuple(found))
    return Outcome(Read(ClusterTopology(name=data["metadata"]["name"], pools=pools, **fields(SPEC, spec))))


def part(made: Outcome[dict[str, Any]], source: SourceFile, asked: Asked) -> Outcome[Part]:
    """A native document that a source was turned into, as its part of a cluster."""
    if made.value is None:
        return Outcome(None, made.diagnostics)
    read_again = read(made.value)
    found = (*made.diagnostics, *read_again.diagnostics)
    topology = read_again.value.value if read_again.value else None
    if topology is None:
        return Outcome(None, found)
    topology = topology._replace(pools=tuple(map(_repeating, topology.pools)))
    return Outcome(Part(planned(topology, asked.plan), source=source.name), found)


def _repeating(pool: Pool) -> Pool:
    """The pool with `unique: parent` on levels whose values repeat: such a source tells domains by its tree."""
    levels = []
    for depth, level in enumerate(pool.levels):
        paths = {domain.path[: depth + 1] for domain in pool.domains}
        twice = len({path[-1] for path in paths if path}) < len(paths)
        levels.append(level._replace(unique="parent") if twice else level)
    return pool._replace(levels=tuple(levels))


def planned(topology: ClusterTopology, plan: int) -> ClusterTopology:
    """The topology with `plan` nodes of each finest domain to be planned, where that is asked for."""
    if not plan:
        return topology
    return topology._replace(pools=tuple(_planned(pool, plan) for pool in topology.pools))


def _planned(pool: Pool, plan: int) -> Pool:
    *above, finest = pool.levels or (None,)
    return pool._replace(levels=(*above, finest._replace(plan=plan))) if finest else pool


def write(topology: ClusterTopology) -> dict[str, Any]:
    """The native document; `read(write(t))` gives t."""
    given = keys(topology)
    given["pools"] = [_pool_document(pool) for pool in topology.pools]
    for name, kind in given.get("accelerators", {}).items():
        if "allocator" in kind:
            kind["allocator"] = _one_or_list(topology.accelerators[name].allocators)
    spec = {key: given[key] for key in ORDER if key in given}
    return document(topology.name, spec)


def document(name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """A native document."""
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": spec}


def _pool(data: Any, route: Route, found: list[Diagnostic]) -> Pool:
    return Pool(
        name=data["name"],
        node=_node(data["node"], (*route, "node"), found),
        levels=tuple(Level(**fields(LEVEL, level)) for level in data.get("levels", ())),
        domains=tuple(_domains(data["domains"], (*route, "domains"), found)),
        unusable={
            reason: names
            for reason, nodes in sorted(data.get("unusable", {}).items())
            if (names := _expand(nodes, (*route, "unusable", reason), found))
        },
        template=ordered(data.get("template", {})),
    )


def _domains(data: list[Any], route: Route, found: list[Diagnostic]) -> Iterator[Domain]:
    for index, each in enumerate(data):
        path = each.get("path")
        values = tuple(path.split("/")) if path else ()
        nodes = _expand(each["nodes"], (*route, index, "nodes"), found)
        leaves = _expand(each["leaves"], (*route, index, "leaves"), found) if "leaves" in each else ()
        yield Domain(values, nodes, each.get("nvlinkDomain", ""), leaves)


def _expand(text: str, route: Route, found: list[Diagnostic]) -> tuple[str, ...]:
    try:
        return hostlist.expand(text)
    except ValueError as reason:
        hint = 'write it like "gb-n[01-18],login2"'
        found.append(error("T414", route, f"the hostlist cannot be read: {reason}", hint=hint))
        return ()


def _node(data: Any, route: Route, found: list[Diagnostic]) -> NodeShape:
    own = {key: ((*route, key), data[key]) for key in OWN_KEYS if key in data}
    more = {key: ((*route, "resources", key), value) for key, value in data.get("resources", {}).items()}
    for key in [key for key in more if key in OWN_KEYS]:
        message = f'the resource "{key}" has a key of its own'
        found.append(error("T426", more[key][0], message, hint=f'write "{key}" directly under "node"'))
    amounts = {"pods": ((*route, "pods"), PODS), **more, **own}
    resources = {key: _amount(value, place, found) for key, (place, value) in sorted(amounts.items())}
    return NodeShape(resources=resources, **fields(NODE, data))


def _amount(value: Any, route: Route, found: list[Diagnostic]) -> int:
    try:
        amount = quantity.parse(value if isinstance(value, str) else str(int(value)))
    except ValueError as reason:
        found.append(error("T426", route, str(reason), hint='write it like "140", "500m" or "900Gi"'))
        return 0
    if amount < 0:
        found.append(error("T426", route, f'"{value}" is less than nothing', hint="give what pods can use"))
    return amount


def _pool_document(pool: Pool) -> dict[str, Any]:
    document: dict[str, Any] = {"name": pool.name, "node": _node_document(pool.node)}
    if pool.template:
        document["template"] = plain(pool.template)
    if pool.levels:
        document["levels"] = [keys(level) for level in pool.levels]
    document["domains"] = [_domain_document(domain) for domain in pool.domains]
    if pool.unusable:
        document["unusable"] = {reason: hostlist.compress(names) for reason, names in pool.unusable.items()}
    return document


def _domain_document(domain: Domain) -> dict[str, Any]:
    document = {"path": "/".join(domain.path)} if domain.path else {}
    document["nodes"] = hostlist.compress(domain.nodes)
    if domain.nvlink_domain:
        document["nvlinkDomain"] = domain.nvlink_domain
    if domain.leaves:
        document["leaves"] = hostlist.compress(domain.leaves)
    return document


def _node_document(node: NodeShape) -> dict[str, Any]:
    given = keys(node)
    amounts = {name: quantity.show(amount) for name, amount in node.resources.items()}
    own: dict[str, Any] = {key: amounts.pop(key) for key in ("cpu", "memory") if key in amounts}
    if node.resources.get("pods", PODS * 1000) != PODS * 1000:
        own["pods"] = node.resources["pods"] // 1000
    amounts.pop("pods", None)
    if amounts:
        own["resources"] = amounts
    head: dict[str, Any] = {key: given.pop(key) for key in ("accelerator", "count") if key in given}
    return {**head, **own, **given}


def _allocators(data: Any) -> tuple[str, ...]:
    return (data,) if isinstance(data, str) else tuple(data)


def _zones(data: list[list[int]]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(int(card) for card in zone) for zone in data)


def _one_or_list(allocators: tuple[str, ...]) -> str | list[str]:
    return allocators[0] if len(allocators) == 1 else list(allocators)


def _tolerations(data: list[Any]) -> tuple[Any, ...]:
    return tuple(ordered(each) for each in data)


def _accelerators(data: Mapping[str, Any]) -> dict[str, AcceleratorKind]:
    return {name: AcceleratorKind(name=name, **fields(ACCELERATOR, each)) for name, each in sorted(data.items())}


def _namespaces(data: Mapping[str, Any]) -> dict[str, Namespace]:
    return {name: Namespace(name=name, **fields(NAMESPACE, each)) for name, each in sorted(data.items())}


def _fabrics(data: Mapping[str, Any]) -> dict[str, Fabric]:
    return {name: Fabric(name=name, **fields(FABRIC, each)) for name, each in sorted(data.items())}


def _rails(data: list[Any]) -> tuple[Rail, ...]:
    return tuple(Rail(**fields(RAIL, each)) for each in data)


def _ipam(data: Mapping[str, Any]) -> Ipam:
    return Ipam(**fields(IPAM, data))


def _same(make: Callable[[Any], Any], names: str) -> Table:
    """Rows of fields that are called like their keys: `per_node` stands under `perNode`."""
    return tuple((f"{name[0]}{name.title().replace('_', '')[1:]}", name, make) for name in names.split())


NODE: Table = (
    *_same(str, "accelerator"),
    ("count", "accelerators", int),
    *_same(ordered, "node_selector"),
    *_same(_tolerations, "tolerations"),
    *_same(tuple, "fabrics"),
)
LEVEL: Table = (
    *_same(str, "name label"),
    *_same(bool, "nvlink"),
    *_same(int, "plan"),
    *_same(str, "unique"),
    *_same(bool, "apply"),
)
ACCELERATOR: Table = (
    *_same(str, "vendor"),
    ("allocator", "allocators", _allocators),
    *_same(ordered, "resources"),
    *_same(str, "device_class profile"),
    *_same(text, "memory"),
    *_same(int, "max_pods"),
    *_same(_zones, "link_zones"),
    *_same(bool, "topology_annotated"),
)
RAIL: Table = (
    *_same(str, "network resource hca interface subnet gateway"),
    *_same(int, "gpu numa"),
    *_same(str, "device"),
    *_same(tuple, "selectors"),
)
IPAM: Table = (
    ("type", "kind", str),
    *_same(int, "per_node"),
    *_same(tuple, "exclude"),
    *_same(str, "range_start range_end namespace"),
)
FABRIC: Table = (
    *_same(str, "kind link_type attach"),
    *_same(_rails, "rails"),
    *_same(texts, "env"),
    *_same(_ipam, "ipam"),
    *_same(str, "memlock"),
    *_same(bool, "source_routing injector ipc_lock privileged"),
    *_same(str, "device_class"),
    *_same(text, "shm"),
    *_same(int, "mtu"),
    ("vendorIDs", "vendor_ids", tuple),
    ("deviceIDs", "device_ids", tuple),
    *_same(int, "shares"),
)
NAMESPACE: Table = _same(str, "pod_security primary_interface scc service_account")
SPEC: Table = (
    *_same(str, "read platform"),
    *_same(ordered, "versions defaults"),
    *_same(tuple, "queues"),
    *_same(ordered, "images schedulers"),
    *_same(_accelerators, "accelerators"),
    *_same(_fabrics, "fabrics"),
    *_same(_namespaces, "namespaces"),
)
ORDER = (*[key for key, _, _ in SPEC[:7]], "pools", *[key for key, _, _ in SPEC[7:]])
"""The keys of `spec` as they are written: the pools before what they refer to."""

TABLES: Mapping[type, Table] = {
    ClusterTopology: SPEC,
    NodeShape: NODE,
    Level: LEVEL,
    AcceleratorKind: ACCELERATOR,
    Namespace: NAMESPACE,
    Fabric: FABRIC,
    Rail: RAIL,
    Ipam: IPAM,
}
