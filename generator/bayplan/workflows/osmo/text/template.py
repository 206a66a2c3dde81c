"""The workflow's section -> the text that it stands for, with the source map that leads back.

A file without a sign of a template is taken as it is; one with runtime tokens only needs no Jinja; the others are
rendered in a process of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bayplan.diagnostics import Diagnostic, Outcome, error, warning
from bayplan.model.formats import Source
from bayplan.text.document import SourceMap, Span
from bayplan.words import did_you_mean
from bayplan.workflows.osmo.text import tokens
from bayplan.workflows.osmo.text.data import unmoved
from bayplan.workflows.osmo.text.sections import Sections
from bayplan.workflows.osmo.text.spots import head
from bayplan.workflows.osmo.text.tokens import Hidden, Revealed
from bayplan.workflows.osmo.text.variables import Variables, origin


def render(text: str, sections: Sections, given: Variables, subject: str, source: Source) -> Outcome[SourceMap]:
    """The workflow's section, and the way back. R126 to R131: there is none; A931: a variable without use."""
    section = sections.workflow
    if not any(marker in text for marker in (*tokens.MARKERS, "default-values")):
        return Outcome(SourceMap(section.padded, unmoved), _unused((), source))
    if tokens.plain(section.text):
        return Outcome(SourceMap(section.padded.removesuffix("\n"), unmoved), _unused((), source))
    if source.render is None:
        return Outcome(None, (error("R131", head(section, subject), "nothing is there to render templates with"),))
    hidden = tokens.hide(section.padded)
    request = _request("render", hidden, given)
    reply = source.render(request)
    if "failure" in reply:
        from bayplan.workflows.osmo.text import failures

        return Outcome(None, failures.explain(_shown(reply, hidden), text, section, given, subject))
    written: str = reply["text"]
    shown = tokens.reveal(written, hidden)
    back = _back(text, shown, source, {**request, "task": "trace", "clean": written}, _origins(sections, given, source))
    made = SourceMap(shown.text, back)
    from bayplan.workflows.osmo.text import strange

    return Outcome(made, (*_unused(reply["names"], source), *strange.in_raw(made, shown.starts, subject)))


def _request(task: str, hidden: Hidden, given: Variables) -> dict[str, Any]:
    from bayplan.workflows.osmo.text import packing

    return {"task": task, "template": hidden.template, "variables": packing.pack({**given, **hidden.tokens})}


def _shown(reply: Mapping[str, Any], hidden: Hidden) -> Mapping[str, Any]:
    """The reply with the column that Jinja gave up at, in place of an offset in the template without tokens."""
    if "offset" not in reply:
        return reply
    before = tokens.reveal(hidden.template[: reply["offset"]], hidden).text
    return {**reply, "column": len(before) - before.rfind("\n")}


def _back(
    text: str, shown: Revealed, source: Source, request: Mapping[str, Any], told: Callable[[str], str]
) -> Callable[[Span], tuple[Span, str]]:
    """The way back, by a second rendering, whose offsets know nothing of tokens in raw blocks. See `source_map`."""
    from bayplan.workflows.osmo.text import source_map

    def trace(request: Mapping[str, Any]) -> Mapping[str, Any]:
        reply = source.render(request) if source.render else {}
        pieces = reply.get("pieces") or []
        return {**reply, "pieces": [(shown.offset(offset), number) for offset, number in pieces]}

    return source_map.back(text, shown.text, trace, request, told)


def _origins(sections: Sections, given: Variables, source: Source) -> Callable[[str], str]:
    """Where variables have their values from; nothing of names that the template itself brings."""
    return lambda name: origin(name, sections, source.variables) if name in given else ""


def _unused(names: Any, source: Source) -> tuple[Diagnostic, ...]:
    """Variables of the command line that no template looks up, which are likely misspelt."""
    unused = [name for name in source.variables if name not in names]
    message = 'no template uses the variable "{}"'.format
    return tuple(warning("A931", ("argument", "--set"), message(n), hint=did_you_mean(n, names)) for n in unused)
