"""What makes a field of a manifest: bayplan changes one value of the sources, compiles again, and compares.

A value is a cause of a field if one of these changes gives the field another value. No table says which stage reads
what, so the answer follows the code. bayplan does not prove the fit of changed sources: no manifest depends on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from bayplan import pipeline
from bayplan.core.diagnostics import AT, Route
from bayplan.core.package_data import json_schema, resolved
from bayplan.kube.objects import get, put, without_item
from bayplan.manifests.order import expanded
from bayplan.model.manifest import Manifest
from bayplan.model.target import KNOWN
from bayplan.pipeline import CheckedTopology, Request
from bayplan.planning.selection import Given
from bayplan.text.document import Document
from bayplan.workflows import matrix

Path = tuple[str | int, ...]
Key = tuple[str, str, str, str]
Objects = Mapping[Key, Manifest]

REMOVED: Any = type("Removed", (), {"__repr__": lambda self: "REMOVED"})()
"""In place of a value: the field is missing."""

SCHEMAS = {"workflow": "workflow", "topology": "cluster-topology"}
"""Subject of a route -> its schema."""

FEW_DOMAINS = 50
"""Domains of a topology that bayplan changes one by one."""


class Edit(NamedTuple):
    """One changed value. `route`: its place, whose subject is `workflow`, `topology` or `argument`, or a CSV file."""

    route: Route
    value: Any


class Variant(NamedTuple):
    """The objects that bayplan writes after an edit."""

    edit: Edit
    objects: Objects


class Cause(NamedTuple):
    """A value that the field depends on. `value`: that of the source, or the default of a field that it does not set.

    `edit`: a change that changes the field.
    """

    route: Route
    value: Any
    edit: Edit
    is_default: bool = False


class Sources(NamedTuple):
    """A request in the native format, and the objects that it writes."""

    request: Request
    objects: Objects
    judged: CheckedTopology


def sources(request: Request) -> Sources:
    """The sources to change. Without effect on the objects, most domains of a large topology are left out."""
    small = _with_few_domains(request)
    for each in (small, request) if small else (request,):
        judged = pipeline.check_topology(each.topology)
        objects = written(each, judged)
        if objects is not None and (each is request or objects == written(request)):
            return Sources(each, objects, judged)
    raise AssertionError("the request compiles")


def written(request: Request, judged: CheckedTopology | None = None) -> Objects | None:
    """The objects by API group, kind, namespace and name; None if the sources have errors."""
    outcome, _ = pipeline.compile(request._replace(judged=judged, prove=False))
    return None if outcome.value is None else {_key(each): each for each in expanded(outcome.value.documents)}


def _key(data: Manifest) -> Key:
    metadata = data["metadata"]
    return data["apiVersion"].rpartition("/")[0], data["kind"], metadata.get("namespace", ""), metadata["name"]


def _with_few_domains(request: Request) -> Request | None:
    """The request with one domain in each pool of the topology; None if it has few."""
    data = request.topology.data
    pools = data["spec"].get("pools", ())
    if sum(len(each.get("domains", ())) for each in pools) <= FEW_DOMAINS:
        return None
    kept = [
        {**{key: value for key, value in each.items() if key != "unusable"}, "domains": each.get("domains", [])[:1]}
        for each in pools
    ]
    return request._replace(topology=request.topology._replace(data=put(data, ("spec", "pools"), kept)))


# The causes of a field: a change gives it another value or, if none does, removes it.


def value_at(objects: Objects, key: Key, path: Path, base: Objects) -> tuple[Any, int]:
    """The value of a field after a change, REMOVED without it, and how much of its path is still there.

    An object that has another name is the one at the same place among those of its kind.
    """
    twin = _twin(objects, key, base)
    if twin is None:
        return REMOVED, 0
    found = follow(base[key], objects[twin], path)
    if len(found) < len(path):
        return REMOVED, 1 + len(found)
    return get(objects[twin], *found), 1 + len(path)


def follow(before: Any, after: Any, path: Path) -> Path:
    """The path in another version of an object, or the part that exists there. Entries of lists may have moved."""
    found: list[str | int] = []
    for step in path:
        if isinstance(step, int) and isinstance(after, list) and isinstance(before, list):
            index = _index(after, before, step)
            if index is None:
                break
            found.append(index)
            after = after[index]
        elif isinstance(after, Mapping) and step in after:
            found.append(step)
            after = after[step]
        else:
            break
        before = get(before, step)
    return tuple(found)


def within(data: Any, path: Path = (), *, leaves: bool = True) -> Iterator[Path]:
    """The paths of all values below a path; with `leaves`, only of those that contain no others."""
    for below, value in _nodes(get(data, *path), path or ("",)):
        whole = below if path else below[1:]
        if not leaves or not (isinstance(value, Mapping | list | tuple) and value):
            yield whole


def _twin(objects: Objects, key: Key, base: Objects) -> Key | None:
    if key in objects:
        return key
    ours, theirs = ([each for each in some if each[:2] == key[:2]] for some in (base, objects))
    lost, new = [each for each in ours if each not in objects], [each for each in theirs if each not in base]
    return new[lost.index(key)] if len(lost) == len(new) else None


def _index(entries: list[Any], before: list[Any], number: int) -> int | None:
    """The index of an entry of `before` in a changed list: by its name or its value, else by its place among others."""
    names = [[get(each, "name") for each in some] for some in (before, entries)]
    named = all(None not in some and len({*some}) == len(some) for some in names)
    old, new = names if named else (before, entries)
    if number < len(new) and new[number] == old[number]:
        return number
    if old[number] in new:
        return new.index(old[number])
    lost = [n for n, each in enumerate(old) if each not in new]
    found = [n for n, each in enumerate(new) if each not in old]
    return found[lost.index(number)] if len(lost) == len(found) else None


def causes(base: Sources, variants: Iterable[Variant], key: Key, path: Path = ()) -> tuple[Cause, ...]:
    """The values that a field of an object depends on; without a path, those that the existence of the object does.

    Values that change the field are causes. If there is none, those whose removal removes the least with it are.
    """
    now = get(base.objects[key], *path)
    changing: list[Variant] = []
    removing: dict[int, list[Variant]] = {}
    for each in variants:
        then, depth = value_at(each.objects, key, path, base.objects)
        if then is REMOVED:
            removing.setdefault(depth, []).append(each)
        elif path and then != now:
            changing.append(each)
    deepest = removing[max(removing)] if removing and (not path or max(removing)) else []
    if path and not changing and all(_chooses_scheduler(each.edit.route) for each in deepest):
        return ()  # another scheduler has other objects
    found = {each.edit.route: each.edit for each in reversed(changing or deepest)}
    inner = [route for route in found if not any(other != route and other[: len(route)] == route for other in found)]
    return tuple(_cause(base, found[route]) for route in sorted(inner, key=_order))


def possible_causes(base: Sources, variants: Iterable[Variant], value: Any) -> tuple[Cause, ...]:
    """The scalars of the sources that have the value of a field, and that no change gives another valid value."""
    changed = {each.edit.route for each in variants if each.edit.value is not REMOVED}
    same = (
        Edit((subject, *path), value)
        for subject in SCHEMAS
        for path, each in _nodes(_document(base.request, (subject,)).data)
        if type(each) is type(value) and each == value
    )
    return tuple(_cause(base, edit) for edit in same if edit.route not in changed)


def _chooses_scheduler(route: Route) -> bool:
    return route[-1] in ("scheduler", "target", "workload") or route[1:3] == ("spec", "versions")


def _order(route: Route) -> tuple[str, ...]:
    """The workflow before the topology before the command line; then by place."""
    subjects = {"workflow": "0", "topology": "2", "argument": "3"}
    return (subjects.get(str(route[0]), "1"), *(f"{each!s:>6}" for each in route[1:]))


def _cause(base: Sources, edit: Edit) -> Cause:
    if edit.route[0] == "argument":
        return Cause(edit.route, _options(base.request)[str(edit.route[1])], edit)
    if AT in edit.route:
        return Cause(edit.route, edit.value, edit)
    data = _document(base.request, edit.route).data
    value = get(data, *edit.route[1:])
    if value is None:
        declared = next((each["default"] for each in _schemas(edit.route) if "default" in each), None)
        return Cause(edit.route, declared, edit, is_default=True)
    return Cause(edit.route, value, edit)


# The changes: of each value in the sources, and of fields that they do not set.


def variants(base: Sources) -> tuple[Variant, ...]:
    """The objects after each change of a value in the sources or of an option."""
    known = names(base.request)
    found: list[Variant] = []
    for subject in SCHEMAS:
        data = _document(base.request, (subject,)).data
        for path, value in _nodes(data):
            found += of_node(base, (subject, *path), value, known)
    found += _columns(base)
    for option in _options(base.request):
        tried = (_tried(base, Edit(("argument", option), value)) for value in _option_values(base.request, option))
        found += [each for each in tried if each]
    return tuple(found)


def _columns(base: Sources) -> Iterator[Variant]:
    """The objects after a change of a column in the CSV file of a matrix. The value of the edit is its name."""
    workflow = base.request.workflow
    for subject, table in {**base.request.beside, **workflow.beside}.items():
        head, *rows = matrix.cells(table.text) if subject.startswith(matrix.subject("")) else [[]]
        for column, cell in enumerate(head):
            cells = ([f"{each.text}x" if n == column else each.text for n, each in enumerate(row)] for row in rows)
            lines = ([each.text for each in head], *cells)
            text = "".join(
                ",".join(f'"{each.replace(chr(34), chr(34) * 2)}"' for each in line) + "\n" for line in lines
            )
            beside = {**workflow.beside, subject: table._replace(text=text)}
            changed = written(base.request._replace(workflow=workflow._replace(beside=beside)), base.judged)
            made = _made(Edit((subject, AT, *cell[1:]), cell.text), changed)
            yield from (made,) if made else ()


def in_row(base: Sources, cause: Cause, value: Any) -> Cause:
    """The cause of a value; of a column whose only such field has this value, that field."""
    if AT not in cause.route:
        return cause
    table = {**base.request.beside, **base.request.workflow.beside}[str(cause.route[0])]
    head, *rows = matrix.cells(table.text)
    column = [each.text for each in head].index(cause.edit.value)
    cells = [row[column] for row in rows]
    same = [each for each in cells if each.text == value]
    if len(same) != 1:
        return cause._replace(value=[each.text for each in cells])
    return cause._replace(route=(cause.route[0], AT, *same[0][1:]), value=value)


def default_variants(base: Sources) -> tuple[Variant, ...]:
    """The objects after each change of a field that the sources do not set."""
    tried = (
        _tried(base, Edit((subject, *path, name), value))
        for subject in SCHEMAS
        for path, node in (
            ((), _document(base.request, (subject,)).data),
            *_nodes(_document(base.request, (subject,)).data),
        )
        if isinstance(node, Mapping)
        for name, value in _unset(subject, path, node)
    )
    return tuple(each for each in tried if each)


def _document(request: Request, route: Route) -> Document:
    return request.workflow if route[0] == "workflow" else request.topology


def _nodes(data: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value below the data with its path, but not the type of the document."""
    pairs = data.items() if isinstance(data, Mapping) else enumerate(data) if isinstance(data, list | tuple) else ()
    for key, value in pairs:
        if path or key not in ("apiVersion", "kind"):
            yield (*path, key), value
            yield from _nodes(value, (*path, key))


def of_node(base: Sources, route: Route, value: Any, names: Sequence[str]) -> Iterator[Variant]:
    """The results of changing a scalar, and of removing any value."""
    if not isinstance(value, Mapping | list | tuple):
        found = _first(base, route, _alternatives(route, value))
        if not found and isinstance(value, str):
            found = _first(base, route, (each for each in names if each != value))
        if not found and route[-1] == "name":
            found = [*filter(None, (_renamed(base, route, str(value)),))]
        yield from found
    removed = _tried(base, Edit(route, REMOVED))
    yield from (removed,) if removed else ()


def _first(base: Sources, route: Route, values: Iterable[Any]) -> list[Variant]:
    """The results of the first values that are valid."""
    return [*islice((made for each in values if (made := _tried(base, Edit(route, each)))), _MOST)]


_MOST = 6
"""The most results for one value."""


def _tried(base: Sources, edit: Edit) -> Variant | None:
    """The objects after a change; None if the changed sources have errors."""
    request, judged = base.request, base.judged
    if edit.route[0] == "argument":
        return _made(edit, written(_with_option(request, str(edit.route[1]), edit.value), judged))
    document = _document(request, edit.route)
    try:
        changed = document._replace(data=_edited(document.data, edit.route[1:], edit.value))
    except (KeyError, TypeError):
        return None
    if edit.route[0] == "workflow":
        return _made(edit, written(request._replace(workflow=changed), judged))
    return _made(edit, written(request._replace(topology=changed)))


def _made(edit: Edit, objects: Objects | None) -> Variant | None:
    return None if objects is None else Variant(edit, objects)


def _renamed(base: Sources, route: Route, name: str) -> Variant | None:
    """The objects if a name and everything with the same value have another name."""
    request = base.request
    document = _document(request, route)
    changed = document._replace(data=_replaced(document.data, name, f"{name}x"))
    if route[0] == "workflow":
        return _made(Edit(route, f"{name}x"), written(request._replace(workflow=changed), base.judged))
    workflow = request.workflow._replace(data=_replaced(request.workflow.data, name, f"{name}x"))
    return _made(Edit(route, f"{name}x"), written(request._replace(workflow=workflow, topology=changed)))


def _replaced(data: Any, old: str, new: str) -> Any:
    if isinstance(data, Mapping):
        return {new if key == old else key: _replaced(value, old, new) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_replaced(each, old, new) for each in data]
    return new if data == old else data


def _edited(data: Any, path: Path, value: Any) -> Any:
    """The data with another value. An empty mapping or list that a removal leaves is removed too."""
    if value is not REMOVED:
        return put(data, path, value)
    owner = get(data, *path[:-1])
    if len(owner) == 1 and len(path) > 1:
        return _edited(data, path[:-1], REMOVED)
    if isinstance(path[-1], int):
        return without_item(data, path)
    return put(data, path[:-1], {key: each for key, each in owner.items() if key != path[-1]})


def _alternatives(route: Route, value: Any) -> Iterator[Any]:
    """Other values of the same type: near ones, those that the schema declares, and other releases."""
    declared = [each for schema in _schemas(route) for key in ("enum", "examples") for each in schema.get(key, ())]
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (value + 1, value - 1, value * 2, value + 2, value + 3, value + 7)
    elif isinstance(value, str):
        others: list[Any] = [each for each in declared if isinstance(each, str)]
        number = re.match(r"\d+", value)
        if number:
            others = [f"{int(number[0]) + step}{value[number.end() :]}" for step in (1, -1)] + others
        if route[1:3] == ("spec", "versions"):
            others = [*reversed(KNOWN.get(str(route[-1]), ()))]
        yield from dict.fromkeys(each for each in (f"{value}x", f"x{value}", *others) if each != value)


def names(request: Request) -> tuple[str, ...]:
    """The names that a field may refer to: levels, pools, queues, podSets and others."""
    found: dict[str, None] = {}
    for document in (request.topology, request.workflow):
        for path, value in _nodes(document.data):
            if isinstance(value, str) and (path[-1] == "name" or "queues" in path):
                found[value] = None
            elif isinstance(value, Mapping) and path[-2:-1] in (("accelerators",), ("fabrics",), ("namespaces",)):
                found[str(path[-1])] = None
    return tuple(found)


def _unset(subject: str, path: Path, node: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The scalar fields that a mapping does not set, with values to try."""
    for schema in _schemas((subject, *path)):
        for name in schema.get("properties", {}):
            if name in node:
                continue
            for each in _schemas((subject, *path, name)):
                default = each.get("default")
                values = [*each.get("enum", ()), *each.get("examples", ())]
                values += [True] if each.get("type") == "boolean" else []
                values += [1, 2, 3] if each.get("type") == "integer" else []
                scalars = (value for value in values if isinstance(value, str | int | float) and value != default)
                yield from ((name, value) for value in dict.fromkeys(scalars))


# Options of the command line, which are sources too.

OPTIONS = ("namespace", "scheduler", "queue", "priority", "workload", "target")


def _options(request: Request) -> dict[str, Any]:
    """The options of a request with their values."""
    values = (request.namespace, request.scheduler, *request.given, dict(request.target))
    return {name: value for name, value in zip(OPTIONS, values, strict=True) if value}


def _option_values(request: Request, option: str) -> Iterator[Any]:
    if option == "target":
        yield from ({**request.target, name: each} for name in request.target for each in KNOWN.get(name, ()))
    else:
        yield from (f"{_options(request)[option]}x", *(names(request) if option == "queue" else ()), "")


def _with_option(request: Request, option: str, value: Any) -> Request:
    if option in Given._fields:
        return request._replace(given=request.given._replace(**{option: value}))
    return request._replace(**{option: value})


# The part of a JSON Schema that describes a value.


def _schemas(route: Route) -> Iterator[Mapping[str, Any]]:
    root = json_schema(SCHEMAS[str(route[0])])
    yield from _below(root, root, route[1:])


def _below(schema: Mapping[str, Any], root: Mapping[str, Any], path: Path) -> Iterator[Mapping[str, Any]]:
    """The schemas of a path: one for each alternative that may describe it."""
    _, schema = resolved(schema, root)
    for word in ("oneOf", "anyOf", "allOf"):
        for each in schema.get(word, ()):
            yield from _below(each, root, path)
    if not path:
        yield schema
        return
    key, rest_of_path = path[0], path[1:]
    inner: Any = schema.get("items") if isinstance(key, int) else schema.get("properties", {}).get(key)
    patterns = schema.get("patternProperties", {}).values()
    for each in (inner,) if inner else () if isinstance(key, int) else (*patterns, schema.get("additionalProperties")):
        if isinstance(each, Mapping):
            yield from _below(each, root, rest_of_path)
