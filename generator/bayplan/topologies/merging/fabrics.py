"""What several sources say of one fabric: the launch kit its RDMA devices, the operator's objects its addresses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan.core.diagnostics import Diagnostic, error
from bayplan.model.formats import Part
from bayplan.model.topology import Fabric, Ipam, Rail

Told = list[Diagnostic]


def together(one: Part, other: Part, found: Told) -> dict[str, Fabric]:
    """The fabrics of both. Two are the same where they are of one kind and have a network or a card in common."""
    made = dict(one.topology.fabrics)
    for name, theirs in other.topology.fabrics.items():
        twin = next((each for each in made.values() if _same(each, theirs)), None)
        if twin is not None:
            made[twin.name] = _joined(twin, theirs, one, other, found)
        else:
            free = _free(name, theirs.kind, made)
            made[free] = theirs._replace(name=free)
    return dict(sorted(made.items()))


def _same(one: Fabric, other: Fabric) -> bool:
    if one.kind != other.kind:
        return False
    if one.name == other.name and not (one.rails and other.rails):
        return True
    mine, theirs = (
        {(key, getattr(rail, key)) for rail in each.rails for key in ("network", "hca", "device") if getattr(rail, key)}
        for each in (one, other)
    )
    return bool(mine & theirs) or (one.name == other.name and len(one.rails) == len(other.rails))


def _free(name: str, kind: str, taken: Mapping[str, Fabric]) -> str:
    names = (name, kind, *(f"{kind}-{number}" for number in range(2, len(taken) + 3)))
    return next(each for each in names if each not in taken)


def _joined(one: Fabric, other: Fabric, first: Part, second: Part, found: Told) -> Fabric:
    def fields(mine: Any, theirs: Any, where: str) -> dict[str, Any]:
        defaults = type(mine)._field_defaults
        pairs = {key: (getattr(mine, key), getattr(theirs, key), default) for key, default in defaults.items()}
        return {key: _one(*pair, f"{key} of {where}", first, second, found) for key, pair in pairs.items()}

    where = f"fabric {one.name}"
    made = fields(one._replace(rails=(), ipam=Ipam(), env={}), other._replace(rails=(), ipam=Ipam(), env={}), where)
    rails = tuple(
        mine if theirs is None else Rail(**fields(mine, theirs, f"rail {place} of {where}"))
        for place, (mine, theirs) in enumerate(_paired(one, other))
    )
    ipam = Ipam(**fields(one.ipam, other.ipam, f"the addresses of {where}"))
    return one._replace(**{**made, "rails": rails, "ipam": ipam, "env": {**other.env, **one.env}})


def _paired(one: Fabric, other: Fabric) -> list[tuple[Rail, Rail | None]]:
    """The rails of the first, each with the same one of the other's, then those that only the other has.

    Where one of them names no networks or cards, rails are the same by their place."""
    by_place = len(one.rails) == len(other.rails) and not _named(one, other)
    made: list[tuple[Rail, Rail | None]] = []
    rest = list(other.rails)
    for place, rail in enumerate(one.rails):
        twin = next((each for each in rest if _twins(rail, each)), None)
        if twin is None and by_place and other.rails[place] in rest:
            twin = other.rails[place]
        if twin is not None:
            rest.remove(twin)
        made.append((rail, twin))
    return [*made, *((rail, None) for rail in rest)]


def _twins(one: Rail, other: Rail) -> bool:
    keys = ("network", "hca", "device")
    return any(getattr(one, key) and getattr(one, key) == getattr(other, key) for key in keys)


def _named(one: Fabric, other: Fabric) -> bool:
    """Whether both call their networks by name."""
    return all(any(rail.network for rail in each.rails) for each in (one, other))


def _one(mine: Any, theirs: Any, nothing: Any, where: str, first: Part, second: Part, found: Told) -> Any:
    """What either says. T618: two things at once."""
    if mine == nothing:
        return theirs
    if theirs not in (nothing, mine):
        message = f"{where} is {_shown(mine)} in {first.source}, and {_shown(theirs)} in {second.source}"
        found.append(error("T618", (), message, hint="correct one of them, or leave one source out"))
    return mine


def _shown(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(list(value) if isinstance(value, tuple) else value)[:80]
