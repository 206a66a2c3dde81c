"""What is left for Jinja to do in the data: OSMO renders a workflow again when the client hands it in.

The first rendering answers the client with data; the client puts local files in, writes the data as YAML, and the
service renders that text once more, without default-values (OSMO 6.4, src/cli/workflow.py, `submit_workflow_helper`;
src/service/core/workflow/objects.py, `construct_workflow_dict`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.diagnostics import Diagnostic, warning
from bayplan.document import Document, Path
from bayplan.workflows.osmo.text.tokens import MARKERS, rest

_MOST = 20


def find(document: Document, subject: str) -> tuple[Diagnostic, ...]:
    """R138 for each text that holds more than runtime tokens."""
    found: list[Diagnostic] = []
    for path, text in _texts(document.data, ()):
        left = rest(text)
        marker = next((each for each in MARKERS if each in left), None)
        if marker and len(found) < _MOST:
            found.append(_warning((subject, *path), marker))
    return tuple(found)


def _warning(route: Path, marker: str) -> Diagnostic:
    message = f'OSMO renders this text a second time, and "{marker}" in it is Jinja\'s then; here it stands as it is'
    hint = f"let the text do without {marker}"
    return warning("R138", route, message, hint=hint)


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
