"""One output of bayplan.yaml -> the texts of its files, by way of what `render` does: its keys stand for options."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan import pipeline
from bayplan.cli import folder, generated, inputs, output, patterns, targets
from bayplan.cli.compiling import Judge, Made, compile_all, join, judging
from bayplan.cli.options import Command, Given
from bayplan.cli.project import SUBJECT, Project
from bayplan.diagnostics import Diagnostic, Route, error, has_errors
from bayplan.model.manifest import Item
from bayplan.report.batch import Batch
from bayplan.text.emit import emit
from bayplan.values import NamedTuple

Entry = Mapping[str, Any]

KEYS = {
    "topology": "topology",
    "scheduler": "scheduler",
    "namespace": "namespace",
    "target": "target",
    "accept": "accept",
    "gang": "gangs",
    "from": "from",
    "set": "set",
    "set-string": "set",
    "osmo-pool": "osmoPool",
    "to": "export",
    "output": "to",
}
"""Option of `render` -> key of an output."""


class Texts(NamedTuple):
    """The files of one output, as seen from the project's folder, and what was found."""

    files: Mapping[str, str]
    batches: tuple[Batch, ...]


class Shared(NamedTuple):
    """What the outputs of a project have in common: each topology file is read and checked once."""

    load: inputs.Load
    judge: Judge


def sharing() -> Shared:
    """Nothing is read yet."""
    return Shared(inputs.remembering(), judging())


def make(project: Project, number: int, shared: Shared) -> Texts:
    """The files of an output; none when there are errors."""
    entry: Entry = project.spec["outputs"][number]
    route: Route = ("spec", "outputs", number)
    wrong = (*_contradictory(entry, route), *targets.wrong(project, entry, route))
    if wrong:
        return Texts({}, (_of_project(project, wrong),))
    made = _export(project, entry, shared) if "export" in entry else _workflows(project, entry, route, shared)
    found = tuple(_placed(project, entry, route, batch) for batch in made.batches)
    return Texts({} if any(has_errors(batch.diagnostics) for batch in found) else made.files, found)


def _contradictory(entry: Entry, route: Route) -> Iterator[Diagnostic]:
    """A985: an output holds workflows or an export."""
    if ("workflows" in entry) is ("export" in entry):
        found = "both `workflows` and `export`" if "export" in entry else "neither `workflows` nor `export`"
        yield error("A985", (SUBJECT, *route), f"an output has one of two, and this one has {found}")
    strange = [key for key in entry if "export" in entry and key not in ("to", "workflows", *EXPORTED)]
    if strange:
        message = f"`export` writes what the topology says, and `{strange[0]}` is about workflows"
        yield error("A985", (SUBJECT, *route, strange[0]), message, hint="take it out")


EXPORTED = ("export", "topology", "target")
"""The keys that an export goes by."""


def _workflows(project: Project, entry: Entry, route: Route, shared: Shared) -> Texts:
    """What `render` writes of the workflows, by where it goes."""
    matched = patterns.match(project, entry["workflows"], (*route, "workflows"))
    odd = _of_project(project, matched.diagnostics)
    if not matched.files or has_errors(matched.diagnostics):
        return Texts({}, (odd,))
    given = _given(project, entry, matched.files)
    if not given.on("topology"):
        return Texts({}, (odd, Batch((inputs.no_topology(),))))
    read = inputs.read_all(given, load=shared.load)
    asked = inputs.requests(given, read, cluster_objects=bool(entry.get("clusterObjects")))
    compiled, found = compile_all(asked.value or (), read, shared.judge)
    batches = (odd, Batch(asked.diagnostics), *read.batches, *found)
    return _grouped(entry["to"], compiled, batches)


def _grouped(to: str, compiled: Made, batches: Sequence[Batch]) -> Texts:
    """The files of each place that `to` comes to. What collides does so in the cluster, wherever its file lies."""
    places: dict[str, Made] = {}
    for pair in compiled:
        plan = pair[1].planned.plan
        place = targets.filled(to, workflow=plan.workflow.name, namespace=plan.namespace)
        places.setdefault(place, []).append(pair)
    colliding = join(compiled)[1] if compiled else []
    made = [_files(place, join(group)[0]) for place, group in places.items()]
    files = {path: text for each in made for path, text in each.files.items()}
    return Texts(files, (*batches, *colliding, *(batch for each in made for batch in each.batches)))


def _export(project: Project, entry: Entry, shared: Shared) -> Texts:
    """What `topology export` writes."""
    path = _given(project, entry, ()).one("topology")
    document, found = shared.load(path) if path else (None, (Batch((inputs.no_topology(),)),))
    if document is None:
        return Texts({}, found)
    outcome, origins = pipeline.cluster_objects(document, entry["export"], entry.get("target", {}))
    batches = (*found, Batch(outcome.diagnostics, {"topology": document}, origins))
    made = _files(entry["to"], outcome.value or ())
    return Texts(made.files, (*batches, *made.batches))


def _files(place: str, documents: Sequence[Item]) -> Texts:
    """One file, or one for each object."""
    if place.endswith("/"):
        texts = folder.files(documents)
        return Texts({os.path.normpath(place + name): generated.marked(texts[name]) for name in texts}, ())
    several = output.several(documents, hint=f'write them into a folder: "{place}/"')
    text = "".join(emit(documents))
    return Texts({os.path.normpath(place): generated.marked(text)} if text else {}, (Batch(several),))


def _given(project: Project, entry: Entry, words: Sequence[str]) -> Given:
    """The command line that says the same."""
    topology = entry.get("topology") or project.spec.get("topology")
    variables = entry.get("set", {}).items()
    options = {
        "topology": (project.path(topology),) if topology else (),
        "osmo-pool": (project.path(entry["osmoPool"]),) if "osmoPool" in entry else (),
        "target": (",".join(f"{name}={version}" for name, version in entry.get("target", {}).items()),),
        "accept": tuple(entry.get("accept", ())),
        "gang": tuple(entry.get("gangs", ())),
        "set": tuple(f"{name}={value}" for name, value in variables if not isinstance(value, str)),
        "set-string": tuple(f"{name}={value}" for name, value in variables if isinstance(value, str)),
        **{key: (entry[key],) for key in ("scheduler", "namespace", "from") if key in entry},
    }
    given = {key: values for key, values in options.items() if values and values[0]}
    return Given(Command("generate", "", ""), tuple(map(project.path, words)), given)


def _placed(project: Project, entry: Entry, route: Route, batch: Batch) -> Batch:
    """What was found of the command line that was never written, at the key of the output that it stands for."""
    moved = tuple(_moved(each, project, entry, route) for each in batch.diagnostics)
    return batch._replace(diagnostics=moved, sources={**batch.sources, SUBJECT: project.document})


def _moved(found: Diagnostic, project: Project, entry: Entry, route: Route) -> Diagnostic:
    if found.route[:1] != ("argument",):
        return found
    key = KEYS.get(str(found.route[1]).lstrip("-"), "")
    whole = key == "topology" and key not in entry and key in project.spec
    place = ("spec", key) if whole else (*route, key) if key in entry else route
    return found._replace(route=(SUBJECT, *place))


def _of_project(project: Project, found: Sequence[Diagnostic]) -> Batch:
    return Batch(tuple(found), {SUBJECT: project.document})
