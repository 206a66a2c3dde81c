"""Failing cases for every diagnostic: `tests/cases/<CODE>-<slug>/command` is run in its folder, with `stdin` if there
is one, and prints what `golden/diagnostics/<case>.txt` says. Every code has a row, a section of the documentation and a
case.

`pytest tests/test_cases.py --snapshot-update` rewrites the golden files; read the diff.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.location import PyTestLocation

from bayplan.codes import CODES
from tools import cases
from tools.cases import NAMES
from tools.run import ROOT

GOLDEN = ROOT / "golden" / "diagnostics"


class CaseExtension(SingleFileSnapshotExtension):
    """Golden files by case instead of by test."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        """One folder for all. Asked of every test, so also of those without a case."""
        return str(GOLDEN) if name_of(test_location) else super().dirname(test_location=test_location)

    @classmethod
    def get_snapshot_name(cls, *, test_location: PyTestLocation, index: int | str = 0) -> str:
        """The case."""
        return name_of(test_location) or super().get_snapshot_name(test_location=test_location, index=index)


def name_of(location: PyTestLocation) -> str:
    """The case that a test is parametrised with."""
    callspec = getattr(location.item, "callspec", None)
    return str(callspec.params.get("case", "")) if callspec else ""


@pytest.mark.parametrize("case", NAMES)
def test_case(case: str, snapshot: SnapshotAssertion) -> None:
    answer = cases.run(case)
    assert answer.code in {0, 1, 2}, answer.err
    assert f"[{code_of(case)}]" in answer.out + answer.err, answer
    assert cases.report(case, answer) == snapshot(extension_class=CaseExtension)


def code_of(case: str) -> str:
    """`R101-missing` -> `R101`."""
    return case.partition("-")[0]


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


def documented() -> dict[str, str]:
    """Code -> title of its section."""
    pages = sorted((ROOT / "docs" / "diagnostics").glob("*.md"))
    headings = re.finditer(r"^## (\w+): (.*)$", "\n".join(page.read_text(encoding="utf-8") for page in pages), re.M)
    return {match[1]: match[2] for match in headings}


def emitted() -> set[str]:
    """The codes that the source names."""
    sources = [path for path in (ROOT / "generator").rglob("*.py") if path.parent.name != "codes"]
    texts = (path.read_text(encoding="utf-8") for path in sources)
    return {match for text in texts for match in re.findall(r'"([RSWTPFMOA][1-9]\d\d)"', text)}


def test_every_code_is_documented_under_its_title() -> None:
    assert documented() == dict(CODES)


def test_every_code_has_a_case() -> None:
    assert sorted({code_of(case) for case in NAMES} | covered()) == sorted(CODES)


def test_every_code_is_used_and_every_used_code_is_listed() -> None:
    assert sorted(emitted()) == sorted(CODES)


def test_every_section_says_enough() -> None:
    pages = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "diagnostics").glob("*.md"))
    sections = re.split(r"^## ", pages, flags=re.M)[1:]
    short = [section[:4] for section in sections if section[:4] in CODES and section.count(".") < 2]
    assert short == []


def test_codes_stand_in_the_table_of_their_letter() -> None:
    for path in sorted((Path(ROOT) / "generator" / "bayplan" / "codes").glob("?.py")):
        codes = re.findall(r'^    "(\w+)":', path.read_text(encoding="utf-8"), re.M)
        assert codes == sorted(codes)
        assert {code[0].lower() for code in codes} <= {path.stem}
