"""Every example of the documentation is run, and prints what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools import scheduler_matrix
from tools.clients import tool
from tools.docs import Step, found, matches, pages, pictures, prepare, programs, refreshed, run, steps
from tools.effort import LONG
from tools.refresh_docs import TABLES
from tools.run import ROOT

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)#\s]+)(#[^)]*)?\)|!\[[^\]]*\]\(([^)\s]+)\)|src=\"([^\"]+)\"")

CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.DOTALL | re.MULTILINE)


def links(page: Path) -> list[str]:
    """Where a page's links and pictures lead, code left out."""
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    return [next(filter(None, (m[1], m[3], m[4]))) for m in LINK.finditer(text)]


def examples(page: Path) -> list[Step]:
    """The commands of a page that are run here."""
    return [step for step in steps(page.read_text(encoding="utf-8")) if step.tested]


def page_id(page: Path) -> str:
    """`docs/reference/workflow.md`."""
    return str(page.relative_to(ROOT))


SLOW = "find-the-cause-of-a-field.md"
"""A page whose commands compile some hundred variants of a workflow."""


@pytest.mark.parametrize("page", [p for p in pages() if examples(p) and (LONG or p.name != SLOW)], ids=page_id)
def test_the_examples_print_what_the_page_says(page: Path, tmp_path: Path) -> None:
    needed = programs(page.read_text(encoding="utf-8"))
    links = {name: found(program) or tool(program) for name, program in needed.items()}
    env = prepare(tmp_path, links, repository=page.parent.name != "tutorials")
    for step in examples(page):
        actual = run(step, tmp_path, env)
        assert matches(step.expected, actual), f"{page}:{step.start}: $ {step.command}\n" + "\n".join(actual)
    assert [str(shown) for shown, made in pictures(page, tmp_path) if shown.read_bytes() != made.read_bytes()] == []


def test_every_picture_is_on_a_page() -> None:
    shown = {picture for page in pages() for picture, _ in pictures(page, ROOT)}
    assert set((ROOT / "docs").rglob("*.svg")) == shown


def test_only_the_two_set_up_commands_are_not_run_here() -> None:
    untested = [(page_id(page), step) for page in pages() for step in steps(page.read_text()) if not step.tested]
    assert [page for page, _ in untested] == ["README.md", "README.md"]
    assert "pip install" in untested[0][1].command
    assert "pytest" in untested[1][1].command


def test_links_lead_somewhere() -> None:
    local = [(page, link) for page in pages() for link in links(page) if "://" not in link]
    local = [(page, link) for page, link in local if not link.startswith("mailto:")]
    assert [(page_id(page), link) for page, link in local if not (page.parent / link).exists()] == []


def test_links_name_headings_that_exist() -> None:
    found = []
    for page in pages():
        text = CODE.sub("", page.read_text(encoding="utf-8"))
        parts = re.findall(r"\]\(((?!\w+:)[^)#\s]*)#([^)\s]+)\)", text)
        broken = [part for part in parts if part[1] not in anchors(page.parent / part[0] if part[0] else page)]
        found += [(page_id(page), *part) for part in broken]
    assert found == []


def anchors(page: Path) -> set[str]:
    """What links may name behind `#`: the headings as GitHub writes them, in lower case with dashes."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", each) for each in headings)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in plain}


def test_every_page_is_in_the_index() -> None:
    listed = {(ROOT / "docs" / link).resolve() for link in links(ROOT / "docs" / "README.md")}
    folders = {path for path in listed if path.is_dir()}
    present = {page for page in pages() if page.is_relative_to(ROOT / "docs")} - {ROOT / "docs" / "README.md"}
    assert sorted(page_id(p) for p in present if p not in listed and p.parent not in folders) == []


PAGE = """\
```console
$ echo one; echo two
one
...
$ printf 'a\\nb' \\
  ; exit 3
a
b
```

```yaml
$ echo no
```

```yaml title="a/b.yaml"
one: 1
```

1. In a list

   ```console
   $ echo '  three'
     three
   ```

```console no-test
$ make everything
```
"""


def test_the_steps_of_a_page() -> None:
    first, second, file, third, last = steps(PAGE)
    assert first == Step("echo one; echo two", ("one", "..."), 2, 4, tested=True)
    assert (second.command, second.expected) == ("printf 'a\\nb' \\\n  ; exit 3", ("a", "b"))
    assert (file.file, file.command) == ("a/b.yaml", "one: 1\n")
    assert (third.command, third.expected, third.indent) == ("echo '  three'", ("  three",), 3)
    assert (last.command, last.tested) == ("make everything", False)


def test_a_page_has_the_files_that_it_shows(tmp_path: Path) -> None:
    env = prepare(tmp_path)
    file = next(step for step in steps(PAGE) if step.file)
    assert run(file, tmp_path, env) == ()
    assert (tmp_path / "work" / "a" / "b.yaml").read_text() == "one: 1\n"


def test_the_programs_that_a_page_needs() -> None:
    assert programs("```console\n$ ls | helm template x\n$ git commit -m 'a kustomize build'\n```\n") == {
        "helm": "helm4",
        "git": "git",
    }


def test_refreshing_changes_only_what_is_stale(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    assert refreshed(PAGE, tmp_path / "a") == PAGE
    (tmp_path / "b").mkdir()
    stale = PAGE.replace("a\nb\n```", "a\nstale\n```").replace("     three\n", "")
    assert refreshed(stale, tmp_path / "b") == PAGE


@pytest.mark.parametrize(
    ("expected", "actual", "equal"),
    [
        (("a",), ("a",), True),
        (("a",), ("b",), False),
        (("a", "..."), ("a",), True),
        (("...", "z"), ("a", "b", "z"), True),
        (("a.c",), ("abc",), False),
        ((), ("a",), False),
    ],
)
def test_an_ellipsis_stands_for_any_lines(expected: tuple[str, ...], actual: tuple[str, ...], equal: bool) -> None:
    assert matches(expected, actual) is equal


def test_tables_are_made_from_the_product() -> None:
    pages = {page_id(page): (page.read_text(encoding="utf-8"), renewed) for page, renewed in TABLES.items()}
    assert [page for page, (text, renewed) in pages.items() if renewed(text) != text] == []


def test_every_feature_has_a_row_in_the_tables_of_schedulers() -> None:
    assert scheduler_matrix.unplaced() == set()
