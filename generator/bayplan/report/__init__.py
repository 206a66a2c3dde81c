"""Diagnostics -> findings with files, lines and columns -> text, json, github, sarif or gitlab.

A run collects batches, `findings` maps routes to places, and `formats` writes the report. Only this room maps routes to
places, in another pass over the text. A run without diagnostics does not load `findings` and `formats`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from bayplan.core.diagnostics import Diagnostic, Route

if TYPE_CHECKING:
    from bayplan.text.document import Document

FORMATS = ("text", "json", "github", "sarif", "gitlab")
"""The formats of a report."""


class Batch(NamedTuple):
    """Diagnostics of the same documents.

    `sources`: subject -> document; an unreadable file is a document without text.
    `origins`: subject -> (model route -> source route), if the document is not in the native format.
    """

    diagnostics: tuple[Diagnostic, ...]
    sources: Mapping[str, Document] = {}
    origins: Mapping[str, Mapping[Route, Route]] = {}
