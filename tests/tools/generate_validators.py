"""Writes `bayplan/_validators` from `schemas`: one module per format that accepts or refuses, and explains nothing.

Run it after every change of a schema: `python tests/tools/generate_validators.py`.
"""

from __future__ import annotations

import ast
import json
import os
import re

import fastjsonschema

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TARGET = os.path.join(ROOT, "generator", "bayplan", "_validators")
FORMATS = {
    "workflow": "workflow",
    "cluster-topology": "cluster_topology",
    "osmo-workflow": "osmo_workflow",
    "osmo-pool": "osmo_pool",
    "sbatch-script": "sbatch_script",
    "torchx-app": "torchx_app",
    "policy": "policy",
    "project": "project",
    "expand-workflows": "expand_workflows",
    "place-workloads": "place_workloads",
    "validate-workloads": "validate_workloads",
}
"""Schema file -> module."""

HEADER = '''"""Made from schemas/{schema}.json by tests/tools/generate_validators.py. Do not edit."""

# mypy: ignore-errors
from typing import Any

from bayplan._validators import Patterns, Refused, Word

REGEX_PATTERNS = Patterns(
{words})
'''

WORDS = (
    re.compile(r"\^\[([^]]+)\]\(\[([^]]+)\]\*\[([^]]+)\]\)\?\$"),  # ^[first]([middle]*[last])?$
    re.compile(r"\^\(\[([^]]+)\]\(\[([^]]+)\]\*\[([^]]+)\]\)\?\)\?\$"),  # the same, or nothing
    re.compile(r"\^\[([^]]+)\]\[([^]]+)\]\*\$"),  # ^[first][rest]*$
)


def characters(text: str) -> str:
    """What a character class holds: `-a-c` is `-abc`."""
    spans = re.findall(r"(.)-(.)|(.)", text)
    return "".join(one or "".join(map(chr, range(ord(low), ord(high) + 1))) for low, high, one in spans)


def words(patterns: list[str]) -> str:
    """The patterns that need no regular expression, as entries of a dict."""
    found = ((pattern, match) for pattern in patterns for match in [form.fullmatch(pattern) for form in WORDS] if match)
    lines = []
    for pattern, match in found:
        first, middle, *last = (characters(each) for each in match.groups())
        parts = (first, middle, *(last or [middle]))
        assert set(first) | set(parts[2]) <= set(middle), pattern
        empty = ", empty=True" if match.re is WORDS[1] else ""
        lines.append(f"    {pattern!r}: Word({', '.join(map(repr, parts))}{empty}),\n")
    return f"    {{\n{''.join(lines)}    }}\n"


def module(schema: str) -> str:
    """The text of the validator of a schema file."""
    with open(os.path.join(ROOT, "schemas", f"{schema}.json"), encoding="utf-8") as file:
        definition = json.load(file)
    code = fastjsonschema.compile_to_code(definition, use_default=False, use_formats=False, detailed_exceptions=False)
    body = code[code.index("NoneType = type(None)") :]
    body = re.sub(r"raise JsonSchemaValueException\(.*\)", "raise Refused", body)
    body = body.replace("(JsonSchemaValueException, JsonSchemaValuesException)", "Refused")
    body = body.replace("float, Decimal", "float")
    body = body.replace("custom_formats={}, name_prefix=None", "")
    body = re.sub(r", custom_formats, \(name_prefix or \"data\"\)[^\n]*\)$", ")", body, flags=re.MULTILINE)
    body = re.sub(r"^def (\w+)\(data, \):", r"def \1(data: Any) -> Any:", body, flags=re.MULTILINE)
    patterns = re.findall(r"^    ('.*'): re\.compile", code, flags=re.MULTILINE)
    header = HEADER.format(schema=schema, words=words([ast.literal_eval(each) for each in patterns]))
    return f"{header}\n{body.rstrip()}\n"


def main() -> None:
    """Write every module."""
    for schema, name in FORMATS.items():
        with open(os.path.join(TARGET, f"{name}.py"), "w", encoding="utf-8") as file:
            file.write(module(schema))


if __name__ == "__main__":
    main()
