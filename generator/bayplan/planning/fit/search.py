"""`prove`: every set of gangs that may run at the same time fits the cluster, or the reason why not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from bayplan.core.diagnostics import Route
from bayplan.core.values import grouped
from bayplan.model.plan import GangPlan, Occupied, Plan, Pods, Unit, all_pods, once, walk
from bayplan.model.topology import HOST_LEVEL, ClusterTopology, Pool
from bayplan.model.workflow import proven_copies
from bayplan.planning.fit.problem import (
    Problem,
    Space,
    capacity,
    demand,
    demands_by_pool,
    independent,
    left,
    offers,
    per_node,
    problem,
    room,
    space,
    usable,
)
from bayplan.planning.fit.witness import Answer, NoRoom, Placed, Run, Solved, Unknown, covers, placement, solve

# Decide whether gangs that run together fit a space: by Pareto fronts, then by first fit, then by a solver.

SEARCH_LIMIT = 300_000
LEAST = 200_000
BUDGET = 4_000_000
"""Steps of fronts: at first, the least of them if there are many independent pools, and after first fit and the solver.

They take about a tenth of a second, a hundredth, and a second."""

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
    """The answer for all pools. The search decides independent ones one by one."""
    found: list[Answer] = []
    parts = independent(instance)
    for each in parts:
        fronts = solve(each, max(SEARCH_LIMIT // len(parts), LEAST))
        answer = _counted(each, fronts, witness)
        if answer is None:
            answer = _tried(each, fronts, witness, quick, len(parts))
        if isinstance(answer, NoRoom):
            return answer
        found.append(answer)
    unknown = next((answer for answer in found if isinstance(answer, Unknown)), None)
    return unknown or Placed(tuple(run for answer in found if isinstance(answer, Placed) for run in answer.runs))


def _counted(instance: Problem, fronts: dict[int, Solved], witness: bool) -> Answer | None:
    """The answer of the fronts, if they reach the root."""
    root = fronts.get(instance.space.root.kind)
    if root is None:
        return None
    if not any(covers(vector, instance.need) for vector in root.before):
        return NoRoom()
    return Placed(placement(instance, fronts) if witness else ())


def _tried(instance: Problem, fronts: dict[int, Solved], witness: bool, quick: bool, parts: int = 1) -> Answer:
    """The answer for what takes too long to count; one of so many independent parts."""
    from bayplan.planning.fit import greedy, patterns
    from bayplan.planning.fit.solver import WHY, solved

    if overdrawn(instance):
        return NoRoom()
    answer = patterns.patterned(instance, fronts, patterns.STEPS // parts, witness=witness)
    if answer is not None:
        return answer
    runs = greedy.best_fit(instance)
    if runs is not None:
        return Placed(runs)
    answer = patterns.nested(instance, fronts, patterns.STEPS // parts)
    if answer is not None or quick:
        return Unknown(WHY) if answer is None else answer
    fronts = solve(instance, BUDGET // parts)
    answer = _counted(instance, fronts, witness)
    return solved(instance, fronts) if answer is None else answer


def overdrawn(instance: Problem) -> bool:
    """Whether all pods together request more of a resource than all nodes of their pool have."""
    nodes = instance.space.nodes()
    for pool in range(len(instance.space.pools)):
        hosts = [(instance.nodes[n], nodes[n]) for n, host in enumerate(instance.space.hosts) if host.pool == pool]
        for i in range(len(hosts[0][0])):
            asked = sum(shape.asks[i] * instance.totals[shape.item] for shape in instance.shapes if shape.pool == pool)
            if asked > sum(offered[i] * count for offered, count in hosts):
                return True
    return False


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
    occupied: Occupied


def faults(
    gangs: Iterable[GangPlan], topology: ClusterTopology, placed: Iterable[Run], occupied: Occupied | None = None
) -> Iterator[str]:
    """Everything that is wrong with a placement of these gangs at the same time; empty if it is correct."""
    runs: dict[tuple[str, str], list[Run]] = {}
    for run in placed:
        runs.setdefault((run.gang, run.pods), []).append(run)
    used = {node for each in runs.values() for run in each for node in run.nodes}
    layout = _Layout(topology, runs, dict(_where(topology, used)), occupied or {})
    together = tuple(gangs)
    yield from (f'node "{node}" is not in the topology or may not be used' for node in sorted(used - set(layout.where)))
    if used <= set(layout.where):
        yield from _counts(together, layout)
        yield from _planned(topology, used)
        yield from _loads(together, layout)
        yield from (fault for gang in together for unit in walk(gang.root) for fault in _shared(gang, unit, layout))


def _where(topology: ClusterTopology, used: set[str]) -> Iterator[tuple[str, tuple[Pool, Path]]]:
    for pool in topology.pools:
        out = pool.unusable_nodes()
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
    alike = {(layout.where[n][0].name, held, n if n in layout.occupied else ""): n for n, held in load.items()}
    for (_, held, _), node in alike.items():
        offered = left(capacity(layout.where[node][0]), layout.occupied.get(node, ()))
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
    """The largest sets of gangs that may run at the same time, in file order; () if there are more than `MOST`.

    Of the copies of a gang, these are as many as must fit at the same time. All copies are equal.
    """
    gangs = concurrent(gangs)
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


def simultaneous(gangs: tuple[GangPlan, ...]) -> tuple[tuple[GangPlan, ...], ...]:
    """The sets of gangs that must fit at the same time: the stages, or all gangs if there are too many stages."""
    return stages(gangs) or (concurrent(gangs),)


def concurrent(gangs: tuple[GangPlan, ...]) -> tuple[GangPlan, ...]:
    """The gangs without the copies that need not fit at the same time as others of their gang."""
    return tuple(gang for gang in gangs if gang.copy < proven_copies(gang.gang))


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


def by_gang(stage: Stage) -> dict[str, list[Run]]:
    """Gang -> where its pods run."""
    return grouped((run.gang, run) for run in stage.runs)


def moved(witness: tuple[Stage, ...]) -> tuple[str, Stage, Stage] | None:
    """The first gang that has other nodes in a later stage than in its first one, and these two stages."""
    first: dict[str, tuple[Stage, frozenset[Run]]] = {}
    for stage in witness if len(witness) > 1 else ():
        for name, runs in by_gang(stage).items():
            before, there = first.setdefault(name, (stage, frozenset(runs)))
            if there != frozenset(runs):
                return name, before, stage
    return None


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
    for gangs in simultaneous(plan.gangs):
        yield gangs, answer(gangs, plan, search_space, rules, witness=witness)


def search_space_of(plan: Plan, rules: Rules = FULL) -> Space:
    """The pools that the plan uses."""
    return space(plan.topology, demands_by_pool(plan.gangs, plan.topology, rules.channels), rules.policy, plan.occupied)


def answer(gangs: Gangs, plan: Plan, search_space: Space, rules: Rules = FULL, *, witness: bool = True) -> Answer:
    """The answer for some gangs at once. It verifies a witness; a false one is a bug."""
    result = search(gangs, plan.topology, search_space, channels=rules.channels, witness=witness, quick=rules.quick)
    if isinstance(result, Placed) and result.runs and rules == FULL:
        wrong = next(faults(gangs, plan.topology, result.runs, plan.occupied), "")
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
    """The last of different gangs that run at the same time, if any of them may find no room after the others.

    All copies of the others may run before it, at most `atOnce`.
    """
    together = (gangs for gangs in stages(tuple(gang for gang in plan.gangs if gang.copy == 0)) if len(gangs) > 1)
    return next((gangs[-1] for gangs in together if any(lacking(gangs, p, plan) for p in plan.topology.pools)), None)


def lacking(gangs: Gangs, pool: Pool, plan: Plan) -> Gangs:
    """The gangs of which others may take the room in a pool. Equal pods without levels fill any room."""
    users = [gang for gang in gangs if any(pods.pool == pool.name for pods in all_pods(gang.root))]
    copies = {gang.name: gang.gang.at_once or gang.gang.replicas for gang in users}
    everyone = [pods for gang in users for pods in all_pods(gang.root) for _ in range(copies[gang.name])]
    asks = [demand(pods, plan.topology) for pods in once(everyone) if pods.pool == pool.name]
    units = [[unit for unit in once(walk(gang.root)) if unit.required or unit is gang.root] for gang in users]
    placed = any(unit.required for own in units for unit in own)
    if len(users) < 2 or (all(each == asks[0] for each in asks) and not placed):
        return ()
    pairs, around, known = zip(users, units, strict=True), _totals(everyone), dict[object, bool]()
    return tuple(gang for gang, own in pairs if any(_lacks(unit, around, plan, (pool,), known) for unit in own))


def may_lack(unit: Unit, everyone: Iterable[Pods], plan: Plan) -> bool:
    """Whether the pods around a unit, or its own smaller ones, could take the nodes that it needs.

    In the worst case, each of them takes a node of its own, in the domains where it matters.
    """
    return _lacks(unit, _totals(everyone), plan, plan.topology.pools, {})


def _totals(everyone: Iterable[Pods]) -> Counter[str]:
    """Pool -> how many pods."""
    totals: Counter[str] = Counter()
    for pods in everyone:
        totals[pods.pool] += pods.total
    return totals


def _lacks(unit: Unit, around: Mapping[str, int], plan: Plan, pools: Iterable[Pool], known: dict[object, bool]) -> bool:
    """`known`: the answers for equal units."""
    own = list(all_pods(unit))
    for pool in pools:
        totals: Counter[Route] = Counter()
        for pods in own:
            totals[pods.route] += pods.total if pods.pool == pool.name else 0
        sets = [(demand(pods, plan.topology), totals[pods.route]) for pods in once(own) if totals[pods.route]]
        others = around[pool.name] - totals.total() if sets else 0
        key = pool.name, unit.required, others, tuple((tuple(asks.items()), total) for asks, total in sets)
        if key not in known:
            domains = _domains_of(pool, unit.required, plan.occupied) if sets else ()
            known[key] = any(sum(_spare(large, sets, hosts) for hosts in domains) <= others for large, _ in sets)
        if known[key]:
            return True
    return False


Hosts = Iterable[tuple[Mapping[str, int], int]]
"""What nodes have left, and how many nodes have that."""


def _domains_of(pool: Pool, level: str, occupied: Occupied) -> list[Hosts]:
    """The usable nodes of each domain of the level."""
    found: dict[tuple[str, ...], list[str]] = {}
    depth = pool.depth(level) + 1 if level not in ("", HOST_LEVEL) else 0
    for path, nodes in usable(pool, busy=occupied).items():
        found.setdefault(path[:depth], []).extend(nodes)
    domains = (offers(pool, nodes, occupied) for nodes in found.values())
    if level != HOST_LEVEL:
        return list(domains)
    return [((offered, 1),) for hosts in domains for offered, count in hosts for _ in range(count)]


def _spare(large: Mapping[str, int], sets: Iterable[tuple[Mapping[str, int], int]], hosts: Hosts) -> int:
    """How many nodes others must take before a domain has no room for the pods like `large`, wherever the other pods
    of the unit are."""
    places = sorted(((per_node(large, offered)[0], count) for offered, count in hosts), reverse=True)
    equal = sum(total for asks, total in sets if asks == large)
    unlike = [(asks, total) for asks, total in sets if asks != large]
    taken = sum(total for asks, total in unlike if any(_in_the_way(asks, total, large, each) for each, _ in hosts))
    too_many = sum(each * count for each, count in places) - equal + 1  # without so many places it has no room
    nodes = 0
    for each, count in places:
        if too_many > 0:
            lost = min(-(-too_many // max(each, 1)), count)
            nodes, too_many = nodes + lost, too_many - lost * each
    return max(nodes - taken, 0)


def _in_the_way(asks: Mapping[str, int], total: int, large: Mapping[str, int], offered: Mapping[str, int]) -> bool:
    """Whether so many pods on a node could leave room for fewer large ones."""
    rest = {name: amount - asks.get(name, 0) * total for name, amount in offered.items()}
    return per_node(large, rest)[0] < per_node(large, offered)[0]
