"""What keeps a template from being rendered -> diagnostics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan.diagnostics import AT, Diagnostic, Route, error
from bayplan.workflows.osmo.text import tokens, undefined
from bayplan.workflows.osmo.text.sections import Section
from bayplan.workflows.osmo.text.spots import head, place
from bayplan.workflows.osmo.text.variables import Variables

TIME, MEMORY = "half a second", "100 MiB"
"""What OSMO grants a template."""

CLOCK = "a template must write the same in every run: pass the time with --set, or let the command ask for it"


def explain(
    reply: Mapping[str, Any], text: str, section: Section, given: Variables, subject: str
) -> tuple[Diagnostic, ...]:
    """R126 to R131, by what the process replied."""
    kind, message = reply["failure"], reply.get("message", "").rstrip(".")
    if kind == "undefined":
        return undefined.explain(reply, text, section, given, subject)
    route = place(text, reply.get("line") or 0, subject) or head(section, subject)
    if kind == "syntax":
        return (_broken(text, route, message, reply.get("column", 0)),)
    if kind == "security":
        hint = "templates reach variables, filters and plain methods only, here as in OSMO"
        return (error("R128", route, f"the template reaches for what it may not have: {message}", hint=hint),)
    if kind == "object":
        hint = "call it, or make a list of it: `... | list`"
        return (error("R131", route, f"the template writes {message}, an object of Python and no value", hint=hint),)
    if kind == "clock":
        message = f"the template asks the clock: {message}"
        return (error("R128", route, message, hint=CLOCK),)
    if kind == "time":
        message = f"the template takes more than {TIME} of processor time, which is all that OSMO grants"
        return (error("R129", route, message, hint="look for loops over large ranges"),)
    if kind in ("memory", "size"):
        message = f"the template needs more than {MEMORY}, which is all that OSMO grants"
        if kind == "size":
            message = "the template writes more than 16 Mi characters"
        return (error("R130", route, message, hint="look for loops that make a text longer and longer"),)
    return (error("R131", route, f"the template cannot be rendered: {message}", hint=_other_hint(message)),)


def _broken(text: str, route: Route, message: str, column: int) -> Diagnostic:
    """R127 at the column, if that is known, else at what was likely meant for a runtime token, else as it is."""
    subject, _, line, *_ = route
    source = text.split("\n")[int(line) - 1]
    token = next((each for each in tokens.meant(source) if ":" in each.token), None) if "got ':'" in message else None
    if token is not None:
        route = (subject, AT, line, token.start + 1, line, token.end + 1)
        hint = f"write {token.token}: a runtime token takes no spaces"
    else:
        route = (subject, AT, line, column, line, column + 1) if column else route
        hint = _syntax_hint(source)
    return error("R127", route, f"the template is broken: {message}", hint=hint)


def _syntax_hint(source: str) -> str:
    if "{#" in source:
        return "{# begins a comment of Jinja's; write {% raw %} and {% endraw %} around it if it is none"
    return "write {% raw %} and {% endraw %} around what is not meant for Jinja" if "{{" in source else ""


def _other_hint(message: str) -> str:
    if "loader" in message:
        return "a workflow is one file: include, import and extends have nothing to load"
    return "install jinja2: `pip install 'jinja2>=3.1,<4'`" if "not installed" in message else ""
