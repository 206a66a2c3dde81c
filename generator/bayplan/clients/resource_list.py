"""kustomize's wire formats: a ResourceList (KRM functions), or a plain stream of objects (its older plugins).

kustomize writes each item in block style; items that nobody looks at are passed on as they came, byte for byte, and
only what a function reads is parsed. A list in any other shape (JSON, flow style, comments) is parsed whole.
Source: kustomize 5.8.1, cmd/config/docs/api-conventions/functions-spec.md and kyaml/kio/byteio_writer.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bayplan.core.diagnostics import Diagnostic, Outcome, error
from bayplan.core.values import NamedTuple
from bayplan.model import manifest
from bayplan.model.manifest import Many, Slot
from bayplan.text.document import Document, read

if TYPE_CHECKING:
    from bayplan.report.findings import Finding

# Objects -> JSON in one line, which YAML readers read alike: what is written into a ResourceList.
#
# The package `json` costs a fifth of a bare interpreter start; its encoder in C is all that is needed of it.


class UnfitError(ValueError):
    """JSON has no such value."""


def _plain(value: Any) -> Any:
    """What the encoder knows of what it does not: mappings that are no dict."""
    if isinstance(value, Mapping):
        return dict(value)
    raise UnfitError(f"a {type(value).__name__} is nothing that JSON knows")


try:  # as json.JSONEncoder makes it (CPython 3.11 to 3.14, Lib/json/encoder.py)
    from _json import encode_basestring, make_encoder

    _encode: Any = make_encoder(None, _plain, encode_basestring, None, ": ", ", ", False, False, False)
    _encode({"a": [1]}, 0)
except (ImportError, TypeError):
    from json.encoder import JSONEncoder

    _encode = JSONEncoder(ensure_ascii=False, check_circular=False, allow_nan=False, default=_plain).iterencode


def lines(item: manifest.Item) -> Iterator[str]:
    """The object, or each of many, without a line feed. UnfitError: an infinity or no number; a file."""
    if not isinstance(item, Many):
        yield line(item)
        return
    text = line(_marked(item.skeleton, ""))
    mark = next(mark for mark in map(chr, range(0xE000, 0xF900)) if mark not in text)  # Unicode: private use
    pieces = re.split(f'(?:"{mark})?{mark}([0-9]+){mark}(?:{mark}")?', line(_marked(item.skeleton, mark)))
    columns = [int(column) for column in pieces[1::2]]
    for row in item.rows:
        pieces[1::2] = [str(row[column]) for column in columns]
        yield "".join(pieces)


def line(value: Any) -> str:
    """Plain data in one line."""
    try:
        text = "".join(_encode(value, 0))
    except (ValueError, TypeError) as problem:
        raise UnfitError(str(problem)) from None
    return text if text.isprintable() else "".join(map(_escaped, text))


def _marked(value: Any, mark: str) -> Any:
    """A skeleton with a text for each slot: its column between marks, which are doubled where a bare number stands.

    Slots hold names and numbers, which need no escapes.
    """
    if isinstance(value, Slot):
        return _marked((mark, value, mark), mark) if value.form == "number" else _marked((value,), mark)
    if isinstance(value, Mapping):
        pairs = ((_marked((key,), mark) if isinstance(key, Slot) else key, item) for key, item in value.items())
        return {key: _marked(item, mark) for key, item in pairs}
    if isinstance(value, tuple) and any(isinstance(part, Slot) for part in value):
        return "".join(f"{mark}{part.column}{mark}" if isinstance(part, Slot) else part for part in value)
    return [_marked(item, mark) for item in value] if isinstance(value, list | tuple) else value


def _escaped(character: str) -> str:
    """What YAML would not take raw, or take for the end of a line: controls, NEL, separators, the byte order mark."""
    code = ord(character)
    raw = character.isprintable() or code > 0xFFFF or not (code < 0xA0 or code in _NOT_RAW)
    return character if raw else f"\\u{code:04x}"


_NOT_RAW = frozenset({0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF, *range(0xD800, 0xE000)})


SUBJECT = "input"
NAME = "<stdin>"
GROUP = "config.kubernetes.io/"
KIND = "ResourceList"


class Item(NamedTuple):
    """One object: its text as it came (indented below a `- `), and its data where somebody has read it."""

    text: str = ""
    data: Any = None


class ResourceList(NamedTuple):
    """What a function is given. `config`: the function's own configuration, None where there is none."""

    items: tuple[Item, ...]
    config: Any = None
    version: str = "config.kubernetes.io/v1"


def parse(raw: bytes) -> Outcome[ResourceList]:
    """A ResourceList. A960: it is none; A960: an item is no object; else what `document.read` finds."""
    pieces = _split(raw)
    if pieces is not None:
        head, items, tail = pieces
        config = read(NAME, tail.encode(), SUBJECT, own=False).value if tail else ()
        if config is not None and len(config) == bool(tail):  # else it cannot be read by itself
            return Outcome(ResourceList(items, config[0].data if config else None, head))
    return _parse_all(raw)


def _parse_all(raw: bytes) -> Outcome[ResourceList]:
    """The list from its data."""
    if not raw.strip():
        hint = "kustomize calls this command; to render a file yourself, use `bayplan render`"
        return Outcome(None, (error("A960", (), "standard input is empty; a ResourceList is wanted", hint=hint),))
    documents = read(NAME, raw, SUBJECT, own=False)
    if documents.value is None:
        return Outcome(None, documents.diagnostics)
    data = documents.value[0].data
    problem = _not_a_list(documents.value)
    if problem:
        return Outcome(None, (problem,))
    items = data.get("items") or []
    foreign = tuple(_foreign(number, each) for number, each in enumerate(items) if not _is_object(each))
    listed = tuple(Item("", each) for each in items)
    return Outcome(None if foreign else ResourceList(listed, data.get("functionConfig"), data["apiVersion"]), foreign)


def _not_a_list(documents: Sequence[Document]) -> Diagnostic | None:
    data = documents[0].data
    hint = "kustomize writes one for a function with `config.kubernetes.io/function: |` and `exec: {path: bayplan-krm}`"
    if len(documents) > 1:
        message = f"standard input holds {len(documents)} documents; one ResourceList is wanted"
        return error("A960", (SUBJECT,), message, hint=hint)
    if not isinstance(data, dict):
        return error("A960", (SUBJECT,), "standard input holds no mapping; a ResourceList is wanted", hint=hint)
    version, kind = data.get("apiVersion"), data.get("kind")
    if kind != KIND or not str(version).startswith(GROUP):
        message = f'standard input holds kind "{kind}" of {version}; a ResourceList of {GROUP}v1 is wanted'
        return error("A960", (SUBJECT,), message, hint=hint)
    if not isinstance(data.get("items"), list | None):
        return error("A960", (SUBJECT, "items"), "the items of a ResourceList are a list, and these are none")
    return None


def _is_object(data: Any) -> bool:
    metadata = data.get("metadata") if isinstance(data, dict) else None
    named = isinstance(metadata, dict) and isinstance(metadata.get("name"), str)
    return named and all(isinstance(data.get(key), str) for key in ("apiVersion", "kind"))


def _foreign(number: int, data: Any) -> Diagnostic:
    route = (SUBJECT, "items", number)
    if not isinstance(data, dict):
        return error("A960", route, f"item {number} is no object but a {type(data).__name__}")
    lacking = [key for key in ("apiVersion", "kind") if not isinstance(data.get(key), str)]
    what = " and ".join(f"`{key}`" for key in lacking) or "`metadata.name`"
    return error("A960", route, f"item {number} has no {what}", hint="kustomize takes no object without them")


_ALIASES = (": &", ": *", "- &", "- *")
"""What may be an anchor or an alias: an item cannot be read by itself that shares something with another."""

_ITEMS, _CONFIG = "\nitems:\n", "\nfunctionConfig:\n"


def _split(raw: bytes) -> tuple[str, tuple[Item, ...], str] | None:
    """Version, items and function config of a list in the shape that kustomize writes; None for any other."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return None
    head, listed, rest = text.partition(_ITEMS)
    body, configured, tail = rest.partition(_CONFIG)
    body = body if configured else body.removesuffix("\n")
    lines = head.split("\n")
    version = lines[0].removeprefix("apiVersion: ")
    if not listed or lines[1:] != [f"kind: {KIND}"] or not version.startswith(GROUP):
        return None
    if any(mark in text for mark in _ALIASES) or "\r" in text:
        return None
    below = (each[:2] == "  " or not each for each in tail.split("\n"))
    chunks = _chunks(body)
    return (version, chunks, tail) if chunks and all(below) else None


def _chunks(body: str) -> tuple[Item, ...]:
    """The items of a block sequence that starts at the margin; none where anything else stands there."""
    lines = body.split("\n")
    starts = [number for number, each in enumerate(lines) if each[:2] == "- "]
    margin = [each for each in lines if each and each[:2] not in ("- ", "  ")]
    if margin or not starts or starts[0]:
        return ()
    ends = [*starts[1:], len(lines)]
    texts = ["\n".join(lines[start:end]) for start, end in zip(starts, ends, strict=True)]
    whole = all("apiVersion: " in each and "kind: " in each and "\n    name: " in each for each in texts)
    return tuple(Item(each) for each in texts) if whole else ()


def parsed(items: Sequence[Item], wanted: Callable[[str], bool]) -> Outcome[tuple[Item, ...]]:
    """The items with the data of those whose text is wanted; parsed in one go, or one by one to say what is wrong."""
    numbers = [number for number, each in enumerate(items) if each.data is None and wanted(each.text)]
    if not numbers:
        return Outcome(tuple(items))
    documents = read(NAME, "\n".join(items[number].text for number in numbers).encode(), SUBJECT, own=False)
    data = documents.value[0].data if documents.value else None
    if not isinstance(data, list) or len(data) != len(numbers):
        return Outcome(None, documents.diagnostics or (error("A960", (SUBJECT,), "the items cannot be told apart"),))
    errors = tuple(_foreign(number, each) for number, each in zip(numbers, data, strict=True) if not _is_object(each))
    table = dict(zip(numbers, data, strict=True))
    return Outcome(
        None if errors else tuple(each._replace(data=table.get(n, each.data)) for n, each in enumerate(items)), errors
    )


def stream(raw: bytes) -> Outcome[tuple[Item, ...]]:
    """The objects of a plain stream, as kustomize gives it to its older plugins; none in an empty one."""
    if not raw.strip():
        return Outcome(())
    documents = read(NAME, raw, SUBJECT, own=False)
    data = [each.data for each in documents.value or ()]
    errors = tuple(_foreign(number, each) for number, each in enumerate(data) if not _is_object(each))
    return Outcome(
        None if errors or documents.value is None else tuple(Item("", each) for each in data),
        (*documents.diagnostics, *errors),
    )


def listed(version: str, items: Iterable[Item | str], results: Sequence[Any] = ()) -> Iterator[str]:
    """The text of a ResourceList: items as they came, or in JSON; `str` items are JSON already."""
    yield f"apiVersion: {version}\nkind: {KIND}\n"
    head = "items:\n"
    for each in items:
        entry = f"- {each}" if isinstance(each, str) else each.text or f"- {line(each.data)}"
        yield f"{head}{entry}\n"
        head = ""
    yield "items: []\n" if head else ""
    yield f"results: {line(list(results))}\n" if results else ""


def streamed(items: Iterable[Item | str]) -> Iterator[str]:
    """The text of a plain stream, all in JSON."""
    for each in items:
        yield f"---\n{each if isinstance(each, str) else line(each.data)}\n"


# Findings -> the `results` of a ResourceList, for callers that read them (kpt, `kustomize fn run --results-dir`).
#
# A result has a file and no line: line and column stand among its tags. Source: kyaml/fn/framework/result.go at 5.8.1.


def result(finding: Finding) -> dict[str, Any]:
    """A finding as one of `results`."""
    place = finding.place
    where = {"line": str(place.line), "column": str(place.column)} if place and place.line else {}
    hint = {"hint": finding.hint} if finding.hint else {}
    return {
        "message": finding.message,
        "severity": finding.severity,
        **({"file": {"path": place.file}} if place else {}),
        "tags": {"code": finding.code, **where, **hint},
    }
