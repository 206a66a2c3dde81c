"""What gangs that run together request of a space: pod shapes, and the types of units that must share a domain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bayplan import accelerators, fabrics
from bayplan.core.values import NamedTuple
from bayplan.kube import pod, quantity
from bayplan.kube.ranks import master_port
from bayplan.model.manifest import PodParts
from bayplan.model.plan import GangPlan, Pods, Unit, all_pods
from bayplan.model.topology import ClusterTopology, NodeShape, Pool

# What one pod requests of a node, and what one node offers: the only code that the search and the verifier share.
#
# Amounts are thousandths. Besides Kubernetes resource names there are `accelerator:NAME` (cards), `imex-channel` (one
# a node) and `whole-node` (one a node).

ONE = 1000
CHANNEL = "imex-channel"
WHOLE = "whole-node"
SLOTS = "pods"
DEFAULT_SLOTS = 110 * ONE
"""Pods per node if the topology does not state them: the kubelet's default `maxPods` (Kubernetes 1.32 to 1.37)."""

OPEN = ("cpu", "memory", "ephemeral-storage")
"""Resources that do not limit a pool whose topology does not state them; any other unstated resource is absent."""

BOUNDED = "at-most:"
"""The prefix of things of which a node has a fixed number, which follows: `at-most:1:port 80 of the node`."""


def accelerator(name: str) -> str:
    """The key of an accelerator kind."""
    return f"accelerator:{name}"


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
    if name.startswith(BOUNDED):
        return int(name.removeprefix(BOUNDED).partition(":")[0]) * ONE
    return offered.get(name, None if name in OPEN else 0)


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
    if not spec.template and not pool.template:
        return amounts(spec.resources)
    pod_spec = pod.template(spec, pool, PodParts(resources=spec.resources), ())["spec"]
    steady, peak = _added(map(_requested, pod_spec.get("containers") or ())), dict[str, int]()
    sidecars: dict[str, int] = {}
    for container in pod_spec.get("initContainers") or ():
        mover = pod.mover_kind(container)
        if (mover == "fetch" and not spec.data.inputs) or (mover == "upload" and not spec.data.uploads):
            continue
        if mover == "upload" or container.get("restartPolicy") == "Always":
            sidecars = _added((sidecars, _requested(container)))
        else:
            peak = _highest(peak, _added((sidecars, _requested(container))))
    return _added(
        (_highest(_added((steady, sidecars)), peak) | _requested(pod_spec), amounts(pod_spec.get("overhead") or {}))
    )


def _requested(owner: Mapping[str, Any]) -> dict[str, int]:
    """Requests of a container, or of a pod as a whole. A limit without a request counts as a request."""
    resources = owner.get("resources") or {}
    return amounts({**(resources.get("limits") or {}), **(resources.get("requests") or {})})


def amounts(texts: Mapping[str, Any]) -> dict[str, int]:
    """Resource name -> thousandths."""
    return {name: quantity.parse(str(text)) for name, text in texts.items()}


def _added(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, 0) + amount
    return total


def _highest(left: Mapping[str, int], right: Mapping[str, int]) -> dict[str, int]:
    return {name: max(left.get(name, 0), right.get(name, 0)) for name in {**left, **right}}


# The cluster as a tree of places. Places that offer the same have one `kind`, so the search solves equal racks once.

SPARE = "spare"
Step = tuple[str, str]  # node label, value


class Place(NamedTuple):
    """A domain. Pools with the same first labels share places; `hosts` are the usable nodes directly below it."""

    path: tuple[Step, ...]
    children: tuple[Place, ...]
    hosts: tuple[tuple[int, tuple[str, ...]], ...]  # number of the pool, node names
    kind: int


class Kind(NamedTuple):
    """What all places of one kind have below them: how many of each kind. `~p` is a node of pool number p."""

    depth: int
    groups: tuple[tuple[int, int], ...]


class Space(NamedTuple):
    """Some pools of a topology. The root has depth 0, a pool's first level depth 1."""

    pools: tuple[Pool, ...]
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

    def host_depth(self, pool: int) -> int:
        """The depth of a pool's nodes."""
        return len(self.pools[pool].levels) + 1


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
    return Space(pools, _build_place(top, (), kinds), tuple(kinds))


def usable(pool: Pool, policy: bool = True) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Path of each finest domain -> its nodes that plans may use, in file order."""
    out = {node for why, nodes in pool.unusable.items() if policy or why != SPARE for node in nodes}
    merged: dict[tuple[str, ...], tuple[str, ...]] = {}
    for domain in sorted(pool.domains, key=lambda each: (each.path, each.nodes[:1])):
        kept = domain.nodes if out.isdisjoint(domain.nodes) else tuple(n for n in domain.nodes if n not in out)
        merged[domain.path] = merged[domain.path] + kept if domain.path in merged else kept
    most = pool.levels[-1].plan if pool.levels and policy else None
    return merged if most is None else {path: nodes[:most] for path, nodes in merged.items()}


def _build_place(branch: Mapping[Any, Any], path: tuple[Step, ...], kinds: dict[Kind, int]) -> Place:
    steps = sorted(key for key in branch if isinstance(key, tuple))
    children = tuple(_build_place(branch[step], (*path, step), kinds) for step in steps)
    hosts = tuple((key, branch[key]) for key in sorted(key for key in branch if isinstance(key, int)))
    counted: dict[int, int] = {}
    for child in children:
        counted[child.kind] = counted.get(child.kind, 0) + 1
    groups = tuple(sorted(counted.items())) + tuple((~pool, len(nodes)) for pool, nodes in hosts if nodes)
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
    nodes: tuple[Vector, ...]  # pool number -> capacity by the pool's deciding resources
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
    offered = zip(map(capacity, space.pools), deciding, strict=True)
    nodes = tuple(tuple(room(node, name) or 0 for name in names) for node, names in offered)
    return Problem(space, shapes, types, totals, root, need, nodes, wants, builder.strict)


Demands = Mapping[tuple[int, str, bool], tuple[int, Mapping[str, int]]]


def key(pods: Pods) -> tuple[int, str, bool]:
    """Equal for pods with the same demand: instances of one podSet share its value."""
    return (id(pods.spec), pods.pool, bool(pods.compute_domain))


def _demands(gangs: Iterable[GangPlan], topology: ClusterTopology, space: Space, channels: bool) -> Demands:
    demands: dict[tuple[int, str, bool], tuple[int, Mapping[str, int]]] = {}
    for gang in gangs:
        for pods in all_pods(gang.root):
            if key(pods) not in demands:
                asks = demand(pods, topology)
                if not channels:
                    asks.pop(CHANNEL, None)
                demands[key(pods)] = (space.number(pods.pool), asks)
    return demands


def _deciding(demands: Iterable[tuple[int, Mapping[str, int]]], space: Space) -> tuple[tuple[str, ...], ...]:
    """For each pool, the resources that can limit it.

    A resource never does if every pod asks at least as large a share of some other one.
    """
    by_pool: list[list[Mapping[str, int]]] = [[] for _ in space.pools]
    for pool, asks in demands:
        if asks not in by_pool[pool]:
            by_pool[pool].append(asks)
    return tuple(_pool_deciding(asks, capacity(pool)) for asks, pool in zip(by_pool, space.pools, strict=True))


def _pool_deciding(demands: list[Mapping[str, int]], offered: Mapping[str, int]) -> tuple[str, ...]:
    named = dict.fromkeys(name for asks in demands for name in asks)
    rooms = {name: has for name in named if (has := room(offered, name)) is not None}
    kept = list(rooms)
    for name in reversed(list(rooms)):
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
