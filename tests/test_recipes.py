"""CONTRIBUTING's recipes for a diagnostic and a scheduler version, followed to the letter in a copy of the project."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bayplan.model.target import KNOWN
from tools.golden import examples
from tools.run import ROOT, environment

FOLDERS = ("docs", "examples", "generator", "golden", "schemas", "tests")
FILES = ("CONTRIBUTING.md", "README.md", "hatch_build.py", "pyproject.toml")
BLOCK = re.compile(r"`(\S+)`:\n\n```\w*\n(.*?)```\n", re.DOTALL)
"""A file, and what goes into it."""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project."""
    made = tmp_path_factory.mktemp("copy")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, made / folder, ignore=shutil.ignore_patterns("__pycache__", "go"))
    for file in FILES:
        shutil.copy(ROOT / file, made)
    return made


def section(title: str) -> str:
    """The text of a recipe, up to the next heading of the page. A heading inside a block begins with a code."""
    behind = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition(f"\n## {title}\n")[2]
    return re.split(r"^## (?=[A-Z][a-z])", behind, maxsplit=1, flags=re.MULTILINE)[0]


def python(copy: Path, code: str) -> str:
    """What a script prints in the copy. It must succeed."""
    env = environment({"PYTHONPATH": f"{copy}/generator:{copy}/tests"})
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, cwd=copy, env=env, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_a_diagnostic_is_a_check_a_section_and_a_case(copy: Path) -> None:
    check, page, command, workflow, golden = BLOCK.findall(section("Add a diagnostic"))
    name, block = check
    source = (copy / name).read_text("utf-8")
    line = block[: block.index("\n") + 1]
    assert source.count(line) == 1
    (copy / name).write_text(source.replace(line, block), encoding="utf-8")
    with (copy / page[0]).open("a", encoding="utf-8") as file:
        file.write("\n" + page[1])
    for name, text in (command, workflow):
        (copy / name).parent.mkdir(exist_ok=True)
        (copy / name).write_text(text, encoding="utf-8")
    printed = python(
        copy,
        """
import test_cases
from bayplan.cli.run import run
from tools import refresh_golden

refresh_golden.main(["W397"])
run(["explain", "W397"])
test_cases.test_no_golden_is_an_orphan()
test_cases.test_every_code_has_one_section_in_order_on_a_page_of_its_letter()
test_cases.test_every_code_has_a_case()
test_cases.test_every_code_is_used_and_every_used_code_is_listed()
test_cases.test_every_section_says_enough()
""",
    )
    assert (copy / golden[0]).read_text("utf-8") == golden[1]
    assert printed == f"{golden[0]}\n{page[1].removeprefix('## ')}"


def test_a_version_is_a_word_in_a_row(copy: Path) -> None:
    newest = KNOWN["kueue"][-1]
    new = f"0.{int(newest.removeprefix('0.')) + 1}"
    table = copy / "generator/bayplan/model/target.py"
    before = table.read_text("utf-8")
    after = re.sub(r'("kueue": \(.*)\)', rf'\1, "{new}")', before)
    assert after != before
    table.write_text(after, encoding="utf-8")
    printed = python(
        copy,
        f"""
import test_docs
import test_golden
import test_states
from tools import refresh_docs, refresh_golden

refresh_golden.main(["kueue@{new}"])
refresh_docs.main(["docs/reference/schedulers/README.md"])
test_golden.test_no_golden_is_an_orphan("kueue")
test_golden.test_only_known_releases_have_others_that_speak_for_them()
test_states.test_the_table_of_states()
test_docs.test_tables_are_made_from_the_product()
""",
    )
    assert "golden/versions.tsv" in printed
    assert not re.search(r"^golden/kueue/", printed, re.MULTILINE), "a release like the one before it has no new files"
    rows = [line.split("\t") for line in (copy / "golden/versions.tsv").read_text("utf-8").splitlines()]
    shared = {example for backend, example, versions in rows if (backend, new) == ("kueue", versions.split()[-1])}
    assert tuple(sorted(shared)) == examples()
    assert re.search(rf"^kueue +{re.escape(new)} ", (copy / "golden/states.txt").read_text("utf-8"), re.MULTILINE)
    assert f"| [Kueue {new}](kueue.md) |" in (copy / "docs/reference/schedulers/README.md").read_text("utf-8")
