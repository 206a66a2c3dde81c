"""Memory, storage and cache (OSMO 6.4, src/lib/utils/resource_quantities.py, src/utils/connectors/postgres.py)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, Route, error, warning
from bayplan.words import shorten
from bayplan.workflows.osmo.rules.places import Workflow, gathered, resources, tasks
from bayplan.workflows.osmo.units import DECIMAL_UNITS, UNITS, quantity, split_amount

FORMS = "write a number and one of Ti, Gi, Mi, Ki and B, like 64Gi or 1.5Ti"


def check_units(workflow: Workflow) -> Iterator[Diagnostic]:
    """W413: an amount of memory or storage."""
    for value, route in _amounts(workflow):
        if quantity(value) is None:
            yield error("W413", route, f'"{shorten(value)}" is no amount of {route[-1]}', hint=_hint(value))


def _amounts(workflow: Workflow) -> Iterator[tuple[str, Route]]:
    for _, resource, route in resources(workflow):
        for key in ("memory", "storage"):
            if key in resource:
                yield resource[key], (*route, key)


def _hint(value: str) -> str:
    found = re.fullmatch(r"([0-9]+(?:[.][0-9]+)?) *([a-zA-Z]*)", value[:64])
    if found is None:
        return FORMS
    if found[2] in UNITS:
        return f'write "{found[1]}{found[2]}", without a blank' if " " in value else "it is more than Kubernetes counts"
    unit = {each.lower(): each for each in UNITS if len(each) == 2}.get(f"{found[2][:1]}i".lower(), "")
    return f'did you mean "{found[1]}{unit}"?' if unit else FORMS


def check_bytes(workflow: Workflow) -> Iterator[Diagnostic]:
    """W414: a bare number is bytes, and was likely meant as something larger."""
    bare = [(value, route) for value, route in _amounts(workflow) if (split_amount(value) or ("", "-"))[1] == ""]
    for value, _ in bare[:1]:
        message = f"{value} without a unit is {value} bytes"
        yield from gathered(warning, "W414", [route for _, route in bare], message, f'did you mean "{value}Gi"?')


def check_tiny(workflow: Workflow) -> Iterator[Diagnostic]:
    """W414: `m` is a thousandth of a byte, roughly, as nobody means it."""
    tiny = [(value, route) for value, route in _amounts(workflow) if _unit(value) == "m"]
    for value, _ in tiny[:1]:
        message = f'"{value}" is {quantity(value)} bytes: the unit m is 1/1024 of a byte'
        hint = f'did you mean "{value[:-1]}Mi"?'
        yield from gathered(warning, "W414", [route for _, route in tiny], message, hint)


def check_decimal(workflow: Workflow) -> Iterator[Diagnostic]:
    """W415: T, G, M and K are powers of 1000 to Kubernetes, and of 1024 to OSMO's checks and here."""
    found = [(value, route) for value, route in _amounts(workflow) if _unit(value) in DECIMAL_UNITS]
    for value, _ in found[:1]:
        message = f"{value} is taken as {value}i, in powers of 1024; Kubernetes reads it in powers of 1000"
        yield from gathered(warning, "W415", [route for _, route in found], message, f'write "{value}i"')


def _unit(value: str) -> str:
    parts = split_amount(value)
    return parts[1] if parts else ""


def check_cache(workflow: Workflow) -> Iterator[Diagnostic]:
    """W416: a cache is a percentage of the storage, from 0 to 100, or an amount."""
    for task in tasks(workflow):
        value = task.data.get("cacheSize", "")
        if value and not _percentage(value) and quantity(value) is None:
            message = f'"{shorten(value)}" is no size of a cache'
            hint = "write a percentage from 0% to 100%, or an amount such as 10Gi"
            yield error("W416", (*task.route, "cacheSize"), message, hint=hint)


def _percentage(value: str) -> bool:
    found = re.fullmatch(r"([0-9]{1,3})(?:[.][0-9]+)?%", value)
    return found is not None and int(found[1]) <= 100
