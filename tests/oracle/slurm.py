"""The way back from `#SBATCH` lines to intent, and the intent of a plan in the same words.

Scripts know no level names: what must stay in one block of topology/block is `block`, all of a job in one aggregated
block is `aggregated-block`. Sections are called by their number, segments by theirs.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.core.diagnostics import Diagnostic, Outcome, warning
from bayplan.model.plan import Plan
from bayplan.model.target import Target
from bayplan.plugins.slurm.backend.jobs import Job, jobs
from bayplan.plugins.slurm.backend.script import partition_of
from oracle.intent import GangIntent, PodsIntent, UnitIntent

TOGETHER, BLOCK = "aggregated-block", "block"
SHORT: Mapping[str, str] = {
    "-J": "job-name",
    "-p": "partition",
    "-N": "nodes",
    "-n": "ntasks",
    "-t": "time",
    "-A": "account",
    "-q": "qos",
    "-c": "cpus-per-task",
    "-C": "constraint",
    "-x": "exclude",
    "-w": "nodelist",
    "-d": "dependency",
    "-o": "output",
    "-e": "error",
}
FLAGS = ("consolidate-segments", "spread-segments", "exclusive", "requeue", "no-requeue")
_DOCUMENT = re.compile(r"<<'(SBATCH\w*)'")


class Part(NamedTuple):
    """What one section asks for."""

    nodes: int
    per_node: int
    segment: int
    together: bool
    channels: int  # IMEX channels that it can have


def intent(plan: Plan, target: Target) -> tuple[GangIntent, ...]:
    """What the scripts of the plan must say."""
    return tuple(sorted((_planned(plan, made) for made in jobs(plan, target)), key=lambda each: each.name))


def _planned(plan: Plan, made: Job) -> GangIntent:
    parts = [
        Part(
            each.nodes,
            each.per_node,
            each.segment,
            each.consolidate,
            each.nodes // each.segment if each.channels else 1,
        )
        for each in made.sections
    ]
    return _gang(made.gang.name, partition_of(plan, made.gang, made.sections[0]), parts)


def _gang(name: str, partition: str, parts: Sequence[Part]) -> GangIntent:
    together = len(parts) == 1 and parts[0].together
    units = [_unit(number, part) for number, part in enumerate(parts)]
    root = units[0]._replace(name="") if len(units) == 1 else UnitIntent("", units=tuple(units))
    return GangIntent(name, "", partition, "", None, "", root._replace(required=TOGETHER if together else ""))


def _unit(number: int, part: Part) -> UnitIntent:
    if not part.segment or part.segment >= part.nodes:
        return UnitIntent(f"section-{number}", pods=(_pods(number, part.nodes * part.per_node),))
    pods = (_pods(number, part.segment * part.per_node),)
    names = sorted(f"segment-{each}" for each in range(part.nodes // part.segment))
    units = tuple(UnitIntent(name, required=BLOCK, pods=pods) for name in names)
    return UnitIntent(f"section-{number}", required=TOGETHER if part.together else "", units=units)


def _pods(number: int, count: int) -> PodsIntent:
    return PodsIntent(f"section-{number}", count, count)


def read(documents: Sequence[Mapping[str, Any]]) -> Outcome[tuple[GangIntent, ...]]:
    """The jobs in scripts (`text`), also in those that a submit script holds."""
    found: list[Diagnostic] = []
    scripts = [text for each in documents if isinstance(each.get("text"), str) for text in scripts_in(each["text"])]
    gangs = [gang for text in scripts for gang in _read(text, found)]
    return Outcome(tuple(sorted(gangs, key=lambda gang: gang.name)), tuple(found))


def scripts_in(text: str) -> Iterator[str]:
    """The script itself, or each that it hands to sbatch in a here-document."""
    inner = []
    for start in _DOCUMENT.finditer(text):
        body = text[text.index("\n", start.end()) + 1 :]
        inner.append(body[: body.index(f"\n{start[1]}\n") + 1] if f"\n{start[1]}\n" in body else body)
    yield from inner or [text]


def options(text: str) -> list[dict[str, str]]:
    """The options of each section. sbatch stops looking at the first line that is a command."""
    sections: list[dict[str, str]] = [{}]
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            break
        if not line.startswith("#SBATCH"):
            continue
        words = _words(line.removeprefix("#SBATCH"))
        if words[:1] == ["hetjob"]:
            sections.append({})
        else:
            sections[-1].update(_options(words))
    return sections


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return text.split()


def _options(words: list[str]) -> Iterator[tuple[str, str]]:
    """`--key=value`, `--key value`, `-k value` and `-kvalue`."""
    waiting = ""
    for word in words:
        if waiting and not word.startswith("-"):
            yield waiting, word
            waiting = ""
            continue
        if waiting:
            yield waiting, ""
        waiting = ""
        if word.startswith("--"):
            key, equals, value = word[2:].partition("=")
            if equals or key in FLAGS:
                yield key, value
            else:
                waiting = key
        elif word[:2] in SHORT:
            waiting = SHORT[word[:2]]
            if word[2:]:
                yield waiting, word[2:].removeprefix("=")
                waiting = ""
    if waiting:
        yield waiting, ""


def _read(text: str, found: list[Diagnostic]) -> Iterator[GangIntent]:
    sections = options(text)
    if not any(sections):
        return
    name = sections[0].get("job-name", "")
    parts = [_part(each) for each in sections]
    for part in parts:
        if part.segment and part.nodes % part.segment:
            message = f'job "{name}" has {part.nodes} nodes, which --segment={part.segment} does not divide'
            found.append(warning("M790", ("manifest",), message, hint="Slurm refuses such a job"))
    yield _gang(name, sections[0].get("partition", ""), parts)


def _part(given: Mapping[str, str]) -> Part:
    nodes = _number(given.get("nodes", "1"))
    per_node = _number(given.get("ntasks-per-node", "1"))
    segment = _number(given.get("segment", "0"), 0)
    channels = "unique-channel-per-segment" in given.get("network", "")
    together = "consolidate-segments" in given
    return Part(nodes, per_node, segment, together, nodes // segment if channels and segment else 1)


def _number(text: str, otherwise: int = 1) -> int:
    """The first number of `4`, `4-8` or `4,8`."""
    found = re.match(r"\d{1,9}", text)
    return int(found[0]) if found else otherwise
