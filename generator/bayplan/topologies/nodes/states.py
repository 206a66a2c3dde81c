"""Which nodes of a pool cannot be used, and why: not ready, cordoned, unhealthy, or reserved for others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bayplan.core.diagnostics import Diagnostic, Route, info, warning
from bayplan.topologies.nodes import shapes
from bayplan.topologies.nodes.census import Alike, Taint, nodes_of
from bayplan.topologies.nodes.words import has

NOT_READY = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"


def states(
    alike: Sequence[Alike], devices: Mapping[str, int], tolerated: Sequence[Taint], silent: bool, sick: frozenset[str]
) -> dict[str, str]:
    """Node -> reason. `silent`: no node at all says whether it is ready."""
    found: dict[str, str] = {}
    for each in alike:
        reason = state(each, silent) or ("unhealthy" if shapes.lame(each, devices) else "")
        reason = reason or ("reserved" if _extra(each, tolerated) else "")
        if reason:
            found |= dict.fromkeys(each.names, reason)
        if sick and reason in ("", "reserved"):
            found |= {name: "unhealthy" for name in each.names if name in sick}
    return found


def state(alike: Alike, silent: bool) -> str:
    """What the node says of itself."""
    offer = alike.offer
    keys = {key for key, _, _ in offer.taints}
    if (offer.ready != "True" and not silent) or not keys.isdisjoint(NOT_READY):
        return "notReady"
    return "cordoned" if offer.cordoned or UNSCHEDULABLE in keys else ""


def _extra(alike: Alike, tolerated: Sequence[Taint]) -> list[Taint]:
    return [taint for taint in shapes.holding(alike.offer.taints) if taint not in tolerated]


def told(
    alike: Sequence[Alike],
    devices: Mapping[str, int],
    tolerated: Sequence[Taint],
    silent: bool,
    places: Mapping[str, Route],
) -> Iterator[Diagnostic]:
    """Why nodes are not used that call themselves ready: one finding for all of one reason."""
    lame: dict[tuple[str, int], list[Alike]] = {}
    extra: dict[Taint, list[Alike]] = {}
    for each in alike:
        if state(each, silent):
            continue
        for key, given in list(shapes.lame(each, devices).items())[:1]:
            lame.setdefault((key, given), []).append(each)
        for taint in _extra(each, tolerated)[:1]:
            extra.setdefault(taint, []).append(each)
    yield from (_lame(key, given, devices[key], nodes_of(held), places) for (key, given), held in sorted(lame.items()))
    yield from (_reserved(taint, nodes_of(held), places) for taint, held in sorted(extra.items()))


def _lame(key: str, given: int, wanted: int, names: Sequence[str], places: Mapping[str, Route]) -> Diagnostic:
    if key in shapes.CARDS:
        message = f'{has(names)} {wanted} GPUs and can give {given}: "{key}" is {given} in status.allocatable'
        hint = "counted as unhealthy: pods for the whole node do not fit"
        return warning("T513", places[names[0]], message, hint=hint)
    message = f'{has(names)} {given} of "{key}" in status.allocatable, the nodes beside {wanted}'
    return warning("T523", places[names[0]], message, hint="counted as unhealthy: look at the cards and their driver")


def _reserved(taint: Taint, names: Sequence[str], places: Mapping[str, Route]) -> Diagnostic:
    key, value, effect = taint
    message = f"{has(names)} the taint {key}{f'={value}' if value else ''}:{effect}, unlike most of the pool"
    return info("T524", places[names[0]], message, hint="counted as reserved")
