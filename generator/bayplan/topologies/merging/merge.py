"""What several sources say of one cluster, made one topology: one adds to another, contradictions are errors.

Nodes are joined by name, or by another name that a source knows of them. Pools that share nodes are one pool
(`merge_pools`); a pool without domains gives its levels, selectors and labels to the pool of its name; what a file says
of schedulers, queues and versions is put together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Outcome, error, has_errors, info, warning
from bayplan.model.formats import Part
from bayplan.model.topology import AcceleratorKind, NodeShape, Pool
from bayplan.topologies.grouping import NAMELESS
from bayplan.topologies.merging import fabrics as merge_fabrics
from bayplan.topologies.merging import pools as merge_pools
from bayplan.topologies.merging import units

OWN = ("versions", "images", "namespaces")
"""Of these, and of `schedulers`, the parts must agree where both speak; of `defaults` the first to speak counts."""


def merge(parts: Sequence[Part]) -> Outcome[Part]:
    """The parts as one, the earlier before the later. None where they contradict each other."""
    found: list[Diagnostic] = []
    made = reduce(lambda one, other: _joined(one, other, found), _by_one_name(parts))
    if len(parts) > 1:
        made = _without_frames(made, found)
    return Outcome(None if has_errors(found) else made, tuple(found))


def _by_one_name(parts: Sequence[Part]) -> Iterator[Part]:
    """The parts, each with the names that any other knows better: a third source may join two."""
    for part in parts:
        yield reduce(_renamed, (other for other in parts if other is not part), part)


def _joined(one: Part, other: Part, found: list[Diagnostic]) -> Part:
    one, other = _renamed(one, other), _renamed(other, one)
    pools = tuple(_pools(one, other, found))
    first, second = one.topology, other.topology
    own = {key: _together(getattr(first, key), getattr(second, key), (key,), one, other, found) for key in OWN}
    said = [units.without(each.schedulers) for each in (first, second)]
    schedulers = _together(said[0], said[1], ("schedulers",), one, other, found)
    queues = first.queues if second.queues is None else tuple(dict.fromkeys((*(first.queues or ()), *second.queues)))
    defaults = dict(sorted({**second.defaults, **first.defaults}.items()))
    used = {pool.node.accelerator for pool in pools}
    kinds = _kinds(first.accelerators, second.accelerators)
    kinds = {name: kind for name, kind in kinds.items() if name in used or name != NAMELESS}
    topology = first._replace(pools=pools, queues=queues, defaults=defaults, accelerators=kinds, **own)
    topology = topology._replace(fabrics=merge_fabrics.together(one, other, found))
    topology = topology._replace(schedulers=units.carried(schedulers, pools, (one, other)))
    return Part(
        topology,
        {**other.places, **one.places},
        {**other.aliases, **one.aliases},
        {**other.labels, **one.labels},
        f"{one.source} and {other.source}" if other.topology.pools else one.source,
    )


def _kinds(one: Mapping[str, AcceleratorKind], other: Mapping[str, AcceleratorKind]) -> dict[str, AcceleratorKind]:
    """The kinds of both; one that both know can be allocated as either says."""
    made = {**other, **one}
    for name in one.keys() & other.keys():
        mine, theirs = one[name], other[name]
        allocators = tuple(dict.fromkeys((*mine.allocators, *theirs.allocators)))
        resources = {**theirs.resources, **mine.resources}
        device_class = mine.device_class or theirs.device_class
        known = mine.topology_annotated
        made[name] = mine._replace(
            allocators=allocators,
            resources=resources,
            device_class=device_class,
            profile=mine.profile or theirs.profile,
            memory=mine.memory or theirs.memory,
            max_pods=mine.max_pods or theirs.max_pods,
            link_zones=mine.link_zones or theirs.link_zones,
            topology_annotated=theirs.topology_annotated if known is None else known,
        )
    return dict(sorted(made.items()))


def _renamed(part: Part, other: Part) -> Part:
    """The part with the names that the other one gives its nodes."""
    known = other.aliases
    if not known or not any(node in known for pool in part.topology.pools for node in pool.nodes()):
        return part
    own = {node for pool in other.topology.pools for node in pool.nodes()}
    called = {alias: name for alias, name in known.items() if alias not in own}
    pools = tuple(pool.renamed(called) for pool in part.topology.pools)
    places = {called.get(node, node): place for node, place in part.places.items()}
    return part._replace(topology=part.topology._replace(pools=pools), places=places)


def _pools(one: Part, other: Part, found: list[Diagnostic]) -> Iterator[Pool]:
    """The pools of both: frames by name, pools that share nodes together, the others as they are."""
    mine, theirs = list(one.topology.pools), list(other.topology.pools)
    empty = {pool.name: pool for pool in mine if not pool.domains}
    news = {pool.name: pool for pool in theirs if not pool.domains}
    full, fresh = [pool for pool in mine if pool.domains], [pool for pool in theirs if pool.domains]
    made = list(merge_pools.together(full, fresh, one, other, found)) if full and fresh else [*full, *fresh]
    framed = [_framed(pool, empty.get(pool.name) or news.get(pool.name), found) for pool in made]
    names = {pool.name for pool in made}
    yield from framed
    yield from (pool for pool in (*empty.values(), *news.values()) if pool.name not in names)


def _framed(pool: Pool, frame: Pool | None, found: list[Diagnostic]) -> Pool:
    """The pool with what a pool without domains says besides: selector, tolerations, template."""
    if frame is None:
        return pool
    node = merge_pools.shape(pool.node, frame.node, f'pool "{pool.name}"', (), found)
    return pool._replace(node=node, template=frame.template or pool.template)


def _without_frames(made: Part, found: list[Diagnostic]) -> Part:
    """T437: pools that no node is in, where other pools have nodes."""
    pools = made.topology.pools
    full = [pool for pool in pools if pool.domains]
    for pool in pools if full else ():
        if not pool.domains and pool != SILENT:
            found.append(_bare(pool, full))
    return made._replace(topology=made.topology._replace(pools=tuple(full))) if full else made


SILENT = Pool("nodes", NodeShape())
"""A pool of a source that speaks of no nodes."""


def _bare(pool: Pool, full: Sequence[Pool]) -> Diagnostic:
    labels = [level.label for level in pool.levels]
    twin = next((each.name for each in full if labels and [level.label for level in each.levels] == labels), "")
    if twin:
        message = f'pool "{pool.name}" has the levels of pool "{twin}", which has all nodes of the two; it is left out'
        return info("T437", (), message, hint="two sources speak of the same levels: nothing is lost")
    message = f'pool "{pool.name}" is left out: no node of the sources is in there'
    return warning("T437", (), message, hint="compare the node selector of the pool with the labels of the nodes")


def _together(one: Any, other: Any, path: tuple[str, ...], first: Part, second: Part, found: list[Diagnostic]) -> Any:
    """Two mappings as one; T438 where they contradict each other."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        both = {key: _together(one[key], other[key], (*path, key), first, second, found) for key in one if key in other}
        return {**other, **one, **both}
    if one != other and one not in ("", ()) and other not in ("", ()):
        message = f"{'.'.join(path)} is {_shown(one)} in {first.source}, and {_shown(other)} in {second.source}"
        found.append(error("T438", (), message, hint="correct one of them, or leave one source out"))
    return other if one in ("", ()) else one


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return f'"{text[:60]}"'
