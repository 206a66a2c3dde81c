"""KAI's search for the nodes of one gang beside what runs.

KAI places subgroups one after another, in the order of their names. It tries the domains that its estimate admits, the
fullest first, and takes the first one in which all parts of the subgroup fit. It never moves a subgroup for a later
sibling. KAI v0.13.1 to v0.17.0: pkg/scheduler/actions/common/allocate.go, plugins/nodeplacement/pack.go,
plugins/topology/{job_filtering,common,node_scoring}.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import floor
from typing import NamedTuple

from bayplan.backends.kai.estimate import GPU, RESERVED, Requests
from bayplan.model.plan import CHANNEL, SLOTS, WHOLE, GangPlan, Plan, Pods, Unit, all_pods, uses_dra, walk
from bayplan.model.target import Target
from bayplan.model.topology import HOSTNAME_LABEL, ClusterTopology, Pool
from bayplan.planning.fit.problem import capacity, demand, left
from bayplan.planning.fit.witness import Meter, TooLongError

NAMES = ("cpu", "memory", GPU, SLOTS, CHANNEL)
CPU, _, CARDS, SLOT, ESTIMATED = range(5)
"""The estimate compares NAMES before this. The order of domains follows from those before SLOT."""
PLENTY = 10**17
"""The free amount of what the topology does not state."""
MOST_CHARACTERS = 63
BUDGET = 200_000
"""How many nodes bayplan looks at, at most."""

Amounts = tuple[int, ...]  # by NAMES
Path = tuple[str, ...]
Nodes = tuple[int, ...]
Free = list[Amounts]  # by number of node
Ranks = dict[int, int]  # node -> what KAI prefers it for its domain


class Leaf(NamedTuple):
    """The equal pods of a subgroup that must start."""

    pods: Pods
    asks: Amounts


class Member(NamedTuple):
    """A subgroup. Depths count from 1; 0 means no level."""

    name: str
    labels: Path  # of the levels of its Topology; empty without a placement
    required: int
    preferred: int
    parts: tuple[Member, ...]
    leaves: tuple[Leaf, ...]


class Domain(NamedTuple):
    """A domain; nodes are domains of the last level."""

    path: Path
    children: tuple[Domain, ...]
    nodes: Nodes


class Node(NamedTuple):
    """A node, and what makes KAI choose it."""

    name: str
    pool: Pool
    path: dict[str, str]  # label -> value
    usable: bool


def names(plan: Plan, gang: GangPlan, target: Target, leaves: frozenset[str]) -> Mapping[str, str] | None:
    """New names of subgroups in whose order KAI finds nodes for the gang if no other one of the workflow runs.

    `leaves`: the units that are leaf subgroups. The result is empty if KAI finds nodes anyway, or if bayplan cannot
    follow the search; None if KAI finds no nodes in any order that bayplan tries.
    """
    pools = plan.topology.pools
    known = target.since("kai", "0.13") and not any(pool.template or RESERVED in pool.unusable for pool in pools)
    if not (
        known
        and _apart(pools)
        and _looks(plan, gang) <= BUDGET
        and all(_is_plain(pods, plan, target) for pods in all_pods(gang.root))
    ):
        return {}
    search = _Search(plan, leaves, target)
    fixed = any(units.optional for unit in walk(gang.root) for units in unit.groups)
    root = search.member(gang.root)
    try:
        if search.finds(root):
            return {}
        for order in () if fixed else (_finest_first, _last_first):
            found = dict(_numbered(search.arranged(root, order)))
            if search.finds(search.arranged(root, order)) and max(map(len, found.values())) <= MOST_CHARACTERS:
                return found
    except TooLongError:
        return {}
    return None


def _looks(plan: Plan, gang: GangPlan) -> int:
    """How many nodes KAI looks at, at least, if it finds nodes for every group of a gang without a level."""
    units = [] if gang.root.required or gang.root.preferred else [m for each in gang.root.groups for m in each.members]
    pools = Counter(next(all_pods(unit)).pool for unit in units if unit.required or unit.preferred)
    sizes = {pool.name: sum(len(domain.nodes) for domain in pool.domains) for pool in plan.topology.pools}
    return sum(sizes.get(pool, 0) * count for pool, count in pools.items())


def _by_name(parts: Iterable[Member]) -> list[Member]:
    return sorted(parts, key=lambda part: part.name)


def _finest_first(parts: Iterable[Member]) -> list[Member]:
    """Groups of a finer level first, then those with more GPUs."""
    return sorted(_by_name(parts), key=lambda part: (-part.required, -_total(part)[CARDS]))


def _last_first(parts: Iterable[Member]) -> list[Member]:
    return _by_name(parts)[::-1]


def _numbered(member: Member) -> Iterator[tuple[str, str]]:
    """Names of the subgroups in their order: a number before each."""
    for number, part in enumerate(member.parts):
        yield part.name, f"{number:0{len(str(len(member.parts) - 1))}}-{part.name}"
        yield from _numbered(part)


def _apart(pools: tuple[Pool, ...]) -> bool:
    """Whether pods of one pool never run on nodes of another, because each pool has a label of its own."""
    selectors = [pool.node.node_selector.items() for pool in pools]
    return len(pools) == 1 or not any(
        a <= b for i, a in enumerate(selectors) for j, b in enumerate(selectors) if i != j
    )


def _is_plain(pods: Pods, plan: Plan, target: Target) -> bool:
    """Whether the pods request only what the search counts."""
    asks = demand(pods, plan.topology)
    cards = {name for name in asks if name.startswith("accelerator:")}
    accelerator = pods.spec.accelerator
    whole = accelerator is None or (accelerator.whole and not pods.spec.template)
    counted = target.since("kai", "0.14") or not uses_dra(pods, plan.topology)
    return whole and counted and bool(cards or asks.keys() & {*NAMES[:SLOT]}) and asks.keys() <= {*NAMES, WHOLE, *cards}


def _vector(amounts: dict[str, int], missing: int) -> Amounts:
    cards = sum(amount for name, amount in amounts.items() if name.startswith("accelerator:"))
    return tuple(cards if name == GPU else amounts.get(name, missing if name in NAMES[:2] else 0) for name in NAMES)


class _Search:
    """What KAI knows of the cluster, and the budget of the search."""

    def __init__(self, plan: Plan, leaves: frozenset[str], target: Target) -> None:
        self.plan, self.target = plan, target
        self.leaves = leaves
        self.mixed = target.since("kai", "0.15")
        self.requests = Requests(plan, target)
        self.meter = Meter(BUDGET)
        self.nodes = tuple(_nodes(plan.topology))
        offered = {pool.name: capacity(pool) for pool in plan.topology.pools}
        vectors = {name: _vector(amounts, PLENTY) for name, amounts in offered.items()}
        self.free = [
            _vector(left(offered[node.pool.name], plan.occupied[node.name]), PLENTY)
            if node.name in plan.occupied
            else vectors[node.pool.name]
            for node in self.nodes
        ]
        self.trees: dict[Path, Domain] = {}

    def member(self, unit: Unit) -> Member:
        """A unit as KAI sees it: of an optional group only as many instances as must start."""
        parts: list[Member] = []
        for units in unit.groups:
            members = [self.member(each) for each in units.members]
            if units.optional and self.mixed:
                parts.append(_group(units.name, _by_name(members)[: units.minimum]))
            else:
                parts += members
        own = [self.leaf(pods) for pods in unit.pods]
        if unit.name in self.leaves:
            return self.constrained(unit, Member(unit.name, (), 0, 0, (), tuple(own)))
        parts += [Member(each.pods.name, (), 0, 0, (), (each,)) for each in own]
        return self.arranged(self.constrained(unit, _group(unit.name, parts)), _by_name)

    def arranged(self, member: Member, order: Callable[[Iterable[Member]], list[Member]]) -> Member:
        """The subgroups in another order. KAI below 0.15 places groups before podSets."""
        parts = order(self.arranged(part, order) for part in member.parts)
        return member._replace(parts=tuple(parts if self.mixed else sorted(parts, key=lambda part: not part.parts)))

    def constrained(self, unit: Unit, member: Member) -> Member:
        """The subgroup with the levels of its constraint, if it has one."""
        topology = self.plan.topology
        pools = [topology.pool(name) for name in dict.fromkeys(leaf.pods.pool for leaf in member.leaves)]
        several = len({tuple(level.label for level in pool.levels) for pool in pools if pool}) > 1
        if several or not (pools[0] and (unit.required or unit.preferred)):
            return member
        finest = unit.preferred or unit.required
        required, preferred = (pools[0].depth(level) + 1 if level else 0 for level in (unit.required, finest))
        labels = (*(level.label for level in pools[0].levels), HOSTNAME_LABEL)
        return member._replace(labels=labels, required=required, preferred=preferred)

    def leaf(self, pods: Pods) -> Leaf:
        """The pods of a podSet that must start."""
        return Leaf(pods, _vector(demand(pods, self.plan.topology), 0))

    def finds(self, root: Member) -> bool:
        """Whether KAI finds nodes for the gang."""
        return self.place(root, tuple(range(len(self.nodes))), self.free, {}) is not None

    def place(self, member: Member, nodes: Nodes, free: Free, ranks: Ranks) -> Free | None:
        """What is free after KAI has placed the subgroup; None if it finds no place."""
        choices, ranks = self.choices(member, nodes, free, ranks) if member.labels else ([nodes], ranks)
        for chosen in choices:
            left: Free | None = list(free)
            if not member.parts:
                left = self.fill(member.leaves[0], chosen, free, ranks)
            for part in member.parts:
                left = self.place(part, chosen, left, ranks) if left else None
            if left:
                return left
        return None

    def fill(self, leaf: Leaf, nodes: Nodes, free: Free, ranks: Ranks) -> Free | None:
        """KAI packs pods on the fullest node of the preferred domain."""
        measured = CARDS if leaf.asks[CARDS] else CPU
        own = [n for n in nodes if self.nodes[n].pool.name == leaf.pods.pool and self.nodes[n].usable]
        own.sort(key=lambda n: (-ranks.get(n, 0), free[n][measured], self.nodes[n].name))
        left, waiting = list(free), leaf.pods.minimum
        self.meter.spend(len(own))
        for number in own:
            fit = min([waiting, *(has // asked for has, asked in zip(free[number], leaf.asks, strict=True) if asked)])
            left[number] = tuple(has - fit * asked for has, asked in zip(free[number], leaf.asks, strict=True))
            waiting -= fit
            if not waiting:
                return left
        return None

    def choices(self, member: Member, nodes: Nodes, free: Free, ranks: Ranks) -> tuple[list[Nodes], Ranks]:
        """The domains that KAI tries, in this order, and how it ranks their nodes."""
        tree = self.tree(member.labels)
        valid = frozenset(tree.nodes).intersection(nodes)
        start = tree
        while len(start.path) < member.preferred:
            inside = [child for child in start.children if not valid.isdisjoint(child.nodes)]
            if len(inside) != 1:
                break
            start = inside[0]
        tasks = self.requests.tasks(leaf.pods for leaf in member.leaves)
        largest = tuple(max(leaf.asks[i] for leaf in member.leaves) for i in range(ESTIMATED))
        rooms: dict[Path, tuple[Amounts, int]] = {}
        self.measure(start, largest, free, rooms)
        shares = {path: _share(_total(member), room) for path, (room, _) in rooms.items()}
        rows = [[start]]
        for _ in range(member.preferred - len(start.path)):
            orders = (sorted(each.children, key=lambda each: (-shares[each.path], each.path)) for each in rows[-1])
            rows.append([child for order in orders for child in order])
        ranks = {n: floor((i + 1) / len(rows[-1]) * 10) for i, domain in enumerate(rows[-1]) for n in domain.nodes}

        def admits(path: Path) -> bool:
            return rooms[path][1] >= tasks.pods if tasks.by_largest else shares[path] <= 1

        tried = (each for row in reversed(rows) for each in row if len(each.path) >= member.required)
        admitted = [each for each in tried if admits(each.path)] if admits(start.path) else []
        return [tuple(n for n in each.nodes if n in valid) for each in admitted], ranks

    def measure(
        self, domain: Domain, largest: Amounts, free: Free, rooms: dict[Path, tuple[Amounts, int]]
    ) -> tuple[Amounts, int]:
        """What is free in each domain: amounts, and places for the largest pod."""
        if domain.children:
            below = [self.measure(child, largest, free, rooms) for child in domain.children]
            found = tuple(map(sum, zip(*(room for room, _ in below), strict=True))), sum(count for _, count in below)
        else:
            room = free[domain.nodes[0]]
            found = room[:SLOT], min(has // asked for has, asked in zip(room, largest, strict=False) if asked)
            self.meter.spend(1)
        rooms[domain.path] = found
        return found

    def tree(self, labels: Path) -> Domain:
        """The Topology with these labels: the nodes that have all of them."""
        if labels not in self.trees:
            rows = [
                (tuple(node.path[each] for each in labels), n)
                for n, node in enumerate(self.nodes)
                if node.path.keys() >= set(labels)
            ]
            self.trees[labels] = _tree((), rows)
        return self.trees[labels]


def _group(name: str, parts: Iterable[Member]) -> Member:
    inside = tuple(parts)
    return Member(name, (), 0, 0, inside, tuple(leaf for part in inside for leaf in part.leaves))


def _total(member: Member) -> Amounts:
    """What the pods request together, without slots and channels."""
    return tuple(sum(leaf.asks[i] * leaf.pods.minimum for leaf in member.leaves) for i in range(SLOT))


def _share(total: Amounts, room: Amounts) -> float:
    """The part of the free amount that the pods take, of the scarcest resource."""
    return max(need / has if has > 0 else 1000.0 for need, has in zip(total, room, strict=True) if need)


def _tree(path: Path, rows: list[tuple[Path, int]]) -> Domain:
    below: dict[str, list[tuple[Path, int]]] = {}
    for row in rows if rows and len(rows[0][0]) > len(path) else ():
        below.setdefault(row[0][len(path)], []).append(row)
    return Domain(
        path, tuple(_tree((*path, value), inside) for value, inside in below.items()), tuple(n for _, n in rows)
    )


def _nodes(topology: ClusterTopology) -> Iterator[Node]:
    for pool in topology.pools:
        out = {name for names in pool.unusable.values() for name in names}
        for row in pool.domains:
            values = {level.label: value for level, value in zip(pool.levels, row.path, strict=False)}
            yield from (Node(name, pool, {**values, HOSTNAME_LABEL: name}, name not in out) for name in row.nodes)
