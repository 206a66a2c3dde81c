"""Placements that exist but that KAI does not find: it underestimates the room of a domain, or overlooks the domain.

KAI v0.10.0 to v0.17.0: pkg/scheduler/plugins/topology/{job_filtering,common}.go. See docs/explanation/fit.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from bayplan.core.diagnostics import Diagnostic, Route, error, info
from bayplan.kube import quantity
from bayplan.model.plan import BOUNDED, CHANNEL, SLOTS, WHOLE, GangPlan, Plan, Pods, Unit, all_pods, uses_dra
from bayplan.model.target import Target
from bayplan.model.topology import HOST_LEVEL, Pool
from bayplan.planning.fit.problem import demand, offers, room

GPU = "gpu"
RESERVED = "reserved"
"""The unusable nodes whose room others use. KAI counts cordoned, broken and spare nodes as free."""
Amounts = Mapping[str, int]
Offered = tuple[tuple[str, int], ...]
NOTHING: Offered = (("cpu", 0), ("ephemeral-storage", 0), ("memory", 0))
"""Of a node without room: other resources are absent."""


class Domain(NamedTuple):
    """A domain as KAI sees it: all nodes count, even cordoned or broken ones (cluster_info.go)."""

    depth: int
    name: str
    children: tuple[Domain, ...]
    nodes: tuple[tuple[Offered, int], ...]  # below it: what they have left, and how many have that


class Tasks(NamedTuple):
    """Pods that KAI places in one step: how many, the largest amount of each resource, and whether they are equal."""

    pods: int
    largest: Amounts
    alike: bool
    by_largest: bool


class Order(NamedTuple):
    """In which order of subgroups KAI finds nodes for a gang that runs by itself."""

    names: Mapping[str, str] = {}
    """New names of subgroups for this order; empty if they keep theirs."""
    doubt: str = ""
    """Why bayplan cannot say that KAI finds nodes in this order."""
    never: bool = False
    """KAI finds no nodes in any order that bayplan tries, or bayplan cannot follow its search."""


def estimate(plan: Plan, target: Target) -> tuple[Diagnostic, ...]:
    """Errors for units that fit (which the fit proves) but for which KAI finds no domain, and infos for those for which
    it finds none of the preferred level. One for each group."""
    diagnostics: dict[tuple[str, Route], Diagnostic] = {}
    requests = Requests(plan, target)
    for gang in (each for each in plan.gangs if each.copy == 0):
        for unit, outer in _constrained(gang.root, ()):
            for each in _unplaceable(gang, unit, outer, requests, target):
                diagnostics.setdefault((each.code, each.route), each)
    return tuple(diagnostics.values())


def _constrained(unit: Unit, outer: tuple[Unit, ...]) -> Iterator[tuple[Unit, tuple[Unit, ...]]]:
    """Units with a placement, each with the units with a placement around it, outermost first."""
    here = bool(unit.required or unit.preferred)
    if here:
        yield unit, outer
    for units in unit.groups:
        for member in units.members:
            yield from _constrained(member, (*outer, unit) if here else outer)


def _unplaceable(
    gang: GangPlan, unit: Unit, outer: tuple[Unit, ...], requests: Requests, target: Target
) -> Iterator[Diagnostic]:
    tasks = requests.tasks(_first_step(unit))
    if tasks.by_largest and not tasks.alike:
        yield from _too_large(gang, unit, tasks, requests)
    if target.between("kai", "0.10.4", "0.13") and not (unit.preferred and target.since("kai", "0.12.9")):
        yield from _overlooked(gang, unit, outer, requests)


def _too_large(gang: GangPlan, unit: Unit, tasks: Tasks, requests: Requests) -> Iterator[Diagnostic]:
    """`calcNodeAccommodation`: if all pods request GPUs or none does, KAI counts each pod as large as the largest."""
    pool, tree = requests.tree(unit)
    first = _depth(pool, unit.required) if unit.required else 0
    rooms = [(requests.places(tasks, d), d) for d in requests.unlike(tree, first) if d.nodes]
    best, domain = max(rooms, key=lambda each: each[0], default=(0, tree))
    beside = " beside what runs" if requests.plan.occupied else ""
    never = f"KAI never places it{beside}"
    if best < tasks.pods:
        sizes = ", ".join(f"{quantity.show(n)} {name}" for name, n in sorted(tasks.largest.items()) if name != SLOTS)
        where = f'{unit.required} "{domain.name}"' if unit.required else "the cluster"
        message = (
            f"{_title(gang, unit)} fits, but {never}: KAI gives each of its {tasks.pods} pods the size of"
            f" the largest ({sizes}), so {where} has room for at most {best}"
        )
        yield error("F690", _placement_route(unit), message, hint=_APART)
    elif unit.preferred and unit.required != unit.preferred:
        preferred = requests.unlike(tree, _depth(pool, unit.preferred))
        most = max((requests.places(tasks, each) for each in preferred if each.nodes), default=0)
        if most < tasks.pods:
            message = (
                f"{_title(gang, unit)}: KAI never places it in one {unit.preferred}{beside}, because KAI gives all"
                f" {tasks.pods} pods the size of the largest, so no {unit.preferred} has room for more than {most}"
            )
            yield info("F690", (*unit.route, "placement", "preferred"), message, hint=_APART)


_APART = (
    "put each size of pods into a group with a placement, and none around them, or give all equal requests;"
    " KAI adds up requests if only some have GPUs"
)


def _overlooked(gang: GangPlan, unit: Unit, outer: tuple[Unit, ...], requests: Requests) -> Iterator[Diagnostic]:
    """`lowestCommonDomainID`: KAI starts below the required level if all nodes share the next level too."""
    pool, tree = requests.tree(unit)
    finest = _depth(pool, unit.preferred or unit.required)
    around = max((_depth(pool, each.required) for each in outer if each.required), default=0)
    starts = [domain for domain in _domains_at(tree, around) if domain.nodes]
    if starts and all(_common_depth(domain) > finest for domain in starts):
        names = [*(level.name for level in pool.levels), HOST_LEVEL]
        where = f"each {outer[-1].required}" if around else "the cluster"
        message = (
            f"{_title(gang, unit)}: KAI 0.10.4 to 0.12 never places it in one {names[finest - 1]}, because all nodes"
            " of "
            f"{where} share one {names[finest]} too; KAI then ignores the domains above it"
        )
        hint = "remove the inner placement, or target KAI 0.13 or later" if outer else "target KAI 0.13 or later"
        yield error("F641", _placement_route(unit), message, hint=hint)
        return
    for each in (each for each in outer if _depth(pool, each.preferred) > finest):
        message = (
            f"{_title(gang, each)}: KAI 0.10.4 to 0.12 never places it in one {each.preferred}, because a group inside"
            " has a coarser level"
        )
        hint = "remove the inner placement, or target KAI 0.13 or later"
        yield info("F641", (*each.route, "placement", "preferred"), message, hint=hint)


def _title(gang: GangPlan, unit: Unit) -> str:
    return f'group "{unit.name}" of gang "{gang.gang.name}"' if unit.name else f'gang "{gang.gang.name}"'


def _placement_route(unit: Unit) -> Route:
    return (*unit.route, "placement", "required" if unit.required else "preferred")


def _depth(pool: Pool, level: str) -> int:
    names = [each.name for each in pool.levels] + [HOST_LEVEL]
    return names.index(level) + 1 if level in names else 0


def _domains_at(domain: Domain, depth: int) -> Iterator[Domain]:
    """The domains of a depth; nodes are domains of the last one."""
    if domain.depth == depth:
        yield domain
    elif domain.children:
        for child in domain.children:
            yield from _domains_at(child, depth)
    else:
        yield from (Domain(depth, domain.name, (), ((offered, 1),)) for offered, _ in domain.nodes)


def _common_depth(domain: Domain) -> int:
    """The depth down to which all nodes of a domain share their values."""
    filled = [child for child in domain.children if child.nodes]
    if len(filled) == 1:
        return _common_depth(filled[0])
    alone = not domain.children and sum(count for _, count in domain.nodes) == 1
    return domain.depth + 1 if alone else domain.depth


class Requests:
    """What pods request and what domains offer, each computed once."""

    def __init__(self, plan: Plan, target: Target) -> None:
        self.plan, self.topology = plan, plan.topology
        self.claims_count = target.since("kai", "0.14")  # GPUs by DRA count on each pod; in 0.13 only on the first
        self.slots_count = target.since("kai", "0.13")  # so is the pod's own slot
        self.asks: dict[tuple[int, str], tuple[Amounts, bool]] = {}
        self.trees: dict[tuple[str, ...], Domain] = {}
        self.domains: dict[tuple[int, int], tuple[Domain, ...]] = {}

    def tasks(self, pod_sets: Iterable[Pods]) -> Tasks:
        """`useRepresentorPodsAccounting`: all pods or none request GPUs, and the extended resources are equal."""
        kinds: dict[int, tuple[Amounts, bool]] = {}
        count = 0
        for pods in pod_sets:
            count += pods.minimum
            kinds[id(pods.spec)] = self.requested(pods)
        largest: dict[str, int] = {}
        for amounts, _ in kinds.values():
            largest = {name: max(largest.get(name, 0), amounts.get(name, 0)) for name in {**largest, **amounts}}
        every = list(kinds.values())
        gpus = {by_plugin for _, by_plugin in every}
        extended = {tuple(sorted(set(amounts) - {"cpu", "memory", GPU, SLOTS})) for amounts, _ in every}
        alike = all(amounts == every[0][0] for amounts, _ in every)
        return Tasks(count, largest, alike, len(gpus) < 2 and len(extended) < 2)

    def requested(self, pods: Pods) -> tuple[Amounts, bool]:
        """What one pod requests, as KAI counts it, and whether it requests GPUs of a device plugin.

        The rule above sees only those. GPUs claimed through DRA count only in the amounts.
        """
        key = (id(pods.spec), pods.pool)
        if key not in self.asks:
            asks = demand(pods, self.topology)
            cards = sum(amount for name, amount in asks.items() if name.startswith("accelerator:"))
            claimed = uses_dra(pods, self.topology)
            plain = {name: n for name, n in asks.items() if not name.startswith(("accelerator:", BOUNDED))}
            for name in (CHANNEL, WHOLE, *(() if self.slots_count else (SLOTS,))):
                plain.pop(name, None)
            counted = cards if self.claims_count or not claimed else 0
            self.asks[key] = ({**plain, GPU: counted} if counted else plain, bool(cards) and not claimed)
        return self.asks[key]

    def unlike(self, tree: Domain, depth: int) -> tuple[Domain, ...]:
        """The domains of a depth, without those that have the same nodes as one before them."""
        if (id(tree), depth) not in self.domains:
            first: dict[tuple[tuple[Offered, int], ...], Domain] = {}
            for each in _domains_at(tree, depth):
                first.setdefault(each.nodes, each)
            self.domains[id(tree), depth] = tuple(first.values())
        return self.domains[id(tree), depth]

    def places(self, tasks: Tasks, domain: Domain) -> int:
        """How many pods of the largest size KAI counts in a domain."""
        return sum(count * self.on_node(tasks, offered) for offered, count in domain.nodes)

    def on_node(self, tasks: Tasks, node: Offered) -> int:
        """How many on one node; a pod that requests only its slot fits any number of times."""
        offered = dict(node)
        asks = {name: amount for name, amount in tasks.largest.items() if amount}
        if set(asks) <= {SLOTS}:
            return tasks.pods
        limits = [has // amount for name, amount in asks.items() if (has := room(offered, name)) is not None]
        return min(limits, default=tasks.pods)

    def tree(self, unit: Unit) -> tuple[Pool, Domain]:
        """The Topology that the unit's constraint names: the nodes of all pools that have each of its labels."""
        pool = next(each for each in self.topology.pools if each.name == next(all_pods(unit)).pool)
        labels = tuple(level.label for level in pool.levels)
        if labels not in self.trees:
            seen = [each for each in self.topology.pools if set(labels) <= {level.label for level in each.levels}]
            rows = [
                (_values(each, labels, row.path), tuple(self.offered(each, row.nodes)))
                for each in seen
                for row in each.domains
            ]
            self.trees[labels] = _tree("", 0, len(labels), rows)
        return pool, self.trees[labels]

    def offered(self, pool: Pool, nodes: tuple[str, ...]) -> Iterator[tuple[Offered, int]]:
        """What nodes have left, as KAI counts it; nothing where the topology says that others use them."""
        reserved = frozenset(pool.unusable.get(RESERVED, ())).intersection(nodes)
        for offered, count in offers(pool, [node for node in nodes if node not in reserved], self.plan.occupied):
            cards = sum(amount for name, amount in offered.items() if name.startswith("accelerator:"))
            yield tuple({**offered, GPU: cards}.items()), count
        if reserved:
            yield NOTHING, len(reserved)


def _values(pool: Pool, labels: tuple[str, ...], path: tuple[str, ...]) -> tuple[str, ...]:
    value = dict(zip((level.label for level in pool.levels), path, strict=False))
    return tuple(value.get(label, "") for label in labels)


Rows = list[tuple[tuple[str, ...], tuple[tuple[Offered, int], ...]]]


def _tree(name: str, depth: int, last: int, rows: Rows) -> Domain:
    below: dict[str, Rows] = {}
    for row in rows if depth < last else ():
        below.setdefault(row[0][depth], []).append(row)
    children = tuple(_tree(value, depth + 1, last, inside) for value, inside in sorted(below.items()))
    counts: dict[Offered, int] = {}
    for offered, count in (each for _, nodes in rows for each in nodes):
        counts[offered] = counts.get(offered, 0) + count
    return Domain(depth, name, children, tuple(counts.items()))


def _first_step(unit: Unit) -> Iterable[Pods]:
    """The podSets of the first step: of an optional group only as many instances as must start."""
    yield from unit.pods
    for units in unit.groups:
        for member in units.members[: units.minimum]:
            yield from _first_step(member)
