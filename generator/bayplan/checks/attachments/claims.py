"""Network cards that are claimed through DRA."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.checks.attachments.seen import Seen
from bayplan.diagnostics import Diagnostic, Note, error
from bayplan.fabrics import dranet
from bayplan.fabrics.wanted import DRANET
from bayplan.model.fabric import Fabric, Rail


def check(seen: Seen) -> Iterator[Diagnostic]:
    """W538 to W540."""
    if seen.asked.fabric.kind != DRANET:
        return
    yield from _twice(seen)
    yield from _aligned(seen)
    asked = dranet.requests(seen.asked)
    if asked > dranet.MOST_REQUESTS:
        message = f"{seen.title} claims {asked} devices one by one, and a claim holds {dranet.MOST_REQUESTS} requests"
        yield error("W540", seen.route, message, hint="attach fewer with `rails`")


def _twice(seen: Seen) -> Iterator[Diagnostic]:
    """W538: one card that two parties hand out."""
    notes = (Note("the fabric is here", seen.origin),)
    if seen.asked.fabric.injector:
        message = "the network-resources-injector adds devices of a plugin to pods whose cards are claimed through DRA"
        yield error("W538", seen.route, message, hint="switch it off, and say `injector: false`", notes=notes)
    for resource, other in _others(seen):
        asked = resource in seen.place.pods.resources
        if asked:
            message = f"{resource} is a card of {seen.fabric}, which is claimed: {other} hands it out as a resource"
            at = (*seen.place.route, "resources", resource)
            yield error("W538", at, message, hint="remove it: one party hands a card out")


def _others(seen: Seen) -> Iterator[tuple[str, str]]:
    """Resources of other fabrics for the cards of this one."""
    mine = {name for rail in seen.asked.fabric.rails for name in _names(rail)}
    for fabric in seen.topology.fabrics.values():
        for rail in fabric.rails if _beside(seen, fabric) else ():
            if rail.resource and mine & set(_names(rail)):
                yield rail.resource, f'fabric "{fabric.name}"'


def _beside(seen: Seen, fabric: Fabric) -> bool:
    return fabric.name != seen.asked.fabric.name


def _names(rail: Rail) -> Iterator[tuple[str, str]]:
    yield from (("hca", rail.hca),) if rail.hca else ()
    yield from (("device", rail.device),) if rail.device else ()


def _aligned(seen: Seen) -> Iterator[Diagnostic]:
    """W539: GPUs and cards that share no PCIe root, and nothing else says which are near each other."""
    asked = seen.asked
    if not asked.together or dranet.neighbours(asked.pool) or asked.cards == asked.pool.node.accelerators:
        return
    bare = [number for number, rail in enumerate(asked.rails) if rail.numa is None and not rail.selectors]
    if bare:
        message = (
            f'in pool "{asked.pool.name}" no GPU shares a PCIe root with a card: a constraint on it is never met, and'
            f" rail {bare[0]} of {seen.fabric} says no NUMA node either"
        )
        notes = (Note("the fabric is here", seen.origin),)
        yield error("W539", seen.route, message, hint="add `numa:` to its rails, or take whole nodes", notes=notes)
