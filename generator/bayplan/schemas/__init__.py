"""The JSON Schemas of our formats: accept fast, explain slowly.

`generated/` holds a validator for each schema, made by hatch_build.py, that only accepts or refuses. What it refuses is
read again by jsonschema, which finds every error and its place. In a checkout a validator may be missing or older than
its schema: there jsonschema decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from bayplan.core.diagnostics import Diagnostic
from bayplan.core.package_data import CHECKOUT, data_bytes

SCHEMAS: Mapping[str, str] = {
    "Workflow": "workflow",
    "ClusterTopology": "cluster-topology",
    "OsmoWorkflow": "osmo-workflow",
    "OsmoPool": "osmo-pool",
    "SbatchScript": "sbatch-script",
    "TorchXApp": "torchx-app",
    "Policy": "policy",
    "Project": "project",
    "ExpandWorkflows": "expand-workflows",
    "PlaceWorkloads": "place-workloads",
    "ValidateWorkloads": "validate-workloads",
}
"""Kind of document -> schema file."""


def validate(kind: str, data: Any, subject: str) -> tuple[Diagnostic, ...]:
    """Every way in which the data does not follow the schema of that kind; empty when it does.

    `subject` is the first element of the routes.
    """
    if accepts(kind, data):
        return ()
    from bayplan.schemas.explain import explain

    return explain(load(kind), data, subject)


def accepts(kind: str, data: Any) -> bool:
    """Whether the data follows the schema of that kind."""
    generated = _generated(kind)
    if generated is None:
        from bayplan.schemas.explain import accepts

        return accepts(load(kind), data)
    try:
        generated.validate(data)
    except Exception:  # Refused, and whatever keys that are not text or bottomless nesting do to generated code
        return False
    return True


@cache
def _generated(kind: str) -> Any:
    """The module of the generated validator; None if there is none for the schema as it is now."""
    try:
        found = import_module(f"bayplan.schemas.generated.{SCHEMAS[kind].replace('-', '_')}")
    except ModuleNotFoundError:
        return None
    return None if CHECKOUT and _checksum(kind) != found.CHECKSUM else found


def _checksum(kind: str) -> int:
    """The checksum of the schema as it is now."""
    from zlib import crc32

    return crc32(data_bytes("schemas", f"{SCHEMAS[kind]}.json"))


def load(kind: str) -> dict[str, Any]:
    """The schema of that kind, as data."""
    import json

    schema: dict[str, Any] = json.loads(data_bytes("schemas", f"{SCHEMAS[kind]}.json"))
    return schema
