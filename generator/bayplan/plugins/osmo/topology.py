"""OSMO pool configurations -> cluster topologies. OSMO knows levels, selectors and tolerations, and no nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.plugin import (
    CLIQUE,
    HOSTNAME_LABEL,
    ClusterTopology,
    Diagnostic,
    Document,
    Edit,
    Level,
    Outcome,
    Pool,
    has_errors,
    info,
    listing,
    named_queues,
    non_empty,
    ordered,
    warning,
)
from bayplan.plugin import native_topology as native
from bayplan.plugins.osmo.pool.levels import MISTAKEN, levels
from bayplan.plugins.osmo.pool.reading import read_all
from bayplan.plugins.osmo.pool.sharing import selector
from bayplan.plugins.osmo.pool.values import Platform, PoolConfig
from bayplan.plugins.osmo.source import label

TOLERATION = ("key", "operator", "value", "effect", "tolerationSeconds")


def new(document: Document) -> Outcome[ClusterTopology]:
    """The pools in a file, one for each platform, with empty domains: W497, W466 and W498. None if a pool has
    errors."""
    configs, diagnostics = read_all(document)
    if not configs or has_errors(diagnostics):
        return Outcome(None, diagnostics)
    names = [platform.name for config in configs for platform in config.platforms.values()]
    pools = tuple(
        _pool(config, platform, names.count(platform.name) > 1)
        for config in configs
        for platform in config.platforms.values()
    )
    name = label(configs[0].name) if len(configs) == 1 and configs[0].name else "osmo"
    queues = tuple(map(_queue, configs))
    topology = ClusterTopology(
        name,
        pools,
        defaults=_defaults(configs),
        queues=named_queues(*queues) if all(queues) else None,
        schedulers=_schedulers(configs),
    )
    notes = [d for config in configs for d in (*_nodeless(config), *_depending(config), *_mistaken(config))]
    return Outcome(topology, (*diagnostics, *notes))


def _pool(config: PoolConfig, platform: Platform, shared_name: bool) -> Pool:
    name = label(f"{config.name}-{platform.name}" if shared_name else platform.name)
    tolerated = tuple(map(ordered, tolerations(platform)))
    node = native.UNDESCRIBED._replace(node_selector=ordered(selector(platform)), tolerations=tolerated)
    keys = [key for key in config.keys if key.label != HOSTNAME_LABEL]  # every pool ends in this level anyway
    levels = ((label(key.key), MISTAKEN.get(key.label, key.label)) for key in keys)
    return Pool(name, node, tuple(Level(level, node_label, node_label == CLIQUE) for level, node_label in levels))


def tolerations(platform: Platform) -> list[dict[str, Any]]:
    """The platform's tolerations that do not depend on the task, each once."""
    listed = (platform.pod_template.get("spec") or {}).get("tolerations") or ()
    fixed = [{key: each[key] for key in TOLERATION if key in each} for each in listed if not _depends(each)]
    return [each for place, each in enumerate(fixed) if each not in fixed[:place]]


def _depends(value: Any) -> bool:
    """Whether a value has a template, which depends on the task."""
    return "{{" in str(value) or "{%" in str(value)


def _defaults(configs: Sequence[PoolConfig]) -> dict[str, str]:
    """OSMO 6.4 supports only KAI. The name of the queue comes from the backend's namespace and the pool."""
    namespaces = {config.namespace for config in configs}
    namespace = namespaces.pop() if len(namespaces) == 1 else ""
    return non_empty(scheduler="kai", namespace=namespace, queue=_queue(configs[0]) if len(configs) == 1 else "")


def _queue(config: PoolConfig) -> str:
    """The queue that OSMO creates for a pool (src/utils/job/kb_objects.py); empty if the namespace is unknown."""
    name = f"osmo-pool-{config.namespace}-{config.name}"
    return name if config.namespace and label(name) == name and len(name) <= 63 else ""


def _schedulers(configs: Sequence[PoolConfig]) -> dict[str, Any]:
    """The KAI Topology that OSMO creates for the only pool, and the scheduler's name if it differs."""
    config = configs[0] if len(configs) == 1 else PoolConfig("")
    topology = f"{_queue(config)}-topology" if config.keys and _queue(config) else ""
    scheduler_name = config.scheduler if config.scheduler != "kai-scheduler" else ""
    return non_empty(kai=non_empty(topology=topology, schedulerName=scheduler_name))


def _nodeless(config: PoolConfig) -> Iterator[Diagnostic]:
    message = f'the pools from "{config.name or "the pool"}" have no nodes, because OSMO does not know nodes'
    hint = "list the nodes of each domain under `domains`, or merge the pools into a topology: --update TOPOLOGY"
    yield warning("W497", config.route, message, hint=hint)


def _mistaken(config: PoolConfig) -> Iterator[Diagnostic]:
    for key in config.keys:
        if key.label in MISTAKEN:
            message = f'no driver sets the node label "{key.label}"; bayplan writes "{MISTAKEN[key.label]}" instead'
            hint = "also correct it in the pool configuration: pods with this label would wait forever in OSMO"
            yield warning("W466", (*key.route, "label"), message, hint=hint)


def _depending(config: PoolConfig) -> Iterator[Diagnostic]:
    """W498 for settings of a platform with variables: a topology has no tasks that define them."""
    for platform in config.platforms.values():
        spec = platform.pod_template.get("spec") or {}
        for key in ("nodeSelector", "tolerations"):
            if _depends(spec.get(key)):
                message = f'left out the part of the {key} of platform "{platform.name}" that depends on the task'
                hint = "if all tasks share one value, write it in the pod template instead of the variable"
                yield warning("W498", platform.route, message, hint=hint)


def update(document: Document, topology: ClusterTopology) -> Outcome[tuple[Edit, ...]]:
    """What a topology gains of all pools in a file: selectors and tolerations, of each platform that is one of its
    pools. Levels keep their names and nodes their places. None where a pool has errors.

    W466, W479 and W498 say where the two differ.
    """
    configs, diagnostics = read_all(document)
    if has_errors(diagnostics):
        return Outcome(None, diagnostics)
    issues = list(diagnostics)
    edits: list[Edit] = []
    taken: dict[int, Platform] = {}
    for config in configs:
        issues += [*levels(config, topology).diagnostics, *_depending(config), *_renamed_levels(config, topology)]
        for platform in config.platforms.values():
            place = _place(platform, topology)
            if place is None:
                issues.append(_no_pool(platform, topology))
            elif place in taken:
                issues.append(_pool_taken(platform, taken[place], topology.pools[place]))
            else:
                taken[place] = platform
                more, reported = _additions(platform, topology.pools[place], place)
                edits += more
                issues += reported
    return Outcome(tuple(edits), tuple(issues))


def _place(platform: Platform, topology: ClusterTopology) -> int | None:
    """The pool with the platform's name, or the only pool that shares a label with it and contradicts none."""
    named = [n for n, pool in enumerate(topology.pools) if pool.name in (platform.name, label(platform.name))]
    alike = [n for n, pool in enumerate(topology.pools) if _agree(selector(platform), pool.node.node_selector)]
    if named:
        return named[0]
    return alike[0] if len(alike) == 1 else None


def _agree(left: Mapping[str, str], right: Mapping[str, str]) -> bool:
    shared = left.keys() & right.keys()
    return bool(shared) and all(left[key] == right[key] for key in shared)


def _additions(platform: Platform, pool: Pool, place: int) -> tuple[list[Edit], list[Diagnostic]]:
    node: tuple[str | int, ...] = ("spec", "pools", place, "node")
    edits: list[Edit] = []
    issues: list[Diagnostic] = []
    for key, value in selector(platform).items():
        current = pool.node.node_selector.get(key)
        if current is None:
            edits.append(Edit((*node, "nodeSelector", key), value))
        elif current != value:
            message = f'platform "{platform.name}" selects "{key}: {value}", and pool "{pool.name}" has "{current}"'
            issues.append(warning("W498", platform.route, message, hint="correct one of the two files"))
    missing = [each for each in tolerations(platform) if each not in [dict(t) for t in pool.node.tolerations]]
    edits += [Edit((*node, "tolerations"), missing, append=True)] if missing else []
    added = [
        *(f"the label {edit.path[-1]}" for edit in edits if not edit.append),
        *(f"a toleration of {each.get('key', 'every taint')}" for each in missing),
    ]
    if added:
        message = f'pool "{pool.name}" gains {" and ".join(added)} from platform "{platform.name}"'
        issues.append(info("W498", platform.route, message, hint="no action needed"))
    return edits, issues


def _renamed_levels(config: PoolConfig, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """An info for each key whose level has another name. Workflows keep using the key."""
    for key in config.keys:
        name = (levels(config, topology).value or {}).get(key.key)
        if name and name != key.key:
            message = f'level "{name}" of the topology keeps its name; OSMO calls it "{key.key}"'
            hint = "no action needed: OSMO workflows find it by its label with --osmo-pool FILE"
            yield info("W498", (*key.route, "key"), message, hint=hint)


def _no_pool(platform: Platform, topology: ClusterTopology) -> Diagnostic:
    names = listing([pool.name for pool in topology.pools], "and")
    message = f'platform "{platform.name}" does not match any pool of the topology, which has {names}'
    hint = f'rename a pool to "{platform.name}", give it the labels that the platform selects, or add a pool'
    return warning("W498", platform.route, message, hint=hint)


def _pool_taken(platform: Platform, other: Platform, pool: Pool) -> Diagnostic:
    message = f'ignored platform "{platform.name}", because pool "{pool.name}" already belongs to "{other.name}"'
    return warning("W498", platform.route, message, hint="make a separate pool for the nodes of each platform")
