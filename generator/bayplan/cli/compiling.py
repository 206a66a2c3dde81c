"""The workflows of a command line -> their manifests, and the diagnostics of all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set

from bayplan import pipeline
from bayplan.cli.inputs import Inputs, given, requests
from bayplan.cli.options import Arguments
from bayplan.core.diagnostics import Diagnostic, Note, error, warning
from bayplan.manifests.order import head, keys
from bayplan.model.manifest import Item, Manifest
from bayplan.model.plan import Plan
from bayplan.pipeline import CheckedTopology, Compiled
from bayplan.planning.selection import unused
from bayplan.report import Batch
from bayplan.text.document import Document

CompiledWorkflow = tuple[Document, Compiled]

NATIVE = ("P", "F", "W3")
"""The beginnings of the codes of stages that know only the native format."""


TopologyCheck = Callable[[Document], CheckedTopology]


def cached_topology_check() -> TopologyCheck:
    """`pipeline.check_topology`, once per document: with 100,000 nodes it takes longer than everything else."""
    checked: dict[int, tuple[Document, CheckedTopology]] = {}  # keeps the document, so that no other gets its id

    def check_topology(document: Document) -> CheckedTopology:
        if id(document) not in checked:
            checked[id(document)] = document, pipeline.check_topology(document)
        return checked[id(document)][1]

    return check_topology


def compile_all(
    args: Arguments, read: Inputs, check_topology: TopologyCheck | None = None, accept: Set[str] = frozenset()
) -> tuple[list[CompiledWorkflow], list[Batch]]:
    """The workflows that compile; the diagnostics of the options, of the files and of every workflow.

    `accept`: codes of errors that are warnings here, beside those of --accept.
    """
    check_topology = check_topology or cached_topology_check()
    requested = requests(args, read)
    compiled: list[CompiledWorkflow] = []
    batches = [Batch(requested.diagnostics), *read.batches]
    for request in requested.value or ():
        judged = check_topology(request.topology)
        outcome, origins = pipeline.compile(request._replace(judged=judged, accept=request.accept | accept))
        reported = (*outcome.diagnostics, *_native_keys(outcome.diagnostics, request.workflow))
        batches.append(Batch(reported, read.sources(request.workflow), origins))
        if outcome.value is not None:
            compiled.append((request.workflow, outcome.value))
    batches.append(Batch(tuple(unused(given(args), (plan.workflow for plan in plans(compiled))))))
    return compiled, batches


def plans(compiled: Iterable[CompiledWorkflow]) -> tuple[Plan, ...]:
    """The plans of the workflows."""
    return tuple(value.planned.plan for _, value in compiled)


def _native_keys(diagnostics: Iterable[Diagnostic], workflow: Document) -> tuple[Diagnostic, ...]:
    """A933: a hint uses keys of the native format, and the workflow has another format."""
    hinted = any(each.severity == "error" and each.hint and each.code.startswith(NATIVE) for each in diagnostics)
    if not hinted or "apiVersion" in workflow.data:
        return ()
    from bayplan.kube.shell import operand

    message = "the hints use keys of the native format"
    return (
        warning(
            "A933",
            ("workflow",),
            message,
            hint=f"print this workflow in the native format with `bayplan import {operand(workflow.name)}`",
        ),
    )


Key = tuple[str, str, str]
"""Kind, namespace and name of an object."""


def join(compiled: Sequence[CompiledWorkflow]) -> tuple[tuple[Item, ...], list[Batch]]:
    """All documents, sorted by namespace and name of the workflow, with equal cluster-scoped objects once. O801."""
    if len(compiled) == 1:
        return compiled[0][1].documents, []
    kept: list[Item] = []
    owners: dict[Key, tuple[Document, Manifest]] = {}
    batches: list[Batch] = []

    def namespace_and_name(pair: CompiledWorkflow) -> tuple[str, str]:
        plan = pair[1].planned.plan
        return plan.namespace, plan.workflow.name

    for source, value in sorted(compiled, key=namespace_and_name):
        colliding: dict[int, tuple[Document, list[Key]]] = {}  # other workflow -> the objects that both make
        for document in value.documents:
            own = head(document)
            metadata = own["metadata"]
            cluster_scoped = "namespace" not in metadata
            if cluster_scoped and owners.get((own["kind"], "", metadata["name"]), (None, None))[1] == own:
                continue
            kept.append(document)
            for key in identities(document):
                other = owners[key][0] if key in owners else source
                if other is not source:
                    colliding.setdefault(id(other), (other, []))[1].append(key)
            owners |= dict.fromkeys(identities(document), (source, own))
        batches += [Batch((_collision(keys),), {"workflow": source, "other": o}) for o, keys in colliding.values()]
    return tuple(kept), batches


def _collision(shared: Sequence[Key]) -> Diagnostic:
    kind, namespace, name = shared[0]
    more = f" and {len(shared) - 1} more" if len(shared) > 1 else ""
    scope = f' in namespace "{namespace}"' if namespace else ""
    message = f'another workflow also writes {kind} "{name}"{more}{scope}'
    notes = (Note("the other workflow", ("other", "metadata", "name")),)
    return error("O801", ("workflow", "metadata", "name"), message, notes=notes, hint="rename one of the workflows")


def identities(document: Item) -> Iterator[Key]:
    """Kind, namespace and name of all objects of a document."""
    namespace = head(document)["metadata"].get("namespace", "")
    yield from ((kind, namespace, name) for kind, name in keys(document))
