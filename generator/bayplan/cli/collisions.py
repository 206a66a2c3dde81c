"""Several workflows in one run: the objects they share, and those that may not meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bayplan.arrange import head, keys
from bayplan.diagnostics import Diagnostic, Note, error
from bayplan.model.manifest import Item, Manifest
from bayplan.pipeline import Compiled
from bayplan.report.batch import Batch
from bayplan.text.document import Document

Key = tuple[str, str, str]  # kind, namespace, name
Pair = tuple[Document, Compiled]


def merge(compiled: Sequence[Pair]) -> tuple[tuple[Item, ...], list[Batch]]:
    """All documents, workflows by namespace and name; equal cluster-scoped objects once; what collides."""
    kept: list[Item] = []
    owners: dict[Key, tuple[Document, Manifest]] = {}
    batches: list[Batch] = []
    for source, value in sorted(compiled, key=lambda pair: _place(pair[1])):
        met: dict[Key, Document] = {}
        for document in value.documents:
            own = head(document)
            if _shared(own, owners):
                continue
            kept.append(document)
            held = {key: owners[key][0] for key in identities(document) if key in owners}
            met |= {key: owner for key, owner in held.items() if owner is not source}
            owners |= dict.fromkeys(identities(document), (source, own))
        batches += _collisions(source, met)
    return tuple(kept), batches


def _place(value: Compiled) -> tuple[str, str]:
    return value.planned.plan.namespace, value.planned.plan.workflow.name


def _shared(own: Manifest, owners: dict[Key, tuple[Document, Manifest]]) -> bool:
    """Whether the same cluster-scoped object is there already."""
    metadata = own["metadata"]
    return "namespace" not in metadata and owners.get((own["kind"], "", metadata["name"]), (None, None))[1] == own


def _collisions(source: Document, met: dict[Key, Document]) -> Iterator[Batch]:
    """One finding for each other workflow."""
    for other in {id(document): document for document in met.values()}.values():
        shared = [key for key, document in met.items() if document is other]
        yield Batch((_collision(shared),), {"workflow": source, "other": other})


def _collision(shared: Sequence[Key]) -> Diagnostic:
    kind, namespace, name = shared[0]
    more = f" and {len(shared) - 1} more" if len(shared) > 1 else ""
    scope = f' in namespace "{namespace}"' if namespace else ""
    message = f'{kind} "{name}"{more}{scope} would be made by another workflow too'
    notes = (Note("the other workflow", ("other", "metadata", "name")),)
    return error("O801", ("workflow", "metadata", "name"), message, notes=notes, hint="rename one of the workflows")


def identities(document: Item) -> Iterator[Key]:
    """Kind, namespace and name of all that comes of a document."""
    namespace = head(document)["metadata"].get("namespace", "")
    yield from ((kind, namespace, name) for kind, name in keys(document))
