"""`prove`: every set of gangs that may run at the same time fits the cluster, or the reason why not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from bayplan.core.diagnostics import Route
from bayplan.core.values import NamedTuple
from bayplan.model.plan import GangPlan, Plan, Pods, Unit, all_pods, once, walk
from bayplan.model.topology import HOST_LEVEL, ClusterTopology, Pool
from bayplan.planning.fit.problem import Place, Problem, Space, capacity, demand, per_node, problem, room, space, usable
from bayplan.planning.fit.witness import Answer, NoRoom, Placed, Run, Solved, Unknown, covers, placement, solve

# Decide whether gangs that run together fit a space: by Pareto fronts, then by first fit, then by a solver.

SEARCH_LIMIT = 300_000
BUDGET = 4_000_000
"""Steps of fronts before and after first fit: about a tenth of a second, and about a second."""

FINER = "a `separate` level is finer than its group's required level, and no placement separates the groups further"
APART = "require the `separate` level, or remove `separate`"


def search(
    gangs: tuple[GangPlan, ...],
    topology: ClusterTopology,
    space: Space,
    *,
    channels: bool = True,
    witness: bool = True,
    quick: bool = False,
) -> Answer:
    """Place all these gangs at once. Without `channels`, a node has any number of IMEX channels.

    A `quick` search omits what takes longer than a moment.
    """
    instance = problem(gangs, topology, space, channels)
    answer = _decided(instance, witness, quick)
    if not (instance.strict and isinstance(answer, NoRoom)):
        return answer
    loose = _decided(problem(gangs, topology, space, channels, loose=True), False, quick)
    return loose if isinstance(loose, NoRoom) else Unknown(FINER, APART)


def _decided(instance: Problem, witness: bool, quick: bool) -> Answer:
    answer = _counted(instance, solve(instance, SEARCH_LIMIT), witness)
    return _tried(instance, witness, quick) if answer is None else answer


def _counted(instance: Problem, fronts: dict[int, Solved], witness: bool) -> Answer | None:
    """The answer of the fronts, if they reach the root."""
    root = fronts.get(instance.space.root.kind)
    if root is None:
        return None
    if not any(covers(vector, instance.need) for vector in root.before):
        return NoRoom()
    return Placed(placement(instance, fronts) if witness else ())


def _tried(instance: Problem, witness: bool, quick: bool) -> Answer:
    from bayplan.planning.fit.greedy import first_fit
    from bayplan.planning.fit.solver import WHY, solved

    if overdrawn(instance):
        return NoRoom()
    runs = first_fit(instance)
    if runs is not None:
        return Placed(runs)
    if quick:
        return Unknown(WHY)
    fronts = solve(instance, BUDGET)
    answer = _counted(instance, fronts, witness)
    return solved(instance, fronts) if answer is None else answer


def overdrawn(instance: Problem) -> bool:
    """Whether all pods together request more of a resource than all nodes of their pool have."""
    for pool, offered in enumerate(instance.nodes):
        nodes = _nodes(instance.space.root, pool)
        for i, has in enumerate(offered):
            wanted = sum(shape.asks[i] * instance.totals[shape.item] for shape in instance.shapes if shape.pool == pool)
            if wanted > has * nodes:
                return True
    return False


def _nodes(place: Place, pool: int) -> int:
    here = sum(len(nodes) for number, nodes in place.hosts if number == pool)
    return here + sum(_nodes(child, pool) for child in place.children)


# Verify a placement against the plan, independently of the search that found it.
#
# Shares only `demand` and `capacity` with the search.

Path = tuple[tuple[str, str], ...]
Where = Mapping[str, tuple[Pool, Path]]
Runs = Mapping[tuple[str, str], list[Run]]


class _Layout(NamedTuple):
    topology: ClusterTopology
    runs: Runs
    where: Where


def faults(gangs: Iterable[GangPlan], topology: ClusterTopology, placed: Iterable[Run]) -> Iterator[str]:
    """Everything that is wrong with a placement of these gangs at the same time; empty if it is correct."""
    runs: dict[tuple[str, str], list[Run]] = {}
    for run in placed:
        runs.setdefault((run.gang, run.pods), []).append(run)
    used = {node for each in runs.values() for run in each for node in run.nodes}
    layout = _Layout(topology, runs, dict(_where(topology, used)))
    together = tuple(gangs)
    yield from (f'node "{node}" is not in the topology or may not be used' for node in sorted(used - set(layout.where)))
    if used <= set(layout.where):
        yield from _counts(together, layout)
        yield from _planned(topology, used)
        yield from _loads(together, layout)
        yield from (fault for gang in together for unit in walk(gang.root) for fault in _shared(gang, unit, layout))


def _where(topology: ClusterTopology, used: set[str]) -> Iterator[tuple[str, tuple[Pool, Path]]]:
    for pool in topology.pools:
        out = {node for nodes in pool.unusable.values() for node in nodes}
        for domain in pool.domains:
            path = tuple(zip((level.label for level in pool.levels), domain.path, strict=False))
            yield from ((node, (pool, path)) for node in domain.nodes if node in used and node not in out)


def _counts(gangs: tuple[GangPlan, ...], layout: _Layout) -> Iterator[str]:
    """The layout has one place for each pod of the plan, in the pod's pool, and contains only these pods."""
    expected = {(gang.name, pods.name): pods for gang in gangs for pods in all_pods(gang.root)}
    yield from (f"{name} has a place but is not in the plan" for name in layout.runs if name not in expected)
    for name, pods in expected.items():
        runs = layout.runs.get(name, [])
        placed = sum(run.each * len(run.nodes) for run in runs)
        if placed != pods.replicas or any(run.each < 1 for run in runs):
            yield f"{name}: {placed} pods placed, {pods.replicas} in the plan"
        if any(layout.where[node][0].name != pods.pool for run in runs for node in run.nodes):
            yield f"{name}: pods outside pool {pods.pool}"


def _planned(topology: ClusterTopology, used: set[str]) -> Iterator[str]:
    """No finest domain has more used nodes than `plan` allows."""
    for pool in topology.pools:
        most = pool.levels[-1].plan if pool.levels else None
        if most is not None:
            counts: dict[tuple[str, ...], int] = {}
            for domain in pool.domains:
                counts[domain.path] = counts.get(domain.path, 0) + sum(node in used for node in domain.nodes)
            yield from (f"{path}: {n} nodes used, {most} planned" for path, n in counts.items() if n > most)


def _loads(gangs: tuple[GangPlan, ...], layout: _Layout) -> Iterator[str]:
    """No node has pods that request more than it has."""
    asks: dict[object, dict[str, int]] = {}
    load: dict[str, tuple[tuple[object, int], ...]] = {}
    for gang in gangs:
        for pods in all_pods(gang.root):
            spec = (id(pods.spec), pods.pool, bool(pods.compute_domain))
            if spec not in asks:
                asks[spec] = demand(pods, layout.topology)
            for run in layout.runs.get((gang.name, pods.name), ()):
                alone = ((spec, run.each),)
                for node in run.nodes:
                    load[node] = (*load[node], *alone) if node in load else alone
    for (_, held), node in {(layout.where[node][0].name, held): node for node, held in load.items()}.items():
        offered = capacity(layout.where[node][0])
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


def _shared(gang: GangPlan, unit: Unit, layout: _Layout) -> Iterator[str]:
    """Pods of a unit share a domain of its required level (or of `separate`); separate instances do not."""
    level = unit.required or unit.separate
    if level and len(_domains(gang, unit, level, layout)) > 1:
        yield f'{gang.name} "{unit.name}": pods in several domains of "{level}"'
    for units in unit.groups:
        for level in {member.separate for member in units.members if member.separate}:
            domains = [_domains(gang, member, level, layout) for member in units.members]
            if sum(map(len, domains)) > len(set().union(*domains)):
                yield f'{gang.name} "{units.name}": instances share a domain of "{level}"'


def _domains(gang: GangPlan, unit: Unit, level: str, layout: _Layout) -> set[object]:
    runs = (run for pods in all_pods(unit) for run in layout.runs.get((gang.name, pods.name), ()))
    return {_domain(node, level, layout) for run in runs for node in run.nodes}


def _domain(node: str, level: str, layout: _Layout) -> object:
    pool, path = layout.where[node]
    names = [each.name for each in pool.levels]
    if level == HOST_LEVEL:
        return node
    return path[: names.index(level) + 1] if level in names else ("no such level", node)


# Which gangs may run at the same time: those that no chain of `dependsOn` orders.

MOST = 64
"""The most different sets. For a workflow with more, the proof assumes that all gangs run at once."""


def stages(gangs: tuple[GangPlan, ...]) -> tuple[tuple[GangPlan, ...], ...]:
    """The largest sets of gangs that may run at the same time, in file order; () if there are more than `MOST`."""
    before = _ancestors(gangs)
    after: dict[str, list[str]] = {}
    for name, ancestors in before.items():
        for ancestor in ancestors:
            after.setdefault(ancestor, []).append(name)
    alike: dict[tuple[frozenset[str], frozenset[str]], list[str]] = {}
    for gang in gangs:
        alike.setdefault((before[gang.name], frozenset(after.get(gang.name, ()))), []).append(gang.name)
    largest: list[frozenset[str]] = []
    for stage in _largest((), tuple(tuple(names) for names in alike.values()), (), before):
        largest.append(stage)
        if len(largest) > MOST:
            return ()
    return tuple(tuple(gang for gang in gangs if gang.name in stage) for stage in largest)


def _ancestors(gangs: tuple[GangPlan, ...]) -> dict[str, frozenset[str]]:
    """Gang -> all gangs that must complete before it."""
    after = {gang.name: gang.after for gang in gangs}
    ancestors: dict[str, frozenset[str]] = {}

    def walk(name: str, seen: tuple[str, ...]) -> frozenset[str]:
        if name not in ancestors:
            direct = [each for each in after.get(name, ()) if each not in seen]
            ancestors[name] = frozenset(direct).union(*(walk(each, (*seen, name)) for each in direct))
        return ancestors[name]

    return {gang.name: walk(gang.name, ()) for gang in gangs}


Class = tuple[str, ...]


def _largest(
    chosen: tuple[Class, ...], open_: tuple[Class, ...], done: tuple[Class, ...], before: dict[str, frozenset[str]]
) -> Iterator[frozenset[str]]:
    """Bron and Kerbosch's walk over the maximal sets of classes without an order."""
    if not open_ and not done:
        yield frozenset(name for names in chosen for name in names)
    while open_:
        first, open_ = open_[0], open_[1:]
        yield from _largest((*chosen, first), _free(first, open_, before), _free(first, done, before), before)
        done = (*done, first)


def _free(of: Class, among: Iterable[Class], before: dict[str, frozenset[str]]) -> tuple[Class, ...]:
    return tuple(each for each in among if of[0] not in before[each[0]] and each[0] not in before[of[0]])


Gangs = tuple[GangPlan, ...]


class Stage(NamedTuple):
    """Gangs that may run at the same time, and a placement of their pods."""

    gangs: tuple[str, ...]
    runs: tuple[Run, ...]


class Rules(NamedTuple):
    """What counts. `policy`: spares and `plan`; `channels`: one ComputeDomain pod a node. `quick`: see `search`."""

    policy: bool = True
    channels: bool = True
    quick: bool = False


FULL = Rules()
QUICK = Rules(quick=True)


def answers(plan: Plan, rules: Rules = FULL, *, witness: bool = True) -> Iterable[tuple[Gangs, Answer]]:
    """The answer for each set of gangs that may run at the same time."""
    search_space = search_space_of(plan, rules)
    for gangs in stages(plan.gangs) or (plan.gangs,):
        yield gangs, answer(gangs, plan, search_space, rules, witness=witness)


def search_space_of(plan: Plan, rules: Rules = FULL) -> Space:
    """The pools that the plan uses."""
    return space(plan.topology, {pods.pool for gang in plan.gangs for pods in all_pods(gang.root)}, rules.policy)


def answer(gangs: Gangs, plan: Plan, search_space: Space, rules: Rules = FULL, *, witness: bool = True) -> Answer:
    """The answer for some gangs at once. It verifies a witness; a false one is a bug."""
    result = search(gangs, plan.topology, search_space, channels=rules.channels, witness=witness, quick=rules.quick)
    if isinstance(result, Placed) and result.runs and rules == FULL:
        wrong = next(faults(gangs, plan.topology, result.runs), "")
        assert not wrong, f"unreachable: a wrong placement: {wrong}"
    return result


def surely_fits(plan: Plan, rules: Rules = QUICK) -> bool:
    """Whether the plan surely fits."""
    return all(isinstance(result, Placed) for _, result in answers(plan, rules, witness=False))


def surely_too_large(gangs: Gangs, plan: Plan, search_space: Space) -> bool:
    """Whether these gangs surely do not fit at once."""
    return isinstance(answer(gangs, plan, search_space, QUICK, witness=False), NoRoom)


# Whether a scheduler that never moves a pod may miss a placement that exists, depending on its order.


def starving(plan: Plan) -> GangPlan | None:
    """The last of different gangs that run at the same time, if any of them may find no room after the others."""
    together = (gangs for gangs in stages(tuple(gang for gang in plan.gangs if gang.copy == 0)) if len(gangs) > 1)
    return next(
        (gangs[-1] for gangs in together if any(_compete(gangs, p, plan.topology) for p in plan.topology.pools)), None
    )


def _compete(gangs: Gangs, pool: Pool, topology: ClusterTopology) -> bool:
    """Whether gangs may take the room of each other in a pool. Equal pods without levels fill any room."""
    users = [gang for gang in gangs if any(pods.pool == pool.name for pods in all_pods(gang.root))]
    everyone = [pods for gang in users for pods in all_pods(gang.root)]
    asks = [demand(pods, topology) for pods in once(everyone) if pods.pool == pool.name]
    units = [unit for gang in users for unit in once(walk(gang.root)) if unit.required or unit is gang.root]
    if len(users) < 2 or (all(each == asks[0] for each in asks) and not any(unit.required for unit in units)):
        return False
    return any(may_lack(unit, everyone, topology, (pool,)) for unit in units)


def may_lack(
    unit: Unit, everyone: Iterable[Pods], topology: ClusterTopology, pools: Iterable[Pool] | None = None
) -> bool:
    """Whether the pods around a unit, or its own smaller ones, could take the nodes that it needs.

    In the worst case, each of them takes a node of its own, in the domains where it matters.
    """
    own, around = list(all_pods(unit)), list(everyone)
    for pool in topology.pools if pools is None else pools:
        totals: Counter[Route] = Counter()
        for pods in own:
            totals[pods.route] += pods.total if pods.pool == pool.name else 0
        sets = [(demand(pods, topology), totals[pods.route]) for pods in once(own) if totals[pods.route]]
        others = sum(pods.total for pods in around if pods.pool == pool.name) - totals.total()
        sizes = _sizes(pool, unit.required) if sets else ()
        for large, _ in sets:
            nodes = _needed(large, sets, capacity(pool))
            if sum(max(size - nodes + 1, 0) for size in sizes) <= others:
                return True
    return False


def _sizes(pool: Pool, level: str) -> Iterable[int]:
    """The number of usable nodes in each domain of the level."""
    sizes: dict[tuple[str, ...], int] = {}
    depth = pool.depth(level) + 1 if level not in ("", HOST_LEVEL) else 0
    for path, nodes in usable(pool).items():
        sizes[path[:depth]] = sizes.get(path[:depth], 0) + len(nodes)
    return [1] * sum(sizes.values()) if level == HOST_LEVEL else sizes.values()


def _needed(large: Mapping[str, int], sets: Iterable[tuple[Mapping[str, int], int]], offered: Mapping[str, int]) -> int:
    """With how many nodes there is room for the pods like `large` wherever the other pods are."""
    alone, equal, in_the_way = per_node(large, offered)[0], 0, 0
    for asks, total in sets:
        left = {name: amount - asks.get(name, 0) * total for name, amount in offered.items()}
        equal += total * (asks == large)
        in_the_way += total * (asks != large and per_node(large, left)[0] < alone)
    return -(-equal // max(alone, 1)) + in_the_way
