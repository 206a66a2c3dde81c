"""Where the user wrote what kustomize handed over: when there is something to say, the kustomization's files are read.

What a function is given has been merged and written anew, so lines and columns mean nothing. The objects are looked for
in the files that the kustomization names (resources, patches, plugins, those of the kustomizations below it) by kind
and by the names that they had before. A value that a patch brought is shown in the patch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.cli.krm import sources
from bayplan.cli.krm.job import PATH, Job, wire, without_wire
from bayplan.cli.krm.sources import Source
from bayplan.clients import resource_list
from bayplan.diagnostics import AT, KEY, Route, origin
from bayplan.kube.safe import mapping
from bayplan.report.batch import Batch
from bayplan.text.document import Document

NAMES = "internal.config.kubernetes.io/previousNames"
Path = tuple[str | int, ...]


def found(job: Job, batches: Sequence[Batch]) -> list[Batch]:
    """The batches with the files in which their subjects were written, as far as they are found."""
    known = resource_list.known(job.items, lambda _: True).value or ()
    given = [each for each in (*(item.data for item in known), job.config) if isinstance(each, dict)]
    paths = (str(wire(each).get(PATH, "")) for each in given)
    written = [*sources.below("."), *sources.of_files(dict.fromkeys(filter(None, paths)))]
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
    before = str(mapping(data, "metadata", "annotations").get(NAMES, ""))
    return frozenset({own, *before.split(",")} - {""})


def _place(path: Path, whole: Any, near: Sequence[Source]) -> Route | None:
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


def _ways(source: Source, path: Path) -> Iterator[tuple[Path, int]]:
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


def _at(data: Any, path: Path) -> Any:
    for key in path:
        listed = isinstance(data, list) and isinstance(key, int) and 0 <= key < len(data)
        if not listed and not (isinstance(data, dict) and key in data):
            return _NOTHING
        data = data[key]
    return data
