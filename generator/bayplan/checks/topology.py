"""Checks of pools: node names, the tree of levels, names and labels, NVLink partitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from bayplan.core.diagnostics import Diagnostic, Note, Route, error, warning
from bayplan.core.phrases import count, did_you_mean, listing
from bayplan.model.topology import HOST_LEVEL, HOSTNAME_LABEL, ClusterTopology, Level, Pool
from bayplan.schemas import LABEL_VALUE, are_dns_subdomains, is_dns_subdomain

# Node names must be unique and valid in Kubernetes. Names in `unusable` must be in a domain.

POOLS: Route = ("topology", "spec", "pools")


def check_nodes(topology: ClusterTopology) -> Iterator[Diagnostic]:
    """T401, T412, T421, T425."""
    yield from _twice(topology)
    for index, pool in enumerate(topology.pools):
        route: Route = (*POOLS, index)
        if not any(domain.nodes for domain in pool.domains):
            hint = "list its nodes in `domains`, or remove the pool"
            yield warning("T425", (*route, "domains"), f'pool "{pool.name}" has no nodes', hint=hint)
        yield from _spelling(pool, route)
        yield from _unusable(pool, route)


def _twice(topology: ClusterTopology) -> Iterator[Diagnostic]:
    places = [
        ((*POOLS, p, "domains", d, "nodes"), domain.nodes)
        for p, pool in enumerate(topology.pools)
        for d, domain in enumerate(pool.domains)
    ]
    names = [name for _, nodes in places for name in nodes]
    if len(set(names)) == len(names):
        return
    first: dict[str, Route] = {}
    for route, nodes in places:
        again: dict[Route, list[str]] = {}
        for name in nodes:
            if name in first:
                again.setdefault(first[name], []).append(name)
            first.setdefault(name, route)
        for other, twice in again.items():
            where = "twice in this list" if other == route else "in two domains"
            message = f"{_nodes(twice)} {where}; a node has exactly one place"
            notes = () if other == route else (Note("also here", other),)
            yield error("T401", route, message, hint="remove it from one of them", notes=notes)


def _nodes(names: list[str]) -> str:
    verb = "node {} is" if len(names) == 1 else "nodes {} are"
    return verb.format(listing(names, "and", most=5))


def _spelling(pool: Pool, route: Route) -> Iterator[Diagnostic]:
    """Node names are DNS subdomains (Kubernetes pkg/apis/core/validation: ValidateNodeName)."""
    if are_dns_subdomains([name for domain in pool.domains for name in domain.nodes]):
        return
    for index, domain in enumerate(pool.domains):
        bad = [name for name in domain.nodes if not is_dns_subdomain(name)]
        if bad:
            message = f"{listing([name[:80] for name in bad], 'and', most=3)} cannot be the name of a Kubernetes node"
            hint = "use the names that `kubectl get nodes` prints, with lower-case letters, digits, dashes and dots"
            yield error("T412", (*route, "domains", index, "nodes"), message, hint=hint)


def _unusable(pool: Pool, route: Route) -> Iterator[Diagnostic]:
    if not pool.unusable:
        return
    nodes = {name for domain in pool.domains for name in domain.nodes}
    reasons: dict[str, str] = {}
    for reason, names in pool.unusable.items():
        here: Route = (*route, "unusable", reason)
        unknown = [name for name in names if name not in nodes]
        if unknown:
            message = f'{_nodes(unknown)} not in any domain of pool "{pool.name}"'
            yield error("T421", here, message, hint=did_you_mean(unknown[0], nodes) or "correct the names")
        twice = [name for name in names if reasons.setdefault(name, reason) != reason]
        if twice:
            message = f'{_nodes(twice)} both "{reasons[twice[0]]}" and "{reason}"'
            yield warning("T401", here, message, hint="list a node under one reason only")


def check_tree(topology: ClusterTopology) -> Iterator[Diagnostic]:
    """T414. If there is none, T401, T405 and T404."""
    for index, pool in enumerate(topology.pools):
        route: Route = (*POOLS, index)
        wrong = tuple(_lengths(pool, route))
        yield from wrong
        if not wrong:
            yield from _same_path(pool, route)
            yield from _order(pool, route)
            for depth, level in enumerate(pool.levels):
                yield from _parents(pool, route, level, depth)
            if pool.levels and len(pool.domains) > 1 and all(len(domain.nodes) == 1 for domain in pool.domains):
                message = f'every "{pool.levels[-1].name}" of pool "{pool.name}" has only one node'
                hint = (
                    'remove the level and its part of each path, and join rows of equal paths; "host" is always a level'
                )
                yield warning("T404", (*route, "levels", len(pool.levels) - 1), message, hint=hint)


def _lengths(pool: Pool, route: Route) -> Iterator[Diagnostic]:
    names = "/".join(level.name for level in pool.levels)
    for index, domain in enumerate(pool.domains):
        if len(domain.path) != len(pool.levels):
            parts = count(len(domain.path), "part")
            actual = f'path "{"/".join(domain.path)}" has {parts}' if domain.path else "the domain has no path"
            message = f'{actual}, but pool "{pool.name}" has {count(len(pool.levels), "level")}'
            hint = f"write a value for each level, in order: {names}" if names else "remove it: the pool has no levels"
            place: Route = (*route, "domains", index)
            yield error("T414", (*place, "path") if domain.path else place, message, hint=hint)


def _same_path(pool: Pool, route: Route) -> Iterator[Diagnostic]:
    first: dict[tuple[str, ...], int] = {}
    for index, domain in enumerate(pool.domains):
        if first.setdefault(domain.path, index) != index:
            what = (
                f'the domain "{"/".join(domain.path)}"' if domain.path else "the only domain of a pool without levels"
            )
            message = f"{what} has two entries"
            notes = (Note("the first is here", (*route, "domains", first[domain.path])),)
            yield error(
                "T401", (*route, "domains", index), message, hint="list all its nodes in one entry", notes=notes
            )


def _order(pool: Pool, route: Route) -> Iterator[Diagnostic]:
    """T405 compares the numbers of values, not of paths: there are more paths further down in any order of levels."""
    counts = [len({domain.path[depth] for domain in pool.domains}) for depth in range(len(pool.levels))]
    for depth in range(1, len(counts)):
        coarse, fine = pool.levels[depth - 1], pool.levels[depth]
        if counts[depth] < counts[depth - 1] and fine.unique == coarse.unique == "global":
            message = f'level "{fine.name}" has {count(counts[depth], "domain")}'
            message += f', fewer than the level "{coarse.name}" above it with {counts[depth - 1]}'
            hint = "list levels from coarse to fine; set `unique: parent` on a level whose values repeat"
            yield error("T405", (*route, "levels", depth), message, hint=hint)


def _parents(pool: Pool, route: Route, level: Level, depth: int) -> Iterator[Diagnostic]:
    if level.unique == "parent":
        return
    first: dict[str, int] = {}
    reported: set[tuple[str, ...]] = set()
    for index, domain in enumerate(pool.domains):
        here, other = (
            domain.path[: depth + 1],
            pool.domains[first.setdefault(domain.path[depth], index)].path[: depth + 1],
        )
        if here != other and here not in reported:
            reported.add(here)
            message = f'{level.name} "{here[-1]}" is in "{"/".join(here[:-1])}" and in "{"/".join(other[:-1])}"'
            notes = (Note("the other domain", (*route, "domains", first[here[-1]], "path")),)
            hint = f'correct one of them, or set `unique: parent` on the level "{level.name}" if its values repeat'
            yield error("T401", (*route, "domains", index, "path"), message, hint=hint, notes=notes)


# Names and labels of pools and levels.

LONGEST = 63
"""The most characters of a label value, and of a label key after its slash (apimachinery pkg/util/validation)."""


def check_labels(topology: ClusterTopology) -> Iterator[Diagnostic]:
    """T412, T413, T401, T405."""
    names = [pool.name for pool in topology.pools]
    yield from duplicates(names, POOLS, "name", "T401", "two pools have the name", RENAME)
    for index, pool in enumerate(topology.pools):
        route: Route = (*POOLS, index, "levels")
        for key, what in (("name", "two levels have the name"), ("label", "two levels have the label")):
            yield from duplicates([getattr(level, key) for level in pool.levels], route, key, "T401", what, RENAME)
        yield from _reserved(pool, route)
        yield from _keys(pool, route)
        yield from _values(pool, (*POOLS, index, "domains"))
        yield from _tolerations(pool, (*POOLS, index, "node", "tolerations"))
    yield from _dots(topology)


RENAME = "change one of them"


def duplicates(
    values: Iterable[str], route: Route, key: str, code: str, what: str, hint: str, note: str = "the first is here"
) -> Iterator[Diagnostic]:
    """An error for each value that an earlier entry of the list at `route` has under the same `key`."""
    first: dict[str, int] = {}
    for index, value in enumerate(values):
        if value and first.setdefault(value, index) != index:
            notes = (Note(note, (*route, first[value], key)),)
            yield error(code, (*route, index, key), f'{what} "{value}"', hint=hint, notes=notes)


def _reserved(pool: Pool, route: Route) -> Iterator[Diagnostic]:
    for index, level in enumerate(pool.levels):
        for key, value, own in (("name", level.name, HOST_LEVEL), ("label", level.label, HOSTNAME_LABEL)):
            if value == own:
                message = f'"{own}" is reserved for the level of single nodes, which every pool has'
                yield error("T405", (*route, index, key), message, hint="remove the level and its part of each path")


def _keys(pool: Pool, route: Route) -> Iterator[Diagnostic]:
    for index, level in enumerate(pool.levels):
        prefix, slash, name = level.label.rpartition("/")
        if not (_is_value(name) and (not slash or is_dns_subdomain(prefix))):
            hint = "write it like `topology.kubernetes.io/zone`, with at most 63 characters after the slash"
            yield error("T412", (*route, index, "label"), f'"{level.label[:80]}" cannot be a label key', hint=hint)


def _is_value(text: str) -> bool:
    return LABEL_VALUE.search(text) and len(text) <= LONGEST


def _values(pool: Pool, route: Route) -> Iterator[Diagnostic]:
    for index, domain in enumerate(pool.domains):
        bad = [value for value in domain.path if not _is_value(value)]
        if bad:
            message = f'"{bad[0][:80]}" cannot be a label value' if bad[0] else "a part of the path is empty"
            hint = "use at most 63 letters, digits, dashes, dots and underscores, with a letter or digit at both ends"
            yield error("T412", (*route, index, "path"), message, hint=hint)


def _tolerations(pool: Pool, route: Route) -> Iterator[Diagnostic]:
    """Pods with such a toleration are refused (Kubernetes 1.37, pkg/apis/core/validation, ValidateTolerations)."""
    for index, each in enumerate(pool.node.tolerations):
        here = (*route, index)
        exists = each.get("operator") == "Exists"
        if exists and each.get("value"):
            message = "a toleration with `operator: Exists` has a `value`; it tolerates every value of the taint"
            yield error("T412", (*here, "value"), message, hint="remove `value`, or set `operator: Equal`")
        if not exists and not each.get("key"):
            message = "a toleration of every taint has no `key`, and needs `operator: Exists`"
            yield error("T412", here, message, hint="set `operator: Exists`, or add a `key`")
        if "tolerationSeconds" in each and each.get("effect") != "NoExecute":
            message = "`tolerationSeconds` is only for taints with the effect NoExecute, which evict pods"
            hint = "set `effect: NoExecute`, or remove `tolerationSeconds`"
            yield error("T412", (*here, "tolerationSeconds"), message, hint=hint)


def _dots(topology: ClusterTopology) -> Iterator[Diagnostic]:
    """KAI identifies a domain by its label values joined with dots (KAI pkg/scheduler/plugins/topology)."""
    by_kai = topology.defaults.get("scheduler") == "kai" or "kai" in (*topology.schedulers, *topology.versions)
    report = error if by_kai else warning
    first: dict[tuple[tuple[str, ...], str], tuple[tuple[str, ...], Route]] = {}
    for p, pool in enumerate(topology.pools):
        if not any("." in part for domain in pool.domains for part in domain.path):
            continue
        labels = tuple(level.label for level in pool.levels)
        for d, domain in enumerate(pool.domains):
            for depth in range(1, len(domain.path) + 1):
                path, route = domain.path[:depth], (*POOLS, p, "domains", d, "path")
                other, place = first.setdefault((labels[:depth], ".".join(path)), (path, route))
                if other != path:
                    message = (
                        f'KAI cannot tell "{"/".join(path)}" from "{"/".join(other)}": it joins label values with dots'
                    )
                    notes = (Note("the other domain", place),)
                    yield report("T413", route, message, hint="use label values without dots", notes=notes)


# NVLink partitions, compared with the level marked `nvlink` and with known hardware.

LARGEST_NODES = 18
LARGEST_CARDS = 72
CARDS: Mapping[str, int] = {"gb200": 4, "gb300": 4}
"""Accelerators of the NVL72 rack (18 compute trays of 4 GPUs, each tray a node) -> GPUs of a node."""


def check_nvlink(topology: ClusterTopology) -> Iterator[Diagnostic]:
    """T406, T409."""
    for index, pool in enumerate(topology.pools):
        route: Route = (*POOLS, index)
        depth = next((depth for depth, level in enumerate(pool.levels) if level.nvlink), None)
        if depth is not None and all(len(domain.path) == len(pool.levels) for domain in pool.domains):
            yield from _partitions(pool, route, depth)
            yield from _sizes(pool, route, depth)
        family = pool.node.accelerator.split("-")[0]
        if pool.node.accelerators and CARDS.get(family, pool.node.accelerators) != pool.node.accelerators:
            message = f"a {family} node has {CARDS[family]} GPUs, not {pool.node.accelerators}"
            yield warning("T409", (*route, "node", "count"), message, hint="set the number of GPUs of one compute tray")


def _partitions(pool: Pool, route: Route, depth: int) -> Iterator[Diagnostic]:
    of_domain: dict[tuple[str, ...], int] = {}
    of_partition: dict[str, int] = {}
    name = pool.levels[depth].name
    for index, domain in enumerate(pool.domains):
        if not domain.nvlink_domain:
            continue
        path, here = domain.path[: depth + 1], (*route, "domains", index, "nvlinkDomain")
        other = pool.domains[of_domain.setdefault(path, index)].nvlink_domain
        if other != domain.nvlink_domain:
            message = f'{name} "{path[-1]}" has two NVLink partitions, "{other}" and "{domain.nvlink_domain}"'
            notes = (Note("the other partition", (*route, "domains", of_domain[path], "nvlinkDomain")),)
            hint = "set `nvlink` on the level of the partitions instead of this one"
            yield error("T406", here, message, hint=hint, notes=notes)
        twin = of_partition.setdefault(domain.nvlink_domain, index)
        if pool.domains[twin].path[: depth + 1] != path:
            message = f'the NVLink partition "{domain.nvlink_domain}" is in two domains of the level "{name}"'
            notes = (Note("the other domain", (*route, "domains", twin, "nvlinkDomain")),)
            hint = "correct one `nvlinkDomain`: a partition is one rack or a part of one"
            yield error("T406", here, message, hint=hint, notes=notes)


def domain_sizes(pool: Pool, depth: int) -> Counter[tuple[str, ...]]:
    """Path down to the level of that depth -> how many nodes the domain has."""
    sizes: Counter[tuple[str, ...]] = Counter()
    for domain in pool.domains:
        sizes[domain.path[: depth + 1]] += len(domain.nodes)
    return sizes


def _sizes(pool: Pool, route: Route, depth: int) -> Iterator[Diagnostic]:
    if pool.node.accelerator.split("-")[0] not in CARDS:
        return
    path, most = max(domain_sizes(pool, depth).items(), key=lambda item: item[1], default=((), 0))
    if most > LARGEST_NODES or most * pool.node.accelerators > LARGEST_CARDS:
        message = (
            f'{pool.levels[depth].name} "{path[-1]}" has {most} nodes with {most * pool.node.accelerators} GPUs; an'
            f" NVLink partition of {pool.node.accelerator} has at most {LARGEST_NODES} nodes and {LARGEST_CARDS} GPUs"
        )
        hint = "correct the nodes of the domain, or set `nvlink` on the level whose domains are NVLink partitions"
        yield warning("T409", (*route, "levels", depth), message, hint=hint)
