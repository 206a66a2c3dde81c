"""What a function has to do, and what came of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bayplan.cli import files
from bayplan.cli.options import Given
from bayplan.clients import resource_list
from bayplan.clients.resource_list import Item
from bayplan.core.diagnostics import AT, KEY, Route, origin
from bayplan.core.values import NamedTuple
from bayplan.kube.objects import mapping, without_annotations
from bayplan.report import Batch
from bayplan.text.document import Document, SourceMap, Span, locate, read


class Job(NamedTuple):
    """One call. `given`: the command line together with the configuration's spec; `plugin`: of the older kind."""

    given: Given
    config: Mapping[str, Any]
    items: tuple[Item, ...]
    version: str = ""
    plugin: bool = False

    @property
    def keeps_results(self) -> bool:
        """Whether the caller reads `results`: kpt, and `kustomize fn run`.

        Those say which file an object is from. `kustomize build` says it too, of items that went through a function
        already, but never of the configuration (5.8.1), in which it has found the function.
        """
        travelling = wire(self.config)
        from_files = any(PATH in each.text or PATH in wire(each.data) for each in self.items[:1])
        return PATH in travelling or (from_files and not any(key in travelling for key in FUNCTION))


PATH = "internal.config.kubernetes.io/path"
"""The annotation that says which file an object is from."""

FUNCTION = ("config.kubernetes.io/function", "config.k8s.io/function")
"""The annotation by which a configuration names its program, and its former spelling."""


class Answer(NamedTuple):
    """Items as they came or JSON texts; None where something failed."""

    items: Sequence[Item | str] | None
    batches: Sequence[Batch]


WIRE = (
    "internal.config.kubernetes.io/",
    "config.kubernetes.io/",
    "config.k8s.io/",
    "kustomize.config.k8s.io/",
    "alpha.config.kubernetes.io/",
)
"""Annotations that kustomize and kpt put on what they pass around, by their beginning."""

MEANT = "config.kubernetes.io/depends-on"
"""One of these that users write, for those who apply objects (kpt, cli-utils)."""


def wire(data: Any) -> dict[str, Any]:
    """The annotations that travel with an object."""
    found = mapping(data, "metadata", "annotations").items()
    return {key: value for key, value in found if str(key).startswith(WIRE) and key != MEANT}


def without_wire(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """An object without the annotations that travel with it."""
    return without_annotations(data, wire(data))


def is_workflow(data: Any) -> bool:
    """Whether it claims to be a Workflow of ours."""
    ours = isinstance(data, dict) and str(data.get("apiVersion", "")).startswith("bayplan.dev/")
    return ours and data.get("kind") == "Workflow"


# The files of a kustomization, outermost first: what its patches change, then what it lists, then what lies below.

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
"""Names of the file, in kustomize's order (api/konfig/general.go at 5.8.1)."""

LISTS = ("generators", "transformers", "validators", "resources", "bases", "components")
DEEPEST = 20
"""Kustomizations below each other that are followed."""

Path = tuple[str | int, ...]


class Source(NamedTuple):
    """One document that holds an object, or a part of one. `parts`: path in the object -> path in the document.

    `kind` and `names` of the object that it is about; an empty set stands for any name.
    """

    subject: str
    document: Document
    group: str
    kind: str
    names: frozenset[str]
    parts: tuple[tuple[Path, Path], ...] = (((), ()),)

    def concerns(self, data: Mapping[str, Any], names: frozenset[str]) -> bool:
        """Whether it is about an object of that kind and one of those names."""
        alike = self.kind in ("", data.get("kind")) and self.group in ("", _group(data))
        return alike and (not self.names or bool(self.names & names))


def below(folder: str) -> Iterator[Source]:
    """All sources of a kustomization and of those below it. Files that cannot be read are left out."""
    for number, (document, group, kind, names, parts) in enumerate(_walk(folder, DEEPEST, set())):
        yield Source(f"file:{number}", document, group, kind, names, parts)


def of_files(paths: Iterable[str]) -> Iterator[Source]:
    """The objects in some files, as far as those are there."""
    listed = (each for path in paths for each in documents(path) if isinstance(each.data, dict))
    for number, (document, group, kind, names, parts) in enumerate(map(_object, listed)):
        yield Source(f"named:{number}", document, group, kind, names, parts)


Found = tuple[Document, str, str, frozenset[str], tuple[tuple[Path, Path], ...]]


def _walk(folder: str, depth: int, seen: set[str]) -> Iterator[Found]:
    """Each folder once: several kustomizations may list one."""
    file = kustomization(folder)
    if file is None or not depth or folder in seen:
        return
    seen.add(folder)
    data = file.data
    for patch in reversed(list(_patches(folder, file))):
        yield from patch
    folders = []
    for word in (word for key in LISTS for word in words(data, key)):
        path = os.path.normpath(os.path.join(folder, word))
        if os.path.isdir(path):
            folders.append(path)
        else:
            yield from (_object(each) for each in documents(path) if isinstance(each.data, dict))
    for path in folders:
        yield from _walk(path, depth - 1, seen)


def kustomization(folder: str) -> Document | None:
    """The kustomization file of a folder, if there is one that can be read."""
    for name in NAMES:
        path = os.path.normpath(os.path.join(folder, name))
        if os.path.isfile(path):
            return next((each for each in documents(path) if isinstance(each.data, dict)), None)
    return None


def documents(path: str) -> tuple[Document, ...]:
    """What a file holds; nothing where it is none, or cannot be read."""
    return files.load(path, "file", own=False)[0] if os.path.isfile(path) else ()


def objects(path: str) -> tuple[Document, ...]:
    """What a file of a list holds; in the place of a folder, what its kustomization lists."""
    if not os.path.isdir(path):
        return documents(path)
    inner = kustomization(path)
    listed = words(inner.data, "resources") if inner else ()
    return tuple(each for word in listed for each in documents(os.path.normpath(os.path.join(path, word))))


def words(data: Mapping[str, Any], key: str) -> list[str]:
    """The paths in a list of the kustomization: no URLs, and no objects written in place."""
    listed = data.get(key)
    return [each for each in listed if isinstance(each, str) and "\n" not in each] if isinstance(listed, list) else []


def _group(data: Mapping[str, Any]) -> str:
    return str(data.get("apiVersion", "")).rpartition("/")[0]


def _object(document: Document) -> Found:
    """A document that is an object, or a patch that looks like one."""
    data = document.data
    metadata = data.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return document, _group(data), str(data.get("kind", "")), frozenset({str(name)} if name else ()), (((), ()),)


def _patches(folder: str, file: Document) -> Iterator[list[Found]]:
    """What each patch of a kustomization is about."""
    for key in ("patches", "patchesJson6902", "patchesStrategicMerge"):
        listed = file.data.get(key)
        for number, each in enumerate(listed if isinstance(listed, list) else ()):
            entry = each if isinstance(each, dict) else {"path": each} if "\n" not in str(each) else {"patch": each}
            target: Any = entry.get("target") if isinstance(entry.get("target"), dict) else {}
            at = (key, number, "patch") if isinstance(each, dict) else (key, number)
            if isinstance(entry.get("path"), str):
                texts = documents(os.path.normpath(os.path.join(folder, entry["path"])))
            else:
                texts = inline(file, at, entry.get("patch"))
            yield [_patch(document, target) for document in texts if isinstance(document.data, dict | list)]


def _patch(document: Document, target: Mapping[str, Any]) -> Found:
    """A patch: an object in part, or a list of operations on the one that `target` selects."""
    kind, group, name = (str(target.get(key, "")) for key in ("kind", "group", "name"))
    if isinstance(document.data, dict):
        found = _object(document)
        return (
            found if not target else (document, group, kind, frozenset({name} if name.isidentifier() else ()), found[4])
        )
    names = frozenset({name} if name.replace("-", "").isalnum() else ())  # anything else is a pattern
    parts = tuple(
        (_pointer(each["path"]), (number, "value"))
        for number, each in enumerate(document.data)
        if isinstance(each, dict) and isinstance(each.get("path"), str) and "value" in each
    )
    return document, group, kind, names, parts


def _pointer(text: str) -> Path:
    """`/spec/gangs/0` -> ("spec", "gangs", 0)."""
    words = (word.replace("~1", "/").replace("~0", "~") for word in text.split("/")[1:])
    return tuple(int(word) if word.isdigit() else word for word in words)


def inline(file: Document, path: Path, text: Any) -> tuple[Document, ...]:
    """The documents of a patch that is written in the kustomization itself; their places are those in that file."""
    if not isinstance(text, str):
        return ()
    found = read(file.name, text.encode(), "file", own=False)
    span = locate(file.text, file.index, path)
    source_map = SourceMap(text, lambda inner: (_outer(inner, span, file.text), ""))
    return tuple(
        each._replace(text=file.text, index=file.index, source_map=source_map) for each in found.value or ()[:1]
    )


def _outer(inner: Span, span: Span, text: str) -> Span:
    """A place in a block scalar -> its place in the file; the scalar itself where it is written in another style."""
    lines = text.splitlines()
    head = lines[span.line - 1][span.column - 1 :] if span.line <= len(lines) else ""
    first = next((line for line in lines[span.line :] if line.strip()), "")
    if not head.startswith("|"):
        return span
    indent = len(first) - len(first.lstrip(" "))
    return Span(span.line + inner.line, inner.column + indent, span.line + inner.end_line, inner.end_column + indent)


# Where the user wrote what kustomize handed over: when there is something to say, the kustomization's files are read.
#
# What a function is given has been merged and written anew, so lines and columns mean nothing. The objects are looked
# for in the files that the kustomization names (resources, patches, plugins, those of the kustomizations below it) by
# kind and by the names that they had before. A value that a patch brought is shown in the patch.

PLACE_NAMES = "internal.config.kubernetes.io/previousNames"
PlacePath = tuple[str | int, ...]


def found(job: Job, batches: Sequence[Batch]) -> list[Batch]:
    """The batches with the files in which their subjects were written, as far as they are found."""
    known = resource_list.known(job.items, lambda _: True).value or ()
    given = [each for each in (*(item.data for item in known), job.config) if isinstance(each, dict)]
    paths = (str(wire(each).get(PATH, "")) for each in given)
    written = [*below("."), *of_files(dict.fromkeys(filter(None, paths)))]
    alike: dict[str, list[Any]] = {}
    for each in given:
        alike.setdefault(title(each), []).append(each)
    return [_batch(batch, alike, written) for batch in batches]


def _batch(batch: Batch, alike: Mapping[str, Sequence[Any]], written: Sequence[Source]) -> Batch:
    """Routes of subjects that came over the wire lead into files."""
    told: dict[str, Document] = {}
    origins: dict[str, dict[Route, Route]] = {subject: dict(table) for subject, table in batch.origins.items()}
    for subject, asked in _asked(batch).items():
        document = batch.sources.get(subject)
        if document is None or document.text or not isinstance(document.data, dict):
            continue
        same = (each for each in alike.get(title(document.data), ()) if without_wire(each) == document.data)
        whole = next(same, document.data)
        told[subject] = document._replace(name=title(whole), data=None)
        near = [each for each in written if each.concerns(whole, names(whole))]
        for route in asked:
            place = _place(_mapped(route, batch.origins.get(subject, {}))[1:], whole, near)
            if place is not None:
                told[str(place[0])] = next(each.document for each in near if each.subject == place[0])
                origins.setdefault(subject, {})[route] = place
    return batch._replace(sources={**batch.sources, **told}, origins=origins)


def _asked(batch: Batch) -> dict[str, set[Route]]:
    """Subject -> routes that lead to data."""
    asked: dict[str, set[Route]] = {}
    for each in batch.diagnostics:
        for route in (each.route, *(note.route for note in each.notes)):
            if route and AT not in route:
                asked.setdefault(str(route[0]), set()).add(route)
    return asked


def _mapped(route: Route, table: Mapping[Route, Route]) -> Route:
    """As the report maps it: to where a default was written."""
    found = origin(route, table)
    return (*found[0], *found[1]) if found else route


def title(data: Mapping[str, Any]) -> str:
    """`Workflow "prod-train"`, for what no file holds."""
    metadata = data.get("metadata")
    name = metadata.get("name", "") if isinstance(metadata, dict) else ""
    return f'{data.get("kind", "object")} "{name}"' if name else str(data.get("kind") or "functionConfig")


def names(data: Mapping[str, Any]) -> frozenset[str]:
    """What the object is called, and was called before prefixes."""
    own = str(mapping(data, "metadata").get("name", ""))
    before = str(mapping(data, "metadata", "annotations").get(PLACE_NAMES, ""))
    return frozenset({own, *before.split(",")} - {""})


def _place(path: PlacePath, whole: Any, near: Sequence[Source]) -> Route | None:
    """The route in the best file: the outermost that holds the value, else the one that comes closest."""
    marked = path[-1:] == (KEY,)
    plain = path[:-1] if marked else path
    value = _at(whole, plain)
    best: tuple[int, Route | None] = (-1, None)
    for source in near if plain else reversed(near):  # an object as a whole stands where it was first written
        for inner, length in _ways(source, plain):
            same = length == len(plain) and (value is _NOTHING or _at(source.document.data, inner) == value)
            depth = len(plain) + 1 if same else min(length, len(plain) - 1) if length else 0
            if depth > best[0]:
                tail = (KEY,) if marked and length == len(plain) else ()
                best = depth, (source.subject, *inner, *tail)
    return best[1]


def _ways(source: Source, path: PlacePath) -> Iterator[tuple[PlacePath, int]]:
    """Paths in the source that lead along the path, and how far each goes."""
    for at, begin in source.parts:
        if path[: len(at)] == at:
            rest = path[len(at) :]
            length = next(
                (n for n in range(len(rest), 0, -1) if _at(source.document.data, (*begin, *rest[:n])) is not _NOTHING),
                0,
            )
            yield (*begin, *rest[:length]), min(len(path), len(at) + length)


_NOTHING = object()


def _at(data: Any, path: PlacePath) -> Any:
    for key in path:
        listed = isinstance(data, list) and isinstance(key, int) and 0 <= key < len(data)
        if not listed and not (isinstance(data, dict) and key in data):
            return _NOTHING
        data = data[key]
    return data
