"""A `networkTopology`, which Volcano ignores as a whole where it does not understand it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.core.diagnostics import Diagnostic, Note, Route, error, warning
from bayplan.core.values import NamedTuple
from bayplan.kube.objects import get, mapping, number_in, text
from bayplan.model.topology import ClusterTopology

QUEUES = ("default", "root")


class Levels(NamedTuple):
    """The tiers that there are, and what they are called."""

    tiers: frozenset[int]
    names: frozenset[str]


def constraint(data: Any, route: Route, what: str, levels: Levels) -> Iterator[Diagnostic]:
    """M731, M732: a constraint that means something."""
    topology, at = mapping(data, "networkTopology"), (*route, "networkTopology")
    tier, name = number_in(topology, "highestTierAllowed"), text(topology, "highestTierName")
    if get(data, "networkTopology") is None or text(topology, "mode") == "soft":
        return
    if tier is not None and name:
        hint = "remove highestTierName: an unknown name would be ignored without a word"
        yield error("M732", (*at, "highestTierName"), f"{what} gives both a tier's number and its name", hint=hint)
    elif tier is None and not name:
        message = f"{what} is hard but names no tier, and Volcano takes that for no constraint"
        yield error("M731", at, message, hint="add highestTierAllowed")
    elif tier is None and levels.names and name not in levels.names:
        message = f'{what} names the tier "{name}", which no HyperNode has; Volcano then drops the constraint'
        yield error("M731", (*at, "highestTierName"), message, hint="use highestTierAllowed, with the tier's number")
    elif tier is not None and levels.tiers:
        yield from _number(tier, (*at, "highestTierAllowed"), what, levels.tiers)


def _number(tier: int, at: Route, what: str, tiers: frozenset[int]) -> Iterator[Diagnostic]:
    known = ", ".join(map(str, sorted(tiers)))
    if tier > max(tiers):
        message = f"{what} allows tier {tier}, above all HyperNodes (tiers {known}): the whole cluster is allowed"
        yield warning("M731", at, message, hint=f"use {max(tiers)} or less, or leave the constraint out")
    elif tier < min(tiers):
        message = f"{what} allows tier {tier}, below all HyperNodes (tiers {known}): its pods are never placed"
        yield error("M731", at, message, hint=f"use {min(tiers)} or more")


def order(outer: Any, inner: Any, routes: tuple[Route, Route], what: str) -> Iterator[Diagnostic]:
    """M734: what is inside is not wider than what is around it."""
    tiers = [number_in(mapping(each, "networkTopology"), "highestTierAllowed") for each in (outer, inner)]
    hard = all(text(each, "networkTopology", "mode") != "soft" for each in (outer, inner))
    if hard and tiers[0] is not None and tiers[1] is not None and tiers[1] > tiers[0]:
        at, around = ((*route, "networkTopology", "highestTierAllowed") for route in (routes[1], routes[0]))
        message = f"{what} allows tier {tiers[1]}, wider than tier {tiers[0]} of the whole gang, and so means nothing"
        notes = (Note("the gang's tier", around),)
        yield error("M734", at, message, hint="give the gang the higher tier of the two", notes=notes)


def queue(data: Any, route: Route, what: str, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """M739: a queue that is there. Without a list in the topology, every queue is."""
    name = text(data, "queue")
    if name == "root":
        yield error("M739", (*route, "queue"), f"{what} is in the root queue, which takes no work", hint="name a leaf")
    elif name and topology.queues is not None and name not in (*topology.queues, *QUEUES):
        message = f'{what} is in the queue "{name}", which the topology does not have'
        hint = f"known: {', '.join(topology.queues) or 'default'}"
        yield error("M739", (*route, "queue"), message, hint=hint)
