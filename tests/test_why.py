"""`explain --why`: each line that it names changes the field, and no other value of the files does.

The judge edits the text of a file at the place that bayplan names, and reads what the whole pipeline then writes. For
the other values it tries changes of its own.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bayplan.cli import causes, inputs
from bayplan.cli.causes import Cause, Objects, Sources, Variant
from bayplan.cli.why import WorkflowSources, made_of, with_gangs
from bayplan.core.diagnostics import Route
from bayplan.formats import documents
from bayplan.kube.objects import get, put
from bayplan.model.formats import Source
from bayplan.pipeline import Request
from bayplan.report.findings import Place, places
from bayplan.text.document import Document
from tools.golden import cases
from tools.run import EXAMPLES

LONG = bool(os.environ.get("BAYPLAN_LONG"))
FEW = {("kai", "osmo-two-racks"), ("volcano", "elastic"), ("koordinator", "torchx-macvlan")}
FORMATS = ("osmo.yaml", "app.json", "train.sbatch", "generate.sbatch", "workflow.yaml")
"""The files with the job of an example: of another format, if it has one."""


def jobs() -> list[Any]:
    """(scheduler, example) of all examples that a scheduler runs. Slurm has scripts instead of manifests."""
    pairs = sorted({(case.backend, case.example) for case in cases() if case.backend != "slurm"})
    return [pytest.param(*pair, id="/".join(pair)) for pair in pairs if LONG or pair in FEW]


def read(example: str, scheduler: str) -> WorkflowSources | None:
    """The job, if the scheduler runs it."""
    folder = EXAMPLES / example
    path = next(folder / name for name in FORMATS if (folder / name).exists())
    flows, _ = inputs.workflow(str(path), Source())
    (cluster,) = documents("topology", (folder / "topology.yaml").read_bytes(), "topology", Source()).value or ()
    request = Request(flows[0], cluster, scheduler=scheduler, render=inputs.render, accept=frozenset({"F645"}))
    return made_of(request, inputs.Inputs(flows, cluster, ()))[0]


@pytest.mark.parametrize(("scheduler", "example"), jobs())
def test_exactly_the_named_lines_change_a_field(scheduler: str, example: str) -> None:
    made = read(example, scheduler)
    if made is None:
        assert scheduler == "native", "only Kubernetes' own scheduler needs another version for an example"
        return
    base = made.experiments.base
    pick = random.Random(f"{scheduler} {example}")
    if not LONG:
        made.experiments.__dict__["changed"] = _some_variants(base, pick)
    fields = [(key, path) for key, each in base.objects.items() for path in causes.within(each)]
    named = 0
    for key, path in pick.sample(fields, min(len(fields), 400 if LONG else 40)):
        found = causes.causes(base, made.experiments.changed, key, path)
        by_text = [each for each in found if _is_edit_of_text(each)]
        for cause, place in zip(by_text, places([each.route for each in by_text], made.files), strict=True):
            native = "apiVersion" in made.files.sources[str(cause.route[0])].data  # other formats have other values
            if place and native and _is_value(cause, place):
                objects = _with_text(base, made, cause, place)
                assert objects is not None, (key, path, cause, place)
                then, _ = causes.value_at(objects, key, path, base.objects)
                assert then != get(base.objects[key], *path), (key, path, cause, place)
                named += 1
        for variant in _others(made, found, pick):
            then, _ = causes.value_at(variant.objects, key, path, base.objects)
            assert then is causes.REMOVED or then == get(base.objects[key], *path), (key, path, variant.edit, found)
    assert named > (2 if LONG else 0)


@pytest.mark.parametrize(("scheduler", "example"), [("kai", "pretrain"), ("kueue", "pipeline"), ("none", "elastic")])
def test_every_object_of_a_gang_names_a_line_of_the_workflow(scheduler: str, example: str) -> None:
    made = read(example, scheduler)
    assert made
    if not LONG:
        made.experiments.__dict__["changed"] = _some_variants(made.experiments.base, random.Random(example))
        made.experiments.__dict__["unset"] = ()
    for key, each in made.experiments.base.objects.items():
        answer = made.experiments.answer(each, each, key, ())
        found = [cause.route for cause, _ in with_gangs(answer, each, made).causes]
        labels = each["metadata"].get("labels", {})
        if "bayplan.dev/gang" in labels:
            gang = made.gangs[labels["bayplan.dev/gang"]]
            assert any(route[: len(gang)] == gang for route in found), key
        assert "bayplan.dev/workflow" not in labels or any(route[0] == "workflow" for route in found), key


def _some_variants(base: Sources, pick: random.Random) -> tuple[Variant, ...]:
    """The results of changing a few of the values. For the other values, bayplan then gives no answer to judge."""
    known = causes.names(base.request)
    routes = [(each, *path) for each in DOCUMENTS for path in causes.within(getattr(base.request, each).data, ())]
    found: list[Variant] = []
    for route in pick.sample(routes, min(len(routes), FEW_VALUES)):
        data = getattr(base.request, route[0]).data
        found += causes.of_node(base, route, get(data, *route[1:]), known)
    return tuple(found)


DOCUMENTS = ("workflow", "topology")
FEW_VALUES = 16


def _is_edit_of_text(cause: Cause) -> bool:
    """Whether one place in one file changes. A name may change together with the fields that refer to it."""
    value = cause.edit.value
    return (
        isinstance(value, str | int | float)
        and cause.route[0] in ("workflow", "topology")
        and cause.route[-1] != "name"
    )


def _is_value(cause: Cause, place: Place) -> bool:
    """Whether the text at the place is the value: templates and scripts have it in other words."""
    found = place.source[place.column - 1 : place.end_column - 1] if place.line == place.end_line else ""
    return found.strip("\"'") == (str(cause.value).lower() if isinstance(cause.value, bool) else str(cause.value))


def _with_text(base: Sources, made: WorkflowSources, cause: Cause, place: Place) -> Objects | None:
    """The objects after an edit of the text of a file."""
    subject = str(cause.route[0])
    source = made.files.sources[subject]
    lines = source.text.split("\n")
    line = lines[place.line - 1]
    assert place.end_line == place.line, place
    written = json.dumps(cause.edit.value)
    lines[place.line - 1] = line[: place.column - 1] + written + line[place.end_column - 1 :]
    (changed,) = documents(source.name, "\n".join(lines).encode(), subject, Source()).value or ()
    own = base.request._replace(workflow_format="", **{subject: changed})
    return causes.written(own)


_TRIED: dict[int, list[Variant]] = {}


def _others(made: WorkflowSources, found: tuple[Cause, ...], pick: random.Random) -> Iterator[Variant]:
    """The results of changing other values than the causes, in another way than bayplan does."""
    if id(made) not in _TRIED:
        _TRIED.clear()
        _TRIED[id(made)] = [
            *_other_variants(made.experiments.base, pick, {each.edit.route for each in made.experiments.changed})
        ]
    routes = [each.route for each in found]
    for each in _TRIED[id(made)]:
        if not any(
            each.edit.route[: len(route)] == route or route[: len(each.edit.route)] == each.edit.route
            for route in routes
        ):
            yield each


def _other_variants(base: Sources, pick: random.Random, tried: set[Route]) -> Iterator[Variant]:
    names = causes.names(base.request)
    for subject in ("workflow", "topology"):
        document: Document = getattr(base.request, subject)
        for path in causes.within(document.data):
            value = get(document.data, *path)
            unjudged = not LONG and (subject, *path) not in tried
            if unjudged or isinstance(value, bool) or path[0] in ("apiVersion", "kind"):
                continue
            for each in [value + 3] if isinstance(value, int) else [f"z{value}", f"{value}-z", pick.choice(names)]:
                changed = document._replace(data=put(document.data, path, each))
                objects = causes.written(base.request._replace(**{subject: changed}))
                if objects is not None:
                    route: Route = (subject, *path)
                    yield Variant(causes.Edit(route, each), objects)
                    break  # another name may be the name of something else


@pytest.mark.parametrize("scheduler", ["koordinator", "kai"])
def test_a_column_of_a_table_is_a_cause(scheduler: str, tmp_path: Path) -> None:
    """A copy with its own objects has the value of a row. An edit of the text at the named place changes it."""
    folder = EXAMPLES / "trials"
    rows = [("LR", "WIDTH"), ("0.1", "8"), ("0.2", "8"), ('"0,3"', "16")]
    table = "".join(f"{','.join(row)}\n" for row in rows)

    def made(text: str) -> WorkflowSources:
        flow = (folder / "workflow.yaml").read_text().replace("atOnce: 8", "atOnce: 2")
        (tmp_path / "workflow.yaml").write_text(flow)
        (tmp_path / "trials.csv").write_text(text)
        flows, _ = inputs.workflow(str(tmp_path / "workflow.yaml"), Source())
        (cluster,) = documents("topology", (folder / "topology.yaml").read_bytes(), "topology", Source()).value or ()
        one, batch = made_of(Request(flows[0], cluster, scheduler=scheduler), inputs.Inputs(flows, cluster, ()))
        assert one, batch.diagnostics
        return one

    base = made(table)
    shown = set()
    for key, each in base.experiments.base.objects.items():
        for path in causes.within(each):
            value = get(each, *path)
            if not ((path[-1] == "value" and value in ("0.1", "0.2", "0,3", "8", "16")) or path[-1] == "rows.sh"):
                continue
            found = [one for one, _ in base.experiments.answer(each, each, key, path).causes]
            for cause, place in zip(found, places([one.route for one in found], base.files), strict=True):
                if place is None or not place.file.endswith("trials.csv"):
                    continue
                shown.add((cause.edit.value, place.line))
                lines = table.split("\n")
                column = rows[0].index(str(cause.edit.value))
                for number in [place.line - 1] if place.line > 1 else [1, 2, 3]:  # the row, or all below the name
                    lines[number] = ",".join([*rows[number][:column], "7", *rows[number][column + 1 :]])
                then = made("\n".join(lines)).experiments.base.objects
                assert causes.value_at(then, key, path, base.experiments.base.objects)[0] != value, (key, path)
    apart = {("LR", 2), ("LR", 3), ("LR", 4), ("WIDTH", 1), ("WIDTH", 4)}
    assert shown == (apart if scheduler == "koordinator" else {("LR", 1), ("WIDTH", 1)})
