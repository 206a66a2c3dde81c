"""How much of a card the pods of each podSet take, made out once for the whole workflow.

On cards that equal shares fill, each counts as the nth part where n of them find room: shares of 40% count as a half.
Shares of different sizes count as what they are, for one may fill what the others leave; then the sum is right and the
cut is not known, and the proof only likely (`blind_spots.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from bayplan.accelerators import allocator
from bayplan.model.topology import AcceleratorKind, ClusterTopology
from bayplan.model.workflow import Accelerator, Gang, Group, PodSet, Workflow

ONE = 1000
Node = TypeVar("Node", Gang, Group)
Sizes = Mapping[str, frozenset[tuple[int, int]]]
"""Accelerator -> the sizes of all shares that the workflow asks of it."""


def apportioned(workflow: Workflow, topology: ClusterTopology) -> Workflow:
    """The workflow with `portion` in each accelerator of which not whole cards are asked."""
    kinds = topology.accelerators
    asked = [each.accelerator for gang in workflow.gangs for each in _pod_sets(gang) if each.accelerator]
    if all(each.whole for each in asked) and not any(kind.profile for kind in kinds.values()):
        return workflow
    known = [each for each in asked if each.name in kinds and not each.whole]
    sizes: dict[str, frozenset[tuple[int, int]]] = {}
    for each in known:
        sizes[each.name] = sizes.get(each.name, frozenset()) | {_size(each, kinds[each.name])}
    return workflow._replace(gangs=tuple(_with(gang, kinds, sizes) for gang in workflow.gangs))


def _pod_sets(node: Gang | Group) -> Iterator[PodSet]:
    yield from node.pod_sets
    for group in node.groups:
        yield from _pod_sets(group)


def _with(node: Node, kinds: Mapping[str, AcceleratorKind], sizes: Sizes) -> Node:
    sets = tuple(_portioned(each, kinds, sizes) for each in node.pod_sets)
    return node._replace(pod_sets=sets, groups=tuple(_with(group, kinds, sizes) for group in node.groups))


def _portioned(spec: PodSet, kinds: Mapping[str, AcceleratorKind], sizes: Sizes) -> PodSet:
    asked = spec.accelerator
    if asked is None or asked.name not in kinds:
        return spec
    if asked.whole and kinds[asked.name].profile:
        asked = asked._replace(
            profile=kinds[asked.name].profile
        )  # what is counted are slices, asked for as such or not
    if asked.whole:
        return spec
    even = len(sizes.get(asked.name, ())) == 1
    return spec._replace(accelerator=asked._replace(portion=_portion(asked, kinds[asked.name], even)))


def _portion(asked: Accelerator, kind: AcceleratorKind, even: bool) -> int:
    """In thousandths of a card; 0 for what is counted otherwise."""
    if asked.profile:
        from bayplan.accelerators import mig

        if allocator(asked, kind) != "dra":  # slices are counted: as the kind's cards, or by a resource of their own
            return ONE if kind.profile else 0
        return mig.portion(asked.profile)
    from bayplan.accelerators import shares

    return ONE // shares.slots(asked, kind) if even else shares.fraction(asked, kind)


def _size(asked: Accelerator, kind: AcceleratorKind) -> tuple[int, int]:
    """What is the same of equal shares."""
    if asked.profile:
        return (0, 0)
    from bayplan.accelerators import shares

    return (shares.slots(asked, kind), shares.fraction(asked, kind))


def cut(workflow: Workflow, topology: ClusterTopology) -> frozenset[str]:
    """Accelerators whose cards the workflow cuts in a way that sums do not tell.

    Sums tell all where shares are equal and each pod takes one, or where no pod takes whole cards besides.
    """
    by_name: dict[str, list[Accelerator]] = {}
    for each in (spec.accelerator for gang in workflow.gangs for spec in _pod_sets(gang)):
        if each and each.name in topology.accelerators:
            by_name.setdefault(each.name, []).append(each)
    return frozenset(name for name, asked in by_name.items() if _ragged(asked, topology.accelerators[name]))


def _ragged(asked: list[Accelerator], kind: AcceleratorKind) -> bool:
    parts = [each for each in asked if each.memory or each.cores]
    slices = [each for each in asked if each.profile and allocator(each, kind) == "dra"]
    mixed = len(parts) < len(asked) and any(each.per_pod > 1 for each in parts)
    return bool(slices) or len({each.portion for each in parts}) > 1 or (bool(parts) and mixed) or _untold(parts, kind)


def _untold(parts: list[Accelerator], kind: AcceleratorKind) -> bool:
    from bayplan.accelerators import shares

    return any(not shares.told(each, kind) for each in parts)
