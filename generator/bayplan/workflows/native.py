"""The native Workflow format. Reading assumes that the schema accepted the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan.diagnostics import Outcome, Route
from bayplan.kube.merge import MERGE_KEYS
from bayplan.model.formats import Context, Read
from bayplan.model.rows import Short, Table, fields, keys, numbers, ordered, text, texts
from bayplan.model.workflow import Accelerator, Attachment, Binary, Gang, Group, Placement, PodSet, Workflow

NAME = "native"
API_VERSION = "bayplan.dev/v1alpha1"
KIND = SCHEMA = "Workflow"

MERGED = ("env", "resources", "ports", "files", "template")
"""Of these keys a podSet adds to the defaults; any other key replaces its default."""


def sniff(data: Any) -> bool:
    """Whether the data claims to be one of our documents. Which one, the schema judges."""
    return isinstance(data, dict) and str(data.get("apiVersion", "")).startswith("bayplan.dev/")


def read(data: Any, _context: Context = Context()) -> Outcome[Read[Workflow]]:  # noqa: B008
    """The workflow, with `defaults` merged into every podSet. Never a diagnostic: the schema left nothing to say."""
    origins: dict[Route, Route] = {}
    spec = data["spec"]
    gangs = _inherit(spec["gangs"], spec.get("defaults", {}), ("workflow", "spec", "gangs"), origins)
    workflow = Workflow(**fields(METADATA, data["metadata"]), **fields(SPEC, {**spec, "gangs": gangs}))
    return Outcome(Read(workflow, origins))


def write(workflow: Workflow) -> dict[str, Any]:
    """The native document; `read(write(w))` gives w."""
    given = keys(TABLES, workflow)
    metadata = {key: given[key] for key, _, _ in METADATA if key in given}
    spec = {key: given[key] for key, _, _ in SPEC if key in given}
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": spec}


def _inherit(owners: list[Any], defaults: Any, route: Route, origins: dict[Route, Route]) -> list[Any]:
    """Gangs or groups whose podSets hold what they inherit."""
    return [_complete(owner, defaults, (*route, index), origins) for index, owner in enumerate(owners)]


def _complete(owner: Any, defaults: Any, route: Route, origins: dict[Route, Route]) -> Any:
    changed = dict(owner)
    if "groups" in owner:
        changed["groups"] = _inherit(owner["groups"], defaults, (*route, "groups"), origins)
    if "podSets" in owner and defaults:
        changed["podSets"] = [
            _merge(own, defaults, (*route, "podSets", index), ("workflow", "spec", "defaults"), origins, MERGED)
            for index, own in enumerate(owner["podSets"])
        ]
    return changed


def _merge(
    own: Any, inherited: Any, route: Route, source: Route, origins: dict[Route, Route], merged: tuple[str, ...] = ()
) -> Any:
    """Inherited keys first, so that own variables may refer to inherited ones. Without `merged` all keys merge."""
    result = {}
    for key, value in inherited.items():
        here, there = (*route, key), (*source, key)
        if key not in own:
            origins[here] = there
            result[key] = value
        elif isinstance(value, dict) and isinstance(own[key], dict) and (key in merged or not merged):
            result[key] = _merge(own[key], value, here, there, origins)
        elif isinstance(value, list) and isinstance(own[key], list) and key in MERGE_KEYS and not merged:
            result[key] = _merge_lists(own[key], value, MERGE_KEYS[key])
        else:
            result[key] = own[key]
    return {**result, **{key: value for key, value in own.items() if key not in inherited}}


def _merge_lists(own: list[Any], inherited: list[Any], by: Any) -> list[Any]:
    """Lists of a template by Kubernetes' merge keys: an own entry adds to the inherited one of its name."""
    names = (by,) if isinstance(by, str) else tuple(by)

    def name(entry: Any) -> tuple[Any, ...]:
        return tuple(entry.get(each) for each in names) if isinstance(entry, dict) else (id(entry),)

    mine = {name(entry): entry for entry in own}
    kept = [_merge(mine.pop(name(entry)), entry, (), (), {}) if name(entry) in mine else entry for entry in inherited]
    return kept + [entry for entry in own if name(entry) in mine]


def _placement(data: Mapping[str, str]) -> Placement:
    return Placement(**data)


def _accelerator(data: Mapping[str, Any]) -> Accelerator:
    return Accelerator(**fields(ACCELERATOR, data))


def _attachment(data: str | Mapping[str, Any]) -> Attachment:
    return Attachment(data) if isinstance(data, str) else Attachment(**fields(ATTACHMENT, data))


def _rail_numbers(data: list[Any]) -> tuple[int, ...]:
    return tuple(int(each) for each in data)


def _files(data: Mapping[str, Any]) -> dict[str, str | Binary]:
    """Base64 may be broken into lines; Kubernetes takes it in one."""
    return {
        path: held if isinstance(held, str) else Binary("".join(held["base64"].split()))
        for path, held in sorted(data.items())
    }


def _pod_sets(data: list[Any]) -> tuple[PodSet, ...]:
    return tuple(PodSet(**fields(POD_SET, each)) for each in data)


def _groups(data: list[Any]) -> tuple[Group, ...]:
    return tuple(Group(**fields(GROUP, each)) for each in data)


def _gangs(data: list[Any]) -> tuple[Gang, ...]:
    return tuple(Gang(**fields(GANG, each)) for each in data)


ACCELERATOR: Table = (
    ("name", "name", str),
    ("count", "per_pod", int),
    ("node", "node", str),
    ("cards", "cards", str),
    ("links", "links", str),
    ("memory", "memory", text),
    ("cores", "cores", text),
    ("profile", "profile", str),
    ("selectors", "selectors", tuple),
    ("allocator", "allocator", str),
    ("appClass", "app_class", str),
    ("qos", "qos", str),
)
ATTACHMENT = Short(
    (
        ("name", "name", str),
        ("rails", "rails", _rail_numbers),
        ("bootstrap", "bootstrap", str),
        ("address", "address", str),
    )
)
PLACEMENT: Table = (("required", "required", str), ("preferred", "preferred", str))
POD_SET: Table = (
    ("name", "name", str),
    ("replicas", "replicas", int),
    ("minReplicas", "min_replicas", int),
    ("pool", "pool", str),
    ("accelerator", "accelerator", _accelerator),
    ("resources", "resources", texts),
    ("wholeNode", "whole_node", bool),
    ("numa", "numa", str),
    ("fabric", "fabric", _attachment),
    ("image", "image", str),
    ("command", "command", tuple),
    ("args", "args", tuple),
    ("env", "env", texts),
    ("ports", "ports", numbers),
    ("shm", "shm", text),
    ("files", "files", _files),
    ("restartPolicy", "restart_policy", str),
    ("template", "template", ordered),
)
GROUP: Table = (
    ("name", "name", str),
    ("replicas", "replicas", int),
    ("size", "size", int),
    ("minReplicas", "min_replicas", int),
    ("separate", "separate", str),
    ("placement", "placement", _placement),
    ("computeDomain", "compute_domain", str),
    ("pool", "pool", str),
    ("groups", "groups", _groups),
    ("podSets", "pod_sets", _pod_sets),
)
GANG: Table = (
    ("name", "name", str),
    ("dependsOn", "depends_on", tuple),
    ("placement", "placement", _placement),
    ("workload", "workload", str),
    ("replicas", "replicas", int),
    ("rendezvous", "rendezvous", str),
    ("lead", "lead", str),
    ("hosts", "hosts", ordered),
    ("maxRestarts", "max_restarts", int),
    ("activeDeadlineSeconds", "active_deadline_seconds", int),
    ("ttlSecondsAfterFinished", "ttl_seconds_after_finished", int),
    ("preemptible", "preemptible", bool),
    ("computeDomain", "compute_domain", str),
    ("pool", "pool", str),
    ("backends", "backends", ordered),
    ("groups", "groups", _groups),
    ("podSets", "pod_sets", _pod_sets),
)
METADATA: Table = (
    ("name", "name", str),
    ("namespace", "namespace", str),
    ("labels", "labels", ordered),
    ("annotations", "annotations", ordered),
)
SPEC: Table = (
    ("scheduler", "scheduler", str),
    ("queue", "queue", str),
    ("priorityClassName", "priority_class", str),
    ("pool", "pool", str),
    ("cleanup", "cleanup", str),
    ("gangs", "gangs", _gangs),
)
BINARY: Table = (("base64", "base64", str),)
TABLES: Mapping[type, Table] = {
    Workflow: METADATA + SPEC,
    Gang: GANG,
    Group: GROUP,
    PodSet: POD_SET,
    Accelerator: ACCELERATOR,
    Placement: PLACEMENT,
    Binary: BINARY,
    Attachment: ATTACHMENT,
}
