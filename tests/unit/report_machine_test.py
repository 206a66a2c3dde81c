"""The reports that programs read: json, GitHub's workflow commands, SARIF."""

from __future__ import annotations

import json
import re
import tracemalloc
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from bayplan.core.diagnostics import AT, Note, error, info, warning
from bayplan.report import FORMATS, Batch
from bayplan.report.codes import sections, title
from bayplan.report.findings import Finding, findings
from bayplan.report.formats import render, uri
from bayplan.text.document import Document
from tools.run import bayplan

SOURCES = {"workflow": Document("jobs/my workflow.yaml", "kind: Workflow\nspec: {queue: a}\n", 0, None)}
QUEUE = ("workflow", "spec", "queue")
FOUND = findings(
    [
        Batch(
            (
                error("S201", QUEUE, "50% wrong,\nreally", notes=(Note("see", ("workflow", "kind")),), hint="mend: it"),
                warning("A907", ("argument", "--target"), "new"),
                info("P508", ("workflow",), "unused"),
            ),
            SOURCES,
        )
    ]
)


def data(form: str, found: tuple[Finding, ...] = FOUND) -> Any:
    """The report as data."""
    return json.loads(render(found, form))


def test_json() -> None:
    report = data("json")
    assert report["summary"] == {"errors": 1, "warnings": 1, "infos": 1}
    assert [each["code"] for each in report["diagnostics"]] == ["A907", "P508", "S201"]
    assert report["diagnostics"][2] == {
        "code": "S201",
        "title": title("S201"),
        "severity": "error",
        "message": "50% wrong,\nreally",
        "file": "jobs/my workflow.yaml",
        "line": 2,
        "column": 15,
        "endLine": 2,
        "endColumn": 16,
        "notes": [
            {"message": "see", "file": "jobs/my workflow.yaml", "line": 1, "column": 7, "endLine": 1, "endColumn": 15}
        ],
        "hint": "mend: it",
    }
    assert report["diagnostics"][0]["file"] is None


def test_json_and_sarif_are_whole_without_findings() -> None:
    assert data("json", ()) == {"diagnostics": [], "summary": {"errors": 0, "warnings": 0, "infos": 0}}
    assert data("sarif", ())["runs"][0]["results"] == []
    assert render((), "text") == render((), "github") == ""


def test_github() -> None:
    said = "50%25 wrong,%0Areally%0Anote: jobs/my workflow.yaml:1:7: see%0Ahint: mend: it"
    lines = render(FOUND, "github").splitlines()
    assert lines == [
        f"::warning title=A907 {title('A907')}::new",
        f"::notice file=jobs/my workflow.yaml,line=1,endLine=1,col=1,endColumn=5,title=P508 {title('P508')}::unused",
        f"::error file=jobs/my workflow.yaml,line=2,endLine=2,col=15,endColumn=16,title=S201 {title('S201')}::{said}",
    ]


def test_github_escapes_what_would_end_a_property_or_the_command() -> None:
    sources = {"workflow": Document("a,b:c%.yaml", "", 0, None)}
    (line,) = render(findings([Batch((error("R101", ("workflow",), "::x\r"),), sources)]), "github").splitlines()
    assert line.startswith("::error file=a%2Cb%3Ac%25.yaml,title=R101")
    assert line.endswith("::::x\\r")


REGION = {
    "type": "object",
    "required": ["startLine", "startColumn", "endLine", "endColumn"],
    "additionalProperties": False,
    "patternProperties": {"^(start|end)(Line|Column)$": {"type": "integer", "minimum": 1}},
}
LOCATION = {
    "type": "object",
    "required": ["physicalLocation"],
    "properties": {
        "physicalLocation": {
            "type": "object",
            "required": ["artifactLocation", "region"],
            "properties": {
                "artifactLocation": {
                    "type": "object",
                    "required": ["uri"],
                    "properties": {"uri": {"type": "string", "pattern": "^[A-Za-z0-9._~/%-]+$"}},
                },
                "region": REGION,
            },
        }
    },
}
WORDS = {"type": "object", "required": ["text"], "properties": {"text": {"minLength": 1, "maxLength": 1024}}}
RULE = {
    "type": "object",
    "required": ["id", "shortDescription", "fullDescription", "help"],
    "properties": {
        "id": {"type": "string"},
        "shortDescription": WORDS,
        "fullDescription": WORDS,
        "help": {"type": "object", "required": ["text", "markdown"]},
    },
}
SARIF = {
    "type": "object",
    "required": ["$schema", "version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "maxItems": 1,
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "properties": {
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name", "version", "rules"],
                                "properties": {"rules": {"type": "array", "items": RULE}},
                            }
                        },
                    },
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints"],
                            "properties": {
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "message": {"type": "object", "required": ["text"]},
                                "locations": {"type": "array", "minItems": 1, "maxItems": 10, "items": LOCATION},
                                "relatedLocations": {
                                    "type": "array",
                                    "items": {**LOCATION, "required": ["id", "message", "physicalLocation"]},
                                },
                                "partialFingerprints": {
                                    "type": "object",
                                    "required": ["primaryLocationLineHash"],
                                    "additionalProperties": {"type": "string", "pattern": "^[0-9a-f]+:[0-9]+$"},
                                },
                            },
                        },
                    },
                },
            },
        },
    },
}
"""The parts of the SARIF 2.1.0 schema (OASIS) that the report uses, with what GitHub requires of them.

Source: GitHub, "SARIF support for code scanning", supported SARIF output file properties. It requires more than OASIS:
a location with a region for each result, help for each rule, and fingerprints.
"""


@pytest.mark.parametrize("found", [FOUND, ()], ids=["findings", "none"])
def test_sarif_has_its_shape(found: tuple[Finding, ...]) -> None:
    log = data("sarif", found)
    jsonschema.validate(log, SARIF)
    run = log["runs"][0]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert [rules[result["ruleIndex"]] for result in run["results"]] == [each.code for each in found]


def test_sarif_levels_and_places() -> None:
    results = data("sarif")["runs"][0]["results"]
    assert [result["level"] for result in results] == ["warning", "note", "error"]
    own = results[0]["locations"][0]["physicalLocation"]
    assert own == {
        "artifactLocation": {"uri": "bayplan.yaml"},
        "region": {"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 1},
    }
    place = results[2]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "jobs/my%20workflow.yaml"
    assert place["region"] == {"startLine": 2, "startColumn": 15, "endLine": 2, "endColumn": 16}
    assert results[2]["relatedLocations"][0]["message"] == {"text": "see"}


def test_paths_are_those_from_the_root_of_the_repository(tmp_path: Path) -> None:
    """Also for a run in a folder of the repository, and for files that are named from elsewhere."""
    (tmp_path / ".git").mkdir()
    folder = tmp_path / "team" / "jobs"
    folder.mkdir(parents=True)
    for path in (folder / "a.yaml", tmp_path / "b.yaml"):
        path.write_text("kind: Workflow\n")
    words = ("a.yaml", "../../b.yaml", str(tmp_path / "b.yaml"))
    uris = []
    for word in words:
        log = json.loads(bayplan("check", word, "--diagnostics", "sarif", cwd=folder).stdout)
        for each in json.loads(bayplan("check", word, "--diagnostics", "gitlab", cwd=folder).stdout):
            assert each["location"]["path"] in ("team/jobs/a.yaml", "b.yaml")
        for line in bayplan("check", word, "--diagnostics", "github", cwd=folder).stdout.splitlines():
            assert re.match("::[a-z]+ file=(team/jobs/a|b).yaml,", line)
        uris += [_uri(each) for each in log["runs"][0]["results"]]
    assert set(uris) == {"team/jobs/a.yaml", "b.yaml"}
    done = bayplan("render", "a.yaml", "--target", "kai", "--diagnostics", "sarif", cwd=folder)
    results = json.loads(done.stderr)["runs"][0]["results"]
    assert {_uri(each) for each in results} == {"team/jobs/a.yaml"}, (
        "findings on the command line are at its first file"
    )


def _uri(result: dict[str, Any]) -> str:
    return str(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])


def test_every_code_has_help_that_github_shows() -> None:
    report = data("sarif", findings([Batch(tuple(error(code, ("workflow",), "a") for code in sections()), SOURCES)]))
    jsonschema.validate(report, SARIF)
    rules = report["runs"][0]["tool"]["driver"]["rules"]
    assert {rule["id"] for rule in rules} == set(sections())
    assert not [rule["id"] for rule in rules if "](" in rule["help"]["markdown"]]


def test_gitlab() -> None:
    """GitLab shows findings with equal fingerprints as one, and needs a line and a path for each."""
    assert data("gitlab", ()) == []
    report = data("gitlab")
    assert [(each["check_name"], each["severity"]) for each in report] == [
        ("A907", "minor"),
        ("P508", "info"),
        ("S201", "major"),
    ]
    assert report[0]["location"] == {"path": "bayplan.yaml", "lines": {"begin": 1}}
    assert report[2] == {
        "description": "S201: 50% wrong,\nreally\nnote: jobs/my workflow.yaml:1:7: see\nhint: mend: it",
        "check_name": "S201",
        "fingerprint": report[2]["fingerprint"],
        "severity": "major",
        "location": {"path": "jobs/my workflow.yaml", "lines": {"begin": 2}},
    }
    assert len({each["fingerprint"] for each in data("gitlab", FOUND * 3)}) == 3 * len(FOUND)


def test_a_fingerprint_stays_when_its_line_moves() -> None:
    def prints(text: str, *paths: str) -> list[str]:
        source = {"workflow": Document("a.yaml", text, 0, None)}
        found = findings([Batch(tuple(error("S201", ("workflow", path), "a") for path in paths), source)])
        results = data("sarif", found)["runs"][0]["results"]
        return [each["partialFingerprints"]["primaryLocationLineHash"] for each in results]

    (before,) = prints("a: 1\nb: 2\n", "b")
    assert prints("c: 3\n\na: 1\nb: 2\n", "b") == [before]
    assert prints("a: 1\nb: 2\n", "a") != [before]
    assert len(set(prints("{a: 1, b: 2}\n", "a", "b"))) == 2


@pytest.mark.parametrize(
    ("file", "expected"),
    [("a/b.yaml", "a/b.yaml"), ("<stdin>", "%3Cstdin%3E"), ("ü%.yaml", "%C3%BC%25.yaml"), ("x\udcff", "x%FF")],
)
def test_uri(file: str, expected: str) -> None:
    assert uri(file) == expected


@pytest.mark.parametrize("form", FORMATS)
def test_hostile_texts_break_no_format(form: str) -> None:
    sources = {"workflow": Document("\x1b\udcff.yaml", "kind: a\n", 0, None)}
    found = findings([Batch((error("S201", ("workflow", "kind"), "\x1b\udcff\u2028\x00\n::error::"),), sources)])
    text = render(found, form)
    assert text.encode().decode() == text
    assert text.replace("\n", "").isprintable()
    assert "\n::error" not in text


def test_many_findings_in_one_long_line_take_little_memory() -> None:
    text = json.dumps(["a"] * 20_000)
    document = Document("a.json", text, 0, None)
    many = tuple(warning("W301", ("workflow", AT, 1, 1 + column), "wrong") for column in range(1000))
    tracemalloc.start()
    try:
        assert len(findings([Batch(many, {"workflow": document})])) == 1000
        assert tracemalloc.get_traced_memory()[1] < 10 * len(text)
    finally:
        tracemalloc.stop()
