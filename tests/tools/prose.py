"""The prose linter: `python -m tools.prose [PATH...]` prints what pages and messages say against our style.

Vale reads the pages, and the texts of the product: messages, hints, help texts, docstrings, comments, and the
descriptions of the schemas. Each text becomes a paragraph of its own, and a finding names the line of the file.
`tests/prose/` has the rules.
"""

from __future__ import annotations

import ast
import io
import json
import re
import subprocess
import sys
import tempfile
import tokenize
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.run import ROOT

CONFIG = ROOT / "tests" / "prose" / "vale.ini"
PROSE = re.compile(r"[A-Za-z`\"{].* .* ")
"""A text of at least three words."""

GENERATED = ROOT / "generator" / "bayplan" / "schemas" / "generated"


def main(arguments: Sequence[str]) -> None:
    """Prints `PATH:LINE: what to change`, and exits with 1 if there is something."""
    lines = found([Path(each).resolve() for each in arguments] or everything())
    print(*lines, sep="\n")
    raise SystemExit(bool(lines))


def found(paths: Sequence[Path]) -> list[str]:
    """What Vale finds in files and folders."""
    files = sorted({file for path in paths for file in (path.rglob("*") if path.is_dir() else [path])})
    sources = [file for file in files if file.suffix in TEXTS and GENERATED not in file.parents]
    return sorted([*findings([file for file in files if file.suffix == ".md"]), *source_findings(sources)])


def everything() -> list[Path]:
    """All pages, modules and schemas."""
    return [*pages(), ROOT / "generator", ROOT / "schemas"]


def pages() -> list[Path]:
    """The pages that somebody reads."""
    return [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]


def findings(files: Sequence[Path], root: Path = ROOT) -> Iterator[str]:
    """What Vale finds in pages."""
    for file, each in _vale(files):
        yield f"{file.relative_to(root)}:{each['Line']:04}: {each['Message']}"


def source_findings(files: Sequence[Path], root: Path = ROOT) -> list[str]:
    """What Vale finds in the texts of modules and schemas."""
    lines_found = []
    with tempfile.TemporaryDirectory() as folder:
        places, copies = {}, []
        for number, file in enumerate(files):
            lines = []
            for line, text in sorted(TEXTS[file.suffix](file.read_text(encoding="utf-8"))):
                copy = Path(folder) / f"{number:04}.md"
                places[copy, len(lines) + 1] = f"{file.relative_to(root)}:{line:04}"
                lines += [text, ""]
            if lines:
                copies.append(copy)
                copy.write_text("\n".join(lines), encoding="utf-8")
        for copy, each in _vale(copies):
            lines_found.append(f"{places[copy, each['Line']]}: {each['Message']}")
    return lines_found


def _vale(files: Sequence[Path]) -> Iterator[tuple[Path, dict[str, str]]]:
    if files:
        command = ["vale", "--config", str(CONFIG), "--output=JSON", "--no-exit", *map(str, files)]
        run = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        yield from ((Path(file), each) for file, alerts in json.loads(run.stdout).items() for each in alerts)


def described(schema: str) -> Iterator[tuple[int, str]]:
    """Line of a schema and a title or description there."""
    for number, line in enumerate(schema.splitlines(), 1):
        for text in re.findall(r'"(?:title|description)": ("(?:[^"\\]|\\.)*")', line):
            yield from _paragraphs(number, json.loads(text))


def texts(source: str) -> Iterator[tuple[int, str]]:
    """Line of a module and a text that somebody reads there: a string of some words, or a comment. It has one line."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and PROSE.search(token.string):
            yield token.start[0], token.string.removeprefix("#").strip()
    inside = set[ast.AST]()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.JoinedStr(values):
                inside.update(values)
                parts = (part.value if isinstance(part, ast.Constant) else "`x`" for part in values)
                yield from _paragraphs(node.lineno, "".join(map(str, parts)))
            case ast.Constant(str(text)) if node not in inside:
                yield from _paragraphs(node.lineno, text)


def _paragraphs(line: int, text: str) -> Iterator[tuple[int, str]]:
    for part in re.split(SEPARATOR, text):
        if PROSE.search(part):
            yield line, " ".join(part.split())
        line += part.count("\n")


SEPARATOR = re.compile(r"(\n(?:\s*\n|\s*[-*\d]+\.? |(?=\s*(?:`[^`]+`:|\||(?:note|hint): )|[^\n]*\S {2,}\S)))")
"""Between the paragraphs, list entries and rows of tables of a text, and before the notes of a report."""

TEXTS = {".py": texts, ".json": described}
"""The function that finds the texts of a file, by its suffix."""


if __name__ == "__main__":
    main(sys.argv[1:])
