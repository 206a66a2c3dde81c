"""Merges several sources of one cluster: each adds to the others, and contradictions are errors.

bayplan joins nodes by name, or by another name that a source has for them. Pools that share nodes are one pool
(`pools`). A pool without domains gives its levels, selectors and labels to the pool with its name. Fabrics, schedulers,
queues and versions are merged too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Outcome, error, has_errors, info, warning
from bayplan.model.formats import Part
from bayplan.model.target import order
from bayplan.model.topology import AcceleratorKind, Fabric, Ipam, NodeShape, Pool, Queue, Rail
from bayplan.topologies.alignment import relation
from bayplan.topologies.grouping import NAMELESS
from bayplan.topologies.kubernetes_nodes.software import several
from bayplan.topologies.merging import pools
from bayplan.topologies.unit_names import is_safe_name, known_units, unit_name

Issues = list[Diagnostic]


def merge_fabrics(one: Part, other: Part, issues: Issues) -> dict[str, Fabric]:
    """The fabrics of both: a launch kit knows RDMA devices, and the operator's objects know addresses.

    Two fabrics are equal if they are of one kind and have a network or device in common.
    """
    result = dict(one.topology.fabrics)
    for name, theirs in other.topology.fabrics.items():
        twin = next((each for each in result.values() if _same_fabric(each, theirs)), None)
        if twin is not None:
            result[twin.name] = _merged_fabric(twin, theirs, one, other, issues)
        else:
            free = _free_name(name, theirs.kind, result)
            result[free] = theirs._replace(name=free)
    return dict(sorted(result.items()))


def _same_fabric(one: Fabric, other: Fabric) -> bool:
    if one.kind != other.kind:
        return False
    if one.name == other.name and not (one.rails and other.rails):
        return True
    mine, theirs = (
        {(key, getattr(rail, key)) for rail in each.rails for key in ("network", "hca", "device") if getattr(rail, key)}
        for each in (one, other)
    )
    return bool(mine & theirs) or (one.name == other.name and len(one.rails) == len(other.rails))


def _free_name(name: str, kind: str, taken: Mapping[str, Fabric]) -> str:
    names = (name, kind, *(f"{kind}-{number}" for number in range(2, len(taken) + 3)))
    return next(each for each in names if each not in taken)


def _merged_fabric(one: Fabric, other: Fabric, first: Part, second: Part, issues: Issues) -> Fabric:
    def fields(mine: Any, theirs: Any, where: str) -> dict[str, Any]:
        defaults = type(mine)._field_defaults
        pairs = {key: (getattr(mine, key), getattr(theirs, key), default) for key, default in defaults.items()}
        return {key: _agreed(*pair, f"{key} of {where}", first, second, issues) for key, pair in pairs.items()}

    where = f"fabric {one.name}"
    result = fields(one._replace(rails=(), ipam=Ipam(), env={}), other._replace(rails=(), ipam=Ipam(), env={}), where)
    rails = tuple(
        mine if theirs is None else Rail(**fields(mine, theirs, f"rail {place} of {where}"))
        for place, (mine, theirs) in enumerate(_paired_rails(one, other))
    )
    ipam = Ipam(**fields(one.ipam, other.ipam, f"the addresses of {where}"))
    return one._replace(**{**result, "rails": rails, "ipam": ipam, "env": {**other.env, **one.env}})


def _paired_rails(one: Fabric, other: Fabric) -> list[tuple[Rail, Rail | None]]:
    """The rails of the first with the equal rails of the other, then the rails that only the other has.

    If one of them names no networks or devices, rails with equal positions are equal."""
    by_place = len(one.rails) == len(other.rails) and not all(
        any(rail.network for rail in each.rails) for each in (one, other)
    )
    result: list[tuple[Rail, Rail | None]] = []
    rest = list(other.rails)
    for place, rail in enumerate(one.rails):
        twin = next((each for each in rest if _same_rail(rail, each)), None)
        if twin is None and by_place and other.rails[place] in rest:
            twin = other.rails[place]
        if twin is not None:
            rest.remove(twin)
        result.append((rail, twin))
    return [*result, *((rail, None) for rail in rest)]


def _same_rail(one: Rail, other: Rail) -> bool:
    keys = ("network", "hca", "device")
    return any(getattr(one, key) and getattr(one, key) == getattr(other, key) for key in keys)


def _agreed(mine: Any, theirs: Any, nothing: Any, where: str, first: Part, second: Part, issues: Issues) -> Any:
    """The value of either source. T438 if both have different values."""
    if mine == nothing:
        return theirs
    if theirs not in (nothing, mine):
        message = f"{where} is {_shown(mine)} in {first.source}, and {_shown(theirs)} in {second.source}"
        issues.append(error("T438", (), message, hint="correct one of them, or leave one source out"))
    return mine


def _shown(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(list(value) if isinstance(value, tuple) else value)[:80]


# Keeps Slurm's names of blocks and switches if another source names the domains.
#
# Slurm saves each node with its unit, and does not start when that unit is missing (`Invalid node topology specified`,
# Slurm 25.05 to 25.11).


def without_units(schedulers: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The settings of schedulers without names of units, which follow the pools."""
    own = schedulers.get("slurm")
    if own is None:
        return dict(schedulers)
    pools = {name: {k: v for k, v in each.items() if k != "units"} for name, each in own.get("pools", {}).items()}
    kept = {key: value for key, value in own.items() if key not in ("units", "pools")}
    return {**schedulers, "slurm": {**kept, **({"pools": pools} if pools else {})}}


def with_units(
    schedulers: Mapping[str, Mapping[str, Any]], pools: Sequence[Pool], parts: Sequence[Part]
) -> dict[str, Mapping[str, Any]]:
    """The schedulers with the pools' names of units from all parts with Slurm."""
    units = {pool.name: {key: name for part in parts for key, name in unit_names(pool, part)} for pool in pools}
    units = {name: paths for name, paths in units.items() if paths}
    own = dict(schedulers.get("slurm", {}))
    if not units:
        return dict(schedulers)
    if len(pools) == 1:
        return {**schedulers, "slurm": {**own, "units": next(iter(units.values()))}}
    renamed_pools = {name: {**own.get("pools", {}).get(name, {}), "units": paths} for name, paths in units.items()}
    return {**schedulers, "slurm": {**own, "pools": {**own.get("pools", {}), **renamed_pools}}}


def unit_names(pool: Pool, part: Part) -> Iterator[tuple[str, str]]:
    """Path in the pool -> the unit of the part, if its name does not follow from the path."""
    if "slurm" not in part.topology.schedulers:
        return
    for old in part.topology.pools:
        places, known = {node: row.path for row in old.domains for node in row.nodes}, known_units(part.topology, old)
        firsts = ((row.path, next((places[node] for node in row.nodes if node in places), ())) for row in pool.domains)
        paired = Counter(each for each in firsts if each[1])
        for depth in range(len(pool.levels) if paired else 0):
            equal = [j for j in range(len(old.levels)) if relation(paired, depth, j).equal]
            named = [j for j in equal if old.levels[j].name == pool.levels[depth].name]
            there = (named or equal or [-1])[-1]
            for new, path in paired if there >= 0 else ():
                name = known.get("/".join(path[: there + 1])) or path[there]
                if unit_name(new[depth]) != name and is_safe_name(name):
                    yield "/".join(new[: depth + 1]), name


def depths_in(pool: Pool, part: Part) -> list[int]:
    """The depths of the pool's levels with the same domains as a level of the part; the finest of equal ones."""
    found: list[int] = []
    for old in part.topology.pools:
        places = {node: row.path for row in old.domains for node in row.nodes}
        firsts = ((row.path, next((places[node] for node in row.nodes if node in places), ())) for row in pool.domains)
        paired = Counter(each for each in firsts if each[1])
        for j in range(len(old.levels) if paired else 0):
            equal = [i for i in range(len(pool.levels)) if i not in found and relation(paired, i, j).equal]
            named = [i for i in equal if pool.levels[i].name == old.levels[j].name]
            found += (named or equal[-1:])[:1]
    return sorted(found)


OWN = ("images", "namespaces", "priority_classes", "data_movers", "data_store")
"""The parts must agree on these, on `versions` and on `schedulers`. For `defaults` the first part wins."""


def merge(parts: Sequence[Part]) -> Outcome[Part]:
    """The parts as one, earlier parts first. None if they contradict each other."""
    issues: list[Diagnostic] = []
    result = reduce(lambda one, other: _placed_merge(one, other, issues), _by_one_name(parts))
    result = _without_frames(result, issues)
    return Outcome(None if has_errors(issues) else result, tuple(issues))


def _by_one_name(parts: Sequence[Part]) -> Iterator[Part]:
    """The parts with the node names of all others, because a third source can join two."""
    for part in parts:
        yield reduce(_renamed, (other for other in parts if other is not part), part)


def _placed_merge(one: Part, other: Part, issues: list[Diagnostic]) -> Part:
    """Both parts as one. An error without a place gets that of its last note, or the beginning of the second part."""
    own: list[Diagnostic] = []
    result = _merged(one, other, own)
    for each in own:
        placed = [note for note in each.notes if note.route]
        if each.severity == "error" and not each.route:
            kept = tuple(note for note in each.notes if note not in placed[-1:])
            each = each._replace(route=placed[-1].route if placed else other.at, notes=kept)
        issues.append(each)
    return result


def _merged(one: Part, other: Part, issues: list[Diagnostic]) -> Part:
    one, other = _renamed(one, other), _renamed(other, one)
    pools = tuple(_pools(one, other, issues))
    first, second = one.topology, other.topology
    own = {key: _agreed_settings(getattr(first, key), getattr(second, key), (key,), one, other, issues) for key in OWN}
    own["versions"] = _agreed_versions(one, other, issues)
    declared = [without_units(each.schedulers) for each in (first, second)]
    schedulers = _agreed_settings(declared[0], declared[1], ("schedulers",), one, other, issues)
    queues = _queues(first.queues, second.queues)
    defaults = dict(sorted({**second.defaults, **first.defaults}.items()))
    used = {pool.node.accelerator for pool in pools}
    kinds = _accelerators(first.accelerators, second.accelerators)
    kinds = {name: kind for name, kind in kinds.items() if name in used or name != NAMELESS}
    topology = first._replace(pools=pools, queues=queues, defaults=defaults, accelerators=kinds, **own)
    topology = topology._replace(fabrics=merge_fabrics(one, other, issues))
    topology = topology._replace(schedulers=with_units(schedulers, pools, (one, other)))
    return Part(
        topology,
        {**other.places, **one.places},
        {**other.aliases, **one.aliases},
        {**other.labels, **one.labels},
        f"{one.source} and {other.source}" if other.topology.pools else one.source,
    )


def _queues(first: tuple[Queue, ...] | None, second: tuple[Queue, ...] | None) -> tuple[Queue, ...] | None:
    """The queues of both. A name without numbers and parent adds nothing to a queue of the other file."""
    if first is None or second is None:
        return second if first is None else first
    bare = {each.name for each in second if each != Queue(each.name)}
    kept = [each for each in first if each != Queue(each.name) or each.name not in bare]
    names = {each.name for each in kept}
    return (*kept, *(each for each in second if each.name not in names))


def _agreed_versions(one: Part, other: Part, issues: list[Diagnostic]) -> dict[str, str]:
    """The versions of both: the more exact one, and the lowest Kubernetes, which is that of a list of nodes (T593)."""
    versions = [dict(one.topology.versions), dict(other.topology.versions)]
    for name in versions[0].keys() & versions[1].keys():
        low, high = sorted((each[name] for each in versions), key=lambda version: (order(name, version), len(version)))
        if f"{high}.".startswith(f"{low}."):
            versions[0][name] = versions[1][name] = high
        elif name == "kubernetes":
            issues.append(several(name, (low, high), ()))
            versions[0][name] = versions[1][name] = low
    return dict(sorted(_agreed_settings(versions[0], versions[1], ("versions",), one, other, issues).items()))


def _accelerators(
    one: Mapping[str, AcceleratorKind], other: Mapping[str, AcceleratorKind]
) -> dict[str, AcceleratorKind]:
    """The kinds of both. A kind in both has the allocators of both."""
    result = {**other, **one}
    for name in one.keys() & other.keys():
        mine, theirs = one[name], other[name]
        annotated = mine.topology_annotated
        either = ("device_class", "profile", "memory", "max_pods", "link_zones")
        result[name] = mine._replace(
            allocators=tuple(dict.fromkeys((*mine.allocators, *theirs.allocators))),
            resources={**theirs.resources, **mine.resources},
            topology_annotated=theirs.topology_annotated if annotated is None else annotated,
            **{field: getattr(mine, field) or getattr(theirs, field) for field in either},
        )
    return dict(sorted(result.items()))


def _renamed(part: Part, other: Part) -> Part:
    """The part with the other part's names of its nodes."""
    aliases = other.aliases
    if not aliases or not any(node in aliases for pool in part.topology.pools for node in pool.nodes()):
        return part
    own = {node for pool in other.topology.pools for node in pool.nodes()}
    names = {alias: name for alias, name in aliases.items() if alias not in own}
    pools = tuple(pool.renamed(names) for pool in part.topology.pools)
    places = {names.get(node, node): place for node, place in part.places.items()}
    return part._replace(topology=part.topology._replace(pools=pools), places=places)


def _pools(one: Part, other: Part, issues: list[Diagnostic]) -> Iterator[Pool]:
    """The pools of both: pools without domains merge by name, and pools that share nodes merge."""
    mine, theirs = list(one.topology.pools), list(other.topology.pools)
    empty = {pool.name: pool for pool in mine if not pool.domains}
    news = {pool.name: pool for pool in theirs if not pool.domains}
    full, fresh = [pool for pool in mine if pool.domains], [pool for pool in theirs if pool.domains]
    result = list(pools.merge_pools(full, fresh, one, other, issues)) if full and fresh else [*full, *fresh]
    framed = [_framed(pool, empty.get(pool.name) or news.get(pool.name), issues) for pool in result]
    names = {pool.name for pool in result}
    yield from framed
    yield from (pool for pool in (*empty.values(), *news.values()) if pool.name not in names)


def _framed(pool: Pool, frame: Pool | None, issues: list[Diagnostic]) -> Pool:
    """The pool with the selector, tolerations, template and data movers of a pool without domains."""
    if frame is None:
        return pool
    node = pools.merge_shapes(pool.node, frame.node, f'pool "{pool.name}"', (), issues)
    return pool._replace(node=node, **pools.settings(frame, pool))


def _without_frames(result: Part, issues: list[Diagnostic]) -> Part:
    """T437: pools without nodes, if other pools have nodes."""
    pools = result.topology.pools
    full = [pool for pool in pools if pool.domains]
    for pool in pools if full else ():
        if not pool.domains and pool != WITHOUT_NODES:
            issues.append(_left_out(pool, full))
    if not full:
        return result
    queues = _requoted(result.topology.queues, {pool.name: _twin(pool, full) for pool in pools if not pool.domains})
    return result._replace(topology=result.topology._replace(pools=tuple(full), queues=queues))


def _requoted(queues: tuple[Queue, ...] | None, twins: Mapping[str, str]) -> tuple[Queue, ...] | None:
    """The queues with the quotas of pools that are left out on their twins, if each of these has only one."""
    clear = {name: twin for name, twin in twins.items() if twin and list(twins.values()).count(twin) == 1}

    def moved(queue: Queue) -> Queue:
        kept = (each for each in queue.quotas if each.pool not in twins or each.pool in clear)
        return queue._replace(quotas=tuple(each._replace(pool=clear.get(each.pool, each.pool)) for each in kept))

    return queues and tuple(map(moved, queues))


WITHOUT_NODES = Pool("nodes", NodeShape())
"""The pool of a source without nodes."""


def _twin(pool: Pool, full: Sequence[Pool]) -> str:
    """The first pool with nodes that has the same levels; empty if none has."""
    labels = [level.label for level in pool.levels]
    return next((each.name for each in full if labels and [level.label for level in each.levels] == labels), "")


def _left_out(pool: Pool, full: Sequence[Pool]) -> Diagnostic:
    if twin := _twin(pool, full):
        message = f'left out pool "{pool.name}" without nodes, whose levels are those of pool "{twin}"'
        return info("T437", (), message, hint="no action needed: two sources describe the same levels")
    if pool.node.node_selector:
        message = f'left out pool "{pool.name}": no node of the sources matches it'
        return warning("T437", (), message, hint="compare the node selector of the pool with the labels of the nodes")
    message = f'left out pool "{pool.name}", because no source lists its nodes'
    return warning("T437", (), message, hint="list its nodes in its source, or remove the pool there")


def _agreed_settings(
    one: Any, other: Any, path: tuple[str, ...], first: Part, second: Part, issues: list[Diagnostic]
) -> Any:
    """Two mappings as one. T438 if they contradict each other."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        both = {
            key: _agreed_settings(one[key], other[key], (*path, key), first, second, issues)
            for key in one
            if key in other
        }
        return {**other, **one, **both}
    if one != other and one not in ("", ()) and other not in ("", ()):
        values = [f'"{(each if isinstance(each, str) else repr(each))[:60]}"' for each in (one, other)]
        message = f"{'.'.join(path)} is {values[0]} in {first.source}, and {values[1]} in {second.source}"
        issues.append(error("T438", (), message, hint="correct one of them, or leave one source out"))
    return other if one in ("", ()) else one
