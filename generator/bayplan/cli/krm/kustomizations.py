"""The files of a kustomization, and the places in them from which the objects of a ResourceList come."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.cli import files
from bayplan.cli.krm.job import NAMES, Job, path_of, without_wire
from bayplan.clients import resource_list
from bayplan.core.diagnostics import AT, KEY, Diagnostic, Note, Route, error, origin
from bayplan.kube.objects import api_group, items, mapping
from bayplan.report import Batch
from bayplan.text.document import Document, SourceMap, Span, locate, read

LISTS = ("generators", "transformers", "validators", "resources", "bases", "components")
DEEPEST = 20
"""The most kustomizations below each other that bayplan follows."""

MOST = 1000
"""The most paths through a tree of kustomizations that bayplan follows. Shared bases multiply them."""

Path = tuple[str | int, ...]


class Source(NamedTuple):
    """One document with an object or a part of one. `parts`: path in the object -> path in the document.

    `group`, `kind` and `names` select the object; empty ones match any.
    """

    document: Document
    group: str
    kind: str
    names: frozenset[str]
    parts: tuple[tuple[Path, Path], ...] = (((), ()),)
    subject: str = ""

    def concerns(self, data: Mapping[str, Any], names: frozenset[str]) -> bool:
        """Whether it belongs to this object, which has one of these names."""
        alike = self.kind in ("", data.get("kind")) and self.group in ("", api_group(data))
        return alike and (not self.names or bool(self.names & names))


def sources(folder: str, paths: Iterable[str]) -> Iterator[Source]:
    """The documents of a kustomization and those below it, then the objects in some files, without unreadable files."""
    below = (source for each in walk(folder, LISTS, once=True) for source in _sources(each))
    for number, each in enumerate(below):
        yield each._replace(subject=f"file:{number}")
    for number, each in enumerate(_objects(paths)):
        yield each._replace(subject=f"named:{number}")


def _sources(one: Kustomization) -> Iterator[Source]:
    """The patches of a kustomization, then the objects in the files that it lists."""
    for patch in reversed(list(_patches(one.folder, one.document))):
        yield from patch
    paths = [path for key in LISTS for path in listed_paths(one.folder, one.document.data, key)]
    yield from _objects(path for path in paths if not files.found(path, os.path.isdir))


class Kustomization(NamedTuple):
    """The kustomization of one folder. `above`: those that lead to it, outermost first."""

    folder: str
    subject: str
    document: Document
    above: tuple[Kustomization, ...]


def walk(folder: str, keys: Sequence[str], *, once: bool = False) -> list[Kustomization]:
    """The kustomization of a folder, and those of the folders in some of its lists, each before those below it.

    `once`: a folder that several lists name is visited by the first of them only. Cycles, which kustomize refuses, and
    paths beyond DEEPEST and MOST end there.
    """
    kustomizations: list[Kustomization] = []
    documents: dict[str, Document | None] = {}
    listed: dict[str, list[str]] = {}

    def visit(folder: str, above: tuple[Kustomization, ...], leading: frozenset[str]) -> None:
        document = documents[folder] = documents[folder] if folder in documents else kustomization(folder)
        real = os.path.realpath(folder)
        if document is None or real in leading:
            return
        kustomizations.append(Kustomization(folder, f"kustomization:{len(kustomizations)}", document, above))
        below = (*above, kustomizations[-1])
        if len(below) == DEEPEST:
            return
        if folder not in listed:
            listed[folder] = [path for key in keys for path in listed_paths(folder, document.data, key)]
        for path in listed[folder]:
            if len(kustomizations) == MOST:
                return
            if path not in documents or not (once or documents[path] is None):
                visit(path, below, leading | {real})

    visit(folder, (), frozenset())
    return kustomizations


PLACES = {
    "ExpandWorkflows": "transformers",
    "PlaceWorkloads": "transformers",
    "ValidateWorkloads": "validators",
}
"""Kind of a function -> its list in a kustomization."""


def misplaced(kind: str, key: str, route: Route) -> Iterator[Diagnostic]:
    """A964: kustomize uses the output of a function in another list differently (kustomize 5.8.1)."""
    if key == PLACES.get(kind, key):
        return
    effects = {
        "generators": "where kustomize passes no resources to it",
        "transformers": "where it would delete every object",
        "validators": "where kustomize ignores or rejects its output",
    }
    message = f"{kind} is listed under `{key}:`, {effects[key]}"
    yield error("A964", route, message, hint=f"list it under `{PLACES[kind]}:`")


def wrong_list(job: Job) -> str:
    """The list of the kustomization that has this function by mistake; empty if there is none."""
    right = PLACES.get(job.config["kind"])
    if right is None:
        return ""
    own = without_wire(job.config)

    def lists_it(each: Any) -> bool:
        return isinstance(each, dict) and without_wire(each) == own

    copies = resource_list.parsed(job.items, lambda _: True).value if len(job.items) == 1 else ()
    if copies and not job.plugin and lists_it(copies[0].data) and not path_of(copies[0].data):
        return "generators"  # kustomize passes only a copy of the configuration
    here = kustomization(os.curdir)
    for key in ("generators", "transformers", "validators"):
        paths = listed_paths(os.curdir, here.data, key) if here and key != right else ()
        if any(lists_it(each.data) for path in paths for each in objects(path)):
            return key
    return ""


def kustomization(folder: str) -> Document | None:
    """The kustomization file of a folder, if there is one that can be read."""
    for name in NAMES:
        path = os.path.normpath(os.path.join(folder, name))
        if files.found(path):
            return next((each for each in documents(path) if isinstance(each.data, dict)), None)
    return None


def documents(path: str) -> tuple[Document, ...]:
    """The documents of a file; none if it cannot be read."""
    return files.load(path, "file", own=False)[0] if files.found(path) else ()


def objects(path: str) -> tuple[Document, ...]:
    """The documents of a listed file. For a folder, those of the resources in its kustomization."""
    if not files.found(path, os.path.isdir):
        return documents(path)
    inner = kustomization(path)
    paths = listed_paths(path, inner.data, "resources") if inner else ()
    return tuple(each for path in paths for each in documents(path))


def listed_paths(folder: str, data: Mapping[str, Any], key: str) -> list[str]:
    """The different paths in a list of a folder's kustomization; objects that are written in place are left out."""
    texts = (each for each in items(data, key) if isinstance(each, str) and "\n" not in each)
    return [*dict.fromkeys(os.path.normpath(os.path.join(folder, each)) for each in texts)]


def _objects(paths: Iterable[str]) -> Iterator[Source]:
    return (_object(each) for path in paths for each in documents(path) if isinstance(each.data, dict))


def _object(document: Document) -> Source:
    """A document that is an object, or a patch in the form of an object."""
    data = document.data
    name = mapping(data, "metadata").get("name")
    return Source(document, api_group(data), str(data.get("kind", "")), frozenset({str(name)} if name else ()))


def _patches(folder: str, file: Document) -> Iterator[list[Source]]:
    """The patches of a kustomization."""
    for key in ("patches", "patchesJson6902", "patchesStrategicMerge"):
        for number, each in enumerate(items(file.data, key)):
            entry = each if isinstance(each, dict) else {"path": each} if "\n" not in str(each) else {"patch": each}
            target = mapping(entry, "target")
            at = (key, number, "patch") if isinstance(each, dict) else (key, number)
            if isinstance(entry.get("path"), str):
                texts = documents(os.path.normpath(os.path.join(folder, entry["path"])))
            else:
                texts = _inline(file, at, entry.get("patch"))
            yield [_patch(document, target) for document in texts if isinstance(document.data, dict | list)]


def _patch(document: Document, target: Mapping[str, Any]) -> Source:
    """A patch: a partial object, or a list of operations on the object that `target` selects."""
    kind, group, name = (str(target.get(key, "")) for key in ("kind", "group", "name"))
    if isinstance(document.data, dict):
        names = frozenset({name} if name.isidentifier() else ())
        return Source(document, group, kind, names) if target else _object(document)
    names = frozenset({name} if name.replace("-", "").isalnum() else ())  # other names are patterns
    parts = tuple(
        (_pointer(each["path"]), (number, "value"))
        for number, each in enumerate(document.data)
        if isinstance(each, dict) and isinstance(each.get("path"), str) and "value" in each
    )
    return Source(document, group, kind, names, parts)


def _pointer(text: str) -> Path:
    """`/spec/gangs/0` -> ("spec", "gangs", 0)."""
    words = (word.replace("~1", "/").replace("~0", "~") for word in text.split("/")[1:])
    return tuple(int(word) if word.isascii() and word.isdigit() and len(word) < 10 else word for word in words)


def _inline(file: Document, path: Path, text: Any) -> tuple[Document, ...]:
    """The documents of a patch inside the kustomization. Their places are in that file."""
    if not isinstance(text, str):
        return ()
    documents_read = read(file.name, text.encode(), "file", own=False)
    span = locate(file.text, file.index, path)
    source_map = SourceMap(text, lambda inner: (_outer(inner, span, file.text), ""))
    return tuple(
        each._replace(text=file.text, index=file.index, source_map=source_map)
        for each in documents_read.value or ()[:1]
    )


def _outer(inner: Span, span: Span, text: str) -> Span:
    """A place in a block scalar -> its place in the file. In another style, the place of the scalar."""
    lines = text.splitlines()
    head = lines[span.line - 1][span.column - 1 :] if span.line <= len(lines) else ""
    first = next((line for line in lines[span.line :] if line.strip()), "")
    if not head.startswith("|"):
        return span
    indent = len(first) - len(first.lstrip(" "))
    return Span(span.line + inner.line, inner.column + indent, span.line + inner.end_line, inner.end_column + indent)


# The places in files from which the objects of a ResourceList come. bayplan reads the files of the kustomization only
# if there are diagnostics.
#
# kustomize merges and rewrites objects before a function reads them, so their lines and columns are useless. bayplan
# looks for the objects in the files of the kustomization and of those below it (resources, patches, plugins), by kind
# and by their previous names. It shows a value that a patch sets in the patch.

PREVIOUS_NAMES = "internal.config.kubernetes.io/previousNames"


class Passed(NamedTuple):
    """An object that kustomize passed. `document` and `path`: its place in the text that bayplan read."""

    data: Mapping[str, Any]
    document: Document
    path: Path


def with_files(job: Job, batches: Sequence[Batch]) -> list[Batch]:
    """The batches with the files of their subjects, or the lines of standard input if bayplan finds no files."""
    by_title: dict[str, list[Passed]] = {}
    for each in _passed(job):
        by_title.setdefault(title(each.data), []).append(each)
    paths = (path_of(each.data) for listed in by_title.values() for each in listed)
    written = [*sources(".", dict.fromkeys(filter(None, paths)))]
    return [_batch(batch, by_title, written, job) for batch in batches]


def _passed(job: Job) -> Iterator[Passed]:
    """The objects and the configuration."""
    for number, each in enumerate(resource_list.parsed(job.items, lambda _: True).value or ()):
        if isinstance(each.data, dict):
            whole = job.document, ("items", number)
            yield Passed(each.data, *((each.document, ()) if each.document else whole))
    if isinstance(job.config, dict):
        yield Passed(job.config, job.document, () if job.plugin else ("functionConfig",))


def _batch(batch: Batch, by_title: Mapping[str, Sequence[Passed]], written: Sequence[Source], job: Job) -> Batch:
    """The batch, with routes into files, or else into standard input.

    For callers that read results, the annotation of an object names its file, whether or not bayplan can read it.
    """
    located: dict[str, Document] = {}
    titles: dict[Route, str] = {}
    origins: dict[str, dict[Route, Route]] = {subject: dict(table) for subject, table in batch.origins.items()}
    for subject, routes in _data_routes(batch).items():
        document = batch.sources.get(subject)
        if document is None or document.text or not isinstance(document.data, dict):
            continue
        alike = by_title.get(title(document.data), ())
        same = (each for each in alike if without_wire(each.data) == document.data)
        passed = next(same, alike[0] if alike else Passed(document.data, document, ()))
        whole = passed.data
        own = path_of(whole) if job.keeps_results else ""
        text = passed.document._replace(data=None)
        located[subject] = document._replace(name=own or title(whole), data=None) if own or not text.text else text
        candidates = [each for each in written if each.concerns(whole, _names(whole))]
        candidates = [each for each in candidates if each.document.name == own] if own else candidates
        for route in routes:
            mapped = origin(route, batch.origins.get(subject, {})) or (route, ())  # to the place of a default
            place = _place((*mapped[0], *mapped[1])[1:], whole, candidates)
            if place is not None:
                located[str(place[0])] = next(each.document for each in candidates if each.subject == place[0])
                origins.setdefault(subject, {})[route] = place
            elif not own and mapped[0][0] == subject and AT not in mapped[0]:
                origins.setdefault(subject, {})[route] = (subject, *passed.path, *mapped[0][1:], *mapped[1])
                titles[route] = title(whole)
    located[resource_list.SUBJECT] = job.document
    diagnostics = tuple(
        each._replace(notes=(*each.notes, Note(f"in {titles[each.route]}"))) if each.route in titles else each
        for each in batch.diagnostics
    )
    return batch._replace(diagnostics=diagnostics, sources={**batch.sources, **located}, origins=origins)


def _data_routes(batch: Batch) -> dict[str, set[Route]]:
    """Subject -> its routes into data."""
    routes_by_subject: dict[str, set[Route]] = {}
    for each in batch.diagnostics:
        for route in (each.route, *(note.route for note in each.notes)):
            if route and AT not in route:
                routes_by_subject.setdefault(str(route[0]), set()).add(route)
    return routes_by_subject


def title(data: Mapping[str, Any]) -> str:
    """`Workflow "prod-train"`, for an object without a file."""
    name = mapping(data, "metadata").get("name", "")
    return f'{data.get("kind", "object")} "{name}"' if name else str(data.get("kind") or "functionConfig")


def _names(data: Mapping[str, Any]) -> frozenset[str]:
    """The names of an object: the current name, and previous ones without prefixes."""
    own = str(mapping(data, "metadata").get("name", ""))
    before = str(mapping(data, "metadata", "annotations").get(PREVIOUS_NAMES, ""))
    return frozenset({own, *before.split(",")} - {""})


def _place(path: Path, whole: Any, candidates: Sequence[Source]) -> Route | None:
    """The route in the best file: the outermost with the value, or the one with the longest part of the path."""
    marked = path[-1:] == (KEY,)
    plain = path[:-1] if marked else path
    value = _at(whole, plain)
    best: tuple[int, Route | None] = (-1, None)
    for source in candidates if plain else reversed(candidates):  # a whole object: the innermost file
        for inner, length in _matching_paths(source, plain):
            same = length == len(plain) and (value is _MISSING or _at(source.document.data, inner) == value)
            depth = len(plain) + 1 if same else min(length, len(plain) - 1) if length else 0
            if depth > best[0]:
                tail = (KEY,) if marked and length == len(plain) else ()
                best = depth, (source.subject, *inner, *tail)
    return best[1]


def _matching_paths(source: Source, path: Path) -> Iterator[tuple[Path, int]]:
    """Paths in the source that follow the path, and how many steps each follows."""
    for at, begin in source.parts:
        if path[: len(at)] == at:
            rest = path[len(at) :]
            steps = range(len(rest), 0, -1)
            length = next((n for n in steps if _at(source.document.data, (*begin, *rest[:n])) is not _MISSING), 0)
            yield (*begin, *rest[:length]), min(len(path), len(at) + length)


_MISSING = object()


def _at(data: Any, path: Path) -> Any:
    for key in path:
        listed = isinstance(data, list) and isinstance(key, int) and 0 <= key < len(data)
        if not listed and not (isinstance(data, dict) and key in data):
            return _MISSING
        data = data[key]
    return data
