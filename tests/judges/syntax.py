"""What every object must keep and no schema says: names, label syntax, annotation size, no nulls.

Rules: k8s.io/apimachinery pkg/util/validation and pkg/api/validation (1.34).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from judges.formats import path_of

DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z")
DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?\Z")
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
QUALIFIED = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?\Z")
ANNOTATIONS_LIMIT = 256 * 1024

LABEL_NAMED = {"Service": DNS_1035, "Namespace": DNS_LABEL}
"""Kinds whose own name is a DNS label rather than a subdomain."""

CLUSTER_SCOPED = {
    ("", "Namespace"),
    ("kai.scheduler", "Topology"),
    ("kueue.x-k8s.io", "Topology"),
    ("kueue.x-k8s.io", "ResourceFlavor"),
    ("kueue.x-k8s.io", "ClusterQueue"),
    ("scheduling.run.ai", "Queue"),
}
FREE_NAMED = {"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}


def is_label(value: Any) -> bool:
    """A DNS-1123 label of at most 63 characters."""
    return isinstance(value, str) and len(value) <= 63 and DNS_LABEL.match(value) is not None


def is_subdomain(value: Any) -> bool:
    """A DNS-1123 subdomain of at most 253 characters."""
    return isinstance(value, str) and len(value) <= 253 and SUBDOMAIN.match(value) is not None


def is_label_value(value: Any) -> bool:
    """A label value: empty, or at most 63 qualified characters."""
    return isinstance(value, str) and (value == "" or (len(value) <= 63 and QUALIFIED.match(value) is not None))


def is_key(value: Any) -> bool:
    """A qualified key: an optional subdomain, `/`, and at most 63 characters."""
    if not isinstance(value, str):
        return False
    prefix, slash, name = value.rpartition("/")
    return len(name) <= 63 and QUALIFIED.match(name) is not None and (not slash or is_subdomain(prefix))


def envelope(document: Any) -> list[str]:
    """What must be there before anything else can be judged."""
    if not isinstance(document, dict):
        return [f"not an object but {type(document).__name__}"]
    wrong = [key for key in ("apiVersion", "kind") if not isinstance(document.get(key), str) or not document[key]]
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name", metadata.get("generateName")), str):
        wrong.append("metadata.name")
    return [f"{document.get('kind')}: {key} is missing or no text" for key in wrong]


def judge(document: Mapping[str, Any]) -> list[str]:
    """Complaints about the object's name, its metadata wherever it occurs, and nulls."""
    return [*names(document), *(complaint for path, value in walk(document) for complaint in at(path, value))]


def names(document: Mapping[str, Any]) -> Iterator[str]:
    """Complaints about metadata.name and metadata.namespace."""
    metadata, kind = document["metadata"], document["kind"]
    name = metadata.get("name")
    group = document["apiVersion"].rpartition("/")[0]
    if name is not None and kind in LABEL_NAMED and not (len(name) <= 63 and LABEL_NAMED[kind].match(name)):
        yield f"metadata.name: {name!r} is no DNS label of at most 63 characters"
    elif name is not None and kind not in FREE_NAMED and not is_subdomain(name):
        yield f"metadata.name: {name!r} is no DNS subdomain of at most 253 characters"
    if "namespace" in metadata and (group, kind) in CLUSTER_SCOPED:
        yield f"metadata.namespace: {kind} is cluster-scoped"
    if "namespace" in metadata and not is_label(metadata["namespace"]):
        yield f"metadata.namespace: {metadata['namespace']!r} is no DNS label"


def walk(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every value with its path."""
    yield path, value
    if isinstance(value, dict):
        for key, item in value.items():
            yield from walk(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from walk(item, (*path, index))


def at(path: tuple[str | int, ...], value: Any) -> Iterator[str]:
    """Complaints about one value at one path."""
    if value is None:
        yield f"{path_of(path)}: null"
    if isinstance(value, dict):
        yield from (f"{path_of(path)}: the key {key!r} is no text" for key in value if not isinstance(key, str))
    tail = path[-2:]
    if tail in {("metadata", "labels"), ("metadata", "annotations")} and isinstance(value, dict):
        yield from meta(path, value)
    if tail[-1:] in {("nodeSelector",), ("matchLabels",)} and isinstance(value, dict):
        yield from labels(path, value)


def meta(path: tuple[str | int, ...], value: Mapping[str, Any]) -> Iterator[str]:
    """Complaints about a labels or annotations map."""
    if path[-1] == "labels":
        yield from labels(path, value)
        return
    # Annotation keys are lower-cased before the check (apimachinery ValidateAnnotations).
    yield from (f"{path_of(path)}: bad annotation key {k!r}" for k in value if not is_key(str(k).lower()))
    yield from (f"{path_of(path)}: {k!r} is no text: {v!r}" for k, v in value.items() if not isinstance(v, str))
    if sum(len(str(k)) + len(str(v)) for k, v in value.items()) > ANNOTATIONS_LIMIT:
        yield f"{path_of(path)}: more than 256 KiB"


def labels(path: tuple[str | int, ...], value: Mapping[str, Any]) -> Iterator[str]:
    """Complaints about label keys and values."""
    yield from (f"{path_of(path)}: bad label key {k!r}" for k in value if not is_key(k))
    yield from (f"{path_of(path)}: bad label value {k}={v!r}" for k, v in value.items() if not is_label_value(v))
