"""Constraints that KAI does strange things with, by hand, and what each release makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from e2e.hand import Change, both, case, cluster, constrained, group, pods
from e2e.kai import replay
from e2e.releases import RELEASES, Release
from e2e.run import here
from e2e.scene import Case, scene
from e2e.snapshot import snapshot

ONE_RACK = cluster({"z/s/r": 4})
TWO_RACKS = cluster({"z/s/r0": 4, "z/s/r1": 4})
SPLIT = cluster({"z/s0/r0": 2, "z/s1/r1": 2})
ONE_NODE = cluster({"z/s/r": 1})
SINGLES = cluster({"z/s/r0": 1, "z/s/r1": 1})
MIXED = cluster({"z/s/r": 2}, cards=8)
DOTTED = cluster({"z/s0/r0": 2, "z/s1/r1": 2})

ALWAYS, NEVER, NEWER = (True, True), (False, False), (False, True)


class Degenerate(NamedTuple):
    """`placed`: for each release whether KAI places all of it. `labels`: other values for labels of nodes."""

    meaning: str
    case: Case
    change: Change
    placed: tuple[bool, bool]
    labels: Mapping[str, str] = {}


def _pods(meaning: str, hall: dict[str, Any], count: int, placed: tuple[bool, bool], **levels: str) -> Degenerate:
    return Degenerate(meaning, case("g", hall, pods("w", count)), constrained(**levels), placed)


def _inside(
    meaning: str, topology: dict[str, Any], outer: str, inner: str, placed: tuple[bool, bool], cards: int = 4
) -> Degenerate:
    made = case("g", topology, group("u", pods("w", 1, cards)), group("v", pods("w", 1, cards)))
    return Degenerate(meaning, made, both(constrained(required=outer), constrained("u-0", required=inner)), placed)


CASES = (
    _pods("a required zone that is one rack", ONE_RACK, 2, NEVER, required="zone"),
    _pods("the same, and the zone preferred", ONE_RACK, 2, NEWER, required="zone", preferred="zone"),
    _pods("the same, and the rack preferred", ONE_RACK, 2, ALWAYS, required="zone", preferred="rack"),
    _pods("a required rack of the one node there is", ONE_NODE, 1, NEVER, required="rack"),
    _pods("the same, and the rack preferred", ONE_NODE, 1, NEWER, required="rack", preferred="rack"),
    _pods("preferred broader than required", SPLIT, 2, NEVER, required="rack", preferred="zone"),
    _pods("preferred the same as required", SPLIT, 2, NEWER, required="rack", preferred="rack"),
    _inside("a child's level broader than its parent's", SPLIT, "rack", "zone", NEVER, cards=1),
    _inside("a rack inside a host", SPLIT, "host", "rack", NEVER, cards=1),
    _inside("a rack in a rack, of several nodes", TWO_RACKS, "rack", "rack", ALWAYS),
    _inside("a rack in a rack, of one node", SINGLES, "rack", "rack", NEVER, cards=2),
    _pods("a level that the Topology lacks", SPLIT, 2, NEVER, required="rakc"),
    _pods("a Topology and no level", SPLIT, 2, NEVER),
    _pods("a Topology that is not there", SPLIT, 2, NEVER, topology="hal", required="rack"),
    _pods("a level and no Topology: no constraint at all", SPLIT, 4, ALWAYS, topology="", required="rack"),
    _pods("a preferred rack that is too small: the whole tree", SPLIT, 4, ALWAYS, preferred="rack"),
    Degenerate(
        "pods of 8 and of 1 cards: each counted as the largest",
        case("g", MIXED, pods("a", 1, 8), pods("b", 7, 1)),
        constrained(required="rack", preferred="host"),
        NEVER,
    ),
    Degenerate(
        "pods without cards beside: counted by their sum",
        case("g", MIXED, pods("a", 2, 8), pods("b", 1, 0, "1")),
        constrained(required="rack", preferred="host"),
        ALWAYS,
    ),
    Degenerate(
        'zone "a.b", rack "c" and zone "a", rack "b.c": one rack to KAI',
        case("g", DOTTED, pods("w", 4)),
        constrained(required="rack", preferred="host"),
        ALWAYS,
        labels={"s0": "a.b", "r0": "c", "s1": "a", "r1": "b.c"},
    ),
)


def places(each: Degenerate, release: Release) -> bool:
    """Whether KAI places all pods of the case."""
    made = scene(each.case, release)
    documents = each.change(made.documents)
    chosen = here(made.stages[0], documents)
    content = snapshot(made.plan.topology, documents, chosen, release)
    for node in content["rawObjects"]["nodes"]:
        labels = node["metadata"]["labels"]
        labels.update({key: each.labels.get(value, value) for key, value in labels.items()})
    return len(replay(release, content).bindings) == len(chosen)


def expected(each: Degenerate, release: Release) -> bool:
    """What the table says."""
    return each.placed[RELEASES.index(release)]
