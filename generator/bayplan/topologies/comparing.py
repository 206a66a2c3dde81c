"""Differences between two topologies: renamed units, moved, new and removed nodes, states, and settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.core.values import grouped
from bayplan.model.topology import ClusterTopology, Domain, Pool
from bayplan.topologies import native
from bayplan.topologies.alignment import Path, SameNames, Unit, Units, match_units, never, pair_pools
from bayplan.topologies.unit_names import known_units


def has_slurm_names(topology: ClusterTopology) -> bool:
    """Whether the topology has Slurm's settings. Its domains are then Slurm's units, and Slurm's controller saves their
    names (Slurm 25.05 to 25.11)."""
    return "slurm" in topology.schedulers


def with_slurm_names(topology: ClusterTopology) -> ClusterTopology:
    """The topology with the names of Slurm's units as values."""
    return topology._replace(pools=tuple(_with_units(topology, pool) for pool in topology.pools))


def _with_units(topology: ClusterTopology, pool: Pool) -> Pool:
    units = known_units(topology, pool)

    def unit(domain: Domain) -> Domain:
        paths = ("/".join(domain.path[: depth + 1]) for depth in range(len(domain.path)))
        return domain._replace(
            path=tuple(units.get(path, value) for path, value in zip(paths, domain.path, strict=True))
        )

    return pool._replace(domains=tuple(map(unit, pool.domains))) if units else pool


class Change(NamedTuple):
    """A changed value at a key such as `pools.gb200.node.cpu`, as a string; empty if it is missing."""

    key: str
    before: str
    after: str


def changes(before: ClusterTopology, after: ClusterTopology, names: Mapping[str, str]) -> tuple[Change, ...]:
    """The changed settings. `names`: pool before -> the same pool after. Ignores other pools."""
    renamed = {new: old for old, new in names.items()}
    left, right = _settings(before, {name: name for name in names}), _settings(after, renamed)
    return tuple(Change(key, _text(old), _text(new)) for key, old, new in _differing("", left, right))


def _settings(topology: ClusterTopology, names: Mapping[str, str]) -> dict[str, Any]:
    """The document without nodes, with pools and levels by name, and the order of levels."""
    bare = tuple(pool._replace(domains=(), unusable={}) for pool in topology.pools if pool.name in names)
    document = native.write(topology._replace(pools=bare))
    spec: dict[str, Any] = document["spec"]
    pools = {names[pool["name"]]: _pool_settings(pool) for pool in spec["pools"]}
    fabrics = {
        name: {**each, "rails": {str(n): rail for n, rail in enumerate(each.get("rails", ()))}}
        for name, each in spec.get("fabrics", {}).items()
    }
    return {"name": topology.name, **spec, "pools": pools, **({"fabrics": fabrics} if fabrics else {})}


def _pool_settings(pool: Mapping[str, Any]) -> dict[str, Any]:
    levels = pool.get("levels", ())
    order = {"order of levels": " > ".join(level["name"] for level in levels)}
    declared = {key: pool[key] for key in ("node", "template", "dataMovers", "dataStore") if key in pool}
    return {**declared, **order, "levels": {level["name"]: level for level in levels}}


def _differing(key: str, before: Any, after: Any) -> Iterator[tuple[str, Any, Any]]:
    """The keys with different values, at every depth where both have mappings."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for each in [*before, *(each for each in after if each not in before)]:
            inner = f"{key}.{each}" if key else str(each)
            yield from _differing(inner, before.get(each), after.get(each))
    elif before != after:
        yield key, before, after


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    import json

    return json.dumps(value)


class Place(NamedTuple):
    """A finest domain of a pool."""

    pool: str
    path: Path = ()


class Group(NamedTuple):
    """Nodes with the same change of place. None if they had or have no place."""

    nodes: tuple[str, ...]
    before: Place | None = None
    after: Place | None = None


class State(NamedTuple):
    """Nodes with the same change of state. Empty if they are usable."""

    nodes: tuple[str, ...]
    before: str
    after: str


class Renamed(NamedTuple):
    """A unit with most of its nodes and another path."""

    pool: str
    level: str
    before: Path
    after: Path
    nodes: int
    value: bool  # its own name changed, and not only its place


class Pair(NamedTuple):
    """A pool of both topologies, by number, and its units."""

    before: int
    after: int
    units: Units


class Comparison(NamedTuple):
    """All differences. It does not list the units of new or removed pools."""

    pairs: tuple[Pair, ...] = ()
    pools_new: tuple[str, ...] = ()
    pools_gone: tuple[str, ...] = ()
    pools_renamed: tuple[tuple[str, str], ...] = ()
    renamed: tuple[Renamed, ...] = ()
    units_new: tuple[tuple[str, Unit], ...] = ()  # with the name of their pool
    units_gone: tuple[tuple[str, Unit], ...] = ()
    moved: tuple[Group, ...] = ()
    new: tuple[Group, ...] = ()
    gone: tuple[Group, ...] = ()
    states: tuple[State, ...] = ()
    settings: tuple[Change, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return not any(self[1:])


def compare_with_names(before: ClusterTopology, after: ClusterTopology) -> Comparison:
    """As `compare`, and also the names of domains that both sides have from one system without labels, such as Slurm's
    blocks and switches, or placeholders."""
    if not (has_slurm_names(before) and has_slurm_names(after)):
        return compare(before, after, lambda one, other: one.apply and other.apply)
    compared = compare(with_slurm_names(before), with_slurm_names(after), lambda one, other: True)
    names = {before.pools[pair.before].name: after.pools[pair.after].name for pair in compared.pairs}
    return compared._replace(settings=changes(before, after, names))


def compare(before: ClusterTopology, after: ClusterTopology, alike: SameNames = never) -> Comparison:
    """The differences of the second topology from the first. Pools match by name, or by their nodes."""
    numbers = pair_pools(before.pools, after.pools)
    pairs = tuple(Pair(i, j, match_units(before.pools[i], after.pools[j], alike)) for i, j in numbers)
    left, right = {pair.before for pair in pairs}, {pair.after for pair in pairs}
    named = [(before.pools[pair.before].name, after.pools[pair.after].name) for pair in pairs]
    moved, new, gone = _placed_nodes(before, after, pairs)
    return Comparison(
        pairs=pairs,
        pools_new=tuple(pool.name for j, pool in enumerate(after.pools) if j not in right),
        pools_gone=tuple(pool.name for i, pool in enumerate(before.pools) if i not in left),
        pools_renamed=tuple(each for each in named if each[0] != each[1]),
        renamed=tuple(each for pair in pairs for each in _renamed_units(after.pools[pair.after].name, pair.units)),
        units_new=tuple((after.pools[pair.after].name, each) for pair in pairs for each in pair.units.new),
        units_gone=tuple((after.pools[pair.after].name, each) for pair in pairs for each in pair.units.gone),
        moved=moved,
        new=new,
        gone=gone,
        states=_states(before, after),
        settings=changes(before, after, dict(named)),
    )


def _renamed_units(pool: str, units: Units) -> Iterator[Renamed]:
    """Units with another path, without units of which only the parent's path changed."""
    for level, size, old, new in units.same:
        own = old[-1] != new[-1] and units.levels[len(old) - 1][0] not in units.own_names
        if own or units.paths.get(old[:-1], new[:-1]) != new[:-1]:
            yield Renamed(pool, level, old, new, size, own)


def _placed_nodes(
    before: ClusterTopology, after: ClusterTopology, pairs: Sequence[Pair]
) -> tuple[tuple[Group, ...], tuple[Group, ...], tuple[Group, ...]]:
    """Nodes that moved, that are new, and that are gone, by their old and new places."""
    homes = {
        node: (j, d) for j, pool in enumerate(after.pools) for d, each in enumerate(pool.domains) for node in each.nodes
    }
    paired = {pair.before: pair for pair in pairs}
    moved: dict[tuple[Place, Place], list[str]] = {}
    gone: dict[Place, list[str]] = {}
    for i, pool in enumerate(before.pools):
        pair = paired.get(i)
        for domain in pool.domains:
            for node in domain.nodes:
                home = homes.pop(node, None)
                if home is None:
                    gone.setdefault(Place(pool.name, domain.path), []).append(node)
                elif pair is None or home[0] != pair.after or not pair.units.together(domain.path, _path(after, home)):
                    ends = Place(pool.name, domain.path), Place(after.pools[home[0]].name, _path(after, home))
                    moved.setdefault(ends, []).append(node)
    new = grouped((home, node) for node, home in homes.items())
    return (
        tuple(Group(tuple(nodes), *ends) for ends, nodes in moved.items()),
        tuple(
            Group(tuple(nodes), None, Place(after.pools[j].name, _path(after, (j, d)))) for (j, d), nodes in new.items()
        ),
        tuple(Group(tuple(nodes), place) for place, nodes in gone.items()),
    )


def _path(topology: ClusterTopology, home: tuple[int, int]) -> Path:
    return topology.pools[home[0]].domains[home[1]].path


def _states(before: ClusterTopology, after: ClusterTopology) -> tuple[State, ...]:
    """Changes of state of the nodes that both have."""
    old, new = _reasons(before), _reasons(after)
    with_reason = old.keys() | new.keys()
    for topology in (before, after) if with_reason else ():
        with_reason &= {node for pool in topology.pools for node in pool.nodes()}
    changed = grouped(((old.get(node, ""), new.get(node, "")), node) for node in sorted(with_reason))
    return tuple(State(tuple(nodes), *ends) for ends, nodes in sorted(changed.items()) if ends[0] != ends[1])


def _reasons(topology: ClusterTopology) -> Mapping[str, str]:
    """Node -> why it is unusable."""
    pairs = [(reason, names) for pool in topology.pools for reason, names in pool.unusable.items()]
    return {node: reason for reason, names in reversed(pairs) for node in names}
