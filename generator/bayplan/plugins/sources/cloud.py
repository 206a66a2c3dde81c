"""JSON answers of clouds with the place of each instance in the network. One row for each cloud.

AWS `describe-instance-topology`, Google Cloud `instances list` (`resourceStatus.physicalHostTopology`), OCI compute
hosts, Nebius instances and Lambda's `/topology/instance`. They know instances. `spec.providerID` of a node has its
instance, so the node list is another source of the same import.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from bayplan.plugin import (
    LABEL_VALUES,
    Diagnostic,
    Level,
    Note,
    Outcome,
    Part,
    ReadOptions,
    Route,
    SourceFile,
    SourceNode,
    count,
    error,
    get,
    grouping,
    has_errors,
    info,
    items,
    mapping,
    placeholder,
    text,
    warning,
)


class Cloud(NamedTuple):
    """How a cloud lists its instances and their switches. Labels are the cloud's labels on Kubernetes nodes.

    Keys are dotted paths. A field can have several, separated by blanks, and the first one with a value wins: clouds
    use camelCase, snake_case and kebab-case. The place of an instance is in `levels`, or in a list of switches at
    `path`.
    """

    name: str
    words: tuple[str, ...]  # every answer has one of them
    lists: tuple[str, ...]  # keys with lists of instances; `*` is any key, and empty is the answer itself
    id: str
    is_instance: Callable[[Any], bool]
    more: str  # keys of an answer that has further pages
    host: str = ""  # key of the name of a machine without an instance, which has no place
    aliases: str = ""
    levels: tuple[tuple[Level, str], ...] = ()  # each with its key, coarse to fine
    path: str = ""
    element: str = ""  # the key in each entry of `path`; empty if entries are strings
    leaf_first: bool = False
    tier: Level = Level("", "")  # name and label of the levels of `path`, without their number
    numbers: Callable[[int], range] = lambda depth: range(1, depth + 1)
    nvlink: tuple[Level, tuple[str, ...]] | None = None  # the finest level, and the keys of its value
    nvlink_alone: bool = False  # an instance can have an NVLink domain without switches
    reason: Callable[[Any], str] = lambda each: ""  # why an instance is unusable
    nodes: bool = False  # instances have the names of their nodes
    together: bool = False  # if one entry is an instance, all are


CLOUDS = (
    Cloud(
        *("aws", ('"NetworkNodes"',), ("Instances",), "InstanceId"),
        is_instance=lambda each: "NetworkNodes" in mapping(each),
        more="NextToken",
        path="NetworkNodes",
        tier=Level("layer-", "topology.k8s.aws/network-node-layer-"),
    ),
    Cloud(
        *("gcp", ('"physicalHostTopology"',), ("", "items.*.instances", "items"), "name"),
        is_instance=lambda each: bool(mapping(each, "resourceStatus", "physicalHostTopology")),
        together=True,
        more="nextPageToken",
        aliases="id",
        levels=(
            (placeholder("cluster"), "resourceStatus.physicalHostTopology.cluster"),
            (Level("block", "cloud.google.com/gce-topology-block"), "resourceStatus.physicalHostTopology.block"),
            (
                Level("subblock", "cloud.google.com/gce-topology-subblock"),
                "resourceStatus.physicalHostTopology.subblock",
            ),
        ),
        reason=lambda each: "" if value(each, "status") in ("", "RUNNING") else "notReady",
        nodes=True,
    ),
    Cloud(
        *("oci", ("ocalBlockId", "local-block-id"), ("items", "data.items"), "instanceId instance-id"),
        is_instance=lambda each: bool(value(each, "hpcIslandId hpc-island-id localBlockId local-block-id")),
        more="opc-next-page opcNextPage",
        host="id",
        levels=(
            (placeholder("island"), "hpcIslandId hpc-island-id"),
            (placeholder("network-block"), "networkBlockId network-block-id"),
            (placeholder("local-block"), "localBlockId local-block-id"),
            (placeholder("gpu-memory-fabric", nvlink=True), "gpuMemoryFabricId gpu-memory-fabric-id"),
        ),
        reason=lambda each: "unhealthy" if value(each, "health").upper() == "UNHEALTHY" else "",
    ),
    Cloud(
        *("nebius", ("infinibandTopologyPath", "infiniband_topology_path"), ("items",), "metadata.id"),
        is_instance=lambda each: bool(mapping(each, "status")),
        more="nextPageToken next_page_token",
        aliases="metadata.name",
        path="status.infinibandTopologyPath.path status.infiniband_topology_path.path",
        tier=Level("tier-", "topology.nebius.com/tier-"),
        numbers=lambda depth: range(depth, 0, -1),
        nvlink=(
            Level("tier-0", "topology.nebius.com/tier-0", nvlink=True),
            ("spec.nvlInstanceGroupId spec.nvl_instance_group_id",),
        ),
    ),
    Cloud(
        *("lambda", ("networkPath", "network_path"), ("data",), "id"),
        is_instance=lambda each: (
            bool(items(each, "networkPath") or items(each, "network_path")) or "nvlink" in mapping(each)
        ),
        more="page_token pageToken",
        path="networkPath network_path",
        element="id",
        leaf_first=True,
        tier=placeholder("switch-"),
        numbers=lambda depth: range(depth - 1, -1, -1),
        # several cliques of one NVLink domain cannot reach each other
        nvlink=(
            placeholder("nvlink", nvlink=True),
            ("nvlink.domain_id nvlink.domainId", "nvlink.clique_id nvlink.cliqueId"),
        ),
        nvlink_alone=True,
    ),
)
"""In the order of detection."""


class Entry(NamedTuple):
    """One instance. Without `name` it is not an instance; without `path` the cloud does not give its place."""

    route: Route
    name: str
    path: tuple[str, ...] = ()
    levels: tuple[Level, ...] = ()
    aliases: tuple[str, ...] = ()
    reason: str = ""


def value(data: Any, keys: str) -> str:
    """The first string or number at one of the keys."""
    return next((content for key in keys.split() if (content := grouping.text_of(get(data, *key.split("."))))), "")


def entries(cloud: Cloud, data: Any) -> Iterator[Entry]:
    """The instances of an answer; none if it is from another cloud."""
    walk = [pair for where in cloud.lists for pair in _listed(data, where.split(".") if where else [])]
    if cloud.together and not any(cloud.is_instance(each) for _, each in walk):
        return
    for route, each in walk:
        if cloud.together or cloud.is_instance(each):
            name = value(each, cloud.id)
            path, levels = _place(cloud, each) if name or not cloud.host else ((), ())
            aliases = tuple(filter(None, (value(each, cloud.aliases),)))
            yield Entry(route, name or value(each, cloud.host), path, levels, aliases, cloud.reason(each))


def _listed(data: Any, keys: Sequence[str], route: Route = ()) -> Iterator[tuple[Route, Any]]:
    if not keys:
        yield from (((*route, number), each) for number, each in enumerate(items(data)))
    elif keys[0] == "*":
        for key, held in mapping(data).items():
            yield from _listed(held, keys[1:], (*route, key))
    else:
        yield from _listed(get(data, keys[0]), keys[1:], (*route, keys[0]))


def _place(cloud: Cloud, data: Any) -> tuple[tuple[str, ...], tuple[Level, ...]]:
    """The place of an instance, coarse to fine. OCIDs (`ocid1.networkblock.oc1.iad.<id>`) become their IDs."""
    places = [(level, value(data, key)) for level, key in cloud.levels]
    if cloud.path:
        listed = next((held for key in cloud.path.split() if (held := items(data, *key.split(".")))), ())
        values = [value(each, cloud.element) if cloud.element else text(each) for each in listed]
        if not all(values) and cloud.element:
            return (), ()
        switches = [each for each in (reversed(values) if cloud.leaf_first else values) if each]
        name, label = cloud.tier.name, cloud.tier.label
        tiers = (cloud.tier._replace(name=f"{name}{n}", label=f"{label}{n}") for n in cloud.numbers(len(switches)))
        places = list(zip(tiers, switches, strict=True))
    if cloud.nvlink and (places or cloud.nvlink_alone):
        level, keys = cloud.nvlink
        first, *rest = (value(data, each) for each in keys)
        places.append((level, ".".join((first, *filter(None, rest))) if first else ""))
    places = [(level, each) for level, each in places if each]
    path = tuple(each.rpartition(".")[2] if each.startswith("ocid1.") else each for _, each in places)
    return path, tuple(level for level, _ in places)


MOST_REPORTED = 20
"""Entries of one kind that bayplan reports one by one."""


def sniff(source: SourceFile) -> bool:
    """Whether the file is JSON of one of the clouds in which instances have a place in a network."""
    head = source.head
    words = any(word in head for cloud in CLOUDS for word in cloud.words)
    return head.lstrip()[:1] in ("{", "[") and words and bool(_of(source))


def _of(source: SourceFile) -> Cloud | None:
    data = source.documents[0].data if source.documents else None
    return next((each for each in CLOUDS if any(True for _ in entries(each, data))), None)


def new(source: SourceFile, options: ReadOptions) -> Outcome[Part]:
    """The instances in pools, one for each list of levels."""
    cloud = _of(source)
    if cloud is None:
        message = "the file has no instances with a place in a network"
        return Outcome(None, (error("T530", source.at(), message, hint=HINT),))
    issues: list[Diagnostic] = []
    data = source.documents[0].data
    listed = [each._replace(route=(*source.at(), *each.route)) for each in entries(cloud, data)]
    issues += [*_goes_on(cloud, data, source.at()), *_broken(listed), *_twice(listed), *_placeless(listed)]
    placed = list({each.name: each for each in listed if each.name and each.path}.values())
    nodes, crossed = grouping.nested([_source_node(each) for each in placed], source.at())
    issues += [*crossed, *_changed(placed), *(() if options.nodes else _named(cloud, placed, source.at()))]
    if has_errors(issues) or not placed:
        return Outcome(None, tuple(issues))
    part = grouping.part(cloud.name, grouping.in_order(nodes), source, options)
    aliases = {alias: each.name for each in placed for alias in each.aliases if alias != each.name}
    return Outcome(part._replace(aliases=aliases), tuple(issues))


HINT = "use the complete JSON answer of AWS, Google Cloud, OCI, Nebius or Lambda"


def _source_node(entry: Entry) -> SourceNode:
    path = tuple(grouping.value(each) or "none" for each in entry.path)
    return SourceNode(entry.name, entry.route, levels=entry.levels, path=path, reason=entry.reason)


def _goes_on(cloud: Cloud, data: Any, at: Route) -> Iterator[Diagnostic]:
    for key in cloud.more.split():
        if get(data, key):
            message = f"the answer is only one page of a longer list: it has `{key}`"
            yield error("T529", (*at, key), message, hint="request all pages, and give them as one list")


def _broken(entries: Sequence[Entry]) -> Iterator[Diagnostic]:
    wrong = [each for each in entries if not each.name]
    for each in wrong[:MOST_REPORTED]:
        yield error("T530", each.route, "this entry has no instance ID", hint=HINT)
    if len(wrong) > MOST_REPORTED:
        message = f"{len(wrong) - MOST_REPORTED} more entries have no instance ID"
        yield error("T530", wrong[MOST_REPORTED].route, message, hint=HINT)


def _twice(entries: Sequence[Entry]) -> Iterator[Diagnostic]:
    first: dict[str, Entry] = {}
    for each in entries:
        earlier = first.setdefault(each.name, each)
        if each.name and earlier is not each and (earlier.path, earlier.reason) != (each.path, each.reason):
            notes = (Note("the first one is here", earlier.route),)
            message = f'instance "{each.name}" is listed twice, in different places'
            yield error("T401", each.route, message, notes=notes, hint="remove the older entry")


def _placeless(entries: Sequence[Entry]) -> Iterator[Diagnostic]:
    without = [each for each in entries if each.name and not each.path]
    if without:
        counted = f"{len(without)} of {len(entries)}"
        message = f'left out {counted} instances without a place in the network, such as "{without[0].name}"'
        hint = "check that they run: clouds give the place only for running instances of some types"
        yield (warning if len(without) < len(entries) else error)("T557", without[0].route, message, hint=hint)


def _changed(placed: Sequence[Entry]) -> Iterator[Diagnostic]:
    """T536: values that are not valid label values, and values that become equal to others."""
    result: dict[str, str] = {}
    changed: dict[str, Entry] = {}
    for each in {each.path: each for each in placed}.values():
        for value in each.path:
            short = grouping.value(value) or "none"
            if result.setdefault(short, value) != value:
                message = f'"{result[short][:80]}" and "{value[:80]}" both become the label value "{short}"'
                yield error("T536", each.route, message, hint="rename one of them in the file")
            elif short != value:
                changed.setdefault(value, each)
    for value, each in list(changed.items())[:1]:
        message = f'changed {count(len(changed), "value")} to a valid label value, such as "{value[:80]}"'
        yield info("T536", each.route, message, hint=LABEL_VALUES)


def _named(cloud: Cloud, placed: Sequence[Entry], at: Route) -> Iterator[Diagnostic]:
    if placed and not cloud.nodes:
        message = f'nodes without another source have the names of their instances, such as "{placed[0].name}"'
        hint = "also import `kubectl get nodes -o json`, whose spec.providerID has the instance IDs"
        yield info("T537", at, message, hint=hint)
