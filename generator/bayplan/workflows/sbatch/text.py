"""The text of a script -> its directives and its body, as sbatch takes them apart.

sbatch looks for lines that begin with `#SBATCH` up to the first line that is a command, and splits them at blanks with
quotes and backslashes as in a shell (Slurm 25.11, src/common/slurm_opt.c, `_get_argument`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from bayplan.core.diagnostics import AT, Diagnostic, Outcome, error, has_errors, warning
from bayplan.core.phrases import shorten
from bayplan.model.formats import Source
from bayplan.text.document import Document

MARK = "#SBATCH"
OTHERS = {"#PBS": "PBS", "#BSUB": "LSF", "#$ -": "Grid Engine", "#COBALT": "Cobalt"}
"""How directives of other batch systems begin."""

NEAR = re.compile(r"#\s+SBATCH\b|#(?!SBATCH)[sS][bB][aA][tT][cC][hH]\b|#SBATCH(?=[-\w])")
"""A line that was likely meant to be a directive. `##SBATCH` is how people switch one off."""

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
MOST = 1_000_000
"""Characters of a script."""

Place = tuple[int, int]


def documents(name: str, raw: bytes, text: str, subject: str, source: Source) -> Outcome[tuple[Document, ...]]:
    """The one document of a script. R150 to R156."""
    found = [*_refused(raw, text, subject), *_variables(source)]
    if has_errors(found):
        return Outcome(None, tuple(found))
    lines = text.split("\n")
    end = next((n for n, line in enumerate(lines) if line.strip() and not line.startswith("#")), len(lines))
    directives: list[dict[str, Any]] = []
    for number, line in enumerate(lines, 1):
        here = number <= end
        found += _line(line, number, here, subject)
        if here and line.startswith(MARK) and not NEAR.match(line):
            cut = words(line, len(MARK))
            if isinstance(cut, int):
                hint = "close it, or take it away"
                found.append(error("R150", (subject, AT, number, cut), "a quote is not closed in this line", hint=hint))
            elif cut:
                directives.append({"line": number, "words": [{"column": c, "text": t} for c, t in cut]})
    base = name.replace("\\", "/").rpartition("/")[2]
    data: dict[str, Any] = {
        "name": (base.partition(".")[0] or "job")[:200],  # what sbatch calls a job without a name: the script's file
        "interpreter": lines[0][2:].strip()[:4096],
        "directives": directives,
        "comments": "\n".join(line for line in lines[1:end] if line.startswith("# "))[:MOST],
        "body": {"line": end + 1, "text": "\n".join(lines[end:])},
        "variables": {key: str(value) for key, value in source.variables.items()},
    }
    if has_errors(found):
        return Outcome(None, tuple(found))
    return Outcome((Document(name, text, 0, {"sbatch": data}),), tuple(found))


def _refused(raw: bytes, text: str, subject: str) -> Iterator[Diagnostic]:
    """What sbatch itself does not take (src/sbatch/sbatch.c, `_script_wrap` and `get_script_buffer`)."""

    def refused(place: Place, message: str, hint: str) -> Diagnostic:
        return error("R150", (subject, AT, *place), message, hint=hint)

    if not text.startswith("#!"):
        yield refused(
            (1, 1), "a batch script starts with `#!` and the path of its shell", "start it with `#!/bin/bash`"
        )
    if b"\r\n" in raw:
        line = raw[: raw.index(b"\r\n")].count(b"\n") + 1
        yield refused((line, 1), "lines end with carriage returns, as on DOS", "save the file with Unix line ends")
    if "\0" in text:
        before = text[: text.index("\0")]
        place = before.count("\n") + 1, len(before) - before.rfind("\n")
        yield refused(place, "there is a NUL character in the script", "remove it")
    if len(text) > MOST:
        yield refused(
            (1, 1), f"the script has {len(text):,} characters, {MOST:,} is the most that is read", "shorten it"
        )


def _variables(source: Source) -> Iterator[Diagnostic]:
    for name in source.variables:
        if not VARIABLE.fullmatch(name):
            message = f'"{shorten(name)}" is no variable of a shell'
            hint = "--set NAME=VALUE gives the script a variable of its environment, --set image=IMAGE an image"
            yield error("R156", ("argument", "--set"), message, hint=hint)


def _line(line: str, number: int, here: bool, subject: str) -> Iterator[Diagnostic]:
    """A line that looks like a directive and is none."""
    at = (subject, AT, number, 1)
    if not line.startswith("#"):
        return
    if line.startswith(MARK) and not here:
        message = "sbatch reads no directives below the first command, so this one does nothing"
        yield warning("R153", at, message, hint="move it up, or remove it")
    elif here and (near := NEAR.match(line)):
        message = f'"{near[0]}" starts a comment: directives begin with `#SBATCH` and a blank'
        yield warning("R153", at, message, hint="write `#SBATCH`; to switch a directive off, `##SBATCH`")
    elif here:
        other = next((name for mark, name in OTHERS.items() if line.startswith(mark)), "")
        if other:
            message = f"this is a directive of {other}"
            yield error("R153", at, message, hint="write it as `#SBATCH`, or remove it")


def words(line: str, start: int) -> list[tuple[int, str]] | int:
    """The words of a directive from an offset on, each with its column; the column of a quote that is not closed."""
    result: list[tuple[int, str]] = []
    at = start
    while at < len(line):
        if line[at].isspace():
            at += 1
        elif line[at] == "#":
            break
        else:
            began, text, at = at + 1, "", at
            quote = 0
            while at < len(line) and (quote or not line[at].isspace()):
                char = line[at]
                if quote and char == line[quote - 1]:
                    quote = 0
                elif not quote and char in "'\"":
                    quote = at + 1
                elif char == "\\" and (not quote or line[quote - 1] == '"') and at + 1 < len(line):
                    at += 1
                    text += line[at]
                else:
                    text += char
                at += 1
            if quote:
                return quote
            result.append((began, text))
    return result
