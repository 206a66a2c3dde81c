"""What to say of variables without a value: all of them in one run, at the lines that use them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.diagnostics import AT, Diagnostic, Note, Route, error
from bayplan.words import did_you_mean, listing
from bayplan.workflows.osmo.text import spots
from bayplan.workflows.osmo.text.sections import Section
from bayplan.workflows.osmo.text.variables import Variables
from bayplan.workflows.osmo.tokens import OUTPUT, UUID, WORKFLOW_ID

RUNTIME = (OUTPUT, WORKFLOW_ID, UUID)
"""Runtime tokens that read like variables, where they are written with spaces or in an expression."""

_INDENTED = re.compile(r"^[ \t]+default-values:", re.MULTILINE)


def explain(
    reply: Mapping[str, Any], text: str, section: Section, given: Variables, subject: str
) -> tuple[Diagnostic, ...]:
    """R126 for each variable, and each part of one, that is surely used and is not there."""
    return tuple(_findings(reply, text, section, given, subject))


def _findings(
    reply: Mapping[str, Any], text: str, section: Section, given: Variables, subject: str
) -> Iterator[Diagnostic]:
    names = [name for name in given if isinstance(name, str)]
    misplaced = _misplaced(section, subject)
    also = reply["also"]
    notes = (Note(f"perhaps {listing(also, 'and')} {'lacks' if len(also) == 1 else 'lack'} a value, too"),)
    for number, each in enumerate(reply["found"]):
        name, message = each["name"], each["message"]
        own = (*misplaced, *(notes if also and not number else ()))
        place = spots.place(text, each["line"], subject, name or f".{_quoted(message)}")
        route = place or spots.head(section, subject)
        if name:
            hint = _hint(name, names, bool(misplaced))
            if name in RUNTIME:
                hint = f"if the runtime token is meant, write {{{{{name}}}}}, without spaces. Else {hint}"
            yield error("R126", route, f'the variable "{name}" has no value', hint=hint, notes=own)
        else:
            hint = did_you_mean(_quoted(message), each["near"])
            yield error("R126", route, f"the template uses what is not there: {message}", hint=hint, notes=own)


def _misplaced(section: Section, subject: str) -> tuple[Note, ...]:
    """Default values below the workflow are data, and no template sees them."""
    found = _INDENTED.search(section.text)
    if not found:
        return ()
    line = section.line + section.text.count("\n", 0, found.end())
    place: Route = (subject, AT, line, len(found[0]) - len("default-values:") + 1, line, len(found[0]))
    return (Note("default-values stands here below `workflow:`, where OSMO does not look for it", place),)


def _hint(name: str, names: list[str], misplaced: bool) -> str:
    near = did_you_mean(name, names)
    way = f"pass --set {name}=VALUE, or add it under default-values"
    if misplaced:
        way = f"write `default-values:` at the start of a line, below the workflow, or pass --set {name}=VALUE"
    return f"{near} Else {way}" if near else way


def _quoted(message: str) -> str:
    """The name that Jinja quotes last."""
    quoted = re.findall(r"'([^']*)'", message)
    return quoted[-1] if quoted else ""
