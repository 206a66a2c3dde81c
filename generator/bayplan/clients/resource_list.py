"""The formats of kustomize: a ResourceList for KRM functions, or a plain stream of objects for legacy plugins.

kustomize writes each item in block style. bayplan parses only the items that a function needs, and passes on all others
byte for byte. It parses all of a list that has another form, such as JSON or flow style, and keeps the text of each
item if it can.
Source: kustomize 5.8.1, cmd/config/docs/api-conventions/functions-spec.md and kyaml/kio/byteio_writer.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from bayplan.core.diagnostics import AT, Diagnostic, Outcome, Route, error
from bayplan.model import manifest
from bayplan.model.manifest import Many, Slot
from bayplan.text.document import Document, locate, read

if TYPE_CHECKING:
    from bayplan.report.findings import Finding

# Objects -> one line of JSON in a ResourceList. All YAML readers read JSON the same way.
#
# Importing the package `json` takes a fifth of an interpreter start, so this module uses only its encoder in C.


class UnfitError(ValueError):
    """JSON has no such value."""


def _plain(value: Any) -> Any:
    """A mapping as a dict, which the encoder needs."""
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
    made = line(_marked(item.skeleton, mark)).replace(f'"{mark}{mark}', mark).replace(f'{mark}{mark}"', mark)
    pieces = made.split(mark)
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
    """A skeleton with a string for each slot: its column between marks, which are doubled for a number.

    Slots have names and numbers, which need no escapes.
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
    """Escapes characters that YAML does not allow or takes for a line break, and the byte order mark."""
    code = ord(character)
    raw = character.isprintable() or code > 0xFFFF or not (code < 0xA0 or code in _NOT_RAW)
    return character if raw else f"\\u{code:04x}"


_NOT_RAW = frozenset({0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF, *range(0xD800, 0xE000)})


SUBJECT = "input"
NAME = "<stdin>"
GROUP = "config.kubernetes.io/"
KIND = "ResourceList"


class Item(NamedTuple):
    """One object: its unchanged text (indented below a `- `), and its data if it was parsed.

    `line`: the number of lines before its text. `document`: the object in a plain stream.
    """

    text: str = ""
    data: Any = None
    line: int = 0
    document: Document | None = None


class ResourceList(NamedTuple):
    """The input of a function. `config`: the configuration of the function, or None. `results`: of earlier functions.

    `document` has the text of the list or, for a legacy plugin, that of the file with its configuration.
    """

    items: tuple[Item, ...]
    config: Any = None
    version: str = "config.kubernetes.io/v1"
    document: Document = Document(NAME, "", 0, None)
    results: tuple[Any, ...] = ()


def parse(raw: bytes) -> Outcome[ResourceList]:
    """A ResourceList. A960: it is not one, or an item is not an object. Also the errors of `document.read`."""
    pieces = _split(raw)
    if pieces is not None and pieces[0] and all(_is_plain(each.text) for each in pieces[1]):
        head, items, tail = pieces
        config = read(NAME, tail.encode(), SUBJECT, own=False).value if tail else ()
        if config is not None and len(config) == bool(tail):  # otherwise it cannot be parsed by itself
            whole = Document(NAME, raw.decode(), 0, None)
            return Outcome(ResourceList(items, config[0].data if config else None, head, whole))
    return _parse_all(raw, pieces[1] if pieces else ())


def _parse_all(raw: bytes, chunks: Sequence[Item]) -> Outcome[ResourceList]:
    """Parses the whole list. `chunks`: the text of its items, if they are known."""
    if not raw.strip():
        hint = "kustomize runs this command; to render a file, use `bayplan render`"
        message = "standard input is empty instead of a ResourceList"
        return Outcome(None, (error("A960", (SUBJECT, AT, 1, 1), message, hint=hint),))
    documents = read(NAME, raw, SUBJECT, own=False)
    if documents.value is None:
        return Outcome(None, documents.diagnostics)
    data = documents.value[0].data
    problem = _not_a_list(documents.value)
    if problem:
        return Outcome(None, (problem,))
    items = data.get("items") or []
    foreign = tuple(
        _foreign((SUBJECT, "items", number), number, each) for number, each in enumerate(items) if not _is_object(each)
    )
    if foreign:
        return Outcome(None, foreign)
    texts = chunks if len(chunks) == len(items) else [Item()] * len(items)
    listed = tuple(text._replace(data=each) for text, each in zip(texts, items, strict=True))
    results = data.get("results")
    whole = documents.value[0]
    return Outcome(
        ResourceList(
            listed,
            data.get("functionConfig"),
            data["apiVersion"],
            whole,
            tuple(results) if isinstance(results, list) else (),
        )
    )


def _not_a_list(documents: Sequence[Document]) -> Diagnostic | None:
    data = documents[0].data
    hint = "kustomize writes one for a function with `config.kubernetes.io/function: |` and `exec: {path: bayplan-krm}`"
    if len(documents) > 1:
        message = f"standard input has {len(documents)} documents instead of one ResourceList"
        return error("A960", (SUBJECT,), message, hint=hint)
    if not isinstance(data, dict):
        return error("A960", (SUBJECT,), "standard input is not a mapping, and so not a ResourceList", hint=hint)
    version, kind = data.get("apiVersion"), data.get("kind")
    if kind != KIND or not str(version).startswith(GROUP):
        message = f'standard input has kind "{kind}" of {version}, expected {KIND} of {GROUP}v1'
        return error("A960", (SUBJECT,), message, hint=hint)
    if not isinstance(data.get("items"), list | None):
        return error("A960", (SUBJECT, "items"), "the items of this ResourceList are not a list")
    return None


def _is_object(data: Any) -> bool:
    metadata = data.get("metadata") if isinstance(data, dict) else None
    named = isinstance(metadata, dict) and isinstance(metadata.get("name"), str)
    return named and all(isinstance(data.get(key), str) for key in ("apiVersion", "kind"))


def _foreign(route: Route, number: int, data: Any) -> Diagnostic:
    if not isinstance(data, dict):
        return error(
            "A960", route, f"item {number} is not an object", hint="list only Kubernetes objects under `items`"
        )
    lacking = [key for key in ("apiVersion", "kind") if not isinstance(data.get(key), str)]
    what = " and ".join(f"`{key}`" for key in lacking) or "`metadata.name`"
    hint = "write `apiVersion`, `kind` and `metadata.name` in every item"
    return error("A960", route, f"item {number} has no {what}", hint=hint)


_ALIASES = (": &", ": *", "- &", "- *")
"""Possible anchors and aliases. bayplan cannot parse an item by itself if it shares values with another."""

_ITEMS, _CONFIG, _RESULTS = "\nitems:\n", "\nfunctionConfig:\n", "\nresults:\n"


def _split(raw: bytes) -> tuple[str, tuple[Item, ...], str] | None:
    """Version, items and function config of a list in block style; None for other forms.

    The version is empty if there are results too.
    """
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return None
    head, listed, rest = text.partition(_ITEMS)
    rest, earlier, _ = rest.partition(_RESULTS)
    body, configured, tail = rest.partition(_CONFIG)
    body = body if configured else body.removesuffix("\n")
    lines = head.split("\n")
    version = lines[0].removeprefix("apiVersion: ")
    if not listed or lines[1:] != [f"kind: {KIND}"] or not version.startswith(GROUP):
        return None
    if any(mark in text for mark in _ALIASES) or "\r" in text:
        return None
    below = (each[:2] == "  " or not each for each in tail.split("\n"))
    chunks = _chunks(body, len(lines) + 1)
    return (version if not earlier else "", chunks, tail) if chunks and all(below) else None


def _is_plain(text: str) -> bool:
    """Whether an item has the form that kustomize writes."""
    return "apiVersion: " in text and "kind: " in text and "\n    name: " in text


def _chunks(body: str, before: int) -> tuple[Item, ...]:
    """The items of a block sequence without indentation, below some lines.

    Empty if other lines are not indented, or if an item is not an object.
    """
    if not body.startswith("- ") or re.search(r"^(?!- |  |$)", body, re.MULTILINE):
        return ()
    items: list[Item] = []
    start, line = 0, before
    while start >= 0:
        end = body.find("\n- ", start)
        text = body[start : end if end >= 0 else len(body)]
        if "kind" not in text:
            return ()
        items.append(Item(text, line=line))
        start, line = end + 1 or -1, line + text.count("\n") + 1
    return tuple(items)


def parsed(items: Sequence[Item], wanted: Callable[[str], bool]) -> Outcome[tuple[Item, ...]]:
    """The items, with the data of those whose text is wanted."""
    numbers = [number for number, each in enumerate(items) if each.data is None and wanted(each.text)]
    if not numbers:
        return Outcome(tuple(items))
    documents = read(NAME, _together([items[number] for number in numbers]).encode(), SUBJECT, own=False)
    data = documents.value[0].data if documents.value else None
    if not isinstance(data, list) or len(data) != len(numbers):
        return Outcome(
            None, documents.diagnostics or (error("A960", (SUBJECT, "items"), "cannot split the list into its items"),)
        )
    errors = tuple(
        _foreign((SUBJECT, "items", number), number, each)
        for number, each in zip(numbers, data, strict=True)
        if not _is_object(each)
    )
    table = dict(zip(numbers, data, strict=True))
    return Outcome(
        None if errors else tuple(each._replace(data=table.get(n, each.data)) for n, each in enumerate(items)), errors
    )


def _together(items: Iterable[Item]) -> str:
    """Some items, with empty lines instead of the others, so that errors have the right lines."""
    pieces: list[str] = []
    line = 0
    for each in items:
        pieces += ["\n" * (each.line - line), each.text, "\n"]
        line = each.line + each.text.count("\n") + 1
    return "".join(pieces)


def stream(raw: bytes) -> Outcome[tuple[Item, ...]]:
    """The objects of a plain stream, which kustomize passes to legacy plugins. An empty stream is valid."""
    if not raw.strip():
        return Outcome(())
    documents = read(NAME, raw, SUBJECT, own=False)
    listed = tuple(Item("", each.data, document=each) for each in documents.value or ())
    errors = tuple(
        _foreign((SUBJECT, AT, *locate(each.document.text, each.document.index, ())[:2]), number, each.data)
        for number, each in enumerate(listed)
        if each.document is not None and not _is_object(each.data)
    )
    return Outcome(None if errors or documents.value is None else listed, (*documents.diagnostics, *errors))


def listed(version: str, items: Iterable[Item | str], results: Sequence[Any] = ()) -> Iterator[str]:
    """The text of a ResourceList: items unchanged or in JSON. Items of type `str` are JSON."""
    yield f"apiVersion: {version}\nkind: {KIND}\n"
    head = "items:\n"
    for each in items:
        entry = f"- {each}" if isinstance(each, str) else each.text or f"- {line(each.data)}"
        yield f"{head}{entry}\n"
        head = ""
    yield "items: []\n" if head else ""
    yield f"results: {line(list(results))}\n" if results else ""


def in_block_style(entry: Item | str, before: Item | None = None) -> Item:
    """An item for callers that write it into a file of the user. `before`: an item whose text it changes."""
    from json import loads

    from bayplan.text.emit import emit
    from bayplan.text.patch import rewrite_all

    if isinstance(entry, Item):
        return entry
    data = loads(entry)
    if before and before.text:
        (text,) = rewrite_all([(f"{before.text}\n", [before.data], [data])])
        return Item(text.rstrip("\n"), data)
    return Item(f"- {re.sub('^(?=.)', '  ', ''.join(emit([data])), flags=re.MULTILINE)[2:]}".rstrip("\n"), data)


def streamed(items: Iterable[Item | str]) -> Iterator[str]:
    """The text of a plain stream, all in JSON."""
    for each in items:
        yield f"---\n{each if isinstance(each, str) else line(each.data)}\n"


# Findings -> the `results` of a ResourceList, for callers that read them (kpt, `kustomize fn run --results-dir`).
#
# A result has a file and no line. Line and column are tags. Source: kyaml/fn/framework/result.go at 5.8.1.


def result(finding: Finding, about: Mapping[str, Any] = {}) -> dict[str, Any]:
    """A finding as one of `results`. `about`: the object and the field."""
    place = finding.place
    where = {"line": str(place.line), "column": str(place.column)} if place and place.line else {}
    hint = {"hint": finding.hint} if finding.hint else {}
    return {
        "message": finding.message,
        "severity": finding.severity,
        **about,
        **({"file": {"path": place.file}} if place else {}),
        "tags": {"code": finding.code, **where, **hint},
    }
