"""Kubernetes' own objects, judged strictly by the schemas that kubernetes-validate bundles.

Its `validate` re-reads 1.8 MB a call and finds a schema by the first label of the API group only (Volcano's PodGroup
would meet Kubernetes' own); so we look the file up by the full group ourselves and keep the validators.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from judges.formats import CHECKER, describe

GROUPS = frozenset(
    [
        "",
        "apps",
        "autoscaling",
        "batch",
        "policy",
        *(
            f"{name}.k8s.io"
            for name in (
                "admissionregistration",
                "apiextensions",
                "apiregistration",
                "authentication",
                "authorization",
                "certificates",
                "coordination",
                "discovery",
                "events",
                "flowcontrol.apiserver",
                "internal.apiserver",
                "networking",
                "node",
                "rbac.authorization",
                "resource",
                "scheduling",
                "storage",
                "storagemigration",
            )
        ),
    ]
)
"""API groups served by kube-apiserver itself (k8s.io/api)."""

PREFIX = "/api/_definitions.json#/$defs/"
QUANTITY = r"^[+-]?([0-9]+|[0-9]+\.[0-9]*|\.[0-9]+)(([KMGTPE]i)|[numkMGTPE]|([eE][+-]?[0-9]+))?\Z"
"""k8s.io/apimachinery resource.ParseQuantity. Go's API machinery also takes a bare number."""

TIGHTER: Mapping[str, Mapping[str, Any]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {
        "anyOf": [{"type": "string", "pattern": QUANTITY}, {"type": "number"}]
    },
}
"""Definitions that the bundled schemas leave looser than the API server is."""


def split(document: Mapping[str, Any]) -> tuple[str, str, str]:
    """(group, version, kind)."""
    group, _, version = str(document["apiVersion"]).rpartition("/")
    return group, version, document["kind"]


def knows(document: Mapping[str, Any]) -> bool:
    """Whether the object belongs to a group of kube-apiserver itself."""
    return split(document)[0] in GROUPS


@cache
def folder(kubernetes: str) -> Path:
    """The strict schemas of one Kubernetes minor version."""
    spec = find_spec("kubernetes_validate")
    assert spec is not None, "kubernetes-validate is not installed"
    assert spec.submodule_search_locations
    minor = ".".join(kubernetes.split(".")[:2])
    return Path(spec.submodule_search_locations[0], "kubernetes-json-schema", f"v{minor}.0-local-strict")


@cache
def registry(kubernetes: str) -> Registry[Any]:
    """The definitions that all schemas of a version refer to, tightened."""
    definitions = json.loads((folder(kubernetes) / "_definitions.json").read_bytes())
    definitions["$defs"].update(TIGHTER)
    return Registry().with_resource("https://kubernetes.io/api/_definitions.json", Resource.from_contents(definitions))


@cache
def validator(kubernetes: str, group: str, version: str, kind: str) -> Draft202012Validator | None:
    """The strict validator of a kind, or None when that Kubernetes does not have it."""
    label = group.split(".")[0]
    path = folder(kubernetes) / f"{kind.lower()}-{label + '-' if label else ''}{version}.json"
    if not path.exists():
        return None
    schema = json.loads(path.read_bytes())
    known = [(gvk["group"], gvk["version"]) for gvk in schema.get("x-kubernetes-group-version-kind", ())]
    if (group, version) not in known:
        return None
    return Draft202012Validator(schema, registry=registry(kubernetes), format_checker=CHECKER)


@cache
def definition(kubernetes: str, name: str) -> Draft202012Validator:
    """The validator of one definition, such as `io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta`."""
    schema = {"$id": "https://kubernetes.io/api/one", "$ref": PREFIX + name}
    return Draft202012Validator(schema, registry=registry(kubernetes), format_checker=CHECKER)


def judge(document: Mapping[str, Any], target: Mapping[str, str]) -> list[str]:
    """Complaints of the strict schema of the target's Kubernetes."""
    group, version, kind = split(document)
    found = validator(target["kubernetes"], group, version, kind)
    if found is None:
        return [f"Kubernetes {target['kubernetes']} has no {kind} in {document['apiVersion']}"]
    return [describe(error) for error in found.iter_errors(document)]
