"""What commands beside the steps leave behind: files that tasks may read, since the nodes of a job share its folder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from bayplan.workflows.sbatch.job.known import QUIET, base
from bayplan.workflows.sbatch.shell.statements import ASSIGNMENT, Redirect, Statement

NOWHERE = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty")
LOOKING = QUIET | {"export", "declare", "read", "["}
"""What may stand in a block that prints, looks and sets variables."""


def file_of(each: Statement) -> str:
    """The file that a command writes, as the script calls it; empty: none. Where its errors go is a log."""
    found = next((named for redirect in each.redirects if (named := _target(redirect))), "")
    if not found and base(each.name) == "tee":
        files = (word.raw for word in each.words[1:] if not word.raw.startswith("-"))
        found = next((word for word in files if word.strip("\"'") not in NOWHERE), "")
    return found


def _target(redirect: Redirect) -> str:
    operator, word = redirect.operator, redirect.word
    if ">" not in operator or operator.startswith("2") or word is None or word.raw.strip("\"'") in NOWHERE:
        return ""
    return "" if operator.endswith("&") and re.fullmatch(r"[0-9]*-?", word.raw) else word.raw


def harmless(block: Statement, functions: Mapping[str, Statement], seen: set[str] | None = None) -> bool:
    """Whether a block only prints, looks and sets variables. What ends in a parenthesis in `case` is a pattern."""
    seen = set() if seen is None else seen
    if file_of(block):
        return False
    for each in block.inner:
        if each.opened and each.opened != "function" and not harmless(each, functions, seen):
            return False
        command = bool(each.words) and not each.opened and not assigns(each)
        pattern = block.opened == "case" and (each.end == ")" or (each.words[-1:] and each.words[-1].raw == "in"))
        looped = block.opened in ("for", "select") and each is block.inner[0]
        if command and not pattern and not looped and not _looks(each, functions, seen):
            return False
    return True


def _looks(each: Statement, functions: Mapping[str, Statement], seen: set[str]) -> bool:
    name = base(next((word.raw for word in each.words if not ASSIGNMENT.match(word.raw)), ""))
    if file_of(each):
        return False
    if name in functions and name not in seen:
        seen.add(name)
        return harmless(functions[name], functions, seen)
    return name in LOOKING | seen


def assigns(each: Statement) -> bool:
    """Whether it is variables alone."""
    return all(ASSIGNMENT.match(word.raw) for word in each.words)


def assigned(inner: Iterable[Statement]) -> Iterator[str]:
    """The variables that a block sets."""
    for each in inner:
        yield from assigned(each.inner)
        for word in each.words:
            if found := ASSIGNMENT.match(word.raw):
                yield found[1]
