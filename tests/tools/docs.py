"""The documentation's ```console blocks: found, run and compared.

A line that starts with `$ ` is a command, the lines up to the next one are what it prints (both streams); a line `...`
stands for any lines. bayplan runs in this process, as on a terminal, if it comes first and needs no shell. A shell runs
any other command. Blocks of one page run in order in one folder, which starts with a copy of `examples/`. A block
whose fence says `title="FILE"` is a file of that folder. `.ci/run` runs the blocks that say `console no-test`: they set
up a machine.
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

FENCE = re.compile(r"^( *)```(\S*) ?(.*)$")
PROMPT = "$ "
ELLIPSIS = "..."
TITLE = re.compile(r'title="([^"]+)"')
PROGRAMS = {"git": "git", "helm": "helm4", "kustomize": "kustomize", "pre-commit": "pre-commit"}
"""Command of a page -> the program that it needs."""

NEEDED = re.compile(rf"(?:^|[|&;] ?|bayplan )({'|'.join(PROGRAMS)}) ", re.MULTILINE)
OURS = re.compile(
    r"bayplan (?P<words>[^|&;<>()$`*?\[~{}#!\n]*?)(?P<quiet> 2> ?/dev/null)?( > (?P<file>\S+)|"
    r" \| (?P<behind>.*))?",
    re.DOTALL,
)
"""A command of bayplan, perhaps with others behind a pipe, or into a file. A shell would only split its words."""


class Step(NamedTuple):
    """One command and what it prints, or a file and its text.

    `start` and `end` bound the output's lines, from 0. `indent`: the spaces before each line of a block in a list.
    """

    command: str
    expected: tuple[str, ...]
    start: int
    end: int
    tested: bool
    file: str = ""
    indent: int = 0


def pages() -> list[Path]:
    """Every page whose examples are run."""
    own = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", EXAMPLES / "README.md"]
    return [*own, *sorted((ROOT / "docs").rglob("*.md"))]


def steps(text: str) -> Iterator[Step]:
    """The steps of all console blocks of a page, and its files."""
    lines = text.split("\n")
    fence: re.Match[str] | None = None
    opened = 0
    for number, line in enumerate(lines):
        found = FENCE.match(line)
        if fence is None and found:
            fence, opened = found, number + 1
        elif fence is not None and line == f"{fence[1]}```":
            indent = len(fence[1])
            inside = [each[indent:] for each in lines[opened:number]]
            if fence[2] == "console":
                yield from block(inside, opened, indent, tested=fence[3] != "no-test")
            elif title := TITLE.search(fence[3]):
                text = "".join(f"{each}\n" for each in inside)
                yield Step(text, (), number, number, tested=True, file=title[1], indent=indent)
            fence = None


def block(lines: list[str], offset: int, indent: int, *, tested: bool) -> Iterator[Step]:
    """The steps of one block, given its lines and the number of its first line on the page."""
    starts = [number for number, line in enumerate(lines) if line.startswith(PROMPT)]
    for first, following in zip(starts, [*starts[1:], len(lines)], strict=True):
        last = first
        while lines[last].endswith("\\"):
            last += 1
        command = "\n".join([lines[first].removeprefix(PROMPT), *lines[first + 1 : last + 1]])
        expected = tuple(lines[last + 1 : following])
        yield Step(command, expected, offset + last + 1, offset + following, tested, indent=indent)


def programs(text: str) -> dict[str, str]:
    """The commands of a page that need a program which may be absent, and that program."""
    commands = "\n".join(step.command for step in steps(text) if step.tested and not step.file)
    return {name: PROGRAMS[name] for name in NEEDED.findall(commands)}


def found(program: str) -> str | None:
    """The path of a program. pre-commit is beside this interpreter."""
    return shutil.which(program) or shutil.which(program, path=Path(sys.executable).parent)


def prepare(folder: Path, links: Mapping[str, str] = {}, repository: bool = True) -> dict[str, str]:
    """Fill a folder with the examples and return an environment whose `bayplan` is this checkout's.

    `links`: commands that it must have, and the path of each; `repository`: whether it looks like a git repository.
    """
    shutil.copytree(EXAMPLES, folder / "work" / "examples")
    if repository:
        (folder / "work" / ".git").mkdir()
    commands = folder / "bin"
    commands.mkdir()
    for name, arguments in {
        "bayplan": '-m bayplan "$@"',
        "bayplan-krm": '-m bayplan krm "$@"',
        "bayplan-argocd": '-c "from bayplan.__main__ import argocd; argocd()" "$@"',
        "python": '"$@"',
    }.items():
        (commands / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments}\n', encoding="utf-8")
        (commands / name).chmod(0o755)
    for name, path in links.items():
        (commands / name).symlink_to(path)
    person = {f"GIT_{who}_{key}": "a@example.com" for who in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}
    path = f"{commands}{os.pathsep}{os.environ['PATH']}"
    return environment({"PATH": path, "HOME": str(folder), "PRE_COMMIT_HOME": str(folder / "hooks"), **person})


def run(step: Step, folder: Path, env: dict[str, str]) -> tuple[str, ...]:
    """What a step prints, as lines."""
    if step.file:
        path = folder / "work" / step.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(step.command, encoding="utf-8")
        return ()
    printed = _printed(step.command.replace("\\\n", " "), folder / "work", env).rstrip("\n")
    return tuple(printed.split("\n")) if printed else ()


def _printed(command: str, folder: Path, env: dict[str, str]) -> str:
    """Both streams of a command."""
    ours = OURS.fullmatch(command)
    if not ours:
        return _shell(command, "", folder, env)
    known = {name: env[name] for name in ("HOME", "PATH")}
    merged = not (ours["quiet"] or ours["behind"] or ours["file"])
    done = bayplan(*shlex.split(ours["words"]), cwd=folder, env=known, merged=merged, terminal=True)
    said = "" if ours["quiet"] else done.stderr
    if ours["file"]:
        (folder / ours["file"]).write_text(done.stdout, encoding="utf-8")
        return said
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


def pictures(page: Path, folder: Path) -> Iterator[tuple[Path, Path]]:
    """Each SVG picture of a page, and the file in the folder that its commands write: the last part of its path."""
    for link in re.findall(r"!\[[^\]]*\]\((\S+\.svg)\)", page.read_text(encoding="utf-8")):
        yield (page.parent / link).resolve(), folder / "work" / Path(link).name


def matches(expected: tuple[str, ...], actual: tuple[str, ...]) -> bool:
    """Whether the lines are equal, `...` standing for any lines."""
    parts = [".*" if line == ELLIPSIS else re.escape(line + "\n") for line in expected]
    return re.fullmatch("".join(parts), "".join(f"{line}\n" for line in actual), re.DOTALL) is not None


def refreshed(text: str, folder: Path) -> str:
    """The page with the outputs that no longer match replaced by what is printed now."""
    lines = text.split("\n")
    env = prepare(folder, {name: found(program) or program for name, program in programs(text).items()})
    outputs = [(step, run(step, folder, env)) for step in steps(text) if step.tested]
    for step, actual in reversed(outputs):
        if not matches(step.expected, actual):
            indent = " " * step.indent
            lines[step.start : step.end] = [f"{indent}{line}" if line else "" for line in actual]
    return "\n".join(lines)
