"""OSMO pool configurations on the command line: FILE or FILE#POOL."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from bayplan.plugin import Batch, Diagnostic, Document, error, files, warning
from bayplan.plugins.osmo import workflow as osmo
from bayplan.plugins.osmo.pool.values import NO_POOLS, SUBJECT, choose
from bayplan.plugins.osmo.topology import new as new
from bayplan.plugins.osmo.topology import update as update


def split(word: str) -> tuple[str, str]:
    """File and pool. If a file with this name exists, the `#` is part of its name."""
    path, mark, name = word.rpartition("#")
    whole = files.found(word, os.path.lexists)
    return (path, name) if mark and path and name and not whole else (word, "")


def load(word: str) -> tuple[Document | None, Batch]:
    """The document, reduced to the named pool if there is one, and its diagnostics."""
    path, name = split(word)
    documents, batch = files.load(path, SUBJECT, own=False)
    return pick(documents, name) if documents else (None, batch)


def pick(documents: Sequence[Document], name: str) -> tuple[Document | None, Batch]:
    """The one document of a file, reduced to the named pool if there is one."""
    batch = Batch((), {SUBJECT: documents[0]})
    if len(documents) > 1:
        message = f"the file has {len(documents)} documents instead of one with all pools"
        hint = "put pools and templates into one document, under `pools`, `podTemplates` and so on"
        return None, Batch((error("W472", (SUBJECT,), message, hint=hint),), {SUBJECT: documents[1]})
    if not name:
        return documents[0], batch
    chosen = choose(documents[0].data, name)
    if chosen.value is None:
        return None, Batch(chosen.diagnostics, {SUBJECT: documents[0]})
    return documents[0]._replace(data=chosen.value), batch


def useless(workflows: Iterable[Document]) -> tuple[Diagnostic, ...]:
    """A931: there is no OSMO workflow."""
    if any(osmo.sniff(each.data) for each in workflows):
        return ()
    message = "--osmo-pool has no effect: none of the workflows is an OSMO workflow"
    return (warning("A931", ("argument", "--osmo-pool"), message, hint="leave out --osmo-pool"),)


def is_empty(diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether a document is not a configuration: W471 says that it has no pools."""
    return any(each.code == "W471" and each.message.endswith(NO_POOLS) for each in diagnostics)
