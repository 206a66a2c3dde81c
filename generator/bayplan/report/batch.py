"""What a run collects to report."""

from collections.abc import Mapping

from bayplan.diagnostics import Diagnostic, Route
from bayplan.text.document import Document
from bayplan.values import NamedTuple


class Batch(NamedTuple):
    """Diagnostics that speak of the same documents.

    `sources`: subject -> document; a document without text stands for a file that could not be read.
    `origins`: subject -> (model route -> source route), where the document is not in the native format.
    """

    diagnostics: tuple[Diagnostic, ...]
    sources: Mapping[str, Document] = {}
    origins: Mapping[str, Mapping[Route, Route]] = {}
