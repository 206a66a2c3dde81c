"""The text of an OSMO file -> data `{"workflow": {...}}`, by the steps of OSMO's own client and service.

    sections           the top-level keys, split before anything is YAML; YAML as PyYAML reads it
    tokens             {{output}} and its kind, which OSMO fills in when the pod runs
    template           default-values and --set, Jinja, files beside the workflow
    template_origins   places in the rendered text -> places in the file; why a template cannot be rendered

Source: OSMO 6.4, src/lib/utils/workflow.py, src/utils/job/workflow.py (TemplateSpec), src/cli/workflow.py.
"""

from __future__ import annotations

from bayplan.core.diagnostics import Diagnostic, Note, Outcome, has_errors, warning
from bayplan.model.formats import Source
from bayplan.text.document import Document, Path, read_text
from bayplan.workflows.osmo import sections, template, tokens
from bayplan.workflows.osmo.template import MARKERS, without_tokens

# Jinja in the data after rendering: OSMO renders a workflow a second time when the client submits it.
#
# The first rendering answers the client with data; the client puts local files in, writes the data as YAML, and the
# service renders that text once more, without default-values (OSMO 6.4, src/cli/workflow.py, `submit_workflow_helper`;
# src/service/core/workflow/objects.py, `construct_workflow_dict`).

_MOST = 20


def template_again(document: Document, subject: str) -> tuple[Diagnostic, ...]:
    """R138 for each text that holds more than runtime tokens; the last one that is told says how many follow."""
    marked = [(path, text) for text, path in tokens.texts(document.data, ()) if _marker(without_tokens(text))]
    found = [_warning((subject, *path), text) for path, text in marked[:_MOST]]
    if len(marked) > _MOST:
        found[-1] = found[-1]._replace(notes=(Note(f"{len(marked) - _MOST} more like it"),))
    return tuple(found)


def _warning(route: Path, text: str) -> Diagnostic:
    """Spaces inside the braces do not matter when a pod starts, so a token with spaces is one here."""
    marker = _marker(tokens.replace(without_tokens(text), lambda token: None if token.kind == tokens.UUID else "\0"))
    if marker:
        message = f'OSMO renders this text again, and "{marker}" in it is Jinja\'s then; here it stands as it is'
        return warning("R138", route, message, hint=f"let the text do without {marker}")
    token = tokens.find(without_tokens(text))[0].text
    message = f"OSMO renders this text again, and {token} is Jinja's then; here it is taken for a runtime token"
    return warning("R138", route, message, hint=f"write {token.replace(' ', '')}, without spaces and in no raw block")


def _marker(left: str) -> str:
    return next((each for each in MARKERS if each in left), "")


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
    given = template.given(split.value, subject, source.variables) if split.value else Outcome(None)
    found: list[Diagnostic] = [*split.diagnostics, *given.diagnostics]
    if split.value is None or given.value is None or has_errors(found):
        return Outcome(None, tuple(found))
    made = template.render(text, split.value, given.value, subject, source)
    found += made.diagnostics
    if made.value is None:
        return Outcome(None, tuple(found))
    loaded = sections.load(made.value, text, subject)
    found += loaded.diagnostics
    if loaded.value is None:
        return Outcome(None, tuple(found))
    filled = template.inline_local_files(loaded.value, made.value, subject, source.read_file)
    found += filled.diagnostics
    if filled.value is None or has_errors(found):
        return Outcome(None, tuple(found))
    document = Document(name, text, 0, filled.value.data, made.value._replace(moved=filled.value.moved))
    return Outcome((document,), (*found, *template_again(document, subject)))
