"""The files of a kustomization, outermost first: what its patches change, then what it lists, then what lies below."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bayplan.cli import files
from bayplan.text.document import Document, SourceMap, Span, locate, read
from bayplan.values import NamedTuple

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
