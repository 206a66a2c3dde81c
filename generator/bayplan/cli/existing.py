"""Manifests on the command line of `plan` and `check`: their workloads beside the workflows of other files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence

from bayplan import workflows
from bayplan.cli import files, inputs, options
from bayplan.cli.compiling import CompiledWorkflow, TopologyCheck, topology_check
from bayplan.cli.inputs import Inputs
from bayplan.cli.lint import ENDINGS, SUBJECT, Manifests, lenient, load_manifests
from bayplan.cli.options import Arguments
from bayplan.core.diagnostics import AT, error, has_errors
from bayplan.kube.objects import number, text
from bayplan.kube.other_files import FOLDERS
from bayplan.kube.shell import operand
from bayplan.model.formats import detect
from bayplan.report import Batch
from bayplan.text.document import Document

FORMAT = "manifests"
"""The value of --from for Kubernetes objects."""

API_VERSION = re.compile(rb"""(?m)(?:^[ \t]*|[{,] ?)["']?apiVersion["']?: *["']?([^\s"',#]+)""")
KIND = re.compile(rb"""(?m)(?:^[ \t]*|[{,] ?)["']?kind["']?: *["']?([^\s"',#]+)""")
OTHERS = (b"bayplan.dev/", b"kustomize.config.k8s.io/")
"""The beginnings of versions of files that are not manifests."""

USELESS = ("gang", "queue", "priority", "workload", "set", "set-string", "image")
"""Options for workflows, which manifests do not read."""


def split(args: Arguments) -> tuple[Arguments, tuple[str, ...]]:
    """The command line without its manifests, and these: folders, files of objects, or all with --from manifests."""
    chosen = args.value("from") == FORMAT
    words = tuple(word for word in args.words if chosen or has_objects(word))
    rest = {key: values for key, values in args.options.items() if not (chosen and key == "from")}
    return args._replace(words=tuple(word for word in args.words if word not in words), options=rest), words


def has_objects(word: str) -> bool:
    """Whether a file begins as Kubernetes objects do that are not bayplan's, or is a folder."""
    if word == "-":
        return False
    try:
        if os.path.isdir(files.inside(word)):
            return not any(os.path.lexists(os.path.join(word, base)) for base in FOLDERS)
    except (OSError, ValueError):
        return False
    raw = _beginning(word)
    others = any(each.startswith(OTHERS) for each in API_VERSION.findall(raw))
    return _begins_as_object(raw) and not (others or workflows.text_format(raw))


def node_list(words: Sequence[str]) -> str:
    """The first file that is a list of nodes; empty if there is none."""
    named = (word for word in words if {b"Node", b"NodeList"} & set(KIND.findall(_beginning(word))))
    return next(named, "")


def _beginning(path: str) -> bytes:
    """The beginning of a file; empty if it is not a file, or bayplan cannot read it."""
    try:
        if not files.found(path):
            return b""
        with files.opened(path) as file:
            return file.read(65_536)
    except (OSError, ValueError):
        return b""


def _begins_as_object(raw: bytes) -> bool:
    return bool(API_VERSION.search(raw) and KIND.search(raw))


# The workflows in a folder of manifests, which bayplan reads only if they are on the command line too.

PROSE = (".md", ".rst", ".html")
"""The endings of documents, which may quote workflows."""


def _is_other_workflow(path: str) -> bool:
    """Whether a file of a folder is a workflow of another format than bayplan's own, or has no ending of manifests."""
    raw = b"" if path.endswith(PROSE) else _beginning(path)
    if path.endswith(ENDINGS) and _begins_as_object(raw):
        return False
    return _format_of(raw) is not None


def _format_of(raw: bytes) -> str | None:
    """The format of a workflow by its beginning, as messages name it."""
    if any(each.startswith(OTHERS[0]) for each in API_VERSION.findall(raw)):
        return WORKFLOW if b"Workflow" in KIND.findall(raw) else None
    row = workflows.text_format(raw)
    return row.title if row else None


WORKFLOW = "a Workflow"


def _workflows(loaded: Manifests) -> Iterator[tuple[str, str]]:
    """The files of folders that are workflows, each with its format."""
    for path in loaded.unread:
        yield path, _format_of(_beginning(path)) or WORKFLOW
    for each in loaded.documents:
        if each.name in loaded.unnamed and text(each.data, "kind") in ("", "Workflow"):
            format_ = detect(workflows.FORMATS, each.data)
            if format_:
                yield each.name, next((row.title for row in workflows.ROWS if row.name == format_), WORKFLOW)


def _unnamed(found: Mapping[str, str], named: Sequence[str]) -> Iterator[Batch]:
    """A912: a workflow in a folder that is not on the command line."""
    known = {os.path.realpath(each) for each in named}
    for path, title in found.items():
        if os.path.realpath(path) not in known:
            message = f"this file in a folder of manifests is {title}, which bayplan reads only if you name it"
            hint = f"pass `{operand(path)}` too, or move it out of the folder"
            yield Batch(
                (error("A912", (SUBJECT, AT, 1, 1), message, hint=hint),), {SUBJECT: Document(path, "", 0, None)}
            )


Planned = tuple[Inputs, list[CompiledWorkflow], list[Batch]]


def planned(args: Arguments, words: Sequence[str], read: Inputs) -> Planned:
    """The workloads of the manifests of a command line, which have no documents of their own, and their diagnostics."""
    missing = [Batch((inputs.no_topology(node_list(words)),))] if inputs.without_topology(args) else []
    loaded = load_manifests(words, _is_other_workflow)
    return planned_of(args, loaded, args.words, read, topology_check(args), missing)


def planned_of(
    args: Arguments,
    loaded: Manifests,
    named: Sequence[str],
    read: Inputs,
    check_topology: TopologyCheck,
    missing: Sequence[Batch] = (),
) -> Planned:
    """The same for manifests that were read. `named`: the files of workflows that are read too."""
    from bayplan.augment import reading
    from bayplan.linting.objects import collect
    from bayplan.model.augment import AugmentRequest
    from bayplan.pipeline import Compiled

    objects, not_objects = collect(loaded.documents)
    sources = {f"manifest:{n}": document for n, document in enumerate(loaded.documents)}
    found = dict(_workflows(loaded))
    skipped = (each for each in not_objects if loaded.documents[number(each.route)].name not in found)
    batches = [*loaded.batches, *_unnamed(found, named)]
    batches.append(Batch(tuple(lenient(each, loaded) for each in skipped), sources))
    useless = next((name for name in (*USELESS, *inputs.configurations(args)) if args.has(name)), "")
    if useless:
        message = f"--{useless} has no effect on manifests, which name everything themselves"
        batches.append(Batch((error("A920", ("argument", f"--{useless}"), message, hint=f"remove --{useless}"),)))
    if args.value("scheduler") == "all":
        message = "-s all compares the schedulers of workflows; manifests name theirs"
        batches.append(Batch((error("A920", ("argument", "--scheduler"), message, hint="leave it out"),)))
    target = options.target(args)
    batches += [Batch(target.diagnostics), *missing]
    wrong = any(has_errors(each.diagnostics) for each in batches)
    if read.topology is None or target.value is None or wrong:
        return read, [], batches
    judged = check_topology(read.topology)
    busy = inputs.occupied(args, judged[0].value)[0]
    request = AugmentRequest(
        objects,
        read.topology,
        scheduler=args.value("scheduler"),
        namespace=args.value("namespace"),
        target=target.value,
        occupied=busy,
    )
    outcome, origins = reading.plans(request, judged)
    sources["topology"] = read.topology
    batches.append(Batch(outcome.diagnostics, sources, origins))
    compiled: list[CompiledWorkflow] = []
    for each in outcome.value or ():
        document = sources[str(each.route[0])]
        own = {**sources, "workflow": document}
        batches.append(Batch(each.diagnostics, own, {**origins, "workflow": each.origins}))
        if each.planned is not None:
            compiled.append((document, Compiled(each.planned, ())))
    return read._replace(beside={**read.beside, **sources}), compiled, batches
