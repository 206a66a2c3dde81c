"""The files that a command line names -> documents and requests, with all that is wrong in one go."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from bayplan.cli import arguments, files, sources
from bayplan.cli.options import Given
from bayplan.diagnostics import Diagnostic, Outcome, error
from bayplan.model.formats import Context, Source
from bayplan.model.topology import ClusterTopology
from bayplan.pipeline import Request
from bayplan.report.batch import Batch
from bayplan.text.document import Document
from bayplan.values import NamedTuple


class Inputs(NamedTuple):
    """What was read. `workflows` are in the order given; `topology` is None where there is none or it is broken.

    `beside`: subject -> what else workflows may be read with. Where that is broken there are no workflows.
    """

    workflows: tuple[Document, ...]
    topology: Document | None
    batches: tuple[Batch, ...]
    beside: Mapping[str, Document] = {}

    def sources(self, workflow: Document | None = None) -> dict[str, Document]:
        """Subject -> document, of one workflow."""
        pairs = {"workflow": workflow, "topology": self.topology}
        return {**self.beside, **{subject: document for subject, document in pairs.items() if document is not None}}

    def context(self, topology: ClusterTopology | None = None) -> Context:
        """What a workflow may be read with."""
        return Context(topology, self.beside, sources.render)


Loaded = tuple[Document | None, tuple[Batch, ...]]
Load = Callable[[str], Loaded]
"""Reads a topology file."""


def read_all(given: Given, *, needs_topology: bool = True, load: Load | None = None) -> Inputs:
    """The workflows and the topology of a command."""
    path, batches = (needed_topology if needs_topology else topology_path)(given)
    if (*given.words, path, given.one("osmo-pool")).count("-") > 1:
        message = "- is standard input, which can be read only once"
        return Inputs((), None, (Batch((error("A922", ("argument", "-"), message),)),))
    variables = arguments.variables(given)
    if variables.value is None:
        return Inputs((), None, (*batches, Batch(variables.diagnostics)))
    source = Source(given.one("from"), variables.value)
    read = [sources.workflow(word, source) for word in given.words]
    topology, found = (load or topology_of)(path) if path is not None else (None, ())
    workflows = tuple(document for documents, _ in read for document in documents)
    made = Inputs(workflows, topology, (*batches, *_used(batch for _, batch in read), *found))
    return _beside(given.one("osmo-pool"), made) if given.on("osmo-pool") else made


def _beside(word: str, read: Inputs) -> Inputs:
    """The same with the pool configuration of that name beside."""
    from bayplan.cli import osmo_pool
    from bayplan.workflows.osmo.pool.values import SUBJECT

    document, batch = osmo_pool.load(word)
    if document is None:
        return read._replace(workflows=(), batches=(*read.batches, batch))
    useless = Batch(osmo_pool.useless(read.workflows) if read.workflows else ())
    return read._replace(batches=(*read.batches, batch, useless), beside={SUBJECT: document})


def _used(batches: Iterable[Batch]) -> list[Batch]:
    """The batches of several workflows: a variable is without use only if it is so for all of them."""
    found = list(batches)
    missed = [{each.message for each in batch.diagnostics if each.code == "A931"} for batch in found]
    useless = set.intersection(*missed) if missed else set()
    return [
        batch._replace(diagnostics=tuple(d for d in batch.diagnostics if d.code != "A931" or d.message in useless))
        for batch in found
    ]


def no_topology() -> Diagnostic:
    """Nothing says on which cluster."""
    hint = "pass -t FILE, or name it in bayplan.yaml: `spec: {topology: FILE}`; `bayplan init` writes one to start from"
    return error("A921", ("argument", "--topology"), "no cluster topology file is named", hint=hint)


def topology_path(given: Given) -> tuple[str | None, tuple[Batch, ...]]:
    """-t, else what the project file says."""
    return (given.one("topology"), ()) if given.on("topology") else _of_project()


def needed_topology(given: Given) -> tuple[str | None, tuple[Batch, ...]]:
    """The same for those who cannot do without: where nothing names one, that is told (A921)."""
    return _needed(*topology_path(given))


def _needed(path: str | None, batches: tuple[Batch, ...]) -> tuple[str | None, tuple[Batch, ...]]:
    return path, batches if path is not None or _told(batches) else (Batch((no_topology(),)),)


def _of_project() -> tuple[str | None, tuple[Batch, ...]]:
    from bayplan.cli import project

    return project.topology()


def topology_of(path: str) -> Loaded:
    """The one document of a topology file."""
    documents, batch = files.load(path, "topology")
    one, found = only(documents)
    return one, found or (batch,)


def only(documents: Sequence[Document]) -> Loaded:
    """The one document; A923 where there are several."""
    if len(documents) < 2:
        return (documents[0] if documents else None), ()
    message = f"the topology file holds {len(documents)} documents; one ClusterTopology is wanted"
    found = error("A923", ("topology",), message, hint="keep one cluster in one file")
    return None, (Batch((found,), {"topology": documents[1]}),)


def remembering() -> Load:
    """Reads each topology file once."""
    known: dict[str, Loaded] = {}

    def load(path: str) -> Loaded:
        if path not in known:
            known[path] = topology_of(path)
        return known[path]

    return load


def policy_of(given: Given) -> tuple[Document | None, tuple[Batch, ...]]:
    """The one document of a policy file."""
    if not given.on("policy"):
        return None, ()
    if len(given.all("policy")) > 1:
        message = "--policy is given twice, and the rules of one file hold"
        hint = "put all rules into one file: the first that matches a workload holds for it"
        return None, (Batch((error("A974", ("argument", "--policy"), message, hint=hint),)),)
    documents, batch = files.load(given.one("policy"), "policy")
    if len(documents) < 2:
        return (documents[0] if documents else None), (batch,)
    message = f"the policy file holds {len(documents)} documents; one Policy is wanted"
    found = error("A974", ("policy",), message, hint="put all rules under one `rules:`")
    return None, (Batch((found,), {"policy": documents[1]}),)


def requests(given: Given, inputs: Inputs, *, cluster_objects: bool = False) -> Outcome[tuple[Request, ...]]:
    """One request for each workflow document; None where the arguments are wrong."""
    target, accept = arguments.target(given), arguments.accept(given)
    wrong = (*target.diagnostics, *accept.diagnostics)
    if target.value is None or accept.value is None or inputs.topology is None:
        return Outcome(None, wrong)
    common = Request(
        workflow=inputs.topology,
        topology=inputs.topology,
        scheduler=given.one("scheduler"),
        namespace=given.one("namespace"),
        target=target.value,
        gangs=given.all("gang"),
        cluster_objects=cluster_objects,
        accept=accept.value,
        workflow_format=given.one("from"),
        beside=inputs.beside,
        render=sources.render,
    )
    return Outcome(tuple(common._replace(workflow=document) for document in inputs.workflows), wrong)


def without_topology(given: Given) -> bool:
    """Whether neither the command line nor a project names a topology; a broken project counts as naming one."""
    path, batches = topology_path(given)
    return path is None and not _told(batches)


def _told(batches: Iterable[Batch]) -> bool:
    """Whether anything was found: a project that names no topology is sound."""
    return any(batch.diagnostics for batch in batches)


def one_topology(given: Given) -> tuple[Document | None, tuple[Batch, ...]]:
    """The topology of a command whose argument it is, else the project's."""
    path, batches = (given.words[0], ()) if given.words else _needed(*_of_project())
    if path is None:
        return None, batches
    document, found = topology_of(path)
    return document, (*batches, *found)
