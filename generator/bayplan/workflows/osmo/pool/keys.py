"""Topology keys, by the rules that KAI has for the Topology that OSMO makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.diagnostics import Diagnostic, Note, Route, error
from bayplan.model.topology import HOSTNAME_LABEL
from bayplan.workflows.osmo.pool.values import Key

MOST = 16
"""Levels that KAI's Topology takes (KAI deployments/kai-scheduler/crds/kai.scheduler_topologies.yaml)."""


def read(pool: Any, route: Route) -> tuple[tuple[Key, ...], tuple[Diagnostic, ...]]:
    """The keys in order; W477 for what KAI or a workflow could not use."""
    listed = pool.get("topology_keys") or ()
    keys = tuple(Key(each["key"], each["label"], (*route, "topology_keys", index)) for index, each in enumerate(listed))
    found = (*_empty(keys), *_twins(keys), *_hostname(keys), *_many(keys, (*route, "topology_keys")))
    return keys, found


def _empty(keys: tuple[Key, ...]) -> Iterator[Diagnostic]:
    for key in keys:
        for field, value in (("key", key.key), ("label", key.label)):
            if not value.strip():
                message = f"a topology key with an empty {field} cannot be used"
                yield error("W477", (*key.route, field), message, hint=f"give it a {field}, or remove it")


def _twins(keys: tuple[Key, ...]) -> Iterator[Diagnostic]:
    for field in ("key", "label"):
        first: dict[str, Key] = {}
        for key in keys:
            value = getattr(key, field)
            other = first.setdefault(value, key)
            if other is not key and value.strip():
                consequence = "KAI refuses the Topology" if field == "label" else "OSMO would take the last"
                message = f'two topology keys have the {field} "{value}"; {consequence}'
                notes = (Note("the first is here", (*other.route, field)),)
                yield error("W477", (*key.route, field), message, hint="remove one of them", notes=notes)


def _hostname(keys: tuple[Key, ...]) -> Iterator[Diagnostic]:
    for key in keys[:-1]:
        if key.label == HOSTNAME_LABEL:
            message = f'"{HOSTNAME_LABEL}" is the finest level there is, and KAI takes it only as the last'
            yield error("W477", (*key.route, "label"), message, hint="move this key to the end")


def _many(keys: tuple[Key, ...], route: Route) -> Iterator[Diagnostic]:
    if len(keys) > MOST:
        message = f"there are {len(keys)} topology keys, and KAI's Topology takes {MOST}"
        yield error("W477", route, message, hint="remove levels that no workflow needs")
