"""Fold the instances of a group into one, for workloads whose replicas share one pod template.

A group instance folds if its pods differ from those of its siblings in nothing but their ranks, and if these can be
computed from the number of the copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from bayplan.model.plan import GangPlan, Pods, Ranks, Unit, Units, all_pods, instance


def fold(gang: GangPlan) -> GangPlan:
    """The gang with as few podSet instances as can be."""
    root = _unit(gang.root)
    return gang._replace(root=_mastered(root)) if root != gang.root else gang


def _unit(unit: Unit) -> Unit:
    return unit._replace(groups=tuple(map(_units, unit.groups)))


def _units(units: Units) -> Units:
    """The group with one instance in place of all, if they are alike."""
    members = tuple(map(_unit, units.members))
    renamed = [_renamed(member, member.name, units.name) for member in members]
    whole = len(members) > 1 and units.minimum == len(members) and all(_bare(m) == _bare(renamed[0]) for m in renamed)
    merged = _merged(renamed[0], [list(all_pods(member)) for member in members]) if whole else None
    if merged is None:
        return units._replace(members=members)
    return units._replace(minimum=1, members=(merged._replace(copies=len(members)),))


def _renamed(unit: Unit, old: str, new: str) -> Unit:
    """The unit under the name of its group."""
    return unit._replace(
        name=new + unit.name.removeprefix(old),
        pods=tuple(pods._replace(name=new + pods.name.removeprefix(old)) for pods in unit.pods),
        groups=tuple(
            units._replace(
                name=new + units.name.removeprefix(old),
                members=tuple(_renamed(member, old, new) for member in units.members),
            )
            for units in unit.groups
        ),
    )


def _bare(unit: Unit) -> Unit:
    """The unit without ranks and without the names of what was folded in it."""
    return unit._replace(
        pods=tuple(pods._replace(ranks=None, instances=("",) * len(pods.instances)) for pods in unit.pods),
        groups=tuple(units._replace(members=tuple(map(_bare, units.members))) for units in unit.groups),
    )


def _merged(first: Unit, copies: Sequence[Sequence[Pods]]) -> Unit | None:
    """The first instance with the ranks and names of all; None where the ranks follow no rule."""
    folded: dict[str, Pods] = {}
    for mine, same in zip(all_pods(first), zip(*copies, strict=True), strict=True):
        ranks = _ranks([pods.ranks for pods in same], same[0].copies)
        if ranks is None and same[0].ranks is not None:
            return None
        names = tuple(name for pods in same for name in pods.instances or (pods.name,))
        folded[mine.name] = mine._replace(ranks=ranks, instances=names)
    return _with(first, folded)


def _ranks(each: Sequence[Ranks | None], copies: int) -> Ranks | None:
    """Ranks of all copies as one rule. `copies`: how many each of them stands for already."""
    known = [ranks for ranks in each if ranks is not None]
    if len(known) < len(each):
        return None
    own = known[0].master != known[1].master  # a rendezvous in each copy
    stride = _stride([ranks.first for ranks in known], known[0].stride, copies)
    group_stride = _stride([ranks.group_index for ranks in known], known[0].group_stride, copies)
    if stride is None or group_stride is None:
        return None
    return known[0]._replace(stride=stride, group_stride=group_stride, each=own or known[0].each)


def _stride(numbers: Sequence[int], inner: int, copies: int) -> int | None:
    """The common distance of copies, where those that were folded before keep it too."""
    steps = {after - before for before, after in pairwise(numbers)}
    step = next(iter(steps))
    if len(steps) > 1 or (copies > 1 and step != inner * copies):
        return None
    return inner if copies > 1 else step


def _with(unit: Unit, folded: dict[str, Pods]) -> Unit:
    return unit._replace(
        pods=tuple(folded.get(pods.name, pods) for pods in unit.pods),
        groups=tuple(
            units._replace(members=tuple(_with(member, folded) for member in units.members)) for units in unit.groups
        ),
    )


def _mastered(root: Unit) -> Unit:
    """Masters under the names that they have now. What was not folded may meet in what was: its copy says where."""
    renamed: dict[str, Pods] = {}
    for pods in all_pods(root):
        if pods.ranks:
            into, copy = instance(root, pods.ranks.master.pods)
            number = 0 if pods.ranks.each else copy * into.replicas
            master = pods.ranks.master._replace(pods=into.name, number=number)
            renamed[pods.name] = pods._replace(ranks=pods.ranks._replace(master=master))
    return _with(root, renamed)
