"""What gangs that run together request of a space: pod shapes, and the types of units that must share a domain."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from bayplan import accelerators, fabrics
from bayplan.kube import pod, quantity
from bayplan.kube.ranks import master_port
from bayplan.model.manifest import PodParts
from bayplan.model.plan import (
    BOUNDED,
    CHANNEL,
    ONE,
    OPEN,
    SLOTS,
    WHOLE,
    GangPlan,
    Occupant,
    Occupied,
    Pods,
    Unit,
    accelerator,
    all_pods,
)
from bayplan.model.topology import ClusterTopology, NodeShape, Pool

# What one pod requests of a node, and what one node offers: the only code that the search and the verifier share.

DEFAULT_SLOTS = 110 * ONE
"""Pods per node if the topology does not state them: the kubelet's default `maxPods` (Kubernetes 1.32 to 1.37)."""


def demand(pods: Pods, topology: ClusterTopology) -> dict[str, int]:
    """What one pod of `pods` requests of its node: cards, channel, whole node, then requests (or limits) and network
    cards, one pod slot.

    Sidecars and init containers count as the kubelet counts them. Zero amounts are left out.
    """
    pool = topology.pool(pods.pool) or Pool(pods.pool, NodeShape())
    requests = _requests(pods, pool)
    cards = {accelerator(kind): amount for kind, amount in _cards(pods, pool, topology, requests).items()}
    marks = {CHANNEL: ONE if pods.compute_domain else 0, WHOLE: ONE if pods.spec.whole_node else 0}
    devices = {**fabrics.amounts(pods.spec, topology), **_slices(pods, topology)}
    # resources that count cards or shares of cards are not amounts of the node
    parts = {name for kind in topology.accelerators.values() for name in accelerators.part_names(kind)}
    parts |= _card_names(topology).keys()
    plain = {name: amount for name, amount in sorted(requests.items()) if name not in parts}
    plain |= {name: max(amount * ONE, plain.get(name, 0)) for name, amount in sorted(devices.items())}
    bounded = fabrics.bounded(pods.spec, topology, pool, _master(pods))
    marks |= {BOUNDED + name: amount * ONE for name, amount in bounded.items()}
    return {name: amount for name, amount in {**cards, **marks, **plain, SLOTS: ONE}.items() if amount > 0}


def _master(pods: Pods) -> int:
    """The port on which rank 0 listens, if the podSet has only this pod; with several pods, only one is rank 0."""
    first = pods.ranks is not None and pods.ranks.master.pods in (pods.name, *pods.instances)
    return master_port(pods) if first and pods.replicas == 1 else 0


def capacity(pool: Pool) -> dict[str, int]:
    """What one node of a pool offers to pods."""
    node = pool.node
    cards = {accelerator(node.accelerator): node.accelerators * ONE} if node.accelerator else {}
    return {**cards, CHANNEL: ONE, WHOLE: ONE, SLOTS: DEFAULT_SLOTS, **node.resources}


def room(offered: Mapping[str, int], name: str) -> int | None:
    """How much of a resource a node has; None if it is not stated and does not limit."""
    if name in offered:
        return offered[name]
    if name.startswith(BOUNDED):
        return int(name.removeprefix(BOUNDED).partition(":")[0]) * ONE
    return None if name in OPEN else 0


def left(offered: Mapping[str, int], occupants: Iterable[Occupant]) -> dict[str, int]:
    """What occupants leave of the amounts that limit a node."""
    rest = dict(offered)
    for name, amount in quantity.added(each.amounts for each in occupants).items():
        has = room(offered, name)
        if has is not None:
            rest[name] = max(has - amount, 0)
    return rest


def offers(pool: Pool, nodes: Iterable[str], occupied: Occupied) -> list[tuple[Mapping[str, int], int]]:
    """What nodes of a pool have left, each with the number of nodes that have the same left."""
    offered = capacity(pool)
    kinds: dict[tuple[tuple[str, int], ...] | None, int] = {}
    for node in nodes:
        rest = tuple(left(offered, occupied[node]).items()) if node in occupied else None
        kinds[rest] = kinds.get(rest, 0) + 1
    return [(offered if rest is None else dict(rest), count) for rest, count in kinds.items()]


def per_node(requested: Mapping[str, int], offered: Mapping[str, int]) -> tuple[int, str]:
    """How many pods with this demand fit on an empty node, and the limiting resource (the first in their order)."""
    limits = [(has // amount, name) for name, amount in requested.items() if (has := room(offered, name)) is not None]
    return min(limits, key=lambda limit: limit[0])


def _cards(pods: Pods, pool: Pool, topology: ClusterTopology, requests: Mapping[str, int]) -> dict[str, int]:
    """Cards by accelerator kind, in every form of a request. A whole node takes all cards of its node.

    Shares count as the part of a card that the podSet's accelerator says.
    """
    cards = {kind: requests.get(name, 0) for name, kind in _card_names(topology).items()}
    if pods.spec.accelerator:
        kind = pods.spec.accelerator.name
        cards[kind] = max(cards.get(kind, 0), pods.spec.accelerator.per_pod * pods.spec.accelerator.portion)
    if pods.spec.whole_node and pool.node.accelerator:
        kind = pool.node.accelerator
        cards[kind] = max(cards.get(kind, 0), pool.node.accelerators * ONE)
    return cards


def _slices(pods: Pods, topology: ClusterTopology) -> dict[str, int]:
    """Slices of cards that have a resource of their own."""
    accelerator = pods.spec.accelerator
    kind = topology.accelerators.get(accelerator.name) if accelerator else None
    return accelerators.amounts(accelerator, kind) if accelerator and kind else {}


def _card_names(topology: ClusterTopology) -> dict[str, str]:
    """Extended resource name -> the accelerator kind that it counts cards of."""
    return {kind.resources["count"]: name for name, kind in topology.accelerators.items() if "count" in kind.resources}


def _requests(pods: Pods, pool: Pool) -> dict[str, int]:
    spec = pods.spec
    if not (spec.template or pool.template or spec.init_containers or spec.sidecars):
        return quantity.amounts(spec.resources)
    pod_spec = pod.template(spec, pool, PodParts(resources=spec.resources), ())["spec"]
    before = []
    for container in pod_spec.get("initContainers") or ():
        mover = pod.mover_kind(container)
        if mover == "upload" and spec.data.uploads:
            before.append({**container, "restartPolicy": "Always"})
        elif mover not in ("fetch", "upload") or (mover == "fetch" and spec.data.inputs):
            before.append(container)
    before.sort(key=lambda each: pod.mover_kind(each) != "fetch")  # as `data` orders them
    together = quantity.of_containers(pod_spec.get("containers") or (), before, quantity.requested)
    return quantity.added((together | quantity.requested(pod_spec), quantity.amounts(pod_spec.get("overhead") or {})))


# The cluster as a tree of places. Places that offer the same have one `kind`, so the search solves equal racks once.

SPARE = "spare"
Step = tuple[str, str]  # node label, value


class Place(NamedTuple):
    """A domain. Pools with the same first labels share places; `hosts` are the usable nodes directly below it."""

    path: tuple[Step, ...]
    children: tuple[Place, ...]
    hosts: tuple[tuple[int, tuple[str, ...]], ...]  # number of the host, node names
    kind: int

    @property
    def values(self) -> tuple[str, ...]:
        """The path without the labels."""
        return tuple(value for _, value in self.path)


class Kind(NamedTuple):
    """What all places of one kind have below them: how many of each kind. `~h` is a node like host number h."""

    depth: int
    groups: tuple[tuple[int, int], ...]


class Host(NamedTuple):
    """Nodes of one pool with the same free amounts. None: nothing runs there."""

    pool: int
    free: tuple[tuple[str, int], ...] | None = None


class Space(NamedTuple):
    """Some pools of a topology. The root has depth 0, a pool's first level depth 1."""

    pools: tuple[Pool, ...]
    hosts: tuple[Host, ...]
    root: Place
    kinds: tuple[Kind, ...]

    def number(self, pool: str) -> int:
        """The number of the pool; -1 if it is not in the space."""
        return next((i for i, each in enumerate(self.pools) if each.name == pool), -1)

    def depth(self, pools: Iterable[int], level: str) -> int | None:
        """The depth at which nodes of all these pools share a domain of that level; None if they cannot."""
        chosen = [self.pools[number] for number in pools]
        depths = {pool.depth(level) + 1 if pool.level(level) else None for pool in chosen}
        return depths.pop() if len(depths) == 1 else None

    def pool_of(self, host: int) -> Pool:
        """The pool of a host."""
        return self.pools[self.hosts[host].pool]

    def host_depth(self, host: int) -> int:
        """The depth of nodes like that host."""
        return len(self.pool_of(host).levels) + 1

    def offered(self, host: int) -> Mapping[str, int]:
        """What a node like that host has left."""
        free = self.hosts[host].free
        return capacity(self.pool_of(host)) if free is None else dict(free)

    def nodes(self) -> tuple[int, ...]:
        """How many nodes are like each host."""
        times, counts = [0] * len(self.kinds), [0] * len(self.hosts)
        times[self.root.kind] = 1
        for number in reversed(range(len(self.kinds))):
            for child, count in self.kinds[number].groups:
                if child < 0:
                    counts[~child] += times[number] * count
                else:
                    times[child] += times[number] * count
        return tuple(counts)


DemandsByPool = Mapping[str, list[Mapping[str, int]]]
"""Pool -> the different demands of the pods in it."""


def space(
    topology: ClusterTopology, demands: DemandsByPool, policy: bool = True, occupied: Occupied | None = None
) -> Space:
    """The usable nodes of the pools of which something is wanted, without those that have room for none of it.

    Without `policy`, spare nodes and those above `plan` are usable too.
    """
    pools = tuple(pool for pool in topology.pools if pool.name in demands)
    top: dict[Any, Any] = {}
    hosts: dict[Host, int] = {}
    for number, pool in enumerate(pools):
        labels = [level.label for level in pool.levels]
        hosts.setdefault(Host(number), len(hosts))
        left = room_left(pool, demands[pool.name])
        for path, nodes in usable(pool, policy, occupied or ()).items():
            branch = top
            for step in zip(labels, path, strict=False):
                branch = branch.setdefault(step, {})
            branch |= _by_host(nodes, number, left, occupied or {}, hosts)
    kinds: dict[Kind, int] = {}
    return Space(pools, tuple(hosts), _build_place(top, (), kinds), tuple(kinds))


Free = tuple[tuple[str, int], ...] | None
"""What occupants leave of the wanted amounts; () if no pod fits, None if they leave all of it."""

Left = Callable[[tuple[Occupant, ...]], Free]


def _by_host(
    nodes: tuple[str, ...], number: int, left: Left, occupied: Occupied, hosts: dict[Host, int]
) -> dict[int, tuple[str, ...]]:
    """Number of each host -> the nodes that are like it."""
    if occupied.keys().isdisjoint(nodes):
        return {hosts[Host(number)]: nodes}
    alike: dict[int, list[str]] = {}
    for node in nodes:
        free = left(occupied[node]) if node in occupied else None
        if free is None or free:
            alike.setdefault(hosts.setdefault(Host(number, free), len(hosts)), []).append(node)
    return {host: tuple(names) for host, names in alike.items()}


def room_left(pool: Pool, demands: list[Mapping[str, int]]) -> Left:
    """What occupants leave of a node of the pool. Nodes of which they take the same are computed once."""
    offered = capacity(pool)
    named = dict.fromkeys(name for demand in demands for name in demand)
    has = {name: amount for name in named if (amount := room(offered, name)) is not None}
    known: dict[Vector, Free] = {}

    def left(occupants: tuple[Occupant, ...]) -> Free:
        used = tuple(sum([each.amounts.get(name, 0) for each in occupants]) for name in has)
        if used not in known:
            free = {name: max(has[name] - amount, 0) for name, amount in zip(has, used, strict=True)}
            known[used] = _of_wanted(demands, offered, has, free)
        return known[used]

    return left


def _of_wanted(
    demands: list[Mapping[str, int]], offered: Mapping[str, int], has: Mapping[str, int], free: Mapping[str, int]
) -> Free:
    """If all pods are equal, the amounts are those of the pods that fit. So more nodes are alike."""
    fitting = [per_node(demand, free)[0] for demand in demands]
    if not any(fitting):
        return ()
    if len(demands) == 1:
        free = {name: fitting[0] * amount for name, amount in demands[0].items() if name in has}
        return None if fitting[0] == per_node(demands[0], offered)[0] else tuple(free.items())
    return None if free == has else tuple(free.items())


def usable(pool: Pool, policy: bool = True, busy: Container[str] = ()) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Path of each finest domain -> its nodes that plans may use, in file order.

    Where `plan` limits their number, busy ones count first.
    """
    out = {node for why, nodes in pool.unusable.items() if policy or why != SPARE for node in nodes}
    merged: dict[tuple[str, ...], tuple[str, ...]] = {}
    for domain in sorted(pool.domains, key=lambda each: (each.path, each.nodes[:1])):
        kept = domain.nodes if out.isdisjoint(domain.nodes) else tuple(n for n in domain.nodes if n not in out)
        merged[domain.path] = merged[domain.path] + kept if domain.path in merged else kept
    most = pool.levels[-1].plan if pool.levels and policy else None
    if most is None:
        return merged
    return {path: tuple(sorted(nodes, key=lambda node: node not in busy))[:most] for path, nodes in merged.items()}


def _build_place(branch: Mapping[Any, Any], path: tuple[Step, ...], kinds: dict[Kind, int]) -> Place:
    steps = sorted(key for key in branch if isinstance(key, tuple))
    children = tuple(_build_place(branch[step], (*path, step), kinds) for step in steps)
    hosts = tuple((key, branch[key]) for key in sorted(key for key in branch if isinstance(key, int)))
    return _place(path, children, hosts, kinds)


def _place(
    path: tuple[Step, ...],
    children: tuple[Place, ...],
    hosts: tuple[tuple[int, tuple[str, ...]], ...],
    kinds: dict[Kind, int],
) -> Place:
    """A place, whose kind gets a number if it is new."""
    counted: dict[int, int] = {}
    for child in children:
        counted[child.kind] = counted.get(child.kind, 0) + 1
    groups = tuple(sorted(counted.items())) + tuple((~host, len(nodes)) for host, nodes in hosts if nodes)
    return Place(path, children, hosts, kinds.setdefault(Kind(len(path), groups), len(kinds)))


# Gangs as a packing problem over numbered items.

Vector = tuple[int, ...]
Content = tuple[tuple[int, int], ...]  # item, how many of it: sorted
Loose = tuple[tuple[int, str, Pods], ...]  # item, gang, pods


class Shape(NamedTuple):
    """Pods that are equal for a node, without resources that never decide."""

    item: int
    pool: int
    asks: Vector  # by the pool's deciding resources


class Type(NamedTuple):
    """Units with the same demand: all of `content` in one domain at `depth` (None: no domain can hold them).

    `apart` is the depth at which no domain may hold two of one `family`.
    """

    item: int
    depth: int | None
    content: Content
    apart: int | None = None
    family: tuple[str, ...] = ()


class Part(NamedTuple):
    """One unit that must share a domain (or everything, for the root): the parts and pods directly below it."""

    item: int
    gang: str
    unit: Unit
    parts: tuple[Part, ...]
    pods: Loose


class Problem(NamedTuple):
    """Items are numbered shapes first, then types, children before their parents."""

    space: Space
    shapes: tuple[Shape, ...]
    types: tuple[Type, ...]
    totals: Vector  # how many of each item exist in all
    root: Part
    need: Vector  # the direct demand of the root
    nodes: tuple[Vector, ...]  # host number -> what it offers, by the deciding resources of its pool
    wants: tuple[Vector, ...]  # by depth
    strict: bool = False  # requests more than the file, so that no placement proves nothing

    @property
    def width(self) -> int:
        """How many items there are."""
        return len(self.totals)

    def closing(self, depth: int) -> tuple[Type, ...]:
        """The types whose units must share a domain of that depth."""
        return tuple(kind for kind in self.types if kind.depth == depth)

    def families(self, depth: int) -> tuple[tuple[int, ...], ...]:
        """Items of which a domain of that depth can hold only one in total."""
        items: dict[tuple[str, ...], tuple[int, ...]] = {}
        for kind in self.types:
            if kind.apart == depth:
                items[kind.family] = (*items.get(kind.family, ()), kind.item)
        return tuple(items.values())

    def closes(self, depth: int) -> bool:
        """Whether a domain of that depth holds more, or less, than its children do together."""
        return bool(self.closing(depth) or self.families(depth))

    def wanted(self, depth: int) -> Vector:
        """How much of each item units that close above `depth`, and the root, request."""
        return self.wants[min(depth, len(self.wants) - 1)]


def problem(
    gangs: Iterable[GangPlan], topology: ClusterTopology, space: Space, channels: bool = True, loose: bool = False
) -> Problem:
    """Put gangs that run together into numbers. Without `channels` the one-channel rule does not apply.

    A `separate` finer than its `required` level has no number of its own. In the strict problem it forbids sharing the
    coarser level, in the `loose` one it forbids nothing. So a placement of the strict problem is always valid. If the
    loose problem has no placement, the plan has none.
    """
    together = tuple(gangs)
    demands = _demands(together, topology, space, channels)
    deciding = _deciding(demands.values(), space)
    builder = _Builder(space, demands, deciding, loose)
    root = builder.root(together)
    types = tuple(builder.types.values())
    shapes = tuple(Shape(item, pool, asks) for (pool, asks), item in builder.shapes.items())
    need = _vector(builder.content(root), len(shapes) + len(types))
    totals = _totals(types, need)
    deepest = max([len(pool.levels) for pool in space.pools], default=0) + 3
    wants = tuple(_wanted(types, totals, need, depth) for depth in range(deepest))
    offered = ((space.offered(number), deciding[host.pool]) for number, host in enumerate(space.hosts))
    nodes = tuple(tuple(room(node, name) or 0 for name in names) for node, names in offered)
    return Problem(space, shapes, types, totals, root, need, nodes, wants, builder.strict)


def demands_by_pool(gangs: Iterable[GangPlan], topology: ClusterTopology, channels: bool = True) -> DemandsByPool:
    """Pool -> the different demands of the pods in it."""
    demands: dict[tuple[int, str, bool], tuple[str, Mapping[str, int]]] = {}
    for gang in gangs:
        for pods in all_pods(gang.root):
            if key(pods) not in demands:
                demands[key(pods)] = pods.pool, _asked(pods, topology, channels)
    found: dict[str, list[Mapping[str, int]]] = {}
    for pool, asks in demands.values():
        of_pool = found.setdefault(pool, [])
        if asks not in of_pool:
            of_pool.append(asks)
    return found


def _asked(pods: Pods, topology: ClusterTopology, channels: bool) -> Mapping[str, int]:
    asks = demand(pods, topology)
    return asks if channels else {name: amount for name, amount in asks.items() if name != CHANNEL}


Demands = Mapping[tuple[int, str, bool], tuple[int, Mapping[str, int]]]


def key(pods: Pods) -> tuple[int, str, bool]:
    """Equal for pods with the same demand: instances of one podSet share its value."""
    return (id(pods.spec), pods.pool, bool(pods.compute_domain))


def _demands(gangs: Iterable[GangPlan], topology: ClusterTopology, space: Space, channels: bool) -> Demands:
    demands: dict[tuple[int, str, bool], tuple[int, Mapping[str, int]]] = {}
    for gang in gangs:
        for pods in all_pods(gang.root):
            if key(pods) not in demands:
                demands[key(pods)] = (space.number(pods.pool), _asked(pods, topology, channels))
    return demands


def _deciding(demands: Iterable[tuple[int, Mapping[str, int]]], space: Space) -> tuple[tuple[str, ...], ...]:
    """For each pool, the resources that can limit it.

    A resource never does if every pod asks at least as large a share of some other one, and the nodes are empty.
    """
    by_pool: list[list[Mapping[str, int]]] = [[] for _ in space.pools]
    for pool, asks in demands:
        if asks not in by_pool[pool]:
            by_pool[pool].append(asks)
    busy = {host.pool for host in space.hosts if host.free is not None}
    return tuple(
        _pool_deciding(asks, capacity(pool), number in busy)
        for number, (asks, pool) in enumerate(zip(by_pool, space.pools, strict=True))
    )


def _pool_deciding(demands: list[Mapping[str, int]], offered: Mapping[str, int], busy: bool) -> tuple[str, ...]:
    named = dict.fromkeys(name for asks in demands for name in asks)
    rooms = {name: has for name in named if (has := room(offered, name)) is not None}
    kept = list(rooms)
    for name in () if busy else reversed(list(rooms)):
        others = (q for q in kept if q != name and rooms[q])
        if any(all(a.get(name, 0) * rooms[q] <= rooms[name] * a.get(q, 0) for a in demands) for q in others):
            kept.remove(name)
    return tuple(kept)


class _Builder:
    """Numbers shapes, then units bottom-up. Units of one signature get one number."""

    def __init__(self, space: Space, demands: Demands, deciding: tuple[tuple[str, ...], ...], loose: bool) -> None:
        self.space = space
        self.loose = loose
        self.strict = False
        self.shapes: dict[tuple[int, Vector], int] = {}
        self.item: dict[tuple[int, str, bool], int] = {}
        for which, (pool, asks) in demands.items():
            shape = (pool, tuple(asks.get(name, 0) for name in deciding[pool]))
            self.item[which] = self.shapes.setdefault(shape, len(self.shapes))
        self.types: dict[tuple[object, ...], Type] = {}

    def root(self, gangs: tuple[GangPlan, ...]) -> Part:
        """Everything that runs together."""
        flattened = [self.flat(gang.root, gang.name, 0) for gang in gangs]
        parts = tuple(part for parts, _ in flattened for part in parts)
        return Part(-1, "", Unit("", ()), parts, tuple(each for _, pods in flattened for each in pods))

    def flat(
        self, unit: Unit, gang: str, outer: int | None, family: tuple[str, ...] = ()
    ) -> tuple[tuple[Part, ...], Loose]:
        """A unit as parts and pods: one part if it must share a domain finer than `outer`, otherwise its contents."""
        level = unit.required or unit.separate
        pools = sorted({self.space.number(pods.pool) for pods in all_pods(unit)})
        depth = self.space.depth(pools, level) if level and pools else outer
        if unit.separate and family and pools:
            alone = self.space.depth(pools, unit.separate)
            finer = depth is not None and alone is not None and alone > depth
            self.strict = self.strict or (finer and not self.loose)
            if not (finer and self.loose):
                return self.apart(unit, gang, (outer, depth, alone), family)
        if depth is not None and outer is not None and depth <= outer:
            return self.below(unit, gang, outer)
        part = Part(-1, gang, unit, *self.below(unit, gang, depth))
        return (part._replace(item=self.type(part, depth)),), ()

    def apart(
        self, unit: Unit, gang: str, depths: tuple[int | None, ...], family: tuple[str, ...]
    ) -> tuple[tuple[Part, ...], Loose]:
        """An instance that cannot share a domain with others. A `separate` finer than `required` counts as that."""
        outer, depth, alone = depths
        possible = outer is not None and depth is not None and alone is not None and outer < min(depth, alone)
        part = Part(-1, gang, unit, *self.below(unit, gang, depth if possible else None))
        once = min(depth or 0, alone or 0)
        return (part._replace(item=self.type(part, depth if possible else None, once, family)),), ()

    def below(self, unit: Unit, gang: str, depth: int | None) -> tuple[tuple[Part, ...], Loose]:
        parts: list[Part] = []
        pods = [(self.item[key(each)], gang, each) for each in unit.pods]
        for units in unit.groups:
            family = (gang, units.name) if len(units.members) > 1 else ()
            for member in units.members:
                more, loose = self.flat(member, gang, depth, family)
                parts += more
                pods += loose
        return tuple(parts), tuple(pods)

    def type(self, part: Part, depth: int | None, alone: int | None = None, family: tuple[str, ...] = ()) -> int:
        content = self.content(part)
        fresh = Type(len(self.shapes) + len(self.types), depth, content, alone, family)
        return self.types.setdefault((depth, content, alone, family), fresh).item

    def content(self, part: Part) -> Content:
        counted: dict[int, int] = {}
        for item, count in _items(part):
            counted[item] = counted.get(item, 0) + count
        return tuple(sorted(counted.items()))


def _items(part: Part) -> Iterator[tuple[int, int]]:
    for item, _, pods in part.pods:
        yield item, pods.replicas
    for below in part.parts:
        yield below.item, 1


def _vector(content: Content, width: int) -> Vector:
    counts = dict(content)
    return tuple(counts.get(item, 0) for item in range(width))


def _totals(types: tuple[Type, ...], need: Vector) -> Vector:
    totals = list(need)
    for kind in reversed(types):
        for item, count in kind.content:
            totals[item] += count * totals[kind.item]
    return tuple(totals)


def _wanted(types: tuple[Type, ...], totals: Vector, need: Vector, depth: int) -> Vector:
    wanted = list(need)
    for kind in types:
        if kind.depth is not None and kind.depth < depth:
            for item, count in kind.content:
                wanted[item] += count * totals[kind.item]
    return tuple(wanted)


# Pools that no pod or group connects make problems of their own.


def independent(problem: Problem) -> tuple[Problem, ...]:
    """Problems that all have a solution if and only if the problem has one: their pods use different pools."""
    pools_of: list[frozenset[int]] = [frozenset((shape.pool,)) for shape in problem.shapes]
    families: dict[tuple[str, ...], frozenset[int]] = {}
    for kind in problem.types:
        pools = frozenset[int]().union(*(pools_of[item] for item, _ in kind.content))
        pools_of.append(pools)
        if kind.family:
            families[kind.family] = families.get(kind.family, frozenset()) | pools
    found: list[frozenset[int]] = []
    for pools in {*pools_of, *families.values()}:
        apart = [each for each in found if each.isdisjoint(pools)]
        found = [*apart, pools.union(*(each for each in found if not each.isdisjoint(pools)))]
    if not found or found[0] == {*range(len(problem.space.pools))}:
        return (problem,)
    groups = sorted(found, key=min)
    group_of = {pool: number for number, pools in enumerate(groups) for pool in pools}
    items = [group_of[min(pools)] if pools else 0 for pools in pools_of]
    spaces = _split(problem.space, group_of, len(groups))
    return tuple(_only(problem, number, items, space) for number, space in enumerate(spaces))


def _split(space: Space, group_of: Mapping[int, int], count: int) -> list[Space]:
    """The space of each group of pools."""
    pools = [[n for n in range(len(space.pools)) if group_of.get(n) == number] for number in range(count)]
    hosts = [[n for n, host in enumerate(space.hosts) if group_of.get(host.pool) == number] for number in range(count)]
    host_in = {host: at for each in hosts for at, host in enumerate(each)}
    kinds: list[dict[Kind, int]] = [{} for _ in range(count)]

    def split(place: Place) -> dict[int, Place]:
        children: dict[int, list[Place]] = {}
        own: dict[int, list[tuple[int, tuple[str, ...]]]] = {}
        for child in place.children:
            for number, each in split(child).items():
                children.setdefault(number, []).append(each)
        for host, names in place.hosts:
            if space.hosts[host].pool in group_of:
                own.setdefault(group_of[space.hosts[host].pool], []).append((host_in[host], names))
        return {
            number: _place(place.path, tuple(children.get(number, ())), tuple(own.get(number, ())), kinds[number])
            for number in children.keys() | own.keys()
        }

    roots = split(space.root)
    return [
        Space(
            tuple(space.pools[n] for n in pools[number]),
            tuple(Host(pools[number].index(space.hosts[n].pool), space.hosts[n].free) for n in hosts[number]),
            roots[number] if number in roots else _place((), (), (), kinds[number]),
            tuple(kinds[number]),
        )
        for number in range(count)
    ]


def _only(problem: Problem, number: int, groups: list[int], space: Space) -> Problem:
    """The problem of one group of items, numbered anew."""
    kept = [item for item, group in enumerate(groups) if group == number]
    new = {item: at for at, item in enumerate(kept)}
    shapes = tuple(
        shape._replace(item=new[shape.item], pool=space.number(problem.space.pools[shape.pool].name))
        for shape in problem.shapes
        if shape.item in new
    )
    types = tuple(
        kind._replace(item=new[kind.item], content=tuple((new[item], count) for item, count in kind.content))
        for kind in problem.types
        if kind.item in new
    )

    def renumbered(part: Part) -> Part:
        pods = tuple((new[item], gang, each) for item, gang, each in part.pods if item in new)
        parts = tuple(renumbered(each) for each in part.parts if each.item in new)
        return Part(new.get(part.item, -1), part.gang, part.unit, parts, pods)

    hosts = [n for n, host in enumerate(problem.space.hosts) if space.number(problem.space.pools[host.pool].name) >= 0]
    return Problem(
        space,
        shapes,
        types,
        _taken(problem.totals, kept),
        renumbered(problem.root),
        _taken(problem.need, kept),
        tuple(problem.nodes[host] for host in hosts),
        tuple(_taken(wanted, kept) for wanted in problem.wants),
        problem.strict,
    )


def _taken(vector: Vector, kept: list[int]) -> Vector:
    return tuple(vector[item] for item in kept)
