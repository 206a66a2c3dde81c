"""The slim extract of `kubectl get nodes`: a line a node, of its name, what it offers, and its labels.

    kubectl get nodes -o jsonpath='{range .items[*]}{.metadata.name}{"\t"}{.spec.unschedulable}{"\t"}
    {.status.conditions[?(@.type=="Ready")].status}{"\t"}{.status.allocatable}{"\t"}{.metadata.labels}{"\t"}
    {.spec.taints}{"\t"}{.spec.providerID}{"\n"}{end}'

The last two columns may be missing. kubectl prints maps and lists as JSON (client-go util/jsonpath, PrintResults).
Labels are a flat map of texts, so a line of them is cut at its quotes: without the values there remains its form, which
is understood once and met again on thousands of lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from bayplan.core.diagnostics import AT, Diagnostic, Route, error
from bayplan.core.phrases import count
from bayplan.topologies.nodes.census import Counting, Form, Known, Offer
from bayplan.topologies.nodes.offers import amounts_of, taints_of

COLUMNS = 5
"""At least."""
LONGEST = 1 << 22
"""Characters of a line; labels and annotations of a node are limited to 256 KiB."""
MOST = 20
"""Lines that are complained of."""


def sniff(head: str) -> bool:
    """Whether the text begins with a line of the extract."""
    line = head.lstrip("\n").partition("\n")[0]
    cells = line.split("\t", 5)
    return len(cells) >= COLUMNS and cells[3][:1] in ("{", "") and cells[4][:1] in ("{", "") and "{" in line


def read(chunks: Iterable[str], at: Route, counting: Counting) -> Iterator[Diagnostic]:
    """Counts the nodes; yields an error for every line that is none."""
    offers: dict[tuple[str, ...], Known] = {}
    forms: dict[tuple[str, ...], Form] = {}
    add, subject, wrong, more = counting.add, at[0], 0, -1
    for number, line in enumerate(_lines(chunks), 1):
        if not line:
            continue
        try:
            name, unschedulable, ready, allocatable, labels, *rest = line.split("\t")
            if len(rest) != more and more < 0:
                more = len(rest)
            elif len(rest) != more:
                raise ValueError(f"it has {count(len(rest) + COLUMNS, 'column')}, others {more + COLUMNS}")
            said = (unschedulable, ready, allocatable, rest[0] if rest else "")
            offer = offers.get(said)
            if offer is None:
                offer = offers[said] = counting.offer(said, partial(_offer, *said))
            parts = labels.split('"')
            values = parts[3::4]
            del parts[3::4]
            form = forms.get(tuple(parts))
            if form is None or "\\" in labels:
                form, values = _learned(labels, parts, values, forms, counting)
            add(name, (subject, AT, number, 1), offer, form, values)
            if more > 1 and rest[1]:
                counting.called.append((name, rest[1]))
        except (ValueError, RecursionError) as problem:
            wrong += 1
            if wrong <= MOST:
                yield _fault(line, number, problem, (subject, AT, number, 1))
    if wrong > MOST:
        yield error("T501", (subject, AT, 1, 1), f"{wrong - MOST} more lines describe no node")


def _fault(line: str, number: int, problem: Exception, place: Route) -> Diagnostic:
    columns = line.count("\t") + 1
    what = f"a column is no JSON ({problem.msg})" if isinstance(problem, json.JSONDecodeError) else str(problem)[:120]
    said = what if columns >= COLUMNS else f"it has {count(columns, 'column')}, not {COLUMNS} to 7"
    hint = "run the command of the documentation again; is the end of the file missing?"
    message = f"this line is too long for a node: {len(line)} characters" if len(line) > LONGEST else said
    return error("T501", place, f"line {number} describes no node: {message}", hint=hint)


def _learned(
    said: str, parts: list[str], values: list[str], forms: dict[tuple[str, ...], Form], counting: Counting
) -> tuple[Form, list[str]]:
    """The form and the values of a text of labels that was not met before, or that holds escapes.

    A text without a backslash has a quote only where a string begins or ends, so what is true of its form once is true
    wherever the rest is the same.
    """
    data = _labels(said) if said else {}
    if "\\" not in said and data == dict(zip(parts[1::3], values, strict=False)):
        form = forms[tuple(parts)] = counting.form(tuple(parts[1::3]))
        return form, values
    return counting.form(tuple(data)), list(data.values())


def _lines(chunks: Iterable[str]) -> Iterator[str]:
    kept = ""
    for chunk in chunks:
        lines = (kept + chunk).split("\n")
        kept = lines.pop()
        yield from lines
        if len(kept) > LONGEST:
            break
    yield kept


def _labels(said: str) -> dict[str, str]:
    data = json.loads(said)
    if not isinstance(data, dict) or not all(isinstance(value, str) for value in data.values()):
        raise ValueError("the fifth column is no map of labels")
    return data


def _offer(unschedulable: str, ready: str, allocatable: str, taints: str = "") -> Offer:
    amounts: Any = json.loads(allocatable) if allocatable else {}
    if not isinstance(amounts, dict):
        raise ValueError("the fourth column is no map of amounts")
    held = json.loads(taints) if taints else []
    return Offer(unschedulable == "true", ready, amounts_of(amounts), {}, taints_of(held))
