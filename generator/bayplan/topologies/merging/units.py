"""Names of Slurm's blocks and switches, kept where another source says how domains are called.

Slurm saves nodes with their unit, and does not start when a unit has gone (`Invalid node topology specified`, Slurm
25.05 to 25.11). So what Slurm calls a domain goes along to whatever the domain is called in the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.model.formats import Part
from bayplan.model.topology import Pool
from bayplan.topologies.slurm.layout import kept, known_units, plain

Path = tuple[str, ...]


def without(schedulers: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """What is said of schedulers besides names of units: those follow the pools."""
    own = schedulers.get("slurm")
    if own is None:
        return dict(schedulers)
    pools = {name: {k: v for k, v in each.items() if k != "units"} for name, each in own.get("pools", {}).items()}
    kept = {key: value for key, value in own.items() if key not in ("units", "pools")}
    return {**schedulers, "slurm": {**kept, **({"pools": pools} if pools else {})}}


def carried(
    schedulers: Mapping[str, Mapping[str, Any]], pools: Sequence[Pool], parts: Sequence[Part]
) -> dict[str, Mapping[str, Any]]:
    """The schedulers with the names of units of the pools, as any part with Slurm says them."""
    units = {pool.name: {key: name for part in parts for key, name in _named(pool, part)} for pool in pools}
    units = {name: found for name, found in units.items() if found}
    own = dict(schedulers.get("slurm", {}))
    if not units:
        return dict(schedulers)
    if len(pools) == 1:
        return {**schedulers, "slurm": {**own, "units": next(iter(units.values()))}}
    told = {name: {**own.get("pools", {}).get(name, {}), "units": found} for name, found in units.items()}
    return {**schedulers, "slurm": {**own, "pools": {**own.get("pools", {}), **told}}}


def _named(pool: Pool, part: Part) -> Iterator[tuple[str, str]]:
    """Path in the pool -> the unit of the part, where the path does not say it already."""
    if "slurm" not in part.topology.schedulers:
        return
    for old in part.topology.pools:
        places = {node: domain.path for domain in old.domains for node in domain.nodes}
        rows = [(row.path, next((places[node] for node in row.nodes if node in places), ())) for row in pool.domains]
        known, paired = known_units(part.topology, old), [(new, path) for new, path in rows if path]
        for depth, there in _depths(len(pool.levels), len(old.levels), paired):
            for new, path in paired:
                name = known.get("/".join(path[:there])) or path[there - 1]
                if plain(new[depth - 1]) != name and kept(name):
                    yield "/".join(new[:depth]), name


def _depths(new: int, old: int, rows: Sequence[tuple[Path, Path]]) -> Iterator[tuple[int, int]]:
    """Levels of the pool, and those of the part that cut its nodes alike, counted from 1."""
    for depth in range(1, new + 1):
        for there in range(old, 0, -1):
            cut = {(path[:depth], other[:there]) for path, other in rows}
            if cut and len(cut) == len({one for one, _ in cut}) == len({two for _, two in cut}):
                yield depth, there
                break
