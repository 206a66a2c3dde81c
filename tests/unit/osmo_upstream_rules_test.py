"""OSMO's own files by schema and rules: which are refused and why, and what the others are told."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import pytest

from bayplan import schemas
from bayplan.core.diagnostics import Diagnostic, Outcome
from bayplan.model.formats import Source
from bayplan.plugins.osmo import rules, text
from osmo_texts import EXAMPLES, in_this_process

FILES = {file.stem: file for file in sorted(EXAMPLES.glob("*.yaml"))}

pytestmark = pytest.mark.skipif(not FILES, reason="OSMO's files are not here")

GIVEN = {"storage_url": "s3://bucket/data", "num_gpu": "2", "epochs": "1", "batch_size": "1", "platform": "x"}
"""What the files leave to `--set`."""

UNREAD = {"test__workflow__template_unsafe"}
"""Refused before there are data."""

FIXTURES = "skills__osmo-user__evals__files"
REFUSED: dict[str, list[tuple[str, tuple[Any, ...]]]] = {
    f"{FIXTURES}__fixtures__default__workflow_spec_private_image": [("S202", ("tasks", 0, "outputs", 0, "url"))],
    f"{FIXTURES}__jinja_workflow": [("S201", ("default-values",))],
    "test__workflow__bad_command": [("S206", ("tasks", 0, "command"))],
    "test__workflow__empty_command": [("S204", ("tasks", 0))],
    "test__workflow__scripts__app_spec": [("S202", ("tasks", 0, "command"))],
}
"""File -> codes and places of the errors."""

TOLD = {"W441": 34, "W432": 16, "W451": 5}
"""Code -> the number of files that it is found in; each says it once."""


@cache
def findings(name: str) -> tuple[Diagnostic, ...]:
    """What schema and rules say of a file."""
    source = Source("", GIVEN, lambda path: Outcome(b"x\n"), in_this_process)
    found = text.read("w.yaml", FILES[name].read_bytes(), "workflow", source)
    assert found.value is not None, found.diagnostics
    (document,) = found.value
    refused = schemas.validate("OsmoWorkflow", document.data, "workflow")
    return refused or tuple(rules.check(document.data))


@pytest.mark.parametrize("name", [name for name in FILES if name not in UNREAD])
def test_only_what_osmo_refuses_is_refused(name: str) -> None:
    errors = [each for each in findings(name) if each.severity == "error"]
    places = [(each.code, tuple(step for step in each.route[2:] if step != "\x00key")) for each in errors]
    assert places == REFUSED.get(name, [])


def test_what_the_others_are_told() -> None:
    reported = Counter(each.code for name in FILES if name not in UNREAD | set(REFUSED) for each in findings(name))
    assert reported == TOLD
