"""Manifests that are wrong on purpose. The comparison must notice each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.backends.kai.pod_group import SUBGROUP
from e2e.hand import Change, case, cluster, constrained, group, pod_group, pods
from e2e.scene import Case

Object = dict[str, Any]
FULL = cluster({"z/s/r0": 2, "z/s/r1": 2})
HELD = cluster({"z/s/r0": 2, "z/s/r1": 4})


class Spoiled(NamedTuple):
    """`right`: what the comparison says of the manifests as they are; `wrong`: what it must say of the spoiled ones."""

    name: str
    case: Case
    right: str
    change: Change
    wrong: str


def _start_with_one(spec: Object) -> Object:
    return {**spec, "minMember": 1}


def _without_subgroup(documents: Sequence[Mapping[str, Any]]) -> list[Object]:
    """Bare pods without the label that names their subgroup."""
    return [_unlabelled(each) if each["kind"] == "Pod" else dict(each) for each in documents]


def _unlabelled(pod: Mapping[str, Any]) -> Object:
    labels = {key: value for key, value in pod["metadata"]["labels"].items() if key != SUBGROUP}
    return {**pod, "metadata": {**pod["metadata"], "labels": labels}}


SPOILED = (
    Spoiled(
        "a level misspelt",
        case("g", HELD, pods("w", 3), required="rack"),
        "placed",
        constrained(required="rakc"),
        "missed",
    ),
    Spoiled(
        "minMember 1",
        case("g", FULL, pods("w", 3), required="rack"),
        "refused",
        pod_group(_start_with_one),
        "broken",
    ),
    Spoiled(
        "pods without the subgroup's label",
        case("g", HELD, group("u", pods("w", 2), required="rack"), group("v", pods("w", 2), required="rack")),
        "placed",
        _without_subgroup,
        "missed",
    ),
    Spoiled(
        "no name of a Topology, and too little room",
        case("g", FULL, pods("w", 3), required="rack"),
        "refused",
        constrained("", "", required="rack"),
        "found",
    ),
    Spoiled(
        "no name of a Topology, and room enough",
        case("g", HELD, pods("w", 3), required="rack"),
        "placed",
        constrained("", "", required="rack"),
        "broken",
    ),
)
