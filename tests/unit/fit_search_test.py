"""Best fit, patterns and the solver, on the instances that counting decides too, and on full clusters."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest
from fit_exact_test import exhaustive, found, instance
from fit_scene import cluster, gang, group, plan, pods, pool, replicas, unit

from bayplan.model.plan import Occupant, Plan, Units
from bayplan.planning.fit import Fits, Impossible, Undecided, prove, search
from bayplan.planning.fit.greedy import best_fit
from bayplan.planning.fit.patterns import nested, patterned
from bayplan.planning.fit.problem import Problem, independent, problem
from bayplan.planning.fit.search import faults, search_space_of
from bayplan.planning.fit.solver import solved
from bayplan.planning.fit.witness import Answer, NoRoom, Placed, Solved, Unknown, solve
from tools.effort import seeds


def posed(asked: Plan) -> Problem:
    return problem(asked.gangs, asked.topology, search_space_of(asked))


def some(question: Problem, fronts: Mapping[int, Solved], keep: random.Random) -> dict[int, Solved]:
    """Forget the root and a random part of the other places, with what stands above them."""
    kept = {kind: front for kind, front in fronts.items() if kind < 0 and keep.random() < 0.7}
    for number, kind in enumerate(question.space.kinds[:-1]):
        if all(child in kept for child, _ in kind.groups) and keep.random() < 0.5:
            kept[number] = fronts[number]
    return kept


@pytest.mark.parametrize("seed", seeds(120))
def test_the_solver_agrees_with_counting(seed: int) -> None:
    pytest.importorskip("ortools", reason="needs the solver extra")
    dice = random.Random(seed)
    asked = instance(dice, 3)
    question = posed(asked)
    answer = solved(question, some(question, solve(question, 10**9), dice))
    fits = isinstance(found(asked), Placed)
    assert isinstance(answer, Placed if fits else NoRoom)
    if isinstance(answer, Placed):
        assert list(faults(asked.gangs, asked.topology, answer.runs)) == []


@pytest.mark.parametrize("seed", seeds(300))
def test_neither_best_fit_nor_patterns_lie(seed: int) -> None:
    dice = random.Random(seed)
    asked = instance(dice, 3)
    question = posed(asked)
    fronts = solve(question, 10**9)
    for kept in (some(question, fronts, dice), {n: each for n, each in fronts.items() if n != len(fronts) - 1}):
        true(asked, patterned(question, kept, witness=True))
        true(asked, nested(question, kept))
    runs = best_fit(question)
    true(asked, None if runs is None else Placed(runs))


def true(asked: Plan, answer: Answer | None) -> None:
    """A placement is right, and where there is none, exhaustive search finds none."""
    if isinstance(answer, Placed):
        assert list(faults(asked.gangs, asked.topology, answer.runs, asked.occupied)) == []
    elif isinstance(answer, NoRoom) and not posed(asked).strict:
        assert not exhaustive(asked)


@pytest.mark.parametrize("seed", seeds(100))
def test_a_search_that_never_counts_agrees_with_exhaustive_search(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bayplan.planning.fit.search.SEARCH_LIMIT", 300)
    monkeypatch.setattr("bayplan.planning.fit.search.LEAST", 300)
    asked = instance(random.Random(seed), 3)
    answer = found(asked)
    assert isinstance(answer, Unknown) or isinstance(answer, Placed) == exhaustive(asked)


def full(dice: random.Random, racks: int, nodes: int = 16) -> list[int]:
    """Sizes of groups from 2 to 8 pods that fill so many racks."""
    sizes: list[int] = []
    while (left := racks * nodes - sum(sizes)) > 9:
        sizes.append(dice.randint(2, 8))
    return [*sizes, *([left] if left < 9 else [4, 5])]


def group_of(name: str, size: int, **where: str) -> Units:
    """One group of so many pods in one rack."""
    return group(name, unit(f"{name}-0", pods(f"{name}-w", size, **where), required="rack"))  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(5))
def test_a_full_cluster_of_unequal_groups_is_decided(seed: int) -> None:
    sizes = full(random.Random(seed), 100)
    groups = [group_of(f"g{n}", size) for n, size in enumerate(sizes)]
    hall = pool({f"z/s{n // 10}/r{n}": 16 for n in range(100)})
    assert isinstance(prove(plan(cluster(hall), gang("a", *groups))), Fits)
    assert isinstance(prove(plan(cluster(hall), gang("a", *groups, group_of("more", 2)))), Impossible)


@pytest.mark.parametrize("seed", range(5))
def test_full_spines_of_groups_of_groups_are_decided(seed: int) -> None:
    dice = random.Random(seed)
    groups = []
    for spine in range(6):
        sizes = full(dice, 10)
        for cut in range(0, len(sizes), 6):
            name = f"s{spine}-{cut}"
            inner = [group_of(f"{name}-{n}", size) for n, size in enumerate(sizes[cut : cut + 6])]
            groups.append(group(name, unit(f"{name}-0", *inner, required="spine")))
    hall = pool({f"z/s{n // 10}/r{n}": 16 for n in range(60)})
    assert isinstance(prove(plan(cluster(hall), gang("a", *groups))), Fits)


def test_weights_refute_what_volumes_do_not() -> None:
    """Three groups of 5 leave one node of each rack empty: 100 racks hold 300 of them, and 95 pods more only alone."""
    hall = pool({f"z/s{n // 10}/r{n}": 16 for n in range(100)})
    fives = [group_of(f"g{n}", 5) for n in range(299)]
    mixed = [group_of(f"h{n}", size) for n, size in enumerate((2, 3, 4, 6, 7, 8))]
    assert isinstance(prove(plan(cluster(hall), gang("a", *fives, *mixed))), Impossible)


def test_half_busy_racks_all_differ() -> None:
    dice = random.Random(1)
    tree = {f"z/s{n // 10}/r{n}": 16 for n in range(200)}
    nodes = [node for each in pool(tree).domains for node in each.nodes]
    busy = {
        node: (Occupant("other", 1, {"accelerator:gb200": dice.choice((1000, 2000, 4000)), "cpu": 16000}),)
        for node in nodes
        if dice.random() < 0.5
    }
    groups = [
        group_of(f"g{n}", dice.randint(2, 8), gpus=dice.choice((1, 2, 4)), cpu=dice.choice(("8", "20")))
        for n in range(250)
    ]
    asked = plan(cluster(pool(tree, resources={"cpu": 64000})), gang("a", *groups))._replace(occupied=busy)
    assert isinstance(prove(asked), Fits)


def test_gangs_on_pools_of_their_own_are_proven_one_by_one() -> None:
    halls = [pool({f"p{n}/r0": 4, f"p{n}/r1": 3}, name=f"p{n}", levels=("spine", "rack")) for n in range(200)]
    gangs = [
        gang(f"g{n}", *(group_of(f"g{n}-{i}", size, pool=f"p{n}") for i, size in enumerate((2, 3, 2))), number=n)
        for n in range(200)
    ]
    asked = plan(cluster(*halls), *gangs)
    assert len(independent(posed(asked))) == 200
    assert isinstance(prove(asked), Fits)
    worse = asked._replace(gangs=(*gangs[:-1], gang("g199", group_of("x", 5, pool="p199"), number=199)))
    assert isinstance(prove(worse), Impossible)


def test_best_fit_finds_the_obvious() -> None:
    racks = {f"z/s/r{i}": 18 for i in range(4)}
    asked = plan(cluster(pool(racks)), gang("a", replicas("g", 4, pods("w", 16), required="rack"), pods("x", 8)))
    assert best_fit(posed(asked)) is not None


def tangled() -> Plan:
    """Groups of thirteen sizes and pods of many shapes: far too much to count."""
    tree = {f"z/s/r{i}": 9 + i % 5 for i in range(40)}
    groups = []
    for i in range(60):
        sizes = [
            pods(f"p{i}-{j}", 1 + (i * 7 + j * 3) % 5, gpus=1 + (i + j) % 4, cpu=f"{3 + (i * j) % 11}")
            for j in range(3)
        ]
        groups.append(group(f"g{i}", unit(f"g{i}-0", *sizes, required="rack")))
    return plan(cluster(pool(tree, resources={"cpu": 24000})), gang("a", *groups, required="zone"))


def test_what_cannot_be_counted_is_placed_best_fit() -> None:
    assert isinstance(prove(tangled()), Fits)


def test_without_an_answer_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bayplan.planning.fit.greedy.best_fit", lambda problem: None)
    monkeypatch.setattr("bayplan.planning.fit.solver.solved", lambda problem, fronts: Unknown("why", "hint"))
    assert prove(tangled()) == Undecided("why", "hint")


def test_without_the_extra_the_hint_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ortools.sat.python", None)
    answer = solved(posed(tangled()), {})
    assert isinstance(answer, Unknown)
    assert "bayplan[solver]" in answer.hint


def test_search_is_the_module() -> None:
    assert search.SEARCH_LIMIT < search.BUDGET
