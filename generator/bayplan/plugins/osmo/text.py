"""The text of an OSMO file -> data `{"workflow": {...}}`, in the steps of OSMO's own client and service.

`sections` splits the top-level keys and reads YAML as PyYAML does. `tokens` finds {{output}} and similar tokens, which
OSMO replaces later. `template` renders Jinja with default-values and --set, and inserts files beside the workflow.
`template_origins` maps places in the rendered text to places in the file, and explains errors.

Source: OSMO 6.4, src/lib/utils/workflow.py, src/utils/job/workflow.py (TemplateSpec), src/cli/workflow.py.
"""

from __future__ import annotations

from bayplan.plugin import Diagnostic, Document, Note, Outcome, Path, Source, has_errors, read_text, warning
from bayplan.plugins.osmo import sections, template, tokens
from bayplan.plugins.osmo.sections import MARKERS
from bayplan.plugins.osmo.template import without_tokens

# Jinja in the data after rendering: OSMO renders a workflow a second time when the client submits it.
#
# The first rendering returns data to the client. The client inserts local files and writes the data as YAML. The
# service renders that text once more, without default-values (OSMO 6.4, src/cli/workflow.py, `submit_workflow_helper`;
# src/service/core/workflow/objects.py, `construct_workflow_dict`).

_MOST = 20


def template_again(document: Document, subject: str) -> tuple[Diagnostic, ...]:
    """R138 for each string with more Jinja than runtime tokens. The last finding counts those that bayplan omits."""
    marked = [(path, text) for text, path in tokens.texts(document.data, ()) if _marker(without_tokens(text))]
    findings = [_warning((subject, *path), text) for path, text in marked[:_MOST]]
    if len(marked) > _MOST:
        findings[-1] = findings[-1]._replace(notes=(Note(f"{len(marked) - _MOST} more like it"),))
    return tuple(findings)


def _warning(route: Path, text: str) -> Diagnostic:
    """R138 for one string. A token with spaces is a token here, since OSMO accepts spaces when it starts the pod."""
    marker = _marker(tokens.replace(without_tokens(text), lambda token: None if token.kind == tokens.UUID else "\0"))
    if marker:
        message = f'OSMO renders this text again and reads "{marker}" as Jinja; bayplan leaves it unchanged'
        return warning("R138", route, message, hint=f"rewrite the text without {marker}")
    token = tokens.find(without_tokens(text))[0].text
    message = f"OSMO renders this text again and reads {token} as Jinja; bayplan treats it as a runtime token"
    return warning(
        "R138", route, message, hint=f"write {token.replace(' ', '')}, without spaces and not in a raw block"
    )


def _marker(left: str) -> str:
    return next((each for each in MARKERS if each in left), "")


def read(name: str, raw: bytes, subject: str, source: Source) -> Outcome[tuple[Document, ...]]:
    """The one document of an OSMO file, with its source map. Errors R103 to R116 and R123, all with places.

    Routes are `(subject, AT, line, column)` in the file.
    """
    unfolded = read_text(raw, subject)
    if unfolded.value is None:
        return Outcome(None, unfolded.diagnostics)
    text = unfolded.value
    split = sections.split(text, subject)
    values = template.read_variables(split.value, subject, source.variables) if split.value else Outcome(None)
    findings: list[Diagnostic] = [*split.diagnostics, *values.diagnostics]
    if split.value is None or values.value is None or has_errors(findings):
        return Outcome(None, tuple(findings))
    rendered = template.render(text, split.value, values.value, subject, source)
    findings += rendered.diagnostics
    if rendered.value is None:
        return Outcome(None, tuple(findings))
    loaded = sections.load(rendered.value, text, subject)
    findings += loaded.diagnostics
    if loaded.value is None:
        return Outcome(None, tuple(findings))
    inlined = template.inline_local_files(loaded.value, rendered.value, subject, source.read_file)
    findings += inlined.diagnostics
    if inlined.value is None or has_errors(findings):
        return Outcome(None, tuple(findings))
    document = Document(name, text, 0, inlined.value.data, rendered.value._replace(moved=inlined.value.moved))
    return Outcome((document,), (*findings, *template_again(document, subject)))
