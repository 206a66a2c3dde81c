"""Pod templates that others wrote: nothing has judged them yet. The proof adds up their amounts, and a scheduler has to
be free to place their pods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.diagnostics import Diagnostic, Route, error, warning
from bayplan.kube import quantity
from bayplan.kube.safe import get, items, mapping
from bayplan.model.augment import Roster
from bayplan.words import shorten

HINT = "write a number with a unit, such as 4, 500m or 64Gi"


def check(roster: Roster) -> Iterator[Diagnostic]:
    """W513, for every amount that no API server would take; W515, for pods that no scheduler looks at; W516."""
    for seat in roster.seats:
        spec = mapping(roster.object.data, *seat.path, "spec")
        route = (*roster.object.route, *seat.path, "spec")
        yield from _amounts(spec, "overhead", route)
        yield from _requested(spec, route)
        for key in ("containers", "initContainers"):
            for number, each in enumerate(items(spec, key)):
                yield from _requested(each, (*route, key, number))
        yield from _free(spec, route)
    yield from _priorities(roster)


def _priorities(roster: Roster) -> Iterator[Diagnostic]:
    """W516. A PodGroup has one priority for all of its pods."""
    data = roster.object.data
    found = {get(data, *seat.path, "spec", "priorityClassName"): seat for seat in roster.seats}
    if len(found) > 1:
        names = ", ".join(f'"{shorten(str(name))}"' if name else "none" for name in found)
        at = next(seat.path for name, seat in found.items() if name)
        message = f"the pods of one gang have different priority classes ({names}), so the gang as a whole gets none"
        yield warning(
            "W516",
            (*roster.object.route, *at, "spec", "priorityClassName"),
            message,
            hint="give all of its pod templates the same `priorityClassName`",
        )


def _free(spec: Any, route: Route) -> Iterator[Diagnostic]:
    if spec.get("nodeName"):
        message = "pods with a `nodeName` go past every scheduler, and their gang would wait for them"
        yield error("W515", (*route, "nodeName"), message, hint="remove it, or leave the placement out")
    if spec.get("schedulingGates"):
        message = "pods with `schedulingGates` keep their whole gang waiting until somebody opens the gates of all"
        yield warning("W515", (*route, "schedulingGates"), message, hint="remove them, unless something opens them")


def _requested(owner: Any, route: Route) -> Iterator[Diagnostic]:
    found = get(owner, "resources")
    if found is not None and not isinstance(found, dict):
        yield _wrong("resources", found, (*route, "resources"), "write `limits:` and `requests:` below it")
        return
    for key in ("requests", "limits"):
        yield from _amounts(found, key, (*route, "resources"))


def _amounts(owner: Any, key: str, route: Route) -> Iterator[Diagnostic]:
    found = get(owner, key)
    if found is not None and not isinstance(found, dict):
        yield _wrong(key, found, (*route, key), "write a resource and its amount below it")
        return
    for name, amount in (found or {}).items():
        if not _is_quantity(amount):
            yield _wrong(str(name), amount, (*route, key, name), HINT)


def _is_quantity(amount: Any) -> bool:
    if isinstance(amount, bool) or not isinstance(amount, str | int | float):
        return False
    try:
        return quantity.parse(str(amount)) >= 0
    except ValueError:
        return False


def _wrong(name: str, found: Any, route: Route, hint: str) -> Diagnostic:
    message = f'"{shorten(name)}" is {shorten(repr(found))}, which is no amount of a resource'
    return error("W513", route, message, hint=hint)
