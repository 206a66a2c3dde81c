"""Levels as Volcano's tiers: numbers counted from the finest level up, and the units that are placed by them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.core.values import NamedTuple
from bayplan.model.plan import Plan, Pods, Unit, Units, all_pods, minimum
from bayplan.model.topology import HOST_LEVEL, Pool


def tier(pool: Pool, level: str) -> int:
    """1 for the finest level above the host, which is tier 0: no HyperNode stands for a single node."""
    return len(pool.levels) - pool.depth(level)


def network_topology(plan: Plan, unit: Unit) -> dict[str, Any]:
    """What a unit's placement is to Volcano: the number of the highest tier, never its name.

    An unknown name is a line in the scheduler's log and then no constraint at all (Volcano 1.15, session.go
    `adjustNetworkTopologySpec`). Soft mode ignores the number; it says what was meant to whoever reads the manifest.
    """
    level = unit.required or unit.preferred
    pool = plan.topology.pool(next(all_pods(unit)).pool)
    if not level or level == HOST_LEVEL or pool is None:
        return {}
    mode = "hard" if unit.required else "soft"
    return {"networkTopology": {"mode": mode, "highestTierAllowed": tier(pool, level)}}


class Policy(NamedTuple):
    """Unit instances of one group and one size: what one `subGroupPolicy`, or one partitioned task, is about."""

    name: str
    units: tuple[Unit, ...]
    minimum: int  # how many of them must start
    size: int  # pods of each that must start

    @property
    def flat(self) -> bool:
        """Whether the pods' own group is the unit: no groups stand below."""
        return not self.units[0].groups


class Member(NamedTuple):
    """One instance of a group, and what Volcano needs to know of the group."""

    stem: str  # the group's name without the numbers of instances above it
    units: Units
    unit: Unit
    around: int  # how many instances that Volcano must know of stand around it
    copies: int  # how many instances of the group were folded into this one, in the whole gang

    @property
    def optional(self) -> bool:
        """Whether the gang may start without some instances of the group."""
        return self.units.minimum < len(self.units.members)

    @property
    def counted(self) -> bool:
        """Whether Volcano must know the instance as a subgroup: it is placed, or the gang may start without it."""
        return bool(self.unit.required or self.unit.preferred) or self.optional


def members(unit: Unit, stem: str = "", around: int = 0, copies: int = 1) -> Iterator[Member]:
    """All group instances below a unit, parents first."""
    for units in unit.groups:
        own = units.name.removeprefix(unit.name).removeprefix("-")
        path = f"{stem}-{own}" if stem else own
        for each in units.members:
            member = Member(path, units, each, around, copies * each.copies)
            yield member
            yield from members(each, path, around + member.counted, member.copies)


def subgroups(root: Unit) -> Iterator[Member]:
    """The group instances that are subgroups. Of those that stand inside each other (a gap that the user has accepted)
    the innermost: what must be closest together is what NVLink needs."""
    return (each for each in members(root) if each.counted and not any(own.counted for own in members(each.unit)))


def policies(root: Unit) -> tuple[Policy, ...]:
    """The subgroups of a gang, each group's together where they are of one size."""
    found: dict[tuple[str, str, int], list[Member]] = {}
    for member in subgroups(root):
        instance = member.units.name if member.optional else ""
        found.setdefault((member.stem, instance, minimum(member.unit)), []).append(member)
    stems = [stem for stem, _, _ in found]
    return tuple(
        Policy(
            name=(instance or stem) + (f".{size}" if not instance and stems.count(stem) > 1 else ""),
            units=tuple(each.unit for each in group),
            minimum=min(len(group), group[0].units.minimum) if instance else len(group),
            size=size,
        )
        for (stem, instance, size), group in found.items()
    )


def policy_of(found: tuple[Policy, ...]) -> dict[str, tuple[Policy, Unit]]:
    """Of each podSet instance that is in a subgroup, by name: the policy and the unit."""
    return {pods.name: (policy, unit) for policy in found for unit in policy.units for pods in all_pods(unit)}


def roles(root: Unit) -> dict[str, int]:
    """The least pods of each podSet instance, where the gang's least pods alone would not say which must be among them.

    Pods of optional groups are left out: which of these groups start is not known beforehand.
    """
    everyone = list(all_pods(root))
    optional = {pods.name for each in members(root) if each.optional for pods in all_pods(each.unit)}
    if len(everyone) == 1 or not (optional or any(map(_elastic, everyone))):
        return {}
    return {pods.name: pods.minimum for pods in everyone if pods.name not in optional}


def _elastic(pods: Pods) -> bool:
    return pods.minimum < pods.replicas
