"""Strings of the schemas: their patterns take no line breaks and no control characters, or a table says why not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from re import _constants as opcodes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from bayplan import schemas
from bayplan.report.codes import sections

CONTROLS = (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)
"""The control characters of Unicode, and its line and paragraph separators."""

DATA = "text of any lines and characters; bayplan quotes it wherever it writes it"
NAMED = "it selects something by its name, or is compared with one; bayplan does not write it"
UNUSED = "bayplan does not write it"
PARSED = "the reader of the format parses it, and reports what it does not understand"

FREE: dict[str, str] = {
    **dict.fromkeys(
        (
            "cluster-topology /spec/schedulers/slurm/sbatch/variables/*",
            "cluster-topology rail/selectors/items",
            "cluster-topology template/metadata/annotations/*",
            "cluster-topology env/*",
            "osmo-pool variables/*",
            "osmo-workflow text",
            "osmo-workflow task/environment/*",
            "osmo-workflow task/credentials/*",
            "osmo-workflow input/regex",
            "osmo-workflow output/regex",
            "osmo-workflow checkpoint/regex",
            "osmo-workflow checkpoint/path",
            "project output/set/*",
            "torchx-app text",
            "torchx-app role/entrypoint",
            "torchx-app mount/src_path",
            "torchx-app mount/dst_path",
            "workflow accelerator/selectors/items",
            "workflow annotations/*",
            "workflow matrix/*/items",
            "workflow matrix/rows/items/*",
            "workflow probe/grpc/service",
            "workflow probe/httpGet/httpHeaders/items/value",
            "workflow variable",
            "workflow volume/csi/volumeAttributes/*",
            "workflow words/items",
            "workflow pattern",
            "workflow content",
            "workflow content/base64",
            "workflow texts/items",
            "workflow template/metadata/annotations/*",
        ),
        DATA,
    ),
    **dict.fromkeys(
        (
            "expand-workflows text",
            "place-workloads text",
            "validate-workloads text",
            "osmo-pool pool/name",
            "osmo-pool pool/default_platform",
            "osmo-pool topologyKey/key",
            "osmo-pool containers/items/name",
            "osmo-pool names/items",
            "osmo-workflow key",
            "osmo-workflow /workflow/resources/propertyNames",
            "osmo-workflow resource/platform",
            "osmo-workflow requirement/key",
            "osmo-workflow requirement/group",
            "torchx-app resource/devices/propertyNames",
            "workflow mark",
        ),
        NAMED,
    ),
    **dict.fromkeys(
        (
            "expand-workflows /metadata/name",
            "expand-workflows /metadata/namespace",
            "place-workloads /metadata/name",
            "place-workloads /metadata/namespace",
            "validate-workloads /metadata/name",
            "validate-workloads /metadata/namespace",
            "osmo-pool pool/description",
            "osmo-pool pool/backend",
            "osmo-pool platform/description",
            "osmo-pool rule/assert_message",
            "osmo-pool backend/k8s_namespace",
            "osmo-pool backend/scheduler_settings/scheduler_name",
            "osmo-pool groupTemplate/apiVersion",
            "osmo-pool groupTemplate/kind",
            "osmo-pool groupTemplate/metadata/name",
            "osmo-workflow /workflow/pool",
            "osmo-workflow /workflow/backend",
            "torchx-app role/base_image",
            "torchx-app role/workspace",
            "torchx-app role/port_map/propertyNames",
            "workflow matrix/file",
        ),
        UNUSED,
    ),
    **dict.fromkeys(
        (
            "osmo-pool pool/default_exit_actions/*",
            "osmo-pool rule/operator",
            "osmo-pool rule/left_operand",
            "osmo-pool rule/right_operand",
            "osmo-pool duration",
            "osmo-workflow amount",
            "osmo-workflow duration",
            "osmo-workflow task/exitActions/*",
            "osmo-workflow task/cacheSize",
            "osmo-workflow checkpoint/frequency",
            "sbatch-script /sbatch/name",
            "sbatch-script /sbatch/interpreter",
            "sbatch-script /sbatch/comments",
            "sbatch-script /sbatch/variables/*",
            "sbatch-script word/text",
            "sbatch-script body/text",
            "torchx-app /name",
            "torchx-app role/name",
        ),
        PARSED,
    ),
    "cluster-topology hostlist": "T412",
    "cluster-topology path": "T412",
    "cluster-topology labelText": "T412",
    "osmo-pool topologyKey/label": "T412",
    "cluster-topology template/metadata/labels/*": "W313",
    "osmo-workflow task/credentials/*/*": "W453",
    "project path": "A929",
    "torchx-app role/image": "S206",
    "torchx-app mount/src": "W598",
    "workflow template/metadata/labels/*": "W598",
}
"""Strings without a pattern, and why they need none: a reason, or the code of the check that refuses other values."""


def kinds() -> list[str]:
    """The schemas that bayplan checks documents by."""
    return sorted(schemas.SCHEMAS)


def strings(node: Any, path: str) -> Iterator[str]:
    """The paths of the strings without a pattern, an enumeration or a constant."""
    if isinstance(node, list):
        for each in node:
            yield from strings(each, path)
    if not isinstance(node, dict):
        return
    types = node.get("type", ())
    if "string" in ([types] if isinstance(types, str) else types) and not node.keys() & {"pattern", "enum", "const"}:
        yield path
    for key, value in node.items():
        if key in ("properties", "definitions"):
            for name, each in value.items():
                yield from strings(each, name if key == "definitions" else f"{path}/{name}")
        elif key in ("items", "propertyNames", "additionalProperties"):
            yield from strings(value, f"{path}/{'*' if key == 'additionalProperties' else key}")
        elif key in ("anyOf", "oneOf", "allOf", "then", "else"):
            yield from strings(value, path)


def patterns(node: Any) -> Iterator[str]:
    """All patterns of a schema."""
    if isinstance(node, dict):
        if isinstance(node.get("pattern"), str):
            yield node["pattern"]
        yield from node.get("patternProperties", {})
        for value in node.values():
            yield from patterns(value)
    elif isinstance(node, list):
        for value in node:
            yield from patterns(value)


@pytest.mark.parametrize("kind", kinds())
def test_a_string_without_a_pattern_has_a_reason(kind: str) -> None:
    """A field that ends in one line of an output has the type `line`, or a narrower pattern."""
    name = schemas.SCHEMAS[kind]
    listed = {path.partition(" ")[2] for path in FREE if path.startswith(f"{name} ")}
    assert listed == set(strings(schemas.load(kind), ""))


def test_reasons_that_are_codes() -> None:
    codes = {reason for reason in FREE.values() if re.fullmatch("[A-Z][0-9]{3}", reason)}
    assert codes <= sections().keys()
    assert {*FREE.values()} - codes == {DATA, NAMED, UNUSED, PARSED}


def classes(tree: Any) -> Iterator[Callable[[int], bool]]:
    """For each character of a parsed pattern, whether it may be a given one."""
    for operation, argument in tree:
        if operation is opcodes.LITERAL:
            yield argument.__eq__
        elif operation is opcodes.NOT_LITERAL:
            yield argument.__ne__
        elif operation is opcodes.ANY:
            yield lambda code: code != ord("\n")
        elif operation is opcodes.IN:
            yield lambda code, items=argument: contains(items, code)
        elif operation is opcodes.BRANCH:
            for branch in argument[1]:
                yield from classes(branch)
        elif operation is opcodes.SUBPATTERN:
            yield from classes(argument[3])
        elif operation in (opcodes.MAX_REPEAT, opcodes.POSSESSIVE_REPEAT):
            yield from classes(argument[2])
        elif operation is opcodes.ATOMIC_GROUP:
            yield from classes(argument)
        else:
            assert operation is opcodes.AT, operation


def contains(items: Any, code: int) -> bool:
    """Whether a class of a pattern has the character."""
    literals = [each for operation, each in items if operation is opcodes.LITERAL]
    ranges = [each for operation, each in items if operation is opcodes.RANGE]
    negated = items[0][0] is opcodes.NEGATE
    assert len(literals) + len(ranges) + negated == len(items), "a category such as \\w"
    return (code in literals or any(first <= code <= last for first, last in ranges)) is not negated


@pytest.mark.parametrize("kind", kinds())
def test_patterns_take_no_control_characters(kind: str) -> None:
    for pattern in sorted({*patterns(schemas.load(kind))}):
        assert pattern.startswith("^"), pattern
        assert pattern.endswith("$"), pattern
        for taken in classes(parser.parse(pattern)):
            assert not [hex(code) for code in CONTROLS if taken(code)], pattern
