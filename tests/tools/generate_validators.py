"""Writes `bayplan/_validators` from `schemas`: one module per format that accepts or refuses, and explains nothing.

Run it after every change of a schema: `python tests/tools/generate_validators.py`.
"""

from __future__ import annotations

import json
import os
import re

import fastjsonschema

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TARGET = os.path.join(ROOT, "generator", "bayplan", "_validators")
FORMATS = {"workflow": "workflow", "cluster-topology": "cluster_topology"}
"""Schema file -> module."""

HEADER = '''"""Made from schemas/{schema}.json by tests/tools/generate_validators.py. Do not edit."""

# mypy: ignore-errors
import re
from typing import Any


class Refused(Exception):
    """The data does not follow the schema."""


class Patterns(dict):
    """Compiles a pattern when it is first used."""

    def __missing__(self, pattern):
        compiled = self[pattern] = re.compile(pattern.replace("$", r"\\Z"))
        return compiled


REGEX_PATTERNS = Patterns()
'''


def module(schema: str) -> str:
    """The text of the validator of a schema file."""
    with open(os.path.join(ROOT, "schemas", f"{schema}.json"), encoding="utf-8") as file:
        definition = json.load(file)
    code = fastjsonschema.compile_to_code(definition, use_default=False, use_formats=False, detailed_exceptions=False)
    body = code[code.index("NoneType = type(None)") :]
    body = re.sub(r"raise JsonSchemaValueException\(.*\)", "raise Refused", body)
    body = body.replace("(JsonSchemaValueException, JsonSchemaValuesException)", "Refused")
    body = body.replace("(int, float, Decimal)", "(int, float)")
    body = body.replace("custom_formats={}, name_prefix=None", "")
    body = re.sub(r", custom_formats, \(name_prefix or \"data\"\)[^\n]*\)$", ")", body, flags=re.MULTILINE)
    body = re.sub(r"^def (\w+)\(data, \):", r"def \1(data: Any) -> Any:", body, flags=re.MULTILINE)
    return f"{HEADER.format(schema=schema)}\n{body.rstrip()}\n"


def main() -> None:
    """Write every module."""
    for schema, name in FORMATS.items():
        with open(os.path.join(TARGET, f"{name}.py"), "w", encoding="utf-8") as file:
            file.write(module(schema))


if __name__ == "__main__":
    main()
