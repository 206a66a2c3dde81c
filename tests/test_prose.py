"""Pages, messages, docstrings and comments follow "How we write" in CONTRIBUTING.md, as far as Vale can tell."""

from __future__ import annotations

from pathlib import Path

from tools import prose
from tools.clients import tool


def test_pages_and_messages_follow_our_style() -> None:
    tool("vale")
    found = prose.found(prose.everything())
    assert found == [], "\n".join(found)


SAMPLE = '''\
A = 1  # a gang alone fits


def f() -> str:
    """What becomes of it is told."""
    return f"{A} is no number"
'''


def test_the_linter_finds_what_our_style_forbids(tmp_path: Path) -> None:
    tool("vale")
    module = tmp_path / "module.py"
    module.write_text(SAMPLE)
    assert [(line.split(":")[1], line.split("'")[-2]) for line in prose.source_findings([module], tmp_path)] == [
        ("0001", "alone"),
        ("0005", "What becomes of"),
        ("0005", "is told"),
        ("0006", "is no"),
    ]
    schema = tmp_path / "schema.json"
    schema.write_text('{\n"description": "Pods alone fit here.", "type": "string"}')
    assert prose.source_findings([schema], tmp_path) == [
        "schema.json:0002: Write 'only (or: by itself)' instead of 'alone'."
    ]
    page = tmp_path / "page.md"
    page.write_text("# Page\n\n" + "word " * 31 + ".\n\n`alone` is code.\n")
    assert [line.split(": ", 1)[0] for line in prose.findings([page], tmp_path)] == ["page.md:0003"]
