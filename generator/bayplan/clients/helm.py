"""Helm's stream: one text with many documents, of which bayplan reads few and changes fewer.

bayplan splits a stream at its `---` lines without parsing it. It parses only documents that contain a word of bayplan
and, if there is anything to place, documents of certain kinds. All other documents stay the same, byte for byte.

Helm 3 names the template of each document in a comment, `# Source: chart/templates/file.yaml`, Helm 4 in an annotation.
New documents get the same comment or annotation as their workload, and come before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.clients import MARK
from bayplan.core.diagnostics import AT, Diagnostic, Outcome, Route, error, moved, warning
from bayplan.kube.objects import flattened, get, put, text, without_annotations, without_item
from bayplan.kube.objects import number as number_of
from bayplan.model.augment import Added, Augmented
from bayplan.model.manifest import Object
from bayplan.text.document import Document, SourceMap, Span, load, read
from bayplan.text.source import text_of

FILE = "postrenderer.helm.sh/postrender-filename"
"""The annotation that Helm 4 writes the template of a document into, and removes afterwards (Helm 4.1, pkg/action,
`annotateAndMerge`). bayplan checks objects without it, and keeps it in the output."""


def with_template(data: Mapping[str, Any], template: str) -> Mapping[str, Any]:
    """The object with the annotation of Helm 4, if there is a template."""
    if not template:
        return data
    metadata = data.get("metadata") or {}
    return {**data, "metadata": {**metadata, "annotations": {**(metadata.get("annotations") or {}), FILE: template}}}


def template_of(data: Any) -> str:
    """The template of an object, from the annotation of Helm 4."""
    return text(data, "metadata", "annotations", FILE)


_SOURCE = re.compile(rb"^# Source: (.*?)\r?$", re.M)
_BOM = b"\xef\xbb\xbf"


class Stream(NamedTuple):
    """A stream in pieces, and its parsed documents: number of the piece -> data.

    `doubled`: R110 of documents with a key twice, which hold the last value.
    """

    name: str
    pieces: tuple[bytes, ...]
    documents: Mapping[int, Any]
    doubled: tuple[Diagnostic, ...] = ()


def parse(name: str, raw: bytes, watched: Callable[[str], bool]) -> tuple[Stream, tuple[Diagnostic, ...]]:
    """Splits a stream, and parses its documents that contain a word of bayplan or have a watched kind."""
    pieces = tuple(split(raw))
    numbers = [number for number, piece in enumerate(pieces) if MARK in piece or any(map(watched, kinds(piece)))]
    together = _read_together(name, pieces, numbers)
    if together.value is not None or together.diagnostics:
        return Stream(name, pieces, together.value or {}), together.diagnostics
    documents, reported = {}, list[Diagnostic]()
    for number in numbers:
        documents[number], diagnostics = _read_one(name, pieces[number], number)
        reported += diagnostics
    kept = {key: data for key, data in documents.items() if data is not None}
    doubled = tuple(each for each in reported if each.code == DOUBLED and number_of(each.route) in kept)
    return Stream(name, pieces, kept, doubled), tuple(each for each in reported if each not in doubled)


DOUBLED = "R110"
"""The code of a key that a mapping has twice."""


def doubled(stream: Stream, augmented: Augmented) -> tuple[Diagnostic, ...]:
    """R110 of the documents that bayplan would change. Others pass as they are."""
    changed = {number_of(each.route) for each in augmented.changes} | {number_of(each) for each in augmented.removed}
    return tuple(each for each in stream.doubled if number_of(each.route) in changed)


def _read_together(name: str, pieces: Sequence[bytes], numbers: Sequence[int]) -> Outcome[dict[int, Any]]:
    """All of them at once, which is faster. R157: they have too many values.

    Nothing if the result might differ from parsing them one by one.
    """
    chosen = [pieces[number] for number in numbers]
    for piece in chosen:
        bare_returns = piece.count(b"\r") != piece.count(b"\r\n")
        if bare_returns or piece.startswith(b"%") or any(map(piece.__contains__, _UNSAFE)):
            return Outcome(None)
    if not chosen:
        return Outcome({})
    texts = [piece if piece.startswith(b"---") else b"---\n" + piece for piece in chosen]
    read_documents = read(name, b"\n".join(texts), "manifest", own=False)
    if read_documents.value is not None:
        return Outcome({numbers[each.index]: each.data for each in read_documents.value})
    last = read_documents.diagnostics[-1]
    if last.code != "R157":
        return Outcome(None)
    line, column = (int(each) for each in last.route[2:])
    for number, piece in zip(numbers, texts, strict=True):
        lines = piece.count(b"\n") + 1
        if line <= lines:
            line -= len(piece) != len(pieces[number])
            return Outcome(None, (last._replace(route=(subject(number), AT, line, column)),))
        line -= lines
    return Outcome(None, (last._replace(route=(subject(numbers[-1]), AT, 1, 1)),))


_UNSAFE = (b"\n...", b"\n%", b"\xc2\x85", b"\xe2\x80\xa8", b"\xe2\x80\xa9")
"""Bytes that may hide a border between documents. The last three are Unicode line breaks, which YAML 1.1 allows."""


def _read_one(name: str, piece: bytes, number: int) -> tuple[Any, tuple[Diagnostic, ...]]:
    """The data of a piece, or None. R107: it has several documents, which Helm takes for one."""
    documents = read(name, piece, subject(number), own=False)
    if documents.value is None and MARK not in piece and {each.code for each in documents.diagnostics} == {DOUBLED}:
        trees = load(text_of(piece), subject(number), DOUBLED).value or []
        return (trees[0] if len(trees) == 1 else None), documents.diagnostics
    if documents.value is None:
        return None, tuple(each for each in documents.diagnostics if each.code != "R106")
    if len(documents.value) > 1:
        hint = "end each `---` line with a line feed"
        message = "Helm and kubectl take these documents for one, because they do not recognize the separator"
        return None, (error("R107", (subject(number), AT, 1, 1), message, hint=hint),)
    return documents.value[0].data, documents.diagnostics


def subject(number: int) -> str:
    """The first word of routes into a piece."""
    return f"manifest:{number}"


def objects(stream: Stream) -> Iterator[Object]:
    """The parsed objects, with the items of Lists, and without the annotation of Helm 4."""
    for number, data in stream.documents.items():
        for one in flattened(Object((subject(number),), data)):
            if isinstance(one.data, dict) and ("kind" in one.data or "apiVersion" in one.data):
                yield one._replace(data=without_annotations(one.data, (FILE,)))


def written(stream: Stream, augmented: Augmented) -> Iterator[bytes]:
    """The stream with changed and added documents, and without the removed ones."""
    changed: dict[int, list[tuple[Route, Any]]] = {}
    added: dict[int, list[Added]] = {}
    for change in augmented.changes:
        changed.setdefault(number_of(change.route), []).append((change.route[1:], change.data))
    for new in augmented.added:
        added.setdefault(number_of(new.beside), []).append(new)
    for route in augmented.removed:
        if route[1:]:
            changed.setdefault(number_of(route), []).append((route[1:], None))
    removed = {number_of(route) for route in augmented.removed if not route[1:]}
    texts = _rewritten(stream, changed)
    for number, piece in enumerate(stream.pieces):
        after = b"" if number in removed else texts.get(number, piece)
        yield _preceded(stream, number, after, added[number]) if number in added else after


def _rewritten(stream: Stream, changed: Mapping[int, list[tuple[Route, Any]]]) -> dict[int, bytes]:
    """The new bytes of the changed pieces."""
    from bayplan.text.patch import rewrite_all

    tasks = []
    for number, changes in changed.items():
        old = new = stream.documents[number]
        for path, data in changes:
            if data is None:
                new = without_item(new, path)
            else:
                new = put(new, path, with_template(data, template_of(get(old, *path))))
        tasks.append((stream.pieces[number].removeprefix(_BOM).decode(), old, new))
    texts = (text.encode() for text in rewrite_all(tasks))
    marks = (_BOM if stream.pieces[number].startswith(_BOM) else b"" for number in changed)
    return {number: mark + text for number, mark, text in zip(changed, marks, texts, strict=True)}


def _preceded(stream: Stream, number: int, piece: bytes, added: Iterable[Added]) -> bytes:
    """The piece with new documents before it."""
    from bayplan.text.emit import emit

    source = _SOURCE.search(stream.pieces[number])
    comment = f"# Source: {source[1].decode(errors='replace')}\n" if source else ""
    document = stream.documents[number]
    texts = []
    for new in added:
        template = template_of(get(document, *new.beside[1:])) or template_of(document)
        texts.append(comment + "".join(emit([with_template(new.data, template)])))
    if piece.startswith(b"---"):
        return "".join(f"---\n{text}" for text in texts).encode() + piece
    mark = _BOM if piece.startswith(_BOM) else b""
    end = (
        "...\n" if piece[len(mark) :].startswith(b"%") else "---\n"
    )  # a directive may follow only the end of a document
    before = "---\n" if number else ""
    return mark + (before + "---\n".join(texts) + end).encode() + piece[len(mark) :]


def own_files(stream: Stream) -> Iterator[Diagnostic]:
    """A967: files of bayplan among the manifests, which no cluster knows."""
    for number, data in stream.documents.items():
        if text(data, "apiVersion").startswith("bayplan.dev/"):
            message = f"this {text(data, 'kind') or 'file'} is a file of bayplan, which no cluster accepts"
            hint = (
                "replace a Workflow with the output of `bayplan render`; keep a topology or a policy out of the chart"
            )
            yield warning("A967", (subject(number), "kind"), message, hint=hint)


def located(stream: Stream, reported: Iterable[Diagnostic]) -> tuple[tuple[Diagnostic, ...], dict[str, Document]]:
    """The diagnostics with places in the whole stream, and a document for each of their pieces."""
    diagnostics = tuple(reported)
    routes = [route for each in diagnostics for route in (each.route, *(note.route for note in each.notes)) if route]
    numbers = {number_of(route) for route in routes if str(route[0]).startswith("manifest:")}
    if not numbers:
        return diagnostics, {}
    lines, before = {}, 0
    for number, piece in enumerate(stream.pieces):
        lines[number] = before
        before += piece.count(b"\n")
    whole = text_of(b"".join(stream.pieces))
    shifted = tuple(moved(each, lambda route: _moved(route, lines)) for each in diagnostics)
    return shifted, {subject(number): _document(stream, number, whole, lines[number]) for number in numbers}


def _moved(route: Route, lines: Mapping[int, int]) -> Route:
    """A route with its lines in the whole stream."""
    if AT not in route or not str(route[0]).startswith("manifest:"):
        return route
    before = lines[number_of(route)]
    head, numbers = route[:2], [int(each) for each in route[2:]]
    return (*head, *(each + (0 if place % 2 else before) for place, each in enumerate(numbers)))


def _document(stream: Stream, number: int, whole: str, before: int) -> Document:
    """A piece as a document, with a map to the lines of the stream."""
    piece = stream.pieces[number]
    source = _SOURCE.search(piece)
    template = template_of(stream.documents.get(number)) or (source[1].decode(errors="replace") if source else "")
    remark = f"rendered from {template}" if template else ""

    def back(span: Span) -> tuple[Span, str]:
        return span._replace(line=span.line + before, end_line=span.end_line + before), remark

    return Document(stream.name, whole, number, stream.documents.get(number), SourceMap(text_of(piece), back))


# Splits a stream into pieces, one per document. Patterns find the kinds in a piece without parsing it.

_BORDER = rb"\n(?=---(?:[ \t\r\n]|\Z))"
_ENDED = rb"\n\.\.\.(?:[ \t][^\n]*)?\r?\n"
_TOP = rb"""(?:\A|\n)["']?kind["']?[ \t]*:[ \t]*["']?(\w+)"""
_ANY = rb"""\bkind["']?\s*:\s*["']?(\w+)"""
"""These patterns are strings, because most runs do not need to compile them."""


def split(raw: bytes) -> Iterator[bytes]:
    """The pieces of a stream. Most of them begin with a line `---`.

    Helm and kubectl split at these lines too. A directive (`%YAML`) stays with its document, and the document before
    it, which ends with a line `...`, is a piece of its own.
    """
    start = before = 0
    for border in re.finditer(_BORDER, raw):
        chunk, offset, before = raw[before : border.end()], before, border.end()
        if b"%" in chunk and _only_directives(chunk):
            ended = re.search(_ENDED, chunk)
            if ended:
                yield raw[start : offset + ended.end()]
                start = offset + ended.end()
            continue
        yield raw[start:before]
        start = before
    if start < len(raw):
        yield raw[start:]


def _only_directives(piece: bytes) -> bool:
    """Whether a piece ends with a directive, so that its document follows."""
    lines = [line for line in piece.splitlines() if line.strip() and not line.lstrip().startswith(b"#")]
    return bool(lines) and lines[-1].removeprefix(b"\xef\xbb\xbf").startswith(b"%")


def kinds(piece: bytes) -> set[str]:
    """The kinds that the objects of a piece may have.

    A `kind` at the beginning of a line is the kind of the document, unless it is a List. Without one, as in JSON,
    the result has every `kind` in the piece.
    """
    top = set(re.findall(_TOP, piece))
    names = top if top and not any(kind.endswith(b"List") for kind in top) else set(re.findall(_ANY, piece))
    return {kind.decode() for kind in names}
