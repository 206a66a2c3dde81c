"""Kubernetes nodes as text, read one at a time: `kubectl get nodes` as JSON, or an extract with one line a node."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from bayplan.core.diagnostics import AT, Diagnostic, Route, error
from bayplan.core.phrases import count
from bayplan.kube import quantity
from bayplan.kube.objects import get, is_kind, items, mapping, text
from bayplan.topologies.kubernetes_nodes import LabelKeys, NodeCounter, NumberedOffer, Offer, Taint

SLURM_NAME = "slinky.slurm.net/slurm-nodename"
"""The label by which slurm-bridge knows a node (SlinkyProject/slurm-bridge 1.2, internal/wellknown)."""
INSTANCE = "topograph.run/instance"
"""The annotation in which Topograph keeps the instance id (NVIDIA/topograph v1.0, docs/reference/node-labels.md)."""
ADDRESSES = ("Hostname", "InternalDNS")
"""Addresses of a node that are names of it."""

_AMOUNTS: dict[str, int] = {}  # spelling -> thousandths: few spellings stand for all nodes
_MOST_AMOUNTS = 100_000


def amounts_of(declared: Mapping[Any, Any]) -> dict[str, int]:
    """Amounts by resource. ValueError for what is no amount."""
    return {str(key): _amount(str(key), value) for key, value in declared.items()}


def _amount(key: str, value: Any) -> int:
    spelled = value if isinstance(value, str) else str(value)
    amount = _AMOUNTS.get(spelled)
    if amount is None:
        try:
            amount = quantity.parse(spelled)
        except ValueError:
            raise ValueError(f'"{spelled[:40]}" is no amount of "{key[:80]}"') from None
        if len(_AMOUNTS) < _MOST_AMOUNTS:
            _AMOUNTS[spelled] = amount
    return amount


def taints_of(declared: Any) -> tuple[Taint, ...]:
    """Key, value and effect of each."""
    listed = declared if isinstance(declared, list) else []
    return tuple(sorted((text(each, "key"), text(each, "value"), text(each, "effect")) for each in listed))


def add(counter: NodeCounter, place: Route, data: Any) -> None:
    """Counts a Node object. ValueError says what is wrong with it."""
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


def _texts(labels: Mapping[Any, Any]) -> Mapping[str, str]:
    if {*map(type, labels), *map(type, labels.values())} <= {str}:
        return labels
    return {key: value for key, value in labels.items() if isinstance(key, str) and isinstance(value, str)}


def _ready(status: Mapping[str, Any]) -> str:
    return next((text(each, "status") for each in items(status, "conditions") if get(each, "type") == "Ready"), "")


def _offer_of(cordoned: bool, ready: str, allocatable: Any, devices: Any, taints: Any) -> Offer:
    return Offer(cordoned, ready, amounts_of(allocatable), amounts_of(devices), taints_of(taints))


# Node objects from JSON that is read in pieces: one object at a time, never all of them in memory.
#
# `kubectl get nodes -o json` (a List), `--raw /api/v1/nodes` (a NodeList, whose items have no kind), a Node, a list of
# Nodes, or several of these one after the other.

LARGEST = 1 << 26
"""Characters of one value; an object in Kubernetes has at most some MiB."""
MOST_REPORTED = 20
"""Nodes that are reported one by one."""
_NEAR = 64
"""An error so near to the end of what is read may be that end."""
_BLANKS = re.compile(r"[ \t\n\r]*")
_DECODE = json.JSONDecoder(strict=False).raw_decode


class WrongError(Exception):
    """The text is no JSON, from a place in it, or no whole list."""

    def __init__(self, message: str, line: int, column: int, code: str = "T501", hint: str = "") -> None:
        self.message, self.line, self.column, self.code = message, line, column, code
        self.hint = hint or "is it cut off? Write it again with `kubectl get nodes -o json`"


def read_json(chunks: Iterable[str], at: Route, counter: NodeCounter) -> Iterator[Diagnostic]:
    """Counts the nodes; yields an error for every one that is none, and for the end of what can be read."""
    wrong = 0
    try:
        for line, column, node in _nodes(_Pieces(chunks)):
            try:
                add(counter, (*at, AT, line, column), node)
            except ValueError as problem:
                wrong += 1
                if wrong <= MOST_REPORTED:
                    yield unread(node, problem, (*at, AT, line, column))
        if wrong > MOST_REPORTED:
            yield error("T501", at, f"{wrong - MOST_REPORTED} more nodes cannot be read")
    except WrongError as problem:
        yield error(problem.code, (*at, AT, problem.line, problem.column), problem.message, hint=problem.hint)


PAGES = "ask for all: `kubectl get nodes -o json` does, and `--raw` with a limit does not"


def goes_on(metadata: Any) -> str:
    """What is wrong with a list that says of itself that more nodes follow; empty where it does not."""
    rest = get(metadata, "remainingItemCount")
    more = f"{rest} more nodes" if isinstance(rest, int) and rest > 0 else "more nodes"
    if get(metadata, "continue") or more != "more nodes":
        return f"the list goes on: {more} are not in the file, as its metadata say"
    return ""


def unread(node: Any, problem: Exception, place: Route) -> Diagnostic:
    """T501: an object that does not say what a node must."""
    name = str(get(node, "metadata", "name") or "")[:80]
    message = f'node "{name}" cannot be read: {problem}' if name else f"a node cannot be read: {problem}"
    return error("T501", place, message, hint="is it what kubectl wrote?")


def _nodes(pieces: _Pieces) -> Iterator[tuple[int, int, Any]]:
    """Line, column and data of every object that is a Node."""
    while first := pieces.peek():
        if first == "{":
            yield from _document(pieces)
        elif first == "[":
            yield from ((*where, each) for *where, each in _elements(pieces) if is_kind(each, "", "Node"))
        else:
            raise pieces.wrong("this is neither an object nor a list")


def _document(pieces: _Pieces) -> Iterator[tuple[int, int, Any]]:
    """The nodes in the items of an object, or itself if it is one."""
    line, column = pieces.place()
    head: dict[str, Any] = {}
    pieces.take("{")
    while pieces.peek() != "}":
        key = str(pieces.value()) if pieces.peek() == '"' else ""
        pieces.take(":" if key else '"')
        if key == "items" and pieces.peek() == "[":
            for *where, each in _elements(pieces):
                if is_kind(each, "", "Node") or (get(each, "kind") is None and _bare(each, head)):
                    yield where[0], where[1], each
        else:
            place = pieces.place()
            head[key] = pieces.value()
            if key == "metadata" and (message := goes_on(head[key])):
                raise WrongError(message, place[0], place[1], "T529", PAGES)
        if pieces.peek() != "}":
            pieces.take(",")
    pieces.take("}")
    if is_kind(head, "", "Node"):
        yield line, column, head


def _bare(data: Any, head: Any) -> bool:
    """Whether an item without a kind is a Node: the list says so, or its status does."""
    kind = head.get("kind")
    return kind == "NodeList" or (kind is None and "allocatable" in mapping(data, "status"))


def _elements(pieces: _Pieces) -> Iterator[tuple[int, int, Any]]:
    pieces.take("[")
    while pieces.peek() != "]":
        place = pieces.place()
        yield (*place, pieces.value())
        if pieces.peek() != "]":
            pieces.take(",")
    pieces.take("]")


class _Pieces:
    """A text of which only what is needed next is kept. Knows at which line and column it stands."""

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
        """The next character that is no blank; empty at the end."""
        while True:
            self.position = _BLANKS.match(self.kept, self.position).end()  # type: ignore[union-attr]
            if self.position < len(self.kept):
                return self.kept[self.position]
            if not self._more():
                return ""

    def take(self, character: str) -> None:
        """Steps over the character, which must come next."""
        actual = self.peek()
        if actual != character:
            raise self.wrong(f"{character} is expected, not {actual}" if actual else "the text ends too early")
        self.position += 1

    def value(self) -> Any:
        """The value that comes next."""
        self.peek()
        while True:
            try:
                data, end = _DECODE(self.kept, self.position)
            except json.JSONDecodeError as problem:
                self._extend(problem)
            except (ValueError, RecursionError) as problem:  # a number of thousands of digits, or too deep
                raise self.wrong(f"this cannot be read: {str(problem)[:80]}") from None
            else:
                if end < len(self.kept) or not self._more():  # the rest of a number may follow
                    self.position = end
                    return data

    def wrong(self, message: str) -> WrongError:
        """What is wrong here."""
        return WrongError(message, *self.place())

    def _extend(self, problem: json.JSONDecodeError) -> None:
        """Reads on, where the value may only not be there as a whole."""
        inside = problem.pos < len(self.kept) - _NEAR and not problem.msg.startswith("Unterminated")
        long = len(self.kept) - self.position > LARGEST
        if not inside and not long and self._more():
            return
        if inside:
            self.position = problem.pos
            raise self.wrong(f"this is no JSON: {problem.msg}")
        raise self.wrong("this value is larger than any node" if long else "the text ends inside this value")

    def _more(self) -> bool:
        """Keeps twice as much, so that a large value is looked at few times."""
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


# The extract of `kubectl get nodes`: one line a node, with its name, what it offers, and its labels.
#
#     kubectl get nodes -o jsonpath='{range .items[*]}{.metadata.name}{"\t"}{.spec.unschedulable}{"\t"}
#     {.status.conditions[?(@.type=="Ready")].status}{"\t"}{.status.allocatable}{"\t"}{.metadata.labels}{"\t"}
#     {.spec.taints}{"\t"}{.spec.providerID}{"\n"}{end}'
#
# The last two columns may be missing. kubectl prints maps and lists as JSON (client-go util/jsonpath, PrintResults).
# Labels are a flat map of strings, so a line is split at its quotes. What remains without the values is the form of the
# labels, which is parsed once for all lines that share it.

COLUMNS = 5
"""At least."""
LONGEST = 1 << 22
"""Characters of a line; labels and annotations of a node are limited to 256 KiB."""


def is_extract(head: str) -> bool:
    """Whether the text begins with a line of the extract."""
    line = head.lstrip("\n").partition("\n")[0]
    cells = line.split("\t", 5)
    return len(cells) >= COLUMNS and cells[3][:1] in ("{", "") and cells[4][:1] in ("{", "") and "{" in line


def read_extract(chunks: Iterable[str], at: Route, counter: NodeCounter) -> Iterator[Diagnostic]:
    """Counts the nodes; yields an error for every line that is none."""
    offers: dict[tuple[str, ...], NumberedOffer] = {}
    forms: dict[tuple[str, ...], LabelKeys] = {}
    add, subject, wrong, more = counter.add, at[0], 0, -1
    for number, line in enumerate(_lines(chunks), 1):
        if not line:
            continue
        try:
            name, unschedulable, ready, allocatable, labels, *rest = line.split("\t")
            if len(rest) != more and more < 0:
                more = len(rest)
            elif len(rest) != more:
                raise ValueError(f"it has {count(len(rest) + COLUMNS, 'column')}, others {more + COLUMNS}")
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
        except (ValueError, RecursionError) as problem:
            wrong += 1
            if wrong <= MOST_REPORTED:
                yield _fault(line, number, problem, (subject, AT, number, 1))
    if wrong > MOST_REPORTED:
        yield error("T501", (subject, AT, 1, 1), f"{wrong - MOST_REPORTED} more lines describe no node")


def _fault(line: str, number: int, problem: Exception, place: Route) -> Diagnostic:
    columns = line.count("\t") + 1
    what = f"a column is no JSON ({problem.msg})" if isinstance(problem, json.JSONDecodeError) else str(problem)[:120]
    declared = what if columns >= COLUMNS else f"it has {count(columns, 'column')}, not {COLUMNS} to 7"
    hint = "run the command of the documentation again; is the end of the file missing?"
    message = f"this line is too long for a node: {len(line)} characters" if len(line) > LONGEST else declared
    return error("T501", place, f"line {number} describes no node: {message}", hint=hint)


def _learned(
    declared: str, parts: list[str], values: list[str], forms: dict[tuple[str, ...], LabelKeys], counter: NodeCounter
) -> tuple[LabelKeys, list[str]]:
    """The form and the values of a text of labels that was not met before, or that holds escapes.

    A text without a backslash has a quote only where a string begins or ends, so what is true of its form once is true
    wherever the rest is the same.
    """
    data = _labels(declared) if declared else {}
    if "\\" not in declared and data == dict(zip(parts[1::3], values, strict=False)):
        form = forms[tuple(parts)] = counter.form(tuple(parts[1::3]))
        return form, values
    return counter.form(tuple(data)), list(data.values())


def _lines(chunks: Iterable[str]) -> Iterator[str]:
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
        raise ValueError("the fifth column is no map of labels")
    return data


def _extract_offer(unschedulable: str, ready: str, allocatable: str, taints: str = "") -> Offer:
    amounts: Any = json.loads(allocatable) if allocatable else {}
    if not isinstance(amounts, dict):
        raise ValueError("the fourth column is no map of amounts")
    held = json.loads(taints) if taints else []
    return Offer(unschedulable == "true", ready, amounts_of(amounts), {}, taints_of(held))
