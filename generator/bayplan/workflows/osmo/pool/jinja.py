"""The one place where pod templates meet Jinja, which whoever calls runs elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

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
    made = dict(zip(wanted, map(_made, reply["replies"]), strict=True))
    return [made[key] for key in keys]


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
