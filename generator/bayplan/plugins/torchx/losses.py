"""The parts of a role that bayplan cannot translate, and its overlay."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bayplan.plugin import (
    BROKEN,
    KEY,
    MERGE_KEYS,
    NETWORKS,
    Diagnostic,
    Route,
    did_you_mean,
    error,
    info,
    listing,
    warning,
)
from bayplan.plugins.torchx.devices import INSTANCE, ROLES, ROOT

# Requests to bayplan in metadata: keys that begin with `bayplan.dev/`, as `dist.ddp --metadata` can set them.
#
# They are in the application's metadata. Keys about pods may also be in a role's metadata, which takes precedence.

PREFIX = "bayplan.dev/"
SPEC = {"scheduler": "scheduler"}
GANG = {"workload": "workload", "placement": "placement", "compute-domain": "computeDomain"}
LEVELS = ("required", "preferred")
"""A placement in two keys, because the command line of TorchX splits values at commas and semicolons."""
POD_SET = {"pool": "pool", "fabric": "fabric"}
WORDS = (*SPEC, *GANG, *LEVELS, *POD_SET)


class MetadataRequests(NamedTuple):
    """Keys of the workflow's spec, of its gang and of its podSets; their places; diagnostics."""

    spec: Mapping[str, Any] = {}
    gang: Mapping[str, Any] = {}
    pods: Mapping[str, Any] = {}
    places: Mapping[str, Route] = {}
    findings: tuple[Diagnostic, ...] = ()


def application_requests(app: Mapping[str, Any]) -> MetadataRequests:
    """The requests of the application. A940: an unknown key, or an invalid value."""
    return _metadata_requests(app.get("metadata") or {}, WORDS, (*ROOT, "metadata"))


def role_requests(role: Mapping[str, Any], route: Route) -> MetadataRequests:
    """The requests of a role."""
    return _metadata_requests(role.get("metadata") or {}, tuple(POD_SET), (*route, "metadata"))


def _metadata_requests(metadata: Mapping[str, Any], words: tuple[str, ...], route: Route) -> MetadataRequests:
    values: dict[str, Any] = {}
    findings: list[Diagnostic] = []
    for key, value in metadata.items():
        if not key.startswith(PREFIX):
            continue
        word = key.removeprefix(PREFIX)
        wrong = tuple(_wrong(word, value, words, (*route, key)))
        findings += wrong
        values |= {} if wrong else {word: _placement(value) if word == "placement" else value}
    levels = {word: values.pop(word) for word in LEVELS if word in values}
    at = {"placement": (*route, f"{PREFIX}{next(iter(levels))}")} if levels and "placement" not in values else {}
    values |= {"placement": {**values.get("placement", {}), **levels}} if levels else {}
    keys = {**SPEC, **GANG, **POD_SET}
    return MetadataRequests(
        {SPEC[word]: value for word, value in values.items() if word in SPEC},
        {GANG[word]: value for word, value in values.items() if word in GANG},
        {POD_SET[word]: value for word, value in values.items() if word in POD_SET},
        {keys[word]: (*route, f"{PREFIX}{word}") for word in values} | at,
        tuple(findings),
    )


def _wrong(word: str, value: Any, words: tuple[str, ...], route: Route) -> Iterator[Diagnostic]:
    if word not in words:
        hint = did_you_mean(word, words) or f"use one of {listing(words)}"
        yield error("A940", (*route, KEY), f'unknown metadata "{PREFIX}{word}"', hint=hint)
    elif not isinstance(value, str):
        yield error("A940", route, f"the value of {PREFIX}{word} must be a string", hint="put it in quotes")
    elif word == "placement" and not _placement(value):
        hint = "write required=spine,preferred=rack, or one of the two"
        yield error("A940", route, f'"{value}" does not name a required or preferred level', hint=hint)


def _placement(text: str) -> dict[str, str]:
    """`required=spine,preferred=rack`, as in annotations. Empty: not a placement."""
    parts = [each.partition("=") for each in text.split(",")]
    levels = {key.strip(): level.strip() for key, _, level in parts}
    sound = len(levels) == len(parts) and set(levels) <= set(LEVELS) and all(levels.values())
    return levels if sound else {}


VOLCANO = re.compile(r"\b(?:VC|TORCHX_MCAD)_[A-Z0-9_]+_HOSTS\b")
"""Variables that only Volcano or MCAD set."""

CARRIED_ARGS = (
    "queue",
    "namespace",
    "service_account",
    "priority_class",
    "image_secret",
    "network",
    "efa_device_count",
)
RESERVED_ARGS = ("reserved_millicpu", "reserved_memmb")
RUN_ARGS = ("validate_spec", "image_repo", "quiet")
"""Arguments of -cfg: translated, used for amounts, and without an effect on pods."""


def application(app: Mapping[str, Any]) -> Iterator[Diagnostic]:
    """W588 for the application's metadata and -cfg, W572 for retries."""
    for key in (each for each in app.get("metadata") or {} if not each.startswith(PREFIX)):
        message = f'bayplan and TorchX ignore metadata "{key}" of the application'
        hint = "set it in the metadata of the roles"
        yield warning("W588", (*ROOT, "metadata", key, KEY), message, hint=hint)
    for key, value in (app.get("scheduler_args") or {}).items():
        if key not in (*CARRIED_ARGS, *RESERVED_ARGS, *RUN_ARGS) and value not in (None, "", False):
            message = f'bayplan ignores the scheduler argument "{key}"'
            hint = f"remove it; bayplan uses only {listing([*CARRIED_ARGS, *RESERVED_ARGS], 'and')}"
            yield warning("W588", (*ROOT, "scheduler_args", key, KEY), message, hint=hint)
    roles: list[Mapping[str, Any]] = app["roles"]
    least = min(role.get("max_retries") or 0 for role in roles)
    for number, role in enumerate(roles):  # a gang restarts as a whole, like APPLICATION of TorchX
        policy, retries = role.get("retry_policy") or "APPLICATION", role.get("max_retries") or 0
        if retries and (policy != "APPLICATION" or retries > least):
            what = f" with policy {policy}" if policy != "APPLICATION" else ""
            here = f"here the whole gang restarts up to {least} times"
            message = f'role "{role["name"]}" restarts up to {retries} times{what}; {here}'
            hint = "set the same max_retries and the policy APPLICATION for all roles"
            yield warning("W572", (*ROLES, number, "max_retries"), message, hint=hint)


def role(role_data: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    """W584, W573, W320, W588 for one role."""
    for key, what in (("base_image", "a base image"), ("workspace", "a workspace"), ("overrides", "overrides")):
        if role_data.get(key):
            message = f'role "{role_data["name"]}" has {what}, which only TorchX can add to the image'
            hint = "build the image first, set it in `image`, and remove the workspace"
            yield warning("W584", (*route, key), message, hint=hint)
    yield from _variables(role_data, route)
    least, most = role_data.get("min_replicas") or 1, role_data.get("num_replicas", 1)
    if least > most:  # a gang cannot wait for more replicas than it has
        message = f'role "{role_data["name"]}" has min_replicas {least} but only {most} replicas; bayplan waits for all'
        yield warning("W588", (*route, "min_replicas"), message, hint="raise num_replicas, or lower min_replicas")
    resource = role_data.get("resource") or {}
    if missing := [name for name in ("cpu", "memMB") if (resource.get(name) or -1) <= 0]:  # rule TX02
        what = listing(missing, "and")
        message = f'role "{role_data["name"]}" does not set {what}: its pods request none, and may run on a full node'
        yield info("W320", (*route, "resource"), message, hint=f"set {what} of the resource")
    for name in resource.get("capabilities") or {}:
        if name != INSTANCE:
            message = f'bayplan and TorchX do not select nodes by capability "{name}"'
            hint = "remove it, and add a nodeSelector to the overlay kubernetes.V1Pod"
            yield warning("W588", (*route, "resource", "capabilities", name, KEY), message, hint=hint)
    for name in resource.get("tags") or {}:
        yield info("W588", (*route, "resource", "tags", name, KEY), f'bayplan ignores tag "{name}" of the resource')


def _variables(role_data: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    """W573 (rule TX01): literal variables of Volcano."""
    texts = [((*route, "args", n), text) for n, text in enumerate(role_data.get("args") or ())]
    texts += [((*route, "env", name), text) for name, text in (role_data.get("env") or {}).items()]
    for at, text in texts:
        if match := re.search(BROKEN, text):
            message = f'shells cannot read the variable "{match[0]}", because it has a hyphen'
            hint = "use ${rank0_env} instead of the variable, and `_` in the role's name"
            yield error("W573", at, message, hint=hint)
        elif match := VOLCANO.search(text):
            message = f'only another scheduler of TorchX sets the variable "{match[0]}"'
            yield error("W573", at, message, hint="use ${rank0_env}, which is the variable with rank 0's host")


# The overlay of a role's pods (TorchX 0.8, specs/overlays.py) -> a podSet's template.
#
# TorchX applies it to each replica's pod, with containers named `<role>-<number>`. Here all replicas share a template.
# Its operators are prefixes of keys: PUT replaces, JOIN merges lists by a key, DEL removes.

SCHEDULER, POD, MARK = "kubernetes", "V1Pod", "__torchx_overlays__"
PUT, JOIN, DEL = "__put__:", "__join__:", "__del__:"

MADE = frozenset(
    {
        *("metadata", "spec", "labels", "annotations", "containers", "volumes", "volumeMounts", "nodeSelector"),
        *("resources", "requests", "limits", "env", "image", "command", "args", "ports", "restartPolicy"),
    }
)
"""Fields that bayplan sets. An overlay must not replace or remove them."""


class Overlay(NamedTuple):
    """The overlay of each pod: annotations, labels, fields of its spec, its container, other containers."""

    metadata: Mapping[str, Any] = {}
    spec: Mapping[str, Any] = {}
    main: Mapping[str, Any] = {}
    sidecars: tuple[Mapping[str, Any], ...] = ()
    networks: Any = None
    route: Route = ()  # of the V1Pod


class _Reader(NamedTuple):
    """The role of an overlay, and the diagnostics so far."""

    role: str
    replicas: int
    findings: list[Diagnostic]


def read(role: Mapping[str, Any], name: str, route: Route) -> tuple[Overlay, tuple[Diagnostic, ...]]:
    """The overlay of a role. W588, W584. `name`: the name of the role's podSet."""
    findings: list[Diagnostic] = list(_others(role.get("metadata") or {}, (*route, "metadata")))
    value = (role.get("metadata") or {}).get(SCHEDULER)
    at: Route = (*route, "metadata", SCHEDULER)
    named = isinstance(value, Mapping) and (POD in value or MARK in value)
    pod, below = (value.get(POD), (*at, POD)) if isinstance(value, Mapping) and named else (value, at)
    if not isinstance(pod, Mapping):
        return Overlay(), (*findings, *_no_mapping(pod, below))
    reader = _Reader(str(role["name"]), role.get("num_replicas", 1), findings)
    names = {name, reader.role}
    overlay = _pod(_plain(pod, below, reader), below, reader, names)
    return overlay, tuple(findings)


def _no_mapping(overlay: Any, route: Route) -> Iterator[Diagnostic]:
    """W584: the overlay is the URI of a file, which TorchX opens, or is not a mapping."""
    if isinstance(overlay, str):
        hint = "replace the name of the file with its content"
        yield error("W584", route, f'the overlay is in the file "{overlay}", which bayplan does not open', hint=hint)
    elif overlay is not None:
        yield error("W584", route, "the overlay is not a mapping", hint="write fields of a pod: `metadata` and `spec`")


def _others(metadata: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    """W588: metadata for other schedulers."""
    for key in metadata:
        if key != SCHEDULER and not key.startswith(PREFIX):
            message = f'bayplan ignores metadata "{key}", which is not for Kubernetes'
            yield info("W588", (*route, key, KEY), message, hint="put labels and annotations under kubernetes.V1Pod")
    overlay = metadata.get(SCHEDULER)
    for key in overlay if isinstance(overlay, Mapping) and (POD in overlay or MARK in overlay) else ():
        if key not in (POD, MARK):
            yield info("W588", (*route, SCHEDULER, key, KEY), f'bayplan ignores overlay "{key}", which is not for pods')


def _plain(value: Any, route: Route, reader: _Reader) -> Any:
    """The overlay with its operators resolved: a patch that merges lists by their keys."""
    if isinstance(value, list):
        return [_plain(each, (*route, number), reader) for number, each in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    resolved: dict[str, Any] = {}
    for key, below in value.items():
        field, wrong = _field(str(key), below)
        if wrong:
            removed = str(key).startswith(DEL) or below is None
            hint = "remove it" if removed else "use a plain key, which adds to the existing value"
            reader.findings.append(error("W584", (*route, key, KEY), wrong, hint=hint))
        elif field and below is not None:
            resolved[field] = _plain(below, (*route, key), reader)
    return resolved


def _field(key: str, value: Any) -> tuple[str, str]:
    """The field of a key (empty: no field), and why the overlay cannot change it."""
    if key.startswith(DEL) or (value is None and not key.startswith((PUT, JOIN))):
        field = key.removeprefix(DEL)
        return "", f'an overlay cannot remove "{field}", which bayplan sets' if field in MADE else ""
    if key.startswith(PUT):
        field = key.removeprefix(PUT)
        return field, f'an overlay cannot replace "{field}", which bayplan sets' if field in MADE else ""
    if key.startswith(JOIN):
        field, _, by = key.removeprefix(JOIN).partition(":")
        same = MERGE_KEYS.get(field) == (by,)
        return field, "" if same else f'Kubernetes does not merge the list "{field}" by "{by}"'
    return key, ""


def _pod(pod: Mapping[str, Any], route: Route, reader: _Reader, names: set[str]) -> Overlay:
    metadata = dict(pod["metadata"]) if isinstance(pod.get("metadata"), Mapping) else {}
    spec = dict(pod["spec"]) if isinstance(pod.get("spec"), Mapping) else {}
    for key in pod:
        if key not in ("metadata", "spec"):
            message = f'bayplan and TorchX ignore "{key}" of an overlay; they use only metadata and spec'
            reader.findings.append(info("W588", (*route, key, KEY), message))
    for key in [each for each in metadata if each not in ("labels", "annotations")]:
        message = f'an overlay cannot set metadata "{key}" of a pod: bayplan names the pods'
        reader.findings.append(error("W584", (*route, "metadata", key), message, hint="remove it"))
    annotations = dict(metadata.get("annotations") or {}) if isinstance(metadata.get("annotations"), Mapping) else {}
    networks = annotations.pop(NETWORKS, None)
    kept = {"labels": metadata.get("labels"), "annotations": annotations}
    main, sidecars = _containers(spec.pop("containers", []), route, reader, names)
    return Overlay({k: v for k, v in kept.items() if v}, spec, main, sidecars, networks, route)


def _containers(
    containers: Any, route: Route, reader: _Reader, names: set[str]
) -> tuple[Mapping[str, Any], tuple[Mapping[str, Any], ...]]:
    """The main container's fields, and the other containers."""
    main: dict[str, Any] = {}
    beside: list[Mapping[str, Any]] = []
    at: Route = (*route, "spec")
    for each in containers if isinstance(containers, list) else ():
        if not isinstance(each, Mapping):
            reader.findings.append(
                error("W584", at, "a container of the overlay is not a mapping", hint="write its fields")
            )
            continue
        which = _replica_of(str(each.get("name", "")), reader, names)
        if "name" not in each:
            main |= each
        elif which is None:
            beside.append(each)
        else:
            reader.findings.extend(_one_replica(str(each.get("name")), which, reader, at))
            main |= {key: value for key, value in each.items() if key != "name"}
    return main, tuple(beside)


def _replica_of(name: str, reader: _Reader, names: set[str]) -> str | None:
    """The replica of a container (empty: every replica); None: another container."""
    for own in names:
        if name in (own, f"{own}-${{replica_id}}"):
            return ""
        if match := re.fullmatch(rf"{re.escape(own)}-([0-9]+)", name):
            return match[1]
    return None


def _one_replica(name: str, which: str, reader: _Reader, route: Route) -> Iterator[Diagnostic]:
    """W588: TorchX would behave differently; W584: the overlay changes only one replica."""
    if which and reader.replicas > 1:
        message = f'the overlay changes only container "{name}" of replica {which}, but all replicas are identical'
        hint = f"rename it to {reader.role}-${{replica_id}} to change all replicas"
        yield error("W584", route, message, hint=hint)
    elif not which:
        message = f'bayplan applies "{name}" to the container of every replica; TorchX 0.8 would add another container'
        yield warning("W588", route, message, hint=f"TorchX names the containers {reader.role}-0, {reader.role}-1, ...")
