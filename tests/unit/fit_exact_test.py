"""The search agrees with exhaustive placement on small instances, and every witness passes the verifier."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from fit_scene import cluster, gang, group, plan, pods, pool, replicas, unit
from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan.model.plan import CHANNEL, ONE, SLOTS, Occupant, Plan, Pods, Unit, Units, accelerator
from bayplan.planning.fit import Impossible, Undecided, prove
from bayplan.planning.fit.problem import Space, capacity, demand, problem, room, space
from bayplan.planning.fit.search import SEARCH_LIMIT as QUICK
from bayplan.planning.fit.search import faults, search, search_space_of
from bayplan.planning.fit.witness import Answer, NoRoom, Placed, Unknown, covers, solve
from tools.effort import seeds

Spot = tuple[str, tuple[tuple[str, str], ...]]


def found(asked: Plan) -> Answer:
    """What the search says; a witness must pass the verifier."""
    answer = search(asked.gangs, asked.topology, search_space_of(asked))
    if isinstance(answer, Placed):
        assert list(faults(asked.gangs, asked.topology, answer.runs, asked.occupied)) == []
    return answer


def ground(asked: Plan) -> Space:
    """All pools."""
    return space(asked.topology, {each.name: [] for each in asked.topology.pools})


def exhaustive(asked: Plan) -> bool:
    """Try every node for every pod."""
    spots = [spot for each in asked.topology.pools for spot in _spots(each.name, asked)]
    loads: dict[str, dict[str, int]] = {spot[0]: {} for spot in spots}
    for node, load in loads.items():
        for occupant in asked.occupied.get(node, ()):
            load.update({name: load.get(name, 0) + amount for name, amount in occupant.amounts.items()})
    jobs = [job for each in asked.gangs for job in _jobs(each.root, ())]
    return _placed(jobs, spots, loads, {}, asked.topology)


def _spots(name: str, asked: Plan) -> Iterator[tuple[str, str, dict[str, object]]]:
    found = asked.topology.pool(name)
    assert found is not None
    out = {node for nodes in found.unusable.values() for node in nodes}
    for domain in found.domains:
        nodes = [node for node in domain.nodes if node not in out]
        nodes = [*(n for n in nodes if n in asked.occupied), *(n for n in nodes if n not in asked.occupied)]
        for node in nodes[: found.levels[-1].plan]:  # others use nodes of the plan too
            steps = tuple(zip((level.label for level in found.levels), domain.path, strict=True))
            levels: dict[str, object] = {level.name: steps[: i + 1] for i, level in enumerate(found.levels)}
            yield node, name, {**levels, "host": node}


def _jobs(
    one: Unit, above: tuple[tuple[int, str, int], ...]
) -> Iterator[tuple[Pods, tuple[tuple[int, str, int], ...]]]:
    here = (*above, (id(one), one.required, 0)) if one.required else above
    for each in one.pods:
        yield from ((each, here) for _ in range(each.replicas))
    for units in one.groups:
        for member in units.members:
            apart = ((id(member), member.separate, id(units)),) if member.separate and len(units.members) > 1 else ()
            bound = ((id(member), member.separate, 0),) if member.separate and not member.required else ()
            yield from _jobs(member, (*here, *apart, *bound))


def _placed(jobs, spots, loads, chosen, topology) -> bool:  # type: ignore[no-untyped-def]
    if not jobs:
        return True
    (each, rules), rest = jobs[0], jobs[1:]
    asks = demand(each, topology)
    for node, name, levels in spots:
        if name != each.pool or not _fits(asks, loads[node], capacity(topology.pool(name))):
            continue
        after = _chosen(chosen, rules, levels)
        if after is not None:
            held = {key: loads[node].get(key, 0) + amount for key, amount in asks.items()}
            if _placed(rest, spots, {**loads, node: {**loads[node], **held}}, after, topology):
                return True
    return False


def _fits(asks, load, offered) -> bool:  # type: ignore[no-untyped-def]
    return all((has := room(offered, key)) is None or load.get(key, 0) + n <= has for key, n in asks.items())


def _chosen(chosen, rules, levels):  # type: ignore[no-untyped-def]
    after = dict(chosen)
    for one, level, family in rules:
        where = levels.get(level, ("none", one))
        if family:
            if after.setdefault(("apart", family, where), one) != one:
                return None
        elif level not in levels or after.setdefault(("in", one), where) != where:
            return None
    return after


SHAPES = (
    {"gpus": 4},
    {"gpus": 2},
    {"gpus": 1, "domain": "cd"},
    {"gpus": 4, "whole": True},
    {"gpus": 0, "cpu": "3"},
    {"gpus": 1, "cpu": "5"},
    {"gpus": 3, "cpu": "1"},
)


def instance(dice: random.Random, shapes: int) -> Plan:
    """A random cluster of up to 6 nodes and up to 7 pods, in nested groups."""
    levels = ("spine", "rack")
    tree = {f"s{s}/r{r}": dice.randint(0, 3) for s in range(dice.randint(1, 2)) for r in range(dice.randint(1, 2))}
    pools = [pool(tree, levels=levels, resources={"cpu": 8000}, plan=dice.choice([None, None, 1, 2]))]
    if dice.random() < 0.25:
        pools.append(pool({"s0/r0": 1, "s0/r9": 1}, name="cpu", gpus=0, levels=levels, resources={"cpu": 4000}))
    menu = [dict(dice.choice(SHAPES)) for _ in range(shapes)]
    if len(pools) > 1:
        menu.append({"gpus": 0, "cpu": "2", "pool": "cpu"})
    left = [7]

    def some(name: str) -> Pods:
        count = min(left[0], dice.randint(1, 3))
        left[0] -= count
        return pods(name, max(count, 1), **dice.choice(menu))  # type: ignore[arg-type]

    def level() -> str:
        return dice.choice(["", "", "spine", "rack", "rack", "host"])

    def tree_of(name: str, depth: int) -> Units:
        apart, shared = dice.choice(["", "", "", "rack", "spine"]), level()  # of all instances of a group
        members = []
        for i in range(dice.randint(1, 2)):
            deeper = depth and dice.random() < 0.4 and left[0] > 2
            below: tuple[Pods | Units, ...] = (
                (tree_of(f"{name}-{i}-g", depth - 1),) if deeper else (some(f"{name}-{i}-p"),)
            )
            members.append(unit(f"{name}-{i}", *below, required=shared, separate=apart))
        return group(name, *members)

    gangs = []
    nodes = [node for each in pools for domain in each.domains for node in domain.nodes]
    busy = [node for node in nodes if dice.random() < 0.5] if dice.random() < 0.5 else []
    for g in range(dice.randint(1, 2)):
        parts = [tree_of(f"g{g}{i}", 1) if dice.random() < 0.7 else some(f"p{g}{i}") for i in range(dice.randint(1, 2))]
        gangs.append(gang(f"g{g}", *parts, required=level(), number=g))
    return plan(cluster(*pools), *gangs)._replace(occupied={node: (occupant(dice),) for node in busy})


def occupant(dice: random.Random) -> Occupant:
    """Something that takes a part of a node, or more than the node has."""
    gpus, cpu, channel = dice.randint(0, 4), dice.choice([0, 500, 3000, 7000, 9000]), dice.choice([0, 0, ONE])
    return Occupant("team/other", 1, {accelerator("gb200"): gpus * ONE, "cpu": cpu, CHANNEL: channel, SLOTS: ONE})


def _finer(asked: Plan) -> bool:
    """Whether some `separate` is finer than its `required`: such a plan may stay undecided, no other may."""
    order = {"spine": 1, "rack": 2, "host": 3}
    units = [each for g in asked.gangs for each in _walk(g.root)]
    return any(u.required and u.separate and order[u.separate] > order[u.required] for u in units)


def _walk(one: Unit) -> Iterator[Unit]:
    yield one
    for units in one.groups:
        for member in units.members:
            yield from _walk(member)


@pytest.mark.parametrize("shapes", [1, 2, 3])
@pytest.mark.parametrize("seed", seeds(150))
def test_seeded(seed: int, shapes: int) -> None:
    agrees(instance(random.Random(seed * 10 + shapes), shapes))


@given(st.randoms(use_true_random=False), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_any(dice: random.Random, shapes: int) -> None:
    agrees(instance(dice, shapes))


def agrees(asked: Plan) -> None:
    """What the search decides is what exhaustive placement decides."""
    answer = found(asked)
    assert _finer(asked) if isinstance(answer, Unknown) else isinstance(answer, Placed) == exhaustive(asked)


def test_groups_in_one_spine_but_in_racks_of_their_own() -> None:
    """A placement exists, but not one with a spine for each group: undecided, never impossible."""
    members = [unit(f"g-{i}", pods(f"g-{i}-w", 2), required="spine", separate="rack") for i in range(2)]
    asked = plan(cluster(pool({"z/s/r0": 2, "z/s/r1": 2})), gang("a", group("g", *members)))
    assert exhaustive(asked)
    assert isinstance(found(asked), Unknown)
    assert isinstance(prove(asked), Undecided)


def test_finer_than_required_with_room_for_both_or_for_neither() -> None:
    members = [unit(f"g-{i}", pods(f"g-{i}-w", 2), required="spine", separate="rack") for i in range(2)]
    asked = gang("a", group("g", *members))
    assert isinstance(found(plan(cluster(pool({"z/s/r0": 2, "z/t/r1": 2})), asked)), Placed)
    assert isinstance(prove(plan(cluster(pool({"z/s/r0": 2, "z/t/r1": 1})), asked)), Impossible)


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=6),
    st.integers(1, 5),
    st.integers(1, 8),
    st.sampled_from([1, 2, 4]),
)
@settings(max_examples=80, deadline=None)
def test_the_theorem(sizes: list[int], count: int, size: int, gpus: int) -> None:
    """One shape, equal groups: floor division at every level decides, as the theorem says."""
    tree = {f"z/s/r{i}": n for i, n in enumerate(sizes)}
    asked = plan(cluster(pool(tree)), gang("a", replicas("g", count, pods("w", size, gpus=gpus), required="rack")))
    assert counted(asked) == (sum(n * (4 // gpus) // size for n in sizes) >= count)


@given(
    st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=4), min_size=1, max_size=4),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(1, 5),
    st.sampled_from([1, 2, 4]),
)
@settings(max_examples=80, deadline=None)
def test_the_theorem_of_chains(spines: list[list[int]], count: int, parts: int, size: int, gpus: int) -> None:
    """Units in a spine of parts in a rack: one floor division at the racks, one at the spines."""
    tree = {f"z/s{s}/r{r}": n for s, racks in enumerate(spines) for r, n in enumerate(racks)}
    worker = pods("w", size, gpus=gpus)
    inner = [replicas(f"g-{i}-p", parts, worker, required="rack") for i in range(count)]
    outer = group("g", *(unit(f"g-{i}", each, required="spine") for i, each in enumerate(inner)))
    held = sum(sum(n * (4 // gpus) // size for n in racks) // parts for racks in spines)
    assert counted(plan(cluster(pool(tree)), gang("a", outer))) == (held >= count)


def counted(asked: Plan) -> bool:
    """What counting says without any help: every front is one vector, and the root's decides."""
    numbers = problem(asked.gangs, asked.topology, ground(asked))
    fronts = solve(numbers, QUICK)
    assert all(len(each.before) == 1 and len(each.out) == 1 for each in fronts.values())
    says = any(covers(vector, numbers.need) for vector in fronts[numbers.space.root.kind].before)
    assert isinstance(found(asked), Placed if says else NoRoom)
    return says
