"""What later versions must keep: the fields of v1alpha1, and what `bayplan --version` says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tools.run import ROOT, bayplan

FIELDS = ROOT / "tests" / "unit" / "v1alpha1.txt"
"""Every field of v1alpha1: its format, path, type and whether it is required. Append a new field; change no line."""

OWN = (
    "workflow",
    "cluster-topology",
    "policy",
    "project",
    "expand-workflows",
    "place-workloads",
    "validate-workloads",
)


def fields(name: str) -> Iterator[str]:
    """A line for each field of a schema. Those of a definition with fields begin with its name."""
    root: dict[str, Any] = json.loads((ROOT / "schemas" / f"{name}.json").read_text(encoding="utf-8"))
    definitions = root.get("definitions", {})

    def walk(schema: Any, path: str, required: bool) -> Iterator[str]:
        refs: list[str] = []
        while "$ref" in schema:
            word = schema["$ref"].removeprefix("#/definitions/")
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            refs, schema = [*refs, word], {**definitions[word], **rest}
        mapping = any("properties" in each for each in (schema, *parts(schema)))
        below = bool(refs) and mapping
        if path:
            shown = f"#{refs[-1]}" if below else kind(schema)
            yield f"{name} {path} {shown}{' required' if required else ''}"
        if not below:
            yield from inside(schema, path)

    def inside(schema: Any, path: str) -> Iterator[str]:
        for each in (schema, *parts(schema)):
            for key, value in each.get("properties", {}).items():
                yield from walk(value, f"{path}.{key}", key in each.get("required", ())) if value is not False else ()
            for key, mark in (("items", "[]"), ("additionalProperties", ".*")):
                if isinstance(each.get(key), dict):
                    yield from walk(each[key], path + mark, False)

    whole = [*inside(root, "")]
    for word, schema in definitions.items():
        if any("properties" in each for each in (schema, *parts(schema))):
            whole += inside(schema, f"#{word}")
    yield from dict.fromkeys(whole)


def parts(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The alternatives of a schema."""
    for key in ("oneOf", "anyOf", "allOf"):
        yield from (each for each in schema.get(key, ()) if isinstance(each, dict))


LIMITS = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern", "minProperties")


def kind(schema: dict[str, Any]) -> str:
    """The type, the words and the limits of a value."""
    types = schema.get("type", "any")
    shown = types if isinstance(types, str) else "|".join(types)
    shown = "|".join(json.dumps(each) for each in schema["enum"]) if "enum" in schema else shown
    limits = (f"{key}={json.dumps(schema[key])}" for key in LIMITS if key in schema)
    return " ".join((shown.replace(" ", "_"), *limits))


@pytest.mark.parametrize("name", OWN)
def test_the_fields_of_v1alpha1_stay(name: str) -> None:
    """No field is gone, narrower or newly required. A new field, or a wider one, needs a line in the file."""
    frozen = [line for line in FIELDS.read_text(encoding="utf-8").splitlines() if line.startswith(f"{name} ")]
    now = [*fields(name)]
    assert [line for line in frozen if line not in now] == []
    assert [line for line in now if line not in frozen] == []


def test_the_list_has_every_format() -> None:
    named = [line.partition(" ")[0] for line in FIELDS.read_text(encoding="utf-8").splitlines()]
    assert set(named) == set(OWN)
    assert named.count("workflow") > 100
    own = {path.stem for path in (ROOT / "schemas").glob("*.json") if "bayplan.dev/v1alpha1" in path.read_text("utf-8")}
    assert own <= set(OWN)


def test_the_verbose_version_names_what_it_uses(tmp_path: Path) -> None:
    plain = bayplan("--version").stdout
    done = bayplan("--version", "--verbose", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(plain)
    rows = dict(line.split(None, 1) for line in done.stdout.splitlines()[1:] if len(line.split(None, 1)) == 2)
    assert rows["pyyaml"].startswith(version("pyyaml"))
    assert rows["click"] == version("click")
    assert {"python", "platform", "jinja2", "jsonschema", "ortools", "torchx", "kai", "slurm", "kubectl"} <= set(rows)
    assert rows["formats"] == "bayplan.dev/v1alpha1"
    assert bayplan("--verbose", "--version").stdout == done.stdout
    assert bayplan("--version", "-v", env={"PATH": str(tmp_path)}).stdout != ""


def test_a_project_takes_the_kinds_that_a_workflow_takes() -> None:
    schemas = {
        name: json.loads((ROOT / "schemas" / f"{name}.json").read_text("utf-8")) for name in ("project", "workflow")
    }
    project, gang = (
        schemas[name]["definitions"][word]["properties"]["workload"]["enum"]
        for name, word in (("project", "output"), ("workflow", "gang"))
    )
    assert sorted(project) == sorted({*gang} - {"auto", "sbatch"})
