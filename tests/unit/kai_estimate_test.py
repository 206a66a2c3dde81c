"""KAI's estimate by version, as its source computes it; the executed cases that it was checked against."""

from __future__ import annotations

import pytest
from fit_scene import GPU, cluster, gang, plan, pods, pool, racks, replicas

from bayplan.backends.kai import prove as prove_kai
from bayplan.backends.kai.estimate import Order, estimate
from bayplan.backends.kai.pod_group import lower, order
from bayplan.model.manifest import Shape
from bayplan.model.plan import Plan, Unit
from bayplan.model.target import Target
from bayplan.model.workflow import Accelerator
from bayplan.planning.fit import Fits, prove

TARGET = Target({"kai": "0.17"})
MIXED = plan(
    cluster(pool({"z/s/r": 2}, gpus=8)), gang("t", pods("a", 1, gpus=8), pods("b", 7, gpus=1), required="rack")
)
BESIDE = plan(
    cluster(pool({"z/s/r": 2}, gpus=8)), gang("t", pods("a", 2, gpus=8), pods("b", 1, gpus=0, cpu="1"), required="rack")
)
CLAIMED = BESIDE._replace(topology=BESIDE.topology._replace(accelerators={"gb200": GPU._replace(allocators=("dra",))}))
UNEVEN_CPU = plan(
    cluster(pool({"z/s/r": 2}, gpus=8, resources={"cpu": 10000})),
    gang("t", pods("a", 2, gpus=1, cpu="8"), pods("b", 2, gpus=2, cpu="2"), required="rack"),
)
EXTENDED = plan(
    cluster(pool({"z/s/r": 2}, gpus=8, resources={"rdma/hca": 8000})),
    gang("t", pods("a", 1, gpus=8, **{"rdma/hca": "1"}), pods("b", 7, gpus=1), required="rack"),
)
LAST_SMALLER = plan(cluster(pool(racks(2, 18))), gang("t", pods("a", 16), pods("b", 3), preferred="rack"))
FREE = MIXED._replace(gangs=(gang("t", *MIXED.gangs[0].root.pods),))
ONE_RACK = plan(cluster(pool({"z/s/r": 4})), gang("t", pods("a", 2), required="zone"))
ONE_NODE = plan(cluster(pool({"z/s/r": 1})), gang("t", pods("a", 1), required="rack"))
RACKS_OF_ONE = plan(
    cluster(pool({"z/s/r": 1, "z/s/q": 1})), gang("t", replicas("g", 1, pods("a", 1), required="rack"), required="rack")
)
RACKS_OF_TWO = RACKS_OF_ONE._replace(topology=cluster(pool({"z/s/r": 2, "z/s/q": 1})))
FINER = plan(cluster(pool({"z/s/r": 4})), gang("t", pods("a", 2), required="zone", preferred="spine"))
WHOLE = plan(
    cluster(pool(racks(12, 18, 2))), gang("t", replicas("g", 4, pods("w", 16), required="rack"), required="spine")
)
ELASTIC = plan(
    cluster(pool({"z/s/r": 2}, gpus=8)),
    gang("t", pods("a", 1, gpus=8), pods("b", 7, gpus=1, minimum=1), required="rack"),
)

TWO_FREE = plan(
    cluster(pool({"z/s/r": 3}, gpus=8, unusable={"reserved": ("gb200-z-s-r-2",)})),
    gang("t", pods("a", 1, gpus=8), pods("b", 2, gpus=1), required="rack"),
)
TWO_RACKS = cluster(pool({"z/s/q": 5, "z/s/r": 6}))
SMALL_FIRST = plan(
    TWO_RACKS,
    gang(
        "t",
        replicas("a", 2, pods("w", 3), required="rack"),
        replicas("b", 1, pods("v", 5), required="rack"),
    ),
)

CASES = {
    "nodes that others use are not free": (TWO_FREE, "0.17", ["F690"]),
    "pods of 8 and 1 cards": (MIXED, "0.17", ["F690"]),
    "so since 0.10": (MIXED, "0.10", ["F690"]),
    "pods without cards beside: the sum": (BESIDE, "0.17", []),
    "claimed cards are not seen, so no sum": (CLAIMED, "0.17", ["F690"]),
    "nor do they count on every pod before 0.14": (CLAIMED, "0.13", []),
    "cpu of one, cards of the other": (UNEVEN_CPU, "0.17", ["F690"]),
    "different extended resources: the sum": (EXTENDED, "0.17", []),
    "without a constraint there is no estimate": (FREE, "0.17", []),
    "equal pods are counted exactly": (LAST_SMALLER, "0.17", []),
    "only what must start counts": (ELASTIC, "0.17", []),
    "one rack in the zone, 0.12": (ONE_RACK, "0.12", ["F641"]),
    "one rack in the zone, 0.10.4": (ONE_RACK, "0.10.4", ["F641"]),
    "one rack in the zone, 0.10.0": (ONE_RACK, "0.10", []),
    "one rack in the zone, 0.13": (ONE_RACK, "0.13", []),
    "one node in the rack": (ONE_NODE, "0.12", ["F641"]),
    "rack in a rack of one node": (RACKS_OF_ONE, "0.12", ["F641"]),
    "rack in a rack of two nodes": (RACKS_OF_TWO, "0.12", []),
    "a finer preferred level, 0.12": (FINER, "0.12", ["F641"]),
    "a finer preferred level, 0.12.9": (FINER, "0.12.9", []),
    "64 pods": (WHOLE, "0.10.4", []),
}


@pytest.mark.parametrize(("asked", "version", "codes"), CASES.values(), ids=CASES)
def test_estimate(asked: Plan, version: str, codes: list[str]) -> None:
    assert isinstance(prove(asked), Fits)
    assert [each.code for each in estimate(asked, Target({"kai": version}))] == codes


@pytest.mark.parametrize("version", ["0.13", "0.17"])
def test_subgroups_are_named_in_an_order_in_which_kai_finds_nodes(version: str) -> None:
    """By its own name, the group of five pods would be last, when no rack has room for it."""
    target = Target({"kai": version})
    assert order(SMALL_FIRST, SMALL_FIRST.gangs[0], target).names == {"b-0": "0-b-0", "a-0": "1-a-0", "a-1": "2-a-1"}
    group, *_ = lower(SMALL_FIRST, Shape(()), target).documents
    assert [each["name"] for each in group["spec"]["subGroups"]] == ["1-a-0", "2-a-1", "0-b-0"]
    assert prove_kai(SMALL_FIRST, target) == ()


def test_the_message_names_numbers() -> None:
    (found,) = estimate(MIXED, Target({"kai": "0.17"}))
    assert found.message == (
        'gang "t" fits, but KAI never places it: KAI gives each of its 8 pods the size of the largest (8 gpu),'
        ' so rack "r" has room for at most 2'
    )
    assert found.route == ("workflow", "spec", "gangs", 0, "placement", "required")


def small_first(racks: dict[str, int], unusable: dict[str, tuple[str, ...]], cards: int = 4, **more: object) -> Plan:
    """Two groups of three nodes and one of five, of nodes that have one of each resource that pods request."""
    has = {"rdma/ib": 1000, "hugepages-2Mi": 1000, "ephemeral-storage": 1000}
    sets = (pods("w", 3, gpus=cards, **more), pods("v", 5, gpus=cards, **more))  # type: ignore[arg-type]
    groups = (replicas(name, n, one, required="rack") for name, n, one in zip("ab", (2, 1), sets, strict=True))
    return plan(cluster(pool(racks, resources=has, unusable=unusable)), gang("t", *groups))


PORT = {"spec": {"containers": [{"name": "main", "ports": [{"containerPort": 80, "hostPort": 80}]}]}}
ALIKE = {
    "reserved nodes": small_first({"z/s/q": 5, "z/s/r": 7}, {"reserved": ("gb200-z-s-r-6",)}),
    "broken nodes": small_first({"z/s/q": 5, "z/s/r": 7}, {"notReady": ("gb200-z-s-r-6",)}),
    "a template": small_first({"z/s/q": 5, "z/s/r": 6}, {}, template={"metadata": {"annotations": {"a": "b"}}}),
    "a port of the node": small_first({"z/s/q": 5, "z/s/r": 6}, {}, cards=1, template=PORT),
    "an extended resource": small_first({"z/s/q": 5, "z/s/r": 6}, {}, cards=1, **{"rdma/ib": "1"}),
    "huge pages": small_first({"z/s/q": 5, "z/s/r": 6}, {}, cards=1, **{"hugepages-2Mi": "1"}),
    "scratch space": small_first({"z/s/q": 5, "z/s/r": 6}, {}, cards=1, **{"ephemeral-storage": "1"}),
}


@pytest.mark.parametrize("asked", ALIKE.values(), ids=ALIKE)
def test_what_changes_the_room_of_nodes_does_not_stop_the_search(asked: Plan) -> None:
    """As without them, only the larger group first finds nodes."""
    found = order(asked, asked.gangs[0], Target({"kai": "0.17"}))
    assert found == Order({"b-0": "0-b-0", "a-0": "1-a-0", "a-1": "2-a-1"})


def test_what_runs_on_reserved_nodes_decides() -> None:
    """Rack q has five nodes if the reserved ones are empty, and three if they are full. KAI fills the smaller rack."""
    two, three = replicas("a", 2, pods("w", 2), required="rack"), replicas("b", 1, pods("v", 3), required="rack")
    reserved = {"reserved": ("gb200-z-s-q-0", "gb200-z-s-q-1")}
    asked = plan(cluster(pool({"z/s/q": 5, "z/s/r": 4}, unusable=reserved)), gang("t", two, three))
    assert isinstance(prove(asked), Fits)
    (found,) = prove_kai(asked, Target({"kai": "0.17"}))
    assert (found.code, found.severity) == ("F690", "warning")


def test_a_search_that_bayplan_cannot_follow_is_an_error_where_order_matters() -> None:
    def shared(*counts: int) -> Plan:
        sets = [replicas(f"u{n}", 1, pods("w", count, gpus=4), required="rack") for n, count in enumerate(counts)]
        halves = [each._replace(members=tuple(map(_by_memory, each.members))) for each in sets]
        return plan(TWO_RACKS, gang("t", *halves))

    severities = [[each.severity for each in prove_kai(asked, TARGET)] for asked in (shared(1, 2), shared(5, 6))]
    assert severities == [[], ["error"]]


def _by_memory(unit: Unit) -> Unit:
    """Its pods share GPUs."""
    sets = (
        each._replace(spec=each.spec._replace(accelerator=Accelerator("gb200", 4, memory="8Gi"))) for each in unit.pods
    )
    return unit._replace(pods=tuple(sets))
