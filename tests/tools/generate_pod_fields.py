"""Write schemas/pod-template.json: every field of a PodTemplateSpec, its type, and the Kubernetes that brought it.

The names and types come from the schemas that kubernetes-validate packages (Kubernetes API, Apache-2.0).
    {"PodSpec": {"containers": ["Container"], "nodeSelector": {"*": "string"}, "hostnameOverride@1.34": "string"}}
"""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "generator"))

from bayplan.model.target import KNOWN

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "schemas" / "pod-template.json"
VERSIONS = KNOWN["kubernetes"]
OPEN = {
    "IntOrString": "any",
    "Quantity": "any",
    "Time": "string",
    "MicroTime": "string",
    "FieldsV1": "any",
}


def definitions(version: str) -> dict[str, Any]:
    """All definitions of one Kubernetes version, by their last name."""
    spec = find_spec("kubernetes_validate")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent / "kubernetes-json-schema"
    found = sorted(folder.glob(f"v{version}.*-local/_definitions.json"))
    return dict(json.loads(found[-1].read_text())["$defs"])


def kind(schema: dict[str, Any]) -> Any:
    """The type of one field in our short form."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition(".")[2]
        return OPEN.get(name, name)
    types = schema.get("type", "any")
    name = next((each for each in types if each != "null"), "any") if isinstance(types, list) else types
    if name == "array":
        return [kind(schema["items"])]
    if name == "object":
        return {"*": kind(schema["additionalProperties"])} if "additionalProperties" in schema else "any"
    return "any" if "oneOf" in schema else name


def reached(version: str) -> dict[str, dict[str, Any]]:
    """The definitions that a PodTemplateSpec leads to."""
    everything = definitions(version)
    used = [key for key in everything if ".core.v1." in key or ".meta.v1." in key]
    by_name = {key.rpartition(".")[2]: everything[key] for key in used}
    found: dict[str, dict[str, Any]] = {}
    waiting = ["PodTemplateSpec"]
    while waiting:
        name = waiting.pop()
        if name in found or name not in by_name:
            continue
        found[name] = {field: kind(schema) for field, schema in by_name[name].get("properties", {}).items()}
        waiting += [each for value in found[name].values() for each in names(value)]
    return found


def names(value: Any) -> list[str]:
    """The definitions that a type refers to."""
    if isinstance(value, list):
        return names(value[0])
    if isinstance(value, dict):
        return names(value["*"])
    return [value] if value[0].isupper() else []


def table() -> dict[str, dict[str, Any]]:
    """All versions in one, each field with the first version that has it unless that is the oldest."""
    merged: dict[str, dict[str, tuple[str, Any]]] = {}
    for version in VERSIONS:
        for name, fields in reached(version).items():
            for field, value in fields.items():
                since = merged.setdefault(name, {}).get(field, (version, value))[0]
                merged[name][field] = (since, value)
    return {
        name: {
            field if since == VERSIONS[0] else f"{field}@{since}": value
            for field, (since, value) in sorted(merged[name].items())
        }
        for name in sorted(merged)
    }


def text() -> str:
    """The file's content, a line for each definition."""
    lines = [f"{json.dumps(name)}: {json.dumps(fields)}" for name, fields in table().items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(text())
    sys.exit(0)
