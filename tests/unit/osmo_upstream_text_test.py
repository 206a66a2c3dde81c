"""OSMO's own files: what they render to is what Jinja and PyYAML make of them, in OSMO's steps."""

from __future__ import annotations

import re
from typing import Any

import jinja2
import jinja2.sandbox
import pytest
import yaml

from bayplan.core.diagnostics import Outcome
from bayplan.model.formats import Source
from bayplan.plugins.osmo import text
from bayplan.plugins.osmo.workflow import claims
from osmo_texts import EXAMPLES, in_this_process

FILES = sorted(EXAMPLES.glob("*.yaml"))
UNSAFE = "test__workflow__template_unsafe"
SECTION = re.compile(r"^([a-zA-Z][a-zA-Z0-9_-]*):", re.MULTILINE)
TOKEN = re.compile(r"{{(uuid|workflow_id|output|input:[^}]+|host:[^}]+)}}")

pytestmark = pytest.mark.skipif(not FILES, reason="OSMO's files are not here")


def sections(file: str) -> dict[str, str]:
    keys = list(SECTION.finditer(file))
    ends = [*(key.start() for key in keys[1:]), len(file)]
    return {key[1]: file[key.start() : end] for key, end in zip(keys, ends, strict=True)}


def by_hand(file: str, given: dict[str, Any]) -> str:
    """The workflow's section, rendered in this process."""
    parts = sections(file)
    if not any(marker in file for marker in ("{%", "{{", "{#", "default-values")):
        return parts["workflow"]
    defaults = yaml.safe_load(parts.get("default-values", "default-values:"))["default-values"] or {}
    template, tokens = parts["workflow"], {}
    for number, field in enumerate(dict.fromkeys(TOKEN.findall(template))):
        tokens[f"token{number}"] = f"{{{{{field}}}}}"
        template = template.replace(f"{{{{{field}}}}}", f"{{{{token{number}}}}}")
    env = jinja2.sandbox.SandboxedEnvironment(undefined=jinja2.StrictUndefined)
    return env.from_string(template).render({**defaults, **given, **tokens})


def with_contents(data: Any) -> Any:
    """Texts for keys, and contents for every localpath."""
    if isinstance(data, list):
        return [with_contents(item) for item in data]
    if not isinstance(data, dict):
        return data
    pairs = {str(key): with_contents(value) for key, value in data.items()}
    return {k: v for k, v in pairs.items() if k != "localpath"} | ({"contents": "x\n"} if "localpath" in pairs else {})


def read(raw: bytes, given: dict[str, Any]) -> Outcome[Any]:
    return text.read("w.yaml", raw, "workflow", Source("", given, lambda path: Outcome(b"x\n"), in_this_process))


@pytest.mark.parametrize("name", [file.stem for file in FILES])
def test_a_file_is_read_as_osmo_reads_it(name: str) -> None:
    raw = (EXAMPLES / f"{name}.yaml").read_bytes()
    assert claims(raw.decode())
    first = read(raw, {})
    if name == UNSAFE:
        assert [each.code for each in first.diagnostics] == ["R127"]
        return
    names = {each.message.split('"')[1] for each in first.diagnostics if each.code == "R126"}
    given = dict.fromkeys(names, "given")
    found = read(raw, given) if names else first
    assert found.diagnostics == ()
    assert found.value is not None
    (document,) = found.value
    wanted = by_hand(raw.decode(), given)
    assert document.source_map.text.lstrip("\n") == wanted
    assert document.data == with_contents(yaml.safe_load(wanted))


def test_all_of_them_are_here() -> None:
    assert len(FILES) == 74
