"""The schema of OSMO workflows: what pydantic makes of OSMO's models, and how refusals are explained."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from referencing import Registry
from scenes import changed
from schema_test import mutants

from bayplan import schemas
from bayplan.core.diagnostics import KEY
from bayplan.report.codes import page as codes_page
from bayplan.schemas import explain
from random_osmo import DATA
from tools.effort import examples
from tools.run import ROOT

BASE: dict[str, Any] = {
    "workflow": {
        "name": "w",
        "tasks": [{"name": "a", "image": "i", "command": ["run"], "files": [{"path": "/a", "contents": "x"}]}],
        "resources": {"default": {"topology": [{"key": "rack"}]}},
        "timeout": {},
    }
}
W = ("workflow",)
T = ("workflow", "tasks", 0)
R = ("workflow", "resources", "default")
DAY = datetime.date(2024, 1, 31)

TAKEN: list[tuple[tuple[Any, ...], list[Any]]] = [
    ((*T, "image"), [5, 1.5, "example.com:5000/a/b:1@sha256:00", "r/{{workflow_id}}:{{ input:a }}"]),
    ((*T, "command"), [[5], [1.5, "x"], [""]]),
    ((*T, "args"), [[], [5], [""]]),
    ((*T, "environment"), [{}, {"A": 5, "B": True, "C": 0.5, "D": ""}]),
    ((*T, "exitActions"), [{}, {"COMPLETE": 5, "fail": "1-2"}]),
    ((*T, "credentials"), [{}, {"a": "/x", "b": 5, "c": True}, {"a": {"A": "k", "B": 5, "C": True}}, {"a": {}}]),
    ((*T, "lead"), [True, "true", "Yes", "on", "T", 1, 0, 1.0, "0"]),
    ((*T, "privileged"), ["no", False]),
    ((*T, "resource"), ["x", 5, ""]),
    ((*T, "inputs"), [[], [{"task": "a"}, {"task": "w-1:b"}, {"url": "s3://b", "regex": ""}]]),
    ((*T, "files"), [[], [{"path": 5, "contents": 5, "base64": "true"}]]),
    ((*T, "volumeMounts"), [[5], ["/a:/b"]]),
    ((*T, "checkpoint"), [[{"path": "/a", "url": "swift://h/n/c", "frequency": each}] for each in (5, 1.5, "5m")]),
    ((*T, "kpis"), [[{"index": 5, "path": 5}]]),
    ((*T, "downloadType"), ["download", None]),
    ((*T, "cacheSize"), ["50%", 5, None, ""]),
    ((*T, "resources"), [{}, {"cpu": 1}]),
    ((*T, "backend"), ["", "x", 5]),
    ((*R, "cpu"), [0, 1, 1.0, "1", " 1 ", "1.0", None]),
    ((*R, "gpu"), [8, None]),
    ((*R, "memory"), ["64Gi", 16, 1.5, None, "anything"]),
    ((*R, "platform"), ["", 5, None]),
    ((*R, "nodesExcluded"), [[], ["n", 5]]),
    ((*R, "topology"), [[], [{"key": "a", "group": "Any text!", "requirementType": "preferred"}]]),
    ((*W, "resources"), [{}, {"": {}}, {"any name": {}}]),
    ((*W, "timeout"), [{}, {"exec_timeout": None, "queue_timeout": 5}, {"exec_timeout": 1.5}]),
    ((*W, "labels"), [{}, {"a.b/c": "x"}, {str(number): "x" for number in range(16)}]),
    ((*W, "pool"), ["", "x"]),
    ((*W, "groups"), [[], [{"name": "g", "tasks": BASE["workflow"]["tasks"], "barrier": "no"}]]),
    ((*W, "tasks"), [[]]),
]
"""Path -> values that OSMO takes (pydantic 2.12 and the validators of OSMO 6.4, tried one by one)."""


@pytest.mark.parametrize(("path", "values"), TAKEN, ids=lambda each: str(each[-1]) if isinstance(each, tuple) else "")
def test_what_osmo_takes(path: tuple[Any, ...], values: list[Any]) -> None:
    for value in values:
        assert schemas.validate("OsmoWorkflow", changed(BASE, path, value), "workflow") == (), value


REFUSED: list[tuple[tuple[Any, ...], Any, str, str, str]] = [
    ((*T, "image"), True, "S202", "found true, expected a string or a number", "put it in quotes"),
    ((*T, "image"), None, "S202", "found null", ""),
    ((*T, "image"), DAY, "S202", "found the date 2024-01-31", "put it in quotes"),
    ((*T, "image"), "", "S206", "at least 1 character", ""),
    ((*T, "image"), "a b", "S206", "is not an image reference", ""),
    ((*T, "command"), "sleep", "S202", "expected a list", 'write a list: ["sleep"]'),
    ((*T, "command"), [], "S206", "at least 1 entry", ""),
    ((*T, "args"), [True], "S202", "found true", "put it in quotes"),
    ((*T, "args"), None, "S202", "found null, expected a list", ""),
    ((*T, "environment"), None, "S202", "found null, expected a mapping", "write {}"),
    ((*T, "environment"), {"A": None}, "S202", "found null", ""),
    ((*T, "environment"), {"1A": "x"}, "S206", "is not an environment variable", ""),
    ((*T, "environment"), {1: "x"}, "S202", "found the number 1 as a key", "quotes"),
    ((*T, "exitActions"), {"FAIL": None}, "S202", "found null", ""),
    ((*T, "credentials"), {"a": None}, "S202", "found null", ""),
    ((*T, "credentials"), {"a": {"A": []}}, "S202", "found a list", ""),
    ((*T, "lead"), None, "S202", "expected a boolean", ""),
    ((*T, "lead"), "maybe", "S206", "is not a flag", ""),
    ((*T, "lead"), 2, "S206", "expected 1 or less", ""),
    ((*T, "inputs"), {"task": "a"}, "S202", "expected a list", "begin each entry with a dash"),
    ((*T, "inputs"), [{"task": 5}], "S202", "found the number 5", ""),
    ((*T, "inputs"), [{"task": "a:b:c"}], "S206", "is not the name of a task", ""),
    ((*T, "inputs"), [{"url": "http://x"}], "S206", "is not a storage URL", ""),
    ((*T, "outputs"), [{}], "S204", 'missing key "url"', ""),
    ((*T, "outputs"), [{"url": "s3://b", "dataset": {}}], "S201", 'unknown key "dataset"', ""),
    ((*T, "files"), [{"path": "/a"}], "S204", 'missing key "contents"', ""),
    ((*T, "files"), [{"path": "/a", "contents": True}], "S202", "found true", "put it in quotes"),
    ((*T, "checkpoint"), [{"path": "/a", "url": "s3://b"}], "S204", 'missing key "frequency"', ""),
    (
        (*T, "checkpoint"),
        [{"path": "/a", "url": "s3://b", "frequency": True}],
        "S202",
        "found true, expected a string or a number",
        'for example: "10m"',
    ),
    ((*T, "downloadType"), "mount", "S206", 'expected "download"', ""),
    ((*T, "ports"), [80], "S201", 'unknown key "ports"', ""),
    ((*T, "name"), "a-", "S206", "is not an OSMO name", ""),
    ((*T, "name"), "a" * 65, "S206", "at most 64 characters", ""),
    ((*T, "name"), 5, "S202", "found the number 5", ""),
    ((*R, "cpu"), 0.5, "S202", "found the number 0.5, expected an integer", ""),
    ((*R, "cpu"), "500m", "S206", "is not an integer", ""),
    ((*R, "gpu"), True, "S202", "found true", ""),
    ((*R, "gpu"), -1, "S206", "expected 0 or more", ""),
    ((*R, "memory"), True, "S202", "found true", ""),
    ((*R, "topology"), [{}], "S204", 'missing key "key"', ""),
    ((*R, "topology"), [{"key": "a", "group": None}], "S202", "found null", ""),
    ((*R, "topology"), [{"key": "a", "requirementType": "Required"}], "S206", "expected", 'did you mean "required"?'),
    ((*W, "resources"), {"default": None}, "S202", "found null, expected a mapping", "write {}"),
    ((*W, "resources"), None, "S202", "found null", ""),
    ((*W, "timeout"), None, "S202", "found null", ""),
    ((*W, "timeout"), {"exec_timeout": True}, "S202", "found true", ""),
    ((*W, "timeout"), {"exec_timout": 5}, "S201", "unknown key", 'did you mean "exec_timeout"?'),
    ((*W, "labels"), {"a": 5}, "S202", "found the number 5", "put it in quotes"),
    ((*W, "labels"), {"a": ""}, "S206", "at least 1 character", ""),
    ((*W, "labels"), {"A.b/c": "x"}, "S206", "is not a label key", ""),
    ((*W, "labels"), {str(number): "x" for number in range(17)}, "S206", "at most 16 entries", ""),
    ((*W, "tasks"), None, "S202", "found null, expected a list", ""),
    ((*W, "groups"), [{"name": "g", "tasks": []}], "S206", "at least 1 entry", ""),
    (("version",), 2, "S201", 'unknown key "version"', ""),
]
"""Path, value, and code, words and hint of the only finding. OSMO refuses all of them but some numbers and images."""


@pytest.mark.parametrize(("path", "value", "code", "words", "hint"), REFUSED, ids=lambda each: str(each)[:30])
def test_what_is_refused(path: tuple[Any, ...], value: Any, code: str, words: str, hint: str) -> None:
    (only,) = schemas.validate("OsmoWorkflow", changed(BASE, path, value), "workflow")
    assert (only.code, only.severity) == (code, "error")
    assert words in only.message
    assert hint in only.hint
    assert bool(hint) or "quotes" not in only.hint
    assert only.route[: len(path) + 1] == ("workflow", *path)


@given(DATA.flatmap(mutants))
@settings(max_examples=examples(15, 80), deadline=None)
def test_both_engines_agree(data: Any) -> None:
    judge = explain._Validator(schemas.load("OsmoWorkflow"), registry=Registry())
    accepted = not list(judge.iter_errors(data))
    assert schemas.accepts("OsmoWorkflow", data) == accepted
    for each in schemas.validate("OsmoWorkflow", data, "workflow"):
        assert each.code != "S210"
        assert each.message.isprintable()
        here = data
        for step in [step for step in each.route[1:] if step != KEY]:
            here = here[step]


def names(node: Any) -> Iterator[str]:
    """Every property of a schema."""
    if isinstance(node, dict):
        yield from node.get("properties", ())
        for below in node.values():
            yield from names(below)


def test_the_page_says_what_becomes_of_every_field() -> None:
    page = (ROOT / "docs" / "reference" / "osmo.md").read_text(encoding="utf-8")
    reported = {part for word in re.findall(r"`([\w.\[\]]+)`", page) for part in re.split(r"[.\[\]]+", word)}
    assert set(names(schemas.load("OsmoWorkflow"))) - reported == set()
    own, of_pools = codes_page("w_osmo.md"), codes_page("w_osmo_pool.md")
    assert set(re.findall(r"W4\d\d", page)) <= {*own, *of_pools}
    assert set(re.findall(r"W44\d|W45\d", page)) == {code for code in own if "W440" < code < "W460"}
