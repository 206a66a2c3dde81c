"""The overlay of a role's pods (TorchX 0.8, specs/overlays.py) -> a podSet's template.

TorchX lays it over each replica's pod, whose containers are called `<role>-<number>`; here one template serves all
replicas. Its operators are words in front of keys: PUT replaces, JOIN merges lists by a key, DEL removes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.diagnostics import KEY, Diagnostic, Route, error, info, warning
from bayplan.kube.merge import MERGE_KEYS
from bayplan.values import NamedTuple
from bayplan.workflows.torchx.translate.wishes import PREFIX

SCHEDULER, POD, MARK = "kubernetes", "V1Pod", "__torchx_overlays__"
PUT, JOIN, DEL = "__put__:", "__join__:", "__del__:"
NETWORKS = "k8s.v1.cni.cncf.io/networks"

MADE = frozenset(
    {
        *("metadata", "spec", "labels", "annotations", "containers", "volumes", "volumeMounts", "nodeSelector"),
        *("resources", "requests", "limits", "env", "image", "command", "args", "ports", "restartPolicy"),
    }
)
"""Fields that the pods have already: to replace or remove them takes away what bayplan relies on."""


class Overlay(NamedTuple):
    """What the overlay says of each pod: annotations, labels, fields of its spec, its container, other containers."""

    metadata: Mapping[str, Any] = {}
    spec: Mapping[str, Any] = {}
    main: Mapping[str, Any] = {}
    sidecars: tuple[Mapping[str, Any], ...] = ()
    networks: Any = None
    route: Route = ()  # of the V1Pod


class _Reader(NamedTuple):
    """Whose overlay it is, and what is found on the way."""

    role: str
    replicas: int
    found: list[Diagnostic]


def read(role: Mapping[str, Any], name: str, route: Route) -> tuple[Overlay, tuple[Diagnostic, ...]]:
    """The overlay of a role. W583, W584, W586, W588. `name`: how the role is called as a podSet."""
    found: list[Diagnostic] = list(_others(role.get("metadata") or {}, (*route, "metadata")))
    held = (role.get("metadata") or {}).get(SCHEDULER)
    at: Route = (*route, "metadata", SCHEDULER)
    named = isinstance(held, Mapping) and (POD in held or MARK in held)
    pod, below = (held.get(POD), (*at, POD)) if isinstance(held, Mapping) and named else (held, at)
    if not isinstance(pod, Mapping):
        return Overlay(), (*found, *_no_mapping(pod, below))
    reader = _Reader(str(role["name"]), role.get("num_replicas", 1), found)
    names = {name, reader.role}
    overlay = _pod(_plain(pod, below, reader), below, reader, names)
    return overlay, tuple(found)


def _no_mapping(held: Any, route: Route) -> Iterator[Diagnostic]:
    """W586: TorchX takes the URI of a file for the overlay of a pod as well; W584: it is neither."""
    if isinstance(held, str):
        hint = "put the file's content in the place of its name"
        yield error("W586", route, f'the overlay is in the file "{held}", which bayplan does not open', hint=hint)
    elif held is not None:
        yield error("W584", route, "the overlay is no mapping", hint="give fields of a pod: `metadata` and `spec`")


def _others(metadata: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    """W588: what TorchX keeps for other schedulers."""
    for key in metadata:
        if key != SCHEDULER and not key.startswith(PREFIX):
            message = f'metadata "{key}" says nothing to Kubernetes, and is left out'
            yield info("W588", (*route, key, KEY), message, hint="put labels and annotations under kubernetes.V1Pod")
    held = metadata.get(SCHEDULER)
    for key in held if isinstance(held, Mapping) and (POD in held or MARK in held) else ():
        if key not in (POD, MARK):
            yield info("W588", (*route, SCHEDULER, key, KEY), f'overlay "{key}" is of no pod, and is left out')


def _plain(value: Any, route: Route, reader: _Reader) -> Any:
    """The overlay with its operators resolved, as a patch that merges lists by their keys."""
    if isinstance(value, list):
        return [_plain(each, (*route, number), reader) for number, each in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    made: dict[str, Any] = {}
    for key, below in value.items():
        field, wrong = _field(str(key), below)
        if wrong:
            hint = "say it with a plain key, which adds to what is there"
            reader.found.append(error("W584", (*route, key, KEY), wrong, hint=hint))
        elif field and below is not None:
            made[field] = _plain(below, (*route, key), reader)
    return made


def _field(key: str, value: Any) -> tuple[str, str]:
    """The field that a key means (empty: nothing is left to do), and why it cannot be."""
    if key.startswith(DEL) or (value is None and not key.startswith((PUT, JOIN))):
        field = key.removeprefix(DEL)
        return "", f'"{field}" cannot be removed from pods: bayplan fills it' if field in MADE else ""
    if key.startswith(PUT):
        field = key.removeprefix(PUT)
        return field, f'"{field}" cannot be replaced in pods: bayplan fills it' if field in MADE else ""
    if key.startswith(JOIN):
        field, _, by = key.removeprefix(JOIN).partition(":")
        same = MERGE_KEYS.get(field) == (by,)
        return field, "" if same else f'lists "{field}" do not merge by "{by}" in Kubernetes'
    return key, ""


def _pod(pod: Mapping[str, Any], route: Route, reader: _Reader, names: set[str]) -> Overlay:
    metadata = dict(pod["metadata"]) if isinstance(pod.get("metadata"), Mapping) else {}
    spec = dict(pod["spec"]) if isinstance(pod.get("spec"), Mapping) else {}
    for key in pod:
        if key not in ("metadata", "spec"):
            message = f'"{key}" of an overlay is used by nobody: TorchX takes metadata and spec'
            reader.found.append(info("W588", (*route, key, KEY), message))
    for key in [each for each in metadata if each not in ("labels", "annotations")]:
        message = f'metadata "{key}" of a pod cannot be set: bayplan names pods'
        reader.found.append(error("W584", (*route, "metadata", key), message, hint="remove it"))
    annotations = dict(metadata.get("annotations") or {}) if isinstance(metadata.get("annotations"), Mapping) else {}
    networks = annotations.pop(NETWORKS, None)
    kept = {"labels": metadata.get("labels"), "annotations": annotations}
    main, sidecars = _containers(spec.pop("containers", []), route, reader, names)
    return Overlay({k: v for k, v in kept.items() if v}, spec, main, sidecars, networks, route)


def _containers(
    given: Any, route: Route, reader: _Reader, names: set[str]
) -> tuple[Mapping[str, Any], tuple[Mapping[str, Any], ...]]:
    """The main container's fields, and the containers beside it."""
    main: dict[str, Any] = {}
    beside: list[Mapping[str, Any]] = []
    at: Route = (*route, "spec")
    for each in given if isinstance(given, list) else ():
        if not isinstance(each, Mapping):
            reader.found.append(error("W584", at, "a container of the overlay is no mapping", hint="give its fields"))
            continue
        which = _whose(str(each.get("name", "")), reader, names)
        if "name" not in each:
            main |= each
        elif which is None:
            beside.append(each)
        else:
            reader.found.extend(_one_replica(str(each.get("name")), which, reader, at))
            main |= {key: value for key, value in each.items() if key != "name"}
    return main, tuple(beside)


def _whose(name: str, reader: _Reader, names: set[str]) -> str | None:
    """The replica whose container it is (empty: everyone's); None where it is another container."""
    for own in names:
        if name in (own, f"{own}-${{replica_id}}"):
            return ""
        if found := re.fullmatch(rf"{re.escape(own)}-([0-9]+)", name):
            return found[1]
    return None


def _one_replica(name: str, which: str, reader: _Reader, route: Route) -> Iterator[Diagnostic]:
    """W583: TorchX would do something else; W584: one replica of several."""
    if which and reader.replicas > 1:
        message = f'the overlay changes container "{name}", which is that of replica {which} alone; replicas are alike'
        hint = f"call it {reader.role}-${{replica_id}} to change it in all replicas"
        yield error("W584", route, message, hint=hint)
    elif not which:
        message = f'"{name}" is taken for the container of every replica; TorchX 0.8 itself would add another container'
        yield warning("W583", route, message, hint=f"TorchX calls the containers {reader.role}-0, {reader.role}-1, ...")
