"""Check a placement against the plan, by the words of the contract and without a thought to how it was found.

Shares only `demand` and `capacity` with the search.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from bayplan.model.plan import GangPlan, Unit, all_pods, walk
from bayplan.model.topology import HOST_LEVEL, ClusterTopology, Pool
from bayplan.planning.fit.demand import capacity, demand, room
from bayplan.planning.fit.witness import Run
from bayplan.values import NamedTuple

Path = tuple[tuple[str, str], ...]
Where = Mapping[str, tuple[Pool, Path]]
Runs = Mapping[tuple[str, str], list[Run]]


class _Scene(NamedTuple):
    topology: ClusterTopology
    runs: Runs
    where: Where


def faults(gangs: Iterable[GangPlan], topology: ClusterTopology, placed: Iterable[Run]) -> Iterator[str]:
    """Everything wrong with a placement of these gangs at the same time; nothing when it is one."""
    runs: dict[tuple[str, str], list[Run]] = {}
    for run in placed:
        runs.setdefault((run.gang, run.pods), []).append(run)
    used = {node for each in runs.values() for run in each for node in run.nodes}
    scene = _Scene(topology, runs, dict(_where(topology, used)))
    together = tuple(gangs)
    yield from (f'node "{node}" is not in the topology or may not be used' for node in sorted(used - set(scene.where)))
    if used <= set(scene.where):
        yield from _counts(together, scene)
        yield from _planned(topology, used)
        yield from _loads(together, scene)
        yield from (fault for gang in together for unit in walk(gang.root) for fault in _shared(gang, unit, scene))


def _where(topology: ClusterTopology, used: set[str]) -> Iterator[tuple[str, tuple[Pool, Path]]]:
    for pool in topology.pools:
        out = {node for nodes in pool.unusable.values() for node in nodes}
        for domain in pool.domains:
            path = tuple(zip((level.label for level in pool.levels), domain.path, strict=False))
            yield from ((node, (pool, path)) for node in domain.nodes if node in used and node not in out)


def _counts(gangs: tuple[GangPlan, ...], scene: _Scene) -> Iterator[str]:
    """Every pod is placed once, in its own pool; nothing else is."""
    asked = {(gang.name, pods.name): pods for gang in gangs for pods in all_pods(gang.root)}
    yield from (f"{name} is placed but not asked for" for name in scene.runs if name not in asked)
    for name, pods in asked.items():
        runs = scene.runs.get(name, [])
        placed = sum(run.each * len(run.nodes) for run in runs)
        if placed != pods.replicas or any(run.each < 1 for run in runs):
            yield f"{name}: {placed} pods placed, {pods.replicas} asked for"
        if any(scene.where[node][0].name != pods.pool for run in runs for node in run.nodes):
            yield f"{name}: pods outside pool {pods.pool}"


def _planned(topology: ClusterTopology, used: set[str]) -> Iterator[str]:
    """No finest domain has more of its nodes used than `plan` allows."""
    for pool in topology.pools:
        most = pool.levels[-1].plan if pool.levels else None
        if most is not None:
            counts: dict[tuple[str, ...], int] = {}
            for domain in pool.domains:
                counts[domain.path] = counts.get(domain.path, 0) + sum(node in used for node in domain.nodes)
            yield from (f"{path}: {n} nodes used, {most} planned" for path, n in counts.items() if n > most)


def _loads(gangs: tuple[GangPlan, ...], scene: _Scene) -> Iterator[str]:
    """No node is asked for more than it has."""
    asks: dict[object, dict[str, int]] = {}
    load: dict[str, tuple[tuple[object, int], ...]] = {}
    for gang in gangs:
        for pods in all_pods(gang.root):
            spec = (id(pods.spec), pods.pool, bool(pods.compute_domain))
            if spec not in asks:
                asks[spec] = demand(pods, scene.topology)
            for run in scene.runs.get((gang.name, pods.name), ()):
                alone = ((spec, run.each),)
                for node in run.nodes:
                    load[node] = (*load[node], *alone) if node in load else alone
    judged = {(scene.where[node][0].name, held): node for node, held in load.items()}
    for (_, held), node in judged.items():
        offered = capacity(scene.where[node][0])
        yield from (f'node "{node}" has too little {name}' for name in _over(offered, [(asks[s], n) for s, n in held]))


def _over(offered: Mapping[str, int], held: Iterable[tuple[Mapping[str, int], int]]) -> Iterator[str]:
    total: dict[str, int] = {}
    for asks, count in held:
        for name, amount in asks.items():
            total[name] = total.get(name, 0) + amount * count
    for name, amount in total.items():
        has = room(offered, name)
        if has is not None and amount > has:
            yield name


def _shared(gang: GangPlan, unit: Unit, scene: _Scene) -> Iterator[str]:
    """Pods of a unit share a domain of its required level (else of `separate`); separate instances do not."""
    level = unit.required or unit.separate
    if level and len(_domains(gang, unit, level, scene)) > 1:
        yield f'{gang.name} "{unit.name}": pods in several domains of "{level}"'
    for units in unit.groups:
        for level in {member.separate for member in units.members if member.separate}:
            found = [_domains(gang, member, level, scene) for member in units.members]
            if sum(map(len, found)) > len(set().union(*found)):
                yield f'{gang.name} "{units.name}": instances share a domain of "{level}"'


def _domains(gang: GangPlan, unit: Unit, level: str, scene: _Scene) -> set[object]:
    runs = (run for pods in all_pods(unit) for run in scene.runs.get((gang.name, pods.name), ()))
    return {_domain(node, level, scene) for run in runs for node in run.nodes}


def _domain(node: str, level: str, scene: _Scene) -> object:
    pool, path = scene.where[node]
    names = [each.name for each in pool.levels]
    if level == HOST_LEVEL:
        return node
    return path[: names.index(level) + 1] if level in names else ("no such level", node)
