"""Topology files of other systems, named on the command line: read, recognised, turned into ClusterTopology data."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bayplan.cli import files
from bayplan.diagnostics import Outcome, error
from bayplan.document import Document, read, unfold
from bayplan.model.formats import SourceFile
from bayplan.report.batch import Batch
from bayplan.topologies import IMPORTS

if TYPE_CHECKING:
    from bayplan.model.formats import Importer

SUBJECT = "source:0"


def load(path: str) -> tuple[SourceFile | None, Batch]:
    """The file as a text, and as documents if it is YAML or JSON: some formats are neither."""
    name = files.STDIN if path == "-" else path
    raw = files.raw_of(path, SUBJECT)
    text = unfold(raw.value, SUBJECT) if raw.value is not None else None
    if raw.value is None or text is None or text.value is None:
        found = raw.diagnostics or (text.diagnostics if text else ())
        return None, Batch(found, {SUBJECT: Document(name, "", 0, None)})
    documents = read(name, raw.value, SUBJECT, own=False)
    return SourceFile(name, text.value, documents.value or ()), Batch(documents.diagnostics, sources(name, text.value))


def sources(name: str, text: str, documents: tuple[Document, ...] = ()) -> dict[str, Document]:
    """Subject -> document; the first stands for the text, where it is no document."""
    numbered = {f"source:{number}": document for number, document in enumerate(documents)}
    return numbered or {SUBJECT: Document(name, text, 0, None)}


def importer(name: str, source: SourceFile) -> Importer | None:
    """The format of that name, else the first that recognises the file."""
    names = [name] if name else list(IMPORTS)
    for each in names:
        module: Importer = import_module(f"bayplan.topologies.{IMPORTS[each]}")
        if name or module.sniff(source):
            return module
    return None


def new(format_: Importer, source: SourceFile) -> tuple[Outcome[dict[str, Any]], Batch]:
    """The topology in a file. What YAML has against its text counts no more: the format has recognised it."""
    made = format_.new(source)
    return made, Batch(made.diagnostics, sources(source.name, source.text, source.documents))


def no_update(name: str) -> Batch:
    """A934: --update with a format that adds nothing to a topology."""
    message = f"{name} makes a new topology, and nothing of it can be laid over another one yet"
    hint = "leave --update out, and copy what you need from the result"
    return Batch((error("A934", ("argument", "--update"), message, hint=hint),))
