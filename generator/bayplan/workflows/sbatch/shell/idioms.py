"""What substitutions give that scripts look up nodes with: `$(scontrol show hostnames | head -n 1)` and others."""

from __future__ import annotations

import re

from bayplan.workflows.sbatch.shell.statements import Statement, statements
from bayplan.workflows.sbatch.shell.values import MARK, NODE, NODES, TIME, Scope, Unknown, Value, mark, split
from bayplan.workflows.sbatch.shell.words import UnreadableError

ADDRESS = {"-s", "-f", "-i", "-I", "-A", "--short", "--fqdn", "--long", "--ip-address", "--all-ip-addresses"}
"""Options of hostname that still give a name or an address of the node."""

SAME = {"pwd": "PWD", "whoami": "USER", "id -un": "USER", "uuidgen": "RANDOM"}
"""Commands that print what a variable holds, or what does as well."""

NUMBER = re.compile(r"date (-u )?[\"']?\+[\"']?(%[CdGHIjmMNsSuVwyY]|[0-9])+[\"']?")
"""A time that is written as a number, which programs may count with."""

MOST = 65_536
"""Nodes of a job (Slurm, MAX_SLURM_NODES)."""


def output(inside: str, scope: Scope) -> Value:
    """What a substitution gives."""
    unknown = Unknown(
        f"$({' '.join(inside.split())[:60]}) takes running the script", "write what it gives into the script"
    )
    asked = " ".join(inside.split())
    if held := SAME.get(asked) or ("RANDOM" if NUMBER.fullmatch(asked) else ""):
        return scope.text(held)
    try:
        steps = statements(inside)
    except UnreadableError:
        return unknown
    if not steps or any(each.opened or each.end not in ("|", "\n", ";") for each in steps):
        return unknown
    lines = _first(steps[0], scope)
    for step in steps[1:]:
        words = _words(step, scope)
        lines = _filtered(words, lines) if lines is not None and words is not None else None
    return unknown if lines is None else "\n".join(lines)


def _words(step: Statement, scope: Scope) -> list[str] | None:
    found: list[str] = []
    for word in step.words:
        parts = split(word, scope)
        if isinstance(parts, Unknown):
            return None
        found += parts
    return found


def _first(step: Statement, scope: Scope) -> list[str] | None:
    """The lines that the first command of a pipe prints."""
    words = _words(step, scope)
    if not words:
        return None
    if words[:2] == ["scontrol", "show"] and words[2:3] in (["hostnames"], ["hostname"]):
        return hosts(words[3] if len(words) > 3 else mark(NODES, "0"), scope)
    if words[0] == "date" and not {"-d", "--date", "-r", "-f"} & {word.partition("=")[0] for word in words}:
        return [mark(TIME)]
    if words[0] == "hostname" and set(words[1:]) <= ADDRESS:
        return [mark(NODE, "0.0")]
    if words[0] == "srun":
        return _asked(words[1:])
    if words[0] == "getent" and words[1:2] in (["hosts"], ["ahostsv4"], ["ahosts"]) and len(words) == 3:
        return [words[2]]
    if words[0] in ("echo", "printf") and not any("%" in word or word.startswith("-") for word in words[1:]):
        return [" ".join(words[1:])]
    return None


def hosts(asked: str, scope: Scope) -> list[str] | None:
    """A line for each node of a list of nodes."""
    found = MARK.fullmatch(asked)
    if found is None or found[1] not in (NODES, NODE):
        return None
    if found[1] == NODE:
        return [asked]
    section = int(found[2] or 0)
    count = scope.texts.get(f"\0nodes{section}", "")
    many = int(count) if isinstance(count, str) and count.isdigit() else 1
    return [mark(NODE, f"{section}.{number}") for number in range(min(many, MOST))]


def _asked(words: list[str]) -> list[str] | None:
    """`srun --nodes=1 --ntasks=1 -w NODE hostname --ip-address` asks a node for its address."""
    place = mark(NODE, "0.0")
    at = 0
    while at < len(words) and words[at].startswith("-"):
        name, equals, value = words[at].partition("=")
        if name in ("-w", "--nodelist", "-N", "-n", "--nodes", "--ntasks") and not equals:
            at += 1
            value = words[at] if at < len(words) else ""
        if name in ("-w", "--nodelist"):
            place = value
        at += 1
    asks = words[at : at + 1] == ["hostname"] and set(words[at + 1 :]) <= ADDRESS
    found = MARK.fullmatch(place)
    return [place] if asks and found and found[1] == NODE else None


def _filtered(words: list[str], lines: list[str]) -> list[str] | None:
    """What head, tail, sed, awk, cut and their like let through."""
    line = " ".join(words)
    if found := re.fullmatch(r"head(?: -n ?| -| --lines=)?([0-9]{1,5})?", line):
        return lines[: int(found[1] or 10)]
    if found := re.fullmatch(r"tail (?:-n ?|-)([0-9]{1,5})", line):
        return lines[-int(found[1]) :] if int(found[1]) else []
    if found := re.fullmatch(r"sed (?:-n )?([0-9]{1,5})(?:p|q|q;d|!d)", line):
        return lines[int(found[1]) - 1 : int(found[1])] if "-n" in line or "d" in line else lines[: int(found[1])]
    if line in ("sort", "uniq", "sort -u", "cat", "xargs") or re.fullmatch(
        r"tr -d .*|awk .?\{ ?print \$1;? ?\}.?", line
    ):
        return lines
    if re.fullmatch(r"cut -d(?: |=|')*\s*'? ?-f ?1|cut -d  -f ?1", line) or words[:1] == ["cut"]:
        return lines if words[-1] in ("-f1", "1") else None
    if words in (["wc", "-l"],):
        return [str(len(lines))]
    return None
