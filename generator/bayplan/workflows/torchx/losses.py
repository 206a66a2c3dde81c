"""What of a role no manifest can hold, said by name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.core.diagnostics import KEY, Diagnostic, Route, error, info, warning
from bayplan.core.phrases import did_you_mean, listing
from bayplan.core.values import NamedTuple
from bayplan.kube.pod import MERGE_KEYS, NETWORKS
from bayplan.workflows.torchx.devices import ROLES, ROOT
from bayplan.workflows.torchx.marks import BROKEN, INSTANCE

# Requests to bayplan in metadata: keys that begin with `bayplan.dev/`, as `dist.ddp --metadata` can set them.
#
# They stand in the application's metadata. Those about pods may also stand in a role's, which takes precedence.

PREFIX = "bayplan.dev/"
SPEC = {"scheduler": "scheduler"}
GANG = {"workload": "workload", "placement": "placement", "compute-domain": "computeDomain"}
LEVELS = ("required", "preferred")
"""A placement in two words, since TorchX' command line splits values at commas and semicolons."""
POD_SET = {"pool": "pool", "fabric": "fabric"}
WORDS = (*SPEC, *GANG, *LEVELS, *POD_SET)


class MetadataRequests(NamedTuple):
    """Keys of the workflow's spec, of its gang and of its podSets; where each stands; what was found."""

    spec: Mapping[str, Any] = {}
    gang: Mapping[str, Any] = {}
    pods: Mapping[str, Any] = {}
    places: Mapping[str, Route] = {}
    findings: tuple[Diagnostic, ...] = ()


def application_requests(app: Mapping[str, Any]) -> MetadataRequests:
    """Those of the application. W589: a word that bayplan does not know, or a value that it does not take."""
    return _metadata_requests(app.get("metadata") or {}, WORDS, (*ROOT, "metadata"))


def role_requests(role: Mapping[str, Any], route: Route) -> MetadataRequests:
    """Those of a role."""
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
        hint = did_you_mean(word, words) or f"known here: {listing(words, 'and')}"
        yield error("W589", (*route, KEY), f'bayplan knows no metadata "{PREFIX}{word}" here', hint=hint)
    elif not isinstance(value, str):
        yield error("W589", route, f"the value of {PREFIX}{word} must be a text", hint="put it in quotes")
    elif word == "placement" and not _placement(value):
        hint = "write it as required=spine,preferred=rack, or either alone"
        yield error("W589", route, f'"{value}" names no level as required or preferred', hint=hint)


def _placement(text: str) -> dict[str, str]:
    """`required=spine,preferred=rack`, as annotations have it. Empty where it is no such thing."""
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
"""What -cfg can say: carried, used in amounts, and of no meaning for pods."""


def application(app: Mapping[str, Any]) -> Iterator[Diagnostic]:
    """W588 of the application's metadata, W588 of what -cfg says, W572 of retries."""
    for key in (each for each in app.get("metadata") or {} if not each.startswith(PREFIX)):
        message = f'the application\'s metadata "{key}" reaches no pod, neither here nor with TorchX'
        hint = "set it on the roles: role.metadata"
        yield warning("W588", (*ROOT, "metadata", key, KEY), message, hint=hint)
    for key, value in (app.get("scheduler_args") or {}).items():
        if key not in (*CARRIED_ARGS, *RESERVED_ARGS, *RUN_ARGS) and value not in (None, "", False):
            message = f'"{key}" of the scheduler\'s arguments is left out'
            hint = f"of these arguments bayplan takes {listing([*CARRIED_ARGS, *RESERVED_ARGS], 'and')}"
            yield warning("W588", (*ROOT, "scheduler_args", key, KEY), message, hint=hint)
    roles: list[Mapping[str, Any]] = app["roles"]
    least = min(role.get("max_retries") or 0 for role in roles)
    for number, role in enumerate(roles):  # a gang starts again as a whole (TorchX does so with APPLICATION)
        policy, retries = role.get("retry_policy") or "APPLICATION", role.get("max_retries") or 0
        if retries and (policy != "APPLICATION" or retries > least):
            what = f"by {policy.lower()}, " if policy != "APPLICATION" else ""
            message = f'role "{role["name"]}" starts again {what}up to {retries} times; here all do, {least} times'
            hint = "give all roles the same max_retries and the policy APPLICATION"
            yield warning("W572", (*ROLES, number, "max_retries"), message, hint=hint)


def role(role_data: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    """W570, W573, W575, W588, W593 of one role."""
    for key, what in (("base_image", "a base image"), ("workspace", "a workspace"), ("overrides", "overrides")):
        if role_data.get(key):
            message = f'role "{role_data["name"]}" has {what}, which only TorchX itself can put into the image'
            yield warning("W570", (*route, key), message, hint="build the image first, and name it in `image`")
    yield from _variables(role_data, route)
    least, most = role_data.get("min_replicas") or 1, role_data.get("num_replicas", 1)
    if least > most:  # more replicas than there are cannot be waited for
        message = f'role "{role_data["name"]}" may start with {least} replicas and has {most}: all are waited for'
        yield warning("W593", (*route, "min_replicas"), message, hint="set num_replicas, or a smaller min_replicas")
    resource = role_data.get("resource") or {}
    if missing := [name for name in ("cpu", "memMB") if (resource.get(name) or -1) <= 0]:  # rule TX02
        what = listing(missing, "and")
        message = f'role "{role_data["name"]}" says no {what}: its pods ask for none, and may be put on a full node'
        yield info("W575", (*route, "resource"), message, hint=f"set {what} of the resource")
    for name in resource.get("capabilities") or {}:
        if name != INSTANCE:
            message = f'capability "{name}" chooses no nodes, neither here nor with TorchX'
            hint = "put a nodeSelector into the overlay kubernetes.V1Pod"
            yield warning("W588", (*route, "resource", "capabilities", name, KEY), message, hint=hint)
    for name in resource.get("tags") or {}:
        yield info("W588", (*route, "resource", "tags", name, KEY), f'tag "{name}" of the resource is left out')


def _variables(role_data: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    """W573 (rule TX01): variables of Volcano's, written out."""
    texts = [((*route, "args", n), text) for n, text in enumerate(role_data.get("args") or ())]
    texts += [((*route, "env", name), text) for name, text in (role_data.get("env") or {}).items()]
    for at, text in texts:
        if match := re.search(BROKEN, text):
            message = f'no shell takes "{match[0]}" for the name of a variable: it has a dash'
            hint = "call the role with `_` in place of `-`, and write ${rank0_env} for the variable"
            yield error("W573", at, message, hint=hint)
        elif match := VOLCANO.search(text):
            message = f'"{match[0]}" is set by one scheduler of TorchX\' alone, and not here'
            yield error("W573", at, message, hint="write ${rank0_env}, which is the variable with rank 0's host")


# The overlay of a role's pods (TorchX 0.8, specs/overlays.py) -> a podSet's template.
#
# TorchX lays it over each replica's pod, whose containers are called `<role>-<number>`; here one template serves all
# replicas. Its operators are words in front of keys: PUT replaces, JOIN merges lists by a key, DEL removes.

SCHEDULER, POD, MARK = "kubernetes", "V1Pod", "__torchx_overlays__"
PUT, JOIN, DEL = "__put__:", "__join__:", "__del__:"

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
    findings: list[Diagnostic]


def read(role: Mapping[str, Any], name: str, route: Route) -> tuple[Overlay, tuple[Diagnostic, ...]]:
    """The overlay of a role. W583, W584, W584, W588. `name`: how the role is called as a podSet."""
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
    """W584: TorchX takes the URI of a file for the overlay of a pod as well; W584: it is neither."""
    if isinstance(overlay, str):
        hint = "put the file's content in the place of its name"
        yield error("W584", route, f'the overlay is in the file "{overlay}", which bayplan does not open', hint=hint)
    elif overlay is not None:
        yield error("W584", route, "the overlay is no mapping", hint="give fields of a pod: `metadata` and `spec`")


def _others(metadata: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    """W588: what TorchX keeps for other schedulers."""
    for key in metadata:
        if key != SCHEDULER and not key.startswith(PREFIX):
            message = f'metadata "{key}" says nothing to Kubernetes, and is left out'
            yield info("W588", (*route, key, KEY), message, hint="put labels and annotations under kubernetes.V1Pod")
    overlay = metadata.get(SCHEDULER)
    for key in overlay if isinstance(overlay, Mapping) and (POD in overlay or MARK in overlay) else ():
        if key not in (POD, MARK):
            yield info("W588", (*route, SCHEDULER, key, KEY), f'overlay "{key}" is of no pod, and is left out')


def _plain(value: Any, route: Route, reader: _Reader) -> Any:
    """The overlay with its operators resolved, as a patch that merges lists by their keys."""
    if isinstance(value, list):
        return [_plain(each, (*route, number), reader) for number, each in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    resolved: dict[str, Any] = {}
    for key, below in value.items():
        field, wrong = _field(str(key), below)
        if wrong:
            hint = "say it with a plain key, which adds to what is there"
            reader.findings.append(error("W584", (*route, key, KEY), wrong, hint=hint))
        elif field and below is not None:
            resolved[field] = _plain(below, (*route, key), reader)
    return resolved


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
            reader.findings.append(info("W588", (*route, key, KEY), message))
    for key in [each for each in metadata if each not in ("labels", "annotations")]:
        message = f'metadata "{key}" of a pod cannot be set: bayplan names pods'
        reader.findings.append(error("W584", (*route, "metadata", key), message, hint="remove it"))
    annotations = dict(metadata.get("annotations") or {}) if isinstance(metadata.get("annotations"), Mapping) else {}
    networks = annotations.pop(NETWORKS, None)
    kept = {"labels": metadata.get("labels"), "annotations": annotations}
    main, sidecars = _containers(spec.pop("containers", []), route, reader, names)
    return Overlay({k: v for k, v in kept.items() if v}, spec, main, sidecars, networks, route)


def _containers(
    containers: Any, route: Route, reader: _Reader, names: set[str]
) -> tuple[Mapping[str, Any], tuple[Mapping[str, Any], ...]]:
    """The main container's fields, and the containers beside it."""
    main: dict[str, Any] = {}
    beside: list[Mapping[str, Any]] = []
    at: Route = (*route, "spec")
    for each in containers if isinstance(containers, list) else ():
        if not isinstance(each, Mapping):
            reader.findings.append(
                error("W584", at, "a container of the overlay is no mapping", hint="give its fields")
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
    """The replica whose container it is (empty: everyone's); None where it is another container."""
    for own in names:
        if name in (own, f"{own}-${{replica_id}}"):
            return ""
        if match := re.fullmatch(rf"{re.escape(own)}-([0-9]+)", name):
            return match[1]
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
