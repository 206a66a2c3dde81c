"""On small clusters where others run, the proof and its estimates agree with exhaustive placement."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

import pytest
from fit_exact_test import agrees, exhaustive
from fit_scene import cluster, gang, group, plan, pods, pool, unit
from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan.backends.volcano.domains import may_scatter
from bayplan.model.plan import Occupant, Occupied, Plan, Pods, Units, all_pods, edit_plan
from bayplan.model.topology import Pool
from bayplan.model.workflow import Accelerator
from bayplan.planning.fit import Fits, diagnose, prove
from bayplan.planning.fit.problem import CHANNEL, ONE, SLOTS, WHOLE, accelerator, capacity, demand, left, offers, room
from bayplan.planning.fit.search import faults, may_lack
from bayplan.planning.fit.witness import Run
from tools.effort import seeds

CARD = accelerator("gb200")
PORT = "at-most:1:port 80 of the node"
SHAPES = (
    {"gpus": 4},
    {"gpus": 2, "cpu": "1"},
    {"gpus": 1, "domain": "cd"},
    {"gpus": 4, "whole": True},
    {"gpus": 0, "cpu": "3"},
    {"gpus": 1, "cpu": "5"},
    {"gpus": 1, "share": 250},
    {"gpus": 2, "share": 600},
    {"gpus": 1, "port": 80},
    {"gpus": 0, "cpu": "1", "port": 80},
)


def some(name: str, count: int, share: int = 0, port: int = 0, **shape: object) -> Pods:
    """Equal pods, with a share of each of their cards, or with a port of their node."""
    found = pods(name, count, **shape)  # type: ignore[arg-type]
    spec = found.spec
    if share and spec.accelerator:
        part = Accelerator(spec.accelerator.name, spec.accelerator.per_pod, memory=f"{share // 10}%", portion=share)
        spec = spec._replace(accelerator=part)
    if port:
        spec = spec._replace(ports={"http": port}, template={"spec": {"hostNetwork": True}})
    return found._replace(spec=spec)


def running(dice: random.Random, where: Pool) -> tuple[Occupant, ...]:
    """Up to three workloads on a node. Together they may take all of it, nearly all, or more."""
    return tuple(Occupant(f"team/{number}", 1, taken(dice, where)) for number in range(dice.randint(1, 3)))


def taken(dice: random.Random, where: Pool) -> dict[str, int]:
    """What one workload takes."""
    has = capacity(where)
    full = has.get(CARD, 0), has["cpu"]
    cards = dice.choice((0, 0, 250, 1000, 2000, 3400, full[0], full[0] - ONE))
    cpu = dice.choice((0, 0, 500, 3000, full[1] - ONE, full[1], full[1] + ONE))
    rare = {name: ONE for name in (CHANNEL, WHOLE, PORT, "example.com/nic") if dice.random() < 0.15}
    slots = dice.choice((ONE, ONE, ONE, 2 * ONE, has[SLOTS] - ONE, has[SLOTS]))
    return {CARD: max(cards, 0), "cpu": cpu, "memory": 10**12, **rare, SLOTS: slots}


def busy_plan(dice: random.Random) -> Plan:
    """Up to 6 nodes in two pools, on most of which others run, and up to 6 pods in groups."""
    levels = ("spine", "rack")
    slots = {SLOTS: dice.choice((2, 3)) * ONE} if dice.random() < 0.3 else {}
    tree = {f"s{s}/r{r}": dice.randint(0, 3) for s in range(dice.randint(1, 2)) for r in range(dice.randint(1, 2))}
    out = {"cordoned": ("gb200-s0-r0-0",), "spare": ("gb200-s0-r0-1",)} if dice.random() < 0.2 else {}
    most = dice.choice((None, None, 1, 2))
    pools = [pool(tree, levels=levels, resources={"cpu": 8000, **slots}, plan=most, unusable=out)]
    menu = [dict(dice.choice(SHAPES)) for _ in range(dice.randint(1, 3))]
    if dice.random() < 0.3:
        pools.append(pool({"s0/r0": 1, "s0/r9": 1}, name="cpu", gpus=0, levels=levels, resources={"cpu": 4000}))
        menu.append({"gpus": 0, "cpu": "2", "pool": "cpu"})
    occupied = {
        node: running(dice, each) for each in pools for row in each.domains for node in row.nodes if dice.random() < 0.7
    }
    rest = [6]

    def part(name: str) -> Pods | Units:
        shape, level = dice.choice(menu), dice.choice(("", "", "spine", "rack", "rack", "host"))
        if dice.random() < 0.5:
            return several(name, shape)
        return group(
            name,
            *(unit(f"{name}-{i}", several(f"{name}-{i}", shape), required=level) for i in range(dice.randint(1, 2))),
        )

    def several(name: str, shape: Mapping[str, object]) -> Pods:
        count = max(min(rest[0], dice.randint(1, 3)), 1)
        rest[0] -= count
        route = ("workflow", "spec", name)
        return some(name, count, minimum=dice.randint(1, count), route=route, **shape)  # type: ignore[arg-type]

    level = dice.choice(("", "", "spine", "rack"))
    gangs = [
        gang(f"g{n}", *(part(f"p{n}{i}") for i in range(dice.randint(1, 2))), required=level, number=n)
        for n in range(dice.randint(1, 2))
    ]
    return plan(cluster(*pools), *gangs)._replace(occupied=occupied)


@pytest.mark.parametrize("seed", seeds(300))
def test_seeded(seed: int) -> None:
    agrees(busy_plan(random.Random(seed)))


@given(st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_any(dice: random.Random) -> None:
    agrees(busy_plan(dice))


@pytest.mark.parametrize("seed", seeds(200))
def test_what_must_start_is_judged_beside_others(seed: int) -> None:
    """Only warnings if only what must start fits."""
    asked = busy_plan(random.Random(seed))
    least = edit_plan(asked, pods=lambda each: each._replace(replicas=each.minimum))
    worst = {each.severity for each in diagnose(asked).diagnostics if each.severity != "info"}
    if exhaustive(asked):
        assert not worst
    else:
        assert worst == ({"warning"} if exhaustive(least) else {"error"})


@pytest.mark.parametrize("seed", seeds(300))
def test_no_order_of_pods_lacks_room_unless_reported(seed: int) -> None:
    """F690 counts what others leave: without it, a scheduler that never moves a pod places all pods, wherever it puts
    the first ones."""
    dice = random.Random(seed)
    nodes = pool({"r0": dice.randint(1, 3)}, levels=("rack",), resources={"cpu": 8000})
    sets = [some(f"p{n}", dice.randint(1, 2), **dice.choice(SHAPES)) for n in range(dice.randint(1, 2))]  # type: ignore[arg-type]
    asked = plan(cluster(nodes), gang("g", *sets))
    names = nodes.domains[0].nodes
    asked = asked._replace(occupied={node: running(dice, nodes) for node in names if dice.random() < 0.7})
    if not exhaustive(asked) or may_lack(asked.gangs[0].root, sets, asked):
        return
    free = {node: left(capacity(nodes), asked.occupied.get(node, ())) for node in names}
    assert all(fits for fits in _ends([(demand(each, asked.topology), each.replicas) for each in sets], free))


def _ends(waiting: list[tuple[Mapping[str, int], int]], free: Mapping[str, Mapping[str, int]]) -> Iterator[bool]:
    """However the pods are placed one by one: whether all have a node in the end."""
    if not any(count for _, count in waiting):
        yield True
    for number, (asks, count) in enumerate(waiting):
        if not count:
            continue
        fitting = [
            n for n, has in free.items() if all((own := room(has, k)) is None or own >= x for k, x in asks.items())
        ]
        if not fitting:
            yield False
        rest = [(each, total - (i == number)) for i, (each, total) in enumerate(waiting)]
        for node in fitting:
            has = dict(free[node])
            for name, amount in asks.items():
                if (own := room(has, name)) is not None:
                    has[name] = own - amount
            yield from _ends(rest, {**free, node: has})


@pytest.mark.parametrize("seed", seeds(200))
def test_a_group_keeps_its_room_unless_reported(seed: int) -> None:
    """The same of a group in one rack, and of pods around it that go to any node first."""
    dice = random.Random(seed)
    nodes = pool({"r0": dice.randint(1, 2), "r1": dice.randint(1, 2)}, levels=("rack",), resources={"cpu": 8000})
    around = some("a", dice.randint(1, 2), **dice.choice(SHAPES))  # type: ignore[arg-type]
    inner = unit("u-0", some("u-0-w", dice.randint(1, 3), **dice.choice(SHAPES)), required="rack")  # type: ignore[arg-type]
    names = nodes.nodes()
    occupied = {node: running(dice, nodes) for node in names if dice.random() < 0.6}
    asked = plan(cluster(nodes), gang("g", group("u", inner), around))._replace(occupied=occupied)
    everyone = list(all_pods(asked.gangs[0].root))
    if not exhaustive(asked) or may_lack(inner, everyone, asked):
        return
    own = plan(cluster(nodes), gang("g", group("u", inner)))
    for held in _spread(around, names, asked):
        assert exhaustive(own._replace(occupied=held))


def _spread(around: Pods, names: tuple[str, ...], asked: Plan) -> Iterator[Occupied]:
    """What runs if the pods go to any nodes with room."""
    asks = demand(around, asked.topology)
    alone = plan(asked.topology, gang("a", around._replace(replicas=1, minimum=1)))

    def place(count: int, held: Occupied) -> Iterator[Occupied]:
        if not count:
            yield held
            return
        for node in names:
            kept = {n: each for n, each in held.items() if n == node}
            if exhaustive(alone._replace(occupied={**_full(names, node), **kept})):
                yield from place(count - 1, {**held, node: (*held.get(node, ()), Occupant("team/around", 1, asks))})

    yield from place(around.replicas, asked.occupied)


def _full(names: tuple[str, ...], but: str) -> Occupied:
    """Every other node has no slot for a pod."""
    return {node: (Occupant("team/full", 1, {SLOTS: 10**9}),) for node in names if node != but}


def test_offers_count_nodes_with_the_same_left_together() -> None:
    nodes = pool({"r0": 4}, levels=("rack",), resources={"cpu": 8000})
    first, *others = nodes.nodes()
    half = Occupant("team/half", 1, {CARD: 2 * ONE, PORT: ONE})
    found = offers(nodes, nodes.nodes(), {first: (half,), others[0]: (half,), others[1]: (half, half, half)})
    assert [(offered[CARD], room(offered, PORT), count) for offered, count in found] == [
        (2 * ONE, 0, 2),
        (0, 0, 1),
        (4 * ONE, ONE, 1),
    ]


AMOUNTS = (
    ({"gpus": 1, "domain": "cd"}, CHANNEL, 1),
    ({"gpus": 4, "whole": True}, WHOLE, 1),
    ({"gpus": 0, "port": 80}, PORT, 1),
    ({"gpus": 1}, CARD, 4),
    ({"gpus": 0, "cpu": "1"}, "cpu", 8),
    ({"gpus": 0, "cpu": "1m"}, SLOTS, 10),
)


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize(("shape", "name", "places"), AMOUNTS)
def test_each_amount_counts_once(shape: dict[str, object], name: str, places: int, beside: bool) -> None:
    """As many pods fit as others leave room for, with pods of another shape beside them or without."""
    nodes = pool({"r0": 1}, levels=("rack",), resources={"cpu": 8000, SLOTS: 10 * ONE})
    (node,) = nodes.nodes()
    others = [some("other", 1, gpus=0, memory="1")] if beside and name != SLOTS else []
    for used in range(places + 1):
        for count in (places - used, places - used + 1):
            sets = [*([some("w", count, **shape)] if count else []), *others]  # type: ignore[arg-type]
            held = (Occupant("team/a", 1, {name: used * ONE}),)
            asked = plan(cluster(nodes), gang("g", *sets))._replace(occupied={node: held})
            runs = [Run("g", each.name, nodes.name, (node,), each.replicas) for each in sets]
            assert isinstance(prove(asked), Fits) == (count <= places - used)
            assert (not list(faults(asked.gangs, asked.topology, runs, asked.occupied))) == (count <= places - used)


def test_the_verifier_judges_each_busy_node() -> None:
    nodes = pool({"r0": 3}, levels=("rack",))
    first, second, third = nodes.nodes()
    asked = plan(cluster(nodes), gang("g", some("w", 3, gpus=2)))
    occupied = {first: (Occupant("team/a", 1, {CARD: 2 * ONE}),), second: (Occupant("team/b", 1, {CARD: 3 * ONE}),)}
    wrong = list(faults(asked.gangs, asked.topology, [Run("g", "w", nodes.name, (first, second, third), 1)], occupied))
    assert wrong == [f'node "{second}" has too little {CARD}']


def test_volcano_counts_the_nodes_that_others_leave() -> None:
    """Two small pods, one on each node, leave no node for the large one if others use the third node."""
    nodes = pool({"r0": 3}, levels=("rack",))
    asked = plan(
        cluster(nodes),
        gang("g", some("l", 1, gpus=4, route=("l",)), some("s", 2, gpus=1, route=("s",)), required="rack"),
    )
    busy = asked._replace(occupied={next(iter(nodes.nodes())): (Occupant("team/a", 1, {CARD: 4 * ONE}),)})
    assert [may_scatter(each, each.gangs[0].root) for each in (asked, busy)] == [False, True]
