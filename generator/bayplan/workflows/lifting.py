"""Move parts of an imported `template` into the fields of the podSet that mean exactly the same.

What a podSet has no field for stays in the template: a second mount of an empty folder, /dev/shm, named containers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bayplan import schemas
from bayplan.core.diagnostics import Route, origin
from bayplan.kube.objects import items, mapping, text
from bayplan.kube.pod import PROBES

MOUNT = ("name", "mountPath", "subPath", "readOnly")


class Moved(NamedTuple):
    """A value, its place in the podSet, and the place in the podSet where it was."""

    value: Any
    route: Route
    source: Route


def lifted(data: Mapping[str, Any]) -> tuple[dict[str, Any], dict[Route, Route]]:
    """A native podSet with such fields, and for each of them the route that it had in the podSet.

    A container without a name, or with the podSet's, is the main one.
    """
    name = data.get("name", "")
    spec = dict(mapping(data, "template", "spec"))
    listed = items(spec, "containers")
    number = next((n for n, each in enumerate(listed) if each.get("name", name) == name), None)
    main = dict(listed[number]) if number is not None else {}
    at: Route = ("template", "spec", "containers", number or 0)
    result = dict(data)
    routes: dict[Route, Route] = {}
    for move in (*_of_spec(spec), *_of_main(main, at, data), *_volumes(spec, main, at, data)):
        *above, key = move.route
        holder = mapping(result, *above) if above else result
        if key not in holder and _accepted(move):
            if above:
                result[str(above[0])] = {**holder, key: move.value}
            else:
                result[str(key)] = move.value
            routes[move.route] = move.source
    _remove(spec, main, routes, at)
    if number is not None:
        rest = [*listed[:number], *([main] if set(main) - {"name"} or len(listed) > 1 else []), *listed[number + 1 :]]
        spec["containers"] = rest
    left = {key: value for key, value in spec.items() if value not in ([], {})}
    template = {**mapping(data, "template"), "spec": left}
    template = {key: value for key, value in template.items() if value}
    without = {key: value for key, value in result.items() if key != "template"}
    return {**without, **({"template": template} if template else {})}, routes


def with_origins(origins: Mapping[Route, Route], routes: Mapping[Route, Route]) -> dict[Route, Route]:
    """The origins of a podSet's parts, with those of the fields that moved."""
    found = {new: origin(old, origins) for new, old in routes.items()}
    return {**origins, **{new: place for new, (place, _) in ((n, f) for n, f in found.items() if f)}}


def _accepted(move: Moved) -> bool:
    """Whether the schema accepts the value as this field."""
    *above, key = move.route
    field = {above[0]: {key: move.value}} if above else {key: move.value}
    pods = {"name": "a", **field}
    document = {"apiVersion": "bayplan.dev/v1alpha1", "kind": "Workflow", "metadata": {"name": "a"}}
    return schemas.accepts("Workflow", {**document, "spec": {"gangs": [{"name": "a", "podSets": [pods]}]}})


def _of_spec(spec: Mapping[str, Any]) -> Iterator[Moved]:
    at: Route = ("template", "spec")
    for key, own in (
        ("serviceAccountName", "serviceAccount"),
        ("terminationGracePeriodSeconds", "terminationGracePeriodSeconds"),
    ):
        if key in spec:
            yield Moved(spec[key], (own,), (*at, key))
    secrets = items(spec, "imagePullSecrets")
    if secrets and all(set(each) == {"name"} for each in secrets):
        yield Moved([each["name"] for each in secrets], ("imagePullSecrets",), (*at, "imagePullSecrets"))


def _of_main(main: Mapping[str, Any], at: Route, data: Mapping[str, Any]) -> Iterator[Moved]:
    for key in ("workingDir", *PROBES):
        if key in main:
            yield Moved(main[key], (key,), (*at, key))
    sources = [_source(each) for each in items(main, "envFrom")]
    if sources and all(sources):
        yield Moved(sources, ("envFrom",), (*at, "envFrom"))
    for number, each in enumerate(items(main, "env")):
        if (value := _variable(each)) is not None and text(each, "name"):
            yield Moved(value, ("env", each["name"]), (*at, "env", number))


def _source(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of `envFrom`; empty if it has more than a podSet's has."""
    for key, own in (("secretRef", "secret"), ("configMapRef", "configMap")):
        named = mapping(entry, key)
        if named.get("name") and set(entry) <= {key, "prefix"} and set(named) <= {"name", "optional"}:
            own_fields = {own: named["name"], "prefix": entry.get("prefix"), "optional": named.get("optional")}
            return {key: value for key, value in own_fields.items() if value}
    return {}


def _variable(entry: Mapping[str, Any]) -> Any:
    """The value of a variable as a podSet has it; None if it has no such form."""
    if set(entry) == {"name", "value"}:
        return entry["value"]
    wanted = mapping(entry, "valueFrom")
    if set(entry) != {"name", "valueFrom"} or len(wanted) != 1:
        return None
    ((kind, source),) = wanted.items()
    if kind == "fieldRef" and set(source) == {"fieldPath"}:
        return {"field": source["fieldPath"]}
    if kind == "resourceFieldRef" and set(source) == {"resource"}:
        return {"resource": source["resource"]}
    own = {"secretKeyRef": "secret", "configMapKeyRef": "configMap"}.get(kind)
    if own is None or not {"name", "key"} <= set(source) <= {"name", "key", "optional"}:
        return None
    return {own: source["name"], "key": source["key"], **({"optional": True} if source.get("optional") else {})}


def _volumes(spec: Mapping[str, Any], main: Mapping[str, Any], at: Route, data: Mapping[str, Any]) -> Iterator[Moved]:
    """The mounts of volumes that only the main container has, and that all can move."""
    name = data.get("name", "")
    others = [each for each in items(spec, "containers") if each.get("name", name) != name]
    others += items(spec, "initContainers")
    elsewhere = {text(mount, "name") for each in others for mount in items(each, "volumeMounts")}
    for volume in items(spec, "volumes"):
        called, source = text(volume, "name"), _volume(volume)
        mounts = [(n, each) for n, each in enumerate(items(main, "volumeMounts")) if text(each, "name") == called]
        moves = [
            Moved({**source, **_how(each, source)}, ("volumes", text(each, "mountPath")), (*at, "volumeMounts", n))
            for n, each in mounts
        ]
        if source and moves and called not in elsewhere and all(_possible(each, data) for _, each in mounts):
            paths = [str(each.get("subPath", "")) for _, each in mounts]
            apart = not any(a != b and f"{a}/".startswith(f"{b}/") for a in paths for b in paths)
            alone = len(mounts) == 1 or (apart and len(set(paths)) == len(paths) and source == {"emptyDir": {}})
            if (alone or "emptyDir" not in source) and all(map(_accepted, moves)):
                yield from moves


def _possible(mount: Mapping[str, Any], data: Mapping[str, Any]) -> bool:
    path = text(mount, "mountPath")
    plain = not {"", ".", ".."} & set(path.split("/")[1:]) and ".." not in str(mount.get("subPath", "")).split("/")
    return set(mount) <= set(MOUNT) and plain and path != "/dev/shm" and path not in mapping(data, "files")


def _how(mount: Mapping[str, Any], source: Mapping[str, Any]) -> dict[str, Any]:
    """What the mount says of the volume. An empty folder starts without subfolders, so `subPath` has no effect."""
    keys = ("readOnly",) if source == {"emptyDir": {}} else ("readOnly", "subPath")
    return {key: mount[key] for key in keys if mount.get(key)}


def _volume(volume: Mapping[str, Any]) -> dict[str, Any]:
    """A volume's source as a podSet has it; empty if it has no such form."""
    rest = {key: value for key, value in volume.items() if key != "name"}
    if len(rest) != 1 or not isinstance(source := next(iter(rest.values())), Mapping):
        return {}
    (kind,) = rest
    keys = set(source)
    if kind == "persistentVolumeClaim" and keys == {"claimName"}:
        return {"claim": source["claimName"]}
    if kind == "hostPath" and "path" in keys <= {"path", "type"}:
        return {"hostPath": source["path"], **({"type": source["type"]} if source.get("type") else {})}
    if kind == "emptyDir" and keys <= {"medium", "sizeLimit"}:
        fields = {"medium": source.get("medium"), "size": source.get("sizeLimit")}
        return {"emptyDir": {key: value for key, value in fields.items() if value}}
    if kind == "secret" and keys == {"secretName"}:
        return {"secret": source["secretName"]}
    if kind == "configMap" and keys == {"name"}:
        return {"configMap": source["name"]}
    if kind == "projected" and keys == {"sources"}:
        return {"projected": source["sources"]}
    if kind == "nfs" and keys == {"server", "path"}:
        return {"nfs": dict(source)}
    return {}


def _remove(spec: dict[str, Any], main: dict[str, Any], routes: Mapping[Route, Route], at: Route) -> None:
    """Remove what moved from the spec and from its main container."""
    gone = set(routes.values())
    mounts = (int(route[-1]) for route in gone if route[-2:-1] == ("volumeMounts",))
    used = {text(items(main, "volumeMounts")[number], "name") for number in mounts}
    for key in ("env", "volumeMounts"):
        if key in main:
            main[key] = [each for n, each in enumerate(items(main, key)) if (*at, key, n) not in gone]
    for key in [key for key in main if (*at, key) in gone or main[key] == []]:
        del main[key]
    for key in [key for key in spec if ("template", "spec", key) in gone]:
        del spec[key]
    if used:
        spec["volumes"] = [each for each in items(spec, "volumes") if text(each, "name") not in used]
