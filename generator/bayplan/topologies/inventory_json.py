"""A counted topology as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan.fabrics import pools_of
from bayplan.model.topology import ClusterTopology, Fabric
from bayplan.topologies import hostlist
from bayplan.topologies.inventory import Amount, Fit, LevelCount, PoolCount, Unit, total_of


def data(topology: ClusterTopology, counted: tuple[PoolCount, ...], level: str) -> dict[str, Any]:
    """The whole cluster, its units down to a level; all of them where none is named."""
    return {
        "topology": topology.name,
        **_amount(total_of([each.amount for each in counted])),
        "pools": [_pool(each, level) for each in counted],
        **({"fabrics": [_fabric(topology, each) for each in topology.fabrics.values()]} if topology.fabrics else {}),
    }


def _fabric(topology: ClusterTopology, fabric: Fabric) -> dict[str, Any]:
    return {
        "name": fabric.name,
        "kind": fabric.kind,
        "linkType": fabric.link_type or None,
        "rails": len(fabric.rails),
        "pools": [pool.name for pool in pools_of(topology, fabric.name)],
    }


def _pool(counted: PoolCount, level: str) -> dict[str, Any]:
    pool = counted.pool
    depth = next((n for n, each in enumerate(pool.levels, 1) if each.name == level), len(pool.levels))
    return {
        "name": pool.name,
        "accelerator": pool.node.accelerator or None,
        "accelerators": pool.node.accelerators * counted.amount.nodes,
        **_amount(counted.amount),
        "levels": list(map(_level, counted.levels)),
        "domains": [_unit(each, depth) for each in counted.units],
        "unusableNodes": {reason: hostlist.compress(names) for reason, names in pool.unusable.items()},
    }


def _amount(amount: Amount) -> dict[str, Any]:
    return {
        "nodes": amount.nodes,
        "usable": amount.usable,
        "planned": amount.planned,
        "unusable": dict(sorted(amount.unusable.items())),
    }


def _level(level: LevelCount) -> dict[str, Any]:
    return {
        "name": level.name,
        "label": level.label,
        "nvlink": level.nvlink,
        "plan": level.plan,
        "domains": level.units,
        "sizes": _sizes(level.sizes, "nodes"),
        "usable": _sizes(level.usable, "usable"),
        "groups": list(map(_fit, level.fits)),
    }


def _sizes(sizes: Mapping[int, int], word: str) -> list[dict[str, int]]:
    return [{word: size, "domains": units} for size, units in sizes.items()]


def _fit(fit: Fit) -> dict[str, int]:
    return {"size": fit.size, "groups": fit.groups, "stranded": fit.stranded}


def _unit(unit: Unit, depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {"level": unit.level or None, "path": "/".join(unit.path), **_amount(unit.amount)}
    if unit.nvlink_domain:
        found["nvlinkDomain"] = unit.nvlink_domain
    if unit.members:
        found["nodeNames"] = hostlist.compress(unit.members)
    if unit.below and len(unit.path) < depth:
        found["domains"] = [_unit(each, depth) for each in unit.below]
    return found
