"""The workflow's section -> the text that it stands for, with the lens that leads back.

A file without a sign of a template is taken as it is; one with runtime tokens only needs no Jinja; the others are
rendered in a process of their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bayplan.diagnostics import AT, Diagnostic, Outcome, Route, error, warning
from bayplan.document import Lens, Span
from bayplan.model.formats import Source
from bayplan.words import did_you_mean
from bayplan.workflows.osmo.text import tokens
from bayplan.workflows.osmo.text.sections import Section, Sections
from bayplan.workflows.osmo.text.tokens import Hidden
from bayplan.workflows.osmo.text.variables import Variables

TIME, MEMORY = "half a second", "100 MiB"
"""What OSMO grants a template."""

_ADDRESS = re.compile(r"<[^<>\n]* at 0x[0-9a-fA-F]+>")


def render(text: str, sections: Sections, given: Variables, subject: str, source: Source) -> Outcome[Lens]:
    """The lens with the text of the workflow's section. R126 to R131: there is none; A931: a variable without use."""
    section = sections.workflow
    if not any(marker in text for marker in (*tokens.MARKERS, "default-values")):
        return Outcome(Lens(section.padded, _unmoved), _unused((), source))
    if tokens.plain(section.text):
        return Outcome(Lens(section.padded.removesuffix("\n"), _unmoved), _unused((), source))
    if source.render is None:
        return Outcome(None, (error("R131", head(section, subject), "nothing is there to render templates with"),))
    hidden = tokens.hide(section.padded)
    request = _request("render", hidden, given)
    reply = source.render(request)
    if "failure" in reply:
        return Outcome(None, tuple(_failed(reply, text, section, given, subject)))
    written: str = reply["text"]
    strange = _strange(written, hidden.template, head(section, subject))
    if strange:
        return Outcome(None, strange)
    from bayplan.workflows.osmo.text import lens

    back = lens.back(text, written, source.render, {**request, "task": "trace", "clean": written})
    shown = tokens.reveal(written, hidden.tokens)
    raw = () if shown == written else (_in_raw(head(section, subject)),)
    return Outcome(Lens(shown, back), (*_unused(reply["names"], source), *raw))


def _unmoved(span: Span) -> tuple[Span, str]:
    """The way back where a text stands as in the file."""
    return span, ""


def _request(task: str, hidden: Hidden, given: Variables) -> dict[str, Any]:
    from bayplan.workflows.osmo.text import packing

    return {"task": task, "template": hidden.template, "variables": packing.pack({**given, **hidden.tokens})}


def head(section: Section, subject: str) -> Route:
    """The key of a section."""
    return (subject, AT, section.line, 1, section.line, len(section.key) + 1)


def _unused(names: Any, source: Source) -> tuple[Diagnostic, ...]:
    """Variables of the command line that no template looks up, which are likely misspelt."""
    unused = [name for name in source.variables if name not in names]
    message = 'no template uses the variable "{}"'.format
    return tuple(warning("A931", ("argument", "--set"), message(n), hint=did_you_mean(n, names)) for n in unused)


def _strange(written: str, template: str, route: Route) -> tuple[Diagnostic, ...]:
    """A template may write a Python object by its address, which is another in every run."""
    found = next((each[0] for each in _ADDRESS.finditer(written) if each[0] not in template), None)
    if found is None:
        return ()
    message = f"the template writes {found.partition(' at 0x')[0]}>, an object of Python and no value"
    return (error("R131", route, message, hint="call it, or make a list of it: `... | list`"),)


def _in_raw(route: Route) -> Diagnostic:
    """OSMO's variable for a token stays a variable there."""
    message = "a runtime token stands in a raw block or a text of Jinja's, where OSMO loses it; here it is kept"
    return warning("R138", route, message, hint="take it out of there: tokens need no raw block")


def _failed(
    reply: Mapping[str, Any], text: str, section: Section, given: Variables, subject: str
) -> tuple[Diagnostic, ...]:
    """What keeps the template from being rendered."""
    kind, message = reply["failure"], reply.get("message", "").rstrip(".")
    if kind == "undefined":
        from bayplan.workflows.osmo.text import undefined

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


def place(text: str, line: int, subject: str, name: str = "") -> Route | None:
    """The name in a line of the template, else the first thing there that is Jinja's, else all of the line."""
    lines = text.split("\n")
    if not 0 < line <= len(lines):
        return None
    source = lines[line - 1]
    extent = _named(source, name) or _extent(source, r"{[{%#].*?(?:[%#}]}|$)") or _extent(source, r"\S(?:.*\S)?")
    first, last = extent or (1, 2)
    return (subject, AT, line, first, line, last)


def _named(source: str, name: str) -> tuple[int, int] | None:
    """A name in what is Jinja's of a line; of an expression of several lines, anywhere in it. `.name`: a part."""
    pattern = re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)" if name[:1] != "." else rf"{re.escape(name)}(?!\w)")
    parts = [part.span() for part in re.finditer(r"{[{%].*?(?:[%}]}|$)", source)] or [(0, len(source))]
    found = (pattern.search(source, start, end) for start, end in parts if name)
    return next(((each.start() + 1, each.end() + 1) for each in found if each), None)


def _extent(source: str, pattern: str) -> tuple[int, int] | None:
    found = re.search(pattern, source)
    return (found.start() + 1, found.end() + 1) if found else None


def _syntax_hint(text: str, route: Route) -> str:
    source = text.split("\n")[int(route[2]) - 1]
    if "{#" in source:
        return "{# begins a comment of Jinja's; write {% raw %} and {% endraw %} around it if it is none"
    return "write {% raw %} and {% endraw %} around what is not meant for Jinja" if "{{" in source else ""


def _other_hint(message: str) -> str:
    if "loader" in message:
        return "a workflow is one file: include, import and extends have nothing to load"
    return "install jinja2: `pip install 'jinja2>=3.1,<4'`" if "not installed" in message else ""
