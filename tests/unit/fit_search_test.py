"""First fit and the solver, on the instances that counting decides too."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest
from fit_exact_test import found, instance
from fit_scene import cluster, gang, group, plan, pods, pool, replicas, unit

from bayplan.model.plan import Plan
from bayplan.planning.fit import Fits, Undecided, prove, search
from bayplan.planning.fit.greedy import first_fit
from bayplan.planning.fit.problem import Problem, problem, space
from bayplan.planning.fit.search import faults
from bayplan.planning.fit.solver import solved
from bayplan.planning.fit.witness import NoRoom, Placed, Solved, Unknown, solve
from tools.effort import seeds


def posed(asked: Plan) -> Problem:
    everywhere = space(asked.topology, [each.name for each in asked.topology.pools])
    return problem(asked.gangs, asked.topology, everywhere)


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
def test_first_fit_never_lies(seed: int) -> None:
    asked = instance(random.Random(seed), 3)
    runs = first_fit(posed(asked))
    if runs is not None:
        assert list(faults(asked.gangs, asked.topology, runs)) == []


def test_first_fit_finds_the_obvious() -> None:
    racks = {f"z/s/r{i}": 18 for i in range(4)}
    asked = plan(cluster(pool(racks)), gang("a", replicas("g", 4, pods("w", 16), required="rack"), pods("x", 8)))
    assert first_fit(posed(asked)) is not None


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


def test_what_cannot_be_counted_is_placed_first_fit() -> None:
    assert isinstance(prove(tangled()), Fits)


def test_without_an_answer_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bayplan.planning.fit.greedy.first_fit", lambda problem: None)
    monkeypatch.setattr("bayplan.planning.fit.solver.solved", lambda problem, fronts: Unknown("why", "hint"))
    assert prove(tangled()) == Undecided("why", "hint")


def test_without_the_extra_the_hint_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ortools.sat.python", None)
    answer = solved(posed(tangled()), {})
    assert isinstance(answer, Unknown)
    assert "bayplan[solver]" in answer.hint


def test_search_is_the_module() -> None:
    assert search.SEARCH_LIMIT < search.BUDGET
