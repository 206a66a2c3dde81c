"""Constraints that KAI does strange things with, by hand, and what each release makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from e2e.hand import both, case, cluster, constrained, group, pods
from e2e.releases import RELEASES
from e2e.run import world
from e2e.scene import scene
from e2e.scheduler import Case, Change, Release, edited

ONE_RACK = cluster({"z/s/r": 4})
TWO_RACKS = cluster({"z/s/r0": 4, "z/s/r1": 4})
SPLIT = cluster({"z/s0/r0": 2, "z/s1/r1": 2})
ONE_NODE = cluster({"z/s/r": 1})
SINGLES = cluster({"z/s/r0": 1, "z/s/r1": 1})
MIXED = cluster({"z/s/r": 2}, cards=8)
DOTTED = cluster({"z/s0/r0": 2, "z/s1/r1": 2})

Placed = Mapping[str, bool]
"""Name of a release -> whether it places all of a case."""

NAMES = tuple(each.name for each in RELEASES if each.scheduler.name == "kai")
ALWAYS, NEVER = dict.fromkeys(NAMES, True), dict.fromkeys(NAMES, False)
NEWER = {**ALWAYS, "kai 0.12.0": False}


class Degenerate(NamedTuple):
    """`labels`: other values for labels of nodes."""

    meaning: str
    case: Case
    change: Change
    placed: Placed
    labels: Mapping[str, str] = {}


def _pods(meaning: str, hall: dict[str, Any], count: int, placed: Placed, **levels: str) -> Degenerate:
    return Degenerate(meaning, case("g", hall, pods("w", count)), constrained(**levels), placed)


def _inside(
    meaning: str, topology: dict[str, Any], outer: str, inner: str, placed: Placed, cards: int = 4
) -> Degenerate:
    made = case("g", topology, group("u", pods("w", 1, cards)), group("v", pods("w", 1, cards)))
    return Degenerate(meaning, made, both(constrained(required=outer), constrained("u-0", required=inner)), placed)


CASES = (
    _pods("required zone with only one rack", ONE_RACK, 2, NEVER, required="zone"),
    _pods("the same, with the zone preferred", ONE_RACK, 2, NEWER, required="zone", preferred="zone"),
    _pods("the same, with the rack preferred", ONE_RACK, 2, ALWAYS, required="zone", preferred="rack"),
    _pods("required rack in a cluster with one node", ONE_NODE, 1, NEVER, required="rack"),
    _pods("the same, with the rack preferred", ONE_NODE, 1, NEWER, required="rack", preferred="rack"),
    _pods("preferred level coarser than the required one", SPLIT, 2, NEVER, required="rack", preferred="zone"),
    _pods("preferred level equal to the required one", SPLIT, 2, NEWER, required="rack", preferred="rack"),
    _inside("level of a child coarser than its parent's", SPLIT, "rack", "zone", NEVER, cards=1),
    _inside("rack inside a host", SPLIT, "host", "rack", NEVER, cards=1),
    _inside("rack inside a rack with several nodes", TWO_RACKS, "rack", "rack", ALWAYS),
    _inside("rack inside a rack with one node", SINGLES, "rack", "rack", NEVER, cards=2),
    _pods("level that the Topology lacks", SPLIT, 2, NEVER, required="rakc"),
    _pods("Topology without a level", SPLIT, 2, NEVER),
    _pods("missing Topology", SPLIT, 2, NEVER, topology="hal", required="rack"),
    _pods("level without a Topology: no constraint", SPLIT, 4, ALWAYS, topology="", required="rack"),
    _pods("preferred rack that is too small: the whole tree", SPLIT, 4, ALWAYS, preferred="rack"),
    Degenerate(
        "pods with 8 GPUs and 1 GPU: each counts as the largest",
        case("g", MIXED, pods("a", 1, 8), pods("b", 7, 1)),
        constrained(required="rack", preferred="host"),
        NEVER,
    ),
    Degenerate(
        "with pods without GPUs: KAI counts the sum",
        case("g", MIXED, pods("a", 2, 8), pods("b", 1, 0, "1")),
        constrained(required="rack", preferred="host"),
        ALWAYS,
    ),
    Degenerate(
        'zone "a.b", rack "c" and zone "a", rack "b.c": one rack for KAI',
        case("g", DOTTED, pods("w", 4)),
        constrained(required="rack", preferred="host"),
        ALWAYS,
        labels={"s0": "a.b", "r0": "c", "s1": "a", "r1": "b.c"},
    ),
)


def places(each: Degenerate, release: Release) -> bool:
    """Whether KAI places all pods of the case."""
    made = scene(each.case, release)
    seen = world(made, made.stages[0], each.change(made.documents), release)
    nodes = edited(seen.nodes, "Node metadata labels *", lambda value: each.labels.get(value, value))
    return len(release.scheduler.bind(seen._replace(nodes=nodes), release)) == len(seen.members)
