"""What is left for Jinja to do in the data: OSMO renders a workflow again when the client hands it in.

The first rendering answers the client with data; the client puts local files in, writes the data as YAML, and the
service renders that text once more, without default-values (OSMO 6.4, src/cli/workflow.py, `submit_workflow_helper`;
src/service/core/workflow/objects.py, `construct_workflow_dict`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.diagnostics import Diagnostic, Note, warning
from bayplan.text.document import Document, Path
from bayplan.workflows.osmo import tokens as runtime
from bayplan.workflows.osmo.text.tokens import MARKERS, rest

_MOST = 20


def find(document: Document, subject: str) -> tuple[Diagnostic, ...]:
    """R138 for each text that holds more than runtime tokens; the last one that is told says how many follow."""
    marked = [(path, text) for path, text in _texts(document.data, ()) if _marker(rest(text))]
    found = [_warning((subject, *path), text) for path, text in marked[:_MOST]]
    if len(marked) > _MOST:
        found[-1] = found[-1]._replace(notes=(Note(f"{len(marked) - _MOST} more like it"),))
    return tuple(found)


def _warning(route: Path, text: str) -> Diagnostic:
    """Spaces inside the braces do not matter when a pod starts, so a token with spaces is one here."""
    marker = _marker(runtime.replace(rest(text), lambda token: None if token.kind == runtime.UUID else "\0"))
    if marker:
        message = f'OSMO renders this text again, and "{marker}" in it is Jinja\'s then; here it stands as it is'
        return warning("R138", route, message, hint=f"let the text do without {marker}")
    token = runtime.find(rest(text))[0].text
    message = f"OSMO renders this text again, and {token} is Jinja's then; here it is taken for a runtime token"
    return warning("R138", route, message, hint=f"write {token.replace(' ', '')}, without spaces and in no raw block")


def _marker(left: str) -> str:
    return next((each for each in MARKERS if each in left), "")


def _texts(data: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(data, str):
        if "{" in data:
            yield path, data
    elif isinstance(data, dict):
        for key, value in data.items():
            yield from _texts(value, (*path, key))
    elif isinstance(data, list):
        for number, value in enumerate(data):
            yield from _texts(value, (*path, number))
