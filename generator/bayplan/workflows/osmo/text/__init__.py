"""The text of an OSMO file -> data `{"workflow": {...}}`, by the steps of OSMO's own client and service.

    sections    the top-level keys, split before anything is YAML
    variables   default-values and --set
    tokens      {{output}} and its kind, which OSMO fills in when the pod runs
    template    Jinja, in a process of its own
    strange     lost tokens in what a template wrote
    failures    what to say of a template that cannot be rendered
    undefined   and of variables without a value
    spots       places in a template
    data        YAML as PyYAML reads it, keys that are no texts
    local       files beside the workflow
    leftover    what OSMO would render a second time
    source_map  places in the rendered text -> places in the file

Source: OSMO 6.4, src/lib/utils/workflow.py, src/utils/job/workflow.py (TemplateSpec), src/cli/workflow.py.
"""

from __future__ import annotations

from bayplan.diagnostics import Diagnostic, Note, Outcome, has_errors
from bayplan.model.formats import Source
from bayplan.text.document import Document, read_text
from bayplan.workflows.osmo.text import data, leftover, local, sections, template, variables

MOST = 1000
"""Findings of one file that are listed."""


def read(name: str, raw: bytes, subject: str, source: Source) -> Outcome[tuple[Document, ...]]:
    """The one document of an OSMO file, its source map in it. Errors R103 to R119 and R121 to R139, all with places.

    Routes are `(subject, AT, line, column)` in the file.
    """
    made = _read(name, raw, subject, source)
    found, left = made.diagnostics[:MOST], len(made.diagnostics) - MOST
    if left > 0:
        found = (*found[:-1], found[-1]._replace(notes=(*found[-1].notes, Note(f"{left} more findings follow"))))
    return Outcome(made.value, found)


def _read(name: str, raw: bytes, subject: str, source: Source) -> Outcome[tuple[Document, ...]]:
    unfolded = read_text(raw, subject)
    if unfolded.value is None:
        return Outcome(None, unfolded.diagnostics)
    text = unfolded.value
    split = sections.split(text, subject)
    given = variables.given(split.value, subject, source.variables) if split.value else Outcome(None)
    found: list[Diagnostic] = [*split.diagnostics, *given.diagnostics]
    if split.value is None or given.value is None or has_errors(found):
        return Outcome(None, tuple(found))
    made = template.render(text, split.value, given.value, subject, source)
    found += made.diagnostics
    if made.value is None:
        return Outcome(None, tuple(found))
    loaded = data.load(made.value, text, subject)
    found += loaded.diagnostics
    if loaded.value is None:
        return Outcome(None, tuple(found))
    filled = local.fill(loaded.value, made.value, subject, source.read_file)
    found += filled.diagnostics
    if filled.value is None or has_errors(found):
        return Outcome(None, tuple(found))
    document = Document(name, text, 0, filled.value.data, made.value._replace(moved=filled.value.moved))
    return Outcome((document,), (*found, *leftover.find(document, subject)))
