"""What a picture shows: the nodes of a cluster, the pods of a plan on them, and what is missing. Every format draws it.

A scene is one moment: a stage of a plan, or a cluster without a plan. `boxes` turns it into nested boxes of cells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from bayplan.plugin import (
    ClusterTopology,
    Fits,
    Impossible,
    Occupant,
    Occupied,
    Plan,
    Pool,
    PoolCount,
    Stage,
    Undecided,
    all_pods,
    capacity,
    common,
    count,
    inventory,
    listing,
    prove,
    state_of,
    walk,
)
from bayplan.plugin import InventoryUnit as Unit

MOST_NODES, MOST_UNITS = 3000, 8000
"""The most nodes to draw one by one; the most domains to draw before the level above them is the last."""

MOST_DETAILS = 24
"""In a large cluster, the most domains with pods to draw node by node."""

COLOURS = 8
"""How many colours groups have. The ninth group has the colour of the first."""

STATES = {
    "free": "free",
    "beyond": "kept free by plan",
    "occupied": "occupied by others",
    "spare": "spare",
    "reserved": "reserved",
    "cordoned": "cordoned",
    "notReady": "not ready",
    "unhealthy": "unhealthy",
    "removed": "removed by --without",
    "other": "unusable",
}
"""Each state of a node without pods of the plan, and its text in a legend."""


class Group(NamedTuple):
    """The pods with one colour: those of an instance of a group or, in a gang without groups, those of a podSet."""

    gang: str
    name: str
    pods: int
    domain: str  # the common beginning of the paths of its nodes


class Part(NamedTuple):
    """One instance of a podSet. `rank`: the rank of its first pod; None: its pods have no ranks."""

    group: int
    name: str
    rank: int | None


class Seat(NamedTuple):
    """Pods of one part on one node: `number` of them, the first of which is pod `first` of the part."""

    part: int
    first: int
    number: int


class Missing(NamedTuple):
    """Why there is no placement, and the domain with the most room, if one was found."""

    message: str
    hint: str = ""
    pool: str = ""
    path: tuple[str, ...] = ()
    pods: int = 0  # that have no room there
    nodes: int = 0  # that these pods need


class Scene(NamedTuple):
    """One moment of a cluster."""

    title: str
    note: str
    pools: tuple[PoolCount, ...]
    groups: tuple[Group, ...] = ()
    parts: tuple[Part, ...] = ()
    seats: Mapping[str, tuple[Seat, ...]] = {}  # node -> pods of the plan
    occupied: Mapping[str, tuple[Occupant, ...]] = {}  # node -> what others run there
    missing: Missing | None = None
    lines: tuple[str, ...] = ()  # below the note: what differs from another scene
    changed: frozenset[str] = frozenset()  # nodes on which something else runs than in another scene

    @property
    def nodes(self) -> int:
        """Nodes of the cluster."""
        return sum(each.amount.nodes for each in self.pools)

    @property
    def large(self) -> bool:
        """Whether the cluster has too many nodes to draw all of them."""
        return self.nodes > MOST_NODES


def cluster(topology: ClusterTopology, occupied: Occupied) -> Scene:
    """A cluster without a plan. `occupied`: what runs there."""
    counted = inventory.count(topology)
    title = f"{topology.name}: {count(sum(each.amount.nodes for each in counted), 'node')}"
    return Scene(title, "", counted, occupied=occupied)


def scenes(proven: Sequence[tuple[Plan, Fits | None]], alone: bool = False) -> tuple[Scene, ...]:
    """One scene of all plans, or with stages a scene for each stage of each plan. `alone`: a scene for each plan."""
    counted = _counted(plan for plan, _ in proven)
    stages = [[*(fits.witness if fits else ())] for _, fits in proven]
    if all(len(each) == 1 for each in stages) and not alone and len(counted) == 1:
        return (_scene([(plan, stage) for (plan, _), (stage,) in zip(proven, stages, strict=True)], counted, ""),)
    found = []
    for (plan, _), own in zip(proven, stages, strict=True):
        for number, stage in enumerate(own, 1):
            names = listing(stage.gangs, "and", 3).replace('"', "")
            found.append(_scene([(plan, stage)], counted, f"stage {number} of {len(own)}, {names}: " * (len(own) > 1)))
    return tuple(found)


Counted = Mapping[int, tuple[PoolCount, ...]]
"""`id` of a topology -> its counts."""


def _counted(plans: Iterable[Plan]) -> Counted:
    topologies = {id(plan.topology): plan.topology for plan in plans}
    return {number: inventory.count(each) for number, each in topologies.items()}


def _scene(placed: Sequence[tuple[Plan, Stage]], counted: Counted, begin: str) -> Scene:
    """The pods of stages that run at the same time. `begin`: the beginning of the note."""
    first = placed[0][0]
    groups: list[Group] = []
    parts: list[Part] = []
    seats: dict[str, tuple[Seat, ...]] = {}
    begun: Counter[int] = Counter()
    shared: dict[int, tuple[str, ...]] = {}
    paths = first.topology.paths
    for plan, stage in placed:
        numbers = _number(plan, stage, groups, parts)
        for run in stage.runs:
            part = numbers[run.gang, run.pods]
            group = parts[part].group
            for node in run.nodes:
                seats[node] = (*seats.get(node, ()), Seat(part, begun[part], run.each))
                begun[part] += run.each
                shared[group] = common((shared.get(group, paths[node]), paths[node]))
    pools = counted[id(first.topology)]
    pods = sum(begun.values())
    waiting = sum(each.pods for each in groups) - pods
    note = f"{begin}{count(pods, 'pod')} on {count(len(seats), 'node')} of {sum(each.amount.nodes for each in pools)}"
    note += f"; {count(waiting, 'pod')} without a place" if waiting else ""
    domains = (each._replace(domain="/".join(shared.get(number, ()))) for number, each in enumerate(groups))
    return Scene(_title([plan for plan, _ in placed]), note, pools, tuple(domains), tuple(parts), seats, first.occupied)


def _title(plans: Sequence[Plan]) -> str:
    names = [plan.workflow.name for plan in plans]
    return f"{listing(names, 'and', 3)} on {plans[0].topology.name}".replace('"', "")


def _number(plan: Plan, stage: Stage, groups: list[Group], parts: list[Part]) -> dict[tuple[str, str], int]:
    """Adds the groups and parts of the gangs of a stage. (Gang, podSet instance) -> the number of its part."""
    numbers: dict[tuple[str, str], int] = {}
    for gang in plan.gangs:
        for unit in walk(gang.root) if gang.name in stage.gangs else ():
            members = [(unit.name, unit.pods)] if unit.name and unit.pods else [(p.name, (p,)) for p in unit.pods]
            for name, pods in members:
                groups.append(Group(gang.name, name, sum(each.replicas for each in pods), ""))
                for each in pods:
                    numbers[gang.name, each.name] = len(parts)
                    parts.append(Part(len(groups) - 1, each.name, each.ranks.first if each.ranks else None))
    return numbers


# A plan that does not fit.


def refused(plans: Sequence[Plan]) -> tuple[Scene, ...]:
    """A scene for each plan that has no placement."""
    counted = _counted(plans)
    found = ((plan, prove(plan)) for plan in plans)
    return tuple(_lacking(plan, counted, proof) for plan, proof in found if not isinstance(proof, Fits))


def _lacking(plan: Plan, counted: Counted, proof: Impossible | Undecided) -> Scene:
    from bayplan.plugin import explain

    pods = sum(each.replicas for gang in plan.gangs for each in all_pods(gang.root))
    note, pools = f"{count(pods, 'pod')}, no placement", counted[id(plan.topology)]
    scene = Scene(_title([plan]), note, pools, occupied=plan.occupied)
    if isinstance(proof, Undecided):
        found = explain.undecided(plan, proof.why, proof.hint)
        return scene._replace(missing=Missing(found.message, found.hint))
    found, why = explain.refused(plan, proof.certificate), proof.certificate
    short = [lack for lack in why.lacks if lack.held is not None and lack.held < lack.needed]
    lacking = [((lack.needed - (lack.held or 0)) * lack.size, lack.each_node or 1) for lack in short]
    missing = Missing(found.message, found.hint, pods=sum(pods for pods, _ in lacking))
    if why.near:
        pool = plan.topology.pools[why.near[0].pool]
        depth = pool.depth(why.level) + 1 if why.level else 0
        path = pool.domains[why.near[0].row].path[:depth]
        nodes = sum(-(-pods // each) for pods, each in lacking)
        missing = missing._replace(pool=pool.name, path=path, nodes=nodes)
    return scene._replace(missing=missing)


# A scene as nested boxes.


class Cell(NamedTuple):
    """A node, or in a large cluster a domain. `shares`: (mark, number of nodes); a mark is a state or `g` and a number.

    `full`: how much of an occupied node others take, in thousandths. `group`: the number of its first group, or -1.
    `changed`: something else runs there than in another scene.
    """

    shares: tuple[tuple[str, int], ...]
    about: str
    label: str = ""
    full: int = 1000
    group: int = -1
    changed: bool = False


class Box(NamedTuple):
    """A pool or a domain: cells, or the boxes inside. `missing`: what the plan needs here beyond the room."""

    title: str
    note: str = ""
    cells: tuple[Cell, ...] = ()
    boxes: tuple[Box, ...] = ()
    missing: Missing | None = None
    detailed: bool = False  # of a large cluster, node by node


def boxes(scene: Scene) -> tuple[Box, ...]:
    """A box for each pool. In a large cluster, the domains with pods come first, node by node."""
    return (*_details(scene), *(_pool(scene, each) for each in scene.pools))


def mark(group: int) -> str:
    """The mark of a group's colour."""
    return f"g{group % COLOURS}"


def group_name(scene: Scene, group: Group) -> str:
    """The name of a group, with its gang if there are several."""
    several = any(each.gang != group.gang for each in scene.groups)
    return f"{group.gang} {group.name}" if several else group.name


def _pool(scene: Scene, counted: PoolCount) -> Box:
    amount = counted.amount
    title = f"{counted.pool.name}: {count(amount.nodes, 'node')}, {state_of(amount)}"
    depth = _depth(counted, scene.large)
    here = (
        scene.missing if scene.missing and (scene.missing.pool, scene.missing.path) == (counted.pool.name, ()) else None
    )
    if scene.large and depth == 0:
        return Box(title, "", tuple(_whole(scene, counted, unit) for unit in counted.units), (), here)
    return Box(title, "", (), tuple(_box(scene, counted, unit, depth) for unit in counted.units), here)


def _depth(counted: PoolCount, large: bool) -> int:
    """How many levels are boxes. In a large cluster, the level below them has cells."""
    if not large:
        return len(counted.levels)
    return max((n for n, level in enumerate(counted.levels) if level.units <= MOST_UNITS), default=0)


def _box(scene: Scene, counted: PoolCount, unit: Unit, depth: int) -> Box:
    """A unit with the boxes of its units, or with cells for its nodes or, in a large cluster, its units."""
    title, here = unit.path[-1] if unit.path else "nodes", _missing(scene, counted, unit)
    if title.isdecimal():
        title = f"{counted.levels[len(unit.path) - 1].name} {title}"
    if len(unit.path) < depth and unit.below:
        inside = tuple(_box(scene, counted, each, depth) for each in unit.below)
        return Box(title, _note(scene, unit), (), inside, here)
    if scene.large:
        return Box(title, "", tuple(_whole(scene, counted, each) for each in unit.below or (unit,)), (), here)
    return Box(title, _note(scene, unit), tuple(node_cells(scene, counted, unit)), (), here)


def _missing(scene: Scene, counted: PoolCount, unit: Unit) -> Missing | None:
    missing = scene.missing
    return (
        missing if missing and missing.path and (missing.pool, missing.path) == (counted.pool.name, unit.path) else None
    )


def _note(scene: Scene, unit: Unit) -> str:
    """What of the plan runs in a finest domain."""
    groups = dict.fromkeys(scene.parts[seat.part].group for node in unit.members for seat in scene.seats.get(node, ()))
    if not groups:
        return ""
    return scene.groups[next(iter(groups))].name if len(groups) == 1 else count(len(groups), "group")


def states(scene: Scene, counted: PoolCount, unit: Unit) -> list[str]:
    """The state of each node of a finest domain; "" for a node with pods of the plan.

    The last free nodes are those that `plan` keeps free.
    """
    found = [
        _reason(counted.reasons[node])
        if node in counted.reasons
        else ""
        if node in scene.seats
        else "occupied"
        if node in scene.occupied
        else "free"
        for node in unit.members
    ]
    left = unit.amount.usable - unit.amount.planned
    for number in range(len(found) - 1, -1, -1):
        if left and found[number] == "free":
            found[number], left = "beyond", left - 1
    return found


def _reason(word: str) -> str:
    return word if word in STATES else "other"


def node_cells(scene: Scene, counted: PoolCount, unit: Unit) -> Iterator[Cell]:
    """A cell for each node of a finest domain."""
    for node, state in zip(unit.members, states(scene, counted, unit), strict=True):
        seats, others = scene.seats.get(node, ()), scene.occupied.get(node, ())
        about = "; ".join(
            filter(
                None, (node, counted.reasons.get(node), *(_seat(scene, each) for each in seats), *map(occupant, others))
            )
        )
        full, changed = node_full(others, counted.pool) if others else 1000, node in scene.changed
        if state:
            yield Cell(((state, 1),), about, full=full, changed=changed)
        else:
            pods: Counter[str] = Counter()
            for seat in seats:
                pods[mark(scene.parts[seat.part].group)] += seat.number
            group = scene.parts[seats[0].part].group
            yield Cell(tuple(pods.items()), about, _ranks(scene, seats), group=group, changed=changed)


def node_full(others: Sequence[Occupant], pool: Pool) -> int:
    """How much of a node others take: of the resource of which they take most, in thousandths."""
    offered = capacity(pool)
    used: Counter[str] = Counter()
    for each in others:
        used.update(each.amounts)
    shares = [1000 * amount // offered[name] for name, amount in used.items() if offered.get(name)]
    return max(min(max(shares, default=1000), 1000), 1)


def occupant(other: Occupant) -> str:
    """`team-b/train-7, 2 pods`."""
    return f"{other.name}, {count(other.pods, 'pod')}" if other.pods else other.name


def _seat(scene: Scene, seat: Seat) -> str:
    """`replica-0-worker pod 3, rank 3`."""
    part, last = scene.parts[seat.part], seat.first + seat.number - 1
    pods = f"pod {seat.first}" if seat.number == 1 else f"pods {seat.first}-{last}"
    if part.rank is None:
        return f"{part.name} {pods}"
    return f"{part.name} {pods}, {'rank' if seat.number == 1 else 'ranks'} {span(part.rank + seat.first, seat.number)}"


def span(first: int, number: int) -> str:
    """`3` or `3-5`."""
    return str(first) if number == 1 else f"{first}-{first + number - 1}"


def _ranks(scene: Scene, seats: Sequence[Seat]) -> str:
    """The ranks on a node, if they are one range and short; the first of them otherwise."""
    ranked = [(rank + each.first, each.number) for each in seats if (rank := scene.parts[each.part].rank) is not None]
    if not ranked:
        return ""
    text = span(*ranked[0])
    return text if len(ranked) == 1 and len(text) <= 5 else f"{ranked[0][0]}\u2026"


def _whole(scene: Scene, counted: PoolCount, unit: Unit) -> Cell:
    """A unit as one cell, in which the nodes that `plan` keeps free count as free."""
    marks: Counter[str] = Counter()
    groups: list[int] = []
    for each in finest((unit,)):
        for node, state in zip(each.members, states(scene, counted, each), strict=True):
            groups += [] if state else [scene.parts[scene.seats[node][0].part].group]
            marks["free" if state == "beyond" else state or mark(groups[-1])] += 1
    pods = sum(number for word, number in marks.items() if word not in STATES)
    runs = f", pods of the plan on {count(pods, 'node')}" if pods else ""
    others = f", {marks['occupied']} occupied" if marks["occupied"] else ""
    name = "/".join(unit.path) or counted.pool.name
    order = {**{f"g{n}": n for n in range(COLOURS)}, **{word: COLOURS + n for n, word in enumerate(STATES)}}
    shares = tuple(sorted(marks.items(), key=lambda pair: order[pair[0]]))
    about = f"{name}: {count(unit.amount.nodes, 'node')}, {state_of(unit.amount)}{runs}{others}"
    return Cell(shares, about, group=groups[0] if groups else -1)


def _details(scene: Scene) -> Iterator[Box]:
    """In a large cluster, the finest domains with pods, or the one with the most room."""
    if not scene.large:
        return
    found = [
        (counted, unit)
        for counted in scene.pools
        for unit in finest(counted.units)
        if any(node in scene.seats for node in unit.members) or _missing(scene, counted, unit)
    ]
    if found:
        drawn = [_detail(scene, counted, unit) for counted, unit in found[:MOST_DETAILS]]
        part = f"the first {MOST_DETAILS} of " if len(found) > MOST_DETAILS else ""
        title = f"{part}{count(len(found), 'domain')} with pods of the plan"
        yield Box("the domain with the most room" if scene.missing else title, boxes=tuple(drawn), detailed=True)


def _detail(scene: Scene, counted: PoolCount, unit: Unit) -> Box:
    missing = _missing(scene, counted, unit)
    return Box("/".join(unit.path[-2:]), _note(scene, unit), tuple(node_cells(scene, counted, unit)), (), missing)


def finest(units: Sequence[Unit]) -> Iterator[Unit]:
    """The finest domains, in the order of the file's tree."""
    for unit in units:
        if unit.below:
            yield from finest(unit.below)
        else:
            yield unit


def legend(drawn: Sequence[Box]) -> list[tuple[str, str]]:
    """(Mark, text) of the states in the boxes."""
    used: set[str] = set()
    _marks(drawn, used)
    return [(word, text) for word, text in STATES.items() if word in used]


def _marks(drawn: Sequence[Box], used: set[str]) -> None:
    for box in drawn:
        used.update(word for cell in box.cells for word, _ in cell.shares)
        _marks(box.boxes, used)
