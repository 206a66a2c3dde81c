"""The JSON Schemas of our formats: accept fast, explain slowly.

`bayplan._validators` is generated from `schemas/*.json` and only says yes or no. What it refuses is read again by
jsonschema, which alone finds every error and its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from bayplan.diagnostics import Diagnostic

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
    from bayplan.schema_errors import explain

    return explain(load(kind), data, subject)


def accepts(kind: str, data: Any) -> bool:
    """Whether the data follows the schema of that kind."""
    module = import_module(f"bayplan._validators.{SCHEMAS[kind].replace('-', '_')}")
    try:
        module.validate(data)
    except Exception:  # Refused, and whatever keys that are not text or bottomless nesting do to generated code
        return False
    return True


def load(kind: str) -> dict[str, Any]:
    """The schema of that kind, as data."""
    import json

    from bayplan.data import data_text

    schema: dict[str, Any] = json.loads(data_text("schemas", f"{SCHEMAS[kind]}.json"))
    return schema
