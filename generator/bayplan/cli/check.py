"""`bayplan check`: the diagnostics of render, without manifests."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from bayplan import pipeline
from bayplan.backends import BACKENDS
from bayplan.cli import existing, files, inputs, output, project
from bayplan.cli.compiling import (
    cached_topology_check,
    compile_all,
    contradiction,
    join,
    prove_jointly,
    success_of,
    topology_check,
)
from bayplan.cli.finish import Success, exit_code, finish, report
from bayplan.cli.inputs import Inputs
from bayplan.cli.options import Arguments, fail_on
from bayplan.cli.project import Project
from bayplan.core.diagnostics import SEVERITIES, Diagnostic, Outcome, has_errors, warning
from bayplan.core.phrases import count
from bayplan.model.target import KNOWN, Target
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import Workflow
from bayplan.pipeline import Request
from bayplan.planning.selection import unused
from bayplan.report import Batch
from bayplan.report.codes import title
from bayplan.text.document import Document


def run(args: Arguments) -> int:
    """Checks the workflows and, if there is a topology, their manifests."""
    if wrong := contradiction(args):
        return finish(args, wrong, to_stdout=True)
    args, manifests = existing.split(args)
    args, of_projects = _projects(args)
    if not args.words and not manifests:
        return finish(args, of_projects, to_stdout=True)
    read = inputs.read_all(args, needs_topology=False)
    if args.value("scheduler") == "all" and not manifests:
        return compare_schedulers(args, read)
    if inputs.without_topology(args) and not manifests:
        needed = any(args.has(each) for each in ("without", "with"))
        batches = [*validated(args, read), *of_projects, *([Batch((inputs.no_topology(),))] if needed else [])]
        valid = f"{count(len(read.workflows), 'valid workflow')}; -t FILE also checks the fit"
        return finish(args, batches, to_stdout=True, success=Success(result=valid))
    compiled, batches = compile_all(args, read)
    if manifests:
        read, there, found = existing.planned(args, manifests, read)
        compiled, batches = [*there, *compiled], [*batches, *found]
    jointly, more = prove_jointly(args, read, compiled, batches)
    batches += [*more, *join(compiled)[1], *of_projects]
    together = len(jointly) > 1 and not args.has("alone")
    success = Success(result=f"{len(jointly)} workflows fit at the same time") if together else success_of(jointly)
    return finish(args, batches, to_stdout=True, success=success)


def validated(args: Arguments, read: Inputs) -> list[Batch]:
    """The diagnostics of workflows without a topology."""
    batches, workflows, given = [*read.batches], list[Workflow](), inputs.given(args)
    for document in read.workflows:
        outcome, origins = pipeline.check_workflow(document, args.value("from"), read.context(), given)
        workflows += [outcome.value] if outcome.value else []
        batches.append(Batch(outcome.diagnostics, read.sources(document), origins))
    return [*batches, Batch(tuple(unused(given, workflows)))]


# The hook for pre-commit also passes project files, topologies and tables, which stand for the workflows that they
# concern.


def _projects(args: Arguments) -> tuple[Arguments, list[Batch]]:
    """The arguments without these files, and the diagnostics of the outputs that they concern.

    bayplan proves the workflows of a project or of a topology each by itself: they need not run at the same time.
    """
    rest = [word for word in args.words if not (_is_cluster(word) or word.endswith(TABLE))]
    if len(rest) == len(args.words):
        return args, []
    from bayplan.cli import generate

    batches: list[Batch] = []
    concerned: dict[str, tuple[Project, set[int]]] = {}
    for word in args.words:
        if word in rest:
            continue
        path = word if os.path.basename(word) == project.NAME else project.find(os.path.dirname(word))
        found, problems = project.load(path) if path else (None, ())
        outputs = found.spec.get("outputs", ()) if found else ()
        whole = word == path or word.endswith(TABLE)
        numbers = {n for n, each in enumerate(outputs) if found and (whole or _uses(found, each, word))}
        if found and path and numbers:
            concerned.setdefault(os.path.realpath(path), (found, set()))[1].update(numbers)
        elif word.endswith(TABLE):
            rest += [each for each in _readers(word) if not any(_same(each, other) for other in rest)]
        elif word == path or (args.has("topology") and _same(word, args.value("topology"))):
            document, unread = inputs.topology_of(word) if word != path else (None, ())
            outcome, origins = pipeline.check_topology(document) if document else (Outcome(None), {})
            batches += [
                *problems,
                *unread,
                Batch(outcome.diagnostics, {"topology": document} if document else {}, origins),
            ]
            if word != path:
                beside = _workflows_beside(word)
                rest += [each for each in beside if not any(_same(each, other) for other in rest)]
                batches += () if rest else (_without_workflows(word),)
        else:
            rest.append(word)
    for found, chosen in concerned.values():
        shared = generate.SharedTopologies(inputs.cached_loader(), cached_topology_check())
        batches += (
            batch for number in sorted(chosen) for batch in generate.output_files(found, number, shared).batches
        )
    listed = set(rest) <= set(args.words) or args.has("together")
    return args._replace(words=tuple(rest), options={**args.options, **({} if listed else {"alone": ("",)})}), batches


TABLE = ".csv"
"""The ending of a table that a `matrix` reads."""

TOPOLOGY = rb"(?m)^kind: *[\"']?ClusterTopology|\"kind\": *\"ClusterTopology\""
WORKFLOW = r"(?!\d+-)[^/]*workflow[^/]*\.(ya?ml|json)"
"""The names of workflows that the hook for pre-commit selects."""


def _workflows_beside(word: str) -> list[str]:
    """The workflows that git tracks in the folder of a topology, and below it."""
    import re
    import subprocess

    folder = os.path.dirname(word)
    try:
        done = subprocess.run((*files.GIT, "ls-files", "-z"), cwd=folder or None, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    names = done.stdout.decode(errors="surrogateescape").split("\0")
    named = (name for name in names if re.fullmatch(WORKFLOW, os.path.basename(name)) and "/." not in f"/{name}")
    return [path for name in named if _has_workflow(path := os.path.join(folder, name))]


def _readers(word: str) -> list[str]:
    """The workflows that git tracks and that name a table: in its folder, or in one above it (R134)."""
    folder, name = os.path.dirname(word), os.path.basename(word)
    above = [os.path.join(folder, *[os.pardir] * number) for number in range(word.count("/") + 1)]
    there = (path for each in above for path in _workflows_beside(os.path.join(each, name)))
    return [path for path in dict.fromkeys(map(os.path.normpath, there)) if name in _text(path)]


def _has_workflow(path: str) -> bool:
    """Whether a file looks like a workflow: other programs have workflows too."""
    from bayplan import workflows

    text = _text(path)
    return "bayplan.dev/" in text or workflows.text_format(text.encode()) is not None


def _text(path: str) -> str:
    """The text of a file; empty if bayplan cannot read it."""
    try:
        with files.opened(path) as file:
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def _without_workflows(word: str) -> Batch:
    """A983: bayplan knows no workflow of a topology."""
    message = "only the topology is checked: no bayplan.yaml names its workflows, and git tracks none in its folder"
    hint = "list the workflows in a bayplan.yaml, or pass them too"
    return Batch((warning("A983", ("topology",), message, hint=hint),), {"topology": Document(word, "", 0, None)})


def _is_cluster(word: str) -> bool:
    """Whether a file is a project file or a cluster topology, by its beginning."""
    import re

    try:
        if not os.path.isfile(files.inside(word)):
            return False
        with files.opened(word) as file:
            return os.path.basename(word) == project.NAME or bool(re.search(TOPOLOGY, file.read(65_536)))
    except (OSError, ValueError):
        return False


def _uses(found: Project, output: Mapping[str, str], word: str) -> bool:
    """Whether an output of the project has this topology."""
    name = output.get("topology") or found.spec.get("topology")
    return bool(name) and _same(found.path(str(name)), word)


def _same(left: str, right: str) -> bool:
    return os.path.realpath(left) == os.path.realpath(right)


# `check -s all`: a table per workflow, with the schedulers on which it runs and what each of them loses.

HEADER = ("scheduler", "version", "runs", "lost")
RUNS = {"error": "no", "warning": "partly", "info": "yes"}


class Verdict(NamedTuple):
    """The result of compiling a workflow for one scheduler. `own`: the diagnostics that not all schedulers share."""

    scheduler: str
    version: str
    own: tuple[Diagnostic, ...]
    batch: Batch

    @property
    def worst_severity(self) -> str:
        """The highest severity of its own diagnostics."""
        severities = {each.severity for each in self.own}
        return next((severity for severity in SEVERITIES if severity in severities), "info")


class Comparison(NamedTuple):
    """One workflow on all schedulers. `common`: the diagnostics that all schedulers share."""

    title: str
    common: Batch
    verdicts: tuple[Verdict, ...]


def compare_schedulers(args: Arguments, read: Inputs) -> int:
    """Prints the tables. Fails if a workflow is invalid or runs on no scheduler."""
    requests = inputs.requests(args, read)
    missing = (inputs.no_topology(),) if inputs.without_topology(args) else ()
    batches = [Batch((*requests.diagnostics, *missing)), *read.batches]
    judged = topology_check(args)(read.topology) if read.topology else None  # the same for all schedulers
    busy, of_cluster = inputs.occupied(args, judged[0].value if judged else None)
    batches += of_cluster
    compared = [compare(request._replace(judged=judged, occupied=busy), read) for request in requests.value or ()]
    if args.value("diagnostics", "text") != "text":
        batches_of_schedulers = [verdict.batch for each in compared for verdict in each.verdicts]
        lost = report(args, [*batches, *batches_of_schedulers, Batch(fail_on(args).diagnostics)], True)
        return _code(args, batches, compared) or lost
    failed = output.write(line for each in compared if not has_errors(each.common.diagnostics) for line in _lines(each))
    common = [each.common for each in compared]
    code = finish(args, [*batches, *common, Batch(failed)], to_stdout=not failed)
    return code or _code(args, batches, compared)


def _code(args: Arguments, batches: Sequence[Batch], compared: Sequence[Comparison]) -> int:
    runs_nowhere = any(all(has_errors(verdict.own) for verdict in each.verdicts) for each in compared)
    return exit_code(args, [*batches, *(each.common for each in compared)]) or int(runs_nowhere)


def compare(request: Request, read: Inputs) -> Comparison:
    """The diagnostics of each scheduler, and those that all share."""
    judged = request.judged or pipeline.check_topology(request.topology)
    outcomes = {name: pipeline.compile(request._replace(judged=judged, scheduler=name)) for name in BACKENDS}
    by_scheduler = {name: outcome.diagnostics for name, (outcome, _) in outcomes.items()}
    first = next(iter(by_scheduler.values()))
    common = tuple(each for each in first if all(each in others for others in by_scheduler.values()))
    sources = read.sources(request.workflow)
    verdicts = tuple(
        Verdict(
            name,
            _version(name, request, request.judged[0].value if request.judged else None, outcome.value),
            tuple(each for each in outcome.diagnostics if each not in common),
            Batch(outcome.diagnostics, sources, origins),
        )
        for name, (outcome, origins) in outcomes.items()
    )
    return Comparison(request.workflow.name, Batch(common, sources, verdicts[0].batch.origins), verdicts)


def _version(name: str, request: Request, topology: ClusterTopology | None, compiled: pipeline.Compiled | None) -> str:
    component = BACKENDS[name].declared.component
    if compiled:
        return compiled.planned.target.version(component)
    stated = topology.versions if topology else {}
    return Target({**stated, **request.target}).version(component) if component in KNOWN else ""


def _lines(compared: Comparison) -> Iterator[str]:
    yield f"{compared.title}\n"
    yield from (f"  {line}\n" for line in output.table([HEADER, *map(_row, compared.verdicts)]))


def _row(verdict: Verdict) -> tuple[str, str, str, str]:
    worst = verdict.worst_severity
    titles = dict.fromkeys(f"{each.code} {title(each.code)}" for each in verdict.own if each.severity == worst)
    return verdict.scheduler, verdict.version, RUNS[worst], "; ".join(titles) if worst != "info" else ""
