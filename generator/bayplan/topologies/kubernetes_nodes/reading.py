"""Reads Kubernetes nodes one at a time: `kubectl get nodes` as JSON, or an extract with one line for each node."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from bayplan.core.diagnostics import AT, Diagnostic, Route, error
from bayplan.core.phrases import count
from bayplan.kube import quantity
from bayplan.kube.objects import get, is_kind, items, mapping, text
from bayplan.topologies.kubernetes_nodes import LabelKeys, NodeCounter, NumberedOffer, Offer, Taint

SLURM_NAME = "slinky.slurm.net/slurm-nodename"
"""The label by which slurm-bridge identifies a node (SlinkyProject/slurm-bridge 1.2, internal/wellknown)."""
INSTANCE = "topograph.run/instance"
"""The annotation with Topograph's instance ID (NVIDIA/topograph v1.0, docs/reference/node-labels.md)."""
ADDRESSES = ("Hostname", "InternalDNS")
"""Types of addresses that are names of a node."""

_AMOUNTS: dict[str, int] = {}  # spelling -> thousandths: all nodes together use few spellings
_MOST_AMOUNTS = 100_000


def amounts_of(declared: Mapping[Any, Any]) -> dict[str, int]:
    """Amounts by resource, in thousandths. ValueError for an invalid amount."""
    return {str(key): _amount(str(key), value) for key, value in declared.items()}


def _amount(key: str, value: Any) -> int:
    spelled = value if isinstance(value, str) else str(value)
    amount = _AMOUNTS.get(spelled)
    if amount is None:
        try:
            amount = quantity.parse(spelled)
        except ValueError:
            raise ValueError(f'"{spelled[:40]}" is not a quantity of "{key[:80]}"') from None
        if len(_AMOUNTS) < _MOST_AMOUNTS:
            _AMOUNTS[spelled] = amount
    return amount


def taints_of(declared: Any) -> tuple[Taint, ...]:
    """Key, value and effect of each."""
    listed = declared if isinstance(declared, list) else []
    return tuple(sorted((text(each, "key"), text(each, "value"), text(each, "effect")) for each in listed))


def add(counter: NodeCounter, place: Route, data: Any) -> None:
    """Counts a Node object. ValueError with the fault if it is not valid."""
    name, labels = text(data, "metadata", "name"), _texts(mapping(data, "metadata", "labels"))
    spec, status = mapping(data, "spec"), mapping(data, "status")
    state = spec.get("unschedulable") is True, _ready(status)
    devices = {key: value for key, value in mapping(status, "capacity").items() if "/" in str(key)}
    offered = mapping(status, "allocatable"), devices, items(spec, "taints")
    offer = counter.offer((*state, *map(repr, offered)), lambda: _offer_of(*state, *offered))
    counter.add(name, place, offer, counter.form(tuple(labels)), tuple(labels.values()))
    addresses = (text(each, "address") for each in items(status, "addresses") if get(each, "type") in ADDRESSES)
    instance = text(data, "metadata", "annotations", INSTANCE)
    counter.called.append((name, text(spec, "providerID"), labels.get(SLURM_NAME, ""), instance, *addresses))
    counter.software.kubelets.setdefault(text(status, "nodeInfo", "kubeletVersion"), place)


def add_object(counter: NodeCounter, place: Route, data: Any) -> None:
    """Counts a Node, or notes what another object reveals about software. ValueError if the Node is not valid."""
    if is_kind(data, "", "Node"):
        add(counter, place, data)
    else:
        counter.software.add(place, data)


def _texts(labels: Mapping[Any, Any]) -> Mapping[str, str]:
    if {*map(type, labels), *map(type, labels.values())} <= {str}:
        return labels
    return {key: value for key, value in labels.items() if isinstance(key, str) and isinstance(value, str)}


def _ready(status: Mapping[str, Any]) -> str:
    return next((text(each, "status") for each in items(status, "conditions") if get(each, "type") == "Ready"), "")


def _offer_of(cordoned: bool, ready: str, allocatable: Any, devices: Any, taints: Any) -> Offer:
    return Offer(cordoned, ready, amounts_of(allocatable), amounts_of(devices), taints_of(taints))


# Objects from JSON, read in pieces: one object at a time, never all of them in memory.
#
# The text is `kubectl get nodes -o json` (a List), `--raw /api/v1/nodes` (a NodeList, whose items have no kind), a
# Node, a list of Nodes, or several of these in sequence.

ITEMS = ("items",)
"""The keys of lists whose items are objects."""

LARGEST = 3 << 20
"""Characters of one value. An object in Kubernetes has at most 3 MiB, the limit of the API server for a request."""
MOST_REPORTED = 20
"""Nodes that bayplan reports one by one."""
_NEAR = 64
"""Characters: a JSON error so close to the end of the text read so far can mean that more text is needed."""
_BLANKS = re.compile(r"[ \t\n\r]*")
_DECODE = json.JSONDecoder(strict=False).raw_decode


class WrongError(Exception):
    """The text is not valid JSON from this place on, or the list is not complete."""

    def __init__(self, message: str, line: int, column: int, partial: bool = False) -> None:
        self.message, self.line, self.column, self.partial = message, line, column, partial


def read_json(chunks: Iterable[str], at: Route, counter: NodeCounter) -> Iterator[Diagnostic]:
    """Counts the nodes. Yields an error for every invalid node, and for text that is not valid JSON."""
    wrong = 0
    try:
        for line, column, each in objects(Pieces(chunks)):
            try:
                add_object(counter, (*at, AT, line, column), each)
            except ValueError as problem:
                wrong += 1
                if wrong <= MOST_REPORTED:
                    yield unread(each, problem, (*at, AT, line, column))
        if wrong > MOST_REPORTED:
            yield error("T530", at, f"cannot read {wrong - MOST_REPORTED} more nodes")
    except WrongError as problem:
        hint = PAGES if problem.partial else "write the complete file again with `kubectl get nodes -o json`"
        code = "T529" if problem.partial else "T530"
        yield error(code, (*at, AT, problem.line, problem.column), problem.message, hint=hint)


PAGES = "list all nodes with `kubectl get nodes -o json`, and not with `--raw` and a limit"


def goes_on(metadata: Any) -> str:
    """The message for a list whose metadata announce more objects; empty if they do not."""
    rest = get(metadata, "remainingItemCount")
    more = f"{rest} more objects" if isinstance(rest, int) and rest > 0 else "more objects"
    if get(metadata, "continue") or more != "more objects":
        return f"the list is not complete: its metadata announce {more}"
    return ""


def unread(node: Any, problem: Exception, place: Route) -> Diagnostic:
    """T530: an object that is not a valid node."""
    name = str(get(node, "metadata", "name") or "")[:80]
    message = f'cannot read node "{name}": {problem}' if name else f"cannot read a node: {problem}"
    return error("T530", place, message, hint="use the unchanged output of `kubectl get nodes -o json`")


def objects(pieces: Pieces, lists: Container[str] = ITEMS) -> Iterator[tuple[int, int, Any]]:
    """Line, column and data of every object. `lists`: the keys of lists whose items are objects. WrongError."""
    while first := pieces.peek():
        if first == "{":
            yield from _document(pieces, lists)
        elif first == "[":
            yield from _elements(pieces)
        else:
            raise pieces.wrong("this is not a JSON object or a list")


def _document(pieces: Pieces, lists: Container[str]) -> Iterator[tuple[int, int, Any]]:
    """The items of a list, and the object itself, with its list empty."""
    line, column = pieces.place()
    head: dict[str, Any] = {}
    pieces.take("{")
    while pieces.peek() != "}":
        key = str(pieces.value()) if pieces.peek() == '"' else ""
        pieces.take(":" if key else '"')
        if key in lists and pieces.peek() == "[":
            head[key] = []
            for *where, each in _elements(pieces):
                yield where[0], where[1], typed(each, head)
        else:
            place = pieces.place()
            head[key] = pieces.value()
            if key == "metadata" and (message := goes_on(head[key])):
                raise WrongError(message, *place, partial=True)
        if pieces.peek() != "}":
            pieces.take(",")
    pieces.take("}")
    yield line, column, head


def typed(data: Any, head: Any) -> Any:
    """An item without a kind as an object of the kind of its list. An item with a node's status is a Node."""
    if not isinstance(data, dict) or data.get("kind") is not None:
        return data
    kind = text(head, "kind").removesuffix("List")
    if not kind and "allocatable" in mapping(data, "status"):
        kind = "Node"
    return {"kind": kind, "apiVersion": text(head, "apiVersion"), **data} if kind else data


def _elements(pieces: Pieces) -> Iterator[tuple[int, int, Any]]:
    pieces.take("[")
    while pieces.peek() != "]":
        place = pieces.place()
        yield (*place, pieces.value())
        if pieces.peek() != "]":
            pieces.take(",")
    pieces.take("]")


class Pieces:
    """A file that keeps only the part to read next, and the current line and column."""

    def __init__(self, chunks: Iterable[str]) -> None:
        self.chunks = iter(chunks)
        self.kept, self.position = "", 0
        self.line, self.column, self.counted = 1, 1, 0  # of kept[counted]

    def place(self) -> tuple[int, int]:
        """Line and column."""
        lines = self.kept.count("\n", self.counted, self.position)
        start = self.kept.rfind("\n", self.counted, self.position) if lines else -1
        self.column = self.position - start if lines else self.column + self.position - self.counted
        self.line += lines
        self.counted = self.position
        return self.line, self.column

    def peek(self) -> str:
        """The next character that is not white space; empty at the end."""
        while True:
            self.position = _BLANKS.match(self.kept, self.position).end()  # type: ignore[union-attr]
            if self.position < len(self.kept):
                return self.kept[self.position]
            if not self._more():
                return ""

    def take(self, character: str) -> None:
        """Consumes the character, which must be the next one."""
        actual = self.peek()
        if actual != character:
            raise self.wrong(f"expected {character}, found {actual}" if actual else "the file ends too early")
        self.position += 1

    def value(self) -> Any:
        """The next value."""
        self.peek()
        while True:
            try:
                data, end = _DECODE(self.kept, self.position)
            except json.JSONDecodeError as problem:
                self._extend(problem)
            except (ValueError, RecursionError) as problem:  # a number of thousands of digits, or too deep
                raise self.wrong(f"cannot read this value: {str(problem)[:80]}") from None
            else:
                if end < len(self.kept) or not self._more():  # more digits of a number can follow
                    self.position = end
                    return data

    def wrong(self, message: str) -> WrongError:
        """An error at the current place."""
        return WrongError(message, *self.place())

    def _extend(self, problem: json.JSONDecodeError) -> None:
        """Reads more text if the value can be incomplete, or raises the error."""
        inside = problem.pos < len(self.kept) - _NEAR and not problem.msg.startswith("Unterminated")
        long = len(self.kept) - self.position > LARGEST
        if not inside and not long and self._more():
            return
        if inside:
            self.position = problem.pos
            raise self.wrong(f"this is not valid JSON: {problem.msg}")
        raise self.wrong("this value is larger than any object" if long else "the file ends inside this value")

    def _more(self) -> bool:
        """Doubles the text in memory, so that a large value is parsed only a few times."""
        self.place()
        rest = self.kept[self.position :]
        held, size = [rest], 0
        for chunk in self.chunks:
            held.append(chunk)
            size += len(chunk)
            if size >= max(len(rest), 1):
                break
        self.kept, self.position, self.counted = "".join(held), 0, 0
        return size > 0


# The extract of `kubectl get nodes`: one line for each node, with its name, its resources and its labels.
#
#     kubectl get nodes -o jsonpath='{range .items[*]}{.metadata.name}{"\t"}{.spec.unschedulable}{"\t"}
#     {.status.conditions[?(@.type=="Ready")].status}{"\t"}{.status.allocatable}{"\t"}{.metadata.labels}{"\t"}
#     {.spec.taints}{"\t"}{.spec.providerID}{"\t"}{.status.nodeInfo.kubeletVersion}{"\n"}{end}'
#
# The last three columns are optional. kubectl prints maps and lists as JSON (client-go util/jsonpath, PrintResults).
# Labels are a flat map of strings, so bayplan splits a line at its quotes. The line without the values is the form of
# the labels, and bayplan parses each form once.

COLUMNS = 5
"""The smallest number of columns."""
LONGEST = 1 << 22
"""Characters of a line; labels and annotations of a node have at most 256 KiB."""


def is_extract(head: str) -> bool:
    """Whether the text starts with a line of the extract."""
    line = head.lstrip("\n").partition("\n")[0]
    cells = line.split("\t", 5)
    return len(cells) >= COLUMNS and cells[3][:1] in ("{", "") and cells[4][:1] in ("{", "") and "{" in line


def read_extract(chunks: Iterable[str], at: Route, counter: NodeCounter) -> Iterator[Diagnostic]:
    """Counts the nodes. Yields an error for every invalid line."""
    offers: dict[tuple[str, ...], NumberedOffer] = {}
    forms: dict[tuple[str, ...], LabelKeys] = {}
    add, subject, wrong, more, kubelets = counter.add, at[0], 0, -1, counter.software.kubelets
    for number, line in enumerate(lines(chunks), 1):
        if not line:
            continue
        try:
            name, unschedulable, ready, allocatable, labels, *rest = line.split("\t")
            if len(rest) != more and more < 0:
                more = len(rest)
            elif len(rest) != more:
                raise ValueError(
                    f"it has {count(len(rest) + COLUMNS, 'column')}, and other lines have {more + COLUMNS}"
                )
            declared = (unschedulable, ready, allocatable, rest[0] if rest else "")
            offer = offers.get(declared)
            if offer is None:
                offer = offers[declared] = counter.offer(declared, partial(_extract_offer, *declared))
            parts = labels.split('"')
            values = parts[3::4]
            del parts[3::4]
            form = forms.get(tuple(parts))
            if form is None or "\\" in labels:
                form, values = _learned(labels, parts, values, forms, counter)
            add(name, (subject, AT, number, 1), offer, form, values)
            if more > 1 and rest[1]:
                counter.called.append((name, rest[1]))
            if more > 2:
                kubelets.setdefault(rest[2], (subject, AT, number, 1))
        except (ValueError, RecursionError) as problem:
            wrong += 1
            if wrong <= MOST_REPORTED:
                yield _fault(line, number, problem, (subject, AT, number, 1))
    if wrong > MOST_REPORTED:
        yield error("T530", (subject, AT, 1, 1), f"cannot read {wrong - MOST_REPORTED} more lines")


def _fault(line: str, number: int, problem: Exception, place: Route) -> Diagnostic:
    columns = line.count("\t") + 1
    what = str(problem)[:120]
    if isinstance(problem, json.JSONDecodeError):
        what = f"a column is not valid JSON ({problem.msg})"
    declared = what if columns >= COLUMNS else f"it has {count(columns, 'column')}, not {COLUMNS} to 8"
    hint = "write the complete file again with the command of the documentation"
    message = f"{len(line)} characters are too long for a node" if len(line) > LONGEST else declared
    return error("T530", place, f"cannot read line {number}: {message}", hint=hint)


def _learned(
    declared: str, parts: list[str], values: list[str], forms: dict[tuple[str, ...], LabelKeys], counter: NodeCounter
) -> tuple[LabelKeys, list[str]]:
    """The form and the values of labels with a new form, or with escapes.

    Without a backslash, quotes are only where a string starts or ends, so equal forms have equal keys.
    """
    data = _labels(declared) if declared else {}
    if "\\" not in declared and data == dict(zip(parts[1::3], values, strict=False)):
        form = forms[tuple(parts)] = counter.form(tuple(parts[1::3]))
        return form, values
    return counter.form(tuple(data)), list(data.values())


def lines(chunks: Iterable[str]) -> Iterator[str]:
    """The lines of a file. The last is too long if it has more than `LONGEST` characters."""
    kept = ""
    for chunk in chunks:
        lines = (kept + chunk).split("\n")
        kept = lines.pop()
        yield from lines
        if len(kept) > LONGEST:
            break
    yield kept


def _labels(declared: str) -> dict[str, str]:
    data = json.loads(declared)
    if not isinstance(data, dict) or not all(isinstance(value, str) for value in data.values()):
        raise ValueError("the fifth column is not a map of labels")
    return data


def _extract_offer(unschedulable: str, ready: str, allocatable: str, taints: str = "") -> Offer:
    amounts: Any = json.loads(allocatable) if allocatable else {}
    if not isinstance(amounts, dict):
        raise ValueError("the fourth column is not a map of amounts")
    held = json.loads(taints) if taints else []
    return Offer(unschedulable == "true", ready, amounts_of(amounts), {}, taints_of(held))
