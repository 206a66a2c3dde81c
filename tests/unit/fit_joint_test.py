"""Several workflows on one cluster agree with exhaustive placement, in order and together."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import product

from fit_exact_test import exhaustive, occupant
from fit_scene import cluster, gang, plan, pods, pool, racks, replicas

from bayplan.model.plan import GangPlan, Occupant, Plan, all_pods
from bayplan.planning.fit import diagnose, prove
from bayplan.planning.fit.joint import Joint, Proven, in_order, takes, together
from bayplan.planning.fit.problem import demand
from bayplan.planning.fit.search import Stage, faults, stages
from tools.effort import examples

MOST_PODS = 10
"""With more pods, exhaustive placement takes minutes."""

HALL = cluster(pool(racks(2, 4)))


def proven(plans: Iterable[Plan]) -> list[Proven]:
    """The workflows that fit by themselves, with their placements."""
    return [Proven(each, fits) for each in plans if (fits := diagnose(each).value)]


SHAPES = ({"gpus": 4}, {"gpus": 2}, {"gpus": 1, "domain": "cd"}, {"gpus": 3}, {"gpus": 0, "cpu": "5"})


def scene(dice: random.Random) -> list[Proven]:
    """Two or three workflows on up to 9 nodes, of which some have gangs that run one after the other."""
    tree = {f"s{i % 2}/r{i}": dice.randint(1, 3) for i in range(dice.randint(2, 3))}
    limit = dice.choice([None, None, None, 2])
    hall = cluster(pool(tree, levels=("spine", "rack"), resources={"cpu": 8000}, plan=limit))
    nodes = [node for domain in hall.pools[0].domains for node in domain.nodes]
    busy = {node: (occupant(dice),) for node in nodes if dice.random() < 0.2}
    plans = []
    for number in range(dice.randint(2, 3)):
        gangs: list[GangPlan] = []
        for g in range(dice.choice([1, 1, 2])):
            after = (gangs[0].name,) if gangs and dice.random() < 0.7 else ()
            worker = pods("w", dice.randint(1, 3), **(SHAPES[0] if dice.random() < 0.4 else dice.choice(SHAPES)))
            groups = replicas("g", dice.randint(1, 2), worker, required=dice.choice(["", "rack", "rack", "host"]))
            parts = (groups,) if dice.random() < 0.4 else (worker,)
            level = dice.choice(["", "", "spine", "rack"])
            gangs.append(gang(f"w{number}-{g}", *parts, after=after, number=g, required=level))
        asked = plan(hall, *gangs)._replace(occupied=busy)
        plans.append(asked._replace(workflow=asked.workflow._replace(name=f"w{number}")))
    while sum(map(_size, plans)) > MOST_PODS:
        plans.pop()
    return proven(sorted(plans, key=_size) if dice.random() < 0.6 else plans)


def _size(plan: Plan) -> int:
    """Small workflows first leave no room for large ones more often."""
    return sum(each.replicas for one in plan.gangs for each in all_pods(one.root))


def taken(plan: Plan, stage: Stage) -> dict[str, tuple[Occupant, ...]]:
    """What a stage takes of each node, pod by pod."""
    specs = {(each.name, one.name): one for each in plan.gangs for one in all_pods(each.root)}
    found: dict[str, tuple[Occupant, ...]] = {}
    for run in stage.runs:
        asks = demand(specs[run.gang, run.pods], plan.topology)
        for node in run.nodes:
            found[node] = (*found.get(node, ()), *[Occupant(run.gang, 1, asks)] * run.each)
    return found


def meetings(joint: Joint, aligned: bool) -> Iterable[tuple[tuple[Plan, Stage], ...]]:
    """The stages that run at the same time: those of the same number if `aligned`, otherwise any."""
    own = [[(each.plan, stage) for stage in each.fits.witness] for each in joint.proven.values()]
    return zip(*own, strict=True) if aligned and len({len(each) for each in own}) == 1 else product(*own)


def sound(joint: Joint, given_occupied: dict[str, tuple[Occupant, ...]], *, aligned: bool) -> None:
    """Each stage passes the verifier with the others as occupants."""
    for meeting in meetings(joint, aligned):
        for number, (own, stage) in enumerate(meeting):
            occupied = dict(given_occupied)
            for other, (its_plan, its) in enumerate(meeting):
                for node, those in taken(its_plan, its).items() if other != number else ():
                    occupied[node] = (*occupied.get(node, ()), *those)
            gangs = tuple(each for each in own.gangs if each.name in stage.gangs)
            assert list(faults(gangs, own.topology, stage.runs, occupied)) == []


def fits_exhaustively(alone: Sequence[Proven]) -> bool:
    """Whether every combination of stages fits."""
    sets = (sum(each, ()) for each in product(*(stages(one.plan.gangs) for one in alone)))
    return all(exhaustive(alone[0].plan._replace(gangs=gangs)) for gangs in sets)


def agree(alone: list[Proven]) -> tuple[bool, bool]:
    """Both searches are sound and complete; what fits in order fits together."""
    given_occupied = dict(alone[0].plan.occupied)
    ordered, packed = in_order(alone), together(alone)
    sound(ordered, given_occupied, aligned=False)
    sound(packed, given_occupied, aligned=True)
    codes = {each.code for each in (*ordered.diagnostics, *packed.diagnostics)}
    if "P557" not in codes:
        one_by_one(alone, ordered)
        assert (len(packed.proven) == len(alone)) == fits_exhaustively(alone)
        assert ("P566" in {each.code for each in packed.diagnostics}) == (not packed.proven)
    if len(ordered.proven) == len(alone):
        assert len(packed.proven) == len(alone)
    return len(ordered.proven) == len(alone), len(packed.proven) == len(alone)


def one_by_one(alone: list[Proven], ordered: Joint) -> None:
    """A workflow has a placement exactly if one exists beside those before it, and its plan has what these take."""
    for number, each in enumerate(alone):
        before = [one for other, one in ordered.proven.items() if other < number]
        if number in ordered.proven:
            assert prove(ordered.proven[number].plan) == ordered.proven[number].fits
        elif all(len(one.fits.witness) == 1 for one in before):
            occupied = dict(each.plan.occupied)
            for one in before:
                for node, those in taken(one.plan, one.fits.witness[0]).items():
                    occupied[node] = (*occupied.get(node, ()), *those)
            beside = each.plan._replace(occupied=occupied)
            assert not all(exhaustive(beside._replace(gangs=gangs)) for gangs in stages(each.plan.gangs))


def test_in_order_and_together_agree_with_exhaustive_placement() -> None:
    scenes = (scene(random.Random(seed)) for seed in range(examples(150, 3000)))
    seen = Counter(agree(alone) for alone in scenes if len(alone) > 1)
    assert min(seen[both] for both in ((True, True), (False, True), (False, False))) >= 4, seen


def alone(*plans: Plan) -> list[Proven]:
    """Workflows w0, w1, ... which fit by themselves."""
    named = [each._replace(workflow=each.workflow._replace(name=f"w{n}")) for n, each in enumerate(plans)]
    found = proven(named)
    assert len(found) == len(plans)
    return found


def codes(joint: Joint) -> list[str]:
    return [each.code for each in joint.diagnostics]


def test_a_workflow_takes_the_most_of_its_stages() -> None:
    """Stages that do not run at the same time take a node once, and the larger one decides."""
    chain = plan(HALL, gang("first", pods("w", 2, gpus=1, cpu="1")), gang("then", pods("w", 8), after=("first",)))
    (own,) = alone(chain)
    took = takes(own.plan, own.fits.witness)
    assert {each.amounts["accelerator:gb200"] for each in took.values()} == {4000}
    assert sorted(each.pods for each in took.values()) == [1] * 7 + [2]
    assert {each.name for each in took.values()} == {"ml/then", "ml/w0"}
    assert codes(in_order([*alone(chain, plan(HALL, gang("last", pods("w", 1))))])) == ["P566"]


def test_stages_of_workflows_meet_in_every_combination() -> None:
    """5 nodes at first and 3 later, beside 3 nodes: the later stage has room, the first one does not with 4."""
    chain = plan(HALL, gang("first", pods("w", 5)), gang("then", pods("w", 3), after=("first",)))
    assert codes(in_order(alone(chain, plan(HALL, gang("g", pods("w", 3)))))) == []
    fit = together(alone(chain, plan(HALL, gang("g", pods("w", 3)))))
    assert [len(each.fits.witness) for each in fit.proven.values()] == [2, 1]
    assert codes(together(alone(chain, plan(HALL, gang("g", pods("w", 4)))))) == ["P566"]


def test_gangs_of_one_workflow_that_run_at_once_are_proven_jointly() -> None:
    halves = [gang(name, pods("w", 5)) for name in "ab"]
    assert [each.code for each in diagnose(plan(HALL, *halves)).diagnostics] == ["P554"]
    assert diagnose(plan(HALL, halves[0], halves[1]._replace(after=("a",)))).value


def test_a_workflow_that_does_not_fit_takes_nothing() -> None:
    asked = [plan(HALL, gang("g", pods("w", count))) for count in (5, 4, 3)]
    found = in_order(alone(*asked))
    assert sorted(found.proven) == [0, 2]
    assert [each.route[0] for each in found.diagnostics] == ["workflow 1"]


def test_only_what_must_start_fits_beside_another() -> None:
    elastic = plan(HALL, gang("g", pods("w", 6, minimum=2, route=("workflow", "p"))))
    found = in_order(alone(plan(HALL, gang("g", pods("w", 5))), elastic))
    (warning,) = found.diagnostics
    assert (warning.code, warning.severity, warning.route[0]) == ("P556", "warning", "workflow 1")
    assert "fits with 3 of 6 replicas" in warning.message
    assert not found.proven[1].fits.complete
    assert sum(run.each * len(run.nodes) for run in found.proven[1].fits.witness[0].runs) == 2
    assert codes(together(alone(plan(HALL, gang("g", pods("w", 5))), elastic))) == ["P556"]


def test_what_only_starts_alone_is_reported_again_only_if_fewer_replicas_fit() -> None:
    large = plan(HALL, gang("g", pods("w", 9, minimum=2)))
    assert [each.message for each in diagnose(large).diagnostics] == [
        'podSet "w" fits with 8 of 9 replicas; the rest waits for room'
    ]
    assert codes(in_order(alone(plan(HALL, gang("g", pods("w", 1, gpus=0))), large))) == []
    (warning,) = in_order(alone(plan(HALL, gang("g", pods("w", 5))), large)).diagnostics
    assert (warning.code, warning.severity, warning.route[0]) == ("P556", "warning", "workflow 1")
    assert "fits with 3 of 9 replicas" in warning.message
    assert codes(together(alone(plan(HALL, gang("g", pods("w", 5))), large))) == []


def test_equal_names_in_two_workflows() -> None:
    same = gang("train", replicas("g", 2, pods("w", 2), required="rack"))
    fit = together(alone(plan(HALL, same), plan(HALL, same)))
    nodes = [{node for run in each.fits.witness[0].runs for node in run.nodes} for each in fit.proven.values()]
    assert [len(each) for each in nodes] == [4, 4]
    assert nodes[0].isdisjoint(nodes[1])
    assert [each.fits.witness[0].gangs for each in fit.proven.values()] == [("train",), ("train",)]


def test_too_many_stages_are_undecided_never_impossible() -> None:
    """Seven workflows of two stages: 128 sets of gangs. In order they fit; what does not is left open."""
    chains = [plan(HALL, gang(f"a{n}", pods("w", 1)), gang(f"b{n}", pods("w", 1), after=(f"a{n}",))) for n in range(7)]
    assert len(together(alone(*chains)).proven) == 7
    wide = plan(HALL, gang("a", pods("w", 2)), gang("b", pods("w", 2), after=("a",)))
    assert codes(together(alone(*chains, wide))) == ["P557"]


def test_workflows_in_different_pools_do_not_contend() -> None:
    two = cluster(pool(racks(2, 4)), pool(racks(2, 4), name="other"))
    wanted = [gang("g", pods("w", 4, pool=name), required="rack") for name in ("gb200", "other")]
    assert codes(in_order(alone(*[plan(two, each) for each in wanted]))) == []
    assert codes(in_order(alone(*[plan(two, wanted[0]) for _ in range(2)]))) == ["P568"]
