"""The workflows of a command line -> their manifests, and the diagnostics of all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

from bayplan import pipeline
from bayplan.cli.finish import Success
from bayplan.cli.inputs import Inputs, given, occupied, requests
from bayplan.cli.options import Arguments
from bayplan.core.diagnostics import Diagnostic, Note, Outcome, Route, error, warning
from bayplan.manifests.order import head, keys
from bayplan.model.manifest import Item, Manifest
from bayplan.model.plan import Plan
from bayplan.model.topology import ClusterTopology
from bayplan.pipeline import CheckedTopology, Compiled
from bayplan.planning.bind import assign_ranks
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


def topology_check(args: Arguments) -> TopologyCheck:
    """The same for the cluster that --without and --with ask about."""
    check = cached_topology_check()
    if not (args.has("without") or args.has("with")):
        return check

    def check_changed(document: Document) -> CheckedTopology:
        outcome, origins = check(document)
        return changed(args, outcome), origins

    return check_changed


def changed(args: Arguments, topology: Outcome[ClusterTopology]) -> Outcome[ClusterTopology]:
    """The topology with the domains of --with, and without the nodes of --without."""
    from bayplan.topologies import what_if

    for key, change in (("with", what_if.with_more), ("without", what_if.without)):
        for word in args.values(key):
            if topology.value is not None:
                other = change(topology.value, word)
                topology = Outcome(other.value, (*topology.diagnostics, *other.diagnostics))
    return topology


Changes = Mapping[str, Sequence[str]]
"""`with` and `without` -> their words, if they are given."""


def changes(args: Arguments) -> Changes:
    """What --with and --without change, as JSON data of answers has it."""
    return {key: [*args.values(key)] for key in ("with", "without") if args.has(key)}


def cluster_title(data: Mapping[str, Any]) -> str:
    """`hall-1 with gb200+4 racks without rack=r1`, of JSON data with these changes."""
    changed = (f"{key} {' and '.join(data[key])}" for key in ("with", "without") if key in data)
    return " ".join((data["topology"], *changed))


def compile_all(
    args: Arguments,
    read: Inputs,
    check_topology: TopologyCheck | None = None,
    accept: Set[str] = frozenset(),
    misfits: list[Plan] | None = None,
) -> tuple[list[CompiledWorkflow], list[Batch]]:
    """The workflows that compile; the diagnostics of the options, of the files and of every workflow.

    `accept`: codes of errors that are warnings here, beside those of --accept. `misfits` gets the plans whose only
    errors are that they do not fit.
    """
    check_topology = check_topology or topology_check(args)
    requested = requests(args, read)
    compiled: list[CompiledWorkflow] = []
    batches = [Batch(requested.diagnostics), *read.batches]
    topology = check_topology(read.topology)[0].value if read.topology and args.has("occupied") else None
    busy, of_cluster = occupied(args, topology)
    batches += of_cluster
    for request in requested.value or ():
        judged = check_topology(request.topology)
        whole = request._replace(judged=judged, accept=request.accept | accept, occupied=busy)
        outcome, origins = pipeline.compile(whole)
        reported = (*outcome.diagnostics, *_native_keys(outcome.diagnostics, request.workflow))
        batches.append(Batch(reported, read.sources(request.workflow), origins))
        if outcome.value is not None:
            compiled.append((request.workflow, outcome.value))
        elif misfits is not None and {each.code for each in outcome.diagnostics if each.severity == "error"} <= MISFITS:
            checked = pipeline.check(whole)[0].value
            bound = pipeline.bind_workflow(whole, checked).value if checked else None
            misfits += [assign_ranks(bound)] if bound else []
    batches.append(Batch(tuple(unused(given(args), (plan.workflow for plan in plans(compiled))))))
    return compiled, batches


def contradiction(args: Arguments) -> tuple[Batch, ...]:
    """A920: --together with an option that needs another proof."""
    other = "--alone" if args.has("alone") else "-s all" if args.value("scheduler") == "all" else ""
    if not ((other or args.has("slack")) and args.has("together")):
        return ()
    message = f"{other} proves each workflow by itself, and --together all of them at once"
    if not other:
        message = "--slack needs workflows in order or by themselves, and --together finds any placement of all"
    return (Batch((error("A920", ("argument", "--together"), message, hint="remove one of the two"),)),)


def prove_jointly(
    args: Arguments,
    read: Inputs,
    compiled: Sequence[CompiledWorkflow],
    batches: Iterable[Batch],
    misfits: list[Plan] | None = None,
) -> tuple[list[CompiledWorkflow], list[Batch]]:
    """The workflows that fit on the cluster with the others, in order or with --together, and the diagnostics.

    `batches` have the origins of the workflows. With --alone, or with one workflow, nothing changes.
    `misfits` gets the plans that do not fit beside others.
    """
    proven = [(number, fits) for number, (_, value) in enumerate(compiled) if (fits := value.planned.fits)]
    if args.has("alone") or len(proven) < 2:
        return [*compiled], []
    from bayplan.planning.fit import joint

    alone = [
        joint.Proven(one.plan, fits, pipeline.enforces_quotas(one.plan, one.backend, one.target))
        for one, fits in ((compiled[number][1].planned, fits) for number, fits in proven)
    ]
    result = (joint.together if args.has("together") else joint.in_order)(alone)
    if misfits is not None:
        misfits += result.refused
    documents = [compiled[number][0] for number, _ in proven]
    origins = {id(batch.sources.get("workflow")): batch.origins.get("workflow", {}) for batch in batches}
    subjects = {joint.subject(number): document for number, document in enumerate(documents)}
    by_subject = {name: _renamed(origins.get(id(each), {}), name) for name, each in subjects.items()}
    found = list(result.diagnostics)
    for name, document in subjects.items():
        own = [each for each in result.diagnostics if each.route[:1] == (name,)]
        found += (each._replace(route=(name,)) for each in _native_keys(own, document))
    fitting: list[CompiledWorkflow] = []
    for number, one in result.proven.items():
        value = compiled[proven[number][0]][1]
        planned = value.planned._replace(plan=one.plan, fits=one.fits)
        fitting.append((documents[number], value._replace(planned=planned)))
    return fitting, [Batch(tuple(found), {**read.sources(), **subjects}, by_subject)]


def _renamed(origins: Mapping[Route, Route], subject: str) -> Mapping[Route, Route]:
    """The origins of a workflow under another subject."""
    return {
        (subject, *model[1:]): (subject, *source[1:]) if source[:1] == model[:1] else source
        for model, source in origins.items()
    }


def plans(compiled: Iterable[CompiledWorkflow]) -> tuple[Plan, ...]:
    """The plans of the workflows."""
    return tuple(value.planned.plan for _, value in compiled)


def success_of(compiled: Iterable[CompiledWorkflow], documents: Sequence[Item] = ()) -> Success:
    """The workflows that fit, with their proofs, and what a command wrote."""
    planned = [value.planned for _, value in compiled]
    return Success(tuple(each.plan for each in planned), documents, proofs=tuple(each.fits for each in planned))


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


MISFITS = frozenset({"P506", "P551", "P552", "P554", "P555", "P557", "P566"})
"""The codes of plans that do not fit, or for which bayplan cannot decide."""

Key = tuple[str, str, str]
"""Kind, namespace and name of an object."""


def join(compiled: Sequence[CompiledWorkflow]) -> tuple[tuple[Item, ...], list[Batch]]:
    """All documents, sorted by namespace and name of the workflow, with equal cluster-scoped objects once. W301."""
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
    return error("W301", ("workflow", "metadata", "name"), message, notes=notes, hint="rename one of the workflows")


def identities(document: Item) -> Iterator[Key]:
    """Kind, namespace and name of all objects of a document."""
    namespace = head(document)["metadata"].get("namespace", "")
    yield from ((kind, namespace, name) for kind, name in keys(document))
