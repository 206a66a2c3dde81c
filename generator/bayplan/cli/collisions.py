"""Several workflows in one run: the objects they share, and those that may not meet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bayplan.arrange import head
from bayplan.diagnostics import Diagnostic, Note, error
from bayplan.document import Document
from bayplan.model.manifest import Manifest, Many, Slot
from bayplan.pipeline import Compiled
from bayplan.report.batch import Batch

Key = tuple[str, str, str]  # kind, namespace, name


def merge(compiled: list[tuple[Document, Compiled]]) -> tuple[tuple[Manifest | Many, ...], tuple[Batch, ...]]:
    """All documents, workflows by namespace and name; equal cluster-scoped objects once; what collides."""
    if len(compiled) == 1:
        return compiled[0][1].documents, ()
    ordered = sorted(compiled, key=lambda pair: _place(pair[1]))
    owners: dict[Key, tuple[Document, Manifest]] = {}
    kept: list[Manifest | Many] = []
    batches: list[Batch] = []
    for source, value in ordered:
        for document in value.documents:
            own = head(document)
            met = [(key, owners[key]) for key in identities(document) if key in owners]
            if met and met[0][1][1] == own and not met[0][0][1]:
                continue
            kept.append(document)
            batches += [Batch((_collision(key, owner[0]),), {"workflow": source}) for key, owner in met[:1]]
            owners |= dict.fromkeys(identities(document), (source, own))
    return tuple(kept), tuple(batches)


def _place(value: Compiled) -> tuple[str, str]:
    return value.planned.plan.namespace, value.planned.plan.workflow.name


def _collision(key: Key, other: Document) -> Diagnostic:
    kind, namespace, name = key
    scope = f' in namespace "{namespace}"' if namespace else ""
    message = f'{kind} "{name}"{scope} is also made by another workflow'
    notes = (Note(f"document {other.index + 1} of {other.name} makes it too"),)
    return error("O801", ("workflow", "metadata", "name"), message, notes=notes, hint="rename one of the workflows")


def identities(document: Manifest | Many) -> Iterator[Key]:
    """Kind, namespace and name of the object, or of each of many."""
    own = head(document)
    metadata = own["metadata"]
    for row in document.rows if isinstance(document, Many) else ((),):
        yield own["kind"], metadata.get("namespace", ""), _filled(metadata["name"], row)


def _filled(value: str | Slot | Iterable[str | Slot], row: tuple[str | int, ...]) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Slot):
        return str(row[value.column])
    return "".join(_filled(part, row) for part in value)
