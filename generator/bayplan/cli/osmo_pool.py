"""OSMO pool configurations named on the command line, as FILE or FILE#POOL."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from bayplan.cli import files
from bayplan.core.diagnostics import Diagnostic, error, warning
from bayplan.report import Batch
from bayplan.text.document import Document
from bayplan.workflows import osmo
from bayplan.workflows.osmo.pool.values import SUBJECT, choose


def split(word: str) -> tuple[str, str]:
    """File and pool. A file that has a `#` in its name is the file, not a pool of it."""
    path, mark, name = word.rpartition("#")
    return (path, name) if mark and path and name and not os.path.lexists(word) else (word, "")


def load(word: str) -> tuple[Document | None, Batch]:
    """The document, with the named pool only if one is named, and what is wrong with it."""
    path, name = split(word)
    documents, batch = files.load(path, SUBJECT, own=False)
    return pick(documents, name) if documents else (None, batch)


def pick(documents: Sequence[Document], name: str) -> tuple[Document | None, Batch]:
    """The one document of a file, with the named pool only if one is named."""
    batch = Batch((), {SUBJECT: documents[0]})
    if len(documents) > 1:
        message = f"the file holds {len(documents)} documents; one with all pools is wanted"
        hint = "put pools and templates into one document, under `pools`, `podTemplates` and so on"
        return None, Batch((error("W472", (SUBJECT,), message, hint=hint),), {SUBJECT: documents[1]})
    if not name:
        return documents[0], batch
    chosen = choose(documents[0].data, name)
    if chosen.value is None:
        return None, Batch(chosen.diagnostics, {SUBJECT: documents[0]})
    return documents[0]._replace(data=chosen.value), batch


def useless(workflows: Iterable[Document]) -> tuple[Diagnostic, ...]:
    """A931 where no workflow is one of OSMO's."""
    if any(osmo.sniff(each.data) for each in workflows):
        return ()
    message = "no workflow here is one of OSMO's, so the pool configuration says nothing of any"
    return (warning("A931", ("argument", "--osmo-pool"), message, hint="leave it out"),)
