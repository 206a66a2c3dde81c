"""Amounts of cards, memory and cores that HAMi refuses or misreads (2.10.0, pkg/device/, GenerateResourceRequests)."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.accelerators.rules.seen import Ask, Fault, Seen, part_of, resources
from bayplan.kube import quantity
from bayplan.kube.safe import items
from bayplan.kube.vendors import SGPU, names

LARGEST = 2**31 - 1
EXTRA = ("enflame.com/gcu-memory", "enflame.com/gcu-core", "enflame.com/gcu-count", "cambricon.com/mlu")
"""Resources of these vendors that are no part of a counted card."""

SPOKEN = ("cambricon", "metax", "hygon", "iluvatar", "mthreads", "kunlunxin")
"""Vendors all of whose resources the table has: another one of theirs beside a card is a mistake."""


def check(seen: Seen) -> Iterator[Fault]:
    """Of each container."""
    for ask in seen.asks:
        yield from _both(ask)
        yield from _ranges(ask)
        yield from _countless(ask)
    yield from _unknown(seen)


def _both(ask: Ask) -> Iterator[Fault]:
    if "memory" in ask.amounts and "percentage" in ask.amounts:
        message = f"{ask.names.memory} and {ask.names.percentage} exclude each other; the amount counts"
        yield Fault("amount", "error", ask.at["percentage"], message, "remove one of them")


def _ranges(ask: Ask) -> Iterator[Fault]:
    for part, text in ask.amounts.items():
        own, at = getattr(ask.names, part), ask.at[part]
        try:
            amount = quantity.parse(text)
        except ValueError as reason:
            yield Fault("amount", "error", at, f"{own}: {reason}", "write a whole number")
            continue
        most = {"percentage": 100, "cores": ask.names.parts}.get(part, LARGEST)
        bare = text.isascii() and text.isdigit()
        if part == "memory" and not bare and ask.names.cards == SGPU:
            continue  # with a unit these are bytes, and without one GiB
        least = 1 if part == "cards" or (part == "cores" and ask.names.vendor == "amd") else 0
        if amount % 1000 or not least * 1000 <= amount <= most * 1000:
            message = f'"{text}" is out of range: {own} is a whole number from {least} to {most}'
            yield Fault("amount", "error", at, message, _hint(ask, part))
        elif part == "memory" and not bare:
            message = f'"{text}" is read as {amount // 1000} units of {own}, each of {_unit(ask)}, not as bytes'
            yield Fault("amount", "warning", at, message, "write the bare number")


def _unit(ask: Ask) -> str:
    return quantity.show(ask.names.unit * 1000)


def _hint(ask: Ask, part: str) -> str:
    if part == "memory":
        return f"write a bare number of {_unit(ask)}, such as {8 * 2**30 // ask.names.unit} for 8Gi"
    return "write a whole number within it"


def _countless(ask: Ask) -> Iterator[Fault]:
    if "cards" in ask.amounts:
        return
    if ask.names.vendor == "nvidia":
        message = "how many cards is not said: HAMi puts in as many as its configuration says, usually one"
        yield Fault("amount", "warning", ask.place, message, f"add {ask.names.cards}")
    else:
        message = "a part of cards is asked for, and no cards: HAMi takes the pod for one without any"
        yield Fault("amount", "error", ask.place, message, f"add {ask.names.cards}")


def _unknown(seen: Seen) -> Iterator[Fault]:
    """Names that a chart had once, or a slip: a pod that asks for what no node offers waits."""
    domains = {ask.names.cards.partition("/")[0]: ask.names for ask in seen.asks if ask.names.vendor in SPOKEN}
    own = [names(kind) for kind in seen.kinds]
    told: set[str] = set()
    for key in ("initContainers", "containers"):
        for number, container in enumerate(items(seen.spec, key)):
            for place, resource, _ in resources(container):
                row = domains.get(resource.partition("/")[0])
                if row and resource not in (*EXTRA, *told) and not part_of(resource, own):
                    told.add(resource)
                    message = f'HAMi {seen.target.version("hami")} knows no resource "{resource}" of {row.vendor}'
                    named = " and ".join(filter(None, (row.memory, row.cores)))
                    hint = f"parts of {row.cards} are {named}" if named else f"{row.cards} counts whole cards"
                    yield Fault("unknown", "warning", ("spec", key, number, *place), message, hint)
