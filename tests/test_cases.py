"""Failing cases for every diagnostic: `tests/cases/<CODE>-<slug>/command` is run in its folder, with its `stdin` if
there is one, and prints what `golden/diagnostics/<case>.txt` says. Every code has a section of the documentation, which
declares it, and a case.

`python tests/tools/refresh_golden.py` rewrites the golden files; read the diff.
"""

from __future__ import annotations

import ast
import re

import pytest

from bayplan.report.codes import sections
from tools import cases
from tools.cases import NAMES
from tools.run import ROOT

GOLDEN = ROOT / "golden" / "diagnostics"


def code_of(case: str) -> str:
    """`R101-missing` -> `R101`."""
    return case.partition("-")[0]


@pytest.mark.parametrize("code", dict.fromkeys(map(code_of, NAMES)))
def test_cases_of_a_code(code: str) -> None:
    for case in (name for name in NAMES if code_of(name) == code):
        answer = cases.run(case)
        assert answer.code in {0, 1, 2}, answer.err
        assert f"[{code}]" in answer.out + answer.err, answer
        assert cases.report(case, answer) == (GOLDEN / f"{case}.txt").read_text(encoding="utf-8"), case


def test_no_golden_is_an_orphan() -> None:
    assert sorted(path.stem for path in GOLDEN.glob("*")) == NAMES


def covered() -> set[str]:
    """The codes that tests cover which are no files, from `COVERS = {...}` at the top of their modules."""
    found: set[str] = set()
    for path in sorted([*(ROOT / "tests").rglob("*_test.py"), *(ROOT / "tests").rglob("test_*.py")]):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "COVERS":
                found |= set(ast.literal_eval(node.value))
    return found


def emitted() -> set[str]:
    """The codes that the source names."""
    paths = [*(ROOT / "generator").rglob("*.py"), *(ROOT / "generator").rglob("support.yaml")]
    texts = (path.read_text(encoding="utf-8") for path in paths)
    return {match for text in texts for match in re.findall(r'(?:"|code: )([RSWTPFMOA][1-9]\d\d)\b', text)}


def test_every_code_has_one_section_in_order_on_a_page_of_its_letter() -> None:
    declared: list[str] = []
    for path in sorted((ROOT / "docs" / "reference" / "diagnostics").glob("*.md")):
        headings = re.findall(r"^##.*", path.read_text("utf-8"), re.MULTILINE)
        assert [line for line in headings if not re.match(rf"## {path.name[0].upper()}\d\d\d: \S", line)] == []
        assert headings == sorted(headings)
        declared += [line[3:7] for line in headings]
    assert sorted(declared) == sorted(sections())


def test_codes_are_few() -> None:
    """A code is what a user looks up: extend the section of one that says what to do."""
    assert len(sections()) <= 391


def test_every_code_has_a_case() -> None:
    assert sorted({code_of(case) for case in NAMES} | covered()) == sorted(sections())


def test_every_code_is_used_and_every_used_code_is_listed() -> None:
    assert sorted(emitted()) == sorted(sections())


def test_every_section_says_enough() -> None:
    assert [code for code, section in sections().items() if f"{section.title}{section.text}".count(".") < 2] == []
