"""Tasks of scripts that bayplan itself has written (`backends/slurm/tasks.py`): the same podSets come out again.

A task's text exports the rendezvous, then the podSet's env, and becomes its command; where podSets share a section, it
looks at its number first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bayplan.values import NamedTuple
from bayplan.workflows.sbatch.shell.statements import ASSIGNMENT, Statement, statements
from bayplan.workflows.sbatch.shell.words import BRACE, TEXT, VARIABLE, UnreadableError, Word

LABELS = re.compile(r"bayplan\.dev/workflow=([^,]+),bayplan\.dev/gang=([^,]+)")
HOST = "HOST_"
"""How the variables begin that stand for other pods (`kube/kinds/sbatch.py`)."""

TORCH = ("MASTER_ADDR", "MASTER_PORT", "NNODES", "NODE_RANK")
ALWAYS = ("GROUP_INDEX", "GROUP_COUNT", "GROUP_SIZE", "JOB_COMPLETION_INDEX")
_PLACE = re.compile(r'^(?:(?:if|elif) \[ "\$place" -lt ([0-9]+) \]; then|else)  # (.+)$', re.MULTILINE)
_PERIOD = re.compile(r"^place=\$\(\(SLURM_PROCID % ([0-9]+)\)\)$", re.MULTILINE)
_SECTION = re.compile(r"^# (?:section ([0-9]+): )?(.+?) in pool ([a-z0-9-]+)(?:,.*)?$", re.MULTILINE)
_PODS = re.compile(r"([0-9]+) ([a-z0-9][-a-z0-9]*)")
_AGAIN = re.compile(r'SLURM_RESTART_COUNT:-0\}" -lt ([0-9]{1,9}) \]')
_LED = re.compile(r'case " ([0-9 ]+) " in')


class Branch(NamedTuple):
    """One podSet of a section: how many of a period's tasks are its own, and what they run."""

    name: str
    pods: int
    env: Mapping[str, str]
    command: tuple[str, ...]
    ranked: bool


class Remarks(NamedTuple):
    """What the comments and the shell around the steps say of the workflow."""

    pods: tuple[tuple[tuple[str, int], ...], ...] = ()  # of each step: podSets with their pods
    pools: Mapping[int, str] = {}
    restarts: int = 0
    lead: int | None = None  # the step


def remarks(comments: str, text: str) -> Remarks:
    """Of the comments below the directives, and of the body."""
    pods: list[tuple[tuple[str, int], ...]] = []
    pools = {}
    for found in _SECTION.finditer(comments):
        pools[int(found[1] or 0)] = found[3]
        for step in re.split(r", (?=[0-9])", re.sub(r", [0-9]+ on a node$", "", found[2])):
            pods.append(tuple((name, int(number)) for number, name in _PODS.findall(step.rpartition("(")[2])))
    again, led = _AGAIN.search(text), _LED.search(text)
    return Remarks(tuple(pods), pools, int(again[1]) if again else 0, int(led[1].split()[0]) if led else None)


def branches(text: str, names: tuple[tuple[str, int], ...]) -> tuple[Branch, ...] | None:
    """The podSets of a task's text. None where it is not of the form that bayplan writes."""
    try:
        found = statements(text)
    except UnreadableError:
        return None
    flat = [each for block in found for each in (block.inner if block.opened == "if" else (block,))]
    kept = [each for each in flat if each.words and each.name in ("export", "exec")]
    parts: list[list[Statement]] = [[]]
    for each in kept:
        parts[-1].append(each)
        if each.name == "exec":
            parts.append([])
    parts = [part for part in parts if part]
    labels = [label[1] for label in _PLACE.findall(text)] or [names[0][0] if names else "worker"]
    if len(parts) != len(labels) or not all(part[-1].name == "exec" for part in parts):
        return None
    counts = _counts(text, len(labels))
    made = (_branch(part, name, count) for part, name, count in zip(parts, labels, counts, strict=True))
    return tuple(made)


def _counts(text: str, parts: int) -> list[int]:
    period = _PERIOD.search(text)
    if period is None:
        return [0] * parts
    ends = [int(end) for end, _ in _PLACE.findall(text) if end] + [int(period[1])]
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]


def _branch(part: list[Statement], name: str, count: int) -> Branch:
    env: dict[str, str] = {}
    for each in part[:-1]:
        for word in each.words[1:]:
            if found := ASSIGNMENT.match(word.raw):
                env[found[1]] = told(word)[len(found[0]) :]
    mine = {f"PET_{each}" for each in TORCH if env.get(f"PET_{each}") == f"$({each})"}
    ours = {*ALWAYS, *mine, *(each.removeprefix("PET_") for each in mine)}
    words = [told(word) for word in part[-1].words[1:]]
    if words[:1] == ["env"]:
        words.pop(0)
        while words and re.match(r"[^=\s]+=", words[0]):
            key, _, value = words.pop(0).partition("=")
            env[key] = value
    kept = {key: value for key, value in env.items() if key not in ours}
    return Branch(name, count, kept, tuple(words), "GROUP_COUNT" in env)


def told(word: Word) -> str:
    """A word in which variables are Kubernetes' `$(NAME)` and all else stands for itself."""
    made = []
    for piece in word.pieces:
        if piece.kind == TEXT:
            made.append(literal(piece.text))
        elif piece.kind in (VARIABLE, BRACE):
            made.append(f"$({piece.text})")
        else:
            made.append("")
    return "".join(made)


def literal(text: str) -> str:
    """A text that Kubernetes leaves as it is in commands, arguments and variables: `$(` and `$$` are its own."""
    return re.sub(r"\$(?=[$(]|\Z)", "$$", text) if "$" in text else text


def data_of(branch: Branch) -> dict[str, Any]:
    """The keys of the podSet."""
    return {"env": dict(branch.env), "command": list(branch.command)}
