"""The text report: places, snippets, underlines, notes, escapes, order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.core.diagnostics import AT, KEY, Diagnostic, Note, Route, error, info, warning
from bayplan.report import Batch
from bayplan.report.findings import WIDEST, Place, escape, excerpt, findings
from bayplan.report.formats import render, summary
from bayplan.text.document import Document

TEXT = """\
kind: Workflow
spec:
  gangs:
  - name: train
    placement: {required: spine}
"""
WORKFLOW = Document("workflow.yaml", TEXT, 0, None)
TOPOLOGY = Document("topology.yaml", "kind: ClusterTopology\nspec: {pools: []}\n", 0, None)
SOURCES = {"workflow": WORKFLOW, "topology": TOPOLOGY}
PLACEMENT: Route = ("workflow", "spec", "gangs", 0, "placement")


def text(*found: Diagnostic, sources: dict[str, Document] = SOURCES) -> str:
    """The text report of diagnostics on the two documents."""
    return render(findings([Batch(found, sources)]), "text")


def test_a_finding_with_everything() -> None:
    found = error(
        "P501",
        (*PLACEMENT, "required"),
        'gang "train" does not fit',
        notes=(Note("here are none", ("topology", "spec", "pools")), Note("and nowhere else")),
        hint="add some",
    )
    assert text(found) == (
        'workflow.yaml:5:27: error[P501]: gang "train" does not fit\n'
        "    5 |     placement: {required: spine}\n"
        "      |                           ^~~~~\n"
        "  note: topology.yaml:2:15: here are none\n"
        "  note: and nowhere else\n"
        "  hint: add some\n"
    )


@pytest.mark.parametrize(
    ("route", "place"),
    [
        pytest.param((*PLACEMENT, "required", KEY), "workflow.yaml:5:17", id="key"),
        pytest.param(("workflow", "spec", "gangs", 0), "workflow.yaml:4:5", id="block"),
        pytest.param((*PLACEMENT, "preferred"), "workflow.yaml:5:5", id="not there"),
        pytest.param(("workflow",), "workflow.yaml:1:1", id="document"),
        pytest.param(("workflow", AT, 2, 3), "workflow.yaml:2:3", id="marker"),
        pytest.param(("workflow", AT, 99, 1), "workflow.yaml:99:1", id="beyond the end"),
        pytest.param(("argument", "--target"), "bayplan", id="argument"),
        pytest.param((), "bayplan", id="run"),
        pytest.param(("policy", "spec"), "bayplan", id="unknown subject"),
    ],
)
def test_places(route: Route, place: str) -> None:
    assert text(error("S201", route, "wrong")).startswith(f"{place}: error[S201]: wrong\n")


def test_a_file_that_could_not_be_read_has_no_line() -> None:
    sources = {"workflow": Document("gone.yaml", "", 0, None)}
    assert text(error("R101", ("workflow",), "gone"), sources=sources) == "gone.yaml: error[R101]: gone\n"


def test_findings_are_sorted_by_place_and_each_is_said_once() -> None:
    late, early = error("S201", (*PLACEMENT, "required"), "late"), info("S202", ("workflow", "kind"), "early")
    other, run = warning("T404", ("topology", "kind"), "other"), error("A921", (), "run")
    twins = (error("S204", ("workflow", "kind"), "twin"), error("S204", ("workflow", "kind"), "twin"))
    batches = [Batch((late, early, *twins), SOURCES), Batch((run, other), SOURCES)]
    assert [each.message for each in findings(batches)] == ["run", "other", "early", "twin", "late"]


def test_origins_lead_to_the_source_by_their_longest_prefix() -> None:
    origins = {
        "workflow": {
            ("workflow", "spec"): ("workflow", "kind"),
            ("workflow", "spec", "gangs", 3): ("workflow", "spec", "gangs", 0),
        }
    }
    found = error("W301", ("workflow", "spec", "gangs", 3, "placement", "required"), "here")
    (only,) = findings([Batch((found,), SOURCES, origins)])
    assert only.place is not None
    assert only.place[1:3] == (5, 27)


@pytest.mark.parametrize(
    ("source", "column", "end", "underline"),
    [
        pytest.param("a: bcd", 4, 7, "   ^~~", id="plain"),
        pytest.param("\ta: b", 5, 6, "       ^", id="tab"),
        pytest.param("a: \t bc", 6, 8, "        ^~", id="tab inside"),
        pytest.param("键: 值值", 4, 6, "    ^~~~", id="wide"),
        pytest.param("e\u0301: x", 5, 6, "   ^", id="combining"),
        pytest.param("a: \x1b[31mx", 4, 10, "   ^~~~~~", id="escape sequence"),
        pytest.param("a: b", 5, 6, "    ^", id="after the end"),
        pytest.param("a: b", 4, 4, "   ^", id="empty"),
    ],
)
def test_underlines_stand_below_what_they_mean(source: str, column: int, end: int, underline: str) -> None:
    assert excerpt(Place("f", 1, column, 1, end, source))[1] == underline


def test_a_piece_of_several_lines_is_underlined_to_the_end_of_its_first() -> None:
    assert excerpt(Place("f", 1, 4, 3, 2, "a: {b,   ")) == ("a: {b,", "   ^~~")


def test_very_long_lines_are_cut_around_the_place() -> None:
    shown, underline = excerpt(Place("f", 1, 5001, 1, 5004, "x" * 5000 + "abc" + "y" * 5000))
    assert shown.startswith("...x")
    assert shown.endswith("y...")
    assert shown[underline.index("^") :].startswith("abcy")
    assert underline.strip() == "^~~"
    assert len(shown) == WIDEST + 6


@given(st.text(), st.integers(1, 300), st.integers(0, 300))
def test_no_text_breaks_a_snippet(source: str, column: int, length: int) -> None:
    shown, underline = excerpt(Place("f", 1, column, 1, column + length, source))
    assert shown.replace("\u00a0", " ").isprintable()
    assert set(underline) <= {" ", "^", "~"}
    assert underline.count("^") == 1


def test_control_characters_are_escaped() -> None:
    assert escape("a\x1b[31mb\nc\u202ed\udcffe") == r"a\x1b[31mb\nc\u202ed\udcffe"
    found = error("S201", (), 'unknown key "\x1b]0;x\x07"', hint="\r")
    assert render(findings([Batch((found,))]), "text") == (
        'bayplan: error[S201]: unknown key "\\x1b]0;x\\x07"\n  hint: \\r\n'
    )


def test_colours_are_the_callers() -> None:
    shown = render(
        findings([Batch((error("S201", PLACEMENT, "m"),), SOURCES)]), "text", lambda role, t: f"<{role} {t}>"
    )
    assert shown.startswith("<place workflow.yaml:5:16>: <error error[S201]:> m\n<gutter     5 | >    placement")


@pytest.mark.parametrize(
    ("severities", "line"),
    [((), ""), (("error",), "1 error"), (("warning", "error", "warning", "info"), "1 error, 2 warnings, 1 info")],
)
def test_summary(severities: tuple[str, ...], line: str) -> None:
    found = [Diagnostic("S201", severity, str(n), ()) for n, severity in enumerate(severities)]  # type: ignore[arg-type]
    assert summary(findings([Batch(tuple(found))])) == line
