"""The source of a script -> its directives and its body, as sbatch reads them.

sbatch reads lines that begin with `#SBATCH` up to the first command. It splits them at spaces, with quotes and
backslashes as in a shell (Slurm 25.11, src/common/slurm_opt.c, `_get_argument`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from bayplan.plugin import AT, Diagnostic, Document, Outcome, Source, error, has_errors, shorten, warning

MARK = "#SBATCH"
OTHERS = {"#PBS": "PBS", "#BSUB": "LSF", "#$ -": "Grid Engine", "#COBALT": "Cobalt"}
"""The prefixes of directives of other batch systems."""

NEAR = re.compile(r"#\s+SBATCH\b|#(?!SBATCH)[sS][bB][aA][tT][cC][hH]\b|#SBATCH(?=[-\w])")
"""A line that is probably a misspelled directive. `##SBATCH` is a disabled one."""

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}|[1-9]")
"""A name for --set; a digit is an argument of the script."""
MOST = 1_000_000
"""The largest script, in characters."""

Place = tuple[int, int]


def documents(name: str, raw: bytes, text: str, subject: str, source: Source) -> Outcome[tuple[Document, ...]]:
    """The one document of a script. R150 to A920."""
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
                hint = "close the quote, or remove it"
                found.append(error("R150", (subject, AT, number, cut), "a quote is not closed in this line", hint=hint))
            elif cut:
                directives.append({"line": number, "words": [{"column": c, "text": t} for c, t in cut]})
    base = name.replace("\\", "/").rpartition("/")[2]
    data: dict[str, Any] = {
        "name": (base.partition(".")[0] or "job")[:200],  # sbatch names a job after the script's file by default
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
    """Scripts that sbatch itself refuses (src/sbatch/sbatch.c, `_script_wrap` and `get_script_buffer`)."""

    def refused(place: Place, message: str, hint: str) -> Diagnostic:
        return error("R150", (subject, AT, *place), message, hint=hint)

    if not text.startswith("#!"):
        yield refused(
            (1, 1), "the script does not start with `#!` and the path of its shell", "add `#!/bin/bash` as first line"
        )
    if b"\r\n" in raw:
        line = raw[: raw.index(b"\r\n")].count(b"\n") + 1
        yield refused((line, 1), "the script has Windows line ends", "save the file with Unix line ends")
    if "\0" in text:
        before = text[: text.index("\0")]
        place = before.count("\n") + 1, len(before) - before.rfind("\n")
        yield refused(place, "the script has a NUL character", "remove it")
    if len(text) > MOST:
        yield refused((1, 1), f"the script has {len(text):,} characters; the limit is {MOST:,}", "shorten it")


def _variables(source: Source) -> Iterator[Diagnostic]:
    for name in source.variables:
        if not VARIABLE.fullmatch(name):
            message = f'"{shorten(name)}" is not a valid variable name'
            hint = "use letters, digits and underscores, as in --set NAME=VALUE; use --set image=IMAGE for the image"
            yield error("A920", ("argument", "--set"), message, hint=hint)


def _line(line: str, number: int, here: bool, subject: str) -> Iterator[Diagnostic]:
    """A line that looks like a directive, but is not one."""
    at = (subject, AT, number, 1)
    if not line.startswith("#"):
        return
    if line.startswith(MARK) and not here:
        message = "sbatch ignores this directive, because it is below the first command"
        yield warning("R153", at, message, hint="move it up, or remove it")
    elif here and (near := NEAR.match(line)):
        message = f'sbatch treats "{near[0]}" as a comment: directives begin with `#SBATCH` and a space'
        yield warning("R153", at, message, hint="write `#SBATCH`, or `##SBATCH` to disable a directive")
    elif here:
        other = next((name for mark, name in OTHERS.items() if line.startswith(mark)), "")
        if other:
            message = f"this is a directive of {other}, not of Slurm"
            yield error("R153", at, message, hint="write it as `#SBATCH`, or remove it")


def words(line: str, start: int) -> list[tuple[int, str]] | int:
    """The words of a directive from an offset on, each with its column; or the column of an unclosed quote."""
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
