"""Diagnostics -> findings with files, lines and columns -> text, json, github or sarif.

`batch` is what a run collects, `findings` makes places of routes, `formats` writes. Only here is a route turned into a
place, in one more pass over the text; a run without diagnostics loads nothing but `batch`.
"""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.core.diagnostics import Diagnostic, Route
from bayplan.core.values import NamedTuple
from bayplan.text.document import Document

FORMATS = ("text", "json", "github", "sarif")
"""How findings can be written."""


class Batch(NamedTuple):
    """Diagnostics that speak of the same documents.

    `sources`: subject -> document; a document without text stands for a file that could not be read.
    `origins`: subject -> (model route -> source route), where the document is not in the native format.
    """

    diagnostics: tuple[Diagnostic, ...]
    sources: Mapping[str, Document] = {}
    origins: Mapping[str, Mapping[Route, Route]] = {}
