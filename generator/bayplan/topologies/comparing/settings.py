"""What two topologies say besides their nodes: node shapes, levels, queues, versions and all the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.core.values import NamedTuple
from bayplan.model.topology import ClusterTopology
from bayplan.topologies import native


class Change(NamedTuple):
    """A value under a key such as `pools.gb200.node.cpu`, as text; empty where there is none."""

    key: str
    before: str
    after: str


def changes(before: ClusterTopology, after: ClusterTopology, names: Mapping[str, str]) -> tuple[Change, ...]:
    """What differs. `names`: pool before -> the same pool after; other pools are left out."""
    renamed = {new: old for old, new in names.items()}
    left, right = _said(before, {name: name for name in names}), _said(after, renamed)
    return tuple(Change(f"{key}", *_texts(old, new)) for key, old, new in _differing("", left, right))


def _said(topology: ClusterTopology, names: Mapping[str, str]) -> dict[str, Any]:
    """The document without nodes; pools and levels by name, and the order of levels."""
    bare = tuple(pool._replace(domains=(), unusable={}) for pool in topology.pools if pool.name in names)
    document = native.write(topology._replace(pools=bare))
    spec: dict[str, Any] = document["spec"]
    pools = {names[pool["name"]]: _pool(pool) for pool in spec["pools"]}
    fabrics = {name: _fabric(each) for name, each in spec.get("fabrics", {}).items()}
    return {"name": topology.name, **spec, "pools": pools, **({"fabrics": fabrics} if fabrics else {})}


def _fabric(fabric: Mapping[str, Any]) -> dict[str, Any]:
    """Rails by number."""
    return {**fabric, "rails": {str(number): rail for number, rail in enumerate(fabric.get("rails", ()))}}


def _pool(pool: Mapping[str, Any]) -> dict[str, Any]:
    levels = pool.get("levels", ())
    order = {"order of levels": " > ".join(level["name"] for level in levels)}
    said = {key: pool[key] for key in ("node", "template") if key in pool}
    return {**said, **order, "levels": {level["name"]: level for level in levels}}


def _differing(key: str, before: Any, after: Any) -> Iterator[tuple[str, Any, Any]]:
    """Keys of mappings, as deep as both have mappings."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for each in [*before, *(each for each in after if each not in before)]:
            inner = f"{key}.{each}" if key else str(each)
            yield from _differing(inner, before.get(each), after.get(each))
    elif before != after:
        yield key, before, after


def _texts(before: Any, after: Any) -> tuple[str, str]:
    return _text(before), _text(after)


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    import json

    return json.dumps(value)
