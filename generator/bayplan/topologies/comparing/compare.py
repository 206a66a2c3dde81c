"""What differs between two topologies: units that were renamed, nodes that moved, came or went, and their states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bayplan.core.values import NamedTuple
from bayplan.model.topology import ClusterTopology, Pool
from bayplan.topologies.comparing import slurm_names
from bayplan.topologies.comparing.levels import Alike, never
from bayplan.topologies.comparing.settings import Change, changes
from bayplan.topologies.comparing.units import Path, Unit, Units, match


class Place(NamedTuple):
    """A finest domain of a pool."""

    pool: str
    path: Path = ()


class Group(NamedTuple):
    """Nodes that share what became of them; None where they were or are in no place."""

    nodes: tuple[str, ...]
    before: Place | None = None
    after: Place | None = None


class State(NamedTuple):
    """Nodes that share a change of state; empty where they are usable."""

    nodes: tuple[str, ...]
    before: str
    after: str


class Renamed(NamedTuple):
    """A unit that has most of its nodes and another path."""

    pool: str
    level: str
    before: Path
    after: Path
    nodes: int
    value: bool  # its own name is another one, not only where it stands


class Pair(NamedTuple):
    """A pool of both topologies, by number, and what became of its units."""

    before: int
    after: int
    units: Units


class Comparison(NamedTuple):
    """All that differs. Units of pools that came or went are not listed one by one."""

    pairs: tuple[Pair, ...] = ()
    pools_new: tuple[str, ...] = ()
    pools_gone: tuple[str, ...] = ()
    pools_renamed: tuple[tuple[str, str], ...] = ()
    renamed: tuple[Renamed, ...] = ()
    units_new: tuple[tuple[str, Unit], ...] = ()  # with the name of the pool
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


def strictly(before: ClusterTopology, after: ClusterTopology) -> Comparison:
    """The same with names of domains where both sides have them from their system and no label says them: Slurm's
    blocks and switches, and what stands in the place of labels."""
    if not (slurm_names.known(before) and slurm_names.known(after)):
        return compare(before, after, lambda one, other: one.apply and other.apply)
    found = compare(slurm_names.named(before), slurm_names.named(after), lambda one, other: True)
    names = {before.pools[pair.before].name: after.pools[pair.after].name for pair in found.pairs}
    return found._replace(settings=changes(before, after, names))


def compare(before: ClusterTopology, after: ClusterTopology, alike: Alike = never) -> Comparison:
    """The second topology as it differs from the first. Pools are found again by name, else by their nodes."""
    numbers = _pools(before.pools, after.pools)
    pairs = tuple(Pair(i, j, match(before.pools[i], after.pools[j], alike)) for i, j in numbers)
    left, right = {pair.before for pair in pairs}, {pair.after for pair in pairs}
    named = [(before.pools[pair.before].name, after.pools[pair.after].name) for pair in pairs]
    moved, new, gone = _nodes(before, after, pairs)
    return Comparison(
        pairs=pairs,
        pools_new=tuple(pool.name for j, pool in enumerate(after.pools) if j not in right),
        pools_gone=tuple(pool.name for i, pool in enumerate(before.pools) if i not in left),
        pools_renamed=tuple(each for each in named if each[0] != each[1]),
        renamed=tuple(each for pair in pairs for each in _renamed(after.pools[pair.after].name, pair.units)),
        units_new=tuple((after.pools[pair.after].name, each) for pair in pairs for each in pair.units.new),
        units_gone=tuple((after.pools[pair.after].name, each) for pair in pairs for each in pair.units.gone),
        moved=moved,
        new=new,
        gone=gone,
        states=_states(before, after),
        settings=changes(before, after, dict(named)),
    )


def _pools(before: Sequence[Pool], after: Sequence[Pool]) -> Iterator[tuple[int, int]]:
    """The numbers of the pools that are the same ones: by name, then by where most nodes of a pool went."""
    names = {pool.name: j for j, pool in enumerate(after)}
    found = {i: names[pool.name] for i, pool in enumerate(before) if pool.name in names}
    taken = set(found.values())
    homes = {node: j for j, pool in enumerate(after) if j not in taken for node in pool.nodes()}
    for i, pool in enumerate(before if homes else ()):
        nodes = [homes[node] for node in pool.nodes() if node in homes] if i not in found else []
        best = max(sorted(set(nodes) - taken), key=nodes.count, default=None)
        if best is not None and 2 * nodes.count(best) > sum(1 for _ in pool.nodes()):
            found[i] = best
            taken.add(best)
    return ((i, found[i]) for i in sorted(found))


def _renamed(pool: str, units: Units) -> Iterator[Renamed]:
    """Units whose path is another one, less those whose parent's is and nothing else."""
    for level, size, old, new in units.same:
        own = old[-1] != new[-1] and units.levels[len(old) - 1][0] not in units.foreign
        if own or units.known.get(old[:-1], new[:-1]) != new[:-1]:
            yield Renamed(pool, level, old, new, size, own)


def _nodes(
    before: ClusterTopology, after: ClusterTopology, pairs: Sequence[Pair]
) -> tuple[tuple[Group, ...], tuple[Group, ...], tuple[Group, ...]]:
    """Nodes that are somewhere else, that are new, and that are gone, by where they were and are."""
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
    new: dict[tuple[int, int], list[str]] = {}
    for node, home in homes.items():
        new.setdefault(home, []).append(node)
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
    """Changes of state of the nodes that both know."""
    old, new = _reasons(before), _reasons(after)
    both = _all(before) & _all(after) if old.keys() | new.keys() else set()
    found: dict[tuple[str, str], list[str]] = {}
    for node in sorted(both & (old.keys() | new.keys())):
        ends = old.get(node, ""), new.get(node, "")
        if ends[0] != ends[1]:
            found.setdefault(ends, []).append(node)
    return tuple(State(tuple(nodes), *ends) for ends, nodes in sorted(found.items()))


def _all(topology: ClusterTopology) -> set[str]:
    return {node for pool in topology.pools for node in pool.nodes()}


def _reasons(topology: ClusterTopology) -> Mapping[str, str]:
    """Node -> why it is unusable."""
    pairs = [(reason, names) for pool in topology.pools for reason, names in pool.unusable.items()]
    return {node: reason for reason, names in reversed(pairs) for node in names}
