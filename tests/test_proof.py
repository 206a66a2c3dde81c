"""`python -m e2e` writes docs/explanation/proof.md. Its tables are those of the suite."""

from __future__ import annotations

import re

import pytest

from e2e.plane.scenes import KAI_SCENES, KUEUE_SCENES
from e2e.proof import COLUMNS, DISAGREEMENTS, PATH, TEXT, page_tables
from e2e.releases import BUILT, BY_NAME, RELEASES
from e2e.scheduler import ROOT

PAGE = PATH.read_text(encoding="utf-8")
GO = ROOT / "tests" / "e2e" / "go"
DIFFERING = re.findall(r"^- (\S+ \S+), `([^`]+)`: (.+)$", PAGE, re.MULTILINE)


def rows(first: str) -> dict[str, dict[str, int]]:
    """Release -> column -> number, of the table with this second column."""
    head = next(line for line in PAGE.splitlines() if line.startswith(f"| release | {first} |"))
    below = PAGE[PAGE.index(head) + len(head) :].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in below[: len(RELEASES)]]
    names = [cell.strip() for cell in head.strip("|").split("|")][1:]
    return {name: dict(zip(names, map(int, numbers), strict=True)) for name, *numbers in cells}


def test_it_is_written_around_the_tables() -> None:
    for part in re.split(r"\{\w+\}", TEXT.read_text(encoding="utf-8")):
        assert part in PAGE


def test_each_release_has_its_rows() -> None:
    assert list(rows("random cases")) == list(rows("examples")) == [each.name for each in RELEASES]
    assert min(each["random cases"] for each in rows("random cases").values()) >= 100


@pytest.mark.parametrize("release", RELEASES, ids=lambda each: each.name)
def test_each_disagreement_is_listed(release: object) -> None:
    """The table counts stages, of which a case may have several."""
    name = getattr(release, "name", "")
    random = [outcomes for of, case, outcomes in DIFFERING if of == name and case.startswith("random-")]
    found = [outcome for outcomes in random for outcome in outcomes.split(", ")]
    counts = rows("random cases")[name]
    assert {each: counts[each] for each in DISAGREEMENTS} == {each: found.count(each) for each in DISAGREEMENTS}
    assert sum(counts[each] for each in (*COLUMNS, *DISAGREEMENTS)) >= counts["random cases"]


def test_all_agree() -> None:
    """The page explains why Slurm and Koordinator do not."""
    assert [each for each in DIFFERING if each[0] not in ("slurm 25.11", "koordinator 1.8.0")] == []


@pytest.mark.parametrize("table", page_tables())
def test_tables_that_need_no_run(table: str) -> None:
    assert table in PAGE


def test_releases_that_ci_builds() -> None:
    assert set(BUILT) < set(BY_NAME)
    ours = ROOT / ".ci" / "programs"
    if not ours.exists():  # a source distribution
        return
    (asked,) = re.findall("tests/e2e/prepare (.+)", ours.read_text(encoding="utf-8"))
    assert {name.replace(" ", "@") for name in BUILT} <= set(asked.split())


def test_each_release_is_pinned() -> None:
    """By a folder of Go with the sums of every module, or by a line in `prepare`."""
    prepare = (ROOT / "tests" / "e2e" / "prepare").read_text(encoding="utf-8")
    folders = {path.name for path in GO.iterdir()}
    for release in RELEASES:
        assert f"{release.scheduler.name}@{release.version}" in folders or release.version in prepare
    for folder in (each for each in folders if each.startswith("kai@")):
        text, version = (GO / folder / "go.mod").read_text(encoding="utf-8"), f"v{folder.partition('@')[2]}"
        (tool,) = re.findall(r"^tool (\S+)/cmd/snapshot-tool$", text, re.MULTILINE)
        assert f"{tool} {version} // indirect" in text
        assert f"{tool} {version} h1:" in (GO / folder / "go.sum").read_text(encoding="utf-8")


def test_each_scene_of_the_control_plane_is_on_the_page() -> None:
    """The scenes themselves run with `python -m e2e.plane`."""
    table = PAGE[PAGE.index("| scene | KAI 0.17.0 |") :].partition("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    assert [sum(bool(row[column]) for row in cells) for column in (1, 2)] == [len(KAI_SCENES), len(KUEUE_SCENES)]
