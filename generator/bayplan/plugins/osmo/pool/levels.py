"""Topology keys -> levels of the cluster topology with the same node label."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise

from bayplan.plugin import (
    HOST,
    ClusterTopology,
    Diagnostic,
    Level,
    Note,
    Outcome,
    Route,
    did_you_mean,
    listing,
    warning,
)
from bayplan.plugins.osmo.pool.values import Key, PoolConfig, Timeouts

POOLS: Route = ("topology", "spec", "pools")

MISTAKEN: Mapping[str, str] = {"nvidia.com/gpu-clique": "nvidia.com/gpu.clique"}
"""Labels that OSMO's documentation shows and no driver sets -> labels that GPU feature discovery and the DRA driver
set."""


def levels(config: PoolConfig, topology: ClusterTopology) -> Outcome[Mapping[str, str]]:
    """Topology key -> name of the level with the key's label. It omits keys whose label no level has.

    W466: a key without a level, or with a mistaken label. W479: the topology has another order of levels.
    """
    levels_by_label: dict[str, tuple[str, Route]] = {}
    for pool, each in enumerate(topology.pools):
        for number, level in enumerate(each.levels):
            levels_by_label.setdefault(level.label, (level.name, (*POOLS, pool, "levels", number)))
    levels_by_label.setdefault(HOST.label, (HOST.name, ()))
    joined: dict[str, str] = {}
    findings: list[Diagnostic] = []
    for key in config.keys:
        label = key.label if key.label in levels_by_label else MISTAKEN.get(key.label, "")
        if label in levels_by_label:
            joined[key.key] = levels_by_label[label][0]
        if label != key.label:
            findings.append(_unknown_label(key, levels_by_label))
    return Outcome(joined, (*findings, *_order(config.keys, topology)))


def _unknown_label(key: Key, levels_by_label: Mapping[str, tuple[str, Route]]) -> Diagnostic:
    """W466 for a label that no level of the topology has."""
    route: Route = (*key.route, "label")
    right = MISTAKEN.get(key.label, "")
    if right in levels_by_label:
        name, at = levels_by_label[right]
        message = f'no driver sets the node label "{key.label}"; bayplan uses "{right}", which is level "{name}"'
        hint = f'write "{right}": with the other label, pods wait forever in OSMO'
        return warning("W466", route, message, hint=hint, notes=(Note("the level is here", at),))
    labels = [label for label, (_, at) in levels_by_label.items() if at]
    message = f'no level of the topology has the label "{key.label}" of key "{key.key}"'
    hint = near(key.label, labels)
    if not hint:
        hint = f"use one of the topology's labels: {listing(labels)}" if labels else "add levels to the topology"
    return warning("W466", route, message, hint=hint)


def near(label: str, labels: Collection[str]) -> str:
    """`did you mean "nvidia.com/gpu.clique"?` if one of the labels is close, otherwise an empty string."""
    if MISTAKEN.get(label) in labels:
        return f'did you mean "{MISTAKEN[label]}"?'
    same = next((each for each in labels if _folded(each) == _folded(label)), "")
    return f'did you mean "{same}"?' if same else did_you_mean(label, labels)


def _folded(label: str) -> str:
    return "".join(c for c in label.lower() if c.isalnum())


def _order(keys: tuple[Key, ...], topology: ClusterTopology) -> Iterator[Diagnostic]:
    """W479: OSMO writes its order to a Topology of KAI. If two orders of the same labels differ, one is wrong."""
    for number, pool in enumerate(topology.pools):
        places = {level.label: place for place, level in enumerate((*pool.levels, Level(HOST.name, HOST.label)))}
        present = [key for key in keys if key.label in places]
        for coarse, fine in pairwise(present):
            if places[coarse.label] > places[fine.label]:
                message = f'"{coarse.key}" is above "{fine.key}" here, and below it in pool "{pool.name}"'
                hint = "sort topology_keys from coarse to fine, in the order of the topology"
                notes = (Note("the order of the topology is here", (*POOLS, number, "levels")),)
                yield warning("W479", fine.route, message, hint=hint, notes=notes)
                return


# A workflow's timeouts within the limits of its pool.

STEPS = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))
"""Units of durations in seconds, the largest first."""


def timeouts(config: PoolConfig, execution: float | None, queue: float | None, route: Route) -> Outcome[Timeouts]:
    """Seconds that a task group may run and wait: the workflow's or the pool's default, at most the pool's maximum.

    None or zero: the workflow sets no timeout (src/utils/job/workflow.py, TimeoutSpec.fill_defaults). `route` leads to
    the workflow's `timeout`. W457 if the pool's maximum shortens the workflow's timeout.
    """
    bounded: list[float | None] = []
    findings: list[Diagnostic] = []
    for field, own in (("exec_timeout", execution), ("queue_timeout", queue)):
        default, most = getattr(config, f"default_{field}"), getattr(config, f"max_{field}")
        bounded.append(min((each for each in (own or default, most) if each is not None), default=None))
        if own and most is not None and own > most:
            message = f"{_shown(own)} is more than the pool allows; OSMO and bayplan shorten it to {_shown(most)}"
            place = config.places.get(f"max_{field}")
            notes = (Note("the pool's maximum is here", place),) if place else ()
            hint = f"set at most {_shown(most)}, or let the pool's administrator raise max_{field}"
            findings.append(warning("W457", (*route, field), message, hint=hint, notes=notes))
    return Outcome(Timeouts(*bounded), tuple(findings))


def _shown(seconds: float) -> str:
    """A duration as OSMO writes it."""
    unit, size = next(((unit, size) for unit, size in STEPS if seconds % size == 0), ("s", 1))
    return f"{seconds / size:g}{unit}" if seconds < 10**6 * size else f"{int(seconds // size)}{unit}"
