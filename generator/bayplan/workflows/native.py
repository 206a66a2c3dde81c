"""The native Workflow format. Reading assumes that the schema accepted the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan import schemas
from bayplan.core.diagnostics import Diagnostic, Outcome, Route, error, has_errors, origin
from bayplan.kube.pod import MERGE_KEYS
from bayplan.model.encoding import decode, encode
from bayplan.model.formats import Context, Read
from bayplan.model.workflow import GANGS, Gang, Workflow

NAME = "native"
API_VERSION = "bayplan.dev/v1alpha1"
KIND = SCHEMA = "Workflow"

METADATA = ("name", "namespace", "labels", "annotations")
"""Fields of a Workflow in its `metadata`; all others are in `spec`."""

ONLY_POD_SET = "worker"
"""The name of a podSet without siblings and without a name."""

BY_KEY = ("env", "resources", "ports", "volumes", "files", "data")
"""A podSet adds to the defaults of these keys, and replaces their entries as a whole."""

CONTAINERS = ("initContainers", "sidecars")
"""A podSet adds to these lists, and to the BY_KEY of containers of the same name."""


def sniff(data: Any) -> bool:
    """Whether the data has an apiVersion of bayplan. The schema checks the kind."""
    return isinstance(data, dict) and str(data.get("apiVersion", "")).startswith("bayplan.dev/")


def read(data: Any, context: Context = Context()) -> Outcome[Read[Workflow]]:  # noqa: B008
    """The workflow, with `defaults` merged into every podSet. Only names that are missing (W301) and a `matrix` have
    diagnostics: the schema has validated the data."""
    origins: dict[Route, Route] = {}
    spec = data["spec"]
    nameless = tuple(_nameless(spec["gangs"], GANGS, "gangs"))
    if nameless:
        return Outcome(None, nameless)
    route: Route = ("workflow", "spec")
    layers = ((spec["defaults"], (*route, "defaults")),) if spec.get("defaults") else ()
    gangs = _inherit(spec["gangs"], layers, GANGS, origins, data["metadata"]["name"])
    workflow = decode(Workflow, {**data["metadata"], **spec, "gangs": gangs})
    if any("matrix" in gang for gang in gangs):
        expanded = _expanded(workflow, gangs, context)
        return Outcome(expanded.value and Read(expanded.value, origins), expanded.diagnostics)
    return Outcome(Read(workflow, origins))


def _nameless(siblings: Sequence[Any], route: Route, kind: str) -> Iterator[Diagnostic]:
    """W301. Only a gang or podSet without siblings needs no name; the schema requires those of groups."""
    for number, each in enumerate(siblings):
        here = (*route, number)
        if "name" not in each and len(siblings) > 1:
            message = f"one of {len(siblings)} {kind} has no `name`, by which messages and objects tell them apart"
            yield error("W301", here, message, hint="set `name` on each of them")
        yield from _nameless(each.get("groups", ()), (*here, "groups"), "groups")
        yield from _nameless(each.get("podSets", ()), (*here, "podSets"), "podSets")


def _expanded(workflow: Workflow, gangs: Sequence[Any], context: Context) -> Outcome[Workflow]:
    """The workflow with the variables of each copy."""
    from bayplan.workflows import matrix

    found: list[Diagnostic] = []
    made: list[Gang] = []
    for number, (data, gang) in enumerate(zip(gangs, workflow.gangs, strict=True)):
        if "matrix" in data:
            rows = matrix.rows(data, (*GANGS, number), context.beside)
            found += rows.diagnostics
            gang = gang._replace(rows=rows.value or (), replicas=len(rows.value or ()))
        made.append(gang)
    return Outcome(None if has_errors(found) else workflow._replace(gangs=tuple(made)), tuple(found))


def finish(
    data: Any, origins: Mapping[Route, Route], reported: Sequence[Diagnostic], whole: Route, *, parallel: bool = False
) -> Outcome[Read[Workflow]]:
    """The workflow in native data that come from another format, with the diagnostics `reported` so far.

    Errors of the native schema get the place in `origins`, or `whole`. `parallel`: below the places in `origins`, the
    routes of both formats continue in the same way.
    """

    def source(route: Route) -> Route:
        listed = origin(route, origins)
        return (*listed[0], *(listed[1] if parallel else ())) if listed else whole

    invalid = (each._replace(route=source(each.route)) for each in schemas.validate(KIND, data, "workflow"))
    reported = (*reported, *invalid)
    workflow = None if has_errors(reported) else read(data).value
    return Outcome(workflow and Read(workflow.value, {**workflow.origins, **origins}), reported)


def document(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    """The native document with these parts."""
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": spec}


def write(workflow: Workflow) -> dict[str, Any]:
    """The native document; `read(write(w))` gives w."""
    spec = encode(workflow)
    for gang in spec.get("gangs", ()):
        if "matrix" in gang:
            gang.pop("replicas", None)
    metadata = {key: spec.pop(key) for key in METADATA if key in spec}
    return document(metadata, spec)


Layer = tuple[Mapping[str, Any], Route]
"""Defaults, and their place."""


def _inherit(
    owners: list[Any], above: tuple[Layer, ...], route: Route, origins: dict[Route, Route], only: str = ""
) -> list[Any]:
    """Gangs or groups with inherited values in their podSets. `above`: the nearest defaults first. `only`: the name of
    one without a name."""
    completed = []
    for index, owner in enumerate(owners):
        here: Route = (*route, index)
        own = {"name": only, **owner}
        layers = ((own.pop("defaults"), (*here, "defaults")), *above) if "defaults" in own else above
        if "groups" in owner:
            own["groups"] = _inherit(owner["groups"], layers, (*here, "groups"), origins)
        if "podSets" in owner:
            own["podSets"] = [
                _completed({"name": ONLY_POD_SET, **each}, layers, (*here, "podSets", number), origins)
                for number, each in enumerate(owner["podSets"])
            ]
        completed.append(own)
    return completed


def _completed(own: Any, layers: tuple[Layer, ...], route: Route, origins: dict[Route, Route]) -> Any:
    """A podSet with the fields that it inherits."""
    found: dict[Route, Route] = {}
    for inherited, source in layers:
        own = _fields(own, inherited, route, source, found)
    origins.update(found)
    return own


def _fields(own: Any, inherited: Any, route: Route, source: Route, origins: dict[Route, Route]) -> dict[str, Any]:
    """A podSet or container with the fields that it inherits. They come first, so that own variables may refer to
    them."""
    result = {}
    for key, value in inherited.items():
        here, there = (*route, key), (*source, key)
        if key not in own:
            origins[here] = there
            result[key] = value
        elif key in BY_KEY:
            result[key] = {**value, **own[key]}
            origins.update({(*here, name): (*there, name) for name in value if name not in own[key]})
        elif key in CONTAINERS:
            result[key] = _containers(own[key], value, here, there, origins)
        elif key == "template":
            result[key] = _merge(own[key], value, here, there, origins)
        else:
            result[key] = own[key]
    return {**result, **{key: value for key, value in own.items() if key not in inherited}}


def _containers(
    own: list[Any], inherited: list[Any], route: Route, source: Route, origins: dict[Route, Route]
) -> list[Any]:
    """Inherited containers first. An own container of the same name adds to the inherited one."""
    places = {each["name"]: number for number, each in reversed([*enumerate(own)])}
    pairs: list[tuple[int | None, int | None]] = [
        (places.pop(each["name"], None), n) for n, each in enumerate(inherited)
    ]
    used = {mine for mine, _ in pairs}
    pairs += [(number, None) for number in range(len(own)) if number not in used]
    before = {key: origins.pop(key) for key in [*origins] if key[: len(route)] == route}
    result = []
    for place, (mine, theirs) in enumerate(pairs):
        here: Route = (*route, place)
        if mine is None:
            origins[here] = (*source, theirs or 0)
            result.append(inherited[theirs or 0])
            continue
        was: Route = (*route, mine)
        found, rest = origin(was, before) or (was, ())
        origins[here] = (*found, *rest)
        origins.update({(*here, *key[len(was) :]): value for key, value in before.items() if key[: len(was)] == was})
        mixed = own[mine]
        if theirs is not None:
            mixed = _fields(mixed, inherited[theirs], here, (*source, theirs), origins)
        result.append(mixed)
    return result


def _merge(own: Any, inherited: Any, route: Route, source: Route, origins: dict[Route, Route]) -> Any:
    """A template's mapping with inherited keys."""
    result = {}
    for key, value in inherited.items():
        here, there = (*route, key), (*source, key)
        if key not in own:
            origins[here] = there
            result[key] = value
        elif isinstance(value, dict) and isinstance(own[key], dict):
            result[key] = _merge(own[key], value, here, there, origins)
        elif isinstance(value, list) and isinstance(own[key], list) and key in MERGE_KEYS:
            result[key] = _merge_lists(own[key], value, MERGE_KEYS[key])
        else:
            result[key] = own[key]
    return {**result, **{key: value for key, value in own.items() if key not in inherited}}


def _merge_lists(own: list[Any], inherited: list[Any], by: Any) -> list[Any]:
    """Lists of a template, merged by Kubernetes merge keys: an own entry adds to the inherited entry with its name."""
    names = (by,) if isinstance(by, str) else tuple(by)

    def name(entry: Any) -> tuple[Any, ...]:
        return tuple(entry.get(each) for each in names) if isinstance(entry, dict) else (id(entry),)

    named = {name(entry): entry for entry in own}
    kept = [_merge(named.pop(name(entry)), entry, (), (), {}) if name(entry) in named else entry for entry in inherited]
    return kept + [entry for entry in own if name(entry) in named]
