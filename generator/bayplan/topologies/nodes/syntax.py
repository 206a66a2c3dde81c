"""What no API server would have taken: labels, taints and resources against the syntax that a topology file has too."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.core.diagnostics import Diagnostic, error
from bayplan.core.phrases import shorten
from bayplan.schemas import LABEL_VALUE, is_label_key
from bayplan.topologies.nodes.census import Alike, Census
from bayplan.topologies.nodes.shapes import CARDS, MIG, SHARES

LONGEST = 63
MOST = 20
MOST_CARDS = 1024


def faults(census: Census, keys: frozenset[str]) -> Iterator[Diagnostic]:
    """T526 for every kind of node that has such a thing among what is written to the file."""
    told, good, known = 0, {""}, set[int]()
    for each in census.alike:
        said = [key for key, value in each.labels.items() if value not in good and key in keys]
        found = [*(_label(each, key, good) for key in said), *(_offer(each) if id(each.offer) not in known else ())]
        known.add(id(each.offer))
        for what in filter(None, found):
            told += 1
            if told <= MOST:
                name = each.names[0]
                hint = "names and values are letters, digits, dashes, dots and underscores: who wrote this file?"
                yield error("T526", census.places[name], f'node "{name}" has {what}', hint=hint)


def _label(alike: Alike, key: str, good: set[str]) -> str:
    value = alike.labels[key]
    if _is_value(value):
        good.add(value)
        return ""
    return f'"{shorten(value)}" in the label "{shorten(key)}", which none can hold'


def _is_value(text: str) -> bool:
    return not text or (len(text) <= LONGEST and bool(LABEL_VALUE.search(text)))


def _offer(alike: Alike) -> Iterator[str]:
    amounts, taints = alike.offer.amounts, alike.offer.taints
    yield from (f'a resource "{shorten(key)}", which none is called' for key in amounts if not is_label_key(key))
    yield from (f'a taint "{shorten(key)}", which none is called' for key, _, _ in taints if not is_label_key(key))
    yield from (f'"{shorten(value)}" in a taint, which none can hold' for _, value, _ in taints if not _is_value(value))
    for key in amounts:
        if (key in CARDS or key.startswith((MIG, SHARES))) and not 0 <= amounts[key] <= MOST_CARDS * 1000:
            yield f'{amounts[key] // 1000} of "{key}", more than {MOST_CARDS} or less than none'
