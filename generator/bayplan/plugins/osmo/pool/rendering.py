"""Strings with variables -> strings. This module renders plain `{{NAME}}`s, and Jinja in a child process the rest."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from bayplan.plugin import Outcome, did_you_mean, error
from bayplan.plugins.osmo.pool.values import Platform, PoolConfig, TaskRequest
from bayplan.plugins.osmo.units import UNITS, is_percentage, k8s_name, quantity, split_amount

# The variables of pod templates and rules, with their values (postgres.py, ResourceSpec.get_allocatable_tokens).
#
# `USER_MEMORY` and `USER_STORAGE` are Kubernetes quantities, and their parts match the value, also if it is a default.
# OSMO leaves the parts of a default empty. Variables that only a running OSMO knows have no value.

Value = str | int | float | None

PARTS = ("Ti", "Gi", "Mi", "Ki", "B", "m")
"""Units of amounts that templates can use: `USER_MEMORY_Gi`."""

UNKNOWN = ("WF_SUBMITTED_BY",)
"""Variables that have a value only in a running OSMO."""

CONTAINER = "main"
"""The user's container if the native format gives it no name."""

LONGEST = 63


def of_task(config: PoolConfig, platform: Platform, ask: TaskRequest) -> Outcome[dict[str, Value]]:
    """Every variable of one task. A value of None: a known variable without a value. R127 for a wrong cache size."""
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
    if cache is None and not ask.cache:  # W413 reports the task's own
        message = f'"{variables.get("USER_CACHE")}" is not a cache size'
        hint = "write a percentage such as 50%, or an amount such as 10Gi, in USER_CACHE of common_default_variables"
        return Outcome(None, (error("R127", ask.places.get("cache", ask.route), message, hint=hint),))
    variables["USER_CACHE"] = cache
    variables["USER_EXCLUDED_NODES"] = f"ARRAY:[{','.join(ask.excluded)}]"
    variables["USER_CONTAINER_NAME"] = ask.container or CONTAINER
    return Outcome({**variables, **of_group(config, ask), **_of_workflow(platform, ask)})


def of_group(config: PoolConfig, ask: TaskRequest) -> dict[str, Value]:
    """The variables of a whole task group, the only ones that group templates see.

    OSMO uses random UUIDs. bayplan derives them from the names, so that the same input gives the same output.
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
    """The variables of a node for rules; resources are thousandths. A resource that the node lacks has no value."""
    cpu, memory, storage = (resources.get(name) for name in ("cpu", "memory", "ephemeral-storage"))
    return {
        "K8_CPU": None if cpu is None else str(cpu // 1000),
        "K8_GPU": str(accelerators),
        "K8_MEMORY": None if memory is None else f"{memory // 1000 // 1024}Ki",
        "K8_STORAGE": None if storage is None else f"{storage // 1000 // 1024}Ki",
    }


def _parts(name: str, value: Any) -> dict[str, Value]:
    """The number of an amount, its unit, and the amount in every unit as a number."""
    parts = split_amount(value) if value is not None else None
    if parts is None:
        return dict.fromkeys([f"{name}_VAL", f"{name}_UNIT", *(f"{name}_{unit}" for unit in PARTS)])
    number, unit = parts
    size = number * Fraction(2) ** UNITS[unit]
    plain = str(int(number)) if number.denominator == 1 else str(float(number))
    units: dict[str, Value] = {f"{name}_{each}": float(size / Fraction(2) ** UNITS[each]) for each in PARTS}
    return {f"{name}_VAL": plain, f"{name}_UNIT": unit or "B", **units}


def _cache(size: str, storage: str) -> str | None:
    """The size of the cache: the given amount or share of the storage, or 90% of it. None if the size is invalid."""
    number, unit = split_amount(storage) or (Fraction(0), "Mi")
    if not size:
        return f"{math.floor(number * 9 / 10)}{unit or 'B'}"
    if not size.endswith("%"):
        return quantity(size)
    if not is_percentage(size):
        return None
    return f"{math.floor(number * math.floor(float(size[:-1])) / 100)}{unit or 'B'}"


def _label(name: str) -> str:
    """A name, cut to the length of a label value."""
    return name if len(name) <= LONGEST else name[:LONGEST].rstrip("-_")


def _uuid(*names: str) -> str:
    """32 hexadecimal digits, derived from these names."""
    return hashlib.sha256("\0".join(map(k8s_name, names)).encode("utf-8", "surrogatepass")).hexdigest()[:32]


# Rendering pod templates with Jinja in a separate process.

Render = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Renders a template in a separate process, as `model.formats.Source.render` does."""

WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

FAILURES: Mapping[str, str] = {
    "memory": "it exceeds the memory limit of templates",
    "time": "it exceeds the time limit of templates",
    "size": "it exceeds the output limit of templates",
    "died": "the process that rendered it ended",
}
"""Failure of the sandbox -> the words for it."""


Named = tuple[tuple[str, str, Any], ...]
"""Variables as `_named` gives them."""


def render_each(jobs: Sequence[tuple[str, Mapping[str, Any]]], render: Render | None) -> list[tuple[str, str]]:
    """Each string with its variables -> the rendered string and its error (empty: none).

    One request renders all of them, and equal ones only once.
    """
    if render is None:
        return [("", "it needs Jinja, which this caller cannot run")] * len(jobs)
    keys = [(text, _named(text, variables)) for text, variables in jobs]
    wanted = list(dict.fromkeys(keys))
    reply = render({"task": "each", "items": [_request(*key) for key in wanted]}) if wanted else {"replies": ()}
    results = dict(zip(wanted, map(_made, reply["replies"]), strict=True))
    return [results[key] for key in keys]


def _named(text: str, variables: Mapping[str, Any]) -> Named:
    """The variables whose names occur in the text. Tasks that differ only in other variables share one rendering. The
    types are part of it, because 1, 1.0 and True are equal but render differently."""
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
        return "", f"it writes {reply['message']}, which is a Python object"
    return "", str(reply.get("message") or FAILURES.get(failure, failure))


NAME = re.compile(r"\{\{[-+]?\s*([A-Za-z_][A-Za-z0-9_]*)\s*[-+]?\}\}")
PLAIN = re.compile(r"\{\{ *([A-Za-z_][A-Za-z0-9_]*) *\}\}")
UNDEFINED = re.compile(r"'(\w+)' is undefined")
"""Jinja's error for a name without a value."""
MARKS = ("{{", "{%", "{#")
KEYWORDS = ("true", "false", "none", "True", "False", "None")


class Job(NamedTuple):
    """One string and the variables that it may use."""

    text: str
    variables: Mapping[str, Value]


class Rendered(NamedTuple):
    """The rendered string. `empty`: its variables without a value. `fault`: why rendering failed."""

    text: str = ""
    empty: tuple[str, ...] = ()
    fault: str = ""
    hint: str = ""

    @property
    def lost(self) -> bool:
        """Whether the result shows a variable without a value: Jinja writes it as `None`."""
        return bool(self.empty) and "None" in self.text


def render_all(jobs: Sequence[Job], render: Render | None = None) -> list[Rendered]:
    """Every string, in order. `render` runs once for equal strings with equal variables."""
    results = [(job, _simple(job)) for job in jobs]
    hard = [(job.text, job.variables) for job, result in results if result is None]
    replies = iter(render_each(hard, render))
    return [_judged(job, *next(replies)) if result is None else result for job, result in results]


def _simple(job: Job) -> Rendered | None:
    """A string with only plain variables, rendered; None if it needs Jinja."""
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
    """The text as Jinja ends it: without one newline."""
    return text[:-1] if text.endswith("\n") else text


def _undefined(name: str, variables: Mapping[str, Value]) -> Rendered:
    return Rendered(fault=f'unknown variable "{name}"', hint=did_you_mean(name, variables) or "correct the name")


def _judged(job: Job, text: str, fault: str) -> Rendered:
    names = NAME.findall(job.text)
    if fault:
        unknown = UNDEFINED.fullmatch(fault)
        return _undefined(unknown[1], job.variables) if unknown else Rendered(fault=fault.partition(". ")[0])
    return Rendered(text, tuple(name for name in names if job.variables.get(name, "") is None))
