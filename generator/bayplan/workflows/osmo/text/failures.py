"""What keeps a template from being rendered -> diagnostics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan.diagnostics import Diagnostic, Route, error
from bayplan.workflows.osmo.text import undefined
from bayplan.workflows.osmo.text.sections import Section
from bayplan.workflows.osmo.text.spots import head, place
from bayplan.workflows.osmo.text.variables import Variables

TIME, MEMORY = "half a second", "100 MiB"
"""What OSMO grants a template."""


def explain(
    reply: Mapping[str, Any], text: str, section: Section, given: Variables, subject: str
) -> tuple[Diagnostic, ...]:
    """R126 to R131, by what the process replied."""
    kind, message = reply["failure"], reply.get("message", "").rstrip(".")
    if kind == "undefined":
        return undefined.explain(reply, text, section, given, subject)
    route = place(text, reply.get("line") or 0, subject) or head(section, subject)
    if kind == "syntax":
        return (error("R127", route, f"the template is broken: {message}", hint=_syntax_hint(text, route)),)
    if kind == "security":
        hint = "templates reach variables, filters and plain methods only, here as in OSMO"
        return (error("R128", route, f"the template reaches for what it may not have: {message}", hint=hint),)
    if kind == "time":
        message = f"the template takes more than {TIME} of processor time, which is all that OSMO grants"
        return (error("R129", route, message, hint="look for loops over large ranges"),)
    if kind in ("memory", "size"):
        message = f"the template needs more than {MEMORY}, which is all that OSMO grants"
        if kind == "size":
            message = "the template writes more than 16 Mi characters"
        return (error("R130", route, message, hint="look for loops that make a text longer and longer"),)
    return (error("R131", route, f"the template cannot be rendered: {message}", hint=_other_hint(message)),)


def _syntax_hint(text: str, route: Route) -> str:
    source = text.split("\n")[int(route[2]) - 1]
    if "{#" in source:
        return "{# begins a comment of Jinja's; write {% raw %} and {% endraw %} around it if it is none"
    return "write {% raw %} and {% endraw %} around what is not meant for Jinja" if "{{" in source else ""


def _other_hint(message: str) -> str:
    if "loader" in message:
        return "a workflow is one file: include, import and extends have nothing to load"
    return "install jinja2: `pip install 'jinja2>=3.1,<4'`" if "not installed" in message else ""
