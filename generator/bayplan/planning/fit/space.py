"""The cluster as a tree of places. Places that offer the same share a `kind`, so equal racks are solved once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bayplan.core.values import NamedTuple
from bayplan.model.topology import HOST_LEVEL, ClusterTopology, Pool

SPARE = "spare"
Step = tuple[str, str]  # node label, value


class Place(NamedTuple):
    """A domain. Pools whose label lists start alike share places; `hosts` are the usable nodes right below it."""

    path: tuple[Step, ...]
    children: tuple[Place, ...]
    hosts: tuple[tuple[int, tuple[str, ...]], ...]  # number of the pool, node names
    kind: int


class Kind(NamedTuple):
    """What all places of one kind have below them: how many of which kind. `~p` stands for a node of pool number p."""

    depth: int
    groups: tuple[tuple[int, int], ...]


class Space(NamedTuple):
    """Some pools of a topology. The root has depth 0, a pool's first level depth 1."""

    pools: tuple[Pool, ...]
    root: Place
    kinds: tuple[Kind, ...]

    def number(self, pool: str) -> int:
        """Which pool that is; -1 for one that the space leaves out."""
        return next((i for i, each in enumerate(self.pools) if each.name == pool), -1)

    def depth(self, pools: Iterable[int], level: str) -> int | None:
        """The depth at which nodes of all these pools share a domain of that level; None where they cannot."""
        depths = {_depth(self.pools[pool], level) for pool in pools}
        return depths.pop() if len(depths) == 1 else None

    def host_depth(self, pool: int) -> int:
        """The depth of a pool's nodes."""
        return len(self.pools[pool].levels) + 1


def _depth(pool: Pool, level: str) -> int | None:
    names = [each.name for each in pool.levels] + [HOST_LEVEL]
    return names.index(level) + 1 if level in names else None


def space(topology: ClusterTopology, names: Iterable[str], policy: bool = True) -> Space:
    """The usable nodes of the named pools. Without `policy`, spare nodes and those above `plan` are usable too."""
    wanted = set(names)
    pools = tuple(pool for pool in topology.pools if pool.name in wanted)
    top: dict[Any, Any] = {}
    for number, pool in enumerate(pools):
        labels = [level.label for level in pool.levels]
        for path, nodes in usable(pool, policy).items():
            branch = top
            for step in zip(labels, path, strict=False):
                branch = branch.setdefault(step, {})
            branch[number] = nodes
    kinds: dict[Kind, int] = {}
    root = _place(top, (), kinds)
    return Space(pools, root, tuple(kinds))


def usable(pool: Pool, policy: bool = True) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Path of each finest domain -> its nodes that may be planned, in file order."""
    out = {node for why, nodes in pool.unusable.items() if policy or why != SPARE for node in nodes}
    merged: dict[tuple[str, ...], tuple[str, ...]] = {}
    for domain in sorted(pool.domains, key=lambda each: (each.path, each.nodes[:1])):
        kept = domain.nodes if out.isdisjoint(domain.nodes) else tuple(n for n in domain.nodes if n not in out)
        merged[domain.path] = merged[domain.path] + kept if domain.path in merged else kept
    most = pool.levels[-1].plan if pool.levels and policy else None
    return merged if most is None else {path: nodes[:most] for path, nodes in merged.items()}


def _place(branch: Mapping[Any, Any], path: tuple[Step, ...], kinds: dict[Kind, int]) -> Place:
    steps = sorted(key for key in branch if isinstance(key, tuple))
    children = tuple(_place(branch[step], (*path, step), kinds) for step in steps)
    hosts = tuple((key, branch[key]) for key in sorted(key for key in branch if isinstance(key, int)))
    counted: dict[int, int] = {}
    for child in children:
        counted[child.kind] = counted.get(child.kind, 0) + 1
    groups = tuple(sorted(counted.items())) + tuple((~pool, len(nodes)) for pool, nodes in hosts if nodes)
    return Place(path, children, hosts, kinds.setdefault(Kind(len(path), groups), len(kinds)))
