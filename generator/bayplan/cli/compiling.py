"""Requests -> compiled workflows, each with the document it came from, and what was found in all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from bayplan import pipeline
from bayplan.cli.inputs import Inputs
from bayplan.core.diagnostics import Diagnostic, Note, error, info
from bayplan.manifests.order import head, keys
from bayplan.model.manifest import Item, Manifest
from bayplan.pipeline import CheckedTopology, Compiled, Request
from bayplan.report import Batch
from bayplan.text.document import Document

CompiledWorkflows = list[tuple[Document, Compiled]]

NATIVE = ("P", "F", "W3")
"""Codes of stages that know no format."""


TopologyCheck = Callable[[Document], CheckedTopology]


def cached_topology_check() -> TopologyCheck:
    """`pipeline.check_topology` of each document once: with 100,000 nodes it takes longer than all else."""
    known: dict[int, tuple[Document, CheckedTopology]] = {}  # with the document, so that no other gets its number

    def check_topology(document: Document) -> CheckedTopology:
        if id(document) not in known:
            known[id(document)] = document, pipeline.check_topology(document)
        return known[id(document)][1]

    return check_topology


def compile_all(
    requests: Iterable[Request], read: Inputs, check_topology: TopologyCheck | None = None
) -> tuple[CompiledWorkflows, list[Batch]]:
    """The workflows that compile; the rest have errors among the batches."""
    check_topology = check_topology or cached_topology_check()
    compiled: CompiledWorkflows = []
    batches: list[Batch] = []
    for request in requests:
        outcome, origins = pipeline.compile(request._replace(judged=check_topology(request.topology)))
        found = (*outcome.diagnostics, *_native_keys(outcome.diagnostics, request.workflow))
        batches.append(Batch(found, read.sources(request.workflow), origins))
        if outcome.value is not None:
            compiled.append((request.workflow, outcome.value))
    return compiled, batches


def _native_keys(found: Iterable[Diagnostic], workflow: Document) -> tuple[Diagnostic, ...]:
    """A933 where a hint names keys of the native format, and the workflow is in another."""
    hinted = any(each.severity == "error" and each.hint and each.code.startswith(NATIVE) for each in found)
    if not hinted or "apiVersion" in workflow.data:
        return ()
    message = "the hints name keys of the native format"
    return (info("A933", ("workflow",), message, hint=f"`bayplan import {workflow.name}` prints this workflow in it"),)


def join(compiled: CompiledWorkflows) -> tuple[tuple[Item, ...], list[Batch]]:
    """The documents of all workflows, and what collides."""
    if len(compiled) == 1:
        return compiled[0][1].documents, []
    return merge(compiled)


# Several workflows in one run: the objects they share, and those that may not meet.

Key = tuple[str, str, str]  # kind, namespace, name
CompiledWorkflow = tuple[Document, Compiled]


def merge(compiled: Sequence[CompiledWorkflow]) -> tuple[tuple[Item, ...], list[Batch]]:
    """All documents, workflows by namespace and name; equal cluster-scoped objects once; what collides."""
    kept: list[Item] = []
    owners: dict[Key, tuple[Document, Manifest]] = {}
    batches: list[Batch] = []
    for source, value in sorted(compiled, key=lambda pair: _place(pair[1])):
        collided: dict[Key, Document] = {}
        for document in value.documents:
            own = head(document)
            if _shared(own, owners):
                continue
            kept.append(document)
            held = {key: owners[key][0] for key in identities(document) if key in owners}
            collided |= {key: owner for key, owner in held.items() if owner is not source}
            owners |= dict.fromkeys(identities(document), (source, own))
        batches += _collisions(source, collided)
    return tuple(kept), batches


def _place(value: Compiled) -> tuple[str, str]:
    return value.planned.plan.namespace, value.planned.plan.workflow.name


def _shared(own: Manifest, owners: dict[Key, tuple[Document, Manifest]]) -> bool:
    """Whether the same cluster-scoped object is there already."""
    metadata = own["metadata"]
    return "namespace" not in metadata and owners.get((own["kind"], "", metadata["name"]), (None, None))[1] == own


def _collisions(source: Document, collided: dict[Key, Document]) -> Iterator[Batch]:
    """One finding for each other workflow."""
    for other in {id(document): document for document in collided.values()}.values():
        shared = [key for key, document in collided.items() if document is other]
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
