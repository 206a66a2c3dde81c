"""Texts with variables -> texts. Plain `{{NAME}}`s are filled in here; what is more is left to Jinja, in a child."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from bayplan.core.diagnostics import Outcome, Route, error
from bayplan.core.phrases import did_you_mean
from bayplan.core.values import NamedTuple
from bayplan.workflows.osmo.pool.values import Platform, PoolConfig, TaskRequest
from bayplan.workflows.osmo.units import UNITS, k8s_name, quantity, split_amount

# The variables of pod templates and rules, with their values (postgres.py, ResourceSpec.get_allocatable_tokens).
#
# `USER_MEMORY` and `USER_STORAGE` are spelled as Kubernetes reads them, and their parts follow the value that holds,
# also where it is a default; OSMO leaves the parts of a default empty. What only a running OSMO knows has no value.

Value = str | int | float | None

PARTS = ("Ti", "Gi", "Mi", "Ki", "B", "m")
"""Units in which templates may ask for an amount: `USER_MEMORY_Gi`."""

UNKNOWN = ("WF_SUBMITTED_BY",)
"""Variables that have a value only in a running OSMO."""

CONTAINER = "main"
"""The user's container where the native format gives it no name."""

LONGEST = 63


def of_task(config: PoolConfig, platform: Platform, ask: TaskRequest) -> Outcome[dict[str, Value]]:
    """Every variable of one task. A value of None: known, and not given. W488 for an amount that is none."""
    amounts = {"MEMORY": quantity(ask.memory), "STORAGE": quantity(ask.storage)}
    own: dict[str, Value] = {
        "USER_CPU": float(ask.cpu) if ask.cpu else None,
        "USER_GPU": int(ask.gpu) if ask.gpu else None,
        **{f"USER_{name}": value for name, value in amounts.items()},
    }
    variables: dict[str, Value] = {**own, **platform.variables}
    variables |= {name: value for name, value in own.items() if value is not None}
    for name in amounts:
        variables[f"USER_{name}"] = quantity(variables[f"USER_{name}"]) or variables[f"USER_{name}"]
        variables |= _parts(f"USER_{name}", variables[f"USER_{name}"])
    cache = _cache(ask.cache or str(variables.get("USER_CACHE") or ""), str(variables["USER_STORAGE"] or "0Mi"))
    if cache is None:
        place: Route = ask.places.get("cache", ask.route)
        message = f'"{ask.cache or variables.get("USER_CACHE")}" is no size of a cache'
        hint = "write a share such as 50%, or an amount such as 10Gi"
        return Outcome(None, (error("W488", place, message, hint=hint),))
    variables["USER_CACHE"] = cache
    variables["USER_EXCLUDED_NODES"] = f"ARRAY:[{','.join(ask.excluded)}]"
    variables["USER_CONTAINER_NAME"] = ask.container or CONTAINER
    return Outcome({**variables, **of_group(config, ask), **_of_workflow(platform, ask)})


def of_group(config: PoolConfig, ask: TaskRequest) -> dict[str, Value]:
    """The variables of a whole task group, the only ones that group templates see.

    OSMO draws random numbers for the UUIDs; these are made of the names, so that the same input gives the same output.
    """
    return {
        "WF_ID": _label(ask.workflow),
        "WF_UUID": _uuid(ask.workflow),
        "WF_GROUP_NAME": _label(ask.group),
        "WF_GROUP_UUID": _uuid(ask.workflow, ask.group),
        "WF_POOL": config.name,
    }


def _of_workflow(platform: Platform, ask: TaskRequest) -> dict[str, Value]:
    lead: dict[str, Value] = {"WF_LEAD_CONTAINER": "true"} if ask.lead else {}
    return {
        "WF_TASK_NAME": _label(ask.task),
        "WF_TASK_UUID": _uuid(ask.workflow, ask.group, ask.task),
        "WF_RETRY_ID": "0",
        "WF_PLATFORM": platform.name,
        "WF_PRIORITY": ask.priority.lower(),
        **dict.fromkeys(UNKNOWN),
        **lead,
    }


def of_node(resources: Mapping[str, int], accelerators: int) -> dict[str, Value]:
    """What rules may ask of a node; resources are thousandths. A resource that is not stated has no value."""
    cpu, memory, storage = (resources.get(name) for name in ("cpu", "memory", "ephemeral-storage"))
    return {
        "K8_CPU": None if cpu is None else str(cpu // 1000),
        "K8_GPU": str(accelerators),
        "K8_MEMORY": None if memory is None else f"{memory // 1000 // 1024}Ki",
        "K8_STORAGE": None if storage is None else f"{storage // 1000 // 1024}Ki",
    }


def _parts(name: str, value: Any) -> dict[str, Value]:
    """An amount's number, its unit, and the amount in every unit, as numbers."""
    parts = split_amount(value) if value is not None else None
    if parts is None:
        return dict.fromkeys([f"{name}_VAL", f"{name}_UNIT", *(f"{name}_{unit}" for unit in PARTS)])
    number, unit = parts
    size = number * Fraction(2) ** UNITS[unit]
    plain = str(int(number)) if number.denominator == 1 else str(float(number))
    units: dict[str, Value] = {f"{name}_{each}": float(size / Fraction(2) ** UNITS[each]) for each in PARTS}
    return {f"{name}_VAL": plain, f"{name}_UNIT": unit or "B", **units}


def _cache(size: str, storage: str) -> str | None:
    """The size of the cache: what is asked, a share of the storage, or nine tenths of it. None where it is no size."""
    number, unit = split_amount(storage) or (Fraction(0), "Mi")
    if not size:
        return f"{math.floor(number * 9 / 10)}{unit or 'B'}"
    if not size.endswith("%"):
        return quantity(size)
    share = size[:-1]
    if not (share.replace(".", "", 1).isascii() and share.replace(".", "", 1).isdigit()) or float(share) > 100:
        return None
    return f"{math.floor(number * math.floor(float(share)) / 100)}{unit or 'B'}"


def _label(name: str) -> str:
    """A name cut to the length of a label value."""
    return name if len(name) <= LONGEST else name[:LONGEST].rstrip("-_")


def _uuid(*names: str) -> str:
    """32 hexadecimal digits that stand for these names."""
    return hashlib.sha256("\0".join(map(k8s_name, names)).encode("utf-8", "surrogatepass")).hexdigest()[:32]


# Rendering pod templates with Jinja, which runs in a process of its own.

Render = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Runs a template in a process of its own, as `model.formats.Source.render` does."""

WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

FAILURES: Mapping[str, str] = {
    "memory": "it takes more memory than a template may",
    "time": "it takes more time than a template may",
    "size": "it writes more text than a template may",
    "died": "the process that rendered it ended",
}
"""What the sandbox says -> our words."""


Named = tuple[tuple[str, str, Any], ...]
"""Variables as `_named` gives them."""


def render_each(jobs: Sequence[tuple[str, Mapping[str, Any]]], render: Render | None) -> list[tuple[str, str]]:
    """Each text with its variables, as the text that comes out and what went wrong with it (empty: nothing).

    All of them are one request, and equal ones are rendered once.
    """
    if render is None:
        return [("", "it is more than plain variables, and there is nothing here to run Jinja")] * len(jobs)
    keys = [(text, _named(text, variables)) for text, variables in jobs]
    wanted = list(dict.fromkeys(keys))
    reply = render({"task": "each", "items": [_request(*key) for key in wanted]}) if wanted else {"replies": ()}
    results = dict(zip(wanted, map(_made, reply["replies"]), strict=True))
    return [results[key] for key in keys]


def _named(text: str, variables: Mapping[str, Any]) -> Named:
    """The variables whose names occur in the text: tasks that differ in others only share one rendering. With the type
    of each, for 1, 1.0 and True are equal and are written unlike."""
    words = set(WORD.findall(text))
    used = ((name, type(value).__name__, value) for name, value in variables.items() if name in words)
    return tuple(sorted(used, key=lambda each: each[:2]))


def _request(text: str, variables: Named) -> dict[str, Any]:
    packed = {"map": [[name, value] for name, _, value in variables]}
    return {"task": "render", "template": text, "variables": packed}


def _made(reply: Mapping[str, Any]) -> tuple[str, str]:
    failure = reply.get("failure", "")
    if not failure:
        return str(reply["text"]), ""
    if failure == "undefined" and reply.get("found"):
        return "", str(reply["found"][0]["message"])
    if failure == "object":
        return "", f"it writes {reply['message']}, an object of Python and no value"
    return "", str(reply.get("message") or FAILURES.get(failure, failure))


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
    results = [(job, _simple(job)) for job in jobs]
    hard = [(job.text, job.variables) for job, result in results if result is None]
    replies = iter(render_each(hard, render))
    return [_judged(job, *next(replies)) if result is None else result for job, result in results]


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


def _judged(job: Job, text: str, fault: str) -> Rendered:
    names = NAME.findall(job.text)
    if fault:
        unknown = UNDEFINED.fullmatch(fault)
        return _undefined(unknown[1], job.variables) if unknown else Rendered(fault=fault.partition(". ")[0])
    return Rendered(text, tuple(name for name in names if job.variables.get(name, "") is None))
