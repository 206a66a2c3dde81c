"""Helm's stream: documents that come in as one text, of which few are read and fewer are changed.

A stream is cut at its `---` lines without reading it. Only documents that may matter are read: those that carry a word
of ours and, where there is anything to place at all, those of a kind that counts. All others leave as they came, byte
for byte, whatever is in them.

Helm 3 names the template of each document in a comment, `# Source: chart/templates/file.yaml`, Helm 4 in an annotation.
New documents carry the same as the workload that they go with, and stand before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from bayplan.clients import MARK
from bayplan.core.diagnostics import AT, Diagnostic, Route, error, moved, warning
from bayplan.core.values import NamedTuple
from bayplan.kube.objects import flattened, get, mapping, put, text, without_annotations
from bayplan.kube.objects import number as number_of
from bayplan.model.augment import Added, Augmented
from bayplan.model.manifest import Object
from bayplan.text.document import Document, SourceMap, Span, read
from bayplan.text.source import text_of

# Annotations that Helm reads and no cluster needs: objects are judged without them, and keep them.
#
# Helm 4 says in one which template a document comes from (Helm 4.1, pkg/action, `annotateAndMerge`), and takes it off
# again. Objects that are made for a hook are hooks themselves: else they would come after what needs them.

FILE = "postrenderer.helm.sh/postrender-filename"
"""Helm 4's annotation."""

HOOK = ("helm.sh/hook", "helm.sh/hook-weight", "helm.sh/hook-delete-policy")
"""Annotations of hooks. Helm runs those of one kind by weight, the lightest first (pkg/action/hooks.go, `execHook`)."""

AUXILIARY = ("ComputeDomain", "PodGroup", "ResourceClaimTemplate")
"""Kinds of objects that are made for workloads."""


def helm_annotations(data: Any) -> dict[str, Any]:
    """Those of an object: its template, and on an object that was made for a hook also what makes it one."""
    annotations = mapping(data, "metadata", "annotations")
    names = (FILE, *HOOK) if text(data, "kind") in AUXILIARY else (FILE,)
    return {name: annotations[name] for name in names if name in annotations}


def with_annotations(data: Mapping[str, Any], extra: Mapping[str, Any]) -> Mapping[str, Any]:
    """The object with such annotations."""
    if not extra:
        return data
    metadata = data.get("metadata") or {}
    return {**data, "metadata": {**metadata, "annotations": {**(metadata.get("annotations") or {}), **extra}}}


def template_of(data: Any) -> str:
    """The template that an object comes from, if Helm 4 says so."""
    return text(data, "metadata", "annotations", FILE)


def auxiliary_annotations(workload: Any, document: Any) -> dict[str, str]:
    """What goes on the objects that are made for a workload: its template; a hook's are hooks, and run before it."""
    template = template_of(workload) or template_of(document)
    annotations = mapping(workload, "metadata", "annotations")
    annotations_added = {FILE: template} if template else {}
    if HOOK[0] not in annotations:
        return annotations_added
    weight = str(annotations.get(HOOK[1], 0))
    sooner = str(int(weight) - 1) if re.fullmatch(r"[-+]?[0-9]{1,9}", weight) else "-1"
    hook = {name: str(annotations[name]) for name in HOOK if name in annotations}
    return {**annotations_added, **hook, HOOK[1]: sooner}


LARGEST = 8 * 2**20
"""Bytes of a document that is read: many times what an API server takes, and room for long Lists."""

_SOURCE = re.compile(rb"^# Source: (.*?)\r?$", re.M)
_BOM = b"\xef\xbb\xbf"


class Stream(NamedTuple):
    """A stream in pieces, and the documents in those that were read: number of the piece -> data."""

    name: str
    pieces: tuple[bytes, ...]
    documents: Mapping[int, Any]


def parse(name: str, raw: bytes, watched: Callable[[str], bool]) -> tuple[Stream, tuple[Diagnostic, ...]]:
    """Cuts a stream, and reads those of its documents that carry a word of ours or are of a watched kind."""
    pieces = tuple(split(raw))
    numbers = [number for number, piece in enumerate(pieces) if MARK in piece or any(map(watched, kinds(piece)))]
    message = f"this document has more than {LARGEST:,} bytes, and it may be one to place"
    hint = "no API server takes an object of that size; of a List, make several documents"
    large = [subject(number) for number in numbers if len(pieces[number]) > LARGEST]
    if large:
        return Stream(name, pieces, {}), tuple(error("R103", (one, AT, 1, 1), message, hint=hint) for one in large)
    documents = _read_together(name, pieces, numbers)
    if documents is not None:
        return Stream(name, pieces, documents), ()
    documents, reported = {}, list[Diagnostic]()
    for number in numbers:
        documents[number], diagnostics = _read_one(name, pieces[number], number)
        reported += diagnostics
    return Stream(name, pieces, {key: data for key, data in documents.items() if data is not None}), tuple(reported)


def _read_together(name: str, pieces: Sequence[bytes], numbers: Sequence[int]) -> dict[int, Any] | None:
    """All of them in one go, which is faster; None where that cannot be told from one by one."""
    chosen = [pieces[number] for number in numbers]
    for piece in chosen:
        bare_returns = piece.count(b"\r") != piece.count(b"\r\n")
        if bare_returns or piece.startswith(b"%") or any(map(piece.__contains__, _UNSAFE)):
            return None
    texts = (piece if piece.startswith(b"---") else b"---\n" + piece for piece in chosen)
    documents = read(name, b"\n".join(texts), "manifest", own=False).value if chosen else ()
    return None if documents is None else {numbers[each.index]: each.data for each in documents}


_UNSAFE = (b"\n...", b"\n%", b"\xc2\x85", b"\xe2\x80\xa8", b"\xe2\x80\xa9")
"""What may hide a border from those who look for lines; the last are line breaks of Unicode, which YAML 1.1 takes."""


def _read_one(name: str, piece: bytes, number: int) -> tuple[Any, tuple[Diagnostic, ...]]:
    """The data of a piece; None for one without any. R107: there are several, which Helm takes for one, too."""
    documents = read(name, piece, subject(number), own=False)
    if documents.value is None:
        return None, tuple(each for each in documents.diagnostics if each.code != "R106")
    if len(documents.value) > 1:
        hint = "documents are told apart by `---` on lines that end with a line feed"
        message = "several documents are one here: nothing that Helm and kubectl see stands between them"
        return None, (error("R107", (subject(number), AT, 1, 1), message, hint=hint),)
    return documents.value[0].data, documents.diagnostics


def subject(number: int) -> str:
    """The first word of routes into a piece."""
    return f"manifest:{number}"


def objects(stream: Stream) -> Iterator[Object]:
    """The objects that were read, items of Lists one by one, without what Helm put into them."""
    for number, data in stream.documents.items():
        for one in flattened(Object((subject(number),), data)):
            if isinstance(one.data, dict) and ("kind" in one.data or "apiVersion" in one.data):
                yield one._replace(data=without_annotations(one.data, helm_annotations(one.data)))


def written(stream: Stream, augmented: Augmented) -> Iterator[bytes]:
    """The stream with what was made of it."""
    changed: dict[int, list[tuple[Route, Any]]] = {}
    added: dict[int, list[Added]] = {}
    for change in augmented.changes:
        changed.setdefault(number_of(change.route), []).append((change.route[1:], change.data))
    for new in augmented.added:
        added.setdefault(number_of(new.beside), []).append(new)
    texts = _rewritten(stream, changed)
    for number, piece in enumerate(stream.pieces):
        after = texts.get(number, piece)
        yield _preceded(stream, number, after, added[number]) if number in added else after


def _rewritten(stream: Stream, changed: Mapping[int, list[tuple[Route, Any]]]) -> dict[int, bytes]:
    """The texts of the pieces in which something changes."""
    from bayplan.text.patch import rewrite_all

    tasks = []
    for number, changes in changed.items():
        old = new = stream.documents[number]
        for path, data in changes:
            new = put(new, path, with_annotations(data, helm_annotations(get(old, *path))))
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
        extra = auxiliary_annotations(get(document, *new.beside[1:]), document)
        texts.append(comment + "".join(emit([with_annotations(new.data, extra)])))
    if piece.startswith(b"---"):
        return "".join(f"---\n{text}" for text in texts).encode() + piece
    mark = _BOM if piece.startswith(_BOM) else b""
    end = "...\n" if piece[len(mark) :].startswith(b"%") else "---\n"  # a directive follows the end of a document only
    before = "---\n" if number else ""
    return mark + (before + "---\n".join(texts) + end).encode() + piece[len(mark) :]


def own_files(stream: Stream) -> Iterator[Diagnostic]:
    """A972: files of ours among the manifests, which no cluster knows."""
    for number, data in stream.documents.items():
        if text(data, "apiVersion").startswith("bayplan.dev/"):
            message = f"this {text(data, 'kind') or 'file'} is a file of bayplan, and no object that a cluster knows"
            hint = "`bayplan render` makes manifests of a Workflow; files that post-render reads stay out of the chart"
            yield warning("A972", (subject(number), "kind"), message, hint=hint)


def located(stream: Stream, reported: Iterable[Diagnostic]) -> tuple[tuple[Diagnostic, ...], dict[str, Document]]:
    """The diagnostics with places of the whole stream, and a document for each piece that they speak of."""
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
    """A line of a piece as that of the stream."""
    if AT not in route or not str(route[0]).startswith("manifest:"):
        return route
    before = lines[number_of(route)]
    head, numbers = route[:2], [int(each) for each in route[2:]]
    return (*head, *(each + (0 if place % 2 else before) for place, each in enumerate(numbers)))


def _document(stream: Stream, number: int, whole: str, before: int) -> Document:
    """A piece, to be found again in the stream."""
    piece = stream.pieces[number]
    source = _SOURCE.search(piece)
    template = template_of(stream.documents.get(number)) or (source[1].decode(errors="replace") if source else "")
    remark = f"this was rendered from {template}" if template else ""

    def back(span: Span) -> tuple[Span, str]:
        return span._replace(line=span.line + before, end_line=span.end_line + before), remark

    return Document(stream.name, whole, number, stream.documents.get(number), SourceMap(text_of(piece), back))


# The stream is cut into pieces, one for each document; patterns find the kinds in each piece without parsing it.

_BORDER = rb"\n(?=---(?:[ \t\r\n]|\Z))"
_ENDED = rb"\n\.\.\.(?:[ \t][^\n]*)?\r?\n"
_TOP = rb"""(?:\A|\n)["']?kind["']?[ \t]*:[ \t]*["']?(\w+)"""
_ANY = rb"""\bkind["']?\s*:\s*["']?(\w+)"""
"""Patterns that most runs do not need are compiled when they are."""


def split(raw: bytes) -> Iterator[bytes]:
    """The pieces, of which most begin with a line `---`; together they are the stream.

    Helm and kubectl cut at these lines too. A directive (`%YAML`) stays with the document that it is about, and the one
    before it, which ends with a line `...`, is a piece of its own.
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
    """Whether a piece ends with a directive, so that its document is still to come."""
    lines = [line for line in piece.splitlines() if line.strip() and not line.lstrip().startswith(b"#")]
    return bool(lines) and lines[-1].removeprefix(b"\xef\xbb\xbf").startswith(b"%")


def kinds(piece: bytes) -> set[str]:
    """The kinds of the objects that a piece may hold, by a glance.

    A `kind` at the beginning of a line is that of the document, and decides unless it is a List; without one, as in
    JSON, any `kind` may be.
    """
    top = set(re.findall(_TOP, piece))
    names = top if top and not any(kind.endswith(b"List") for kind in top) else set(re.findall(_ANY, piece))
    return {kind.decode() for kind in names}
