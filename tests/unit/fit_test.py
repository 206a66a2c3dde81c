"""What the proof says: certificates, changes that were proven, warnings, and the numbers that must be shown."""

from __future__ import annotations

import pytest
from fit_scene import cluster, gang, group, plan, pods, pool, racks, replicas, unit

from bayplan.model.plan import Plan, all_pods
from bayplan.model.workflow import Gang
from bayplan.planning.fit import Fits, Impossible, diagnose, prove
from bayplan.planning.fit.problem import capacity, demand
from bayplan.planning.fit.search import faults, stages
from bayplan.planning.fit.witness import Unknown

COVERS = {"P506", "P557"}
"""Channels bind only where GPUs do not, which other diagnostics refuse first; what is undecided takes long to find."""

GI = 2**30 * 1000


def train(size: int = 16, count: int = 4, **more: object) -> object:
    """`count` groups of `size` whole-node pods, each in one rack, all in one spine."""
    return gang("train", replicas("replica", count, pods("worker", size, **more), required="rack"), required="spine")  # type: ignore[arg-type]


def hall(**more: object) -> object:
    """12 racks of 18 nodes under 2 spines."""
    return cluster(pool(racks(12, 18, 2), **more))  # type: ignore[arg-type]


def case(topology: object, *gangs: object) -> Plan:
    return plan(topology, *gangs)  # type: ignore[arg-type]


ONE_CORDONED = {"cordoned": tuple(f"gb200-z-s{i * 2 // 12}-r{i}-2" for i in range(12))}

REFUSED = {
    "18 of 17 usable": (
        case(hall(unusable=ONE_CORDONED), train(18)),
        "P551",
        'needs 18 pods of "worker", at most 1 per node, in one rack; rack "r0", the one with the most room, has',
        'use 17 replicas of podSet "worker" instead of 18',
    ),
    "too many groups for a spine": (
        case(hall(plan=16), train(16, 7)),
        "P551",
        'the one with the most room, has room for 6 instances of "replica"',
        'require "zone" instead of "spine", or use 6 replicas of group "replica" instead of 7',
    ),
    "spares": (
        case(hall(plan=16), train(18)),
        "P555",
        "it would fit on nodes that are reserved as spares",
        "raise `plan`",
    ),
    "spare nodes": (
        case(cluster(pool({"z/s/r": 4}, unusable={"spare": ("gb200-z-s-r-0",)})), gang("a", pods("w", 4))),
        "P555",
        "it would fit on nodes that are reserved as spares",
        "free a spare node",
    ),
    "one channel a node": (
        case(hall(), gang("a", pods("w", 64, gpus=1, domain="cd"), required="rack")),
        "P506",
        "only one pod of a ComputeDomain runs on it",
        'require "spine" instead of "rack"',
    ),
    "more cards than a node has": (
        case(hall(), gang("a", pods("w", 1, gpus=8))),
        "P552",
        'podSet "w" requests 8 gb200 per pod; a node of pool "gb200" has 4 gb200',
        "request less",
    ),
    "more memory than a node has": (
        case(hall(resources={"memory": 900 * GI}), gang("a", pods("w", 1, memory="1000Gi"))),
        "P552",
        "requests 1000Gi memory per pod; a node",
        "correct `node.memory`",
    ),
    "a resource no node has": (
        case(hall(), gang("a", pods("w", 1, **{"rdma/hca": "1"}))),
        "P552",
        "requests 1 rdma/hca per pod",
        "",
    ),
    "cpu binds": (
        case(cluster(pool({"z/s/r": 18}, resources={"cpu": 140000})), gang("a", pods("w", 30, gpus=1, cpu="96"))),
        "P551",
        'needs 30 pods of "w", at most 1 per node because of cpu; the cluster has room for 18 pods of "w"',
        'use 18 replicas of podSet "w"',
    ),
    "two gangs": (
        case(cluster(pool({"z/s/r": 18})), gang("a", pods("v", 10)), gang("b", pods("w", 10), number=1)),
        "P554",
        'together they need 20 pods of "v, w", at most 1 per node; the cluster has room for 18 pods',
        'let gang "b" depend on "a"',
    ),
    "copies": (
        case(
            cluster(pool({"z/s/r": 18})),
            *(
                gang("a", pods("w", 8))._replace(name=f"a-{i}", copy=i, gang=Gang("a", replicas=3, at_once=3))
                for i in range(3)
            ),
        ),
        "P554",
        'gang "a" does not fit beside 2 of its copies: together they need 24 pods',
        'set `atOnce: 2` on gang "a" instead of 3',
    ),
    "one node": (
        case(hall(), gang("a", pods("w", 5, gpus=1), required="host")),
        "P551",
        "in one host; any host has room for 4",
        'require "rack" instead of "host"',
    ),
    "kept apart on a finer level": (
        case(hall(), gang("a", replicas("g", 7, pods("w", 40), required="spine", separate="rack"))),
        "P551",
        '7 instances of "g" (40 pods each, at most 1 per node, all in one spine); the cluster has room for 4 instances',
        'use 2 replicas of group "g" instead of 7',
    ),
    "kept apart": (
        case(hall(), gang("a", replicas("g", 7, pods("w", 2), separate="rack"), required="spine")),
        "P551",
        'has room for 6 instances of "g"',
        'require "zone" instead of "spine"',
    ),
    "cut to size": (
        case(
            cluster(pool(racks(4, 15))),
            gang("a", replicas("g", 2, pods("w", 32)._replace(replicas=16), required="rack")),
        ),
        "P551",
        "needs 16 pods",
        'set `size: 15` on group "g" instead of 16',
    ),
}


@pytest.mark.parametrize(("asked", "code", "message", "hint"), REFUSED.values(), ids=REFUSED)
def test_refused(asked: Plan, code: str, message: str, hint: str) -> None:
    (found,) = diagnose(asked).diagnostics
    assert (found.code, found.severity) == (code, "error")
    assert message in found.message
    assert hint in found.hint


FITTING = {
    "64 pods": case(hall(plan=16), train()),
    "in turn": case(
        cluster(pool({"z/s/r": 18})), gang("a", pods("v", 10)), gang("b", pods("w", 10), number=1, after=("a",))
    ),
    "two groups in a rack": case(
        cluster(pool({"z/s/r": 18})), gang("a", replicas("g", 2, pods("w", 9), required="rack"))
    ),
    "four a node": case(cluster(pool({"z/s/r": 16})), gang("a", pods("w", 64, gpus=1), required="rack")),
    "preferred asks nothing": case(hall(), gang("a", pods("w", 200), preferred="rack")),
    "two pools": case(
        cluster(pool({"z/s/r": 2}), pool({"z/s/r": 1}, name="cpu", gpus=0)),
        gang("a", pods("w", 2), pods("l", 3, gpus=0, pool="cpu"), required="rack"),
    ),
    "nothing": case(hall()),
}


@pytest.mark.parametrize("asked", FITTING.values(), ids=FITTING)
def test_fits(asked: Plan) -> None:
    found = prove(asked)
    assert isinstance(found, Fits)
    assert diagnose(asked).diagnostics == ()
    for stage in found.witness:
        gangs = [each for each in asked.gangs if each.name in stage.gangs]
        placed = sum(run.each * len(run.nodes) for run in stage.runs)
        assert placed == sum(each.replicas for one in gangs for each in all_pods(one.root))


SHRUNK = {
    "podSet": (case(cluster(pool({"z/s/r": 18})), gang("a", pods("w", 20, minimum=10))), "18 of 20"),
    "group": (
        case(cluster(pool(racks(3, 18))), gang("a", replicas("g", 4, pods("w", 16), minimum=2, required="rack"))),
        'group "g" fits with 3 of 4',
    ),
}


@pytest.mark.parametrize(("asked", "message"), SHRUNK.values(), ids=SHRUNK)
def test_only_what_must_start_fits(asked: Plan, message: str) -> None:
    (found,) = diagnose(asked).diagnostics
    assert (found.code, found.severity) == ("P556", "warning")
    assert message in found.message


def test_the_certificate_names_the_nearest_domain() -> None:
    found = prove(case(hall(unusable={"cordoned": ("gb200-z-s0-r3-1",), "notReady": ("gb200-z-s0-r3-2",)}), train(19)))
    assert isinstance(found, Impossible)
    why = found.certificate
    assert (why.gang.name, why.level, why.lacks[0].needed, why.lacks[0].held) == ("train", "rack", 19, 18)
    assert why.near[0].nodes == 18


def test_unusable_nodes_are_counted_in_the_notes() -> None:
    lost = {"cordoned": ("gb200-z-s-r-1",), "notReady": ("gb200-z-s-r-2", "gb200-z-s-r-3")}
    (found,) = diagnose(
        case(cluster(pool({"z/s/r": 18}, unusable=lost)), gang("a", pods("w", 16), required="rack"))
    ).diagnostics
    assert found.notes[0].message == 'rack "r" has 15 of 18 nodes available (1 cordoned, 2 notReady)'
    assert found.notes[0].route == ("topology", "spec", "pools", 0, "domains", 0)


def test_order_of_rows_does_not_matter() -> None:
    tree = racks(6, 5, 2)
    forward, back = cluster(pool(tree)), cluster(pool(dict(reversed(tree.items()))))
    gangs = [gang("a", replicas("g", 4, pods("w", 3, gpus=2), required="rack"), pods("x", 7))]
    assert prove(case(forward, *gangs)) == prove(case(back, *gangs))


class TestDemand:
    def test_sidecars_and_init_containers(self) -> None:
        template = {
            "spec": {
                "containers": [{"name": "side", "resources": {"limits": {"cpu": "2"}}}, {"name": "w"}],
                "initContainers": [
                    {"name": "log", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}},
                    {"name": "load", "resources": {"requests": {"cpu": "3", "memory": "64Gi"}}},
                ],
                "overhead": {"cpu": "250m"},
            }
        }
        asks = demand(pods("w", 1, cpu="4", template=template), cluster(pool({"z/s/r": 1})))
        assert asks == {"accelerator:gb200": 4000, "cpu": 7250, "memory": 64 * GI, "pods": 1000}

    def test_cards_by_their_resource_name(self) -> None:
        asks = demand(pods("w", 1, gpus=0, **{"nvidia.com/gpu": "2"}), cluster(pool({"z/s/r": 1})))
        assert asks == {"accelerator:gb200": 2000, "pods": 1000}

    def test_a_whole_node_takes_all_cards(self) -> None:
        topology = cluster(pool({"z/s/r": 1}))
        asks = demand(pods("w", 1, gpus=1, whole=True, domain="cd"), topology)
        assert asks == {"accelerator:gb200": 4000, "imex-channel": 1000, "whole-node": 1000, "pods": 1000}
        assert capacity(topology.pools[0])["imex-channel"] == 1000


class TestStages:
    @staticmethod
    def of(**after: tuple[str, ...]) -> list[str]:
        gangs = tuple(gang(name, pods("w", 1), after=names) for name, names in after.items())
        return ["".join(each.name for each in stage) for stage in stages(gangs)]

    def test_free(self) -> None:
        assert self.of(a=(), b=(), c=()) == ["abc"]

    def test_chain(self) -> None:
        assert self.of(a=(), b=("a",), c=("b",)) == ["a", "b", "c"]

    def test_diamond(self) -> None:
        assert self.of(a=(), b=("a",), c=("a",), d=("b", "c")) == ["a", "bc", "d"]

    def test_side_by_side(self) -> None:
        assert sorted(self.of(a=(), b=(), c=("a",), d=("b",))) == ["ab", "ad", "bc", "cd"]

    def test_too_many_are_one(self) -> None:
        pairs = {f"{side}{i}": () if side == "a" else (f"a{i}",) for i in range(8) for side in "ab"}
        gangs = tuple(gang(name, pods("w", 1), after=names) for name, names in pairs.items())
        assert stages(gangs) == ()
        assert isinstance(prove(case(hall(), *gangs)), Fits)

    def test_a_cycle_ends(self) -> None:
        assert self.of(a=("b",), b=("a",)) != []


def test_the_verifier_sees_what_is_wrong() -> None:
    asked = case(hall(), gang("a", replicas("g", 2, pods("w", 3), required="rack")))
    found = prove(asked)
    assert isinstance(found, Fits)
    runs = found.witness[0].runs
    far = runs[0]._replace(nodes=(*runs[0].nodes[:2], "gb200-z-s1-r9-1"))
    wrong = {
        "lost": runs[1:],
        "twice": (*runs, runs[0]),
        "unknown": (runs[0]._replace(nodes=("no-such",)), *runs[1:]),
        "apart": (far, *runs[1:]),
        "too much": (runs[0]._replace(nodes=runs[0].nodes[:1], each=3), *runs[1:]),
        "stranger": (*runs, runs[0]._replace(pods="other")),
    }
    assert [name for name, placed in wrong.items() if not list(faults(asked.gangs, asked.topology, placed))] == []


def test_nested_required_levels() -> None:
    inner = group("pair", *(unit(f"pair-{i}", pods(f"p{i}", 2), required="rack") for i in range(2)))
    outer = group("quad", unit("quad-0", inner, required="spine"))
    tight = {"z/s0/r0": 3, "z/s0/r1": 1, "z/s1/r2": 3, "z/s1/r3": 1}
    assert isinstance(prove(case(cluster(pool(tight)), gang("a", outer))), Impossible)
    assert isinstance(prove(case(cluster(pool({**tight, "z/s1/r3": 2})), gang("a", outer))), Fits)


def test_an_undecided_plan_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bayplan.planning.fit.search._tried", lambda *asked: Unknown("why", "hint"))
    monkeypatch.setattr("bayplan.planning.fit.search.SEARCH_LIMIT", 0)
    monkeypatch.setattr("bayplan.planning.fit.search.LEAST", 0)
    (found,) = diagnose(case(hall(), train())).diagnostics
    assert (found.code, found.severity, found.hint) == ("P557", "error", "hint")


def test_a_counted_refusal_is_not_searched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bayplan.planning.fit.search._tried", None)
    assert isinstance(prove(case(hall(), train(19))), Impossible)
