"""The documentation's ```console blocks: found, run and compared.

A line that starts with `$ ` is a command, the lines up to the next one are what it prints (both streams); a line `...`
stands for any lines. bayplan runs in this process where it comes first and needs no shell, any other command in a
shell. Blocks of one page run in order in one folder, which starts with a copy of `examples/`. A block whose fence says
`console no-test` is not run here: it sets a machine up, and `.ci/run` runs it.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tools.run import EXAMPLES, ROOT, bayplan, environment

FENCE = re.compile(r"^```(\S*) ?(.*)$")
PROMPT = "$ "
ELLIPSIS = "..."
OURS = re.compile(
    r"bayplan (?P<words>[^|&;<>()$`*?\[~{}#!\n]*?)(?P<quiet> 2> ?/dev/null)?( \| (?P<behind>.*))?", re.DOTALL
)
"""A command of bayplan, perhaps with others behind a pipe. A shell would only split its words."""


class Step(NamedTuple):
    """One command and what it prints. `start` and `end` bound the output's lines, from 0."""

    command: str
    expected: tuple[str, ...]
    start: int
    end: int
    tested: bool


def pages() -> list[Path]:
    """Every page whose examples are run."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def steps(text: str) -> Iterator[Step]:
    """The steps of all console blocks of a page."""
    lines = text.split("\n")
    fence: tuple[str, str] | None = None
    opened = 0
    for number, line in enumerate(lines):
        found = FENCE.match(line)
        if fence is None and found:
            fence, opened = (found[1], found[2]), number + 1
        elif fence is not None and line == "```":
            if fence[0] == "console":
                yield from block(lines, opened, number, tested=fence[1] != "no-test")
            fence = None


def block(lines: list[str], start: int, end: int, *, tested: bool) -> Iterator[Step]:
    """The steps of one block, given its lines' bounds."""
    starts = [number for number in range(start, end) if lines[number].startswith(PROMPT)]
    for first, following in zip(starts, [*starts[1:], end], strict=True):
        last = first
        while lines[last].endswith("\\"):
            last += 1
        command = "\n".join([lines[first].removeprefix(PROMPT), *lines[first + 1 : last + 1]])
        yield Step(command, tuple(lines[last + 1 : following]), last + 1, following, tested)


def prepare(folder: Path) -> dict[str, str]:
    """Fill a folder with the examples and return an environment whose `bayplan` is this checkout's."""
    shutil.copytree(EXAMPLES, folder / "work" / "examples")
    command = folder / "bin" / "bayplan"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m bayplan "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return environment({"PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder)})


def run(step: Step, folder: Path, env: dict[str, str]) -> tuple[str, ...]:
    """What a step prints, as lines."""
    printed = _printed(step.command.replace("\\\n", " "), folder / "work", env).rstrip("\n")
    return tuple(printed.split("\n")) if printed else ()


def _printed(command: str, folder: Path, env: dict[str, str]) -> str:
    """Both streams of a command."""
    ours = OURS.fullmatch(command)
    if not ours:
        return _shell(command, "", folder, env)
    known = {name: env[name] for name in ("HOME", "PATH")}
    merged = not (ours["quiet"] or ours["behind"])
    done = bayplan(*shlex.split(ours["words"]), cwd=folder, env=known, merged=merged)
    said = "" if ours["quiet"] else done.stderr
    return said + (_shell(ours["behind"], done.stdout, folder, env) if ours["behind"] else done.stdout)


def _shell(command: str, stdin: str, folder: Path, env: dict[str, str]) -> str:
    result = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=env,
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    return result.stdout


def filled(page: str, tables: Mapping[str, str]) -> str:
    """The page with tables as they are now, each between `<!-- table: NAME -->` and `<!-- end -->`."""

    def renewed(found: re.Match[str]) -> str:
        return f"{found[1]}\n\n{tables[found[2]]}\n\n<!-- end -->"

    return re.sub(r"(<!-- table: (\S+) -->)\n[\s\S]*?<!-- end -->", renewed, page)


def matches(expected: tuple[str, ...], actual: tuple[str, ...]) -> bool:
    """Whether the lines are equal, `...` standing for any lines."""
    parts = [".*" if line == ELLIPSIS else re.escape(line + "\n") for line in expected]
    return re.fullmatch("".join(parts), "".join(f"{line}\n" for line in actual), re.DOTALL) is not None


def refreshed(text: str, folder: Path) -> str:
    """The page with the outputs that no longer match replaced by what is printed now."""
    lines = text.split("\n")
    env = prepare(folder)
    outputs = [(step, run(step, folder, env)) for step in steps(text) if step.tested]
    for step, actual in reversed(outputs):
        if not matches(step.expected, actual):
            lines[step.start : step.end] = actual
    return "\n".join(lines)
