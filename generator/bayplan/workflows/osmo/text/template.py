"""The workflow's section -> the text that it stands for, with the lens that leads back.

A file without a sign of a template is taken as it is; one with runtime tokens only needs no Jinja; the others are
rendered in a process of their own.
"""

from __future__ import annotations

import re
from typing import Any

from bayplan.diagnostics import Diagnostic, Outcome, Route, error, warning
from bayplan.document import Lens, Span
from bayplan.model.formats import Source
from bayplan.words import did_you_mean
from bayplan.workflows.osmo.text import tokens
from bayplan.workflows.osmo.text.sections import Sections
from bayplan.workflows.osmo.text.spots import head
from bayplan.workflows.osmo.text.tokens import Hidden
from bayplan.workflows.osmo.text.variables import Variables

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
        from bayplan.workflows.osmo.text import failures

        return Outcome(None, failures.explain(reply, text, section, given, subject))
    written: str = reply["text"]
    strange = _strange(written, text, head(section, subject))
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


def _unused(names: Any, source: Source) -> tuple[Diagnostic, ...]:
    """Variables of the command line that no template looks up, which are likely misspelt."""
    unused = [name for name in source.variables if name not in names]
    message = 'no template uses the variable "{}"'.format
    return tuple(warning("A931", ("argument", "--set"), message(n), hint=did_you_mean(n, names)) for n in unused)


def _strange(written: str, text: str, route: Route) -> tuple[Diagnostic, ...]:
    """A template may write a Python object by its address, which is another in every run."""
    found = next((each[0] for each in _ADDRESS.finditer(written) if each[0] not in text), None)
    if found is None:
        return ()
    message = f"the template writes {found.partition(' at 0x')[0]}>, an object of Python and no value"
    return (error("R131", route, message, hint="call it, or make a list of it: `... | list`"),)


def _in_raw(route: Route) -> Diagnostic:
    """OSMO's variable for a token stays a variable there."""
    message = "a runtime token stands in a raw block or a text of Jinja's, where OSMO loses it; here it is kept"
    return warning("R138", route, message, hint="take it out of there: tokens need no raw block")
