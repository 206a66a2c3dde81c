"""Texts with variables -> texts. Plain `{{NAME}}`s are filled in here; what is more is left to Jinja, in a child."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bayplan.values import NamedTuple
from bayplan.words import did_you_mean
from bayplan.workflows.osmo.pool.jinja import Render, render_each
from bayplan.workflows.osmo.pool.variables import Value

NAME = re.compile(r"\{\{[-+]?\s*([A-Za-z_][A-Za-z0-9_]*)\s*[-+]?\}\}")
PLAIN = re.compile(r"\{\{ *([A-Za-z_][A-Za-z0-9_]*) *\}\}")
UNDEFINED = re.compile(r"'(\w+)' is undefined")
"""What Jinja says of a name that nobody gave a value."""
MARKS = ("{{", "{%", "{#")
KEYWORDS = ("true", "false", "none", "True", "False", "None")


class Job(NamedTuple):
    """One text and the variables that it may name."""

    text: str
    variables: Mapping[str, Value]


class Rendered(NamedTuple):
    """The text that came out. `empty`: variables in it that have no value. `fault`: why there is no text."""

    text: str = ""
    empty: tuple[str, ...] = ()
    fault: str = ""
    hint: str = ""

    @property
    def lost(self) -> bool:
        """Whether a variable without a value shows in the text: Jinja writes it as `None`."""
        return bool(self.empty) and "None" in self.text


def render_all(jobs: Sequence[Job], render: Render | None = None) -> list[Rendered]:
    """Every text, in order; `render` is asked once for equal texts with equal variables."""
    made: dict[int, Rendered] = {}
    hard: list[int] = []
    for number, job in enumerate(jobs):
        simple = _simple(job)
        if simple is None:
            hard.append(number)
        else:
            made[number] = simple
    made |= dict(zip(hard, _by_jinja([jobs[number] for number in hard], render), strict=True))
    return [made[number] for number in range(len(jobs))]


def _simple(job: Job) -> Rendered | None:
    """A text of nothing but plain variables; None where only Jinja can tell."""
    text = job.text
    if not any(mark in text for mark in MARKS):
        return Rendered(_ended(text))
    names = PLAIN.findall(text)
    if any(mark in PLAIN.sub("", text) for mark in (*MARKS, "}}")) or set(names) & set(KEYWORDS):
        return None
    unknown = [name for name in names if name not in job.variables]
    if unknown:
        return _undefined(unknown[0], job.variables)
    empty = tuple(name for name in names if job.variables[name] is None)
    return Rendered(_ended(PLAIN.sub(lambda match: str(job.variables[match[1]]), text)), empty)


def _ended(text: str) -> str:
    """Jinja drops one newline at the end."""
    return text[:-1] if text.endswith("\n") else text


def _undefined(name: str, variables: Mapping[str, Value]) -> Rendered:
    return Rendered(fault=f'there is no variable "{name}"', hint=did_you_mean(name, variables) or "correct the name")


def _by_jinja(jobs: Sequence[Job], render: Render | None) -> list[Rendered]:
    made = render_each([(job.text, job.variables) for job in jobs], render)
    return [_judged(job, text, fault) for job, (text, fault) in zip(jobs, made, strict=True)]


def _judged(job: Job, text: str, fault: str) -> Rendered:
    names = NAME.findall(job.text)
    if fault:
        unknown = UNDEFINED.fullmatch(fault)
        return _undefined(unknown[1], job.variables) if unknown else Rendered(fault=fault.partition(". ")[0])
    return Rendered(text, tuple(name for name in names if job.variables.get(name, "") is None))


def texts(value: Any) -> list[str]:
    """Every text within a value that Jinja would look at, in the order in which `filled` asks for them."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for each in value.values() for text in texts(each)]
    return [text for each in value for text in texts(each)] if isinstance(value, list) else []
