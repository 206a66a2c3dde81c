"""Existing manifests and a workflow as one picture: where the pods of each fit, and what differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bayplan.plugin import Fits, Plan, Unit, all_pods, count, walk
from bayplan.plugins.pictures.scene import Scene, cluster, scenes

Proven = Sequence[tuple[Plan, Fits | None]]

MOST_LINES = 12
"""The most changes to list."""


def before_and_after(before: Proven, after: Proven) -> tuple[Scene, ...]:
    """The scenes of both. The second lists the changes, and both mark the nodes on which something else runs."""
    (plan, _), *_ = after
    old, new = scenes(before), scenes(after)
    nothing = cluster(plan.topology, plan.occupied)._replace(note="no pods of this workflow")
    left = [each._replace(title=f"before: {each.title}") for each in old or (nothing,)]
    right = [each._replace(title=f"after: {each.title}") for each in new]
    if len(left) == len(right) == 1:
        one, other = _running(left[0]), _running(right[0])
        changed = frozenset(node for node in {**one, **other} if one.get(node) != other.get(node))
        left, right = ([each._replace(changed=changed) for each in side] for side in (left, right))
    lines = list(_changes([plan for plan, _ in before], [plan for plan, _ in after]))
    more = [f"and {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
    right[0] = right[0]._replace(lines=(*lines[:MOST_LINES], *more))
    return (*left, *right)


def _running(scene: Scene) -> dict[str, tuple[tuple[str, str, int, int], ...]]:
    """What runs on each node: gang, podSet instance, first pod and number of pods."""
    parts = [(scene.groups[each.group].gang, each.name) for each in scene.parts]
    return {
        node: tuple(sorted((*parts[seat.part], seat.first, seat.number) for seat in seats))
        for node, seats in scene.seats.items()
    }


def _changes(before: Sequence[Plan], after: Sequence[Plan]) -> Iterator[str]:
    """A line for each gang and group instance that is new, gone or different."""
    old, new = _units(before), _units(after)
    for name, facts in new.items():
        if name not in old:
            yield f"{name} is new: {', '.join(filter(None, facts))}"
        elif old[name] != facts:
            pairs = ((a or "nothing", b or "nothing") for a, b in zip(old[name], facts, strict=True) if a != b)
            yield f"{name}: {', '.join(f'{a} -> {b}' for a, b in pairs)}"
    yield from (f"{name} is gone" for name in old if name not in new)


def _units(plans: Sequence[Plan]) -> Mapping[str, tuple[str, ...]]:
    """Gang and group instance -> its pods, its levels, and their pools."""
    return {
        f"{gang.name} {unit.name}".strip(): _facts(unit)
        for plan in plans
        for gang in plan.gangs
        for unit in walk(gang.root)
    }


def _facts(unit: Unit) -> tuple[str, ...]:
    pods = list(all_pods(unit))
    pools = ", ".join(dict.fromkeys(each.pool for each in pods))
    levels = (
        f"{word} {level}" if level else ""
        for word, level in (("required", unit.required), ("preferred", unit.preferred))
    )
    return (count(sum(each.replicas for each in pods), "pod"), *levels, f"pool {pools}")
