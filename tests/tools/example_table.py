"""The table of examples/README.md: `python tests/tools/refresh_docs.py` writes it from the README of each example."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "examples"
PAGE = FOLDER / "README.md"
HEAD = "| example | shows | for |\n|---|---|---|\n"


def filled(text: str) -> str:
    """The page with its table as the examples have it."""
    return text.partition(HEAD)[0] + HEAD + "".join(row(path) for path in sorted(FOLDER.iterdir()) if path.is_dir())


def row(example: Path) -> str:
    """An example's line: its README has a title, a paragraph that says what it shows, and one that says for whom."""
    title, shows, users = (example / "README.md").read_text(encoding="utf-8").strip().split("\n\n")
    assert (title, users[:4]) == (f"# `{example.name}`", "For ")
    shown, who = " ".join(shows.split()), " ".join(users[4:].rstrip(".").split())
    return f"| [`{example.name}`]({example.name}/) | {shown} | {who} |\n"
