"""The files of a command line -> documents and requests, with the errors of all of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan import plugins
from bayplan.cli import files, options
from bayplan.cli.options import Arguments
from bayplan.core.diagnostics import Diagnostic, Outcome, error
from bayplan.core.phrases import did_you_mean
from bayplan.formats import documents
from bayplan.kube.shell import operand
from bayplan.model.formats import Context, Source
from bayplan.model.plan import Occupied
from bayplan.model.topology import ClusterTopology
from bayplan.pipeline import Request
from bayplan.planning.selection import Given
from bayplan.report import Batch
from bayplan.text.document import Document, read_text
from bayplan.text.source import limits, text_of

# Workflow files -> documents. A format may read files in the same folder, and render templates in another process.


def workflow(path: str, source: Source) -> tuple[tuple[Document, ...], Batch]:
    """The documents of a workflow file. The format may read files in its folder and render templates."""
    name = files.STDIN if path == "-" else path
    raw = files.raw_of(path, "workflow")
    if raw.value is None:
        pair = source.variables and path.partition("=")[0].isidentifier() and "=" in path
        own = f"write --set {path}: each variable needs its own --set" if pair else ""  # OSMO's --set takes several
        wrong = tuple(each._replace(hint=each.hint or own) for each in raw.diagnostics)
        return (), Batch(wrong, {"workflow": Document(name, "", 0, None)})
    return parsed(name, raw.value, source, "" if path == "-" else os.path.dirname(path))


def parsed(name: str, raw: bytes, source: Source, folder: str | None) -> tuple[tuple[Document, ...], Batch]:
    """The documents of the bytes of a workflow file. `folder`: where it may read files. None: it reads none."""
    source = source._replace(render=source.render or render)
    if folder is not None:
        source = source._replace(read_file=lambda beside: read_beside(folder, beside))
    read = documents(name, raw, "workflow", source)
    if folder is not None and b"matrix" in raw and read.value:
        read = with_tables(read.value, folder)
    unread = Document(name, text_of(raw) if read.diagnostics else "", 0, None)
    return read.value or (), Batch(read.diagnostics, {"workflow": read.value[0] if read.value else unread})


def with_tables(documents: Sequence[Document], folder: str) -> Outcome[tuple[Document, ...]]:
    """The documents with the CSV files that a `matrix` of theirs names. R103, R104, R134."""
    from bayplan.workflows import matrix

    read: list[Document] = []
    found: list[Diagnostic] = []
    for document in documents:
        tables: dict[str, Document] = {}
        for path, route in matrix.files(document.data):
            raw = read_beside(folder, path)
            text = read_text(raw.value, matrix.subject(path)) if raw.value is not None else Outcome("", raw.diagnostics)
            name = os.path.join(folder, path)
            found += (
                each._replace(route=("workflow", *route), message=_of_table(each, name)) for each in text.diagnostics
            )
            tables[matrix.subject(path)] = Document(name, text.value or "", 0, None)
        read.append(document._replace(beside=tables) if tables else document)
    return Outcome(None if found else tuple(read), tuple(found))


def _of_table(found: Diagnostic, name: str) -> str:
    """The message of an error in a file that has no text, at the place that names the file."""
    return found.message if '"' in found.message else f'"{name}": {found.message}'


def render(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Renders a template in another process, by the plug-in that has templates."""
    answer: Mapping[str, Any] = next(plugins.loaded("renders")).run(request)
    return answer


MOST_SECONDS = 0.5
"""What a template counts whose process ended without a reply."""


def _metered() -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    """`render` until the templates of a run took `Limits.seconds`, and the failure "total" from then on."""
    left = float(limits().seconds)

    def render_in_time(request: Mapping[str, Any]) -> Mapping[str, Any]:
        nonlocal left
        reply: Mapping[str, Any] = render(request) if left > 0 else {"failure": "total"}
        left -= reply.get("seconds", MOST_SECONDS)
        return reply

    return render_in_time


class Inputs(NamedTuple):
    """The files that were read. `workflows` are in the order of the command line.

    `topology`: None if missing or invalid. `beside`: subject -> further documents for the workflows; if one is
    invalid, there are no workflows.
    """

    workflows: tuple[Document, ...]
    topology: Document | None
    batches: tuple[Batch, ...]
    beside: Mapping[str, Document] = {}

    def sources(self, workflow: Document | None = None) -> dict[str, Document]:
        """Subject -> document, of one workflow."""
        pairs = {"workflow": workflow, "topology": self.topology}
        named = workflow.beside if workflow else {}
        present = {subject: document for subject, document in pairs.items() if document is not None}
        return {**self.beside, **named, **present}

    def context(self, topology: ClusterTopology | None = None) -> Context:
        """The context for reading a workflow."""
        return Context(topology, self.beside, render)


Loaded = tuple[Document | None, tuple[Batch, ...]]
Load = Callable[[str], Loaded]
"""Reads a topology file."""


def read_all(args: Arguments, *, needs_topology: bool = True, load: Load | None = None) -> Inputs:
    """The workflows and the topology of a command."""
    path, batches = (needed_topology if needs_topology else topology_path)(args)
    twice = files.stdin_twice((*args.words, path, *configurations(args).values(), *args.values("occupied")))
    if twice:
        return Inputs((), None, (Batch(twice),))
    variables = options.variables(args)
    if variables.value is None:
        return Inputs((), None, (*batches, Batch(variables.diagnostics)))
    source = Source(args.value("from"), variables.value)
    workflows, read = workflows_of(args.words, source)
    topology, topology_batches = (load or topology_of)(path) if path is not None else (None, ())
    loaded = Inputs(workflows, topology, (*batches, *read, *topology_batches))
    return with_configurations(configurations(args), loaded)


def workflows_of(paths: Iterable[str], source: Source) -> tuple[tuple[Document, ...], tuple[Batch, ...]]:
    """The documents of several workflow files."""
    source = source._replace(render=_metered())
    read = [workflow(path, source) for path in paths]
    return tuple(each for found, _ in read for each in found), (*_common_unused(batch for _, batch in read),)


def configurations(args: Arguments) -> dict[str, str]:
    """The options that name a configuration, and their values."""
    from bayplan.topologies import CONFIGURATIONS

    return {name: args.value(name) for name in CONFIGURATIONS if args.has(name)}


def with_configurations(words: Mapping[str, str], read: Inputs) -> Inputs:
    """The same, with the configurations of other systems: option -> FILE or FILE#PART."""
    from bayplan.topologies import CONFIGURATIONS

    for name, word in words.items():
        configuration = CONFIGURATIONS[name]
        document, batch = configuration.load(word)
        if document is None:
            return read._replace(workflows=(), batches=(*read.batches, batch))
        unused = Batch(configuration.useless(read.workflows) if read.workflows else ())
        beside = {**read.beside, configuration.SUBJECT: document}
        read = read._replace(batches=(*read.batches, batch, unused), beside=beside)
    return read


def _common_unused(batches: Iterable[Batch]) -> list[Batch]:
    """The batches of all workflows. A931 stays only for variables that no workflow uses."""
    listed = list(batches)
    by_workflow = [{each.message for each in batch.diagnostics if each.code == "A931"} for batch in listed]
    unused = set.intersection(*by_workflow) if by_workflow else set()
    return [
        batch._replace(diagnostics=tuple(d for d in batch.diagnostics if d.code != "A931" or d.message in unused))
        for batch in listed
    ]


def no_topology(nodes: str = "") -> Diagnostic:
    """A921: there is no topology file. `nodes`: a list of nodes in the place of a workflow."""
    if nodes:
        hint = f"make a topology of it: `bayplan topology import {operand(nodes)} -o topology.yaml`"
        return error(
            "A921", ("argument", "--topology"), f'"{nodes}" is a list of nodes, not a topology file', hint=hint
        )
    hint = "pass -t FILE, or write `spec: {topology: FILE}` into bayplan.yaml; `bayplan init` writes a topology file"
    return error("A921", ("argument", "--topology"), "this command needs a cluster topology file", hint=hint)


def topology_path(args: Arguments, words: Sequence[str] = ()) -> tuple[str | None, tuple[Batch, ...]]:
    """The topology file: the argument, -t, or that of the project file; the first that exists."""
    if words or args.has("topology"):
        return (*words, args.value("topology"))[0], ()
    from bayplan.cli import project

    return project.named("topology")


def needed_topology(args: Arguments, words: Sequence[str] = ()) -> tuple[str | None, tuple[Batch, ...]]:
    """The same for a command that needs a topology. A921: there is no topology."""
    path, batches = topology_path(args, words)
    return path, batches if path is not None or _any_diagnostics(batches) else (Batch((no_topology(),)),)


def topology_of(path: str) -> Loaded:
    """The one document of a topology file."""
    return only_topology(*files.load(path, "topology"))


def only_topology(documents: Sequence[Document], batch: Batch) -> Loaded:
    """The one document of a topology file, with the diagnostics of reading it. A912: there are several."""
    return _only("topology", documents, batch, "ClusterTopology", "write one file per cluster")


def _only(subject: str, documents: Sequence[Document], batch: Batch, kind: str, hint: str) -> Loaded:
    if len(documents) < 2:
        return (documents[0] if documents else None), (batch,)
    message = f"the file has {len(documents)} documents instead of one {kind}"
    return None, (Batch((error("A912", (subject,), message, hint=hint),), {subject: documents[1]}),)


def cached_loader() -> Load:
    """Reads each topology file once."""
    loaded: dict[str, Loaded] = {}

    def load(path: str) -> Loaded:
        if path not in loaded:
            loaded[path] = topology_of(path)
        return loaded[path]

    return load


def policy_of(args: Arguments) -> tuple[Document | None, tuple[Batch, ...]]:
    """The one document of a policy file."""
    if not args.has("policy"):
        return None, ()
    if len(args.values("policy")) > 1:
        message = "there are several --policy options"
        hint = "put all rules into one file: the first rule that matches a workload applies to it"
        return None, (Batch((error("A912", ("argument", "--policy"), message, hint=hint),)),)
    loaded = files.load(args.value("policy"), "policy")
    return _only("policy", *loaded, "Policy", "put all rules under one `rules:`")


def requests(args: Arguments, inputs: Inputs) -> Outcome[tuple[Request, ...]]:
    """One request per workflow document; None if an option is invalid."""
    target, accept = options.target(args), options.accept(args)
    wrong = (*target.diagnostics, *accept.diagnostics)
    if target.value is None or accept.value is None or inputs.topology is None:
        return Outcome(None, wrong)
    common = Request(
        workflow=inputs.topology,
        topology=inputs.topology,
        scheduler=args.value("scheduler"),
        namespace=args.value("namespace"),
        given=given(args),
        target=target.value,
        gangs=args.values("gang"),
        cluster_objects=args.has("cluster-objects"),
        accept=accept.value,
        workflow_format=args.value("from"),
        beside=inputs.beside,
        render=render,
    )
    return Outcome(tuple(common._replace(workflow=document) for document in inputs.workflows), wrong)


def given(args: Arguments) -> Given:
    """What the options give to workflows that set none."""
    return Given(args.value("queue"), args.value("priority"), args.value("workload"))


def without_topology(args: Arguments) -> bool:
    """Whether the command line and the project name no topology. An invalid project counts as naming one."""
    path, batches = topology_path(args)
    return path is None and not _any_diagnostics(batches)


def _any_diagnostics(batches: Iterable[Batch]) -> bool:
    """Whether there are diagnostics. A project without a topology is valid."""
    return any(batch.diagnostics for batch in batches)


def one_topology(args: Arguments) -> tuple[Document | None, tuple[Batch, ...]]:
    """The topology of the argument, or that of the project."""
    path, batches = needed_topology(args, args.words)
    if path is None:
        return None, batches
    document, topology_batches = topology_of(path)
    return document, (*batches, *topology_batches)


def occupied(args: Arguments, topology: ClusterTopology | None) -> tuple[Occupied, tuple[Batch, ...]]:
    """What runs in the cluster, from the files of --occupied; nothing without a valid topology."""
    if topology is None or not args.has("occupied"):
        return {}, ()
    from bayplan.cli.source_files import OpenedFile
    from bayplan.topologies import occupancy
    from bayplan.topologies.occupancy.ledger import Ledger

    ledger = Ledger(topology)
    read: list[tuple[OpenedFile, list[Diagnostic]]] = []
    for number, path in enumerate(args.values("occupied")):
        file, found = OpenedFile(path, number), list[Diagnostic]()
        read.append((file, found))
        try:
            found += occupancy.read(file, ledger)
        except files.UnreadableError as problem:
            found += problem.diagnostics
    amounts = ledger.occupied()
    remarks = [*occupancy.remarks(ledger)]
    for file, found in read:
        found += (each for each in remarks if each.route[0] == file.at()[0])
    return amounts, tuple(file.batch(tuple(found)) for file, found in read)


# Files next to a workflow: in its folder or below it.


def read_beside(folder: str, path: str) -> Outcome[bytes]:
    """The bytes of a file in the folder. R134: it cannot be read, is outside of the folder, or is git's.

    The routes are empty; the caller knows where the name is.
    """
    root = os.path.realpath(folder or os.curdir)
    try:
        if why := _misplaced(root, path):
            hint = "copy the file into the workflow's folder: a manifest must not depend on the machine"
            return Outcome(None, (error("R134", (), f'"{path}" is {why}', hint=hint),))
        raw = files.raw_of(os.path.join(folder or os.curdir, path), "")
    except (OSError, ValueError) as problem:  # a name with a NUL
        return Outcome(None, (_unreadable(folder, path, str(problem)),))
    why = "; ".join(each.message.removeprefix("cannot read the file: ") for each in raw.diagnostics)
    return Outcome(None, (_unreadable(folder, path, why),)) if raw.value is None else raw


def _misplaced(root: str, path: str) -> str:
    """Why a manifest cannot have a file, by its name or by a symbolic link. Empty if it can."""
    real = os.path.realpath(os.path.join(root, path))
    if os.path.isabs(path):
        return "an absolute path"
    if not files.is_below(real, root):
        return "outside of the workflow's folder"
    return "" if files.is_within(real, root) else "in a folder of git"


def _unreadable(folder: str, path: str, why: str) -> Diagnostic:
    """R134, with the nearest name in the folder."""
    inner = os.path.dirname(path)
    try:
        root, place = (os.path.realpath(each or os.curdir) for each in (folder, os.path.join(folder, inner)))
        listed = os.listdir(files.inside(place)) if files.is_within(place, root) else []
        names = [os.path.join(inner, name) for name in listed]
    except (OSError, ValueError):
        names = []
    where = f"the folder {folder}" if folder else "the current folder"
    hint = did_you_mean(path, names) or f"the path is relative to {where}"
    return error("R134", (), f'"{path}" cannot be read: {why}', hint=hint)
