"""What makes a field of a manifest: bayplan changes values of the sources, compiles again, and compares.

A value is a cause of a field if another value gives the field another value. No table says which stage reads what, so
the answer follows the code. Many values change at once: if the field stays the same, none of them is a cause, otherwise
bayplan tries each half. bayplan does not prove the fit of changed sources: no manifest depends on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple

from bayplan import pipeline
from bayplan.cli import schema_fields
from bayplan.core.diagnostics import AT, Route
from bayplan.kube.objects import api_group, get, put, text, without_item
from bayplan.manifests.order import expanded
from bayplan.model.manifest import Manifest
from bayplan.model.target import KNOWN
from bayplan.pipeline import Request
from bayplan.planning.selection import Given
from bayplan.text.document import Document
from bayplan.workflows import matrix

Path = tuple[str | int, ...]

Objects = Mapping[str, list[Manifest]]
"""The objects of a run by kind with API group, such as `PodGroup.scheduling.run.ai`.

A path of two steps is an object.
"""

Sources = Mapping[str, Any]
"""The data of `workflow` and `topology`, the options as `argument`, and columns of CSV files. Routes lead into it."""

REMOVED: Any = type("Removed", (), {"__repr__": lambda self: "REMOVED"})()
"""In place of a value: the field is missing."""


FEW_ENTRIES = 20
"""Entries of a list that are always among the sources."""


class Edit(NamedTuple):
    """Another value at a place in the sources. `everywhere`: also in all other places with the same value."""

    route: Route
    value: Any
    everywhere: bool = False


class Variant(NamedTuple):
    """The objects that bayplan writes after an edit."""

    edit: Edit
    objects: Objects


class Experiments:
    """What changes of the sources of a request do to what is watched: the existence of all objects, or a value."""

    def __init__(self, request: Request) -> None:
        self.request = request._replace(judged=pipeline.check_topology(request.topology), prove=False)
        options = {"namespace": request.namespace, "scheduler": request.scheduler, "target": {**request.target}}
        given = {name: value for name, value in {**options, **request.given._asdict()}.items() if value}
        self.sources: Sources = {
            "workflow": request.workflow.data,
            "topology": request.topology.data,
            "argument": given,
            **{subject: columns(table) for subject, table in tables(request).items()},
        }
        self.objects = self.written(self.sources) or {}
        self.watched: list[Path] = [
            (kind, number) for kind in self.objects for number in range(len(self.objects[kind]))
        ]
        self.existence = True

        self.leave_out()

    def leave_out(self) -> None:
        """Leaves out most entries of long lists, such as the domains of a topology, if no object depends on them."""
        for route, value in list(values(self.sources)):
            if isinstance(value, list) and len(value) > FEW_ENTRIES:
                shorter = put(self.sources, route, value[:FEW_ENTRIES])
                if self.written(shorter) == self.objects:
                    self.sources = shorter
        topology = self.request.topology._replace(data=self.sources["topology"])
        self.request = self.request._replace(topology=topology, judged=pipeline.check_topology(topology))

    def watch(self, path: Path) -> None:
        """Watches the value of an object or a field instead of the existence of all objects."""
        self.watched, self.existence = [path], False

    def written(self, sources: Sources) -> Objects | None:
        """The objects of other sources; None if these have errors."""
        request, options = self.request, sources["argument"]
        judged = request.judged if sources["topology"] is request.topology.data else None
        beside = {
            subject: table._replace(text=csv_text([sources[subject], *zip(*sources[subject].values(), strict=True)]))
            for subject, table in tables(request).items()
        }
        workflow = request.workflow._replace(data=sources["workflow"], beside={**request.workflow.beside, **beside})
        changed = request._replace(
            workflow=workflow,
            topology=request.topology._replace(data=sources["topology"]),
            judged=judged,
            namespace=options.get("namespace", ""),
            scheduler=options.get("scheduler", ""),
            target=options.get("target", {}),
            given=Given(**{name: options[name] for name in Given._fields if name in options}),
        )
        compiled = pipeline.compile(changed)[0].value
        if compiled is None:
            return None
        objects: dict[str, list[Manifest]] = {}
        for manifest in expanded(compiled.documents):
            objects.setdefault(kind_of(manifest), []).append(manifest)
        return objects

    def causes(self, path: Path) -> list[Edit]:
        """A change of each value that a field depends on, or that the existence of an object does."""
        return caused(self.objects, self.variants, path) or caused(self.objects, self.settings, path)

    @cached_property
    def variants(self) -> list[Variant]:
        """The valid changes with an effect: another value or, if none is valid, a name everywhere; and no value."""
        valid: list[Variant] = []
        scalars = {route: value for route, value in values(self.sources) if not isinstance(value, Mapping | list)}
        for alternatives in (near_values, self.other_names, new_name):
            changed = {variant.edit.route for variant in valid}
            valid += self.rounds([alternatives(route, scalars[route]) for route in scalars if route not in changed])
        routes = [route for route, _ in values(self.sources)]
        for length in range(2, max(map(len, routes)) + 1):
            idle = {edit.route for edit, objects in valid if edit.value is REMOVED and objects is self.objects}
            routes = [route for route in routes if not any(route[:end] in idle for end in range(length))]
            valid += self.tried([Edit(route, REMOVED) for route in routes if len(route) == length])
        return [variant for variant in valid if variant.objects is not self.objects]

    @cached_property
    def settings(self) -> list[Variant]:
        """The valid changes with an effect that set a field which the sources do not set."""
        mappings: list[tuple[Route, Any]] = [
            (("workflow",), self.sources["workflow"]),
            (("topology",), self.sources["topology"]),
        ]
        mappings += [(route, value) for route, value in values(self.sources) if isinstance(value, Mapping)]
        routes = [(*route, name) for route, value in mappings for name in fields_of(route) if name not in value]
        valid = self.rounds([[Edit(route, value) for value in declared(route)] for route in routes])
        return [variant for variant in valid if variant.objects is not self.objects]

    def rounds(self, alternatives: Sequence[Sequence[Edit]]) -> list[Variant]:
        """The valid edits among the first ones of all places, then among the second ones, and so on."""
        valid: list[Variant] = []
        for number in range(max(map(len, alternatives), default=0)):
            valid += self.tried([edits[number] for edits in alternatives if number < len(edits)])
        return valid

    def tried(self, edits: Sequence[Edit]) -> list[Variant]:
        """The valid edits. Those that change nothing which is watched have the objects of the sources."""
        sources = self.sources
        for edit in reversed(edits):  # the last items of a list go first
            sources = edited(sources, edit)
        objects = self.written(sources)
        if objects is not None and not self.differs(objects):
            return [Variant(edit, self.objects) for edit in edits]
        if len(edits) > 1:
            half = len(edits) // 2
            return self.tried(edits[:half]) + self.tried(edits[half:])
        return [] if objects is None else [Variant(edit, objects) for edit in edits]

    def differs(self, objects: Objects) -> bool:
        """Whether something that is watched is missing or has another value."""
        for path in self.watched:
            there = follow(self.objects, objects, path)
            if len(there) < len(path):
                return True
            if not self.existence and get(objects, *there) != get(self.objects, *path):
                return True
        return False

    def other_names(self, route: Route, value: Any) -> list[Edit]:
        """The other names in the list that names what a value refers to, such as levels or queues."""
        if route[-1] == "name" and isinstance(route[-2], int):  # the entry itself, and names that change places
            return []
        others = [name for names in self.names if value in names for name in names if name != value]
        return [Edit(route, name) for name in dict.fromkeys(others)]

    @cached_property
    def names(self) -> list[list[str]]:
        """The names of the entries of each list, and of each mapping whose keys are names."""
        lists = [
            [item if isinstance(item, str) else text(item, "name") for item in value]
            for route, value in values(self.sources)
            if isinstance(value, list) or route[-1] in ("accelerators", "fabrics", "namespaces")
        ]
        return [names for names in lists if all(names)]


# CSV files with the columns of a matrix.


def tables(request: Request) -> Mapping[str, Document]:
    """The CSV files of a request by subject."""
    beside = {**request.beside, **request.workflow.beside}
    return {subject: table for subject, table in beside.items() if subject.startswith(matrix.subject(""))}


def columns(table: Document) -> dict[str, tuple[str, ...]]:
    """The cells of each column."""
    head, *rows = matrix.cells(table.text)
    return {cell.text: tuple(row[number].text for row in rows) for number, cell in enumerate(head)}


def csv_text(rows: Iterable[Iterable[str]]) -> str:
    """The rows as text, with quotes around all cells."""
    return "".join(",".join('"' + cell.replace('"', '""') + '"' for cell in row) + "\n" for row in rows)


def cell_route(table: Document, route: Route, value: Any) -> Route:
    """The place of the only cell of a column with a value; without one, that of the name of the column."""
    head, *rows = matrix.cells(table.text)
    number = [cell.text for cell in head].index(str(route[1]))
    cells = [row[number] for row in rows if row[number].text == value]
    line, column, *end = (cells[0] if len(cells) == 1 else head[number])[1:]
    return (route[0], AT, line, column, *end)


# Other values, and what they do to the sources.


def near_values(route: Route, value: Any) -> list[Edit]:
    """Other values of the same type that are valid in most places."""
    number = re.match(r"\d+", value) if isinstance(value, str) else None
    others: Sequence[Any] = [f"{value}x"]
    if isinstance(value, bool):
        others = [not value]
    elif isinstance(value, tuple):
        others = [tuple(f"{cell}x" for cell in value)]
    elif isinstance(value, int | float):
        others = [value + 1, value - 1, value * 2]
    elif "target" in route or "versions" in route:
        others = KNOWN.get(str(route[-1]), ())[::-1]
    elif "enum" in fields_of(route[:-1]).get(str(route[-1]), {}):
        others = declared(route)
    elif number:
        others = [f"{int(number[0]) + step}{value[number.end() :]}" for step in (1, -1)]
    return [Edit(route, other) for other in others if other != value]


def declared(route: Route) -> list[Any]:
    """Scalars for a place that its schema declares."""
    schema = fields_of(route[:-1]).get(str(route[-1]), {})
    samples = [*schema.get("enum", ()), *schema.get("examples", ())]
    by_type: dict[str, list[Any]] = {"boolean": [True], "integer": [1, 2]}
    samples += by_type.get(str(schema.get("type")), [])
    return [value for value in samples if isinstance(value, str | int) and value != schema.get("default")]


@cache
def fields_of(route: Route) -> Mapping[str, Mapping[str, Any]]:
    """The fields of a mapping, or of the mapping below a name of the user, with their schemas."""
    names = [step for step in route if isinstance(step, str)]
    for owner in reversed(names[-2:]):
        fields = [field for field in schema_fields.all_fields() if field.path[-2:-1] == (owner,)]
        if fields:
            return {field.path[-1]: field.schema for field in fields if in_order(field.path[:-1], names)}
    return {}


def in_order(words: Sequence[str], names: Sequence[str]) -> bool:
    """Whether all words occur among the names in their order."""
    following = iter(names)
    return all(word in following for word in words)


def new_name(route: Route, name: Any) -> list[Edit]:
    """Another name, also in all places that refer to it."""
    return [Edit(route, f"{name}x", everywhere=True)] if isinstance(name, str) else []


def values(data: Any, route: Route = ()) -> Iterator[tuple[Route, Any]]:
    """Every value below the subjects of the sources with its route, but not the types of the documents."""
    pairs = data.items() if isinstance(data, Mapping) else enumerate(data) if isinstance(data, list) else ()
    for key, value in pairs:
        if len(route) == 1 and key in ("apiVersion", "kind"):
            continue
        if route:
            yield (*route, key), value
        yield from values(value, (*route, key))


def edited(sources: Any, edit: Edit) -> Any:
    """The sources after an edit. An empty mapping or list that a removal leaves is removed too."""
    *before, key = edit.route
    owner = get(sources, *before)
    if edit.everywhere:
        return renamed(sources, get(sources, *edit.route), edit.value)
    if edit.value is not REMOVED:
        return put(sources, edit.route, edit.value)
    if get(owner, key) is None or isinstance(owner[key], tuple):  # another edit has removed it, or it is a column
        return sources
    if len(owner) == 1 and len(before) > 1:
        return edited(sources, Edit(tuple(before), REMOVED))
    if isinstance(key, int):
        return without_item(sources, edit.route)
    return put(sources, before, {name: value for name, value in owner.items() if name != key})


def renamed(data: Any, old: str, new: str) -> Any:
    """The data with another name in place of all keys and values that are the old one."""
    if isinstance(data, Mapping):
        return {new if key == old else key: renamed(value, old, new) for key, value in data.items()}
    if isinstance(data, list):
        return [renamed(item, old, new) for item in data]
    return new if data == old else data


# The causes of a field: a change gives it another value or, if none does, removes it.


def caused(before: Objects, variants: Sequence[Variant], path: Path) -> list[Edit]:
    """The edits that give a field another value; if none does, those that remove it, and the least with it."""
    changing: list[Edit] = []
    removing: dict[int, list[Edit]] = {}
    for edit, objects in variants:
        there = follow(before, objects, path)
        if len(there) < len(path):
            removing.setdefault(max(len(there), 1), []).append(edit)
        elif len(path) > 2 and get(objects, *there) != get(before, *path):
            changing.append(edit)
    if not changing and len(path) == 2:
        changing = removing.get(1, [])
    elif not changing and max(removing, default=1) > 1:  # what removes a whole object does not cause its fields
        changing = removing[max(removing)]
        if all(edit.route[-1] in ("scheduler", "target", "workload") for edit in changing):
            changing = []  # objects for another scheduler have other fields
    edits = {edit.route: edit for edit in reversed(changing)}
    outer = {route[:length] for route in edits for length in range(len(route))}
    return [edit for route, edit in edits.items() if route not in outer]


# The same place in another version of the objects.


def kind_of(manifest: Manifest) -> str:
    """The kind with its API group."""
    return f"{manifest['kind']}.{api_group(manifest)}"


def follow(before: Any, after: Any, path: Path) -> Path:
    """The path in another version of a value, or the part that exists there. Entries of lists may have moved."""
    there: list[str | int] = []
    for step in path:
        if isinstance(before, list) and isinstance(after, list) and isinstance(step, int):
            key: str | int | None = index(after, before, step)
        else:
            key = step if isinstance(after, Mapping) and step in after else None
        if key is None:
            break
        there.append(key)
        before, after = get(before, step), after[key]
    return tuple(there)


def index(after: list[Any], before: list[Any], number: int) -> int | None:
    """The index of an entry of `before` in a changed list: by its name or its value, else by its place among others."""
    names = [[text(item, "name") or text(item, "metadata", "name") for item in items] for items in (before, after)]
    named = all(all(some) and len({*some}) == len(some) for some in names)
    old, new = names if named else (before, after)
    if number < len(new) and new[number] == old[number]:
        return number
    if old[number] in new:
        return new.index(old[number])
    lost = [place for place, item in enumerate(old) if item not in new]
    added = [place for place, item in enumerate(new) if item not in old]
    return added[lost.index(number)] if len(lost) == len(added) else None
