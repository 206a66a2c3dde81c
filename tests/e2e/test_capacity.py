"""The largest gang that `bayplan capacity` prints starts, and the schedulers' own code does not place one pod more."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from bayplan.model.topology import ClusterTopology
from bayplan.planning.capacity import rooms
from bayplan.topologies import native
from e2e.cases import read_example
from e2e.hand import cluster
from e2e.others import half, occupied
from e2e.releases import BY_NAME, require
from e2e.run import judge
from e2e.scheduler import Case
from tools.effort import examples

UNEVEN = cluster({"z/s0/r0": 3, "z/s0/r1": 2, "z/s1/r2": 4, "z/s1/r3": 1})
UNEVEN["spec"]["pools"][0]["unusable"] = {"cordoned": "z-s1-r2-[0-1]"}

CARDS = {"1 gb200": 1, "2 gb200": 2, "4 gb200": 4}


def _read(data: dict[str, Any]) -> ClusterTopology:
    made = native.read(data).value
    assert made
    return made.value


def _gang(count: int, level: str, cards: int) -> dict[str, Any]:
    workflow: dict[str, Any] = {**read_example("pretrain").workflow}
    worker = {"name": "worker", "replicas": count, "accelerator": {"name": "gb200", "count": cards}, "image": "a"}
    train = {
        "name": "train",
        "workload": "pods",
        "rendezvous": "none",
        **({"placement": {"required": level}} if level else {}),
        "computeDomain": "never",
        "podSets": [{**worker, "command": ["run"]}],
    }
    return {**workflow, "spec": {"queue": "research", "gangs": [train]}}


@pytest.mark.parametrize("name", ["kai 0.17.0", "kueue 0.19.2"])
@pytest.mark.parametrize("kind", CARDS)
@pytest.mark.parametrize("seed", [None, *range(examples(3, 40))])
def test_the_largest_gang_starts_and_no_larger_one(seed: int | None, kind: str, name: str) -> None:
    """On an empty cluster, and on half-busy ones."""
    release = BY_NAME[name]
    require(release)
    running = () if seed is None else tuple(half(Random(seed), UNEVEN["spec"]["pools"]))
    topology = _read(UNEVEN)
    asked = rooms(topology, topology.pools[0], occupied(running, topology) if running else {})
    room = next(room for room in asked if room.kind.name == kind)
    largest = {"": room.pods, **{most.level: most.pods for most in room.levels if most.level in ("spine", "rack")}}
    for level, pods in largest.items():
        gangs = [_gang(number, level, CARDS[kind]) for number in (pods, pods + 1) if number]
        outcomes = [judge(Case(kind, gang, UNEVEN, others=running), release)[0].outcome for gang in gangs]
        assert outcomes == ["placed", "refused"][-len(gangs) :], (level, pods)
