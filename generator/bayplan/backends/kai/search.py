"""KAI's search for the nodes of one gang beside what runs.

KAI places subgroups one after another, in the order of their names. It tries the domains that its estimate admits, the
fullest first, and takes the first one in which all parts of the subgroup fit. It never moves a subgroup for a later
sibling. KAI v0.13.1 to v0.17.0: pkg/scheduler/actions/common/allocate.go, plugins/nodeplacement/pack.go,
plugins/topology/{job_filtering,common,node_scoring}.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import permutations
from math import floor
from typing import NamedTuple

from bayplan.backends.kai.estimate import GPU, RESERVED, Order, Requests
from bayplan.model.plan import BOUNDED, CHANNEL, SLOTS, WHOLE, GangPlan, Plan, Pods, Unit, all_pods, uses_dra, walk
from bayplan.model.target import Target
from bayplan.model.topology import HOSTNAME_LABEL, ClusterTopology, Pool
from bayplan.planning.fit.problem import capacity, demand, left, room
from bayplan.planning.fit.search import may_lack
from bayplan.planning.fit.witness import Meter, TooLongError

FIRST = ("cpu", "memory", GPU)
CPU, _, CARDS = range(len(FIRST))
PLENTY = 10**17
"""The free amount of what the topology does not state."""
MOST_CHARACTERS = 63
FEW = 5
"""Of so many parts of a gang, at most, bayplan tries every order."""
BUDGET = 200_000
"""How many nodes bayplan looks at, at most."""

Amounts = tuple[int, ...]  # by the names of the search
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

    @property
    def cards(self) -> bool:
        """Whether it has GPUs, which KAI keeps for pods that request some (plugins/resourcetype)."""
        return bool(self.pool.node.accelerators)


IN_TIME = "the cluster has too many nodes, and the gang too many groups, to follow its search"
SHARED = "its pods share GPUs"
BESIDE_RESERVED = "it depends on what runs on the reserved nodes"


def order(plan: Plan, gang: GangPlan, target: Target, leaves: frozenset[str]) -> Order:
    """In which order of subgroups KAI finds nodes for the gang. `leaves`: the units that are leaf subgroups.

    The topology does not say what runs on reserved nodes, so KAI must find nodes whether they are full or empty.
    """
    shared = any(pods.spec.accelerator and not pods.spec.accelerator.whole for pods in all_pods(gang.root))
    if shared or _looks(plan, gang) > BUDGET:
        return Order(doubt=SHARED if shared else IN_TIME, never=shared) if _tight(plan, gang) else Order()
    reserved = any(pool.unusable.get(RESERVED) for pool in plan.topology.pools)
    searches = [_Search(plan, gang, leaves, target, full) for full in ((True, False) if reserved else (True,))]
    possible: list[Mapping[str, str]] = []
    try:
        for names, root in _orders(searches[0], gang):
            held = [search.finds(root) for search in searches]
            if all(held):
                return Order(names)
            if not target.since("kai", "0.13"):
                return Order(doubt="bayplan knows its search only since KAI 0.13", never=True)
            possible += [names] if any(held) else []
    except TooLongError:
        return Order(doubt=IN_TIME) if _tight(plan, gang) else Order()
    return Order(possible[0], BESIDE_RESERVED) if possible else Order(never=True)


def _orders(search: _Search, gang: GangPlan) -> Iterator[tuple[Mapping[str, str], Member]]:
    """The orders to try, each as new names and as the gang in that order. Optional groups keep theirs."""
    root = search.member(gang.root)
    yield {}, root
    if any(units.optional for unit in walk(gang.root) for units in unit.groups):
        return
    finest = search.arranged(root, _finest_first)
    others = permutations(finest.parts) if len(finest.parts) <= FEW else ()
    roots = (finest, search.arranged(root, _last_first), *(search.ordered(finest, parts) for parts in others))
    named = ((dict(_numbered(arranged)), arranged) for arranged in roots)
    yield from ((names, arranged) for names, arranged in named if max(map(len, names.values())) <= MOST_CHARACTERS)


def _tight(plan: Plan, gang: GangPlan) -> bool:
    """Whether some order may find no nodes: parts of the gang could take what others need, or levels are nested."""
    placed = [unit for unit in walk(gang.root) if unit.required]
    nested = any(inner.required for unit in placed for inner in walk(unit) if inner is not unit)
    everyone = list(all_pods(gang.root))
    return nested or any(may_lack(unit, everyone, plan) for unit in {id(u): u for u in (gang.root, *placed)}.values())


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
    return sorted(_by_name(parts), key=lambda part: (-part.required, -_cards(part)))


def _cards(part: Member) -> int:
    return sum(leaf.asks[CARDS] * leaf.pods.minimum for leaf in part.leaves)


def _last_first(parts: Iterable[Member]) -> list[Member]:
    return _by_name(parts)[::-1]


def _numbered(member: Member) -> Iterator[tuple[str, str]]:
    """Names of the subgroups in their order: a number before each."""
    for number, part in enumerate(member.parts):
        yield part.name, f"{number:0{len(str(len(member.parts) - 1))}}-{part.name}"
        yield from _numbered(part)


def _admits(pods: Pool, nodes: Pool) -> bool:
    """Whether pods of one pool may run on nodes of another: these have its labels, and no taint that it lacks."""
    labels = pods.node.node_selector.items() <= nodes.node.node_selector.items()
    return pods is nodes or (labels and all(each in pods.node.tolerations for each in nodes.node.tolerations))


class _Search:
    """What KAI knows of the cluster, and the budget of the search."""

    def __init__(self, plan: Plan, gang: GangPlan, leaves: frozenset[str], target: Target, full: bool) -> None:
        self.plan, self.target = plan, target
        self.leaves = leaves
        self.mixed = target.since("kai", "0.15")
        self.requests = Requests(plan, target)
        self.meter = Meter(BUDGET)
        pools = plan.topology.pools
        asked = dict.fromkeys(name for pods in all_pods(gang.root) for name in demand(pods, plan.topology))
        cards = {name for name in asked if name.startswith("accelerator:")}
        claimed = any(uses_dra(pods, plan.topology) for pods in all_pods(gang.root))
        uncounted = cards if claimed and not target.since("kai", "0.14") else ()
        unseen = [name for name in asked if name == CHANNEL or name in uncounted or name.startswith(BOUNDED)]
        extended = [name for name in asked if name not in {*FIRST, SLOTS, WHOLE, *cards, *unseen}]
        self.names = (*FIRST, *extended, SLOTS, *unseen)
        """The order of domains follows from those before SLOTS, and the estimate from SLOTS too."""
        self.slot = self.names.index(SLOTS)
        self.nodes = tuple(_nodes(plan.topology))
        offered = {pool.name: capacity(pool) for pool in pools}
        vectors = {name: self.vector(amounts) for name, amounts in offered.items()}
        taken = {name for pool in pools for name in pool.unusable.get(RESERVED, ()) if full}
        self.free = [
            (0,) * len(self.names)
            if node.name in taken
            else self.vector(left(offered[node.pool.name], plan.occupied[node.name]))
            if node.name in plan.occupied
            else vectors[node.pool.name]
            for node in self.nodes
        ]
        self.admitting = {pool.name: {each.name for each in pools if _admits(pool, each)} for pool in pools}
        self.trees: dict[Path, Domain] = {}

    def vector(self, amounts: Mapping[str, int], asked: bool = False) -> Amounts:
        """The amounts that a node has free, or that a pod has `asked` for."""
        counted = (name for name in amounts if name.startswith("accelerator:") and name not in self.names)
        cards = sum(amounts[name] for name in counted)
        has = (amounts.get(name, 0) if asked else room(amounts, name) for name in self.names)
        return tuple(
            cards if name == GPU else PLENTY if amount is None else amount
            for name, amount in zip(self.names, has, strict=True)
        )

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
        """The subgroups in another order."""
        return self.ordered(member, order(self.arranged(part, order) for part in member.parts))

    def ordered(self, member: Member, parts: Iterable[Member]) -> Member:
        """The parts in this order. KAI below 0.15 places groups before podSets."""
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
        return Leaf(pods, self.vector(demand(pods, self.plan.topology), asked=True))

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
        pools, spared = self.admitting[leaf.pods.pool], not leaf.asks[CARDS]
        own = [n for n in nodes if self.nodes[n].pool.name in pools and self.nodes[n].usable]
        own.sort(
            key=lambda n: (-ranks.get(n, 0), spared and self.nodes[n].cards, free[n][measured], self.nodes[n].name)
        )
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
        largest = tuple(max(leaf.asks[i] for leaf in member.leaves) for i in range(self.slot + 1))
        rooms: dict[Path, tuple[Amounts, int]] = {}
        self.measure(start, largest, free, rooms)
        total = self.total(member)
        shares = {path: _share(total, free) for path, (free, _) in rooms.items()}
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
            found = tuple(map(sum, zip(*(has for has, _ in below), strict=True))), sum(count for _, count in below)
        else:
            here = free[domain.nodes[0]]
            pairs = zip(here, largest, strict=False) if any(largest[: self.slot]) else ()
            found = here[: self.slot], min((has // asked for has, asked in pairs if asked), default=PLENTY)
            self.meter.spend(1)
        rooms[domain.path] = found
        return found

    def total(self, member: Member) -> Amounts:
        """What the pods request together, without slots, channels and ports."""
        return tuple(sum(leaf.asks[i] * leaf.pods.minimum for leaf in member.leaves) for i in range(self.slot))

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


def _share(total: Amounts, free: Amounts) -> float:
    """The part of the free amount that the pods take, of the scarcest resource."""
    shares = (need / has if has > 0 else 1000.0 for need, has in zip(total, free, strict=True) if need)
    return max(shares, default=0.0)


def _tree(path: Path, rows: list[tuple[Path, int]]) -> Domain:
    below: dict[str, list[tuple[Path, int]]] = {}
    for row in rows if rows and len(rows[0][0]) > len(path) else ():
        below.setdefault(row[0][len(path)], []).append(row)
    return Domain(
        path, tuple(_tree((*path, value), inside) for value, inside in below.items()), tuple(n for _, n in rows)
    )


def _nodes(topology: ClusterTopology) -> Iterator[Node]:
    for pool in topology.pools:
        out = pool.unusable_nodes()
        for row in pool.domains:
            values = {level.label: value for level, value in zip(pool.levels, row.path, strict=False)}
            yield from (Node(name, pool, {**values, HOSTNAME_LABEL: name}, name not in out) for name in row.nodes)
