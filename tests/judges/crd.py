"""Custom objects, judged as kube-apiserver would: upstream's CRD with defaults applied, unknown fields refused
(strict field validation), list keys unique, and the CEL rules evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator

from judges import builtin
from judges.cel import violations
from judges.formats import CHECKER, describe, path_of
from judges.versions import FOLDERS, PREPARED, UPSTREAM, at_least, key

Schema = Mapping[str, Any]
OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
COMPONENTS = {folder: component for component, folder in FOLDERS.items()}


FETCHED = frozenset([("kubeflow.org", "MPIJob")])
"""Kinds whose CRDs only `prepare` has. Without it, nothing judges them."""


def judge(document: Mapping[str, Any], target: Mapping[str, str]) -> list[str]:
    """Complaints of the CRD that the target's component installs."""
    group, version, kind = builtin.split(document)
    path = find(group, kind, tuple((each, target[each]) for each in components(group, kind) if each in target))
    schema = served(path, version) if path else None
    if schema is None and (group, kind) in FETCHED:
        return []
    if schema is None:
        return [f"no CRD for {kind} in {document['apiVersion']} at {', '.join('='.join(i) for i in target.items())}"]
    whole = defaulted(schema, document)
    return [
        *(describe(error) for error in validator(path, version).iter_errors(whole)),
        *(f"metadata.{describe(e)}" for e in metadata(target["kubernetes"], document)),
        *duplicates(schema, whole, ()),
        *violations(schema, whole),
    ]


def metadata(kubernetes: str, document: Mapping[str, Any]) -> Iterator[Any]:
    """Errors of the object's metadata, which a CRD leaves to the API server."""
    return builtin.definition(kubernetes, OBJECT_META).iter_errors(document["metadata"])


@cache
def files(group: str, kind: str) -> tuple[Path, ...]:
    """The files with a CRD of a kind."""
    found = sorted(path for folder in (UPSTREAM / "crds", PREPARED) for path in folder.glob(f"**/{group}_*.yaml"))
    return tuple(path for path in found if read(path)["spec"]["names"]["kind"] == kind)


@cache
def components(group: str, kind: str) -> tuple[str, ...]:
    """The components whose version decides which CRD of a kind there is."""
    stored = (path for path in files(group, kind) if path.parent.parent.name == "versions")
    return tuple(sorted({component_of(path) for path in stored}))


@cache
def find(group: str, kind: str, target: tuple[tuple[str, str], ...]) -> Path | None:
    """The CRD file of a kind: the stored version that serves the target, else the component's only one."""
    candidates = files(group, kind)
    stored = [p for p in candidates if p.parent.parent.name == "versions"]
    for component, wanted in target:
        ours = sorted((p for p in stored if component_of(p) == component), key=lambda p: key(component, p.parent.name))
        minor = [p for p in ours if same_minor(p.parent.name, wanted)]
        if minor or len(ours) > 1:  # a single version is a guest: KAI 0.10 shipped Kueue's Topology
            return (minor or [None, *(p for p in ours if at_least(component, wanted, p.parent.name))])[-1]
    return next((p for p in candidates if p not in stored), None)


def component_of(path: Path) -> str:
    """The component whose folder a stored version lies in."""
    folder = path.parents[2].name
    return COMPONENTS.get(folder, folder)


def same_minor(tag: str, version: str) -> bool:
    """Whether `v0.15.3` serves `0.15`."""
    return tag.removeprefix("v").split(".")[:2] == version.split(".")[:2]


@cache
def read(path: Path) -> Any:
    """A CRD as data."""
    with path.open(encoding="utf-8") as stream:
        return yaml.load(stream, yaml.CSafeLoader)


def served(path: Path, version: str) -> Schema | None:
    """The structural schema of a served version."""
    versions = (v for v in read(path)["spec"]["versions"] if v["name"] == version and v["served"])
    return next((v["schema"]["openAPIV3Schema"] for v in versions), None)


@cache
def validator(path: Path, version: str) -> Draft202012Validator:
    """The closed validator of a CRD version."""
    schema = served(path, version)
    assert schema is not None
    return Draft202012Validator({**closed(schema), "required": ["metadata"]}, format_checker=CHECKER)


def closed(schema: Schema, *, root: bool = True) -> dict[str, Any]:
    """The structural schema as JSON Schema 2020-12 that refuses what pruning would drop."""
    result = values(schema)
    properties = {key: closed(value, root=False) for key, value in schema.get("properties", {}).items()}
    if root or schema.get("x-kubernetes-embedded-resource"):
        properties |= {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}
    if properties:
        result["properties"] = properties
    if schema.get("items"):
        result["items"] = closed(schema["items"], root=False)
    if isinstance(schema.get("additionalProperties"), dict):
        result["additionalProperties"] = closed(schema["additionalProperties"], root=False)
    elif schema.get("type") == "object" and not open_ended(schema):
        result["additionalProperties"] = False
    return result


def open_ended(schema: Schema) -> bool:
    """Whether unknown fields survive pruning."""
    return bool(schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("additionalProperties") is True)


KEEP = ("enum", "format", "maxItems", "maxLength", "maxProperties", "maximum", "minItems", "minLength", "minProperties")
KEEP += ("minimum", "multipleOf", "pattern", "required", "type", "uniqueItems")


def values(schema: Schema) -> dict[str, Any]:
    """The value validations of one node, from OpenAPI 3.0's spelling to JSON Schema's."""
    result = {key: schema[key] for key in KEEP if key in schema}
    if "(?i)" in schema.get("pattern", ""):  # Go takes flags anywhere, Python only at the start
        result["pattern"] = "(?i)" + schema["pattern"].replace("(?i)", "")
    for bound in ("Minimum", "Maximum"):
        if schema.get(f"exclusive{bound}") is True:
            result[f"exclusive{bound}"] = result.pop(bound.lower())
    if schema.get("x-kubernetes-int-or-string"):
        result["type"] = ["integer", "string"]
    if schema.get("nullable") and "type" in result:
        result["type"] = [*([result["type"]] if isinstance(result["type"], str) else result["type"]), "null"]
    for logic in ("allOf", "anyOf", "oneOf"):
        if logic in schema:
            result[logic] = [nested(part) for part in schema[logic]]
    if "not" in schema:
        result["not"] = nested(schema["not"])
    return result


def nested(schema: Schema) -> dict[str, Any]:
    """A schema inside anyOf and its like: validations only, it never closes an object."""
    result = values(schema)
    if "properties" in schema:
        result["properties"] = {key: nested(value) for key, value in schema["properties"].items()}
    if isinstance(schema.get("items"), dict):
        result["items"] = nested(schema["items"])
    return result


def defaulted(schema: Schema, value: Any) -> Any:
    """The value with the CRD's defaults, as the API server stores it."""
    if isinstance(value, Mapping):
        properties = schema.get("properties", {})
        missing = {k: v["default"] for k, v in properties.items() if "default" in v and value.get(k) is None}
        extra = schema.get("additionalProperties")
        other = extra if isinstance(extra, dict) else {}
        return {k: defaulted(properties.get(k, other), v) for k, v in {**value, **missing}.items()}
    if isinstance(value, list):
        return [defaulted(schema.get("items", {}), item) for item in value]
    return value


def duplicates(schema: Schema, value: Any, path: tuple[str | int, ...]) -> Iterator[str]:
    """Entries of `x-kubernetes-list-type: map` or `set` lists that occur twice."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from duplicates(schema.get("properties", {}).get(key, {}), item, (*path, key))
    elif isinstance(value, list):
        seen: list[Any] = []
        for index, item in enumerate(value):
            yield from duplicates(schema.get("items", {}), item, (*path, index))
            identity = list_key(schema, item)
            if identity is not None and identity in seen:
                yield f"{path_of((*path, index))}: duplicate list entry {identity}"
            seen.append(identity)


def list_key(schema: Schema, item: Any) -> Any:
    """What makes an entry of a keyed list unique; None in lists that allow repetition."""
    kind = schema.get("x-kubernetes-list-type")
    if kind == "map" and isinstance(item, dict):
        return [item.get(key) for key in schema["x-kubernetes-list-map-keys"]]
    return item if kind == "set" else None
