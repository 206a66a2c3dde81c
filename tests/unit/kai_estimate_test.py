"""KAI's estimate by version, as its source computes it; the executed cases that it was checked against."""

from __future__ import annotations

import pytest
from fit_scene import GPU, cluster, gang, plan, pods, pool, racks, replicas

from bayplan.backends.kai.estimate import estimate
from bayplan.model.plan import Plan
from bayplan.model.target import Target
from bayplan.planning.fit import Fits, prove

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

CASES = {
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
    "one rack in the zone, 0.12": (ONE_RACK, "0.12", ["F691"]),
    "one rack in the zone, 0.10.4": (ONE_RACK, "0.10.4", ["F691"]),
    "one rack in the zone, 0.10.0": (ONE_RACK, "0.10", []),
    "one rack in the zone, 0.13": (ONE_RACK, "0.13", []),
    "one node in the rack": (ONE_NODE, "0.12", ["F691"]),
    "rack in a rack of one node": (RACKS_OF_ONE, "0.12", ["F691"]),
    "rack in a rack of two nodes": (RACKS_OF_TWO, "0.12", []),
    "a finer preferred level, 0.12": (FINER, "0.12", ["F691"]),
    "a finer preferred level, 0.12.9": (FINER, "0.12.9", []),
    "64 pods": (WHOLE, "0.10.4", []),
}


@pytest.mark.parametrize(("asked", "version", "codes"), CASES.values(), ids=CASES)
def test_estimate(asked: Plan, version: str, codes: list[str]) -> None:
    assert isinstance(prove(asked), Fits)
    assert [each.code for each in estimate(asked, Target({"kai": version}))] == codes


def test_the_message_names_numbers() -> None:
    (found,) = estimate(MIXED, Target({"kai": "0.17"}))
    assert found.message == (
        'gang "t" fits, but KAI never places it: KAI gives each of its 8 pods the size of the largest (8 gpu),'
        ' so rack "r" has room for at most 2'
    )
    assert found.route == ("workflow", "spec", "gangs", 0, "placement", "required")
