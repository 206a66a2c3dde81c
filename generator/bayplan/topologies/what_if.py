"""Clusters to ask about: a topology without some nodes, or with more domains like those that it has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from bayplan.core.diagnostics import Outcome, error
from bayplan.core.phrases import count, did_you_mean, suggest
from bayplan.model.topology import HOST_LEVEL, ClusterTopology, Domain, Pool
from bayplan.topologies.hostlist import expand

NEW = "+"
"""Begins the names of added domains and nodes. No label value and no node name begins with it."""

MOST_NEW = 200_000
"""The most nodes that one `--with` adds."""

Path = tuple[str, ...]


def _refused(option: str, why: str, hint: str) -> Outcome[ClusterTopology]:
    """A920: an option that does not suit the topology."""
    return Outcome(None, (error("A920", ("argument", option), why, hint=hint),))


def without(topology: ClusterTopology, word: str) -> Outcome[ClusterTopology]:
    """The topology in which nodes are unusable: `NODE`, a hostlist of nodes, or `LEVEL=DOMAIN`. A920: unknown."""
    level, equals, names = word.partition("=")
    try:
        listed = expand(names if equals else word)
    except ValueError as problem:
        return _refused("--without", f'"{word}" is not a list of nodes: {problem}', "for example: gb-r01-n[01-04]")
    if equals and listed and level != HOST_LEVEL:
        return _without_domains(topology, level, listed)
    known = {node for pool in topology.pools for node in pool.nodes()}
    missing = next((node for node in listed if node not in known), "" if listed else word)
    if missing or not listed:
        hint = did_you_mean(missing, known) or "write the name of a node, or LEVEL=DOMAIN"
        return _refused("--without", f'"{topology.name}" has no node "{missing}"', hint)
    return Outcome(topology.without(listed))


def _without_domains(topology: ClusterTopology, level: str, names: Iterable[str]) -> Outcome[ClusterTopology]:
    """The same for domains, by their name or by the last names of their path."""
    levels = dict.fromkeys([*(each.name for pool in topology.pools for each in pool.levels), HOST_LEVEL])
    if level not in levels:
        wrong = f'no pool of "{topology.name}" has a level "{level}"'
        return _refused("--without", wrong, suggest(level, levels, "levels"))
    domains: dict[Path, list[str]] = {}
    for pool in topology.pools:
        for domain in pool.domains if pool.level(level) else ():
            domains.setdefault(domain.path[: pool.depth(level) + 1], []).extend(domain.nodes)
    gone: list[str] = []
    for name in names:
        paths = [path for path in domains if f"/{'/'.join(path)}".endswith(f"/{name}")]
        if not paths:
            hint = suggest(name, dict.fromkeys(path[-1] for path in domains), f"domains of {level}")
            return _refused("--without", f'"{topology.name}" has no {level} "{name}"', hint)
        if len(paths) > 1:
            wrong = f'"{topology.name}" has {len(paths)} domains "{name}" at level "{level}"'
            return _refused("--without", wrong, f"write {level}={'/'.join(paths[0])}")
        gone += domains[paths[0]]
    return Outcome(topology.without(gone))


_MORE = re.compile(r"(?P<pool>[^+]+)\+ *(?P<number>[0-9]{1,9}) +(?P<level>[^ ]+)")


def with_more(topology: ClusterTopology, word: str) -> Outcome[ClusterTopology]:
    """The topology with more domains: `POOL+4 racks`. A920: the pool or the level is unknown.

    Each is like the domain of that level with the most nodes, and all its nodes are usable. The domain around it is the
    first that has fewer of them than the fullest one, or the only one. If several have as many, bayplan adds one more.
    """
    asked = _MORE.fullmatch(word)
    if asked is None:
        return _refused("--with", f'"{word}" is not POOL+N LEVEL', f"for example: --with {_example(topology)}")
    name = asked["pool"].strip()
    pool = topology.pool(name)
    if pool is None:
        pools = [each.name for each in topology.pools]
        return _refused("--with", f'"{topology.name}" has no pool "{name}"', suggest(name, pools, "pools"))
    names = [*(level.name for level in pool.levels), "node"]
    words = {form: n for n, each in enumerate(names) for form in (f"{each}es", f"{each}s", each)}
    depth = {HOST_LEVEL: len(pool.levels), f"{HOST_LEVEL}s": len(pool.levels), **words}.get(asked["level"])
    if depth is None:
        hint = suggest(asked["level"], names, "levels")
        return _refused("--with", f'pool "{name}" has no level "{asked["level"]}"', hint)
    if not any(pool.nodes()):
        return _refused(
            "--with", f'pool "{name}" has no nodes that new ones could be like', "list its nodes in `domains`"
        )
    if not int(asked["number"]):
        return _refused("--with", f'"{word}" adds nothing', "add at least 1")
    growth = _Growth(topology, pool, depth)
    if int(asked["number"]) * len(growth.like) > MOST_NEW:
        return _refused("--with", f'"{word}" adds more than {count(MOST_NEW, "node")}', "add fewer")
    for _ in range(int(asked["number"])):
        growth.add()
    more = tuple(Domain(path, tuple(nodes)) for path, nodes in growth.added.items())
    larger = pool._replace(domains=(*pool.domains, *more))
    return Outcome(topology._replace(pools=tuple(larger if each is pool else each for each in topology.pools)))


def _example(topology: ClusterTopology) -> str:
    pool = topology.pools[0]
    return f"'{pool.name}+4 {pool.levels[-1].name if pool.levels else 'node'}s'"


class _Growth:
    """A pool that gets more domains of one depth, or nodes, one after the other. Nodes are the last names of paths."""

    def __init__(self, topology: ClusterTopology, pool: Pool, depth: int) -> None:
        self.words = [*(level.name for level in pool.levels), "node"]
        self.depth = depth
        self.added: dict[Path, list[str]] = {}
        self.used = {
            name for each in topology.pools for domain in each.domains for name in (*domain.path, *domain.nodes)
        }
        self.last = Counter[str]()
        paths = [(*domain.path, node) for domain in pool.domains for node in domain.nodes]
        fullest = Counter(path[: depth + 1] for path in paths).most_common(1)[0][0]
        self.like = [path[depth + 1 :] for path in paths if path[: depth + 1] == fullest]
        inside = [Counter(each[:n] for each in {path[: n + 1]: 0 for path in paths}) for n in range(depth + 1)]
        self.most = [max(counts.values()) if len(counts) > 1 else MOST_NEW * 10 for counts in inside]
        self.free = [
            {path: most - number for path, number in counts.items() if number < most}
            for counts, most in zip(inside, self.most, strict=True)
        ]

    def add(self) -> None:
        """One more domain, or node."""
        top = self.named(self.depth)
        names: dict[Path, Path] = {(): top}
        for path in self.like:
            for n in range(len(path)):
                if path[: n + 1] not in names:
                    names[path[: n + 1]] = (*names[path[:n]], self.fresh(self.words[len(top) + n]))
            *domain, node = names[path]
            self.added.setdefault(tuple(domain), []).append(node)

    def named(self, depth: int) -> Path:
        """The path of a new domain of that depth, in a domain that has less than the fullest one."""
        return (*(self.around(depth) if depth else ()), self.fresh(self.words[depth]))

    def around(self, depth: int) -> Path:
        free = self.free[depth]
        if not free:
            free[self.named(depth - 1)] = self.most[depth]
        path = next(iter(free))
        free[path] -= 1
        if not free[path]:
            del free[path]
        return path

    def fresh(self, word: str) -> str:
        """A name that no domain and no node has."""
        while not self.last[word] or f"{NEW}{word}-{self.last[word]}" in self.used:
            self.last[word] += 1
        self.used.add(name := f"{NEW}{word}-{self.last[word]}")
        return name
