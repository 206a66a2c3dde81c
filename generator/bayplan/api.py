"""bayplan for Python programs: the functions and values that `import bayplan` offers.

`load` functions read files, `loads` functions read text. `check` and `lint` return findings. All other functions return
a value, or raise `Invalid` if there are errors. Functions read only the files that their arguments name, and those that
these files name beside them. They do not use the environment, the clock, standard streams or bayplan.yaml.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan import pipeline
from bayplan.cli import inputs
from bayplan.cli import options as values
from bayplan.cli.compiling import changed, compile_all, contradiction, join, prove_jointly
from bayplan.cli.options import Arguments, Command
from bayplan.core.diagnostics import Outcome, has_errors
from bayplan.core.phrases import listing
from bayplan.model.formats import Source
from bayplan.model.manifest import File, Item
from bayplan.pipeline import CheckedTopology, Planned
from bayplan.report import Batch
from bayplan.report.findings import Finding as Finding
from bayplan.report.findings import Place as Place
from bayplan.report.findings import Remark as Remark
from bayplan.report.findings import findings
from bayplan.text.document import Document, read
from bayplan.text.source import text_of

Path = str | os.PathLike[str]


class Invalid(Exception):  # noqa: N818  # its name is what is wrong with the input
    """There are errors. `findings` has all findings; the text shows errors and warnings, as a terminal does."""

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        super().__init__(findings)
        self.findings = findings

    def __str__(self) -> str:
        from bayplan.report.formats import render, summary

        shown = [each for each in self.findings if each.severity != "info"]
        return render(shown, "text") + summary(shown)


class Workflows(NamedTuple):
    """The workflows of one or more files, as they were read."""

    documents: tuple[Document, ...]
    format: str
    batches: tuple[Batch, ...]
    beside: Mapping[str, Document] = {}

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The warnings and infos of reading the files."""
        return findings(self.batches)


class Topology(NamedTuple):
    """A valid cluster topology. Several calls can use it, and bayplan checks it only once."""

    document: Document
    checked: CheckedTopology
    batches: tuple[Batch, ...]
    changes: Mapping[str, Sequence[str]] = {}

    @property
    def name(self) -> str:
        """`metadata.name`."""
        value = self.checked[0].value
        return value.name if value else ""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The warnings and infos of the file."""
        return findings(self.batches)

    def what_if(self, *, more: Sequence[str] = (), without: Sequence[str] = ()) -> Topology:
        """The cluster with more domains, such as "gb200+4 racks", then without nodes or domains, such as "rack=r1".

        These are the words of --with and --without. Invalid: one of them does not suit the cluster.
        """
        given = {"with": [*more], "without": [*without]}
        outcome, origins = self.checked
        found = changed(_arguments(NONE, None, **given), Outcome(outcome.value))
        _judged([Batch(found.diagnostics)])
        changes = {key: [*self.changes.get(key, ()), *words] for key, words in given.items()}
        return self._replace(
            checked=(Outcome(found.value, outcome.diagnostics), origins),
            changes={key: words for key, words in changes.items() if words},
        )


class Manifests(NamedTuple):
    """Kubernetes objects that others wrote, for `lint`."""

    documents: tuple[Document, ...]
    batches: tuple[Batch, ...]
    unnamed: frozenset[str] = frozenset()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The warnings and infos of reading the files."""
        return findings(self.batches)


class Options(NamedTuple):
    """What the options of the command line set. Each field is the option of that name, and empty if it is not given.

    `target`: component -> version, such as `{"kai": "0.17"}`. `gangs`: names, as of --gang. `accept`: codes of errors
    that become warnings. `occupied`: paths of files that say what runs in the cluster.
    """

    scheduler: str = ""
    namespace: str = ""
    queue: str = ""
    priority: str = ""
    workload: str = ""
    target: Mapping[str, str] = {}
    gangs: Sequence[str] = ()
    accept: Sequence[str] = ()
    occupied: Sequence[Path] = ()


class Rendered(NamedTuple):
    """The manifests of workflows, in the order to apply them. `findings`: warnings and infos."""

    documents: tuple[Item, ...]
    findings: tuple[Finding, ...]

    @property
    def text(self) -> str:
        """The bytes of `bayplan render`, as a string. Invalid: several scripts of Slurm do not fit into one text."""
        from bayplan.cli.destination import several_files
        from bayplan.text.emit import emit

        _judged([Batch(several_files(self.documents, "use `files`"))])
        return "".join(emit(self.documents))

    @property
    def files(self) -> dict[str, str]:
        """Name -> text of the files of `bayplan render -o DIR/`."""
        from bayplan.cli.output_folder import files

        return files(self.documents)

    @property
    def objects(self) -> tuple[dict[str, Any], ...]:
        """The objects as data, without files such as scripts of Slurm. Each access makes a new copy."""
        from bayplan.text.emit import emit

        texts = [emit([each]) for each in self.documents if not isinstance(each, File)]
        documents = (read("", "".join(text).encode(), "manifest", own=False).value or () for text in texts)
        return tuple(each.data for found in documents for each in found)


class Plans(NamedTuple):
    """The plans of workflows that fit, with their proofs. `findings`: warnings and infos."""

    planned: tuple[Planned, ...]
    findings: tuple[Finding, ...]
    alone: bool = False
    slack: bool = False
    changes: Mapping[str, Sequence[str]] = {}

    @property
    def data(self) -> dict[str, Any]:
        """The data of `bayplan plan --format json`."""
        data: dict[str, Any] = json.loads(self.show("json"))
        return data

    def show(self, form: str = "tree") -> str:
        """The text of `bayplan plan --format FORM`: tree, table, json, csv, or that of a picture. ValueError: another
        word."""
        from bayplan.cli import plan

        if form in plan.PICTURES:
            proven = [(planned.plan, planned.fits) for planned in self.planned]
            return "".join(plan.PICTURES[form].plans(form, proven, self.alone))
        shows: dict[str, Callable[[Sequence[Planned]], str]] = {
            "tree": lambda planned: plan.as_tree(planned, self.slack, self.changes),
            "json": lambda planned: plan.as_json(planned, self.slack, self.changes),
            "table": plan.as_table,
            "csv": plan.as_csv,
        }
        if form not in shows:
            raise ValueError(f'unknown form "{form}": use {listing((*shows, *plan.PICTURES), "or")}')
        return shows[form](self.planned)


class Capacity(NamedTuple):
    """What fits. `data` is that of `bayplan capacity --format json`; `text` is the text without `--format`."""

    data: dict[str, Any]
    text: str
    findings: tuple[Finding, ...]


def load(
    path: Path,
    *more: Path,
    format: str = "",  # noqa: A002
    variables: Mapping[str, int | float | str] = {},
    osmo_pool: Path = "",
) -> Workflows:
    """The workflows of files in any format: native, OSMO, sbatch or TorchX.

    `format`: the word after --from. `variables`: those of templates, as of --set. `osmo_pool`: FILE or FILE#POOL, as of
    --osmo-pool. Invalid: a file is not readable.
    """
    documents, batches = inputs.workflows_of(_paths(path, *more), Source(format, variables))
    read = inputs.Inputs(documents, None, batches)
    for pool in _paths(osmo_pool) if osmo_pool else ():
        read = inputs.with_configurations({"osmo-pool": pool}, read)
    _judged(read.batches)
    return Workflows(read.workflows, format, read.batches, read.beside)


def loads(
    text: str,
    name: str = "<text>",
    *,
    format: str = "",  # noqa: A002
    variables: Mapping[str, int | float | str] = {},
) -> Workflows:
    """The same for a string. `name`: its file in findings. bayplan reads no files that the text names."""
    documents, batch = inputs.parsed(name, _bytes(text), Source(format, variables), None)
    _judged([batch])
    return Workflows(documents, format, (batch,))


def load_topology(path: Path) -> Topology:
    """The cluster topology of a file. Invalid: it has errors."""
    (word,) = _paths(path)
    return _topology(*inputs.topology_of(word))


def loads_topology(text: str, name: str = "<text>") -> Topology:
    """The same for a string. `name`: its file in findings."""
    return _topology(*inputs.only_topology(*_documents(text, name, "topology", own=True)))


def _topology(document: Document | None, batches: tuple[Batch, ...]) -> Topology:
    checked: CheckedTopology = pipeline.check_topology(document) if document else (Outcome(None), {})
    outcome, origins = checked
    batches = (*batches, Batch(outcome.diagnostics, {"topology": document} if document else {}, origins))
    _judged(batches)
    assert document is not None, "without errors there is a document"
    return Topology(document, checked, batches)


def load_manifests(path: Path, *more: Path) -> Manifests:
    """The objects of files, and of the manifests in folders. Invalid: a file is not readable."""
    from bayplan.cli.lint import load_manifests

    found = load_manifests(_paths(path, *more))
    _judged(found.batches)
    return Manifests(found.documents, found.batches, found.unnamed)


def loads_manifests(text: str, name: str = "<text>") -> Manifests:
    """The same for a string. `name`: its file in findings."""
    documents, batch = _documents(text, name, "manifest", own=False)
    _judged([batch])
    return Manifests(documents, (batch,))


NONE = Options()


def check(
    workflows: Workflows | None,
    topology: Topology | None = None,
    options: Options = NONE,
    *,
    manifests: Manifests | None = None,
    together: bool = False,
    alone: bool = False,
) -> tuple[Finding, ...]:
    """All findings of workflows, as `bayplan check` reports them. The workflows fit if none of them is an error.

    Several workflows must fit at the same time: in order, with `together` in any packing, with `alone` each by itself.
    Without a topology, only the findings of the workflows by themselves. `manifests`: other workloads, beside the
    workflows or instead of them. ValueError: manifests without a topology.
    """
    from bayplan.cli import check

    args = _arguments(options, workflows, together=together, alone=alone)
    if topology is None:
        if manifests is not None:
            raise ValueError("manifests need a topology")
        return findings(check.validated(args, _inputs(workflows)))
    return findings(_proven(args, workflows, topology, manifests)[1])


def plan(
    workflows: Workflows | None,
    topology: Topology,
    options: Options = NONE,
    *,
    manifests: Manifests | None = None,
    together: bool = False,
    alone: bool = False,
    slack: bool = False,
) -> Plans:
    """The plans of workflows and manifests that fit at the same time, as for `check`. Invalid: they do not, or errors.

    `slack`: the forms `tree` and `json` also show what may fail before a gang no longer fits.
    """
    args = _arguments(options, workflows, together=together, alone=alone, slack=slack)
    planned, batches = _proven(args, workflows, topology, manifests, joined=False)
    return Plans(planned, _judged(batches), alone, slack, topology.changes)


def _proven(
    args: Arguments,
    workflows: Workflows | None,
    topology: Topology,
    manifests: Manifests | None,
    *,
    joined: bool = True,
) -> tuple[tuple[Planned, ...], list[Batch]]:
    """The plans, and the diagnostics. `joined`: also those of manifests that several workflows write."""
    if wrong := contradiction(args):
        return (), [*wrong]
    given = _inputs(workflows, topology)
    compiled, batches = compile_all(args, given, lambda _: topology.checked)
    if manifests is not None:
        from bayplan.cli import existing, lint

        loaded, named = lint.Manifests(*manifests), [each.name for each in given.workflows]
        given, there, found = existing.planned_of(args, loaded, named, given, lambda _: topology.checked)
        compiled, batches = [*there, *compiled], [*batches, *found]
    jointly, more = prove_jointly(args, given, compiled, batches)
    return tuple(each.planned for _, each in jointly), [*batches, *more, *(join(compiled)[1] if joined else ())]


def render(
    workflows: Workflows, topology: Topology, options: Options = NONE, *, cluster_objects: bool = False
) -> Rendered:
    """The manifests of all workflows. Invalid: one of them has errors. bayplan proves each by itself.

    `cluster_objects`: also the cluster-scoped objects that the workflows use.
    """
    args = _arguments(options, workflows, **{"cluster-objects": cluster_objects})
    compiled, batches = compile_all(args, _inputs(workflows, topology), lambda _: topology.checked)
    documents, colliding = join(compiled)
    return Rendered(documents, _judged([*batches, *colliding]))


def capacity(
    topology: Topology, workflows: Workflows | None = None, options: Options = NONE, *, level: str = ""
) -> Capacity:
    """Without workflows: the largest gangs that fit into a domain of each level. With: how many copies and replicas.

    `level`: only this level, without workflows. Invalid: there are errors.
    """
    from bayplan.cli import any_topology
    from bayplan.cli import capacity as answer
    from bayplan.cli.plan import queue_lines

    args = _arguments(options, workflows, level=level, **topology.changes)
    if workflows is not None:
        answered, batches = answer.of_workflows(args, _inputs(workflows, topology), lambda _: topology.checked)
        found = _judged(batches)
        data, queues = answer.workflows_data(args, answered), [[*queue_lines(planned)] for _, _, planned in answered]
        return Capacity(data, _text(answer.workflow_lines(data, queues)), found)
    value = topology.checked[0].value
    assert value is not None, "a Topology is valid"
    named = any_topology.level_of(value, level)
    busy, of_cluster = inputs.occupied(args, value)
    found = _judged([*topology.batches, Batch(any_topology.unknown_level(value, named)), *of_cluster])
    data = {**answer.cluster_data(value, busy, named), **topology.changes}
    return Capacity(data, _text(answer.cluster_lines(data)), found)


def lint(manifests: Manifests, topology: Topology | None = None, options: Options = NONE) -> tuple[Finding, ...]:
    """All findings of manifests that others wrote, as `bayplan lint` reports them.

    Of the options, `scheduler`, `target` and `accept` count. With a topology, also whether pods fit on nodes.
    ValueError: the topology is one of `what_if`.
    """
    if topology and topology.changes:
        raise ValueError("lint reads the file of a topology, which `what_if` does not change")
    from bayplan.cli import lint

    args = _arguments(options)
    target, accept = values.target(args), values.accept(args, "M")
    batches = [Batch((*target.diagnostics, *accept.diagnostics)), *manifests.batches]
    if target.value is None or accept.value is None:
        return findings(batches)
    document = topology.document if topology else None
    request = pipeline.LintRequest(manifests.documents, document, options.scheduler, target.value, accept.value)
    return findings([*batches, lint.linted(request, lint.Manifests(*manifests))])


def explain(code: str) -> str:
    """The explanation of a code in Markdown, as `bayplan explain CODE` prints it. KeyError: there is no such code."""
    from bayplan.cli.explain import section

    return section(code)


def report_text(findings: Iterable[Finding], form: str = "text") -> str:
    """A report: text, json, github, gitlab or sarif, whose URIs are the names of files. ValueError: another form."""
    from bayplan.report import FORMATS
    from bayplan.report.formats import render

    if form not in FORMATS:
        raise ValueError(f'unknown form "{form}": use {", ".join(FORMATS)}')
    return render([*findings], form)


def _judged(batches: Iterable[Batch]) -> tuple[Finding, ...]:
    """The findings. Invalid: some are errors."""
    listed = [*batches]
    found = findings(listed) if any(each.diagnostics for each in listed) else ()
    if any(has_errors(each.diagnostics) for each in listed):
        raise Invalid(found)
    return found


def _arguments(options: Options, workflows: Workflows | None = None, **more: str | bool | Sequence[str]) -> Arguments:
    """The options as the command line has them."""
    pairs = (f"{component}={version}" for component, version in options.target.items())
    words: dict[str, Sequence[str]] = {
        **{key: [getattr(options, key)] for key in ("scheduler", "namespace", "queue", "priority", "workload")},
        **{key: _words(each) for key, each in more.items()},
        "from": [workflows.format if workflows else ""],
        "target": [*pairs],
        "gang": options.gangs,
        "accept": options.accept,
        "occupied": _paths(*options.occupied),
    }
    on = {key for key, each in more.items() if each is True}
    return Arguments(Command("", "", ""), (), {key: (*each,) for key, each in words.items() if key in on or any(each)})


def _words(value: str | bool | Sequence[str]) -> Sequence[str]:
    """The values of an option."""
    return [value] if isinstance(value, str) else [""] if isinstance(value, bool) else value


def _inputs(workflows: Workflows | None, topology: Topology | None = None) -> inputs.Inputs:
    read = workflows or Workflows((), "", ())
    every = (*read.batches, *(topology.batches if topology else ()))
    return inputs.Inputs(read.documents, topology and topology.document, every, read.beside)


def _paths(*paths: Path) -> tuple[str, ...]:
    """The paths as strings. `-` is a file, not standard input."""
    return tuple(f".{os.sep}-" if each == "-" else each for each in (os.fspath(path) for path in paths))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _documents(text: str, name: str, subject: str, *, own: bool) -> tuple[tuple[Document, ...], Batch]:
    """The documents of a string, and their diagnostics."""
    raw = _bytes(text)
    found = read(name, raw, subject, own=own)
    shown = Document(name, text_of(raw) if found.diagnostics else "", 0, None)
    return found.value or (), Batch(found.diagnostics, {subject: shown})


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
